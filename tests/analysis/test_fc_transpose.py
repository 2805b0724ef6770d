"""Which weights are transposed before they are multiplied with."""

import relay
from relay.analysis import search_fc_transpose

X, W, V = (relay.var(name, shape=(4, 4)) for name in "xwv")


def dense(x, weight, axes=(1, 0)):
    return relay.nn.dense(x, relay.transpose(weight, axes))


def search(body):
    return search_fc_transpose(relay.Function([X, W, V], body))


def test_weights_are_named_in_order():
    assert search(dense(dense(X, W), V)) == ["w", "v"]
    assert search(dense(X, W, None)) == ["w"]
    assert search(dense(X, W, (-1, -2))) == ["w"]
    assert search_fc_transpose(dense(X, W)) == ["w"]


def test_a_weight_may_be_used_more_than_once_that_way():
    assert search(dense(dense(X, W), W)) == ["w"]
    transposed = relay.transpose(W)
    assert search(relay.nn.dense(relay.nn.dense(X, transposed), transposed)) == ["w"]


def test_weights_that_are_used_otherwise_are_needed_as_they_are():
    assert search(relay.add(dense(X, W), W)) == []
    transposed = relay.transpose(W)
    assert search(relay.add(relay.nn.dense(X, transposed), transposed)) == []
    assert search(relay.nn.dense(transposed, transposed)) == []
    assert search(relay.nn.dense(X, W)) == []
    assert search(dense(X, W, (0, 1))) == []
    assert search(dense(X, relay.negative(W))) == []
