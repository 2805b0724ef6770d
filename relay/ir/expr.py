"""The expressions of Relay, one class each.

    Var            %x                            Call            f(a, b, attr=1)
    GlobalVar      @f                            Let             let %x = v; body
    Constant       1f, meta[…]                   If              if (c) { t } else { e }
    Op             nn.relu                       Match           match (d) { p => e, … }
    Constructor    Cons                          Tuple           (a, b)
    Function       fn (%x: T) -> R { body }      TupleGetItem    t.0
    RefCreate      ref(v)   RefRead  ref_read(r)   RefWrite  ref_write(r, v)

Expressions are immutable and compared by identity. A program is a graph: an expression that is
used in two places is computed once. `checked_type` is what inference found; it is a memo, and a
rebuilt expression starts without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from operator import index
from typing import Any, ClassVar

import numpy as np

from relay import dtypes, nd, tree
from relay.errors import AnySpan, OperatorError, RelayError, did_you_mean
from relay.immutable import LAST
from relay.ir.attrs import Attrs, DictAttrs
from relay.ir.dims import Dim, Symbol
from relay.ir.types import FuncType, GlobalTypeVar, TensorType, Type, TypeVar
from relay.tree import Node, node


@node
class Syntax(Node):
    """Everything a program is written with: expressions, patterns and clauses."""

    family: ClassVar[type[Node]]
    span: AnySpan | None = field(default=None, kw_only=True, metadata={LAST: True})

    def __repr__(self) -> str:
        return self.astext(show_meta_data=False)

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """The text form; with the metadata section it can be parsed back."""
        from relay.ir.printer import astext

        return astext(self, show_meta_data, annotate)

    def __reduce__(self) -> Any:
        """Python pickles it as JSON: programs nest deeper than its stack."""
        from relay.serialize import load_json, save_json

        return load_json, (save_json(self),)


Syntax.family = Syntax


def _require(value: object, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        wanted = f"relay.{kind.__name__}" if issubclass(kind, Node) else kind.__name__
        raise RelayError(f"{what} must be a {wanted}, found {_found(value)}")


def _found(value: object) -> str:
    name = type(value).__name__
    return name if isinstance(value, Node) else f"{name} {value!r}"


def _several(values: Any, what: str) -> tuple[Any, ...]:
    """`values` as a tuple; an error for an expression, even a tuple expression."""
    if isinstance(values, Node) or not isinstance(values, Iterable):
        raise RelayError(f"expected a list of {what}, found {_found(values)}")
    return tuple(values)


@node
class Expr(Syntax):
    """The root of all expressions."""

    ty: Type | None = field(default=None, init=False)
    __array_ufunc__: ClassVar[None] = None  # NumPy's arrays leave arithmetic to the expression

    @property
    def checked_type(self) -> Type:
        """The type inference found for this expression."""
        if self.ty is None:
            raise RelayError(
                f"this {type(self).__name__} has no checked type yet; "
                "run relay.transform.InferType() on its module, and look at the module it returns"
            )
        return self.ty

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from relay.viz import notebook

        return notebook.program(self)

    def __call__(self, *args: Expr) -> Expr:
        return Call(self, args)

    def astype(self, dtype: str) -> Expr:
        """This tensor with its elements converted."""
        op: Any = get_op("cast")
        return op(self, dtype=dtype)  # type: ignore[no-any-return]

    def __add__(self, other: Expr) -> Expr:
        return _binary("add", "+", self, other)

    def __radd__(self, other: object) -> Expr:
        return _binary("add", "+", other, self)

    def __sub__(self, other: Expr) -> Expr:
        return _binary("subtract", "-", self, other)

    def __rsub__(self, other: object) -> Expr:
        return _binary("subtract", "-", other, self)

    def __mul__(self, other: Expr) -> Expr:
        return _binary("multiply", "*", self, other)

    def __rmul__(self, other: object) -> Expr:
        return _binary("multiply", "*", other, self)

    def __truediv__(self, other: Expr) -> Expr:
        return _binary("divide", "/", self, other)

    def __rtruediv__(self, other: object) -> Expr:
        return _binary("divide", "/", other, self)

    def __lt__(self, other: Expr) -> Expr:
        return _binary("less", "<", self, other)

    def __gt__(self, other: Expr) -> Expr:
        return _binary("greater", ">", self, other)

    def __le__(self, other: Expr) -> Expr:
        return _binary("less_equal", "<=", self, other)

    def __ge__(self, other: Expr) -> Expr:
        return _binary("greater_equal", ">=", self, other)

    def __neg__(self) -> Expr:
        return Call(get_op("negative"), (self,))

    def __getitem__(self, index: int) -> Expr:
        return TupleGetItem(self, index)

    def __iter__(self) -> Iterator[Expr]:
        raise TypeError(
            f"{type(self).__name__} cannot be iterated: its number of fields is not known here; "
            "use relay.TupleGetItem(expr, i), or relay.TupleWrapper(expr, n)"
        )


def _binary(name: str, symbol: str, left: object, right: object) -> Expr:
    for side in (left, right):
        if not isinstance(side, Expr | TupleWrapper):
            raise TypeError(
                f"`{symbol}` takes two expressions, found {side!r}; "
                f"write relay.const({side!r}, dtype) to make it one"
            )
    return Call(get_op(name), (as_expr(left), as_expr(right)))


# --- atoms -------------------------------------------------------------------------------------


@node
class Var(Expr):
    """A local variable, known by identity: two of the same name are two variables."""

    name_hint: str
    type_annotation: Type | None = None

    def __post_init__(self) -> None:
        _require(self.name_hint, str, "the name of a variable")
        if self.type_annotation is not None and not isinstance(self.type_annotation, Type):
            raise RelayError(
                f"the annotation of variable `{self.name_hint}` must be a type, found "
                f"{_found(self.type_annotation)}; "
                "relay.var(…) makes one of a shape or an element type"
            )

    @property
    def vid(self) -> Var:
        return self

    @property
    def name(self) -> str:
        return self.name_hint


@node
class GlobalVar(Expr):
    """A function of the module, known by name."""

    name_hint: str

    def __post_init__(self) -> None:
        _require(self.name_hint, str, "the name of a global variable")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalVar) and other.name_hint == self.name_hint

    def __hash__(self) -> int:
        return hash((GlobalVar, self.name_hint))

    @property
    def name(self) -> str:
        return self.name_hint


@node
class Constant(Expr):
    """A tensor known at compile time."""

    data: nd.NDArray

    def __post_init__(self) -> None:
        if not isinstance(self.data, nd.NDArray) or isinstance(self.data, nd.StoredTensor):
            # what is known at compile time does not change later
            object.__setattr__(self, "data", nd.array(self.data))

    @property
    def tensor_type(self) -> TensorType:
        return TensorType(self.data.shape, self.data.dtype)


@node
class Op(Expr):
    """A primitive operator, known by name; `relay.op.opdef.OpDef` is its full record."""

    name: str

    @staticmethod
    def get(name: str) -> Op:
        """The operator of that name."""
        return get_op(name)

    @staticmethod
    def list_op_names() -> list[str]:
        """The names of all operators, sorted."""
        return op_names()


@node
class Constructor(Expr):
    """A constructor of an algebraic data type: a function that builds a tagged value."""

    name_hint: str
    inputs: tuple[Type, ...]
    belong_to: GlobalTypeVar
    tag: int = field(default=-1, init=False)

    def __post_init__(self) -> None:
        inputs = _several(self.inputs, "types")
        for given in inputs:
            _require(given, Type, f"a field of constructor `{self.name_hint}`")
        object.__setattr__(self, "inputs", inputs)
        _require(self.belong_to, GlobalTypeVar, f"the type of constructor `{self.name_hint}`")

    @property
    def name(self) -> str:
        return self.name_hint


# --- functions and calls -----------------------------------------------------------------------


@node
class Function(Expr):
    """`fn [A](%x: T) -> R { body }`; its value is a closure."""

    params: tuple[Var, ...]
    body: Expr
    ret_type: Type | None = None
    type_params: tuple[TypeVar, ...] = ()
    attrs: DictAttrs = field(default_factory=DictAttrs)
    # What inference assumed about globals and data types when it typed this function
    assumptions: Any = field(default=None, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", _several(self.params, "variables"))
        object.__setattr__(self, "type_params", _several(self.type_params or (), "type variables"))
        for param in self.params:
            _require(param, Var, "a parameter")
        for type_param in self.type_params:
            _require(type_param, TypeVar, "a type parameter")
        if self.ret_type is not None:
            _require(self.ret_type, Type, "the type of the result")
        if not isinstance(self.attrs, DictAttrs):
            object.__setattr__(self, "attrs", _free_attrs(self.attrs or {}))
        object.__setattr__(self, "body", as_expr(self.body))

    @property
    def result_names(self) -> tuple[str, ...]:
        """The names of the results, from the attribute `output_tensor_names`; () if absent."""
        return tuple(map(str, self.attrs.get("output_tensor_names", ())))

    @property
    def state_names(self) -> tuple[str, ...]:
        """The parameters that an executable keeps between calls, from the attribute `State`."""
        return tuple(map(str, self.attrs.get("State", ())))

    def with_attr(self, name: str | Mapping[str, Any], value: Any = None) -> Function:
        """A copy with one attribute (or a mapping of them) set."""
        changes = {name: value} if isinstance(name, str) else dict(name)
        return tree.replace(self, attrs=DictAttrs({**self.attrs, **changes}))

    def without_attr(self, name: str) -> Function:
        return tree.replace(self, attrs=self.attrs.without(name))

    @property
    def declared_type(self) -> FuncType | None:
        """The function's type when every parameter and the result are annotated, else None."""
        args = tuple(p.type_annotation for p in self.params)
        if self.ret_type is None or any(a is None for a in args):
            return None
        return FuncType(args, self.ret_type, self.type_params)  # type: ignore[arg-type]


