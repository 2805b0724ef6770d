"""Whole programs give what plain Python gives for the same: closures in data, mutual recursion,
references in loops, nested patterns, data at several types, shapes known at run time."""

from __future__ import annotations

import numpy as np
import pytest

import relay
from relay.interpreter.values import ConstructorValue, TupleValue
from tests.programs.arguments import PROGRAMS, arguments, load
from tests.programs.expected import CASES

KINDS = ["debug", "vm", "aot"]


def plain(found):
    """A value as Python's data."""
    if isinstance(found, TupleValue):
        return tuple(map(plain, found))
    if not isinstance(found, ConstructorValue):
        return found.item() if found.shape == () else found.numpy()
    match found.constructor.name_hint:
        case "Cons" | "Nil":
            items = []
            while found.fields:
                items.append(plain(found.fields[0]))
                found = found.fields[1]
            return items
        case "Some" | "None":
            return plain(found.fields[0]) if found.fields else None
        case name:
            return (name, *map(plain, found.fields))


def compare(found, expected):
    if isinstance(expected, tuple | list):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for part, other in zip(found, expected, strict=True):
            compare(part, other)
    elif isinstance(expected, float | np.ndarray):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    else:
        assert found == expected


def test_every_case_is_a_program():
    assert CASES.keys() <= PROGRAMS.keys()


@pytest.mark.rotate(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_it_gives_what_python_gives(name, kind):
    module = load(name)
    run = relay.create_executor(kind, module).evaluate()
    function, cases = CASES[name]
    for given, written in zip(arguments(name, module), cases, strict=True):
        compare(plain(run(*given)), function(*written))
