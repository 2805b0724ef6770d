"""The ONNX backend suite: what is not excluded with a reason passes, as native code."""

import random
import re

import pytest

from tools.onnx_suite import KINDS, cases, excluded, exclusions, run

FEW = 4  # parts of what is tried here always
ALL = 40  # parts of everything


def outcomes(chosen):
    found = [run(case) for case in chosen]
    return [f"{kind} {name}: {wrong}" for kind, name, wrong in found if wrong]


def wanted():
    found = [case for case in cases() if excluded(case[1]) is None]
    random.Random(0).shuffle(found)
    return found


@pytest.mark.parametrize("part", range(FEW))
def test_some_tests_of_the_suite_pass(part):
    sample = wanted()[:: len(KINDS) * 4]
    assert outcomes(sample[part::FEW]) == []


@pytest.mark.full
@pytest.mark.parametrize("part", range(ALL))
def test_all_tests_of_the_suite_pass(part):
    assert outcomes(wanted()[part::ALL]) == []


def test_everything_that_is_excluded_is_there_and_has_a_reason():
    names = [name for _, name in cases()]
    for pattern, reason in exclusions().items():
        assert reason
        assert any(re.search(pattern, name) for name in names), pattern


def test_few_are_excluded():
    nodes = [name for _, name in cases(("node",))]
    assert len([name for name in nodes if excluded(name) is None]) >= 1839
