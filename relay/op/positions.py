"""Positions as data: found, taken apart, and turned around."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay.errors import Diagnostic, EvaluationError
from relay.ir import dims
from relay.ir.types import TensorType, Type
from relay.op.numerics import floor_divide, floor_mod, in_64_bits, widened
from relay.op.opdef import FusionKind, Tensor, define, sample
from relay.op.relations import same_type_of
from relay.op.site import INTEGER, Site


def _argwhere_type(site: Site) -> Type | None:
    """(?, rank of the condition)"""
    condition = site.tensor(0)
    if condition is None:
        return None
    return TensorType((dims.ANY, len(condition.shape)), "int32")


argwhere = define(
    "argwhere",
    doc="The positions of the elements that are not 0, in order, one row each.",
    arguments=[("condition", "the input")],
    relation=_argwhere_type,
    reference=lambda condition: np.argwhere(widened(condition)).astype(np.int32),
    fusion=FusionKind.OPAQUE,
    runtime_shape=lambda condition: (np.count_nonzero(widened(condition)), condition.ndim),
    samples=[
        sample((2, 3), dtype="bool"),
        sample((2, 1, 3), dtype="int32"),
        sample(np.array([0.0, np.nan, -0.0, 2.0], "float32")),
        sample(np.array(True)),
        sample((0, 2), dtype="bfloat16"),
    ],
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


unravel_index = define(
    "unravel_index",
    doc="The positions, one row for each axis, of elements that are counted through all axes of a "
    "shape in order. What lies outside starts again from the front.",
    arguments=[
        ("data", "places among all elements, integers"),
        ("shape", "the extents, integers of one axis"),
    ],
    relation=_unravel_index_type,
    reference=_unravel_index,
    fusion=FusionKind.INJECTIVE,
    samples=[
        sample(Tensor((5,), "int32", 0, 24), np.array([2, 3, 4], "int32")),
        sample(Tensor((), "int64", 0, 6), np.array([2, 3], "int32")),
        sample(Tensor((2, 3), "uint8", 0, 99), np.array([4, 7], "int64")),
        sample(Tensor((3,), "int32", 0, 6), np.zeros((0,), "int32")),
    ],
)


def _invert_permutation(data: np.ndarray) -> np.ndarray:
    if not np.array_equal(np.sort(widened(data)), np.arange(len(data))):
        raise EvaluationError(
            Diagnostic(
                "argument `data` of `invert_permutation` is no permutation",
                expected=f"each of the numbers from 0 to {len(data) - 1} once",
                found=str(data.tolist()) if len(data) <= 16 else f"{len(data)} numbers",
            )
        )
    return np.argsort(widened(data)).astype(data.dtype)


def _invert_permutation_type(site: Site) -> Type | None:
    """The same type, of one axis."""
    site.tensor(0, rank=1)
    return _same_integers(site)


_same_integers = same_type_of(INTEGER)

invert_permutation = define(
    "invert_permutation",
    doc="Where each of the numbers 0, 1, 2, … stands.",
    arguments=[("data", "the numbers from 0 on in some order")],
    relation=_invert_permutation_type,
    reference=_invert_permutation,
    fusion=FusionKind.INJECTIVE,
    samples=[
        sample(np.array([3, 4, 0, 2, 1], "int64")),
        sample(np.array([1, 0, 2], "uint8")),
        sample(np.zeros((0,), "int32")),
    ],
)
