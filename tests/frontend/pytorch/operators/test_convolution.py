"""Convolutions agree with torch."""

from __future__ import annotations

import torch
from torch.export import Dim
from torch.nn import functional as f

from tests.frontend.pytorch.operators.layers import agree


def rand(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def test_convolutions_of_all_attributes_agree() -> None:
    agree(
        (f.conv1d, [rand(2, 3, 8), rand(4, 3, 3), rand(4)]),
        (lambda x, w: f.conv2d(x, w, stride=(2, 1), padding=1), [rand(3, 6, 7), rand(4, 3, 3, 2)]),
        (
            lambda x, w: f.conv2d(x, w, padding="same", dilation=(1, 3)),
            [rand(1, 4, 6, 7), rand(6, 4, 3, 5)],
        ),
        (lambda x, w: f.conv2d(x, w, groups=4), [rand(1, 4, 6, 7), rand(8, 1, 3, 3)]),
        (lambda x, w: f.conv3d(x, w, dilation=2), [rand(1, 2, 5, 6, 7), rand(3, 2, 2, 2, 2)]),
        (
            lambda x, w: f.conv_transpose2d(x, w, None, 3, 1, (2, 1), 2, 2),
            [rand(1, 4, 3, 4), rand(4, 3, 3, 2)],
        ),
        (lambda x, w, b: f.conv_transpose1d(x, w, b, 2), [rand(4, 5), rand(4, 3, 3), rand(3)]),
        (lambda x, w, b: torch.conv_tbc(x, w, b, 1), [rand(5, 2, 3), rand(3, 3, 4), rand(4)]),
    )


def test_batch_and_image_may_have_any_size() -> None:
    sizes = {0: Dim("n", min=1), 2: Dim("h", min=4), 3: Dim("w", min=4)}
    agree(
        (lambda x, w: f.conv2d(x, w, stride=2, padding=1), [rand(2, 3, 9, 8), rand(4, 3, 3, 3)]),
        dynamic_shapes=(sizes, None),
        others=[[rand(1, 3, 12, 5), rand(4, 3, 3, 3)]],
        compiled=True,
    )
