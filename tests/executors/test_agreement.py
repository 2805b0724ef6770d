"""Every executor agrees with the interpreter, which says what programs mean.

The programs are those of `tests/programs`, and random ones. What an executor does not run, it
refuses with the reason and the place; `REFUSED` and `NOT_STRAIGHT` say which programs those are, so
that none drops out unnoticed.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

import relay
from relay.cache import Cache
from relay.driver import compile_graph
from relay.errors import DiagnosticError, RelayError
from relay.interpreter.values import to_value
from relay.target.target import Target
from relay.testing import Seeded, assert_same_value, random_inputs
from relay.testing.generate import random_module
from relay.testing.strategies import programs
from tests.executors.engines import assert_agreement, interpreter
from tests.programs.arguments import PROGRAMS, WITHOUT_MAIN, arguments, load
from tests.programs.expected import CASES

# What no engine takes: Python has no value to give for these parameters.
REFUSED = {
    "extern_types": "type `Storage` is defined elsewhere: a compiled program cannot hold it",
    "function_types": "`@main` is polymorphic, so nobody knows which types to compile it for",
    "shape_type_arguments": "parameter `%f` of `@main` is a function",
}
# What keeps a program from being straight-line code over tensors of known shapes.
NOT_STRAIGHT = {
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
    "tuples_in_cells": "a reference",
    "unknown_dimensions": "Tensor[(?, 3), float32], whose shape shows at run time",
}
WHOLE = PROGRAMS.keys() - REFUSED.keys() - WITHOUT_MAIN
STRAIGHT = WHOLE - NOT_STRAIGHT.keys() - CASES.keys()

# How a program is compiled.
WAYS = {
    "default": {},
    "as written": {"level": 0, "checked": True},
}
MORE_WAYS = {
    **WAYS,
    "unfused": {"level": 1},
    "plain and checked": {"target": "llvm -level=baseline", "checked": True},
    "AVX2": {"target": "llvm -level=avx2"},
    "checked": {"checked": True},
    "as written, unchecked": {"level": 0},
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


# --- the programs of the folder ------------------------------------------------------------------


@pytest.mark.rotate(4)
@pytest.mark.parametrize("way", WAYS, indirect=True)
@pytest.mark.parametrize("name", sorted(WHOLE))
def test_programs_mean_what_the_interpreter_says(name, way, cache):
    module = load(name)
    assert_agreement(module, lambda: arguments(name, module), rtol=1e-5, cache=cache, **way)


@pytest.mark.full
@pytest.mark.parametrize("way", sorted(MORE_WAYS.keys() - WAYS.keys()), indirect=True)
@pytest.mark.parametrize("name", sorted(WHOLE))
def test_programs_mean_the_same_however_they_are_compiled(name, way, cache):
    module = load(name)
    assert_agreement(module, lambda: arguments(name, module), rtol=1e-5, cache=cache, **way)


@pytest.mark.rotate(3)
@pytest.mark.parametrize("way", WAYS, indirect=True)
@pytest.mark.parametrize("name", sorted(STRAIGHT))
def test_straight_programs_mean_it_in_an_arena_too(name, way, cache):
    module = load(name)
    executable = compile_graph(module, cache=cache, **way)
    for args in arguments(name, module):
        found = to_value(executable(*args))
        assert_same_value(found, interpreter(module)(*args), rtol=1e-5)


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_takes_no_data_is_refused_with_the_reason_and_the_place(name, level):
    with pytest.raises(DiagnosticError) as error:
        relay.compile(load(name), level=level)
    assert REFUSED[name] in str(error.value)
    assert f"--> {name}.relay:" in str(error.value)


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", sorted(NOT_STRAIGHT))
def test_the_graph_executor_refuses_other_programs_with_the_reason_and_the_place(name, level):
    with pytest.raises(DiagnosticError) as error:
        compile_graph(load(name), level=level)
    said = str(error.value)
    assert said.startswith("the graph executor runs straight-line code over tensors, and this is")
    assert NOT_STRAIGHT[name] in said
    assert f"--> {name}.relay:" in said
    assert 'hint:     relay.compile and relay.create_executor("debug") run every program' in said


@pytest.mark.parametrize("name", sorted(WITHOUT_MAIN))
def test_a_module_without_main_is_refused(name):
    with pytest.raises(RelayError, match="the module has no function `@main`"):
        relay.compile(load(name))


# --- random programs -----------------------------------------------------------------------------


def agree_on(module, cache, *, calls=2, seed=0, **options):
    """A random program, called with arguments whose sizes differ."""

    def made():
        return [random_inputs(module, Seeded(seed + number)) for number in range(calls)]

    assert_agreement(module, made, cache=cache, **options)


@pytest.mark.rotate(3)
@pytest.mark.parametrize("way", WAYS, indirect=True)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_mean_what_the_interpreter_says(seed, way, cache):
    agree_on(random_module(Seeded(seed), size=20), cache, **way)


@pytest.mark.full
@pytest.mark.parametrize("way", MORE_WAYS, indirect=True)
@pytest.mark.parametrize("seed", range(300))
def test_many_random_programs_mean_what_the_interpreter_says(seed, way, cache):
    agree_on(random_module(Seeded(seed)), cache, **way)


@pytest.mark.full
@pytest.mark.parametrize("level", [0, 3])
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(program=programs(size=40))
def test_small_programs_mean_what_the_interpreter_says(cache, level, program):
    module, args = program
    assert_agreement(module, lambda: [args], cache=cache, level=level)


STRAIGHT_LINE = {
    "adts": False,
    "branches": False,
    "unknown_dims": False,
    "recursion": False,
    "references": False,
    "named_dims": False,
}


def agrees(program, cache, **options):
    module, inputs = program
    found = to_value(relay.compile(module, cache=cache, threads=1, **options)(*inputs))
    assert_same_value(found, interpreter(module)(*inputs))


@settings(max_examples=6)
@given(program=programs(size=15, functions=1, **STRAIGHT_LINE))
def test_random_straight_programs_mean_what_the_interpreter_says(cache, program):
    agrees(program, cache)


@pytest.mark.full
@pytest.mark.parametrize("way", MORE_WAYS, indirect=True)
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(program=programs(size=40, **STRAIGHT_LINE))
def test_many_random_straight_programs_mean_what_the_interpreter_says(cache, way, program):
    agrees(program, cache, **way)
