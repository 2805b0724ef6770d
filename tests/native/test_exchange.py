"""Whatever goes in comes out, in any order of entries, shared as it was."""

import ctypes
from array import array

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay.native import layout
from relay.native.call import ConstantObjects, ProgramContext, program_runtime
from relay.native.export import CHAIN
from relay.target.llvm import abi
from tests.native.object_programs import call, export_of, library


def exchange(context, name, entries, roots, results=None):
    """Import entries, run a program on words, export its results: (status, words, elements)."""
    results = len(roots) if results is None else results
    buffer = array("q", [word for entry in entries for word in entry])
    words = array("q", [0] * results + list(roots))
    imported = array("i", range(results, results + len(roots)))
    exported = array("i", range(results))
    request = array(
        "q",
        [
            context.address,
            library().address(name),
            *(buffer.buffer_info()[0], len(entries), words.buffer_info()[0], results),
            *(imported.buffer_info()[0], len(imported)),
            *(exported.buffer_info()[0], len(exported)),
        ],
    )
    status = context.perform(request.buffer_info()[0])
    return status, *export_of(context)


def data(index, tag, objects, *words):
    return [layout.DATA + 256 * index, tag, objects, len(words), *words]


def tensor(index, values):
    head = [layout.TENSOR + 256 * index, values.ndim, values.ctypes.data, values.nbytes]
    return head + list(values.shape)


def cell(index, objects, *words):
    return [layout.REFERENCE + 256 * index, objects, len(words), *words]


@pytest.fixture
def context():
    made = ProgramContext(1)
    yield made
    assert (made.live, made.leaked) == (0, 0)


def test_a_pair_goes_in_and_out(context):
    status, words, _ = exchange(context, "echo1", [data(0, 2, 1, 5, 42)], [0])
    assert (status, words) == (0, [0, layout.DATA, 2, 1, 2, 5, 42])


def test_numbers_need_no_entries(context):
    assert exchange(context, "echo1", [], [7]) == (0, [7], b"")


def test_children_come_out_before_parents_wherever_they_went_in(context):
    entries = [data(0, 0, 2, 2, 4), data(2, 1, 1, 3), data(1, 2, 1, 4)]
    status, words, _ = exchange(context, "echo1", entries, [0])
    assert status == 0
    inner, middle = [layout.DATA, 1, 1, 1, 3], [layout.DATA, 2, 1, 1, 0]
    assert words == [4, *inner, *middle, layout.DATA, 0, 2, 2, 2, 0]


def test_what_is_shared_comes_out_once(context):
    status, words, _ = exchange(context, "twice", [data(0, 0, 0, 9)], [0], results=2)
    assert (status, words) == (0, [0, 0, layout.DATA, 0, 0, 1, 9])


def test_small_tensors_are_copied_large_ones_of_others_stay(context):
    small, large = np.arange(6.0), np.arange(1000.0)
    status, words, elements = exchange(
        context, "echo2", [tensor(0, small.reshape(2, 3)), tensor(1, large)], [0, 2]
    )
    assert status == 0
    assert words[:2] == [0, 2]
    assert words[2:9] == [layout.TENSOR, 2, 0, 48, layout.INLINE, 2, 3]
    assert words[9:] == [layout.TENSOR, 1, large.ctypes.data, 8000, layout.EXTERNAL, 1000]
    assert np.array_equal(np.frombuffer(elements, np.float64, 6), small)


@pytest.mark.parametrize("bytes", [5000, 1 << 20])
def test_blocks_are_handed_over(context, bytes):
    assert call(context, "view", bytes, exports=[0])[0] == 0
    words, _ = export_of(context)
    _, kind, rank, address, size, owner, dim = words
    assert (kind, rank, size, dim) == (layout.TENSOR, 1, bytes, bytes)
    assert owner > layout.EXTERNAL
    for _ in range(3):
        call(context, "tensors", 3, bytes)  # which get memory of their own
    assert ctypes.string_at(address, bytes) == b"\7" * bytes
    program_runtime().free_block(owner)


def test_constants_come_out_and_are_not_changed(context):
    values = np.arange(5, dtype=np.float32)
    context.constants = ConstantObjects([values])
    for _ in range(2):
        status, words, elements = exchange(context, "constant", [], [], results=1)
        assert status == 0
        assert words == [0, layout.TENSOR, 1, 0, 20, layout.INLINE, 5]
        assert np.array_equal(np.frombuffer(elements, np.float32, 5), values)


def test_cells_may_hold_what_holds_them(context):
    entries = [cell(0, 1, 2, 11), data(1, 0, 1, 0)]
    status, words, _ = exchange(context, "echo1", entries, [0])
    assert status == 0
    address = words[4]
    assert words == [
        *[0, layout.REFERENCE, 1, 2, address, 2, 11],
        *[layout.DATA, 0, 1, 1, 0],
    ]
    assert context[layout.REFERENCES] == 0


def test_functions_come_out_as_nothing_more_than_that(context):
    status, words, _ = exchange(context, "function", [], [], results=1)
    assert (status, words) == (0, [0, layout.CLOSURE])


def test_an_import_without_memory_fails_and_leaves_nothing():
    context = ProgramContext(1, memory=1 << 17)
    entries = [cell(n, 1, 2 * n + 2) for n in range(5000)] + [cell(5000, 1, 1)]
    assert exchange(context, "echo1", entries, [0])[0] == abi.OUT_OF_MEMORY
    assert context.live == 0
    assert exchange(context, "echo1", entries[-1:][:0], [1])[0] == 0