@node
class Call(Expr):
    """`op(args, attr=…)`: an operator, constructor, closure or global applied to arguments."""

    op: Expr
    args: tuple[Expr, ...]
    attrs: Attrs | DictAttrs | None = None
    type_args: tuple[Type | Dim, ...] = ()  # a dimension where the parameter is a shape variable

    def __post_init__(self) -> None:
        args = self.args
        if type(args) is not tuple or not all(isinstance(a, Expr) for a in args):
            args = tuple(as_expr(a) for a in _several(args, "arguments"))
            object.__setattr__(self, "args", args)
        if not isinstance(self.op, Expr):
            raise RelayError(f"cannot call {_found(self.op)}: it is not a Relay expression")
        if self.attrs is not None and not isinstance(self.attrs, Attrs | DictAttrs):
            object.__setattr__(self, "attrs", _free_attrs(self.attrs))
        if self.type_args != ():
            given = _several(self.type_args or (), "type arguments")
            for argument in given:
                if not isinstance(argument, Type | int | Symbol):
                    _require(argument, Type, "a type argument")
            object.__setattr__(self, "type_args", given)


def _free_attrs(given: Any) -> DictAttrs:
    if isinstance(given, Mapping):
        return DictAttrs(given)
    raise RelayError(f"attributes are a mapping from names to values, found {given!r}")


