"""Integers computed from shapes."""

import numpy as np
import pytest

import relay
from relay.analysis.shape_values import computed, in_type, of_shape, of_tensor, within
from relay.ir import dims

N = relay.ShapeVar("n")
SHAPE = of_shape(relay.TensorType((N, 3, relay.Any()), "float32"))


def numbers(*values):
    return of_tensor(np.array(values, "int64"))


def apply(call, *args):
    return computed(call.op, args, call)


def variable(*shape, dtype="int64"):
    return relay.var("v", shape=shape, dtype=dtype)


V = variable(3)


def test_a_shape_is_what_its_type_says():
    assert SHAPE.tolist() == [N, 3, relay.Any()]
    assert of_shape(relay.TensorType((), "float32")).shape == (0,)


@pytest.mark.parametrize(
    ("call", "others", "wanted"),
    [
        (relay.take(V, relay.const(1)), [of_tensor(np.array(1))], 3),
        (relay.take(V, V), [numbers(1, 0, 1)], [3, N, 3]),
        (relay.strided_slice(V, [1], [3]), [], [3, relay.Any()]),
        (relay.expand_dims(V, 0), [], [[N, 3, relay.Any()]]),
        (relay.reshape(V, (3, 1)), [], [[N], [3], [relay.Any()]]),
        (relay.reverse(V, 0), [], [relay.Any(), 3, N]),
    ],
)
def test_elements_are_moved(call, others, wanted):
    assert apply(call, SHAPE, *others).tolist() == wanted


def test_parts_are_joined():
    call = relay.concatenate([V, V], axis=0)
    assert apply(call, (numbers(7), SHAPE)).tolist() == [7, N, 3, relay.Any()]


def test_sums_and_products_are_those_of_dimensions():
    assert apply(relay.add(V, V), SHAPE, numbers(1, 2, 3)).tolist() == [N + 1, 5, relay.Any()]
    assert apply(relay.subtract(V, V), SHAPE, SHAPE).tolist() == [0, 0, relay.Any()]
    assert apply(relay.multiply(V, V), SHAPE, numbers(2)).tolist() == [2 * N, 6, relay.Any()]


def test_other_operators_need_numbers():
    assert apply(relay.floor_divide(V, V), SHAPE, numbers(2)).tolist() == [dims.ANY, 1, dims.ANY]
    assert apply(relay.maximum(V, V), SHAPE, SHAPE).tolist() == [dims.ANY, 3, dims.ANY]
    assert apply(relay.sum(V), SHAPE) is None
    assert apply(relay.less(V, V), SHAPE, SHAPE) is None


def test_an_operand_that_is_a_shape_or_goes_along_an_axis_is_not_laid_over_the_others():
    """An unknown element would be looked for in the wrong place, or in none."""
    shape = of_shape(relay.TensorType((1, 41), "float32"))
    scalar, matrix = variable(), variable(2, 2)
    assert apply(relay.full(scalar, variable(2), "int64"), of_tensor(np.array(7)), shape) is None
    assert apply(relay.broadcast_to(scalar, variable(2)), of_tensor(np.array(7)), shape) is None
    data = of_tensor(np.array([[1, 2], [3, 4]]))
    for axis in (0, 1):
        call = relay.nn.bias_add(matrix, variable(2), axis=axis)
        assert apply(call, data, of_shape(relay.TensorType((N, 3), "float32"))) is None


def test_a_conversion_keeps_extents_and_numbers():
    given = apply(relay.add(V, V), SHAPE, numbers(0, 1, 0))
    given[0] = N * 4
    cast = relay.cast(V, "int64")
    assert apply(cast, given).tolist() == [dims.ANY, 4, dims.ANY]
    assert apply(cast, SHAPE).tolist() == SHAPE.tolist()


def test_what_fails_is_not_known():
    call = relay.take(V, relay.const(9), axis=0, mode="clip")
    assert apply(call, SHAPE, of_tensor(np.array(9))).tolist() == relay.Any()
    assert apply(relay.reshape(V, (7,)), SHAPE) is None


def test_numbers_have_to_fit_their_type():
    assert in_type(numbers(1, 2**31), "int32") is None
    assert in_type(numbers(1, 2**31), "int64").tolist() == [1, 2**31]
    assert within(numbers(1, 2**31), "int32").tolist() == [1, dims.ANY]
    assert in_type(SHAPE, "int64") is None


def test_only_short_tensors_of_integers_have_to_do_with_shapes():
    assert of_tensor(np.zeros(65, "int64")) is None
    assert of_tensor(np.zeros(3, "float32")) is None
    assert of_tensor(np.array([[1, 2]], "int32")).tolist() == [[1, 2]]
