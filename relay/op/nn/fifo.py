"""A FIFO buffer of the last elements of a stream."""

from __future__ import annotations

import numpy as np

from relay import te
from relay.ir.attrs import Attrs, attrs
from relay.ir.types import TensorType, Type
from relay.op.gradient_rules import scattering
from relay.op.opdef import define, sample
from relay.op.site import Site


@attrs
class FIFOBufferAttrs(Attrs):
    """axis: the axis along which the stream runs"""

    axis: int = 0


def _fifo_buffer_type(site: Site) -> Type | None:
    """The type of the buffer; data has its extents on the other axes."""
    if (operands := site.tensors()) is None:
        return None
    data, buffer = operands
    site.require_same_dtype(data, buffer)
    rank = len(buffer.shape)
    site.tensor(0, rank)
    stream = site.axis(site.attrs.axis, rank)
    shape = [
        b if axis == stream else site.require_equal(a, b, f"extents of axis {axis}")
        for axis, (a, b) in enumerate(zip(data.shape, buffer.shape, strict=True))
    ]
    return TensorType(tuple(shape), buffer.dtype)


def _fifo_buffer(data: np.ndarray, buffer: np.ndarray, axis: int) -> np.ndarray:
    joined = np.concatenate((buffer, data), axis)
    gone = np.arange(data.shape[axis])
    return np.delete(joined, gone, axis)


def _fifo_buffer_compute(data: te.Tensor, buffer: te.Tensor, out: te.Spec, axis: int) -> te.Tensor:
    stream = axis % buffer.rank
    kept = buffer.shape[stream] - data.shape[stream]  # negative if more enters than fits

    def element(*i: te.Expr) -> te.Expr:
        def at(place: te.Expr) -> tuple[te.Expr, ...]:
            return (*i[:stream], place, *i[stream + 1 :])

        old, new = i[stream] + data.shape[stream], i[stream] - kept
        return te.select(i[stream] < kept, buffer[at(old)], data[at(new)])

    return te.compute(out.shape, element, "buffer")


fifo_buffer = define(
    "nn.fifo_buffer",
    doc="The buffer with data appended at its end; as many elements are dropped at its beginning.",
    arguments=[("data", "the new elements"), ("buffer", "the buffer")],
    attrs=FIFOBufferAttrs,
    relation=_fifo_buffer_type,
    reference=_fifo_buffer,
    compute=_fifo_buffer_compute,
    samples=[
        sample((2, 3), (5, 3)),
        sample((2, 4, 3), (2, 2, 3), axis=1, dtype="int8"),
        sample((2, 0), (2, 3), axis=-1, dtype="bfloat16"),
    ],
    gradient=scattering(2),
)
