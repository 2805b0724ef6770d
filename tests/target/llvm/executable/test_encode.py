"""Python's values go into native programs, or are refused with the place they are wrong at."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
import torch

import relay
from relay.errors import EvaluationError
from relay.interpreter.values import RefValue, TupleValue
from relay.lower.kernel import TensorSpec
from relay.program.program import ScalarSpec
from relay.target.llvm.executable.style import python_style
from tests.target.llvm.executable.native_values import (
    CELL,
    FLOAT,
    INT,
    INTS,
    MAYBE,
    MIXED,
    PAIRS,
    ROSE,
    TREE,
    VECTOR,
    function,
)


@dataclass(frozen=True)
class Leaf:
    value: Any


@dataclass(frozen=True)
class Node:
    left: Any
    right: Any


class Rose(NamedTuple):
    value: float
    children: list


@dataclass
class Mix:
    number: int
    inside: tuple
    tree: Any


ONES = np.ones(3, np.float32)


def echo(spec, value):
    return function(spec)([value], None, python_style())


def refused(spec, value):
    with pytest.raises(EvaluationError) as caught:
        function(spec)([value])
    return str(caught.value)


# --- scalars and tensors ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("bool", [True, False]),
        ("int8", [-128, 127, 0]),
        ("uint8", [0, 255]),
        ("int32", [-(2**31), 2**31 - 1]),
        ("int64", [-(2**63), 2**63 - 1]),
        ("uint64", [0, 2**63, 2**64 - 1]),
        ("int4", [-8, 7]),
        ("int2", [-2, 1]),
        ("uint2", [0, 3]),
        ("float16", [0.5, -2.0, 65504.0]),
        ("bfloat16", [0.5, -2.0, 3.0]),
        ("float8_e4m3fn", [0.5, 2.0]),
        ("float8_e5m2fnuz", [0.5, -2.0]),
        ("float8_e8m0fnu", [0.5, 2.0]),
        ("float4_e2m1fn", [0.5, -6.0]),
        ("float32", [0.1, 7, -1e-40]),
        ("float64", [0.1, 1e300, 7]),
    ],
)
def test_numbers_cross_in_every_type(dtype, values):
    for value in values:
        found = echo(ScalarSpec(dtype), value)
        assert found == np.array(value).astype(relay.dtypes.to_numpy(dtype))
        assert type(found) in (bool, int, float)


def test_numbers_may_be_tensors_without_dimensions():
    for given in (np.float32(2.5), np.array(2.5, np.float32), torch.tensor(2.5)):
        assert echo(FLOAT, given) == 2.5
    assert echo(FLOAT, relay.nd.array(np.float32(2.5))) == 2.5


def test_numbers_too_large_for_floats_are_infinite_and_for_integers_refused():
    assert echo(FLOAT, 1e300) == np.inf
    assert echo(FLOAT, -(10**100)) == -np.inf
    assert "bits" in refused(FLOAT, 10**400)
    assert "-2147483648 to 2147483647" in refused(INT, 2**31)


def test_a_number_of_another_kind_is_refused():
    assert "found:    the float 1.5" in refused(INT, 1.5)
    assert "found:    the bool True" in refused(INT, True)
    assert "astype('int32')" in refused(INT, np.int64(3))
    assert "expected: bool" in refused(ScalarSpec("bool"), 1.0)


@pytest.mark.parametrize(
    "given",
    [
        ONES,
        torch.ones(3),
        torch.ones(3, requires_grad=True),
        [1, 1.0, 1],
        np.ones(6, np.float32)[::2],
        np.broadcast_to(np.float32(1), (3,)),
        relay.nd.array(ONES),
        np.ones((3, 2), np.float32)[:, 0],
    ],
)
def test_tensors_come_from_all_kinds_of_arrays(given):
    found = echo(VECTOR, given)
    assert found.dtype == np.float32
    assert np.array_equal(found, ONES)


def test_tensors_that_do_not_begin_at_a_multiple_of_their_elements_are_copied():
    shifted = np.zeros(13, np.uint8)[1:].view(np.float32)
    shifted[:] = 1
    assert np.array_equal(echo(VECTOR, shifted), ONES)


@pytest.mark.parametrize("dtype", ["bfloat16", "int4", "float8_e5m2", "uint2", "float4_e2m1fn"])
def test_tensors_of_narrow_types_are_read_where_they_lie(dtype):
    given = np.array([1, 2, 3]).astype(getattr(ml_dtypes, dtype))
    given.flags.writeable = False
    found = echo(TensorSpec((3,), dtype), given)
    assert found.dtype == given.dtype
    assert np.array_equal(found, given)


def test_tensors_without_elements_and_of_many_dimensions_cross():
    assert echo(TensorSpec(("?", 3), "float32"), np.zeros((0, 3), np.float32)).shape == (0, 3)
    deep = np.arange(4.0).reshape((1,) * 20 + (2, 2))
    assert np.array_equal(echo(TensorSpec(("?",) * 22, "float64"), deep), deep)


def test_a_wrong_tensor_is_refused_with_what_is_wrong():
    assert "found:    float64[3]" in refused(VECTOR, np.ones(3))
    assert "found:    float32[3, 1]" in refused(VECTOR, np.ones((3, 1), np.float32))
    message = refused(TensorSpec((2, 3), "float32"), np.ones((2, 4), np.float32))
    assert "wrong value in argument `x0`" in message
    assert "expected: float32[2, 3], dimension 1 of size 3" in message


def test_sizes_of_one_name_are_the_same():
    both = function(TensorSpec(("n", 3), "float32"), TensorSpec((4, "n"), "float32"))
    first = np.ones((2, 3), np.float32)
    both([first, np.ones((4, 2), np.float32)])
    both([np.ones((7, 3), np.float32), np.ones((4, 7), np.float32)])
    with pytest.raises(EvaluationError) as caught:
        both([first, np.ones((4, 5), np.float32)])
    assert "argument `x1`" in str(caught.value)
    assert "float32[4, n] with n = 2, which dimension 0 of `x0` is" in str(caught.value)
    assert "dimension 1 of size 5" in str(caught.value)


def test_sizes_without_a_name_need_not_agree():
    both = function(TensorSpec(("?",), "float32"), TensorSpec(("?",), "float32"))
    both([np.ones(2, np.float32), np.ones(5, np.float32)])


# --- tuples and data ----------------------------------------------------------------------------


def test_tuples_are_tuples_or_lists_or_values():
    for given in ((1, (2.0, ONES)), [1, [2.0, ONES]], TupleValue([1, TupleValue([2.0, ONES])])):
        number, (real, vector) = echo((INT, (FLOAT, VECTOR)), given)
        assert (number, real) == (1, 2.0)
        assert np.array_equal(vector, ONES)
    assert "expected: a tuple of 2" in refused((INT, FLOAT), (1, 2.0, 3.0))


def test_lists_are_lists():
    assert echo(INTS, [3, 1, 2]) == [3, 1, 2]
    assert echo(INTS, (3, 1)) == [3, 1]
    assert echo(INTS, []) == []


def test_elements_of_lists_may_be_tuples():
    (one, first), (two, second) = echo(PAIRS, [(1, ONES), (2, 2 * ONES)])
    assert (one, two) == (1, 2)
    assert np.array_equal(first + second, 3 * ONES)


def test_an_option_is_none_or_a_value():
    assert echo(MAYBE, None) is None
    assert np.array_equal(echo(MAYBE, ONES), ONES)


def test_objects_stand_for_the_constructor_with_their_name():
    value = function(TREE)([Node(Leaf(ONES), Leaf(2 * ONES))])
    assert str(value) == "Node(Leaf([1., 1., 1.]), Leaf([2., 2., 2.]))"
    assert str(function(TREE)([value])) == str(value)


def test_objects_with_lists_inside():
    tree = Rose(1.0, [Rose(2.0, []), Rose(3.0, [Rose(4.0, [])])])
    found = function(ROSE)([tree], None, python_style({"Rose": Rose}))
    assert found == tree


def test_fields_that_are_tuples_lie_where_their_parts_do():
    tree = Leaf(ONES)
    found = function(MIXED)([Mix(5, (True, (ONES, 0.5)), tree)], None, python_style({"Mix": Mix}))
    assert found.number == 5
    flag, (vector, real) = found.inside
    assert (flag, real) == (True, 0.5)
    assert np.array_equal(vector, ONES)


def test_classes_of_the_python_frontend_are_known_by_what_they_declare():
    from relay.frontend.python.standard import Cons, Nil, Nothing, Some

    assert echo(INTS, Cons(1, Cons(2, Nil()))) == [1, 2]
    assert echo(MAYBE, Nothing()) is None
    assert np.array_equal(echo(MAYBE, Some(ONES)), ONES)


def test_what_is_shared_is_one_object():
    leaf = Leaf(ONES)
    value = function(TREE)([Node(Node(leaf, leaf), leaf)])
    left, right = value.fields
    assert left.fields[0] is left.fields[1] is right


def test_the_same_object_may_be_of_two_types():
    pair = function((INT, INT), INTS)
    given = [1, 2]
    assert pair([given, given], None, python_style()) == ((1, 2), [1, 2])


def test_a_wrong_field_is_named():
    message = refused(TREE, Node(Leaf(ONES), Node(Leaf(ONES), Leaf(np.ones(2)))))
    assert "wrong value in argument `x0`, field 0 of `Leaf`" in message
    assert "found:    float64[2]" in message
    message = refused(TREE, Node(Leaf(ONES), 5))
    assert "argument `x0`, field 1 of `Node`" in message
    assert "expected: a Tree, made by `Leaf`, `Node`" in message
    assert "found:    the int 5" in message
    assert "element 2 of the list" in refused(INTS, [1, 2, None])
    assert "element 1 of the list" in refused(PAIRS, [(1, ONES), (1, ONES, 3)])


def test_data_of_another_type_is_refused():
    numbers = function(INTS)([[1, 2]])
    assert "found:    a List made by `Cons`" in refused(TREE, numbers)
    assert "found:    None" in refused(TREE, None)


def test_a_class_that_hides_its_fields_is_refused_with_a_hint():
    class Leaf:
        def __init__(self):
            self.value = ONES

    message = refused(TREE, Leaf())
    assert "class Leaf shows 0 fields, the constructor has 1" in message


def test_only_references_are_references():
    assert "expected: a reference" in refused(CELL, 5)
    assert "the contents of a reference" in refused(CELL, RefValue("five"))
    assert "the contents of a reference" in refused(CELL, RefValue(TupleValue([1, 2])))


def test_data_nests_as_deep_as_it_likes():
    tree = Leaf(ONES)
    for _ in range(20_000):
        tree = Node(tree, Leaf(ONES))
    value = function(TREE)([tree])
    depth = 0
    while len(value.fields) == 2:
        value = value.fields[0]
        depth += 1
    assert depth == 20_000


def test_every_argument_is_written_to_its_end():
    called = function(INTS, INTS, INTS)
    lists = [[1], [2, 3, 4], [5, 6]]
    values = [function(INTS)([numbers]) for numbers in lists]
    assert tuple(called(values, None, python_style())) == tuple(lists)
