"""What tests of operators share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from relay import te
from relay.op.opdef import get, sample
from relay.op.shapes import output_type

Stages = Callable[..., list[str]]


@pytest.fixture
def stages() -> Stages:
    """`stages("nn.dense", (2, 3), (4, 3))`: the tensors that an operator computes on the way to its
    result, in order, as text. The arguments are x0, x1, …"""

    def written(name: str, *shapes: Sequence[int], **keywords: Any) -> list[str]:
        op, use = get(name), sample(*shapes, **keywords)
        made = op.make_attrs(use.attrs)
        ty = output_type(op, use.types(), made, use.values())
        out = te.Spec(tuple(map(te.index, ty.shape)), ty.dtype)
        args = [
            te.placeholder(known.shape, known.dtype, f"x{i}") for i, known in enumerate(use.types())
        ]
        result = op.compute(*args, out=out, **(dict(made.items()) if made else {}))
        found: dict[te.Tensor, str] = {}
        pending = [result]
        while pending:
            tensor = pending.pop()
            if isinstance(tensor.op, te.Computation):
                found.pop(tensor, None)
                found[tensor] = text(tensor)
                pending += tensor.op.inputs
        return list(reversed(found.values()))

    return written


def text(tensor: te.Tensor) -> str:
    assert isinstance(tensor.op, te.Computation)
    axes = ", ".join(axis.name for axis in tensor.op.axes)
    return f"{tensor.name}[{axes}] = {tensor.op.bodies[tensor.position]!r}"
