"""Random networks are as near to their floats as ONNX Runtime's quantizer has them."""

import numpy as np
import pytest

import relay
from relay import quantize
from tests.quantize.networks import Networks
from tests.quantize.onnxruntime_peer import outputs, quantized_by_onnxruntime
from tests.support.looping import each


def errors(seed, folder):
    network = Networks(seed)
    known, others = network.batches(8), network.batches(8)
    wanted = [_interpreted(network.mod, batch) for batch in others]
    theirs = outputs(quantized_by_onnxruntime(network.mod, known, folder), others)
    module = quantize.quantize(network.mod, None, known, scheme=quantize.INT8)
    ours = [_interpreted(module, batch) for batch in others]
    return [
        np.sqrt(np.mean([(a - b) ** 2 for a, b in zip(found, wanted, strict=True)]))
        for found in (ours, theirs)
    ]


def _interpreted(module, batch):
    return relay.create_executor("debug", module).evaluate()(data=batch).numpy()


def test_errors_are_not_larger(tmp_path):
    for seed in range(2):
        ours, theirs = errors(seed, tmp_path)
        assert ours <= 1.5 * theirs


@pytest.mark.full
@each("seed", range(2, 302))
def test_errors_of_many_networks_are_not_larger(seed, tmp_path):
    ours, theirs = errors(seed, tmp_path)
    assert ours <= 1.5 * theirs
