"""Which passes a Sequential runs, and in which order."""

import pytest

import relay
from relay.transform import InferType, PassContext, Sequential, module_pass


@pytest.fixture
def order():
    return []


@pytest.fixture
def make(order):
    def made(name, opt_level=0, required=()):
        @module_pass(opt_level=opt_level, name=name, required=required)
        def work(mod, ctx):
            order.append(name)
            return mod

        return work

    return made


@pytest.fixture
def module():
    return relay.IRModule.from_expr(relay.const(1))


def test_passes_run_in_order(make, module, order):
    Sequential([make("a"), make("b"), make("a")])(module)
    assert order == ["a", "b", "a"]


def test_passes_above_the_level_of_the_context_are_left_out(make, module, order):
    sequence = Sequential([make(f"level {n}", n) for n in range(5)])
    sequence(module)
    assert order == ["level 0", "level 1", "level 2"]
    order.clear()
    with PassContext(opt_level=4):
        sequence(module)
    assert len(order) == 5


def test_required_passes_run_at_any_level_and_disabled_ones_at_none(make, module, order):
    sequence = Sequential([make("a", 4), make("b", 0), make("c", 4)])
    with PassContext(opt_level=0, required_pass=["a", "c"], disabled_pass=["b", "c"]):
        sequence(module)
    assert order == ["a"]


def test_what_a_pass_requires_runs_before_it_and_only_then(make, module, order):
    needed = make("needed", 4)
    Sequential([make("a", 0, [needed]), make("b", 4, [needed]), make("c", 0, [needed])])(module)
    assert order == ["needed", "a", "needed", "c"]


def test_sequences_nest(make, module, order):
    inner = Sequential([make("b"), make("c")], opt_level=3, name="inner")
    Sequential([make("a"), inner])(module)
    assert order == ["a"]
    order.clear()
    with PassContext(opt_level=3):
        Sequential([make("a"), inner])(module)
    assert order == ["a", "b", "c"]


def test_an_empty_sequence_changes_nothing(module):
    assert Sequential()(module)["main"] is module["main"]
    assert Sequential([], opt_level=2, name="n", required=["InferType"]).info.required == (
        "InferType",
    )


def test_a_class_in_the_place_of_a_pass_is_told_so(make):
    with pytest.raises(relay.PassError, match=r"write InferType\(\)"):
        Sequential([InferType])
    with pytest.raises(relay.PassError, match="takes passes, found 3"):
        Sequential([3])
