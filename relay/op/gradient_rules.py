"""Gradient rules: from the gradients of the results of an operator to those of its arguments.

    exp = define(…, gradient=slope(lambda site, x, y: y))
    multiply = define(…, gradient=stretching(lambda site: [site.gradient * site.args[1], …]))
    layer_norm = define(…, gradient=Composed(lambda site: …))

A rule gets the call (`Backward`) and gives a gradient for each argument, in its shape; None is
zero, and so is what is left out at the end. Where PyTorch has the function, kinks and ties are as
there. The field `gradient` of a record may also be a text, which says why there is no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Tuple, TupleGetItem, const, get_op
from relay.ir.types import TensorType, TupleType, Type, is_dynamic


@frozen
class Backward:
    """A call to differentiate: its result, and the gradients with respect to its results."""

    call: Call
    output: Expr  # what the result of the call is bound to, or the call itself
    gradients: tuple[Expr | None, ...]  # one for each result; None is zero, and not all of them are
    type_of: Callable[[Expr], Type]

    @property
    def args(self) -> Sequence[Expr]:
        return self.call.args

    @property
    def attrs(self) -> Any:
        op: Any = self.call.op
        return op.make_attrs({}) if self.call.attrs is None else self.call.attrs

    @property
    def gradient(self) -> Expr:
        """The gradient with respect to the only result."""
        (gradient,) = self.gradients
        assert gradient is not None, "a rule is asked for calls with a gradient"
        return gradient

    @property
    def type(self) -> TensorType:
        """The type of the only result."""
        return self.tensor_type(self.call)

    def tensor_type(self, value: Expr) -> TensorType:
        """The type of a tensor among the arguments and results."""
        found = self.type_of(value)
        assert isinstance(found, TensorType)
        return found

    def fields(self, value: Expr) -> list[Expr]:
        """The fields of a tuple among the arguments and results."""
        if isinstance(value, Tuple):
            return list(value.fields)
        return [TupleGetItem(value, i) for i in range(len(self.field_types(value)))]

    def field_types(self, value: Expr) -> list[TensorType]:
        """The types of the fields of a tuple of tensors."""
        found = self.type_of(value)
        assert isinstance(found, TupleType)
        return [ty for ty in found.fields if isinstance(ty, TensorType)]

    def all_gradients(self) -> list[Expr]:
        """The gradients with respect to several results, with zeros for those without one."""
        fields = self.fields(self.output)
        return [
            build("zeros_like", field) if gradient is None else gradient
            for field, gradient in zip(fields, self.gradients, strict=True)
        ]

    def number(self, value: float) -> Expr:
        """A constant of the element type of the result."""
        return const(value, self.type.dtype)

    def as_type_of(self, value: Expr) -> Expr:
        """The gradient with the element type of an argument."""
        dtype = self.tensor_type(value).dtype
        return self.gradient if dtype == self.type.dtype else self.gradient.astype(dtype)

    def summed(self, gradient: Expr, index: int) -> Expr:
        """A gradient in the shape of the result, summed to the shape of an argument."""
        own, result = self.tensor_type(self.args[index]), self.type
        if own.shape == result.shape and not is_dynamic(own):
            return gradient
        if is_dynamic(own) or is_dynamic(result):
            return build("collapse_sum_like", gradient, self.args[index])
        ahead = len(result.shape) - len(own.shape)
        pairs = enumerate(zip(own.shape, result.shape[ahead:], strict=True), ahead)
        stretched = [axis for axis, (before, after) in pairs if before != after]
        if not ahead:
            return build("sum", gradient, axis=stretched, keepdims=True)
        total = build("sum", gradient, axis=[*range(ahead), *stretched])
        return build("reshape", total, newshape=own.shape) if stretched else total


def build(name: str, *args: Any, **attributes: Any) -> Expr:
    """A call of the operator of that name: rules of one family use operators of others."""
    op: Any = get_op(name)
    made: Expr = op(*args, **attributes)
    return made


ArgumentGradient = Expr | None | Sequence[Expr | None]
"""None is zero; for a tuple, one for each field."""

Gradient = Callable[[Backward], Sequence[ArgumentGradient]]
"""The gradient with respect to each argument, in its shape; arguments after them have none."""


@frozen
class Composed:
    """The rule of an operator that other operators can compute: (call) -> the same result."""

    result: Callable[[Backward], Expr]


Rule = Gradient | Composed | str | None
"""A rule, or the reason why there is none."""


def slope(derivative: Callable[[Backward, Expr, Expr], Expr]) -> Gradient:
    """The rule of an elementwise function, from its derivative: (site, argument, result)."""
    return lambda site: [site.gradient * derivative(site, site.args[0], site.output)]


def stretching(rule: Callable[[Backward], Sequence[Expr | None]]) -> Gradient:
    """The rule of an operator with broadcasting, from gradients in the shape of the result."""

    def gradients(site: Backward) -> Sequence[ArgumentGradient]:
        found = enumerate(rule(site))
        return [None if one is None else site.summed(one, index) for index, one in found]

    return gradients


def flat(site: Backward) -> Sequence[ArgumentGradient]:
    """The rule of a function that is constant wherever it is continuous: zeros."""
    return []


def only_first(rule: Callable[[Backward], Expr]) -> Gradient:
    """The gradient with respect to the first argument; the others are indices or shapes."""
    return lambda site: [rule(site)]


# Why an operator has no rule.
DISCRETE: Final = "its results are integers or truth values"
NO_FLOATS: Final = "it takes no floating-point numbers"
SHAPES_ONLY: Final = "its results do not depend on the elements of its arguments"
INTEGER_ARITHMETIC: Final = "it computes with quantized integers; differentiate before quantizing"
DYNAMIC_EXTENTS: Final = (
    "the extents of its result are known at run time only; use the operator with fixed extents"
)
SELECTS: Final = "it selects boxes by their scores, and its results are tables of what it selects"
LOWERED: Final = "it is part of lowered and optimized programs; differentiate before that"


def relaid(value: Expr, before: str, after: str) -> Expr:
    """A value in another layout."""
    if before == after:
        return value
    return build("layout_transform", value, src_layout=before, dst_layout=after)


def along_axis(vector: Expr, axis: int, rank: int) -> Expr:
    """A vector as a tensor of that rank, to be broadcast along the other axes."""
    return build("expand_dims", vector, axis=1, num_newaxis=rank - 1 - axis)


def passed(site: Backward) -> Sequence[ArgumentGradient]:
    """The rule of an operator that returns its first argument."""
    return [site.gradient]


def scattering(count: int = 1) -> Gradient:
    """The rule of an operator whose results are elements of its first `count` arguments.

    The operator moves the places of the elements instead of the elements, and each gradient is
    added at the place that its element came from.
    """

    def gradients(site: Backward) -> Sequence[ArgumentGradient]:
        sources = list(site.args[:count])
        values, types = _tensors(site, sources)
        places = numbered(values, types.__getitem__)
        rest = site.args[count:]
        moved = Call(site.call.op, (*_regrouped(site, sources, places), *rest), site.call.attrs)
        flat = [flat_row(value) for value in values]
        total = build("zeros_like", flat[0] if len(flat) == 1 else build("concatenate", flat))
        added = added_at(total, moved, site.gradient)
        found = [build("take", added, place, axis=0) for place in places]
        return [
            [*part.fields] if isinstance(part, Tuple) else part
            for part in _regrouped(site, sources, found)
        ]

    return gradients


def numbered(values: Sequence[Expr], type_of: Callable[[Expr], TensorType]) -> list[Expr]:
    """The places of the elements of several tensors, in one row."""
    places: list[Expr] = []
    start = 0
    before: Expr | None = None
    for value in values:
        shape = type_of(value).shape
        if before is None and all(isinstance(d, int) for d in shape):
            end = start + prod(d for d in shape if isinstance(d, int))
            row = arange(start, end)
            start = end
        else:
            first = const(start, "int64") if before is None else before
            before = first + build("ndarray_size", value, dtype="int64")
            row = build("arange", first, before, const(1, "int64"), dtype="int64")
        places.append(build("reshape_like", row, value))
    return places


def arange(start: int, end: int) -> Expr:
    """The integers from start to end."""
    bounds = (const(bound, "int64") for bound in (start, end, 1))
    return build("arange", *bounds, start=start, stop=end, step=1, dtype="int64")


def _tensors(site: Backward, sources: Sequence[Expr]) -> tuple[list[Expr], dict[Expr, TensorType]]:
    """The tensors in some arguments, and their types."""
    found: list[Expr] = []
    types: dict[Expr, TensorType] = {}
    for source in sources:
        if isinstance(site.type_of(source), TupleType):
            fields = site.fields(source)
            types.update(zip(fields, site.field_types(source), strict=True))
        else:
            fields = [source]
            types[source] = site.tensor_type(source)
        found += fields
    return found, types


def _regrouped(site: Backward, sources: Sequence[Expr], flat: Sequence[Expr]) -> list[Expr]:
    """Values in the structure of some arguments."""
    rest = iter(flat)
    return [
        Tuple(tuple(next(rest) for _ in site.fields(source)))
        if isinstance(site.type_of(source), TupleType)
        else next(rest)
        for source in sources
    ]


def flat_row(value: Expr) -> Expr:
    """All elements in one row."""
    return build("reshape", value, newshape=(-1,))


def added_at(total: Expr, places: Expr, gradient: Expr) -> Expr:
    """A row with each gradient added at its place."""
    where, what = flat_row(places), flat_row(gradient)
    return build("scatter_elements", total, where, what, axis=0, reduction="add")
