"""sequence_mask and reverse_sequence: batches of padded sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import te
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Expr
from relay.ir.types import TensorType, Type
from relay.op.building.numerics import convert
from relay.op.facts import Precision, Trait
from relay.op.gradient_rules import Backward, build
from relay.op.opdef import FusionKind, Tensor, define, sample
from relay.op.site import INTEGER, Site


def _lengths(site: Site, data: TensorType, batch_axis: int) -> TensorType:
    """Check the lengths, argument 1; returns the more specific type of data."""
    site.require_elements(1, INTEGER)
    lengths = site.tensor(1, rank=1)
    if lengths is None:
        return data
    shape = list(data.shape)
    shape[batch_axis] = site.require_equal(
        shape[batch_axis], lengths.shape[0], "the number of sequences and of lengths"
    )
    return TensorType(tuple(shape), data.dtype)


def _inside(data: np.ndarray, lengths: np.ndarray, axis: int, batch_axis: int) -> np.ndarray:
    """Lengths, reshaped to broadcast against data."""
    shape = [1] * data.ndim
    shape[batch_axis] = -1
    return np.clip(lengths.astype(np.int64), 0, data.shape[axis]).reshape(shape)


# --- masks -------------------------------------------------------------------------------------


@attrs
class SequenceMaskAttrs(Attrs):
    """mask_value: the value of the padding
    axis: the axis of the sequence, 0 or 1; the other one is the batch
    """

    mask_value: float = 0.0
    axis: int = 0


def _sequence_mask_type(site: Site) -> Type | None:
    """The type of data; there is one length for each sequence."""
    site.require_rank(0, at_least=2)
    if (data := site.tensor(0)) is None:
        return None
    axis = site.axis(site.attrs.axis, len(data.shape))
    site.require(axis < 2, "`axis` is not one of the first two", "0 or 1", f"axis = {axis}")
    return _lengths(site, data, 1 - axis)


def _sequence_mask(
    data: np.ndarray, valid_length: np.ndarray, mask_value: float, axis: int
) -> np.ndarray:
    axis %= data.ndim
    ends = _inside(data, valid_length, axis, 1 - axis)
    places = np.arange(data.shape[axis]).reshape(-1, *(1,) * (data.ndim - 1 - axis))
    return np.where(places < ends, data, convert(np.array(mask_value), data.dtype.name))


def _end(lengths: te.Tensor, extent: te.Expr, sequence: te.Expr) -> te.Expr:
    """The end of a sequence along an axis of that extent."""
    return te.minimum(te.maximum(te.index(lengths[sequence]), 0), extent)


def _sequence_mask_compute(
    data: te.Tensor, valid_length: te.Tensor, out: te.Spec, mask_value: float, axis: int
) -> te.Tensor:
    axis %= data.rank
    mask = te.cast(te.const(mask_value, "float64"), out.dtype)

    def element(*i: te.Expr) -> te.Expr:
        end = _end(valid_length, data.shape[axis], i[1 - axis])
        return te.select(i[axis] < end, data[i], mask)

    return te.compute(out.shape, element)


def _masked(site: Backward) -> Expr:
    """The gradient without that of the padding."""
    return build("sequence_mask", site.gradient, site.args[1], mask_value=0.0, axis=site.attrs.axis)


def _reversed(site: Backward) -> Expr:
    """The gradient, reversed in the same way."""
    known = dict(site.attrs.items())
    return build("reverse_sequence", site.gradient, site.args[1], **known)


sequence_mask = define(
    "sequence_mask",
    doc="data with the padding of each sequence replaced by a value.",
    arguments=[
        ("data", "sequences, padded"),
        ("valid_length", "the length of each sequence, integers"),
    ],
    attrs=SequenceMaskAttrs,
    relation=_sequence_mask_type,
    reference=_sequence_mask,
    compute=_sequence_mask_compute,
    fusion=FusionKind.INJECTIVE,
    precision=Precision.FOLLOW,
    samples=[
        sample((4, 3), Tensor((3,), "int32", 0, 5)),
        sample((2, 4, 3), Tensor((2,), "int64", -1, 7), axis=1, mask_value=-1.5),
        sample((2, 3), Tensor((2,), "uint8", 0, 4), axis=-1, mask_value=7.9, dtype="int8"),
        sample((3, 0, 2), Tensor((0,), "int32"), dtype="bfloat16"),
    ],
    gradient=lambda site: [_masked(site)],
)

# --- reversal ----------------------------------------------------------------------------------


@attrs
class ReverseSequenceAttrs(Attrs):
    """seq_axis: the axis of the sequence
    batch_axis: the axis of the batch
    """

    seq_axis: int = 1
    batch_axis: int = 0


def _reverse_sequence_type(site: Site) -> Type | None:
    """The type of data; there is one length for each sequence."""
    site.require_rank(0, at_least=2)
    if (data := site.tensor(0)) is None:
        return None
    rank = len(data.shape)
    axis = site.axis(site.attrs.seq_axis, rank, name="seq_axis")
    batch = site.axis(site.attrs.batch_axis, rank, name="batch_axis")
    site.require(
        axis != batch, "`seq_axis` is `batch_axis`", "two axes", f"seq_axis = batch_axis = {axis}"
    )
    return _lengths(site, data, batch)


def _reverse_sequence(
    data: np.ndarray, seq_lengths: np.ndarray, seq_axis: int, batch_axis: int
) -> Any:
    axis, batch = seq_axis % data.ndim, batch_axis % data.ndim
    ends = _inside(data, seq_lengths, axis, batch)
    places = np.arange(data.shape[axis]).reshape(-1, *(1,) * (data.ndim - 1 - axis))
    source = np.where(places < ends, ends - 1 - places, places)
    return np.take_along_axis(data, np.broadcast_to(source, data.shape), axis)


def _reverse_sequence_compute(
    data: te.Tensor, seq_lengths: te.Tensor, out: te.Spec, seq_axis: int, batch_axis: int
) -> te.Tensor:
    axis, batch = seq_axis % data.rank, batch_axis % data.rank

    def element(*i: te.Expr) -> te.Expr:
        end = _end(seq_lengths, data.shape[axis], i[batch])
        source = te.select(i[axis] < end, end - 1 - i[axis], i[axis])
        return data[(*i[:axis], source, *i[axis + 1 :])]

    return te.compute(out.shape, element)


reverse_sequence = define(
    "reverse_sequence",
    doc="Each sequence reversed; its padding stays.",
    arguments=[
        ("data", "sequences, padded"),
        ("seq_lengths", "the length of each sequence, integers"),
    ],
    attrs=ReverseSequenceAttrs,
    relation=_reverse_sequence_type,
    reference=_reverse_sequence,
    compute=_reverse_sequence_compute,
    fusion=FusionKind.INJECTIVE,
    traits=Trait.MOVES,
    samples=[
        sample((3, 5), Tensor((3,), "int32", 0, 6)),
        sample((4, 3, 2), Tensor((3,), "int64", -1, 9), seq_axis=0, batch_axis=1),
        sample((2, 3, 4), Tensor((3,), "uint8", 0, 5), seq_axis=-1, batch_axis=-2, dtype="int8"),
        sample((2, 0), Tensor((2,), "int32"), dtype="bfloat16"),
    ],
    gradient=lambda site: [_reversed(site)],
)
