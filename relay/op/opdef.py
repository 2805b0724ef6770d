"""One operator is one record: everything the compiler knows about it stands in one `define(…)`.

    relu = define(
        "nn.relu",
        doc="max(data, 0), element by element; NaN stays NaN.",
        arguments=[("data", "the input")],
        relation=same_numeric_type,
        reference=lambda data: np.maximum(data, 0),
        fusion=FusionKind.ELEMWISE,
        samples=[sample((2, 3)), sample((), dtype="float64")],
    )

    relu(x)                             builds the call: arguments first, then attributes

Where the Python function people know differs from that (other defaults, another order, several
results), it stands beside the record, which names it as its `helper`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, fields
from enum import IntEnum
from functools import wraps
from typing import Any, Unpack

import numpy as np

from relay import te
from relay.errors import OperatorError, RelayError
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.attrs import Attrs, DictAttrs
from relay.ir.types import IncompleteType, TensorType, Type
from relay.op import attributes
from relay.op.attributes import DType
from relay.op.building.layout_form import LayoutRule
from relay.op.facts import Facts, Gradient, Precision, SignRule, Trait
from relay.op.sample import Sample, Tensor, sample
from relay.op.site import Relation, Site
from relay.tree import node


class FusionKind(IntEnum):
    """How an operator may join a fused kernel."""

    ELEMWISE = 0  # output element i needs input element i only
    BROADCAST = 1  # like ELEMWISE, with axes of extent 1 stretched
    INJECTIVE = 2  # each output element is one input element, from anywhere
    COMM_REDUCE = 3  # sums, maxima: many inputs to one output
    OUT_ELEMWISE_FUSABLE = 4  # an anchor: elementwise consumers may join it, producers may not
    TUPLE = 7
    OPAQUE = 8  # never fused


OpPattern = FusionKind

# A tuple argument is a tuple of tensors, as it is a tuple of arrays for the reference.
Compute = Callable[..., te.Tensor | tuple[te.Tensor, ...]]
# The most each result can hold: (*tensors, **attributes) -> a shape for each result.
Capacity = Callable[..., tuple[Sequence[te.Scalar], ...]]
# The shape each result has: (*tensors, need, **attributes); `need` takes what a `Condition` has
Extents = Callable[..., tuple[Sequence[te.Scalar], ...]]


@frozen
class Condition:
    """What values that a run finds must fulfil, or it ends with the message.

    `expected` and `found` say more; `{}` in them is a number of `shown`: found, then expected.
    """

    condition: te.Expr
    message: str
    expected: str = ""
    found: str = ""
    shown: tuple[te.Scalar, ...] = ()  # none, or both


def _open(place: int) -> tuple[str, str]:
    """An argument that nobody has described."""
    return f"arg{place}", ""


@frozen
class Selection:
    """Indices among the arguments of a call, and what they select from. Arguments are counted one
    by one, the parts of tuples too."""

    indices: int
    data: int = 0
    axes: tuple[int, ...] = (0,)  # of data, as for `check_indices`
    negative: bool = False  # whether they may count from the back
    ignored: int | None = None  # an index that stands for none


# (attributes, types of the arguments one by one) -> what is selected
Selects = Callable[[Any, Sequence[TensorType]], Sequence[Selection]]


@node
class OpDef(ir.Op):
    """The record of an operator. It is also the operator in a call, and a function building one."""

    doc: str = ""
    arguments: tuple[tuple[str, str], ...] = ()  # (name, meaning)
    attrs: type[Attrs] | None = None
    relation: Relation | None = None
    reference: Callable[..., Any] | None = None
    # (*tensors, out, **attributes) -> tensor, or a tuple of tensors: see `define`
    compute: Compute | None = None
    # where how much comes out is known only once it is computed: room for all that can
    capacity: Capacity | None = None
    # where the values of arguments, and nothing that is computed, decide the shape
    extents: Extents | None = None
    # of what the arguments are indices, where those outside are clamped or left out
    selects: Selects | None = None
    fusion: FusionKind = FusionKind.OPAQUE
    # where extents depend on values: (*arrays, **attributes) -> shape, or a tuple of shapes
    runtime_shape: Callable[..., Any] | None = None
    helper: Callable[..., Any] | None = None  # the Python builder people know, where it differs
    samples: tuple[Sample, ...] = ()
    variadic: bool = False
    stateful: bool = False
    # whether the reference takes and gives values as they are, functions and storage too; to call
    # a function it is a generator: `result = yield function, arguments`
    on_values: bool = False
    # facts that passes read: see `relay.op.facts`
    traits: Trait = Trait.NONE
    precision: Precision | None = None  # None: not known, which `ToMixedPrecision` reports
    cost: int = 1  # of an element of the result, in arithmetic operations
    sign: SignRule | None = None
    gradient: Gradient | None = None
    layout: LayoutRule | None = None
    identity: float | None = None  # the right operand that gives the left; -inf is the lowest value
    row_reductions: int = 0  # along `axis`, before another pass over the row that was reduced
    repeatable: bool = True  # whether it may be computed early, again or never
    # names of operators: records are no parts of each other, which passes would rewrite
    approximates: str = ""  # the exact operator that this one computes fast
    # the operator that this one computes on quantized tensors: after the arguments of that come the
    # scale and the zero point of each, then of the result
    quantizes: str = ""
    support_level: int = 10
    # facts that passes and targets outside the package attach: key -> (level, value)
    extras: dict[str, tuple[int, Any]] = field(default_factory=dict)

    def __call__(self, *args: Any, **keywords: Any) -> ir.Call:
        """A call of this operator. What is given after the arguments are attributes, in order.

        A Python list or tuple of expressions is a tuple expression.
        """
        if not keywords and self.attrs is None and len(args) == len(self.arguments):
            return ir.Call(self, tuple(map(_argument, args)))
        given = list(args) if self.variadic else list(args[: len(self.arguments)])
        attrs = dict(zip(self._attribute_names(), args[len(given) :], strict=False))
        if len(given) + len(attrs) < len(args):
            raise RelayError(f"`{self.name}` takes {self.signature}, found {len(args)} values")
        for name, _ in self.arguments[len(given) :]:
            if name not in keywords or name in self._attribute_names():
                raise RelayError(f"`{self.name}` takes {self.signature}; `{name}` is missing")
            given.append(keywords.pop(name))
        if repeated := attrs.keys() & keywords.keys():
            raise RelayError(f"`{self.name}` was given `{min(repeated)}` twice")
        return ir.Call(self, tuple(map(_argument, given)), self.make_attrs(attrs | keywords))

    @property
    def is_repeatable(self) -> bool:
        """Whether calls give the same result whenever and however often they are made."""
        return self.repeatable and not self.stateful and not self.on_values

    @property
    def names_axes(self) -> bool:
        """Whether an attribute names axes, which vectors among the arguments go along."""
        return self.attrs is not None and not {"axis", "axes"}.isdisjoint(self.attrs.keys())

    @property
    def num_inputs(self) -> int:
        return -1 if self.variadic else len(self.arguments)

    @property
    def signature(self) -> str:
        """The arguments and attributes in order, with the defaults of the record."""
        defaults = self.attrs.defaults() if self.attrs else {}
        names = [("*" if self.variadic else "") + name for name, _ in self.arguments]
        for name in self._attribute_names():
            names.append(f"{name}={defaults[name]!r}" if name in defaults else name)
        return f"({', '.join(names)})"

    def _attribute_names(self) -> tuple[str, ...]:
        return self.attrs.keys() if self.attrs else ()

    def make_attrs(self, given: Mapping[str, Any]) -> Attrs | None:
        """The attribute object for keywords `given`, checked, with defaults filled in."""
        if self.attrs is not None:
            return attributes.make(self.name, self.attrs, given)
        if given:
            raise RelayError(f"`{self.name}` takes no attributes, found {sorted(given)}")
        return None

    # --- the registry interface people know

    def get_attr(self, key: str) -> Any:
        """A fact attached to the operator, or None."""
        if key == "TOpPattern":
            return self.fusion
        if key == "TOpIsStateful":
            return self.stateful
        return self.extras[key][1] if key in self.extras else None

    def has_attr(self, key: str) -> bool:
        return self.get_attr(key) is not None

    def set_attr(self, key: str, value: Any, plevel: int = 10) -> None:
        """Attach a fact; one of a higher level stays."""
        if key == "TOpPattern":
            change(self, fusion=FusionKind(value))
        elif key == "TOpIsStateful":
            change(self, stateful=bool(value))
        elif plevel >= self.extras.get(key, (0, None))[0]:
            self.extras[key] = (plevel, value)

    def reset_attr(self, key: str) -> None:
        """Remove a fact; how the operator fuses, or that it has effects, goes back to nothing."""
        if key == "TOpPattern":
            change(self, fusion=FusionKind.OPAQUE)
        elif key == "TOpIsStateful":
            change(self, stateful=False)
        self.extras.pop(key, None)

    def add_argument(self, name: str, type: str = "", description: str = "") -> None:
        """Describe the next argument: one that `set_num_inputs` has made room for, or one more."""
        description = ", ".join(filter(None, (description, type)))
        place = next((i for i, given in enumerate(self.arguments) if given == _open(i)), None)
        kept = self.arguments if place is None else self.arguments[:place]
        rest = () if place is None else self.arguments[place + 1 :]
        change(self, arguments=(*kept, (name, description), *rest))

    def set_num_inputs(self, count: int) -> None:
        named = self.arguments[:count] if count >= 0 else self.arguments
        extra = tuple(map(_open, range(len(named), max(count, 0))))
        change(self, arguments=named + extra, variadic=count < 0)

    def add_type_rel(
        self, name: str, relation: Callable[[Sequence[Type], Any], Type] | None = None
    ) -> None:
        """Set the type relation: `relation(argument types, attrs) -> result type`, called when all
        arguments are known. Without one the result has the type of the first argument. `name` is
        for the reader."""
        change(self, relation=_from_function(relation) if relation else _identity)

    def set_attrs_type(self, attrs: type[Attrs]) -> None:
        change(self, attrs=attrs)

    def set_attrs_type_key(self, key: str) -> None:
        """Attributes of that name; those of free names are `DictAttrs`."""
        self.set_attr("TAttrsTypeKey", key)

    def set_support_level(self, level: int) -> None:
        change(self, support_level=level)


def _argument(value: Any) -> ir.Expr:
    return ir.Tuple(tuple(value)) if isinstance(value, list | tuple) else ir.as_expr(value)


def change(op: OpDef, **changes: Any) -> None:
    """Change fields of a record after its `define`: for its `helper`, and for operators that are
    registered step by step."""
    for name, value in changes.items():
        object.__setattr__(op, name, value)


def _identity(site: Site) -> Type | None:
    site.require(bool(site.args), "there is no argument", "at least one", "none")
    first = site.args[0]
    return None if isinstance(first, IncompleteType) else first


def _from_function(function: Callable[[Sequence[Type], Any], Type]) -> Relation:
    def relation(site: Site) -> Type | None:
        if any(isinstance(ty, IncompleteType) for ty in site.args):
            return None
        return function(site.args, site.attrs)

    return relation


def define(
    name: str,
    *,
    doc: str,
    relation: Relation,
    reference: Callable[..., Any] | None = None,
    compute: Compute | None = None,
    capacity: Capacity | None = None,
    extents: Extents | None = None,
    selects: Selects | None = None,
    arguments: Iterable[tuple[str, str]] = (),
    attrs: type[Attrs] | None = None,
    fusion: FusionKind = FusionKind.OPAQUE,
    runtime_shape: Callable[..., Any] | None = None,
    helper: Callable[..., Any] | None = None,
    samples: Sequence[Sample] = (),
    variadic: bool = False,
    stateful: bool = False,
    on_values: bool = False,
    **facts: Unpack[Facts],
) -> OpDef:
    """Enter an operator: from here on it parses, prints, has a type and runs.

    `relation(site)` gives the result type; `reference(*arrays, **attributes)` computes with NumPy:
    a tuple argument is a tuple of arrays, several results are a tuple of arrays. Only where the
    shape of the result depends on values, `runtime_shape` gives it (see `relay.op.shapes`).
    `compute(*tensors, out=…, **attributes)` says the same in tensor expressions (`relay.te`), from
    which kernels are made; `out` is the shape and type of the result (`te.Spec`), for several
    results a tuple of them. With `on_values` the reference gets whatever there
    is, as the interpreter has it.

    Where only the computation itself finds out how much there is (`argwhere`), `capacity` gives
    the most: a shape for each result, which may read elements of the arguments. `out` then has
    these shapes, and `compute` gives one tensor more: int64 of shape (results, largest rank), the
    shape that each result turned out to have, filled up with 1. Only the first extent of a result
    may fall short of its capacity, so that what is there lies in front.

    Where the values of arguments decide the shape (`dyn.full`), `extents` says how, in expressions
    that read elements of the arguments: a shape for each result, of which the extents are looked at
    that the relation leaves open. What the values must fulfil it tells `need` (see `Condition`).
    """
    if facts.get("traits", Trait.NONE) & (Trait.MOVES | Trait.CHOOSES):
        facts.setdefault("precision", Precision.FOLLOW)  # no element is computed
    facts.setdefault("precision", Precision.NEVER)
    op = OpDef(
        name,
        doc=doc,
        arguments=tuple(arguments),
        attrs=attrs,
        relation=relation,
        reference=reference if reference is None or on_values else _quietly(reference),
        compute=compute,
        capacity=capacity,
        extents=extents,
        selects=selects,
        fusion=fusion,
        runtime_shape=runtime_shape,
        helper=helper,
        samples=tuple(samples),
        variadic=variadic,
        stateful=stateful,
        on_values=on_values,
        **facts,
    )
    ir.add_op(op)
    return op


def _quietly(reference: Callable[..., Any]) -> Callable[..., Any]:
    """`reference` with arrays for NumPy's scalars, and without its warnings: what overflows or has
    no value is defined by the operator."""

    @wraps(reference)
    def compute(*args: Any, **attrs: Any) -> Any:
        with np.errstate(all="ignore"):
            result = reference(*args, **attrs)
        return tuple(map(np.asarray, result)) if isinstance(result, tuple) else np.asarray(result)

    return compute


def get(name: str) -> OpDef:
    """The operator of that name."""
    op = ir.get_op(name)
    if not isinstance(op, OpDef):
        raise OperatorError(f"`{name}` has no record")
    return op


def records() -> list[OpDef]:
    """The records of all operators, by name."""
    return [op for name in ir.op_names() if isinstance(op := ir.find_op(name), OpDef)]


def register(name: str, describe: str = "") -> OpDef:
    """A new operator to be filled in step by step (`add_type_rel`, `set_num_inputs`, …)."""
    op = OpDef(name, doc=describe, relation=_identity)
    ir.add_op(op)
    return op


def register_op_attr(name: str, key: str, value: Any = None, level: int = 10) -> Any:
    """Attach a fact to an operator; without a value, a decorator for the function that is it."""

    def attach(given: Any) -> Any:
        op = get(name)
        op.set_attr(key, given, level)
        return given

    return attach if value is None else attach(value)


def register_pattern(name: str, pattern: FusionKind, level: int = 10) -> None:
    """Set how an operator fuses."""
    get(name).set_attr("TOpPattern", pattern, level)


def register_stateful(name: str, stateful: bool = True, level: int = 10) -> None:
    """Say that an operator has effects."""
    get(name).set_attr("TOpIsStateful", stateful, level)


def register_legalize(name: str, function: Any = None, level: int = 10) -> Any:
    """Attach what the pass `Legalize` puts in place of a call; also as a decorator."""
    return register_op_attr(name, "FTVMLegalize", function, level)


def register_alter_op_layout(name: str, function: Any = None, level: int = 10) -> Any:
    """Attach what the pass `AlterOpLayout` puts in place of a call; also as a decorator."""
    return register_op_attr(name, "FTVMAlterOpLayout", function, level)


def register_convert_op_layout(name: str, function: Any = None, level: int = 10) -> Any:
    """Attach what the pass `ConvertLayout` puts in place of a call; also as a decorator."""
    return register_op_attr(name, "FTVMConvertOpLayout", function, level)


@contextmanager
def temporary_operators() -> Iterator[None]:
    """Operators registered inside are gone afterwards, and changes to the others are undone."""
    known = {op.name: op for op in records()}
    names = [f.name for f in fields(OpDef)]
    before = {name: {n: getattr(op, n) for n in names} for name, op in known.items()}
    extras = {name: dict(op.extras) for name, op in known.items()}
    try:
        yield
    finally:
        for name in set(ir.op_names()) - known.keys():
            ir.remove_op(name)
        for name, op in known.items():
            change(op, **before[name])
            op.extras.clear()
            op.extras.update(extras[name])


def free_attrs(op: ir.Expr) -> bool:
    """Whether calls of `op` carry attributes of free names (`DictAttrs`)."""
    return isinstance(op, OpDef) and op.attrs is None and "TAttrsTypeKey" in op.extras


__all__ = [
    "DType",
    "DictAttrs",
    "FusionKind",
    "OpDef",
    "OpPattern",
    "Sample",
    "Tensor",
    "define",
    "free_attrs",
    "get",
    "records",
    "register",
    "register_alter_op_layout",
    "register_convert_op_layout",
    "register_legalize",
    "register_op_attr",
    "register_pattern",
    "register_stateful",
    "sample",
    "temporary_operators",
]
