"""Dense layers in integers whose scales are found at run time."""

import numpy as np
import pytest

import relay
from relay import nn, quantize
from relay.analysis import list_op_freqs
from relay.errors import PassError
from relay.ir.expr import Function
from tests.quantize.onnxruntime_peer import outputs

RNG = np.random.default_rng(0)
x = relay.var("data", shape=(5, 64))
W = RNG.standard_normal((32, 64)).astype("float32")
W2 = RNG.standard_normal((32, 16)).astype("float32")
DATA = (RNG.standard_normal((5, 64)) * np.array([[1], [100], [0.01], [0], [3]])).astype("float32")


def quantized(body, params=None, **options):
    module = relay.IRModule.from_expr(Function(relay.analysis.free_vars(body), body))
    return quantize.dynamic(**options)(module, params or {})


def by_hand(data, weight):
    """In float64."""
    step = np.maximum(np.abs(data).max(-1, keepdims=True) / np.float32(127), 1e-38)
    scale = (np.abs(weight).max(1).astype(np.float64) / 127).astype(np.float32)
    integers, whole = np.rint(data / step), np.rint(weight.astype(np.float64) / scale[:, None])
    return integers.astype(np.float64) @ whole.T * (step.astype(np.float64) * scale)


def test_the_product_is_of_integers_with_a_scale_for_each_row():
    module = quantized(nn.dense(x, relay.const(W)))
    found = relay.compile(module)(DATA)
    np.testing.assert_allclose(found, by_hand(DATA, W), rtol=1e-5, atol=1e-6)
    exact = DATA.astype(np.float64) @ W.T
    # a row with large numbers does not cost the others their precision
    error = np.abs(found - exact).max(1) / np.maximum(np.abs(exact).max(1), 1e-30)
    assert error.max() < 0.02
    assert not found[3].any()


def test_weights_may_lie_the_other_way():
    module = quantized(relay.nn.matmul(nn.relu(nn.dense(x, relay.const(W))), relay.const(W2)))
    kinds = {
        node.op.name: node.checked_type.dtype
        for node in relay.tree.postorder(module["main"])
        if isinstance(node, relay.Call) and node.op.name in ("nn.dense", "nn.matmul")
    }
    assert kinds == {"nn.dense": "int32"}
    hidden = np.maximum(by_hand(DATA, W), 0).astype(np.float32)
    wanted = by_hand(hidden, np.ascontiguousarray(W2.T))
    found = relay.compile(module)(DATA)
    np.testing.assert_allclose(found, wanted, rtol=0.02, atol=0.02 * np.abs(wanted).max())


def test_compile_takes_the_weights_of_the_model():
    w = relay.var("w", shape=(32, 64))
    mod = relay.IRModule.from_expr(Function([x, w], nn.dense(x, w)))
    exe = relay.compile(mod, {"w": W}, quantize=quantize.dynamic())
    np.testing.assert_allclose(exe(DATA), by_hand(DATA, W), rtol=1e-5, atol=1e-6)


def test_layers_in_branches_and_small_ones():
    flag = relay.var("flag", shape=(), dtype="bool")
    body = relay.If(flag, nn.dense(x, relay.const(W)), nn.dense(x, relay.const(-W)))
    assert list_op_freqs(quantized(body))["round"] == 2
    assert "round" not in list_op_freqs(quantized(body, least=10**6))
    y = relay.compile(quantized(body))(data=DATA, flag=np.array(True))
    np.testing.assert_allclose(y, by_hand(DATA, W), rtol=1e-5, atol=1e-6)


def test_rows_that_are_not_finite_are_nan_and_others_are_not():
    data = DATA.copy()
    data[0, 0], data[1, 0] = np.nan, np.inf
    found = relay.compile(quantized(nn.dense(x, relay.const(W))))(data)
    assert np.isnan(found[0]).all() and np.isnan(found[1]).all()
    assert np.isfinite(found[2:]).all()


def test_what_has_no_constant_weight_stays():
    w = relay.var("w", shape=(32, 64))
    assert "round" not in list_op_freqs(quantized(nn.dense(x, w)))


def test_onnxruntime_has_no_smaller_errors(tmp_path):
    import onnx
    from onnxruntime import quantization

    hidden = nn.relu(nn.dense(x, relay.const(W)))
    mod = relay.transform.InferType()(
        relay.IRModule.from_expr(Function([x], nn.dense(hidden, relay.const(W2.T.copy()))))
    )
    onnx.save(relay.to_onnx(mod), tmp_path / "plain.onnx")
    quantization.quantize_dynamic(tmp_path / "plain.onnx", tmp_path / "int8.onnx", per_channel=True)
    (theirs,) = outputs(tmp_path / "int8.onnx", [DATA])
    exact = relay.create_executor("debug", mod).evaluate()(data=DATA).numpy()
    ours = relay.compile(mod, quantize=quantize.dynamic())(DATA)
    assert ((ours - exact) ** 2).sum() <= ((theirs - exact) ** 2).sum()


def test_other_weights_are_refused():
    with pytest.raises(PassError, match="signed and symmetric"):
        quantize.dynamic(weight=quantize.Integers(symmetric=False))
