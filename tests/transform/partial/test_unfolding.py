"""Which calls are unfolded."""

from __future__ import annotations

import numpy as np
import pytest

import relay
from relay.ir.types import TensorType
from relay.nd import NDArray
from relay.transform.partial.static_values import Value
from relay.transform.partial.unfolding import GiveUp, Unfoldings

X = relay.var("x", "int32")
FUNCTION, OTHER = relay.Function([X], X), relay.Function([X], X)
UNKNOWN = Value(TensorType((), "int32"))


def number(value: int) -> Value:
    return Value(UNKNOWN.ty, NDArray(np.array(value, "int32")))


def test_a_call_is_unfolded_until_fuel_runs_out() -> None:
    unfoldings = Unfoldings(3)
    first = unfoldings.begin(FUNCTION, [UNKNOWN])
    assert unfoldings.begin(FUNCTION, [UNKNOWN])
    assert unfoldings.begin(FUNCTION, [UNKNOWN])
    with pytest.raises(GiveUp) as raised:
        unfoldings.begin(FUNCTION, [UNKNOWN])
    assert raised.value.unfolding is first
    assert unfoldings.ran_out
    assert unfoldings.begin(OTHER, [UNKNOWN])


def test_a_call_of_itself_in_a_branch_gives_up() -> None:
    unfoldings = Unfoldings(100)
    unfoldings.begin(FUNCTION, [UNKNOWN])
    unfoldings.undecided += 1
    with pytest.raises(GiveUp):
        unfoldings.begin(FUNCTION, [UNKNOWN])
    unfoldings.note_given_up(FUNCTION, [UNKNOWN])
    unfoldings.end(FUNCTION)
    assert unfoldings.begin(FUNCTION, [UNKNOWN]) is None
    assert unfoldings.begin(FUNCTION, [number(3)]) is not None


def test_a_known_number_that_counts_down_goes_on() -> None:
    unfoldings = Unfoldings(100)
    unfoldings.begin(FUNCTION, [number(3)])
    unfoldings.undecided += 1
    assert unfoldings.begin(FUNCTION, [number(2)])
    unfoldings.undecided += 1
    with pytest.raises(GiveUp):
        unfoldings.begin(FUNCTION, [number(2)])


def test_a_function_that_stays_is_not_given_up() -> None:
    unfoldings = Unfoldings(100)
    unfoldings.enter(FUNCTION, [UNKNOWN])
    unfoldings.undecided += 1
    assert unfoldings.begin(FUNCTION, [UNKNOWN]) is None
