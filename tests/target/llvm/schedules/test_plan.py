"""Plans: read and written as text, and without effect on results."""

from __future__ import annotations

import numpy as np
import pytest

from relay.lower.kernel import Options
from relay.lower.lower import lower_static, plans_of
from relay.target.llvm.schedules.plan import RULES, Plan
from relay.target.target import Target
from tests.support.kernels import Batch
from tests.support.sampling import some_of
from tests.target.llvm.kernels import LEVEL_NAMES, LEVELS, WIDEST
from tests.target.llvm.schedules.outline import function
from tests.target.llvm.schedules.test_winograd import blocked, channels_last, normal

DENSE = """(%x: Tensor[(7, 20), float32], %w: Tensor[(37, 20), float32]) {
      nn.relu(nn.dense(%x, %w))
    }"""
BYTES = """(%x: Tensor[(9, 24), uint8], %w: Tensor[(40, 24), int8]) {
      nn.dense(%x, %w, out_dtype="int32")
    }"""
ROW = """(%x: Tensor[(1, 20), float32], %w: Tensor[(150, 20), float32]) { nn.dense(%x, %w) }"""
CASES = [DENSE, BYTES, ROW, channels_last(16, 24, 9, 10), blocked(16, 32, 9, 7)]


def test_plans_are_text() -> None:
    for plan in (Plan(6, 4), Plan(lines="in"), Plan(2, 3, winograd="rows"), RULES):
        assert Plan.of(str(plan)) == plan
    assert str(RULES) == ""


@pytest.mark.parametrize("text", ["tile=0x4", "tile=99x4", "lines=up", "winograd=maybe", "x", "="])
def test_words_without_meaning_are_left_out(text: str) -> None:
    assert Plan.of(text) == RULES


@pytest.mark.rotate(3)
@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_every_plan_gives_the_same_results(target: Target) -> None:
    for source in CASES:
        made = function(source)
        known = [i > 0 for i in range(len(made.params))]
        plans = plans_of(made, known, target, Options())
        assert len(plans) == len(set(plans)) > 1
        chosen = ["plain", "", *some_of(plans, 5)]
        lowered = [lower_static(made, known, target, Options(plan=plan)) for plan in chosen]
        assert len({one.steps[-1].kernel.name for one in lowered}) > 1
        batch = Batch(lowered, target)
        types = [param.type_annotation for param in made.params]
        scale = 10 if "int8" in source else 1
        arrays = [(scale * abs(normal(*ty.concrete_shape))).astype(ty.dtype) for ty in types]
        (expected,) = batch.run(0, arrays).results
        for number in range(1, len(chosen)):
            (found,) = batch.run(number, arrays, threads=2).results
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-4)


def test_exact_kernels_are_direct_sums_in_every_plan() -> None:
    made = function(blocked(16, 32, 9, 7))
    plans = plans_of(made, [False, True, True, False], WIDEST, Options(exact=True))
    assert plans and not any("winograd" in plan for plan in plans)


def test_what_is_no_sum_of_products_has_one_schedule() -> None:
    made = function("(%x: Tensor[(4, 8), float32]) { nn.softmax(%x) }")
    assert plans_of(made, [False], WIDEST, Options()) == ()
