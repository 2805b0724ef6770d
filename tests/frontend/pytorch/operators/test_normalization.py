"""Normalization agrees with torch."""

from __future__ import annotations

import torch
from torch.export import Dim
from torch.nn import functional as f

from tests.frontend.pytorch.operators.layers import agree

ATEN = torch.ops.aten


def rand(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def test_normalization_agrees() -> None:
    x, vector = rand(2, 4, 5, 3), rand(4)
    agree(
        (lambda x, m, v: f.batch_norm(x, m, v), [x, vector, torch.rand(4)]),
        (lambda x, w: f.batch_norm(x, None, None, w, w, training=True), [x, vector]),
        (lambda x: ATEN._native_batch_norm_legit.no_stats(x, None, None, True, 0.1, 1e-5), [x]),
        (
            lambda x, w, m: ATEN._native_batch_norm_legit_functional(
                x, w, w, m, m, True, 0.3, 1e-5
            ),
            [x, vector, rand(4)],
        ),
        (lambda x, w, b: f.layer_norm(x, (5, 3), w, b), [x, rand(5, 3), rand(5, 3)]),
        (lambda x: ATEN.native_layer_norm(x, [3], None, None, 1e-3), [x]),
        (lambda x, w: f.group_norm(x, 2, w), [x, vector]),
        (lambda x: ATEN.native_group_norm(x, None, None, 2, 4, 15, 2, 1e-5), [x]),
        (lambda x, w, b: f.instance_norm(x, None, None, w, b), [x, vector, rand(4)]),
        (lambda x, w: f.rms_norm(x, (3,), w), [x, rand(3)]),
        (lambda v, g: torch._weight_norm(v, g, 0), [rand(4, 3), rand(4, 1)]),
        (lambda x: torch.renorm(x, 2, 0, 1.5), [x]),
    )


def test_halves_are_normalized_in_single_precision() -> None:
    x = (rand(2, 4, 64) * 100 + 300).half()
    agree(
        (lambda x: f.layer_norm(x, (64,)), [x]),
        (lambda x: f.rms_norm(x, (64,)), [x]),
        (lambda x: f.group_norm(x, 2), [x]),
        rtol=1e-2,
        atol=1e-2,
    )


def test_rows_may_be_any_number() -> None:
    agree(
        (lambda x, w: f.layer_norm(x, (2, 3), w), [rand(4, 5, 2, 3), rand(2, 3)]),
        dynamic_shapes=({0: Dim("n", min=1), 1: Dim("m", min=1)}, None),
        others=[[rand(1, 7, 2, 3), rand(2, 3)]],
        compiled=True,
    )
