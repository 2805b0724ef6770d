"""Additions of integers whose scales differ by powers of two."""

import numpy as np

import relay
from relay import nn, quantize
from relay.analysis import list_op_freqs
from relay.quantize import Integers, Scheme
from relay.quantize.scheme import power_of_two

RNG = np.random.default_rng(0)
SHIFTS = Integers(scales=power_of_two)
WHOLE = Scheme("whole", data=SHIFTS, weight=SHIFTS, rounding="UPWARD", whole=True)


def const(*shape):
    return relay.const(RNG.standard_normal(shape).astype("float32"))


def residual(blocks=2, scale=1.0):
    """Convolutions around which data are added."""
    x = relay.var("x", shape=(1, 8, 6, 6))
    data = nn.conv2d(x, const(8, 8, 1, 1))
    for _ in range(blocks):
        inner = nn.conv2d(nn.relu(data), const(8, 8, 3, 3), padding=1)
        data = relay.add(inner, data * relay.const(np.float32(scale)) if scale != 1 else data)
    return relay.Function([x], nn.conv2d(data, const(4, 8, 1, 1)))


def operators(scheme, network):
    data = [RNG.standard_normal((1, 8, 6, 6)).astype("float32") for _ in range(2)]
    module = quantize.quantize(network, None, data, scheme=scheme)
    return list_op_freqs(module), module, data


def test_between_two_products_there_are_only_integers():
    found, module, _ = operators(WHOLE, residual())
    assert (found["qnn.quantize"], found["qnn.dequantize"]) == (1, 1)
    additions = [
        node
        for node in relay.tree.postorder(module["main"])
        if isinstance(node, relay.Call) and node.op.name == "add"
    ]
    assert len(additions) == 2
    assert {node.checked_type.dtype for node in additions} == {"int32"}


def test_the_sum_is_rounded_once():
    """Against the same integers in float64."""
    _, module, (image, _) = operators(WHOLE, residual(1))
    calls = [e for e in relay.tree.postorder(module["main"]) if isinstance(e, relay.Call)]
    (added,) = (call for call in calls if call.op.name == "add")
    (made,) = (call for call in calls if call.args[0] is added)
    pair = relay.Tuple([added, made])
    params = module["main"].params
    total, rounded = (
        each.numpy()
        for each in relay.create_executor("debug").evaluate(relay.Function(params, pair))(image)
    )
    scale, to = (made.args[place].data.array for place in (1, 3))
    exact = np.floor(total.astype("float64") * float(scale) / float(to) + 0.5)
    np.testing.assert_array_equal(rounded, np.clip(exact, -128, 127))
    assert np.abs(exact).max() > 20


def test_without_the_wish_a_sum_that_several_read_stays_in_floats():
    scheme = Scheme("shifts", data=SHIFTS, weight=SHIFTS, rounding="UPWARD")
    found, _, _ = operators(scheme, residual())
    assert found["qnn.dequantize"] > 1


def test_other_scales_and_sums_that_could_overflow_stay_in_floats():
    plain = Scheme("bytes", data=Integers(), weight=Integers(), rounding="UPWARD", whole=True)
    assert operators(plain, residual())[0]["qnn.dequantize"] > 1
    # the scales are so far apart that the finer one has no room for both
    large = operators(WHOLE, residual(1, scale=2.0**24))[0]
    assert large["qnn.dequantize"] > 1
