"""Tensor arrays: lists of tensors, for importers of other formats.

    TensorArrayOps(prelude, "float32")                       elements of any rank up to 6
    StaticTensorArrayOps(prelude, "float32", (2, 3))         elements of one shape

A family is a data type and the functions on lists of it, for one element type, which is part of
their names: `tensor_array_write_float32`, `tensor_array_write_float32_2_3`. Its functions are Relay
text, parsed on the first lookup of a name in `Prelude`.

The dynamic data type has a constructor for each rank, the static one a single constructor. An
element that has not been written is nil, and reading its data fails.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache
from string import Template
from typing import TYPE_CHECKING

from relay import dtypes
from relay.check.infer import infer_expr
from relay.errors import RelayError, did_you_mean
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Constructor, Expr, GlobalVar
from relay.ir.module import IRModule
from relay.ir.printer import type_text
from relay.ir.types import GlobalTypeVar, TensorType, TypeCall
from relay.parser import parse
from relay.prelude import Definitions, add_definitions, import_from_std

if TYPE_CHECKING:
    from relay.prelude import Prelude

Shape = tuple[Dim, ...]

MOST_AXES = 6

# --- the text of the functions -----------------------------------------------------------------
#
# $f and $c are suffixes of functions and constructors; $T is the type of an element, $O that of one
# with an unknown first dimension.

_EVERY_FAMILY = """
// 0, 1, … %n - 1.
def @tensor_array_positions(%n: int32) -> List[int32] {
  @unfoldl(fn (%i: int32) -> Option[(int32, int32)] {
    if (%i <= 0) { None } else { Some((%i - 1, %i - 1)) }
  }, %n)
}

// The elements of a tensor, as a list.
def @tensor_array_numbers(%numbers: Tensor[(?), int32]) -> List[int32] {
  let %count = take(shape_of(%numbers, dtype="int32"), 0, axis=0);
  @map(fn (%i: int32) -> int32 { take(%numbers, %i, axis=0) }, @tensor_array_positions(%count))
}
"""

_ARRAY = """
// An array of %n elements that are not written yet.
def @tensor_array_$f(%n: int32) -> List[$T] {
  @map(fn (%i: int32) -> $T { tensor_nil_$c }, @tensor_array_positions(%n))
}

def @tensor_array_read_$f(%array: List[$T], %n: int32) -> $T {
  @nth(%array, %n)
}

def @tensor_array_write_$f(%array: List[$T], %n: int32, %value: $T) -> List[$T] {
  @update(%array, %n, %value)
}

// The elements of %values written at %indices, one after the other.
def @tensor_array_scatter_$f(
  %array: List[$T], %indices: Tensor[(?), int32], %values: List[$T]
) -> List[$T] {
  let %done = @foldl(
    fn (%state: (List[$T], List[$T]), %i: int32) -> (List[$T], List[$T]) {
      (@update(%state.0, %i, @hd(%state.1)), @tl(%state.1))
    }, (%array, %values), @tensor_array_numbers(%indices));
  %done.0
}
"""

# For elements that have a first axis.
_SPLIT = """
// The elements of %array, from the first one, replaced by slices of %value of those %lengths.
def @tensor_array_split_$f(
  %array: List[$O], %value: $T, %lengths: Tensor[(?), int32]
) -> List[$O] {
  let %done = @foldl(
    fn (%state: (List[$O], int32, int32), %length: int32) -> (List[$O], int32, int32) {
      let %end = %state.2 + %length;
      let %part = @tensor_take_$f(%value, %state.2, %end);
      (@update(%state.0, %state.1, %part), %state.1 + 1, %end)
    }, (%array, 0, 0), @tensor_array_numbers(%lengths));
  %done.0
}
"""

_DYNAMIC = """
type tensor_${f}_t {
  tensor_nil_$c,
$constructors
}

// The rows from %lower to before %upper.
def @tensor_take_$f(%tensor: $T, %lower: int32, %upper: int32) -> $T {
  let %rows = arange(%lower, %upper, 1, dtype="int32");
  match? (%tensor) {
$take
  }
}

// %tensor as the only row of a tensor of one axis more.
def @tensor_expand_dims_$f(%tensor: $T) -> $T {
  match? (%tensor) {
$expand
  }
}

// The rows of both.
def @tensor_concatenate_$f(%x: $T, %y: $T) -> $T {
  match? ((%x, %y)) {
$concatenate
  }
}

// The rows of all elements.
def @tensor_array_concat_$f(%array: List[$T]) -> $T {
  @foldr1(@tensor_concatenate_$f, %array)
}