# --- binding and control -----------------------------------------------------------------------


@node
class Let(Expr):
    """`let %x = value; body`; a function bound so may call itself."""

    variable: Var
    value: Expr
    body: Expr

    def __post_init__(self) -> None:
        _require(self.variable, Var, "what a let binds")
        object.__setattr__(self, "value", as_expr(self.value))
        object.__setattr__(self, "body", as_expr(self.body))

    @property
    def var(self) -> Var:
        return self.variable


@node
class If(Expr):
    """`if (cond) { true_branch } else { false_branch }`; both branches have the same type."""

    cond: Expr
    true_branch: Expr
    false_branch: Expr

    def __post_init__(self) -> None:
        for name in ("cond", "true_branch", "false_branch"):
            object.__setattr__(self, name, as_expr(getattr(self, name)))


# --- tuples and references ---------------------------------------------------------------------


@node
class Tuple(Expr):
    """`(a, b, …)`"""

    fields: tuple[Expr, ...]

    def __post_init__(self) -> None:
        fields = tuple(as_expr(f) for f in _several(self.fields, "expressions"))
        object.__setattr__(self, "fields", fields)

    def __bool__(self) -> bool:
        return True  # an expression like any other, also without fields

    def __getitem__(self, index: int) -> Expr:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.fields)


@node
class TupleGetItem(Expr):
    """`tuple_value.index`; the index is a literal."""

    tuple_value: Expr
    index: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "tuple_value", as_expr(self.tuple_value))
        if type(self.index) is not int or self.index < 0:
            object.__setattr__(self, "index", _field_number(self.index))


def _field_number(given: Any) -> int:
    try:
        if not isinstance(given, bool) and (number := int(index(given))) >= 0:
            return number
    except TypeError:
        pass
    raise RelayError(f"the index of a tuple's field must be 0, 1, 2, …, found {given!r}")


@node
class RefCreate(Expr):
    """`ref(value)`: a new mutable cell."""

    value: Expr

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", as_expr(self.value))


