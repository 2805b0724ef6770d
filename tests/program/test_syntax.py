"""Every instruction says how it is written, with all its fields."""

from dataclasses import fields
from typing import get_args

import pytest

from relay.program.program import Instruction
from relay.program.syntax import BORROWED, CONSUMED, WRITTEN, Field, forms, pieces

# kinds that fill several fields
MORE = {"texts": {"expected", "found"}, "cases": {"otherwise"}}


@pytest.mark.parametrize("instruction", get_args(Instruction), ids=lambda one: one.__name__)
def test_the_syntax_has_every_field_once(instruction):
    named = [piece for piece in pieces(instruction) if isinstance(piece, Field)]
    written = [piece.name for piece in named]
    for piece in named:
        written += sorted(MORE.get(piece.kind, ()))
    assert sorted(written) == sorted(field.name for field in fields(instruction))


def test_no_register_is_used_in_two_ways():
    assert not BORROWED & CONSUMED and not (BORROWED | CONSUMED) & WRITTEN


def test_instructions_that_begin_alike_are_told_apart_by_what_they_call():
    alike = {key: found for key, found in forms().items() if len(found) > 1 and key != "new "}
    assert set(alike) == {"news call", " tail"}
    for found in alike.values():
        assert sorted(form.calls_by_name for form in found) == [False, True]
