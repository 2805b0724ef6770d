"""What depends on constants only is computed once, before."""

from __future__ import annotations

import numpy as np

from relay import te
from relay.target.llvm.schedules.choose import choose
from relay.target.llvm.schedules.hoist import constants_only
from relay.te.schedule import create
from tests.support.kernels import Batch
from tests.target.llvm.kernels import WIDEST, scheduled
from tests.target.llvm.schedules.outline import AVX512, outlines

N = 8
X = te.placeholder((N, N), "float32", "x")
W = te.placeholder((N, N), "float32", "w")


def product(left: te.Tensor, right: te.Tensor, name: str) -> te.Tensor:
    k = te.axis(N, "k")
    return te.compute((N, N), lambda i, j: te.sum(left[i, k] * right[k, j], k), name)


def prepared(*outputs: te.Tensor) -> list[list[str]]:
    """The names of the tensors that are made before, kernel by kernel."""
    chosen = choose(outputs, [X, W], AVX512, [W])
    return [[tensor.name for tensor in one.outputs] for one in chosen.prepare]


def test_a_panel_of_weights_is_made_before() -> None:
    assert prepared(product(X, W, "y")) == [["y.acc.panel"]]
    assert choose([product(X, W, "y")], [X, W], AVX512, []).prepare == ()


def test_a_chain_of_constants_goes_together() -> None:
    square = product(W, W, "square")
    assert prepared(product(X, square, "y")) == [["y.acc.panel"]]
    before, main = outlines([product(X, square, "y")], [X, W], [W])
    assert "square" in before
    assert "square" not in main


def test_what_the_kernel_reads_itself_is_made_once_for_both() -> None:
    square = product(W, W, "square")
    y = product(X, square, "y")
    plus = te.compute((N, N), lambda i, j: y[i, j] + square[j, i], "plus")
    assert prepared(plus) == [["square"], ["y.panel"]]


def test_a_result_is_no_preparation() -> None:
    assert prepared(te.compute((N, N), lambda i, j: W[j, i], "turned")) == []


def test_procedures_and_reductions_with_several_results_are_prepared() -> None:
    def write(b: te.Builder, low: te.Buffer, high: te.Buffer) -> None:
        with b.loop(N) as i:
            b.store(low, i, te.minimum(W[i, 0], W[i, 1]))
            b.store(high, i, te.maximum(W[i, 0], W[i, 1]))

    low, high = te.procedure([W], [((N,), "float32"), ((N,), "float32")], write, "ends")
    k = te.axis(N, "k")
    best = te.compute_many((N,), lambda i: te.argmax(W[i, k], k, k), "best")
    y = te.compute((N, N), lambda i, j: X[i, best[1][j]] * high[i], "y")
    assert sorted(prepared(y)) == [["best"], ["ends"]]
    x, w = (np.random.default_rng(i).normal(size=(N, N)).astype("float32") for i in (0, 1))
    batch = Batch([scheduled([y], [X, W], WIDEST, [False, True])], WIDEST)
    (found,) = batch.run(0, [x, w]).results
    expected = x[:, w.argmax(1)] * np.maximum(w[:, 0], w[:, 1])[:, None]
    np.testing.assert_array_equal(found, expected)
    assert low.dtype == "float32"  # nobody asked for it


def test_constants_are_followed_through_stages() -> None:
    square = product(W, W, "square")
    y = te.compute((N, N), lambda i, j: square[i, j] + X[i, j], "y")
    s = create([y], [X, W])
    known = {id(W)}
    assert constants_only(s, "square", known)
    assert not constants_only(s, "y", known)


def test_what_asks_for_the_sizes_of_a_run_is_not_made_before() -> None:
    n = te.Extent("int64", "n")
    x = te.placeholder((n, N), "float32", "x")
    k = te.axis(n, "k")
    table = te.compute((N,), lambda i: te.sum(W[i, 0] + te.cast(k, "float32"), k), "table")
    y = te.compute((n, N), lambda i, j: x[i, j] * table[j], "y")
    assert choose([y], [x, W], AVX512, [W]).prepare == ()
