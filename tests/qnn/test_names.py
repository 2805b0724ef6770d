"""Where the operators of quantized networks are found."""

import relay


def test_operators_are_found_under_qnn_and_under_qnn_op():
    for name in relay.qnn.op.__all__:
        assert getattr(relay.qnn, name) is getattr(relay.qnn.op, name)
    x = relay.var("x", shape=(2,))
    call = relay.qnn.quantize(x, relay.const(0.5), relay.const(3), out_dtype="int8")
    assert call.op.name == "qnn.quantize"
