"""One operator is one record: everything the compiler knows about it stands in one `define(…)`.

relu = define(
"nn.relu",
doc="max(x, 0), element by element; NaN stays NaN.",
arguments=[("data", "the input")],
relation=same_type,
reference=lambda data: np.maximum(data, 0),
fusion=FusionKind.ELEMWISE,
samples=[sample((2, 3)), sample((), dtype="float64")],
)

relu(x)                                 builds the call: values positional, attributes by keyword
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from relay.errors import OperatorError, RelayError, did_you_mean
from relay.ir.attrs import Attrs, DictAttrs
from relay.ir.expr import Call, Expr, Op, add_op, as_expr, get_op
from relay.ir.types import IncompleteType, Type
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


@dataclass(frozen=True)
class Tensor:
    """An argument of a sample: random values of that shape and type from [low, high)."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    low: float = -2.0
    high: float = 2.0


@dataclass(frozen=True)
class Sample:
    """A legal use of an operator: arguments (tensors, or tuples of them) and attributes."""

    args: tuple[Any, ...]
    attrs: Mapping[str, Any]


def sample(
    *args: Any, dtype: str = "float32", low: float = -2.0, high: float = 2.0, **attrs: Any
) -> Sample:
    """`sample((2, 3), (3, 4))`: a tuple is a tensor's shape, a list is a tuple argument, a `Tensor`
    or an array stands for itself; keywords are attributes."""

    def argument(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(argument(v) for v in value)
        return Tensor(value, dtype, low, high) if isinstance(value, tuple) else value

    return Sample(tuple(argument(a) for a in args), attrs)


@node
class OpDef(Op):
    """The record of an operator. It is also the operator in a call, and a function building one."""

    doc: str = ""
    arguments: tuple[tuple[str, str], ...] = ()  # (name, meaning)
    attrs: type[Attrs] | None = None
    relation: Relation | None = None
    reference: Callable[..., Any] | None = None
    fusion: FusionKind = FusionKind.OPAQUE
    helper: Callable[..., Any] | None = None  # the Python builder people know, where it differs
    samples: tuple[Sample, ...] = ()
    variadic: bool = False
    stateful: bool = False
    support_level: int = 10
    # facts that passes and targets outside the package attach: key -> (level, value)
    extras: dict[str, tuple[int, Any]] = field(default_factory=dict)

    def __call__(self, *args: Any, **attrs: Any) -> Call:
        return Call(self, tuple(as_expr(a) for a in args), self.make_attrs(attrs))

    @property
    def num_inputs(self) -> int:
        return -1 if self.variadic else len(self.arguments)

    def make_attrs(self, given: Mapping[str, Any]) -> Attrs | None:
        """The attribute object for keywords `given`, defaults filled in."""
        if self.attrs is None:
            if given:
                raise RelayError(f"`{self.name}` takes no attributes, found {sorted(given)}")
            return None
        known = self.attrs.keys()
        for name in given:
            if name not in known:
                hint = did_you_mean(name, known) or f"it has {', '.join(known)}"
                raise RelayError(f"`{self.name}` has no attribute `{name}`; {hint}")
        missing = [n for n in known if n not in given and n not in self.attrs.defaults()]
        if missing:
            raise RelayError(f"`{self.name}` needs the attribute `{missing[0]}`")
        return self.attrs(**given)

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
            _change(self, fusion=FusionKind(value))
        elif key == "TOpIsStateful":
            _change(self, stateful=bool(value))
        elif plevel >= self.extras.get(key, (0, None))[0]:
            self.extras[key] = (plevel, value)

    def reset_attr(self, key: str) -> None:
        """Remove a fact."""
        self.extras.pop(key, None)

    def add_argument(self, name: str, type: str = "", description: str = "") -> None:
        _change(self, arguments=(*self.arguments, (name, description)))

    def set_num_inputs(self, count: int) -> None:
        named = self.arguments[:count] if count >= 0 else self.arguments
        extra = tuple((f"arg{i}", "") for i in range(len(named), max(count, 0)))
        _change(self, arguments=named + extra, variadic=count < 0)

    def add_type_rel(
        self, name: str, relation: Callable[[Sequence[Type], Any], Type] | None = None
    ) -> None:
        """Set the type relation: `relation(argument types, attrs) -> result type`, called when all
        arguments are known. Without one the result has the type of the first argument."""
        _change(self, relation=_from_function(relation) if relation else _identity)

    def set_attrs_type(self, attrs: type[Attrs]) -> None:
        _change(self, attrs=attrs)

    def set_attrs_type_key(self, key: str) -> None:
        """Attributes of that name; those of free names are `DictAttrs`."""
        self.set_attr("TAttrsTypeKey", key)

    def set_support_level(self, level: int) -> None:
        _change(self, support_level=level)


def _change(op: OpDef, **changes: Any) -> None:
    # A record is complete when its `define` returns; only the step-by-step registration that
    # people bring from elsewhere fills one in afterwards.
    for name, value in changes.items():
        object.__setattr__(op, name, value)


def _identity(site: Site) -> Type | None:
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
    arguments: Iterable[tuple[str, str]] = (),
    attrs: type[Attrs] | None = None,
    fusion: FusionKind = FusionKind.OPAQUE,
    helper: Callable[..., Any] | None = None,
    samples: Sequence[Sample] = (),
    variadic: bool = False,
    stateful: bool = False,
) -> OpDef:
    """Enter an operator: from here on it parses, prints, has a type and runs.

    `relation(site)` gives the result type; `reference(*arrays, **attributes)` computes with NumPy.
    """
    op = OpDef(
        name,
        doc=doc,
        arguments=tuple(arguments),
        attrs=attrs,
        relation=relation,
        reference=reference,
        fusion=fusion,
        helper=helper,
        samples=tuple(samples),
        variadic=variadic,
        stateful=stateful,
    )
    add_op(op)
    return op


def get(name: str) -> OpDef:
    """The operator of that name."""
    op = get_op(name)
    if not isinstance(op, OpDef):
        raise OperatorError(f"`{name}` has no record")
    return op


def register(name: str, describe: str = "") -> OpDef:
    """A new operator to be filled in step by step (`add_type_rel`, `set_num_inputs`, …)."""
    op = OpDef(name, doc=describe, relation=_identity)
    add_op(op)
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


def free_attrs(op: Expr) -> bool:
    """Whether calls of `op` carry attributes of free names (`DictAttrs`)."""
    return isinstance(op, OpDef) and op.attrs is None and "TAttrsTypeKey" in op.extras


__all__ = [
    "DictAttrs",
    "FusionKind",
    "OpDef",
    "OpPattern",
    "Sample",
    "Tensor",
    "define",
    "free_attrs",
    "get",
    "register",
    "register_op_attr",
    "register_pattern",
    "register_stateful",
    "sample",
]
