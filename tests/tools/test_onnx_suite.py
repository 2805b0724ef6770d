"""The ONNX backend suite: what is not excluded with a reason passes, as native code."""

import random
import re

import pytest

from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import interpreter
from tests.support.sampling import part_of
from tools.onnx_suite import cases, check, excluded, exclusions, load, run

FEW = 4  # parts of what is tried here always
ALL = 40  # parts of everything

# The interpreter rounds after every operator, more than the tolerance of these.
ROUNDED = ("test_celu_bfloat16", "test_dft_inverse")


def outcomes(chosen, of=None):
    found = [run(case, of) for case in chosen]
    return [f"{kind} {name}: {wrong}" for kind, name, wrong in found if wrong]


def wanted():
    found = [case for case in cases() if excluded(case[1]) is None]
    random.Random(0).shuffle(found)
    return found


@pytest.mark.parametrize("part", range(FEW))
def test_some_tests_of_the_suite_pass(part):
    assert outcomes(part_of(wanted(), ALL, str)[part::FEW]) == []


@pytest.mark.rotate(FEW)
@pytest.mark.parametrize("part", range(FEW))
def test_the_interpreter_passes_those_of_nodes(part):
    nodes = [case for case in wanted() if case[0] == "node" and not case[1].startswith(ROUNDED)]
    assert outcomes(nodes[part::FEW], interpreted) == []


def interpreted(kind, name):
    model, data_sets = load(kind, name)
    if any(one.type.WhichOneof("value") != "tensor_type" for one in model.graph.input):
        return
    program = interpreter(*from_onnx(model))
    for inputs, results in data_sets:
        found = program(*inputs)
        check(kind, name, found if len(results) > 1 else [found], results)


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
