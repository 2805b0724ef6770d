"""Python functions that build calls with other defaults than the record."""

import inspect

import pytest

import relay
from relay import op
from relay.op.building.helper import helper
from relay.op.opdef import temporary_operators
from relay.op.qnn.convert import QuantizeAttrs, quantize


def test_arguments_come_first_and_defaults_are_replaced():
    x, scale, zero = (relay.var(name) for name in ("x", "scale", "zero"))
    call = quantize(x, scale, output_zero_point=zero)
    assert call.op.name == "qnn.quantize"
    assert call.args == (x, scale, zero)
    assert call.attrs.out_dtype == "int8" and call.attrs.axis == -1
    assert quantize(x, scale, zero, 1, "uint8").attrs == QuantizeAttrs(out_dtype="uint8", axis=1)


def test_the_signature_has_the_order_that_was_asked_for():
    assert list(inspect.signature(quantize).parameters) == [
        "data",
        "output_scale",
        "output_zero_point",
        "axis",
        "out_dtype",
    ]
    with temporary_operators():
        made = helper(op.get("nn.dropout"), "", renamed={"data": "x"}, rate=0.25)
        assert op.get("nn.dropout").helper is made
    assert str(inspect.signature(made)) == "(x, rate=0.25)"
    assert made(relay.var("a")).attrs.rate == 0.25


def test_missing_arguments_are_named():
    with pytest.raises(TypeError, match="output_zero_point"):
        quantize(relay.var("x"), relay.var("scale"))