def test_long_chains_cross_without_recursion(context):
    count = 200_000
    entries = [data(n, 0, 1, 2 * n + 2 if n + 1 < count else 3, n) for n in range(count)]
    status, words, _ = exchange(context, "echo1", entries, [0])
    assert status == 0
    assert words == [0, CHAIN, 0, 1, 2, count, 3, *range(count)]


def test_the_cells_of_a_list_are_one_entry(context):
    small = np.arange(2.0)
    entries = [data(0, 1, 2, 6, 2, 10), data(1, 1, 2, 6, 4, 11), data(2, 1, 2, 1, 3, 12)]
    status, words, _ = exchange(context, "echo1", [*entries, tensor(3, small)], [0])
    assert status == 0
    of_tensor = [layout.TENSOR, 1, 0, 16, layout.INLINE, 2]
    assert words == [2, *of_tensor, CHAIN, 1, 2, 3, 3, 3, *[0, 10], *[0, 11], *[1, 12]]


def test_a_chain_ends_where_objects_were_exported_before(context):
    entries = [
        data(0, 0, 1, 2, 10),
        data(1, 0, 1, 4, 11),
        data(2, 0, 1, 6, 12),
        data(3, 0, 1, 1, 13),
    ]
    status, words, _ = exchange(context, "echo2", entries, [4, 0])
    assert status == 0
    assert words[:2] == [0, 4]
    assert words[2:] == [CHAIN, 0, 1, 2, 2, 1, 12, 13, CHAIN, 0, 1, 2, 2, 0, 10, 11]
    status, words, _ = exchange(context, "echo2", entries, [0, 4])  # the second is in the first
    assert (status, words) == (0, [0, 4, CHAIN, 0, 1, 2, 4, 1, 10, 11, 12, 13])


def test_a_chain_ends_with_data_of_another_form(context):
    entries = [data(0, 0, 1, 2, 10), data(1, 0, 1, 4, 11), data(2, 1, 1, 1, 12)]
    status, words, _ = exchange(context, "echo1", entries, [0])
    assert status == 0
    assert words == [2, layout.DATA, 1, 1, 2, 1, 12, CHAIN, 0, 1, 2, 2, 0, 10, 11]


@st.composite
def graphs(draw):
    """Entries whose object words lead anywhere when they are cells, and else only further on."""
    count = draw(st.integers(1, 12))
    kinds = [draw(st.sampled_from(["data", "cell", "tensor"])) for _ in range(count)]
    entries = []
    for index, kind in enumerate(kinds):
        if kind == "tensor":
            entries.append(("tensor", draw(st.integers(0, 3)), ()))
            continue
        first = 0 if kind == "cell" else index + 1
        targets = [2 * n for n in range(first, count)] + [1, 3, 5]
        objects = draw(st.lists(st.sampled_from(targets), max_size=3))
        numbers = draw(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=2))
        entries.append((kind, objects, numbers))
    order = draw(st.permutations(range(count)))
    return entries, order


def unfold(word, entries, depth=8):
    """What a word leads to, as far as that is looked at."""
    if word & 1:
        return word
    kind, *rest = entries[word >> 1]
    if kind == "tensor":
        return (kind, rest[0])
    if depth == 0:
        return kind
    objects, numbers = rest
    return (kind, tuple(unfold(w, entries, depth - 1) for w in objects), tuple(numbers))


def exported_entries(words, roots):
    found, at = [], roots
    while at < len(words):
        kind = words[at]
        if kind == layout.TENSOR:
            found.append(("tensor", words[at + 1]))
            at += 5 + words[at + 1]
            continue
        if kind == CHAIN:
            objects, length, count, end = words[at + 2 : at + 6]
            at += 6
            for left in reversed(range(count)):
                row = words[at : at + length - 1]
                link = 2 * len(found) + 2 if left else end
                found.append(("data", [*row[: objects - 1], link], row[objects - 1 :]))
                at += length - 1
            continue
        _, first, second, third = words[at : at + 4]
        objects, count = (first, second) if kind == layout.REFERENCE else (second, third)
        parts = words[at + 4 : at + 4 + count]
        name = "cell" if kind == layout.REFERENCE else "data"
        found.append((name, parts[:objects], parts[objects:]))
        at += 4 + count
    return found


@settings(max_examples=120, deadline=None)
@given(graphs())
def test_any_graph_comes_out_as_it_went_in(given_graph):
    entries, order = given_graph
    held, written = [], []
    for index in order:
        kind, *rest = entries[index]
        if kind == "tensor":
            held.append(np.zeros((1,) * rest[0]))
            written.append(tensor(index, held[-1]))
        elif kind == "cell":
            written.append(cell(index, len(rest[0]), *rest[0], *rest[1]))
        else:
            written.append(data(index, 0, len(rest[0]), *rest[0], *rest[1]))
    count = len(entries)
    roots = [2 * index for index in range(count)]
    written.append(data(count, 0, count, *roots))  # every entry is named, so every one is held
    context = ProgramContext(1)
    status, words, _ = exchange(context, "echo1", written, [2 * count])
    assert status == 0
    assert (context.live, context.leaked) == (0, 0)
    found = exported_entries(words, 1)
    assert len(found) == count + 1
    _, outside, _ = found[words[0] >> 1]
    assert len(set(outside)) == count  # nothing was merged, nothing was copied
    for root, word in zip(roots, outside, strict=True):
        assert unfold(word, found) == unfold(root, entries)
