"""Operands of branches lie side by side, and results are cut apart."""

import numpy as np
import pytest

import relay
from relay.errors import PassError
from relay.transform import InferType
from relay.transform.fusion.parallel_branches import check_branches, concatenated, sliced


def typed_call(shape, operand, **attrs):
    x, b = relay.var("x", shape=shape), relay.var("b", shape=operand)
    body = relay.nn.bias_add(x, b, **attrs) if attrs else relay.add(x, b)
    return InferType()(relay.IRModule.from_expr(body))["main"].body


@pytest.mark.parametrize(
    ("operand", "axis", "place"),
    [((3, 1, 1), 1, 0), ((1, 3, 1, 1), 1, 1), ((3,), 1, None), ((5,), 3, 0), ((5,), 1, None)],
)
def test_operands_are_joined_along_the_axis_of_the_branches(operand, axis, place):
    call = typed_call((2, 3, 4, 5) if operand != (3,) else (2, 4, 4, 3), operand)
    own = [call.args[1], call.args[1]]
    extents = [call.checked_type.concrete_shape[axis]] * 2
    found = concatenated(own, own, call, axis, extents)
    assert (found is None) == (place is None)
    if found is not None:
        assert found.attrs.axis == place


def test_a_bias_has_one_axis():
    call = typed_call((2, 3, 4), (3,), axis=1)
    own = [call.args[1]] * 2
    assert concatenated(own, own, call, 1, [3, 3]).attrs.axis == 0
    assert concatenated(own, own, call, 2, [4, 4]) is None


def test_parts_are_cut_where_they_lie():
    joined = relay.const(np.arange(12, dtype="float32").reshape(2, 6))
    parts = [sliced(joined, 1, [1, 2, 3], i) for i in range(3)]
    executor = relay.create_executor("debug", relay.IRModule())
    values = [executor.evaluate(part).numpy() for part in parts]
    np.testing.assert_array_equal(np.concatenate(values, 1), joined.data.numpy())


def test_one_branch_is_none():
    check_branches("CombineParallelDense", 2)
    for count in (1, -1, True, None):
        with pytest.raises(PassError, match="two branches or more"):
            check_branches("CombineParallelDense", count)