@node
class RefRead(Expr):
    """`ref_read(ref)`: what the cell holds now."""

    ref: Expr

    def __post_init__(self) -> None:
        object.__setattr__(self, "ref", as_expr(self.ref))


@node
class RefWrite(Expr):
    """`ref_write(ref, value)`: store; the result is unit."""

    ref: Expr
    value: Expr

    def __post_init__(self) -> None:
        object.__setattr__(self, "ref", as_expr(self.ref))
        object.__setattr__(self, "value", as_expr(self.value))


# --- pattern matching --------------------------------------------------------------------------


@node
class Pattern(Syntax):
    """The left side of a clause."""


@node
class PatternWildcard(Pattern):
    """`_`: anything."""


@node
class PatternVar(Pattern):
    """`%x`: anything, with a name."""

    var: Var

    def __post_init__(self) -> None:
        _require(self.var, Var, "what a pattern binds")


@node
class PatternConstructor(Pattern):
    """`C(p, …)`: a value built by C whose fields match."""

    constructor: Constructor
    patterns: tuple[Pattern, ...] = ()

    def __post_init__(self) -> None:
        _require(self.constructor, Constructor, "what a pattern takes apart")
        object.__setattr__(self, "patterns", _patterns(self.patterns))


@node
class PatternTuple(Pattern):
    """`(p, …)`: a tuple whose fields match."""

    patterns: tuple[Pattern, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "patterns", _patterns(self.patterns))


def _patterns(given: Any) -> tuple[Pattern, ...]:
    patterns = _several(given or (), "patterns")
    for pattern in patterns:
        _require(pattern, Pattern, "a part of a pattern")
    return patterns


@node
class Clause(Syntax):
    """`lhs => rhs`"""

    lhs: Pattern
    rhs: Expr

    def __post_init__(self) -> None:
        _require(self.lhs, Pattern, "the left side of a clause")
        object.__setattr__(self, "rhs", as_expr(self.rhs))


@node
class Match(Expr):
    """`match (data) { … }`: the first clause that fits. Not `complete` (`match?`): may fail."""

    data: Expr
    clauses: tuple[Clause, ...]
    complete: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", as_expr(self.data))
        object.__setattr__(self, "clauses", _several(self.clauses, "clauses"))
        for clause in self.clauses:
            _require(clause, Clause, "a case of a match")


# --- an expression inside a pass ---------------------------------------------------------------


@node
class TempExpr(Expr):
    """A temporary expression of a pass, which `realize` replaces by a proper one."""

    def realize(self) -> Expr:
        raise RelayError(f"{type(self).__name__} must define realize()")


# Expressions without parts to compute: naming one twice is not sharing a computation.
ATOMS = (Var, GlobalVar, Constant, Op, Constructor)


def is_atom(e: Syntax) -> bool:
    """Whether `e` is a variable, constant, operator or constructor."""
    return isinstance(e, ATOMS)


# --- building ----------------------------------------------------------------------------------


class TupleWrapper:
    """A tuple-valued expression of known size, which Python can unpack and index."""

    __slots__ = ("size", "tuple_value")

    def __init__(self, tuple_value: Expr, size: int) -> None:
        self.tuple_value = tuple_value
        self.size = size

    def astuple(self) -> Expr:
        """The expression itself."""
        return self.tuple_value

    def __getitem__(self, index: int) -> Expr:
        if not -self.size <= index < self.size:
            raise IndexError(f"tuple of {self.size} has no field {index}")
        return TupleGetItem(self.tuple_value, index % self.size)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Expr]:
        return (TupleGetItem(self.tuple_value, i) for i in range(self.size))

    def astext(self) -> str:
        return self.tuple_value.astext()


