"""argwhere, unravel_index and invert_permutation."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import dtypes, te
from relay.errors import EvaluationError
from relay.ir import dims
from relay.ir.types import TensorType, Type
from relay.op.building import scalars
from relay.op.building.elements import size
from relay.op.building.numerics import floor_divide, floor_mod, in_64_bits, widened
from relay.op.building.scalars import Function
from relay.op.gradient_rules import DISCRETE
from relay.op.loop_nest import nest, spread
from relay.op.opdef import FusionKind, Tensor, define, sample
from relay.op.relations import same_type_of
from relay.op.site import INTEGER, Site


def _argwhere_type(site: Site) -> Type | None:
    """(?, rank of the condition)"""
    condition = site.tensor(0)
    if condition is None:
        return None
    return TensorType((dims.ANY, len(condition.shape)), "int32")


def _argwhere_loops(condition: te.Tensor, out: te.Spec) -> tuple[te.Tensor, ...]:
    def write(b: te.Builder, result: te.Buffer, shape: te.Buffer) -> None:
        count = b.variable("int64", 0, "count")
        with nest(b, condition.shape) as i, b.if_(te.cast(condition[i], "bool")):
            for axis, index in enumerate(i):
                b.store(result, (count[()], axis), te.cast(index, out.dtype))
            b.store(count, (), count[()] + 1)
        b.store(shape, (0, 0), count[()])
        b.store(shape, (0, 1), condition.rank)

    outputs = [(out.shape, out.dtype), ((1, 2), "int64")]
    return te.procedure([condition], outputs, write, "argwhere")


argwhere = define(
    "argwhere",
    doc="The positions of the nonzero elements, in row-major order, one row each.",
    arguments=[("condition", "the input")],
    relation=_argwhere_type,
    reference=lambda condition: np.argwhere(widened(condition)).astype(np.int32),
    compute=_argwhere_loops,
    capacity=lambda condition: ((size(condition.shape), te.index(condition.rank)),),
    runtime_shape=lambda condition: (np.count_nonzero(widened(condition)), condition.ndim),
    samples=[
        sample((2, 3), dtype="bool"),
        sample((2, 1, 3), dtype="int32"),
        sample(np.array([0.0, np.nan, -0.0, 2.0], "float32")),
        sample(np.array(True)),
        sample((0, 2), dtype="bfloat16"),
    ],
    gradient=DISCRETE,
)


def _unravel_index_type(site: Site) -> Type | None:
    """(number of extents in shape, *shape of data)"""
    site.require_elements(0, INTEGER)
    site.require_elements(1, INTEGER)
    data, shape = site.tensor(0), site.tensor(1, rank=1)
    if data is None or shape is None:
        return None
    return TensorType((shape.shape[0], *data.shape), data.dtype)


def _unravel_index(indices: np.ndarray, shape: np.ndarray) -> Any:
    rest = in_64_bits(indices)
    found = np.empty((len(shape), *indices.shape), indices.dtype)
    for axis, extent in reversed(list(enumerate(shape.astype(rest.dtype)))):
        found[axis] = floor_mod(rest, extent)
        rest = np.asarray(floor_divide(rest, extent))
    return found


def distances(rank: te.Expr, extent: Function) -> te.Tensor:
    """The row-major strides of a dynamic shape."""

    def element(axis: te.Expr) -> te.Expr:
        own = extent(later)
        return te.product(te.select(later > axis, own, te.const(1, own.dtype)), later)

    later = te.axis(rank)
    return te.compute((rank,), element)


def _unravel_index_compute(data: te.Tensor, shape: te.Tensor, out: te.Spec) -> te.Tensor:
    wide = "uint64" if data.dtype in dtypes.UNSIGNED else "int64"

    steps = distances(shape.shape[0], lambda axis: te.cast(shape[axis], wide))

    def element(axis: te.Expr, *i: te.Expr) -> te.Expr:
        lines = scalars.floor_divide(te.cast(data[i], wide), steps[axis])
        return te.cast(scalars.floor_mod(lines, te.cast(shape[axis], wide)), out.dtype)

    return te.compute(out.shape, element)


unravel_index = define(
    "unravel_index",
    doc="The indices, one row for each axis, of row-major positions in a shape. Positions out of "
    "range wrap around.",
    arguments=[
        ("data", "row-major positions, integers"),
        ("shape", "the extents, a vector of integers"),
    ],
    relation=_unravel_index_type,
    reference=_unravel_index,
    compute=_unravel_index_compute,
    fusion=FusionKind.INJECTIVE,
    samples=[
        sample(Tensor((5,), "int32", 0, 24), np.array([2, 3, 4], "int32")),
        sample(Tensor((), "int64", 0, 6), np.array([2, 3], "int32")),
        sample(Tensor((2, 3), "uint8", 0, 99), np.array([4, 7], "int64")),
        sample(Tensor((3,), "int32", 0, 6), np.zeros((0,), "int32")),
    ],
    gradient=DISCRETE,
)


_NUMBER = "a number of `invert_permutation`, each of them once,"


def _invert_permutation(data: np.ndarray) -> np.ndarray:
    if not np.array_equal(np.sort(widened(data)), np.arange(len(data))):
        raise EvaluationError.of(
            "argument `data` of `invert_permutation` is no permutation",
            expected=f"each of the numbers from 0 to {len(data) - 1} once",
            found=str(data.tolist()) if len(data) <= 16 else f"{len(data)} numbers",
        )
    return np.argsort(widened(data)).astype(data.dtype)


def _invert_permutation_loops(data: te.Tensor, out: te.Spec) -> te.Tensor:
    def write(b: te.Builder, result: te.Buffer) -> None:
        (count,) = data.shape
        seen = b.local("bool", (count,), "seen")
        with spread(b, (count,)) as i:
            b.store(seen, i, False)
        with nest(b, (count,)) as i:
            number = b.let(te.index(data[i]))
            with b.if_(te.some(number < 0, number >= count)):
                b.fail(number, count, _NUMBER)
            with b.if_(seen[number]):
                b.fail(number, count, _NUMBER)
            b.store(seen, number, True)
            b.store(result, number, te.cast(i[0], out.dtype))

    return te.procedure([data], [(out.shape, out.dtype)], write, "invert_permutation")[0]


def _invert_permutation_type(site: Site) -> Type | None:
    """The same type, of rank 1."""
    site.tensor(0, rank=1)
    return _same_integers(site)


_same_integers = same_type_of(INTEGER)

invert_permutation = define(
    "invert_permutation",
    doc="The inverse of a permutation.",
    arguments=[("data", "a permutation of 0, 1, 2, …")],
    relation=_invert_permutation_type,
    reference=_invert_permutation,
    compute=_invert_permutation_loops,
    samples=[
        sample(np.array([3, 4, 0, 2, 1], "int64")),
        sample(np.array([1, 0, 2], "uint8")),
        sample(np.zeros((0,), "int32")),
    ],
    gradient=DISCRETE,
)
