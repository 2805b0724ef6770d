"""check_indices: out-of-range indices end the run.

    %fine = check_indices(%ids, %table, axes=[0]);
    take(%table, add(%ids, %fine), axis=0)

Operators clamp, wrap or ignore indices out of range (`relay.op.tensor.indexing`,
`relay.op.tensor.scatter`). Frontends whose models make them an error check them first, as does
`relay.compile(…, checked=True)` everywhere (`relay.transform.debug.check_indices`). The check is a
kernel of its own; adding its result 0 to the indices orders it before their use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

import numpy as np

from relay import dtypes, te
from relay.errors import FROM_BACK, EvaluationError, allowed_indices
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Expr
from relay.ir.types import TensorType, Type
from relay.op.building.elements import Indices, size
from relay.op.facts import Precision
from relay.op.gradient_rules import NO_FLOATS
from relay.op.loop_nest import spread
from relay.op.opdef import Tensor, define, sample
from relay.op.site import INTEGER, Site
from relay.op.tensor import binary


@attrs
class CheckIndicesAttrs(Attrs):
    """axes: the indexed axes of data; with several the first axis of indices runs over them, with
    none data is flattened
    negative: whether indices may count from the back: -1 is the last element
    reader: the operator that uses the indices, for the error
    """

    axes: tuple[int, ...] = (0,)
    negative: bool = False
    reader: str = ""


def _check_type(site: Site) -> Type | None:
    """A scalar of the type of indices."""
    site.require_elements(0, INTEGER)
    indices, data = site.tensor(0), site.tensor(1)
    if indices is None or data is None:
        return None
    axes = site.axes(site.attrs.axes, len(data.shape), name="axes")
    if len(axes) > 1:
        site.require_rank(0, at_least=1)
        site.require_equal(indices.shape[0], len(axes), "the first extent of indices and of `axes`")
    return TensorType((), indices.dtype)


def _name(axes: Sequence[int], number: int, negative: bool, reader: str) -> str:
    """The name of an index in messages."""
    where = "an index"
    if axes:
        where += f" along axis {axes[number]}"
    if reader:
        where += f" of `{reader}`"
    return f"{where}, counted {FROM_BACK}," if negative else where


def _check(
    indices: np.ndarray, data: np.ndarray, axes: Sequence[int], negative: bool, reader: str
) -> np.ndarray:
    places = [axis % data.ndim for axis in axes]
    extents = [data.shape[axis] for axis in places] or [prod(data.shape)]
    for number, extent in enumerate(extents):
        mine = indices[number] if len(axes) > 1 else indices
        below = -extent if negative else 0
        outside = mine >= extent
        if indices.dtype.kind == "i":
            outside |= mine < below
        if outside.any():
            what = _name(places, number, negative, reader)
            raise EvaluationError.of(
                f"{what} is out of range",
                expected=allowed_indices(what, extent),
                found=str(mine[outside].flat[0]),
            )
    return np.zeros((), indices.dtype)


def _followed(first: Indices, last: te.Expr) -> Indices:
    return (*first, last)


def _alone(first: Indices, _: te.Expr) -> Indices:
    return first


def _check_loops(
    indices: te.Tensor,
    data: te.Tensor,
    out: te.Spec,
    axes: Sequence[int],
    negative: bool,
    reader: str,
) -> te.Tensor:
    places = [axis % data.rank for axis in axes]

    def is_outside(given: te.Expr, extent: te.Expr) -> te.Expr:
        if given.dtype == "uint64":  # may exceed int64
            return given >= te.cast(extent, "uint64")
        position = te.index(given)
        if given.dtype in dtypes.UNSIGNED:
            return position >= extent
        return (position >= extent) | (position < (-extent if negative else 0))

    def write(b: te.Builder, result: te.Buffer) -> None:
        def row(at: Callable[[te.Expr], Indices], length: te.Expr, number: int) -> None:
            """Test all indices first, then find the one to report."""
            extent = data.shape[places[number]] if places else size(data.shape)
            bad = b.variable("bool", False, "bad")
            with b.loop(length) as i:
                given = b.let(indices[at(i)])
                b.store(bad, (), bad[()] | is_outside(given, extent))
            with b.if_(bad[()]), b.loop(length) as i:
                given = b.let(indices[at(i)])
                with b.if_(is_outside(given, extent)):
                    b.fail(te.index(given), extent, _name(places, number, negative, reader))

        b.store(result, (), 0)
        several = len(places) > 1
        shape = indices.shape[1:] if several else indices.shape
        *outer, inner = shape or (te.index(1),)
        with spread(b, outer) as rest:
            for number in range(len(places) if several else 1):
                first = (te.index(number), *rest) if several else rest
                row(partial(_followed if shape else _alone, first), inner, number)

    return te.procedure([indices], [(out.shape, out.dtype)], write, "checked")[0]


def checked(indices: Expr, data: Expr, axes: Sequence[int] = (0,), negative: bool = False) -> Expr:
    """The indices, checked to be in range of the axes of data; otherwise the run ends."""
    return binary.add(indices, check_indices(indices, data, axes=tuple(axes), negative=negative))


check_indices = define(
    "check_indices",
    doc="A scalar 0 if all indices are in range of the axes of data; otherwise the run ends with "
    "an error that names the index.",
    arguments=[
        ("indices", "positions, integers"),
        ("data", "the tensor they select from; its elements are not read"),
    ],
    attrs=CheckIndicesAttrs,
    relation=_check_type,
    reference=_check,
    compute=_check_loops,
    precision=Precision.FOLLOW,
    samples=[
        sample(Tensor((2, 5), "int64", 0, 4), (4, 3)),
        sample(Tensor((5,), "int32", -3, 3), (4, 3), axes=(1,), negative=True),
        sample(Tensor((2, 5), "int32", -3, 3), (4, 3), axes=(0, -1), negative=True),
        sample(Tensor((2,), "int64", 0, 3), (4, 3), axes=(0, 1)),
        sample(Tensor((), "uint8", 0, 12), (4, 3), axes=(), dtype="int8"),
        sample(Tensor((3,), "uint64", 0, 4), (4,), reader="take"),
        sample(Tensor((0,), "int64"), (0, 3)),
    ],
    gradient=NO_FLOATS,
)
