"""Points become integers."""

import numpy as np
import pytest

import relay
from relay import nn
from relay.analysis import list_fake_quantized_op_freqs, list_op_freqs
from relay.errors import PassError
from relay.ir.expr import Function
from relay.quantize import (
    SHIFTS,
    Integers,
    Scheme,
    annotate,
    prerequisite_optimize,
    quantize,
    realize,
)

x = relay.var("x", shape=(1, 8, 8, 8))
RNG = np.random.default_rng(0)


def const(*shape):
    return relay.const(RNG.standard_normal(shape).astype("float32"))


def network():
    first = nn.relu(nn.bias_add(nn.conv2d(x, const(8, 8, 3, 3), padding=1), const(8)))
    second = nn.conv2d(first, const(8, 8, 1, 1))
    last = nn.global_avg_pool2d(nn.relu(relay.add(second, first)))
    return Function([x], nn.dense(nn.batch_flatten(last), const(4, 8)))


DATA = [RNG.standard_normal((1, 8, 8, 8)).astype("float32") for _ in range(3)]


def test_products_are_of_integers_and_nothing_is_left_between_conversions():
    module = quantize(network(), None, DATA, scheme=Scheme("max"))
    found = list_op_freqs(module)
    assert (found["qnn.conv2d"], found["qnn.dense"]) == (2, 1)
    assert "nn.conv2d" not in found
    # the addition is on its way to memory
    assert set(list_fake_quantized_op_freqs(module)) <= {"add", "nn.relu"}


def test_a_calibrated_network_keeps_its_types():
    module = quantize(network(), None, DATA, scheme=Scheme("max"))
    assert (
        module["main"].checked_type
        == relay.transform.InferType()(relay.IRModule.from_expr(network()))["main"].checked_type
    )


def test_rescaling_by_shifts_is_in_fixed_point():
    module = quantize(network(), None, DATA, scheme=SHIFTS)
    calls = [
        node
        for node in relay.tree.postorder(module["main"])
        if isinstance(node, relay.Call) and node.op.name == "qnn.requantize"
    ]
    assert calls
    assert {(call.attrs.rounding, call.attrs.compute_dtype) for call in calls} == {
        ("UPWARD", "int64")
    }
    for call in calls:
        for scale in (call.args[1], call.args[3]):
            mantissa, _ = np.frexp(scale.data.array)
            assert (mantissa == 0.5).all()


def test_fewer_bits_are_in_bytes_within_their_range():
    scheme = Scheme("few", data=Integers(bits=4), weight=Integers(bits=3, per="channel"))
    module = quantize(network(), None, DATA, scheme=scheme)
    weights = [
        node.data.array
        for node in relay.tree.postorder(module["main"])
        if isinstance(node, relay.Constant) and node.data.dtype == "int8"
    ]
    assert weights and all(np.abs(one).max() <= 3 for one in weights)
    assert list_op_freqs(module)["clip"] >= 2


def test_what_is_not_calibrated_is_refused():
    module = annotate(Scheme("max"))(prerequisite_optimize(network()))
    with pytest.raises(PassError, match=r"`x` has no scale yet"):
        realize()(module)
