"""Networks whose weights are mostly zeros."""

import numpy as np
import pytest

import relay
from relay.data_dep_optimization import bsr_dense
from relay.testing import mlp


def pruned(params, share=0.2, blocks=(4, 1)):
    """Weights of which only some blocks are left."""
    rng = np.random.default_rng(5)
    found = {}
    for name, value in params.items():
        array = value.numpy().copy()
        if array.ndim == 2 and array.shape[0] % blocks[0] == 0:
            kept = rng.random((array.shape[0] // blocks[0], array.shape[1])) < share
            array *= np.repeat(kept, blocks[0], axis=0)
        found[name] = array
    return found


def test_a_network_computes_the_same():
    mod, params = mlp.get_workload(batch_size=2)
    weights = pruned(params)
    function, sparse = bsr_dense.convert(mod["main"], weights, (4, 1), 0.7)
    assert "fc1_weight" in weights, "what was given stays as it is"
    assert {"fc1_weight.data", "fc2_weight.indptr"} <= set(sparse)
    assert "fc3_weight" in sparse, "10 rows are not made of blocks of 4"
    after = relay.IRModule.from_expr(function)
    assert relay.analysis.list_op_freqs(after)["nn.sparse_dense"] == 2
    x = np.random.default_rng(0).standard_normal((2, 1, 28, 28)).astype("float32")
    wanted = relay.compile(mod, weights)(x)
    np.testing.assert_allclose(relay.compile(after, sparse)(x), wanted, 1e-4, 1e-6)


def test_a_network_without_zeros_stays():
    mod, params = mlp.get_workload(batch_size=1)
    typed = relay.transform.InferType()(mod)["main"]
    function, weights = bsr_dense.convert(typed, params, (4, 1), 0.7)
    assert function is typed
    assert weights == params


def test_a_function_is_converted():
    with pytest.raises(relay.RelayError, match="found a Constant"):
        bsr_dense.convert(relay.const(1), {}, (1, 1), 0.5)
