"""Quantization agrees with torch."""

from __future__ import annotations

import torch
from torch.ao.quantization.fx import _decomposed  # noqa: F401  # which registers the operators

from tests.frontend.pytorch.operators.layers import agree

Q = torch.ops.quantized_decomposed
X = torch.randn(4, 6) * 3


def integers() -> torch.Tensor:
    return torch.randint(-100, 100, (4, 6), dtype=torch.int8)


def test_scales_of_tensors_agree() -> None:
    scale, zero = torch.tensor([0.05]), torch.tensor([3])
    agree(
        (lambda x: Q.quantize_per_tensor(x, 0.03, -4, -128, 127, torch.int8), [X]),
        (lambda x: Q.quantize_per_tensor(x, 0.03, 4, 0, 200, torch.uint8), [X]),
        (
            lambda x, s, z: Q.quantize_per_tensor.tensor(x, s, z, 0, 255, torch.uint8),
            [X, scale, zero],
        ),
        (lambda x: Q.dequantize_per_tensor(x, 0.03, -4, -128, 127, torch.int8), [integers()]),
        (lambda x: Q.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8), [X]),
    )


def test_scales_of_channels_and_tokens_agree() -> None:
    scales, zeros = torch.rand(4) + 0.1, torch.randint(-5, 5, (4,))
    column, points = scales[:, None].contiguous(), zeros[:, None].contiguous()
    int8 = torch.int8
    args = (0, -128, 127, int8)
    groups = torch.rand(4, 2) + 0.1, torch.zeros(4, 2)
    agree(
        (lambda x, s, z: Q.quantize_per_channel(x, s, z, *args), [X, scales, zeros]),
        (lambda x, s, z: Q.quantize_per_channel(x, s, z, 0, -7, 7, int8), [X, scales, zeros]),
        (lambda x, s, z: Q.dequantize_per_channel(x, s, z, *args), [integers(), scales, zeros]),
        (lambda x, s: Q.dequantize_per_channel(x, s, None, *args), [integers(), scales]),
        (lambda x, s, z: Q.quantize_per_token(x, s, z, -128, 127, int8), [X, column, points]),
        (
            lambda x, s, z: Q.dequantize_per_token(x, s, z, -128, 127, int8, torch.float32),
            [integers(), column, points],
        ),
        (
            lambda x, s, z: Q.dequantize_per_channel_group(x, s, z, -8, 7, int8, 3, torch.float32),
            [integers(), *groups],
        ),
    )
