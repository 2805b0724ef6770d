"""What native programs give becomes values: the interpreter's, or Python's."""

import gc
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from relay.errors import EvaluationError
from relay.executors.words_out import as_tensors, decoder, python_style
from relay.interpreter.values import ConstructorValue, TupleValue
from relay.ir.adt import tag_of
from relay.lower.kernel import TensorSpec
from relay.native.call import ConstantObjects
from relay.nd import NDArray
from relay.program.program import ClosureSpec, DataSpec
from tests.executors.native_values import FLOAT, INT, INTS, MIXED, TREE, VECTOR, function

ONES = np.ones(3, np.float32)


@dataclass(frozen=True)
class Leaf:
    value: Any


@dataclass(frozen=True)
class Mix:
    number: int
    inside: tuple
    tree: Any


def test_values_are_those_of_the_interpreter():
    value = function(INTS)([[1, 2]])
    assert type(value) is ConstructorValue
    assert value.constructor.name_hint == "Cons"
    assert value.constructor.belong_to.name_hint == "List"
    assert value.tag == value.constructor.tag == tag_of("List", 0)
    head, rest = value.fields
    assert type(head) is NDArray
    assert (head.dtype, head.shape, head.item()) == ("int32", (), 1)
    assert rest.fields[1].tag == tag_of("List", 1)


def test_tuples_are_tuple_values_also_inside_of_data():
    value = function((INT, (FLOAT, VECTOR)))([(1, (2.0, ONES))])
    assert type(value) is TupleValue
    assert type(value[1]) is TupleValue
    mixed = function(MIXED)([Mix(5, (True, (ONES, 0.5)), Leaf(ONES))])
    assert str(mixed) == "Mix(5, (True, ([1., 1., 1.], 0.5)), Leaf([1., 1., 1.]))"
    assert type(mixed.fields[1]) is TupleValue


def test_classes_are_given_by_name_and_what_has_none_stays():
    style = python_style({"Mix": Mix})
    mixed = function(MIXED)([Mix(5, (True, (ONES, 0.5)), Leaf(ONES))], None, style)
    assert type(mixed) is Mix
    assert type(mixed.tree) is ConstructorValue


def test_numbers_and_tensors_are_what_the_caller_works_with():
    style = python_style({}, np.ndarray.tolist, as_tensors(np.ndarray.tolist))
    assert function(INT, VECTOR)([3, ONES], None, style) == (3, [1, 1, 1])


def test_results_belong_to_the_caller():
    echo = function(VECTOR)
    for size in (3, 100, 10_000, 1_000_000):
        given = np.ones(size, np.float32)
        found = echo([given], None, python_style())
        assert found.flags.writeable
        found[0] = 5
        assert given[0] == 1
        assert echo([given], None, python_style())[0] == 1
        assert found[0] == 5


def test_one_result_twice_is_two_arrays_of_the_same_elements():
    twice = function(VECTOR, results=(VECTOR, VECTOR), name="twice")
    first, second = twice([ONES], None, python_style())
    assert np.array_equal(first, second)


@pytest.mark.parametrize("size", [5000, 3_000_000])
def test_memory_that_was_handed_over_lives_as_long_as_an_array_on_it(size):
    made = function(INT, results=TensorSpec(("?",), "uint8"), name="view")
    found = made([size], None, python_style())
    assert found.shape == (size,)
    part = found[7:100].view()
    del found
    gc.collect()
    for _ in range(3):
        made([size])
    assert np.array_equal(part, np.full(93, 7, np.uint8))


def test_constants_are_copied():
    constants = ConstantObjects([ONES])
    given = function(results=VECTOR, name="constant")
    found = given([], constants, python_style())
    found[0] = 5
    assert np.array_equal(given([], constants, python_style()), ONES)


def test_the_rests_of_lists_may_be_shared():
    rest = function(INTS)([[2, 3]])
    head = ConstructorValue(rest.tag, (1, rest), rest.constructor)
    both = function(INTS, INTS)
    assert both([head, rest], None, python_style()) == ([1, 2, 3], [2, 3])


def test_functions_cannot_leave():
    spec = ClosureSpec((INT,), (INT,))
    with pytest.raises(EvaluationError, match="cannot leave a compiled program"):
        function(results=spec, name="function")([])


def test_a_tree_is_not_a_list_because_it_has_as_many_constructors():
    value = function(TREE)([Leaf(ONES)], None, python_style({"Leaf": Leaf}))
    assert type(value) is Leaf
    assert DataSpec("Tree") == TREE


@pytest.mark.parametrize(
    ("dtype", "word", "number"),
    [
        ("int32", 2**40 + 5, 5),
        ("int32", -1, -1),
        ("int32", 0xFFFFFFFF, -1),
        ("uint8", -1, 255),
        ("bool", 0x101, True),
        ("bool", 0x100, False),
        ("float32", (0x7F << 32) | 0x3F800000, 1.0),
        ("uint64", -1, 2**64 - 1),
        ("bfloat16", 0x3F80, 1.0),
    ],
)
def test_a_number_is_in_the_low_bytes_of_its_word(dtype, word, number):
    assert decoder(dtype)(word) == number
