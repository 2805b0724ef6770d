"""Which weights of products are sparse."""

import numpy as np

import relay
from relay.analysis import sparse_dense

X, W, V = (relay.var(name, shape=(8, 8)) for name in "xwv")
FUNCTION = relay.Function([X, W, V], relay.nn.dense(relay.nn.dense(X, W), V))


def params():
    return {"w": np.eye(8, dtype="float32"), "v": np.ones((8, 8), "float32"), "u": 3}


def test_weights_of_many_zeros_are_replaced():
    weights = params()
    found = sparse_dense.process_params(FUNCTION, weights, (2, 2), 0.8)
    assert found.weight_name == ["w"]
    assert found.weight_shape == [[4, 2, 2, 4, 5]]
    assert set(weights) == {"v", "u", "w.data", "w.indices", "w.indptr"}
    np.testing.assert_array_equal(weights["w.data"], [np.eye(2)] * 4)


def test_the_threshold_is_a_share_of_elements():
    for threshold, names in ((0.875, ["w"]), (0.9, []), (0, ["w", "v"])):
        found = sparse_dense.process_params(FUNCTION, params(), (1, 1), threshold)
        assert found.weight_name == names


def test_weights_that_do_not_consist_of_blocks_stay():
    weights = params()
    assert sparse_dense.process_params(FUNCTION, weights, (3, 1), 0.5).weight_name == []
    assert set(weights) == {"w", "v", "u"}


def test_weights_that_are_not_given_stay():
    assert sparse_dense.process_params(FUNCTION, {}, (1, 1), 0).weight_name == []


def test_products_that_widen_have_no_sparse_form():
    x, w = (relay.var(name, shape=(8, 8), dtype="int8") for name in "xw")
    function = relay.Function([x, w], relay.nn.dense(x, w, out_dtype="int32"))
    assert sparse_dense.process_params(function, {"w": np.eye(8, dtype="int8")}, (1, 1), 0) == (
        [],
        [],
    )
