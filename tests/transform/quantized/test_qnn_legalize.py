"""Operators on quantized numbers are rewritten by functions attached to them."""

import pytest

import relay
from relay.op import register_op_attr, temporary_operators
from relay.transform import InferType, QnnLegalize
from tests.transform.rewriting import assert_means_the_same, assert_stays, parse

PARAMS = "%x: Tensor[(3, 8), uint8], %w: Tensor[(2, 8), int8]"
BODY = "qnn.dense(%x, %w, 3, 0, 0.5f, 0.25f)"


@pytest.fixture(autouse=True)
def undone():
    with temporary_operators():
        yield


def wider(attrs, inputs, types):
    data, weight, *rest = inputs
    return relay.qnn.op.dense(relay.cast(data, "int16"), relay.cast(weight, "int16"), *rest)


def test_a_call_becomes_what_the_function_gives():
    register_op_attr("qnn.dense", "FTVMQnnLegalize", wider)
    module = parse(BODY, PARAMS)
    result = InferType()(QnnLegalize()(module))
    assert 'cast(%x, dtype="int16")' in str(result)
    assert_means_the_same(result, module, rtol=None)


def test_functions_for_other_passes_are_not_asked():
    register_op_attr("qnn.dense", "FTVMLegalize", wider)
    assert_stays(QnnLegalize(), BODY, PARAMS)


def test_without_a_function_it_stays():
    assert_stays(QnnLegalize(), BODY, PARAMS)
