"""Matrices in blocks, and the weights a function has."""

import numpy as np
import pytest
import scipy.sparse

import relay
from relay.analysis.block_sparse import (
    block_sparse,
    checked_blocksize,
    replace_weights,
    share_of_zeros,
    weights_of,
)

HEADER = '#[version = "0.0.5"]\n'


def sparse_matrix(shape, blocks, seed=0, share=0.3):
    rng = np.random.default_rng(seed)
    kept = rng.random([size // block for size, block in zip(shape, blocks, strict=True)]) < share
    return (rng.standard_normal(shape) * np.kron(kept, np.ones(blocks))).astype("float32")


@pytest.mark.parametrize("blocks", [(1, 1), (2, 3), (4, 1), (8, 12)])
def test_blocks_are_those_of_scipy(blocks):
    matrix = sparse_matrix((8, 12), blocks)
    found = block_sparse(matrix, blocks)
    wanted = scipy.sparse.bsr_matrix(matrix, blocksize=blocks)
    np.testing.assert_array_equal(found.data, wanted.data)
    np.testing.assert_array_equal(found.indices, wanted.indices)
    np.testing.assert_array_equal(found.indptr, wanted.indptr)
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert found.extents == [*wanted.data.shape, *wanted.indices.shape, *wanted.indptr.shape]


def test_a_matrix_of_zeros_has_no_blocks():
    found = block_sparse(np.zeros((4, 4), "float32"), (2, 2))
    assert found.extents == [0, 2, 2, 0, 3]


def test_a_matrix_that_does_not_consist_of_blocks_has_none():
    assert block_sparse(np.ones((4, 6)), (3, 1)) is None
    assert block_sparse(np.ones((4, 6)), (1, 4)) is None
    assert block_sparse(np.ones((0, 6)), (1, 1)) is None


@pytest.mark.parametrize("given", [(1,), (0, 1), (1, 2, 3), (1.0, 1)])
def test_blocks_have_two_extents(given):
    with pytest.raises(relay.RelayError, match=r"a size of blocks is \(rows, columns\)"):
        checked_blocksize(given)


def test_zeros_are_counted():
    assert share_of_zeros(np.array([[0, 1], [2, 0]])) == 0.5
    assert share_of_zeros(np.array([])) == 1


def test_a_weight_is_replaced_by_its_parts():
    params = {"w": np.eye(4), "b": 1}
    t = "Tensor[(4, 4), float32]"
    function = relay.parse_expr(HEADER + f"fn (%x: {t}, %w: {t}) {{ nn.dense(%x, %w) }}")
    found = replace_weights(function, params, lambda _: True, lambda w: block_sparse(w, (2, 2)))
    assert found.weight_name == ["w"]
    assert list(params) == ["b", "w.data", "w.indices", "w.indptr"]


def weights(text):
    function = relay.parse_expr(HEADER + text)
    return weights_of(function, lambda call: getattr(call.op, "name", "") == "nn.dense")


def test_weights_are_parameters_in_their_place_only():
    t = "Tensor[(4, 4), float32]"
    assert weights(f"fn (%x: {t}, %v: {t}, %w: {t}) {{ nn.dense(nn.dense(%x, %w), %v) }}") == [
        "w",
        "v",
    ]
    assert weights(f"fn (%x: {t}, %w: {t}) {{ add(nn.dense(%x, %w), %w) }}") == []
    assert weights(f"fn (%w: {t}) {{ nn.dense(%w, %w) }}") == []
    assert weights(f"fn (%x: {t}, %w: {t}) {{ nn.dense(%x, negative(%w)) }}") == []
    assert weights(f"fn (%x: {t}) {{ let %w = negative(%x); nn.dense(%x, %w) }}") == []


def test_two_parameters_of_one_name_are_not_told_apart():
    x, v, w = (relay.var(name, shape=(4, 4)) for name in "xww")
    body = relay.nn.dense(relay.nn.dense(x, v), w)
    assert weights_of(relay.Function([x, v, w], body), lambda _: True) == []


def test_weights_are_looked_for_in_functions():
    with pytest.raises(relay.RelayError, match="weights are parameters of a function"):
        weights_of(relay.const(1), bool)
