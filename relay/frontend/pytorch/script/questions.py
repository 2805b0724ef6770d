"""Queries of lists: membership, equality, minimum, maximum and sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay.errors import FrontendError
from relay.frontend.pytorch.script.containers import held
from relay.frontend.pytorch.script.converter import Converter
from relay.frontend.pytorch.script.failing import fail
from relay.frontend.pytorch.script.graph import Call
from relay.frontend.pytorch.script.numbers import of_element, on_numbers
from relay.frontend.pytorch.script.path import Path
from relay.frontend.pytorch.script.values import Chain, ListCell

# functions of two numbers, and what they give for none
_OF_NOTHING: Mapping[str, Any] = {"add": 0, "__or__": False, "__and__": True}


def contains(converter: Converter, path: Path, call: Call, cell: Any, value: Any) -> Any:
    """Whether a list or a dictionary has a value or a key."""
    values = held(path, call, cell)
    if isinstance(values, Chain):
        raise FrontendError.of("membership in a list of unknown length", call.span)
    found: Any = False
    for one in values:
        same_one = equal(converter, path, call, one, value)
        if same_one is True:
            return True
        if same_one is not False:
            found = (
                same_one
                if found is False
                else on_numbers(converter, path, call, "__or__", found, same_one)
            )
    return found


def equal(converter: Converter, path: Path, call: Call, one: Any, other: Any) -> Any:
    """Whether two numbers, strings or lists are equal."""
    if isinstance(one, ListCell) and isinstance(other, ListCell):
        left, right = (held(path, call, value) for value in (one, other))
        if isinstance(left, Chain) or isinstance(right, Chain):
            raise FrontendError.of("lists of unknown length are compared", call.span)
        if len(left) != len(right):
            return False
        found: Any = True
        for a, b in zip(left, right, strict=True):
            same_one = on_numbers(converter, path, call, "eq", a, b)
            if same_one is False:
                return False
            if same_one is not True:
                found = (
                    same_one
                    if found is True
                    else on_numbers(converter, path, call, "__and__", found, same_one)
                )
        return found
    if isinstance(one, str) or isinstance(other, str) or one is None or other is None:
        return one == other
    return on_numbers(converter, path, call, "eq", one, other)


def folded(converter: Converter, path: Path, call: Call, name: str, cell: Any) -> Any:
    """The least, the largest or the sum of a list of numbers."""
    values = held(path, call, cell)
    if isinstance(values, Chain):
        raise FrontendError.of(f"{call.operator} of a list of unknown length", call.span)
    if name.startswith("__"):
        values = [of_element(converter, path, call, one, "bool") for one in values]
    if not values and name not in _OF_NOTHING:
        fail(path, call, f"{call.operator} of an empty list")
        return []
    found = values[0] if values else _OF_NOTHING[name]
    for value in values[1:]:
        found = on_numbers(converter, path, call, name, found, value)
    return found
