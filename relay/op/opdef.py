"""Operators: each is one record, made by one `define(…)`, with everything the compiler knows of it.

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

A public Python function that differs from that (other defaults, another order, several results)
is defined beside the record, as its `helper`.
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
from relay.ir.attrs import Attrs
from relay.ir.types import IncompleteType, TensorType, Type
from relay.op import attributes
from relay.op.attributes import DType as DType
from relay.op.building.layout_form import LayoutRule
from relay.op.facts import Expansion, Facts, Precision, SignRule, Trait
from relay.op.gradient_rules import Rule
from relay.op.quantization import Quantization
from relay.op.sample import Sample as Sample
from relay.op.sample import Tensor as Tensor
from relay.op.sample import sample as sample
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
    """A condition on run-time values; a run in which it is false ends with the message.

    `{}` in `found` and `expected` is replaced by the first and the second number of `shown`.
    """

    condition: te.Expr
    message: str
    expected: str = ""
    found: str = ""
    shown: tuple[te.Scalar, ...] = ()  # none, or both


def _undescribed(place: int) -> tuple[str, str]:
    """The name and meaning of an argument before `add_argument`."""
    return f"arg{place}", ""


@frozen
class Selection:
    """An argument with indices, and the argument they select from. Arguments are counted with the
    fields of tuples as arguments of their own."""

    indices: int
    data: int = 0
    axes: tuple[int, ...] = (0,)  # of data, as for `check_indices`
    negative: bool = False  # whether they may count from the back
    ignored: int | None = None  # an index that selects nothing


# (attributes, types of the arguments with tuples flattened) -> the selections
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
    # upper bounds of the result shapes, where the shapes are known only after computing
    capacity: Capacity | None = None
    # the result shapes as functions of argument values, where types do not determine them
    extents: Extents | None = None
    # arguments that are indices, where those out of range are clamped or ignored
    selects: Selects | None = None
    fusion: FusionKind = FusionKind.OPAQUE
    # where result shapes depend on values: (*arrays, **attributes) -> shape, or a tuple of shapes
    runtime_shape: Callable[..., Any] | None = None
    helper: Callable[..., Any] | None = None  # the public builder, where it differs from this
    samples: tuple[Sample, ...] = ()
    variadic: bool = False
    stateful: bool = False
    # whether the reference takes and returns interpreter values, functions and storage too; to
    # call a function it is a generator: `result = yield function, arguments`
    on_values: bool = False
    # facts that passes read: see `relay.op.facts`
    traits: Trait = Trait.NONE
    precision: Precision | None = None  # None: not known, which `ToMixedPrecision` reports
    cost: int = 1  # arithmetic operations per element of the result
    sign: SignRule | None = None
    # how the gradients of its arguments follow from those of its results, or why there is no rule
    gradient: Rule = None
    expansion: Expansion | None = None  # optimized operators that compute the same
    layout: LayoutRule | None = None
    identity: float | None = None  # the right operand that gives the left; -inf is the lowest value
    row_reductions: int = 0  # along `axis`, each followed by another pass over the row
    repeatable: bool = True  # whether calls may be moved, duplicated or removed
    # names of operators: records are no parts of each other, which passes would rewrite
    approximates: str = ""  # the exact operator that this one computes fast
    # the operator that this one computes on quantized tensors; its arguments are followed by the
    # scale and the zero point of each, then of the result
    quantizes: str = ""
    # which arguments a quantized network has as integers, where that does not follow from the rest
    quantization: Quantization | None = None
    support_level: int = 10
    # facts that passes and targets outside the package attach: key -> (level, value)
    extras: dict[str, tuple[int, Any]] = field(default_factory=dict)

    def __call__(self, *args: Any, **keywords: Any) -> ir.Call:
        """A call of this operator; positional values after the arguments are attributes, in order.

        A Python list or tuple of expressions becomes a tuple expression.
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
        """Whether an attribute names axes that vectors among the arguments belong to."""
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

    # --- step-by-step registration

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
        """Remove a fact; fusion and effects go back to their defaults."""
        if key == "TOpPattern":
            change(self, fusion=FusionKind.OPAQUE)
        elif key == "TOpIsStateful":
            change(self, stateful=False)
        self.extras.pop(key, None)

    def add_argument(self, name: str, type: str = "", description: str = "") -> None:
        """Describe the first argument without a description, or add an argument."""
        description = ", ".join(filter(None, (description, type)))
        place = next(
            (i for i, given in enumerate(self.arguments) if given == _undescribed(i)), None
        )
        kept = self.arguments if place is None else self.arguments[:place]
        rest = () if place is None else self.arguments[place + 1 :]
        change(self, arguments=(*kept, (name, description), *rest))

    def set_num_inputs(self, count: int) -> None:
        named = self.arguments[:count] if count >= 0 else self.arguments
        extra = tuple(map(_undescribed, range(len(named), max(count, 0))))
        change(self, arguments=named + extra, variadic=count < 0)

    def add_type_rel(
        self, name: str, relation: Callable[[Sequence[Type], Any], Type] | None = None
    ) -> None:
        """Set the type relation: `relation(argument types, attrs) -> result type`, called when all
        arguments are known. The default is the type of the first argument. `name` is not used."""
        change(self, relation=_from_function(relation) if relation else _identity)

    def set_attrs_type(self, attrs: type[Attrs]) -> None:
        change(self, attrs=attrs)

    def set_attrs_type_key(self, key: str) -> None:
        """Accept attributes of any names, as `DictAttrs`."""
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


