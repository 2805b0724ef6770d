"""Pools agree with torch."""

from __future__ import annotations

import torch
from torch.nn import functional as f

from tests.frontend.pytorch.operators.layers import agree


def rand(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def test_windows_of_all_attributes_agree() -> None:
    x, volume = rand(2, 3, 7, 8), rand(1, 2, 5, 6, 7)
    agree(
        (lambda x: f.max_pool2d(x, 3, 2, 1, ceil_mode=True), [x]),
        (lambda x: f.max_pool2d(x, 2, 3, ceil_mode=True, return_indices=True), [x]),
        (lambda x: f.max_pool1d(x, 3, 2, 1, 2), [rand(3, 9)]),
        (lambda x: f.max_pool3d(x, (1, 2, 3), return_indices=True), [volume]),
        (lambda x: f.avg_pool2d(x, 3, 2, 1, ceil_mode=True), [x]),
        (lambda x: f.avg_pool2d(x, 3, 2, 1, True, count_include_pad=False), [x]),
        (lambda x: f.avg_pool2d(x, (3, 2), 2, 1, True, divisor_override=5), [x]),
        (lambda x: f.avg_pool1d(x, 3, 2), [rand(3, 9)]),
        (lambda x: f.avg_pool3d(x, 2, 2, 1), [volume]),
    )


def test_adaptive_windows_agree_where_sizes_do_not_divide() -> None:
    x, volume = rand(2, 3, 7, 8), rand(2, 5, 6, 7)
    agree(
        (lambda x: f.adaptive_avg_pool2d(x, (3, 5)), [x]),
        (lambda x: f.adaptive_avg_pool1d(x, 4), [rand(3, 9)]),
        (lambda x: f.adaptive_max_pool2d(x, (3, 5), return_indices=True), [x]),
        (lambda x: f.adaptive_max_pool2d(x, 1, return_indices=True), [x]),
        (lambda x: f.adaptive_max_pool3d(x, (2, 5, 3), return_indices=True), [volume]),
        (lambda x: f.adaptive_max_pool1d(x, 10, return_indices=True), [rand(3, 9)]),
    )


def test_windows_with_drawn_starts_agree_for_given_samples() -> None:
    samples = torch.rand(2, 3, 2), torch.rand(2, 3, 3)
    agree(
        (
            lambda x, s: torch.ops.aten.fractional_max_pool2d(x, [2, 3], [3, 1], s),
            [rand(2, 3, 7, 8), samples[0]],
        ),
        (
            lambda x, s: torch.ops.aten.fractional_max_pool3d(x, [2, 3, 1], [3, 2, 4], s),
            [rand(2, 3, 6, 7, 8), samples[1]],
        ),
    )


def test_maxima_go_back_to_their_places() -> None:
    def there_and_back(x: torch.Tensor) -> torch.Tensor:
        maxima, places = f.max_pool2d(x, 2, return_indices=True)
        return f.max_unpool2d(maxima, places, 2, output_size=x.shape)

    agree((there_and_back, [rand(2, 3, 7, 8)]))
