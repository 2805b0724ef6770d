"""Widths of padding, of which some take elements away."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import relay
from relay.errors import RelayError

X = np.arange(1, 21, dtype="float32").reshape(4, 5)
KINDS = ("native", "vm", "debug")
WIDTHS = [
    ((-1, 0), (2, -2)),
    ((1, -1), (-1, 1)),
    ((-3, -1), (0, 4)),
    ((-2, 3), (-4, -1)),
    ((0, -4), (1, 1)),
]


def padded(widths: object, **attributes: object) -> relay.IRModule:
    """A function of data, and of its widths where they are those of a run."""
    data = relay.var("x", shape=(relay.Any(), 5), dtype="float32")
    params = [data]
    if widths is None:
        widths = relay.var("widths", shape=(2, 2), dtype="int64")
        params.append(widths)
    return relay.IRModule.from_expr(
        relay.Function(params, relay.nn.pad(data, widths, 7.0, **attributes))
    )


def evaluated(kind: str, mod: relay.IRModule) -> Callable[..., Any]:
    if kind == "native":
        return relay.compile(mod)
    return relay.create_executor(kind, mod).evaluate()


def by_torch(widths: tuple[tuple[int, int], ...]) -> np.ndarray:
    flat = [*widths[1], *widths[0]]
    return torch.nn.functional.pad(torch.from_numpy(X), flat, value=7.0).numpy()


@pytest.mark.parametrize("widths", WIDTHS)
def test_a_negative_width_takes_elements_away_as_in_pytorch(widths):
    wanted = by_torch(widths)
    for kind in KINDS:
        run = evaluated(kind, padded(widths))
        np.testing.assert_array_equal(np.asarray(run(X)), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_widths_of_a_run_may_be_negative(kind):
    run = evaluated(kind, padded(None))
    for widths in WIDTHS:
        np.testing.assert_array_equal(np.asarray(run(X, np.array(widths))), by_torch(widths))


def test_the_type_says_what_is_left():
    data = relay.var("x", shape=(4, 5), dtype="float32")
    call = relay.nn.pad(data, ((-1, -1), (-2, 1)))
    assert str(relay.transform.InferTypeLocal(call)) == "Tensor[(2, 4), float32]"


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
def test_an_axis_is_padded_with_the_elements_that_are_left(mode):
    run = evaluated("vm", padded(None, pad_mode=mode))
    for before, after in itertools.product((-2, 0, 1), (-1, 0, 2)):
        left = X[:, max(-before, 0) : 5 - max(-after, 0)]
        wanted = np.pad(left, ((0, 0), (max(before, 0), max(after, 0))), mode)
        widths = ((0, 0), (before, after))
        np.testing.assert_array_equal(np.asarray(run(X, np.array(widths))), wanted)
        fixed = evaluated("native", padded(widths, pad_mode=mode))
        np.testing.assert_array_equal(np.asarray(fixed(X)), wanted)


def test_no_more_is_taken_away_than_there_is():
    data = relay.var("x", shape=(4, 5), dtype="float32")
    with pytest.raises(RelayError, match="axis 1 is too short for so many elements"):
        relay.transform.InferTypeLocal(relay.nn.pad(data, ((0, 0), (-3, -3))))
    for kind in KINDS:
        run = evaluated(kind, padded(((-2, -3), (0, 0))))
        with pytest.raises(RelayError, match="axis 0 is too short for so many elements"):
            run(X)
    in_a_run = evaluated("native", padded(None))
    with pytest.raises(RelayError, match="axis 0 is too short for so many elements"):
        in_a_run(X, np.array([[-2, -3], [0, 0]]))
