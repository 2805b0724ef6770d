"""Models that nobody has written, through the compiler and through ONNX Runtime."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.frontend.onnx.oracle import close, ours, reference, runtime
from tests.frontend.onnx.random_models.models import random_model
from tests.frontend.onnx.random_models.open_run import model_of, tried
from tests.support import sampling

T = TypeVar("T")

RUN = "tests.frontend.onnx.random_models.open_run"
ROOT = Path(__file__).parents[3]


class Drawn:
    """Decisions of hypothesis."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data

    def choice(self, options: Sequence[T]) -> T:
        return options[self.number(0, len(options) - 1)]

    def number(self, low: int, high: int) -> int:
        return self.data.draw(st.integers(low, high))


# Where the reference of the standard is not what the standard says: the operator, the first version
# of which it is right (None: none), and what is wrong. Such a model has no oracle where ONNX
# Runtime has no code for it; it has to run all the same.
EXPLAINED = {
    "Loop": (None, "rows that are scalars get an axis too many, or cannot be put together"),
    "Softmax": (13, "axes after the one that is named are not taken together"),
    "LogSoftmax": (13, "axes after the one that is named are not taken together"),
    "Softsign": (None, "scalars are not written to"),
}


def by_onnx_runtime(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[Any] | None:
    """What ONNX Runtime says; the reference of the standard where it has no code for a type."""
    lacks = onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented
    try:
        return runtime(model, *inputs)
    except lacks:
        pass
    version = model.opset_import[0].version
    for node in model.graph.node:
        right_since, _ = EXPLAINED.get(node.op_type, (0, ""))
        if right_since is None or version < right_since:
            return None
    return reference(model, *inputs)


def check(model: onnx.ModelProto, inputs: Sequence[Any]) -> None:
    onnx.checker.check_model(model)
    theirs = by_onnx_runtime(model, inputs)
    mine = ours(model, *inputs)
    if theirs is None:
        return
    for one, other in zip(mine, theirs, strict=True):
        left, right = np.asarray(one), np.asarray(other)
        assert (left.shape, left.dtype) == (right.shape, right.dtype)
        assert close(left, right), f"{left}, not {right}"


FEW = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@given(st.data())
@FEW
def test_a_few_agree_with_onnx_runtime(data: st.DataObject) -> None:
    check(*random_model(Drawn(data)))


# --- open extents, and numbers that a run finds or is given -------------------------------------

MEMORY = 6000  # MB that models may reserve


def outcomes(first: int, last: int) -> dict[int, str]:
    """What comes of open models, by number; each runs where it cannot harm anybody else."""
    found: dict[int, str] = {}
    while first < last:
        command = [sys.executable, "-m", RUN, str(first), str(last), str(MEMORY)]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        for line in ran.stdout.splitlines():
            number, _, outcome = line.partition(" ")
            found[int(number)] = outcome.strip()
        if ran.returncode == 0:
            break
        # the last one ended the process
        first = max(found, default=first) + 1
        found[first - 1] = f"FAILS: exit status {ran.returncode}: {ran.stderr[-300:]}"
    return found


def check_all(first: int, last: int) -> None:
    found = outcomes(first, last)
    assert sorted(found) == [*range(first, last)]
    failed = {number: one for number, one in found.items() if one.startswith("FAILS")}
    assert not failed, failed
    # what we refuse, and ONNX Runtime does not, is named, and rare
    refused = {number: one for number, one in found.items() if one.startswith("refused")}
    assert len(refused) <= 1 + (last - first) / 50, refused
    agreeing = [one for one in found.values() if one.startswith("agrees")]
    assert len(agreeing) >= 0.9 * (last - first)


def test_a_few_open_models_agree_with_onnx_runtime() -> None:
    first = 5 * (sampling.RUN.seed % 400)
    found = outcomes(first, first + 5)
    assert sorted(found) == [*range(first, first + 5)]
    assert not [one for one in found.values() if one.startswith("FAILS")], found


# What ONNX Runtime does not look at where there is nothing: axes, a reduced axis of size 0, rows.
@pytest.mark.rotate(3)
@pytest.mark.parametrize("number", [128, 408, 680, 973, 1345, 1483])
def test_what_the_standard_says_of_nothing_is_no_failure(number: int) -> None:
    assert tried(model_of(number)).startswith("agrees")


# Extents of 0 and -1 that a run computes for Reshape, and a number for a name.
@pytest.mark.rotate(3)
@pytest.mark.parametrize("number", [330, 339, 403, 1462])
def test_reshapes_that_a_run_decides_agree_with_onnx_runtime(number: int) -> None:
    assert tried(model_of(number)).startswith("agrees")


@pytest.mark.full
@pytest.mark.timeout(7200)
def test_two_thousand_open_models_agree_with_onnx_runtime() -> None:
    check_all(0, 2000)
