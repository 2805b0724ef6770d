"""Layers of encoders that torch computes as one operator agree with torch."""

from __future__ import annotations

from functools import partial

import torch

from tests.frontend.pytorch.operators.layers import Case, agree

WIDTH, HEADS = 16, 4


def layer(
    activation: str, norm_first: bool, mask: torch.Tensor | None, mask_type: int | None
) -> Case:
    made = torch.nn.TransformerEncoderLayer(
        WIDTH, HEADS, 24, activation=activation, norm_first=norm_first, batch_first=True
    )
    attention = made.self_attn
    weights = [
        (attention.in_proj_weight, attention.in_proj_bias),
        (attention.out_proj.weight, attention.out_proj.bias),
        (made.norm1.weight, made.norm1.bias),
        (made.norm2.weight, made.norm2.bias),
        (made.linear1.weight, made.linear1.bias),
        (made.linear2.weight, made.linear2.bias),
    ]
    given = [torch.randn(2, 5, WIDTH), *(one.detach() for pair in weights for one in pair)]

    def forward(x: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        flags = (activation == "gelu", norm_first, 1e-5)
        sizes = (WIDTH, HEADS)
        return torch.ops.aten._transformer_encoder_layer_fwd(
            x, *sizes, *rest[:4], *flags, *rest[4:12], *rest[12:], *tail
        )

    tail = [] if mask_type is None else [mask_type]
    return forward, given if mask is None else [*given, mask]


def test_encoder_layers_agree() -> None:
    rows = torch.randn(5, 5) > 1
    rows[:, 0] = False
    positions = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    agree(
        layer("relu", False, None, None),
        layer("gelu", True, None, None),
        layer("gelu", False, rows, 0),
        layer("relu", True, positions, 1),
    )


def test_attention_with_projections_agrees() -> None:
    weights = [torch.randn(3 * WIDTH, WIDTH), torch.randn(3 * WIDTH)]
    weights += [torch.randn(WIDTH, WIDTH), torch.randn(WIDTH)]
    x = torch.randn(2, 5, WIDTH)

    def attend(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        own = partial(torch.ops.aten._native_multi_head_attention, x, x, x, WIDTH, HEADS)
        return own(*weights, None, False)[0]

    agree((attend, [x, *weights]))
