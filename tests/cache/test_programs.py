"""What a model was compiled to before is found again, and only that."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

import relay
from relay import driver
from relay.cache import Cache
from relay.cache.programs import MOST
from relay.op.facts import Trait
from relay.op.opdef import FusionKind, define, get, temporary_operators
from relay.pipeline import whole_program
from relay.target.target import Target
from relay.transform import PassContext
from relay.transform.instruments import PassTimingInstrument

SOURCE = """
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
  nn.relu(add(nn.dense(%x, %w), 0.5f))
}
"""
RANDOM = np.random.default_rng(0)
X, W = (RANDOM.standard_normal(shape).astype("float32") for shape in ((2, 3), (4, 3)))


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "kernels")


def compiled(cache, source=SOURCE, params=None, **options):
    """The executable, and whether passes ran for it."""
    params = {"w": W} if params is None else params
    with mock.patch.object(driver, "passes", wraps=driver.passes) as passes:
        exe = relay.compile(relay.parse(source), params, cache=cache, **options)
    return exe, passes.called


def is_found(cache, source=SOURCE, **options):
    return not compiled(cache, source, **options)[1]


def test_the_second_time_no_pass_runs_and_all_is_as_it_was(cache):
    first, ran = compiled(cache)
    assert ran
    second, ran = compiled(cache)
    assert not ran
    assert second.program == first.program
    assert second.code == first.code
    assert second(X).tobytes() == first(X).tobytes()
    np.testing.assert_allclose(second(X), np.maximum(X @ W.T + 0.5, 0), rtol=1e-6)


def test_weights_are_those_of_the_call(cache):
    compiled(cache)
    other, ran = compiled(cache, params={"w": 2 * W})
    assert not ran
    np.testing.assert_allclose(other(X), np.maximum(X @ (2 * W).T + 0.5, 0), rtol=1e-6)
    other.set_params(w=W)
    np.testing.assert_allclose(other(X), np.maximum(X @ W.T + 0.5, 0), rtol=1e-6)


def test_whatever_it_depends_on_makes_it_another(cache, monkeypatch):
    monkeypatch.delenv("RELAY_CHECKED", raising=False)
    compiled(cache)
    assert not is_found(cache, SOURCE.replace("0.5f", "0.25f"))
    assert not is_found(cache, level=0)
    assert not is_found(cache, checked=True)
    assert not is_found(cache, exact=True)
    assert not is_found(cache, params={})
    assert not is_found(cache, target=Target.x86("baseline"))
    assert is_found(cache)


def test_constants_are_told_apart_by_their_elements(cache):
    x = relay.var("x", shape=(5,))

    def run(values):
        model = relay.Function([x], relay.add(x, relay.const(np.array(values, "float32"))))
        with mock.patch.object(driver, "passes", wraps=driver.passes) as passes:
            exe = relay.compile(model, cache=cache)
        return exe(np.zeros(5, "float32")).tolist(), passes.called

    assert run([1, 2, 3, 4, 5]) == ([1, 2, 3, 4, 5], True)
    assert run([1, 2, 3, 4, 6]) == ([1, 2, 3, 4, 6], True)
    assert run([1, 2, 3, 4, 5]) == ([1, 2, 3, 4, 5], False)


def test_what_brings_large_constants_is_not_kept(cache):
    x = relay.var("x", shape=(1,))
    for _ in range(2):
        model = relay.Function([x], relay.add(x, relay.const(np.zeros(MOST // 4 + 1, "float32"))))
        with mock.patch.object(driver, "passes", wraps=driver.passes) as passes:
            relay.compile(model, cache=cache)
        assert passes.called


def test_programs_that_are_not_straight_lines_are_not_kept(cache):
    source = """
    #[version = "0.0.5"]
    def @main(%x: Tensor[(2, 3), float32], %go: bool) { if (%go) { exp(%x) } else { %x } }
    """
    for _ in range(2):
        module = relay.parse(source)
        with mock.patch.object(driver, "whole_program", wraps=whole_program) as passes:
            relay.compile(module, cache=cache)
        assert passes.called


@pytest.mark.parametrize(
    "context",
    [
        {"instruments": [PassTimingInstrument()]},
        {"disabled_pass": ["SimplifyExpr"]},
        {"config": {"relay.FuseOps.max_depth": 1}},
        {"opt_level": 1},
    ],
    ids=lambda context: next(iter(context)),
)
def test_passes_that_are_watched_or_others_run(cache, context):
    compiled(cache)
    with PassContext(**context):
        assert not is_found(cache)


def test_operators_that_others_change_are_not_trusted(cache):
    compiled(cache)
    with temporary_operators():
        get("nn.relu").set_attr("TOpPattern", FusionKind.OPAQUE)
        assert not is_found(cache)
    for fact in (lambda: 0, 1):
        with temporary_operators():
            get("nn.relu").set_attr("Mine", fact)
            assert not is_found(cache)
    assert is_found(cache)


@pytest.mark.parametrize("facts", [{"traits": Trait.MOVES}, {"cost": 2}, {"identity": 0.0}])
def test_facts_of_operators_make_a_difference(cache, facts):
    def is_found_with(**facts):
        with temporary_operators():
            define("my.add", doc="", relation=get("add").relation, **facts)
            return is_found(cache)

    assert not is_found_with() and is_found_with()
    assert not is_found_with(**facts) and is_found_with(**facts)


def test_without_a_folder_nothing_is_kept():
    assert not is_found(Cache(None))
    assert not is_found(Cache(None))
