"""Kernels of every operator as C do what the reference of its record does, and compile without a
warning; a part of them every day (`tests.support.sampling`)."""

import pytest

from relay.errors import EvaluationError
from relay.op.opdef import get
from relay.testing.operators import assert_agree, expected, to_tensors, trimmed
from tests.support.c_kernels import Compiled, lowered, needs_compiler
from tests.support.looping import naming
from tests.support.operator_uses import computed_names, uses
from tests.support.sampling import part_of

LARGEST = 20_000  # elements
PART = 30  # of the uses of an operator
GROUP = 24  # operators in one test
NAMES = computed_names()
GROUPS = [NAMES[start : start + GROUP] for start in range(0, len(NAMES), GROUP)]


def wanted(use):
    try:
        return expected(use)
    except (EvaluationError, IndexError):
        # an index of a sample may lie outside of a tensor that was made smaller
        if not use.reshaped:
            raise
        return None


@needs_compiler
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.rotate(4)
@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_kernels_agree_with_the_reference(names):
    cases = []
    for name in names:
        for use in part_of(list(uses(get(name), LARGEST)), PART, lambda use: use.name, within=4):
            if (results := wanted(use)) is None:
                continue
            with naming(use.name):
                computed, arrays = to_tensors(use)
                cases += [
                    (use, results, arrays, checked, lowered(computed, checked))
                    for checked in (False, True)
                ]
    made = Compiled(case[-1] for case in cases)
    for use, results, arrays, checked, one in cases:
        with naming(f"{use.name} {'checked' if checked else ''}"):
            try:
                found = made.run(one, *arrays)
            except EvaluationError as error:
                # operators clamp such indices; where they are checked they are errors
                assert checked and "out of range" in str(error)
                continue
            assert_agree(use, trimmed(use.op, found), results)