def as_expr(value: Any) -> Expr:
    """`value` as an expression; an error that says what it is when it is none."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, TupleWrapper):
        return value.tuple_value
    raise RelayError(
        f"expected a Relay expression, found {_found(value)}; "
        "wrap a number or an array in relay.const(…), several expressions in relay.Tuple(…)"
    )


def var(
    name_hint: str,
    type_annotation: Type | str | None = None,
    shape: Sequence[Any] | None = None,
    dtype: str = "float32",
    span: AnySpan | None = None,
) -> Var:
    """A variable: `var("x", a_type)`, `var("x", shape=(2, 3))`, or a scalar `var("i", "int32")`."""
    if type_annotation is not None and shape is not None:
        raise ValueError("give either a type annotation or a shape, not both")
    if shape is not None:
        type_annotation = TensorType(shape, dtype)  # type: ignore[arg-type]
    elif isinstance(type_annotation, str):
        type_annotation = TensorType((), type_annotation)
    return Var(name_hint, type_annotation, span=span)


def const(
    value: Any, dtype: str | TensorType | None = None, span: AnySpan | None = None
) -> Constant:
    """A constant. Python numbers are int32, float32 or bool; 64-bit arrays are narrowed to 32 bits
    unless `dtype` is given. A value that does not fit into 32 bits is an error.

    `dtype` may be a whole type, and then the value must have its shape.
    """
    if isinstance(dtype, TensorType):
        made = const(value, dtype.dtype, span)
        if made.tensor_type != dtype:
            raise RelayError(f"expected a constant of type {dtype}, found {made.tensor_type}")
        return made
    if isinstance(value, nd.NDArray) and dtype is None:
        return Constant(value, span=span)
    array = nd.as_numpy(value)
    if dtype is not None:
        array = _converted(array, dtypes.canonical(dtype))
    elif not isinstance(value, nd.NDArray) and array.dtype.name in ("float64", "int64"):
        narrow = _converted(array, array.dtype.name.replace("64", "32"))
        wide = narrow.astype(array.dtype)
        lost = wide != array if narrow.dtype.kind == "i" else np.isinf(wide) & ~np.isinf(array)
        if lost.any():
            raise RelayError(
                f"{value!r} does not fit into {narrow.dtype}; "
                f"say relay.const(…, dtype='{array.dtype}')"
            )
        array = narrow
    return Constant(nd.NDArray(np.array(array)), span=span)


def _converted(array: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return array.astype(dtypes.to_numpy(dtype))


def ascribed(value: Expr, ty: Type | None) -> Let:
    """`let %result: ty = value; %result`: `value` with the type `ty`, checked at run time."""
    result = Var("result", ty)
    return Let(result, value, result)


def with_fields(original: Any, *values: Any, **changes: Any) -> Any:
    """A copy with some fields changed, given in order or by name; None leaves one as it is."""
    cls: Any = type(original)
    names = [name for name in tree.own_fields(cls) if name != "span"]
    if len(values) > len(names):
        raise TypeError(f"{cls.__name__} has the fields {', '.join(names)}; found {len(values)}")
    given = dict(zip(names, values, strict=False)) | changes
    return tree.replace(original, **{k: v for k, v in given.items() if v is not None})


FunctionWithFields = CallWithFields = LetWithFields = IfWithFields = with_fields
TupleWithFields = TupleGetItemWithFields = MatchWithFields = VarWithFields = with_fields
RefCreateWithFields = RefReadWithFields = RefWriteWithFields = ClauseWithFields = with_fields


def bind(expr: Any, bindings: Mapping[Var, Expr]) -> Any:
    """`expr` with variables replaced; a function loses the parameters that were given a value."""
    seeds = {v: as_expr(e) for v, e in bindings.items()}
    if not isinstance(expr, Function):
        return tree.transform(expr, lambda _, after: after, seeds)
    body = tree.transform(expr.body, lambda _, after: after, seeds)
    params = (bindings.get(param, param) for param in expr.params)
    remaining = tuple(param for param in params if isinstance(param, Var))
    return tree.replace(expr, params=remaining, body=body)


# --- the operator table ------------------------------------------------------------------------
# Mutable global state: operators are known by name in the whole process.

_operators: dict[str, Op] = {}


def add_op(op: Op) -> None:
    """Enter `op` under its name, which must be new."""
    if op.name in _operators:
        raise OperatorError(f"operator `{op.name}` is already registered; pick another name")
    _operators[op.name] = op


def remove_op(name: str) -> None:
    """Take the operator of that name out again."""
    _operators.pop(name, None)


def find_op(name: str) -> Op | None:
    """The operator of that name. The table fills itself from `relay.op` on the first look."""
    if name not in _operators:
        _load_operators()
    return _operators.get(name)


def get_op(name: str) -> Op:
    """The operator of that name; an error with the closest names when there is none."""
    if (op := find_op(name)) is not None:
        return op
    hint = did_you_mean(name, _operators)
    raise OperatorError(f"unknown operator `{name}`" + (f"; {hint}" if hint else ""))


def op_names() -> list[str]:
    """The names of all operators, sorted."""
    _load_operators()
    return sorted(_operators)


def _load_operators() -> None:
    import importlib

    importlib.import_module("relay.op")
