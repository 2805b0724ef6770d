"""Derivatives agree with those of torch."""

from __future__ import annotations

from typing import Any

import torch

from tests.frontend.pytorch.operators.layers import Case, agree

ATEN = torch.ops.aten


def rand(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def convolution(
    data: torch.Tensor,
    weight: torch.Tensor,
    *options: Any,
    transposed: bool = False,
    groups: int = 1,
) -> Case:
    """The derivatives of a convolution."""
    stride, padding, dilation, more = options
    whole = (stride, padding, dilation, transposed, more, groups)
    result = ATEN.convolution(data, weight, None, *whole)

    def run(grad: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> Any:
        return ATEN.convolution_backward(grad, x, w, [1], *whole, [True, True, True])

    return run, [torch.randn_like(result), data, weight]


def test_derivatives_of_convolutions_agree() -> None:
    agree(
        convolution(rand(2, 4, 7, 8), rand(6, 2, 3, 2), [2, 1], [1, 0], [1, 2], [0, 0], groups=2),
        convolution(rand(3, 4, 8), rand(6, 4, 3), [2], [1], [1], [0]),
        convolution(
            rand(2, 4, 5, 4),
            rand(4, 3, 3, 2),
            [2, 3],
            [1, 0],
            [1, 1],
            [1, 0],
            transposed=True,
            groups=2,
        ),
        convolution(rand(1, 2, 4, 5, 3), rand(3, 2, 2, 2, 2), [1] * 3, [1] * 3, [1] * 3, [0] * 3),
        atol=1e-4,
    )


def test_derivatives_of_pools_agree() -> None:
    x, grad = rand(2, 3, 7, 8), rand(2, 3, 4, 4)
    means = ATEN.avg_pool2d_backward
    places = torch.nn.functional.max_pool2d(x, 3, 2, 1, return_indices=True)[1]
    agree(
        (lambda g, x: means(g, x, [3, 3], [2, 2], [1, 1], True, True, None), [rand(2, 3, 4, 5), x]),
        (lambda g, x: means(g, x, [3, 3], [2, 2], [1, 1], False, False, None), [grad, x]),
        (lambda g, x: means(g, x, [3, 2], [2, 2], [1, 0], False, True, 5), [grad, x]),
        (
            lambda g, x, i: ATEN.max_pool2d_with_indices_backward(
                g, x, [3, 3], [2, 2], [1, 1], [1, 1], False, i
            ),
            [grad, x, places],
        ),
        (ATEN._adaptive_avg_pool2d_backward, [rand(2, 3, 3, 5), x]),
    )


def test_derivatives_of_norms_agree() -> None:
    x, grad, weight = rand(4, 6, 5), rand(4, 6, 5), rand(6)
    every = [True, True, True]

    def by_rows(g: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> Any:
        _, mean, rstd = ATEN.native_layer_norm(x, [6, 5], w, w, 1e-5)
        return ATEN.native_layer_norm_backward(g, x, [6, 5], mean, rstd, w, w, every)

    def by_groups(g: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> Any:
        _, mean, rstd = ATEN.native_group_norm(x, w, w, 4, 6, 5, 2, 1e-5)
        return ATEN.native_group_norm_backward(g, x, mean, rstd, w, 4, 6, 5, 2, every)

    def by_channels(g: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> Any:
        _, mean, rstd = ATEN._native_batch_norm_legit.no_stats(x, w, w, True, 0.1, 1e-5)
        args = (w, None, None, mean, rstd, True, 1e-5, every)
        return ATEN.native_batch_norm_backward(g, x, *args)

    agree(
        (by_rows, [grad, x, rand(6, 5)]),
        (by_groups, [grad, x, weight]),
        (by_channels, [grad, x, weight]),
        atol=1e-4,
    )


def test_derivatives_of_embeddings_agree() -> None:
    places = torch.tensor([[1, 4, 1], [0, 2, 1]])
    for by_count in (False, True):
        agree(
            (
                lambda g, i, by=by_count: ATEN.embedding_dense_backward(g, i, 6, 4, by),
                [rand(2, 3, 5), places],
            )
        )
