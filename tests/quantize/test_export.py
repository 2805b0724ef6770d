"""A calibrated network as a model of ONNX, between QuantizeLinear and DequantizeLinear."""

import numpy as np
import pytest

import relay
from relay import quantize
from relay.errors import ExportError
from relay.quantize import INT8, INT8_W4, Integers, Scheme
from tests.quantize.networks import Networks
from tests.quantize.onnxruntime_peer import outputs
from tests.support.looping import each


def simulated(seed, scheme):
    network = Networks(seed)
    batches = network.batches(3)
    with quantize.qconfig(do_simulation=True):
        return quantize.quantize(network.mod, None, batches, scheme=scheme), batches


SCHEMES = (
    INT8,
    INT8_W4,
    Scheme("few", data=Integers(bits=5), weight=Integers(bits=3)),
    Scheme("16", data=Integers(bits=16)),
    Scheme("zero points", weight=Integers(signed=False, symmetric=False, per="channel")),
)


@each("number", range(len(SCHEMES)))
def test_onnxruntime_computes_the_same(number, tmp_path):
    import onnx

    module, batches = simulated(number, SCHEMES[number])
    model = relay.to_onnx(module)
    kinds = {node.op_type for node in model.graph.node}
    assert {"QuantizeLinear", "DequantizeLinear"} <= kinds
    onnx.save(model, tmp_path / "qdq.onnx")
    (found,) = outputs(tmp_path / "qdq.onnx", batches[:1])
    wanted = relay.create_executor("debug", module).evaluate()(data=batches[0]).numpy()
    # a step of difference at a tie, here and there
    assert np.abs(found - wanted).max() <= 0.05 * np.abs(wanted).max()
    assert np.abs(found - wanted).mean() <= 0.01 * np.abs(wanted).max()


def test_what_is_exported_comes_back_as_integers():
    module, batches = simulated(0, INT8)
    exe = relay.compile(relay.to_onnx(module))
    assert "requantize" in str(exe.kernels)
    wanted = relay.create_executor("debug", module).evaluate()(data=batches[0]).numpy()
    np.testing.assert_allclose(exe(batches[0]), wanted, atol=0.05 * np.abs(wanted).max())


def test_open_scales_are_refused():
    module = quantize.annotate(INT8)(quantize.prerequisite_optimize(Networks(0).mod))
    with pytest.raises(ExportError, match="calibrate it before"):
        relay.to_onnx(module)


def test_other_roundings_are_refused():
    x = relay.var("x", shape=(4,))
    known = [relay.const(v) for v in (0.5, -3.0, 3.0)]
    call = relay.annotation.simulated_quantize(x, *known, kind=1, rounding="floor")
    with pytest.raises(ExportError, match="rounds ties to even"):
        relay.to_onnx(relay.transform.InferType()(relay.IRModule.from_expr(call)))