class Fields(Facts, total=False):
    """The optional fields of a record, as `define` takes them."""

    compute: Compute | None
    capacity: Capacity
    extents: Extents | None
    selects: Selects
    attrs: type[Attrs] | None
    fusion: FusionKind
    runtime_shape: Callable[..., Any] | None
    helper: Callable[..., Any] | None
    variadic: bool
    stateful: bool
    on_values: bool


def define(
    name: str,
    *,
    doc: str,
    relation: Relation,
    reference: Callable[..., Any] | None = None,
    arguments: Iterable[tuple[str, str]] = (),
    samples: Iterable[Sample] = (),
    **fields: Unpack[Fields],
) -> OpDef:
    """Register an operator, so that it parses, prints, has a type and runs.

    `relation(site)` computes the result type. `reference(*arrays, **attributes)` computes with
    NumPy: a tuple argument is a tuple of arrays, several results are a tuple of arrays. Where the
    result shape depends on values, `runtime_shape` computes it (see `relay.op.shapes`).
    `compute(*tensors, out=…, **attributes)` is the same in tensor expressions (`relay.te`), which
    become kernels; `out` is the shape and type of the result (`te.Spec`), or a tuple of them. With
    `on_values` the reference takes interpreter values.

    Where only the computation itself determines the result shapes (`argwhere`), `capacity` gives
    an upper bound: a shape for each result, which may read elements of the arguments. `out` has
    these shapes, and `compute` returns an additional tensor with the actual shapes: int64 of shape
    (results, largest rank), padded with 1. Only the first extent may be less than its capacity;
    the elements in use come first.

    Where argument values determine the result shape (`dyn.full`), `extents` computes it in
    expressions that read elements of the arguments: a shape for each result, used for the extents
    that are dynamic in the type. It passes conditions on the values to `need` (see `Condition`).
    """
    if fields.get("traits", Trait.NONE) & (Trait.MOVES | Trait.CHOOSES):
        fields.setdefault("precision", Precision.FOLLOW)  # no element is computed
    fields.setdefault("precision", Precision.NEVER)
    if reference is not None and not fields.get("on_values"):
        reference = _quietly(reference)
    op = OpDef(
        name,
        doc=doc,
        arguments=tuple(arguments),
        relation=relation,
        reference=reference,
        samples=tuple(samples),
        **fields,
    )
    ir.add_op(op)
    return op


def _quietly(reference: Callable[..., Any]) -> Callable[..., Any]:
    """`reference` with arrays instead of NumPy scalars, and without warnings: the operator defines
    the results of overflows and invalid operations."""

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
    """Register an operator that is described step by step (`add_type_rel`, `set_num_inputs`, …)."""
    op = OpDef(name, doc=describe, relation=_identity)
    ir.add_op(op)
    return op


def register_op_attr(name: str, key: str, value: Any = None, level: int = 10) -> Any:
    """Attach a fact to an operator; without a value, a decorator for a function."""

    def attach(given: Any) -> Any:
        op = get(name)
        op.set_attr(key, given, level)
        return given

    return attach if value is None else attach(value)


def register_pattern(name: str, pattern: FusionKind, level: int = 10) -> None:
    """Set how an operator fuses."""
    get(name).set_attr("TOpPattern", pattern, level)


def register_stateful(name: str, stateful: bool = True, level: int = 10) -> None:
    """Set whether an operator has effects."""
    get(name).set_attr("TOpIsStateful", stateful, level)


def register_legalize(name: str, function: Any = None, level: int = 10) -> Any:
    """Attach the rewrite of a call in the pass `Legalize`; also as a decorator."""
    return register_op_attr(name, "FTVMLegalize", function, level)


def register_alter_op_layout(name: str, function: Any = None, level: int = 10) -> Any:
    """Attach the rewrite of a call in the pass `AlterOpLayout`; also as a decorator."""
    return register_op_attr(name, "FTVMAlterOpLayout", function, level)


def register_convert_op_layout(name: str, function: Any = None, level: int = 10) -> Any:
    """Attach the rewrite of a call in the pass `ConvertLayout`; also as a decorator."""
    return register_op_attr(name, "FTVMConvertOpLayout", function, level)


@contextmanager
def temporary_operators() -> Iterator[None]:
    """A context that unregisters its new operators and undoes changes of others at its end."""
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
    """Whether calls of `op` may have attributes of any names (`DictAttrs`)."""
    return isinstance(op, OpDef) and op.attrs is None and "TAttrsTypeKey" in op.extras
