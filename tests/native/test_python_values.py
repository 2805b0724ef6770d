"""Native code that reads Python's values, with plans written by hand."""

from array import array
from ctypes import c_int64
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from relay.native import layout, python_values
from relay.native.call import program_runtime
from relay.native.python_values import (
    ANY_SIZE,
    BOOLEAN,
    DATA,
    DOUBLE,
    FIRST_SYMBOL,
    GAVE_UP,
    HOLDS,
    INTEGER,
    NOTHING,
    READ,
    SINGLE,
    TENSOR,
    TUPLE,
)
from relay.target.llvm.executable.encode_native import python_table

ENTRY_TENSOR, ENTRY_DATA = layout.TENSOR, layout.DATA


@dataclass
class Pair:
    first: Any
    second: Any


class Reader:
    """A plan, whose first record is that of the arguments."""

    def __init__(self, *plan, arguments=1, symbols=0):
        self.plan = array("q", plan)
        self.request = array("q", bytes(80))
        self.words = array("q", bytes(8 * arguments))
        self.symbols = array("q", bytes(8 * max(1, symbols)))
        places = (python_table(), self.plan, None, self.request, self.words)
        addresses = [part.buffer_info()[0] if part is not None else 0 for part in places]
        self.reading = array(
            "q", [*addresses, arguments, self.symbols.buffer_info()[0], symbols, *[0] * 16]
        )
        assert 8 * len(self.reading) >= python_values.READING_SIZE
        self.address = self.reading.buffer_info()[0]

    def __call__(self, *args, words=0):
        """The status, the words of the arguments, how many entries there are, and their words."""
        status = program_runtime().read(self.address, args)
        if status == GAVE_UP:
            return status
        at, count = self.request[2:4]
        entries = [*(c_int64 * words).from_address(at)]
        if status == HOLDS:
            program_runtime().end_reading(self.address)
        return status, [*self.words], count, entries

    def __del__(self):
        program_runtime().close_reading(self.address)


def one(*record, **options):
    """For one argument."""
    return Reader(TUPLE, 1, 32, 0, *record, **options)


def test_integers_have_limits():
    read = one(INTEGER, -3, 10)
    assert [read(n) for n in (-3, 10)] == [(READ, [-3], 0, []), (READ, [10], 0, [])]
    assert [read(n) for n in (-4, 11, 2**70, True, 1.0, None)] == [GAVE_UP] * 6


def test_booleans_are_only_these_two():
    read = one(BOOLEAN)
    assert [read(value) for value in (True, False)] == [(READ, [1], 0, []), (READ, [0], 0, [])]
    assert [read(value) for value in (1, 0, None, np.True_)] == [GAVE_UP] * 4


@pytest.mark.parametrize("value", [0.1, -0.0, 1e300, float("inf"), 5, -(2**63), 2**62 + 1])
def test_floats_are_rounded_as_numpy_rounds(value):
    with np.errstate(over="ignore"):
        single = int(np.float64(value).astype(np.float32).view(np.int32))
    assert one(SINGLE)(value) == (READ, [single], 0, [])
    assert one(DOUBLE)(value) == (READ, [int(np.float64(value).view(np.int64))], 0, [])


def test_what_has_no_reader_is_not_read():
    assert one(NOTHING)(1) == GAVE_UP


def test_tensors_are_entries():
    dtype = np.dtype(np.float32)
    read = one(TENSOR, id(dtype), 2, 4, ANY_SIZE, 3)
    value = np.zeros((2, 3), np.float32)
    place = value.__array_interface__["data"][0]
    assert read(value, words=6) == (READ, [0], 1, [ENTRY_TENSOR, 2, place, 24, 2, 3])
    assert read(value.T) == read(value[0]) == read(value.astype("f8")) == GAVE_UP


def test_a_symbol_is_one_size_in_a_call():
    dtype = np.dtype(np.int8)
    symbol = FIRST_SYMBOL - 1
    read = one(TENSOR, id(dtype), 2, 1, symbol, symbol, symbols=2)
    for size in (0, 2, 3):
        assert read(np.zeros((size, size), np.int8))[0] == READ
    assert read(np.zeros((2, 3), np.int8)) == GAVE_UP


def test_tuples_put_their_parts_where_these_belong():
    plan = (TUPLE, 2, 48, 0, 80, 0)  # of two arguments, the first is a tuple
    inside = (TUPLE, 1, 80, 1)
    read = Reader(*plan, *inside, INTEGER, 0, 9, arguments=2)
    assert read((5,), 7) == (READ, [7, 5], 0, [])
    assert read((5, 5), 7) == read([5], 7) == read((5,)) == GAVE_UP


def pair_reader(second):
    """Pairs of an integer and a record; the word of that comes first."""
    names = [id("first"), id("second")]
    data = (DATA, 96, 32, 1, 0, 0, 0, 0)
    classes = (id(Pair), 128, *names)
    case = (0, 5, 1, 2, 2, 200, 1, second, 0)
    return one(*data, *classes, *case, INTEGER, 0, 9)


def test_data_is_an_entry_and_shared_data_is_the_same():
    read = pair_reader(32)
    cycle = Pair(1, None)
    cycle.second = cycle  # Python can, and so it is read
    assert read(cycle, words=6) == (READ, [0], 1, [ENTRY_DATA, 5, 1, 2, 0, 1])
    chain = Pair(2, cycle)
    status, words, count, entries = read(chain, words=12)
    assert (status, words, count) == (HOLDS, [0], 2)
    assert entries == [ENTRY_DATA, 5, 1, 2, 2, 2, ENTRY_DATA + 256, 5, 1, 2, 2, 1]
    assert read(Pair(1, Pair(10, None))) == GAVE_UP
    assert read((1, 2)) == GAVE_UP


def test_lists_are_chains_and_nil():
    data = (DATA, 0, 0, 0, 96, 3, 0, 0)
    cons = (0, 0, 1, 2, 2, 168, 1, 32, 0)
    read = one(*data, *cons, INTEGER, 0, 99)
    assert read([]) == (READ, [3], 0, [])
    status, words, count, entries = read([7, 8], words=12)
    assert (status, words, count) == (READ, [0], 2)
    assert entries == [ENTRY_DATA, 0, 1, 2, 2, 7, ENTRY_DATA + 256, 0, 1, 2, 3, 8]
    assert read([1] * 5000)[2] == 5000
    assert read([1, None]) == read((1, 2)) == GAVE_UP


def test_an_option_is_none_or_what_has_no_case():
    data = (DATA, 96, 16, 1, 0, 0, 112, 3)
    classes = (id(int), 0)
    some = (0, 0, 0, 1, 1, 168, 0)
    read = one(*data, *classes, *some, INTEGER, 0, 99)
    assert read(None) == (READ, [3], 0, [])
    assert read(5, words=5) == (READ, [0], 1, [ENTRY_DATA, 0, 0, 1, 5])
    assert read(5.0) == GAVE_UP  # a class that nobody has looked at
