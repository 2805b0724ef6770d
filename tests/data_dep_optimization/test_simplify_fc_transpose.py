"""Weights that come transposed."""

import numpy as np

import relay
from relay.data_dep_optimization import simplify_fc_transpose

X, W, V = relay.var("x", shape=(2, 8)), relay.var("w", shape=(8, 4)), relay.var("v", shape=(4, 3))
BODY = relay.nn.dense(relay.nn.dense(X, relay.transpose(W)), relay.transpose(V, [1, 0]))
FUNCTION = relay.Function([X, W, V], BODY)


def test_a_network_computes_the_same_without_transposes():
    rng = np.random.default_rng(2)
    x, w, v = (rng.standard_normal(shape).astype("float32") for shape in ((2, 8), (8, 4), (4, 3)))
    function, params = simplify_fc_transpose.convert(FUNCTION, {"w": w, "v": v})
    assert set(params) == {"w.T", "v.T"}
    mod = relay.IRModule.from_expr(function)
    assert "transpose" not in relay.analysis.list_op_freqs(mod)
    np.testing.assert_allclose(relay.compile(mod, params)(x), x @ w @ v, 1e-5, 1e-5)


def test_weights_that_are_not_given_stay():
    v = np.ones((4, 3), "float32")
    function, params = simplify_fc_transpose.convert(FUNCTION, {"v": v})
    assert set(params) == {"v.T"}
    assert [p.name_hint for p in function.params] == ["x", "w", "v.T"]
