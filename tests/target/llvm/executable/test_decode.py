"""What native programs give becomes values: the interpreter's, or Python's."""

import gc
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from relay.errors import EvaluationError
from relay.executors.arrays import plain
from relay.interpreter.values import ConstructorValue, TupleValue, show
from relay.ir.adt import tag_of
from relay.lower.kernel import TensorSpec
from relay.native.call import ConstantObjects
from relay.nd import NDArray
from relay.program.program import ClosureSpec, DataSpec, ScalarSpec
from relay.target.llvm.executable.kinds import Kinds, decoder
from relay.target.llvm.executable.style import as_tensors, python_style
from tests.target.llvm.executable.native_values import (
    BOX,
    EVEN,
    FLOAT,
    INT,
    INTS,
    LISTS,
    MIXED,
    NATURAL,
    NOTHINGS,
    SCALARS,
    TREE,
    VECTOR,
    VECTORS,
    function,
)

ONES = np.ones(3, np.float32)


@dataclass(frozen=True)
class Leaf:
    value: Any


@dataclass(frozen=True)
class Mix:
    number: int
    inside: tuple
    tree: Any


@dataclass(frozen=True)
class Box:
    number: int
    inside: Any


@dataclass(frozen=True)
class Even:
    number: int
    rest: Any


@dataclass(frozen=True)
class Odd:
    number: float
    rest: Any


@dataclass(frozen=True)
class End:
    pass


@dataclass(frozen=True)
class Next:
    before: Any


@dataclass(frozen=True)
class Zero:
    pass


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


@pytest.mark.parametrize("count", [0, 1, 2, 20])
@pytest.mark.parametrize("beside", [(), (1,)], ids=["alone", "beside data"])
def test_numbers_in_a_list_are_of_the_element_type(count, beside):
    style = python_style({}, plain, as_tensors(plain))
    params = (INTS, *(BOX for _ in beside))
    given = [list(range(count)), *(Box(5, [6]) for _ in beside)]
    found = function(*params)(given, None, style)
    numbers = found[0] if beside else found
    assert numbers == list(range(count))
    assert all(type(number) is np.int32 for number in numbers)


@pytest.mark.parametrize("style", [python_style(), python_style({}, plain, as_tensors(plain))])
def test_tuples_of_scalars_in_a_list_come_back(style):
    given = [(-1, (True, 0.5)), (127, (False, -2.0)), (3, (True, 1e300))]
    assert function(SCALARS)([given], None, style) == given
    assert function(SCALARS)([given[:1]], None, style) == given[:1]
    _, back = function(BOX, SCALARS)([Box(1, []), given], None, style)
    assert back == given


@pytest.mark.parametrize("count", [0, 1, 2, 20])
def test_tensors_in_a_list_come_back(count):
    given = [np.full(n, n, np.float32) for n in range(count)]
    if count > 2:
        given[2] = given[1]
        given[7] = np.zeros(5000, np.float32)
    for found in (
        function(VECTORS)([given], None, python_style()),
        function(VECTORS, BOX)([given, Box(1, [])], None, python_style())[0],
    ):
        assert len(found) == count
        assert all(map(np.array_equal, found, given))
        assert all(one.flags.writeable for one in found)
    values = function(VECTORS)([given])
    assert show(function(VECTORS)([values])) == show(values)


def test_tensors_and_lists_share_what_they_shared():
    vectors = [ONES, 2 * ONES, ONES]
    first, found, last = function(VECTOR, VECTORS, VECTOR)(
        [ONES, vectors, vectors[1]], None, python_style()
    )
    assert first is found[0] is found[2]
    assert last is found[1]


def test_a_list_of_empty_tuples_is_as_long_as_it_was():
    assert function(NOTHINGS)([[(), (), ()]], None, python_style()) == [(), (), ()]
    assert function(NOTHINGS)([[()]], None, python_style()) == [()]


def test_lists_in_lists_come_back():
    given = [[1, 2], [], [3], [4, 5, 6]]
    assert function(LISTS)([given], None, python_style()) == given


def test_a_list_may_begin_inside_of_another_or_end_in_it():
    rest = function(INTS)([[3, 4, 5]])
    cons = rest.constructor
    longer = ConstructorValue(rest.tag, (2, rest), cons)
    longest = ConstructorValue(rest.tag, (0, ConstructorValue(rest.tag, (1, longer), cons)), cons)
    other = ConstructorValue(rest.tag, (9, longer), cons)
    expected = ([0, 1, 2, 3, 4, 5], [3, 4, 5], [9, 2, 3, 4, 5])
    given = [longest, rest, other]
    assert function(INTS, INTS, INTS)(given, None, python_style()) == expected
    beside = function(INTS, INTS, INTS, BOX)([*given, Box(1, [])], None, python_style())
    assert beside[:3] == expected
    values = function(INTS, INTS, INTS)(given)
    assert values[0].fields[1].fields[1].fields[1] is values[1]
    assert values[2].fields[1].fields[1] is values[1]


def test_data_that_looks_like_the_cells_of_a_list_is_none():
    style = python_style({"Box": Box, "Even": Even, "Odd": Odd, "End": End, "Next": Next})
    numbers = list(range(2, 7))
    assert function(BOX)([Box(1, numbers)], None, style) == Box(1, numbers)
    shared, inside = function(BOX, INTS)([Box(1, numbers), numbers], None, style)
    assert (shared, inside) == (Box(1, numbers), numbers)
    chain = Even(1, Odd(0.5, Even(2, Odd(1.5, Even(3, End())))))
    assert str(function(EVEN)([chain], None, style)) == str(chain)
    value = function(NATURAL)([Next(Next(Next(Zero())))], None, style)
    assert type(value.before.before) is Next
    assert value.before.before.before.constructor.name_hint == "Zero"


def test_long_chains_become_values_without_recursion():
    value = function(INTS)([list(range(3000))])
    for number in range(3000):
        assert value.fields[0].item() == number
        value = value.fields[1]


def test_functions_cannot_leave():
    spec = ClosureSpec((INT,), INT)
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
    column = Kinds({})[ScalarSpec(dtype)].column(np.array([7, word, 7, word]), 1, 2, 2)
    assert column.tolist() == [number, number]
