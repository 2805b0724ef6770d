"""Objects: counted, freed however long their chains are, and views that hold what they show."""

import pytest

from relay.native import layout
from relay.native.call import ProgramContext
from tests.native.object_programs import call, export_of


@pytest.fixture
def context():
    made = ProgramContext(1)
    yield made
    assert (made.live, made.leaked) == (0, 0)


def test_a_list_of_a_million_is_freed_without_recursion(context):
    # the native stack would hold a few thousand frames at most
    context[layout.STACK_SIZE] = 1 << 20
    assert call(context, "list", 1_000_000)[0] == 0


def test_cells_are_freed_and_leave_their_list(context):
    assert call(context, "cells", 1000)[0] == 0
    assert context[layout.REFERENCES] == 0


def test_cells_that_hold_each_other_go_when_the_call_ends(context):
    assert call(context, "ring")[0] == 0
    assert context[layout.REFERENCES] == 0


@pytest.mark.parametrize("bytes", [100, 10_000])
def test_a_view_of_a_view_holds_what_has_the_elements(context, bytes):
    assert call(context, "view", bytes, exports=[0])[0] == 0
    words, elements = export_of(context)
    assert words[:3] == [0, layout.TENSOR, 1]
    if bytes < 4096:
        assert elements[:bytes] == b"\7" * bytes


@pytest.mark.parametrize("words", [1, 5, 509, 510, 5000])
def test_objects_may_be_as_wide_as_they_like(context, words):
    assert call(context, "wide", words, exports=[0])[0] == 0
    exported, _ = export_of(context)
    assert exported == [0, layout.DATA, 0, words, words, *[3] * words]


def test_every_number_of_the_layout_has_a_name():
    numbers = layout.numbers()
    assert numbers["tensor_dims"] == layout.TENSOR_DIMS
    assert numbers["cells"] + 24 <= numbers["small_lists"]
    lists = numbers["block_lists"] + 8 * numbers["block_classes"]
    assert lists <= numbers["program_context_size"]