// A tensor whose rows are the elements.
def @tensor_array_stack_$f(%array: List[$T]) -> $T {
  @foldr1(@tensor_concatenate_$f, @map(@tensor_expand_dims_$f, %array))
}

// A tensor whose rows are the elements at %indices.
def @tensor_array_gather_$f(%array: List[$T], %indices: Tensor[(?), int32]) -> $T {
  @tensor_array_stack_$f(
    @map(fn (%i: int32) -> $T { @nth(%array, %i) }, @tensor_array_numbers(%indices)))
}
"""

_UNSTACK = """
// An array of the rows of a tensor.
def @tensor_array_unstack$which(%tensor: $whole) -> List[$T] {
  let %count = take(shape_of(%tensor, dtype="int32"), 0, axis=0);
  @map(fn (%i: int32) -> $T { $constructor(take(%tensor, %i, axis=0)) },
    @tensor_array_positions(%count))
}
"""

_STATIC_TYPE = """
type static_tensor_${c}_t {
  tensor_nil_$c,
  tensor_constructor_$c($data),
}

def @tensor_get_data_$c(%tensor: $T) -> $data {
  match? (%tensor) {
    tensor_constructor_$c(%data) => %data,
  }
}
"""

# $G and $S are the types of results with one more axis: of unknown extent, and of that of the
# batch.
_STATIC = """
// %tensor as the only row of a tensor of one axis more.
def @tensor_expand_dims_$f(%tensor: $T) -> $E {
  tensor_constructor_$e(expand_dims(@tensor_get_data_$c(%tensor), axis=0))
}

// A tensor whose rows are the elements. Their number is compared with that of the batch when the
// rows become an argument.
def @tensor_array_stack_$f(%array: List[$T]) -> $S {
  let %pack = fn (%rows: $whole) -> $S { tensor_constructor_$s(%rows) };
  %pack(@foldr1(
    fn (%x: $rows, %y: $rows) -> $rows { concatenate((%x, %y), axis=0) },
    @map(fn (%t: $T) -> $rows { expand_dims(@tensor_get_data_$c(%t), axis=0) }, %array)))
}

// A tensor whose rows are the elements at %indices.
def @tensor_array_gather_$f(%array: List[$T], %indices: Tensor[(?), int32]) -> $G {
  tensor_constructor_$g(@foldr1(
    fn (%x: $rows, %y: $rows) -> $rows { concatenate((%x, %y), axis=0) },
    @map(fn (%i: int32) -> $rows { expand_dims(@tensor_get_data_$c(@nth(%array, %i)), axis=0) },
      @tensor_array_numbers(%indices))))
}
"""

_STATIC_WITH_AXES = """
// The rows from %lower to before %upper.
def @tensor_take_$f(%tensor: $T, %lower: int32, %upper: int32) -> $O {
  let %rows = arange(%lower, %upper, 1, dtype="int32");
  tensor_constructor_$o(take(@tensor_get_data_$c(%tensor), %rows, axis=0))
}

// The rows of both.
def @tensor_concatenate_$f(%x: $T, %y: $T) -> $O {
  tensor_constructor_$o(
    concatenate((@tensor_get_data_$c(%x), @tensor_get_data_$c(%y)), axis=0))
}

