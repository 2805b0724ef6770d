"""Schedules carried out by the slow evaluator: what the tests of tensor expressions share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay import te
from relay.te.evaluate import evaluate, run
from relay.te.lower import LoweredLoops, lower
from relay.te.schedule import Schedule
from relay.te.tidy import tidy


def text(s: Schedule) -> str:
    """The loops of a schedule, as they come out of lowering."""
    return repr(lower(s).body)


def tidy_text(s: Schedule) -> str:
    """The loops of a schedule, made small."""
    return repr(tidy(lower(s).body))


def results(
    loops: LoweredLoops, arrays: Sequence[np.ndarray], like: Sequence[np.ndarray], **sizes: int
) -> list[np.ndarray]:
    """What loops make of arrays, in memory that holds something else at first."""
    found = [np.full_like(one, 77) for one in like]
    buffers = (*loops.inputs, *loops.outputs)
    by_name = {var: sizes[var.name] for buffer in buffers for var in _sizes(buffer)}
    run(loops.body, dict(zip(buffers, (*arrays, *found), strict=True)), by_name)
    return found


def _sizes(buffer: te.Buffer) -> list[te.Var]:
    return [size for size in buffer.shape if isinstance(size, te.Var)]


def assert_computes(s: Schedule, inputs: Mapping[te.Tensor, np.ndarray], **sizes: int) -> None:
    """The schedule computes what its tensors say, as lowered and made small."""
    expected = evaluate(s.outputs, inputs)
    arrays = [inputs[tensor] for tensor in s.inputs]
    loops = lower(s)
    small = LoweredLoops(loops.inputs, loops.outputs, tidy(loops.body))
    for one in (loops, small):
        for mine, wanted in zip(results(one, arrays, expected, **sizes), expected, strict=True):
            if mine.dtype.kind == "f":
                np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(mine, wanted)
