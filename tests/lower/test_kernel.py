"""The records that lowering gives: values, compared by what they hold."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from relay.lower.kernel import Kernel, Lowered, Param, Result, Step, Temporary, TensorSpec

ROW = TensorSpec((4,), "float32")
KERNEL = Kernel("relay_test", (ROW,), (ROW,), "define …")


def test_records_are_values() -> None:
    assert Kernel("relay_test", (ROW,), (ROW,), "define …") == KERNEL
    assert len({Param(0), Param(0), Temporary(0), Result(0)}) == 3


def test_records_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        KERNEL.name = "other"  # type: ignore[misc]


def test_a_kernel_wants_nothing_beside_its_arguments_unless_it_says_so() -> None:
    assert (KERNEL.workspace, KERNEL.worker_workspace) == (0, 0)
    assert (KERNEL.sizes, KERNEL.in_place, KERNEL.checks) == ((), (), ())
    assert not KERNEL.approximate


def test_steps_that_depend_on_constants_only_are_marked() -> None:
    pack = Step(KERNEL, (Param(1),), (Temporary(0),), constant=True)
    main = Step(KERNEL, (Param(0), Temporary(0)), (Result(0),))
    lowered = Lowered((pack, main), (ROW,))
    assert [step.constant for step in lowered.steps] == [True, False]


def test_sizes_known_at_run_time_have_names() -> None:
    assert TensorSpec(("n", 3), "int8") != TensorSpec((4, 3), "int8")
