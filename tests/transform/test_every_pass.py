"""What holds for every pass, tried on random programs, random networks and the model zoo.

Every pass changes one of them, or its program in `examples.py`.
After a pass the program is well formed and well typed, main has the type it had, the interpreter
finds the same result, and references were written with the same values in the same order. Where
`passes.py` does not say otherwise, a second run changes nothing, and copies nothing either.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from relay import tree
from relay.check.infer import infer_module
from relay.check.wellformed import check_well_formed
from relay.ir.compare import assert_structural_equal, structural_equal
from relay.ir.expr import Expr, Op
from relay.ir.module import IRModule
from relay.testing import assert_same_value
from relay.transform import PassContext
from tests.support.looping import each, naming
from tests.support.sampling import part_of
from tests.transform.examples import EXAMPLES
from tests.transform.passes import PASSES, Tried, passes_of_catalogue, tried
from tests.transform.subjects import KINDS, ZOO, Subject, model, network, program, run

FEW, MANY = 1, 150
# What a pass that needs no example changes one of.
SUBJECTS = {
    lambda seed: program("everything", seed): range(2),
    network: range(8),
    model: ("mobilenet", "decoder", "tree lstm"),
}

every_pass = pytest.mark.parametrize("name", passes_of_catalogue())


def test_every_pass_is_in_the_table():
    assert sorted(PASSES) == passes_of_catalogue(), "add a line to tests/transform/passes.py"


def check(name: str, subject: Subject) -> None:
    one_pass, expected = tried(name)
    with PassContext(opt_level=4, config=expected.config):
        after = one_pass(prepared(subject, expected))
        check_result(after, subject, expected)
        if expected.idempotent:
            again = one_pass(after)
            assert_structural_equal(again, after)
            for var, function in after.functions.items():
                same = again[var] is function or not expected.keeps_functions
                assert same, f"`@{var.name_hint}` is copied, but not changed"


def prepared(subject: Subject, expected: Tried) -> IRModule:
    module = subject.module
    for prepare in expected.first():
        module = prepare(module)
    return module


def check_result(after, subject: Subject, expected: Tried) -> None:
    check_well_formed(after)
    typed = infer_module(after)
    check_types(typed)
    if expected.keeps_type:
        assert_structural_equal(typed["main"].checked_type, subject.module["main"].checked_type)
    result, written = run(typed, subject.inputs)
    assert_same_value(result, subject.result, rtol=expected.rtol)
    check_writes(written, subject.written, expected)


def check_writes(found, wanted, expected: Tried) -> None:
    """What was written before is written in the same order, and nothing else is."""
    if expected.drops_cells:
        found, wanted = wanted, found
    assert expected.own_cells or len(found) == len(wanted), "writes were lost or repeated"
    later = iter(found)
    for value in wanted:
        assert any(_same(other, value, expected) for other in later), f"{value} was not written"


def _same(found, value, expected: Tried) -> bool:
    try:
        assert_same_value(found, value, rtol=expected.rtol, functions=True)
    except AssertionError:
        return False
    return True


def check_types(typed: IRModule) -> None:
    """The types that were handed on by a pass are those that inference finds from the beginning."""
    fresh = typed.copy()
    for var, function in typed.functions.items():
        fresh[var] = tree.transform(function, lambda _, e: _copied(e))
    fresh = infer_module(fresh)
    for var, function in typed.functions.items():
        nodes = zip(tree.postorder(function), tree.postorder(fresh[var]), strict=True)
        for mine, theirs in nodes:
            if isinstance(mine, Expr) and mine.ty is not None and theirs.ty is not None:
                assert mine.ty == theirs.ty, f"{mine}\nis not of type {theirs.ty}"


def _copied(e):
    return e if isinstance(e, Op) else tree.replace(e)


# --- a part, in every run ------------------------------------------------------------------------


@every_pass
@each("kind", KINDS)
def test_a_program_means_the_same_after_a_pass(name, kind, capsys):
    for seed in part_of(range(MANY), MANY // FEW):
        with naming(f"program {seed}"):
            check(name, program(kind, seed))


@every_pass
def test_a_network_means_the_same_after_a_pass(name, capsys):
    for seed in part_of(range(2 * MANY), MANY // (2 * FEW)):
        with naming(f"network {seed}"):
            check(name, network(seed))


@every_pass
def test_a_model_means_the_same_after_a_pass(name, capsys):
    for subject in part_of(list(ZOO), 9):
        with naming(subject):
            check(name, model(subject))


# --- a program that it changes -------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_is_changed_and_means_the_same(name):
    example, (one_pass, expected) = EXAMPLES[name], tried(name)
    given = example.subject()
    with example.during(), PassContext(opt_level=5, config=expected.config):
        one_pass, made = example.make(given) if example.make else (one_pass, None)
        before = prepared(given, expected)
        after = one_pass(before)
        assert not structural_equal(after, before)
        wanted = made(after) if made else given
        changed = replace(expected, keeps_type=expected.keeps_type and made is None)
        check_result(after, wanted, changed)


@pytest.mark.parametrize("name", sorted(PASSES.keys() - EXAMPLES.keys()))
def test_a_pass_without_an_example_changes_something(name):
    one_pass, expected = tried(name)
    subjects = (make(key) for make, keys in SUBJECTS.items() for key in keys)
    with PassContext(opt_level=4, config=expected.config):
        before = (prepared(subject, expected) for subject in subjects)
        changes = any(not structural_equal(one_pass(module), module) for module in before)
    assert changes == expected.rewrites, "give it a program in tests/transform/examples.py"


def test_what_is_merged_is_merged_to_the_end():
    """A program in which merging once brought others into reach."""
    check("EliminateCommonSubexpr", program("everything", 86))


# --- and far more --------------------------------------------------------------------------------


@pytest.mark.full
@every_pass
@pytest.mark.parametrize("kind", KINDS)
def test_many_programs_mean_the_same_after_a_pass(name, kind, capsys):
    for seed in range(MANY):
        with naming(f"program {seed}"):
            check(name, program(kind, seed))


@pytest.mark.full
@every_pass
def test_many_networks_mean_the_same_after_a_pass(name, capsys):
    for seed in range(2 * MANY):
        with naming(f"network {seed}"):
            check(name, network(seed))


@pytest.mark.full
@every_pass
@pytest.mark.parametrize("subject", ZOO)
def test_all_models_mean_the_same_after_a_pass(name, subject, capsys):
    check(name, model(subject))
