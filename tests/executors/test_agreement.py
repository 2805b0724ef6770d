"""Every executor agrees with the interpreter, which says what programs mean.

The programs are those of `tests/programs`, and random ones. What an executor does not run, it
refuses with the reason and the place; `REFUSED` says which programs those are, so that none drops
out unnoticed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import relay
from relay.cache import Cache
from relay.errors import DiagnosticError, RelayError
from relay.interpreter.values import to_value
from relay.target.target import Target
from relay.testing import Seeded, assert_same_value, random_inputs
from relay.testing.strategies import programs
from tests.programs.expected import CASES

PROGRAMS = {
    path.stem: path for path in sorted((Path(__file__).parent.parent / "programs").glob("*.relay"))
}

# What keeps a program from being straight-line code over tensors of known shapes.
REFUSED = {
    "conditionals": "an `if`",
    "extern_types": "parameter `%s` of type Storage",
    "function_types": "parameter `%f` of type fn",
    "if_as_value": "an `if`",
    "lists": "a value of a data type",
    "match_as_value": "parameter `%o` of type Option[int32]",
    "mutual_recursion": "an `if`",
    "mutually_recursive_types": "a value of a data type",
    "operators": "an `if`",
    "partial_match": "a value of a data type",
    "patterns": "parameter `%p` of type Tree[int32]",
    "phantom_type_argument": "a value of a data type",
    "recursion": "an `if`",
    "references": "a reference",
    "scopes": "an `if`",
    "sequencing": "parameter `%r` of type ref(int32)",
    "shape_type_arguments": "parameter `%f` of type fn",
    "sharing_across_branches": "an `if`",
    "symbolic_shapes": "Tensor[(n, 2 * m), float32], whose shape shows at run time",
    "unknown_dimensions": "Tensor[(?, 3), float32], whose shape shows at run time",
}
WITHOUT_MAIN = {"constructors_as_values", "empty_module", "lstm_step", "only_types"}
# Whole programs come with arguments and results (`tests/interpreter/test_programs.py`).
STRAIGHT = PROGRAMS.keys() - REFUSED.keys() - WITHOUT_MAIN - CASES.keys()

# How a program is compiled.
WAYS = {
    "default": {},
    "as written": {"level": 0},
    "plain and checked": {"target": "llvm -level=baseline", "checked": True},
}
MORE_WAYS = {
    **WAYS,
    "unfused": {"level": 1},
    "AVX2": {"target": "llvm -level=avx2"},
    "checked": {"checked": True},
    "one thread": {"threads": 1},
}


@pytest.fixture
def way(request):
    """The options of `relay.compile` that a test is run with."""
    options = MORE_WAYS[request.param]
    if options.get("target", "llvm") != "llvm" and Target.host().arch != "x86_64":
        pytest.skip("levels are of x86-64")
    return options


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return Cache(tmp_path_factory.mktemp("kernels"))


def load(name):
    return relay.parse(PROGRAMS[name].read_text(), f"{name}.relay")


def positive(data):
    """Floats between 1/2 and 3/2, in place of others: a variance must not be negative."""
    if isinstance(data, tuple):
        return tuple(map(positive, data))
    if data.dtype.kind != "f":
        return data
    return np.random.default_rng(0).uniform(0.5, 1.5, data.shape).astype(data.dtype)


def tensors(value):
    """The arrays of a result, from left to right."""
    pending, found = [value], []
    while pending:
        part = pending.pop()
        if isinstance(part, relay.nd.NDArray):
            found.append(part.numpy())
        else:
            pending.extend(reversed(part))
    return found


@pytest.mark.parametrize("way", WAYS, indirect=True)
@pytest.mark.parametrize("name", sorted(STRAIGHT))
def test_straight_programs_mean_what_the_interpreter_says(name, way, cache):
    module = load(name)
    inputs = positive(tuple(random_inputs(module, Seeded(1))))
    expected = tensors(relay.create_executor("debug", module).evaluate()(*inputs))
    found = tensors(to_value(relay.compile(module, cache=cache, **way)(*inputs)))
    assert [(a.shape, a.dtype) for a in found] == [(a.shape, a.dtype) for a in expected]
    for ours, theirs in zip(found, expected, strict=True):
        if relay.dtypes.is_float(relay.dtypes.from_numpy(theirs.dtype)):
            wide = (array.astype("float64") for array in (ours, theirs))
            np.testing.assert_allclose(*wide, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_other_programs_are_refused_with_the_reason_and_the_place(name, level):
    with pytest.raises(DiagnosticError) as error:
        relay.compile(load(name), level=level)
    said = str(error.value)
    assert said.startswith("the graph executor runs straight-line code over tensors, and this is")
    assert REFUSED[name] in said
    assert f"--> {name}.relay:" in said
    assert 'hint:     relay.create_executor("debug") runs every program' in said


@pytest.mark.parametrize("name", sorted(WITHOUT_MAIN))
def test_a_module_without_main_is_refused(name):
    with pytest.raises(RelayError, match="the module has no function `@main`"):
        relay.compile(load(name))


def agrees(program, cache, **options):
    module, inputs = program
    expected = relay.create_executor("debug", module).evaluate()(*inputs)
    found = to_value(relay.compile(module, cache=cache, **options)(*inputs))
    assert_same_value(found, expected)


STRAIGHT_LINE = {
    "adts": False,
    "branches": False,
    "dynamic": False,
    "recursion": False,
    "references": False,
    "symbolic": False,
}


@settings(max_examples=15)
@given(program=programs(size=15, functions=1, **STRAIGHT_LINE))
def test_random_programs_mean_what_the_interpreter_says(cache, program):
    agrees(program, cache)


@pytest.mark.full
@pytest.mark.parametrize("way", MORE_WAYS, indirect=True)
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(program=programs(size=40, **STRAIGHT_LINE))
def test_many_random_programs_mean_what_the_interpreter_says(cache, way, program):
    agrees(program, cache, **way)
