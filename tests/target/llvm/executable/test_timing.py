"""Profiles of whole programs: the kernels that ran, how often, and what is left besides."""

import copy

import numpy as np
import pytest

import relay
from relay.errors import EvaluationError, RelayError
from relay.executors.report import Profile

POWER = """
def @main(%x: Tensor[(?, 3), float32], %w: Tensor[(3, 3), float32], %n: int32)
    -> Tensor[(?, 3), float32] {
  if (%n == 0) { sort(%x) } else { @main(nn.dense(%x, %w), %w, %n - 1) }
}
"""
X = np.arange(6, dtype="float32").reshape(2, 3)
W = np.eye(3, dtype="float32") * 2


@pytest.fixture(scope="module")
def power():
    return relay.compile(relay.parse(POWER), {"w": W})


def calls(profile):
    return {" ".join(step.kernel.operators): step.kernel.calls for step in profile}


def test_kernels_are_counted_as_often_as_they_ran(power):
    profile = power.profile(X, 7, repeat=2)
    assert isinstance(profile, Profile)
    assert calls(profile) == {"nn.dense": 7, "sort": 1}
    assert calls(power.profile(X, 0)) == {"sort": 1}
    assert calls(power.profile(x=X, n=2, repeat=1)) == {"nn.dense": 2, "sort": 1}
    assert all(step.seconds > 0 for step in profile)
    assert profile.outside > 0
    assert profile.seconds == pytest.approx(sum(s.seconds for s in profile) + profile.outside)
    np.testing.assert_array_equal(power(X, 2), np.sort(X @ W.T @ W.T))


def test_it_is_printed_like_that_of_straight_line_code(power):
    straight = relay.compile(relay.parse("def @main(%x: Tensor[(2, 3), float32]) { tanh(%x) }"))
    one, other = (str(exe) for exe in (straight.profile(), power.profile(X, 3)))
    assert one.splitlines()[0].split() == other.splitlines()[0].split()
    assert "between the kernels" in other
    assert "between the kernels" not in one
    for text in (one, other):
        assert text.splitlines()[-1].startswith("all steps: ")


def test_what_was_loaded_is_profiled_too(power):
    assert calls(copy.deepcopy(power).profile(X, 4, repeat=1)) == {"nn.dense": 4, "sort": 1}


def test_a_program_without_kernels_has_a_profile():
    text = "def @main(%n: int32) -> int32 { if (%n < 10) { @main(%n + 1) } else { %n } }"
    profile = relay.compile(relay.parse(text)).profile(3)
    assert len(profile) == 0
    assert profile.outside > 0


def test_what_cannot_be_profiled_is_refused(power):
    with pytest.raises(EvaluationError, match="there is no example"):
        power.profile()
    with pytest.raises(RelayError, match="`repeat` is a number from 1 on"):
        power.profile(X, 1, repeat=0)
    with pytest.raises(EvaluationError, match="wrong value in argument `x`"):
        power.profile(X[0], 1)
