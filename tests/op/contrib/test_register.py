"""Compilers say which patterns they know as one operator."""

import pytest

import relay
from relay.dataflow_pattern import is_op, wildcard
from relay.op.contrib import get_pattern_table, register, register_pattern_table


@pytest.fixture(autouse=True)
def fresh_tables(monkeypatch):
    monkeypatch.setattr(register, "_tables", {})


def test_a_table_is_found_by_the_name_of_its_compiler():
    @register_pattern_table("mine")
    def patterns():
        return [("mine.exp", is_op("exp")(wildcard()))]

    ((name, pattern),) = get_pattern_table("mine")
    assert name == "mine.exp"
    assert pattern.match(relay.exp(relay.var("x")))
    assert patterns()[0][0] == name


def test_a_table_is_registered_without_a_decorator():
    register_pattern_table("mine", list)
    assert get_pattern_table("mine") == []


def test_there_is_no_table_nobody_made():
    assert get_pattern_table("nobody") is None


def test_a_later_table_takes_the_place():
    register_pattern_table("mine", lambda: [1])
    register_pattern_table("mine", lambda: [2])
    assert get_pattern_table("mine") == [2]


def test_a_table_is_made_by_a_function():
    with pytest.raises(relay.RelayError, match="must be a function that makes it, found a list"):
        register_pattern_table("mine", [])
    with pytest.raises(relay.RelayError, match="known by its name"):
        register_pattern_table(register_pattern_table)