// The rows of all elements.
def @tensor_array_concat_$f(%array: List[$T]) -> $O {
  tensor_constructor_$o(@foldr1(
    fn (%x: $open, %y: $open) -> $open { concatenate((%x, %y), axis=0) },
    @map(fn (%t: $T) -> $open { @tensor_get_data_$c(%t) }, %array)))
}
"""


@lru_cache(maxsize=256)
def _dynamic_family(dtype: str) -> Definitions:
    ranks = range(MOST_AXES + 1)

    def case(rank: int) -> str:
        return f"tensor{rank}_{dtype}"

    def lines(ranks: Iterable[int], line: str) -> str:
        return "\n".join(
            "    " + Template(line).substitute(this=case(r), next=case(r + 1)) for r in ranks
        )

    def whole(rank: int) -> str:
        return type_text(TensorType((dims.ANY,) * rank, dtype))

    names = {"f": dtype, "c": dtype, "T": f"tensor_{dtype}_t[]", "O": f"tensor_{dtype}_t[]"}
    parts = [
        Template(_DYNAMIC).substitute(
            names,
            constructors="\n".join(f"  {case(r)}({whole(r)})," for r in ranks),
            take=lines(ranks[1:], "$this(%t) => $this(take(%t, %rows, axis=0)),"),
            expand=lines(ranks[:-1], "$this(%t) => $next(expand_dims(%t, axis=0)),"),
            concatenate=lines(
                ranks[1:], "($this(%a), $this(%b)) => $this(concatenate((%a, %b), axis=0)),"
            ),
        ),
        Template(_ARRAY + _SPLIT).substitute(names),
        *(
            Template(_UNSTACK).substitute(
                names, which=f"_tensor{rank}_{dtype}", whole=whole(rank), constructor=case(rank - 1)
            )
            for rank in ranks[1:]
        ),
    ]
    return _parse("".join(parts), f"tensor arrays of {dtype}")


@lru_cache(maxsize=256)
def _static_family(dtype: str, shape: Shape, batch_dim: int | None) -> Definitions:
    def ending(of: Shape) -> str:
        return _ending(dtype, of)

    def element(of: Shape) -> str:
        return f"{_static_name('tensor_t', dtype, of)}[]"

    def data(of: Shape) -> str:
        return type_text(TensorType(of, dtype))

    rows: Shape = (dims.ANY, *shape)
    whole: Shape = (dims.ANY if batch_dim is None else batch_dim, *shape)
    expanded: Shape = (1 if batch_dim == 1 else dims.ANY, *shape)
    ends = _ending(dtype, shape, batch_dim)
    names = {"f": ends, "c": ending(shape), "T": element(shape)}
    used = [shape, rows, whole, expanded]
    text = _STATIC + _ARRAY + _UNSTACK
    if shape:
        text += _STATIC_WITH_AXES + _SPLIT
        used.append(opened := (dims.ANY, *shape[1:]))
        names |= {"o": ending(opened), "O": element(opened), "open": data(opened)}
    types = [
        Template(_STATIC_TYPE).substitute(c=ending(of), T=element(of), data=data(of))
        for of in dict.fromkeys(used)
    ]
    if batch_dim is not None:
        types.append(
            f"def @tensor_get_data_{ends}(%tensor: {element(shape)}) -> {data(shape)} "
            f"{{ @tensor_get_data_{ending(shape)}(%tensor) }}"
        )
    functions = Template(text).substitute(
        names,
        e=ending(expanded),
        E=element(expanded),
        s=ending(whole),
        S=element(whole),
        g=ending(rows),
        G=element(rows),
        rows=data(rows),
        which=f"_{ends}",
        whole=data(whole),
        constructor=f"tensor_constructor_{ending(shape)}",
    )
    return _parse("".join(types) + functions, f"tensor arrays of {data(shape)}")


def _parse(text: str, name: str) -> Definitions:
    known = IRModule()
    import_from_std(known, "prelude.rly")
    parsed = parse(f'#[version = "0.0.5"]\n{_EVERY_FAMILY}{text}', name, known)
    return tuple(parsed.type_definitions.values()), tuple(parsed.functions.items())


# --- names ---------------------------------------------------------------------------------------

OPERATIONS = (
    "tensor_take",
    "tensor_expand_dims",
    "tensor_concatenate",
    "tensor_array",
    "tensor_array_read",
    "tensor_array_write",
    *(f"tensor_array_unstack_tensor{rank}" for rank in range(1, MOST_AXES + 1)),
    "tensor_array_scatter",
    "tensor_array_split",
    "tensor_array_concat",
    "tensor_array_stack",
    "tensor_array_gather",
)
CONSTRUCTORS = ("tensor_nil", *(f"tensor{rank}" for rank in range(MOST_AXES + 1)))


def _dynamic_name(canonical: str, dtype: str) -> str:
    return f"tensor_{dtype}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}"


def _static_name(
    canonical: str, dtype: str, shape: Sequence[Dim], batch_dim: int | None = None
) -> str:
    if canonical == "tensor_t":
        return f"static_tensor_{_ending(dtype, shape)}_t"
    if canonical in ("tensor_constructor", "tensor_nil"):
        return f"{canonical}_{_ending(dtype, shape)}"
    return f"{canonical}_{_ending(dtype, shape, batch_dim)}"


def _ending(dtype: str, shape: Sequence[Dim], batch_dim: int | None = None) -> str:
    extents = "_".join("any" if isinstance(d, dims.Any) else str(d) for d in shape) or "scalar"
    return f"{dtype}_{extents}" if batch_dim is None else f"{dtype}_batch{batch_dim}_{extents}"


def family_of(name: str) -> str | None:
    """The element type of the dynamic family that contains `name`, if there is one."""
    if name.startswith("tensor_") and name.endswith("_t"):
        canonical, dtype = "tensor_t", name.removeprefix("tensor_").removesuffix("_t")
    else:
        canonical, _, dtype = name.rpartition("_")
    known = canonical in ("tensor_t", *OPERATIONS, *CONSTRUCTORS)
    return dtypes.find(dtype) if known else None


def define_family_of(module: IRModule, name: str) -> bool:
    """Define the dynamic family that contains `name` in a module, if there is one."""
    if (dtype := family_of(name)) is None:
        return False
    add_definitions(module, _dynamic_family(dtype))
    return True


# --- the families --------------------------------------------------------------------------------


class _Family(ABC):
    """A family in the module of a prelude. `get_…` find its parts by their canonical names."""

    prelude: Prelude

    @abstractmethod
    def register(self) -> None:
        """Define the family in the module, if it is not there yet."""

    @abstractmethod
    def get_name(self, canonical: str) -> str:
        """The name of a part: `tensor_array_read` -> `tensor_array_read_float32_2_3`."""

    def get_global_var(self, canonical: str) -> GlobalVar:
        """The function of that name."""
        return _function(self.prelude.mod, self.get_name(canonical))

    def get_type(self, canonical: str = "tensor_t") -> GlobalTypeVar:
        """The data type, with the canonical name `tensor_t`."""
        return self.prelude.mod.get_global_type_var(self.get_name(canonical))

    def get_ctor(self, canonical: str) -> Constructor:
        """`tensor_nil`, and `tensor0`, … `tensor6` or `tensor_constructor`."""
        return self.prelude.mod.get_constructor(self.get_name("tensor_t"), self.get_name(canonical))


class TensorArrayOps(_Family):
    """The family for tensors of one element type and any rank up to 6."""

    def __init__(self, prelude: Prelude, dtype: str) -> None:
        self.prelude = prelude
        self.dtype = dtypes.canonical(dtype)
        self.register()

    def register(self) -> None:
        add_definitions(self.prelude.mod, _dynamic_family(self.dtype))

    def get_name(self, canonical: str) -> str:
        return _dynamic_name(canonical, self.dtype)


class StaticTensorArrayOps(_Family):
    """The family for tensors of one element type and one shape.

    Dimensions may be `?`. `batch_dim` is the number of elements of arrays that are stacked and
    unstacked; without it that dimension of the tensors is `?`.
    """

    def __init__(
        self, prelude: Prelude, dtype: str, shape: Sequence[Dim], batch_dim: int | None = None
    ) -> None:
        self.prelude = prelude
        self.dtype = dtypes.canonical(dtype)
        self.shape = TensorType(tuple(shape), self.dtype).shape
        self.batch_dim = batch_dim
        for extent in self.shape:
            if not isinstance(extent, int | dims.Any):
                raise RelayError(f"a tensor array has elements of known extents or `?`: {extent}")
        if batch_dim is not None and batch_dim < 1:
            raise RelayError(f"`batch_dim` counts elements: expected 1 or more, found {batch_dim}")
        self.register()

    def register(self) -> None:
        add_definitions(self.prelude.mod, _static_family(self.dtype, self.shape, self.batch_dim))

    def get_name(self, canonical: str) -> str:
        return _static_name(canonical, self.dtype, self.shape, self.batch_dim)


def _function(module: IRModule, name: str) -> GlobalVar:
    if name in module:
        return module.get_global_var(name)
    hint = did_you_mean(name, (variable.name_hint for variable in module))
    raise RelayError(f"tensor arrays have no function `{name}`" + (f"; {hint}" if hint else ""))


def get_tensor_array_shape(expr: Expr, dtype: str, prelude: Prelude) -> Shape | None:
    """The shape of the elements of a tensor array; None for a dynamic family."""
    ty = infer_expr(expr, prelude.mod).checked_type
    element = ty.args[0] if isinstance(ty, TypeCall) and ty.func == prelude.l else None
    if isinstance(element, TypeCall) and isinstance(element.func, GlobalTypeVar):
        name = element.func.name_hint
        if name == _dynamic_name("tensor_t", dtype):
            return None
        if name.startswith(f"static_tensor_{dtype}_"):
            for constructor in prelude.mod[element.func].constructors:
                for data in constructor.inputs:
                    if isinstance(data, TensorType):
                        return data.shape
    raise RelayError(f"expected a tensor array of {dtype}, found {type_text(ty)}")
