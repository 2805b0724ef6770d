"""Whole programs give what plain Python gives for the same: closures in data, mutual recursion,
references in loops, nested patterns, data at several types, shapes known at run time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relay
from relay.interpreter.values import ConstructorValue, TupleValue, to_value
from relay.ir.types import TupleType, TypeCall, substitute
from tests.programs.expected import CASES

FOLDER = Path(__file__).parents[1] / "programs"
KINDS = ["debug"]


def value(data, ty, module):
    """Python's data as a value of a type."""
    if isinstance(ty, TupleType):
        parts = zip(data, ty.fields, strict=True)
        return TupleValue(value(part, field, module) for part, field in parts)
    if not isinstance(ty, TypeCall):
        return to_value(data, ty)
    if isinstance(data, list):
        made = value(("Nil",), ty, module)
        for item in reversed(data):
            made = build(("Cons", value(item, ty.args[0], module), made), ty, module)
        return made
    name, *fields = data
    constructor = module.get_constructor(name)
    arguments = dict(zip(module[ty.func].type_vars, ty.args, strict=True))
    inputs = [substitute(field, arguments) for field in constructor.inputs]
    parts = [value(field, wanted, module) for field, wanted in zip(fields, inputs, strict=True)]
    return build((name, *parts), ty, module)


def build(parts, ty, module):
    name, *fields = parts
    constructor = module.get_constructor(ty.func.name_hint, name)
    return ConstructorValue(constructor.tag, tuple(fields), constructor)


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
    assert CASES.keys() <= {path.stem for path in FOLDER.glob("*.relay")}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_it_gives_what_python_gives(name, kind):
    module = relay.parse((FOLDER / f"{name}.relay").read_text(), f"{name}.relay")
    run = relay.create_executor(kind, module).evaluate()
    function, cases = CASES[name]
    types = [param.checked_type for param in module["main"].params]
    for arguments in cases:
        given = [value(data, ty, module) for data, ty in zip(arguments, types, strict=True)]
        compare(plain(run(*given)), function(*arguments))
