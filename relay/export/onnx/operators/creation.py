"""Creation of tensors."""

from __future__ import annotations

import numpy as np

from relay import dtypes
from relay.export.onnx.exporters import Exporters
from relay.export.onnx.graph import Value
from relay.export.onnx.step import Step, axis_of

table = Exporters()


def filled(step: Step, value: str) -> str:
    """A scalar broadcast to the shape of the result."""
    return step.node("Expand", value, step.integers(*step.shape))


@table("zeros", "zeros_like", "ones", "ones_like")
def constant(step: Step, *like: Value) -> str:
    return filled(step, step.number(int(step.operator.startswith("ones")), step.result.dtype))


@table("full", "full_like")
def full(step: Step, *given: Value) -> str:
    return filled(step, step.as_result(given[-1].name, given[-1].dtype))


@table("arange")
def arange(step: Step, start: Value, end: Value, by: Value) -> str:
    dtype = step.result.dtype
    known = [one.array for one in (start, end, by)]
    if all(one is not None for one in known):
        first, last, distance = (np.asarray(one).item() for one in known)
        made = np.arange(first, last, distance).astype(dtypes.to_numpy(dtype))
        return step.graph.constant(made)
    return step.node("Range", *(step.as_result(one.name, one.dtype) for one in (start, end, by)))


@table("one_hot")
def one_hot(step: Step, indices: Value, on: Value, off: Value) -> str:
    depth = step.attrs.depth
    zero, one = (step.reshape(step.as_result(v.name, v.dtype), [1]) for v in (off, on))
    both = step.node("Concat", zero, one, axis=0)
    positions = step.cast(indices, "int64")
    # negative indices are off in Relay, and count from the back in ONNX
    size = step.number(depth, "int64")
    is_before = step.node("Less", positions, step.number(0, "int64"))
    positions = step.node("Where", is_before, size, positions)
    axis = axis_of(step.attrs.axis, indices.rank + 1)
    if indices.rank:
        return step.node("OneHot", positions, size, both, axis=axis)
    return step.reshape(step.node("OneHot", step.reshape(positions, [1]), size, both), [depth])
