"""Padding, windows as columns and channels as pixels agree with torch."""

from __future__ import annotations

from functools import partial

import torch
from torch.export import Dim
from torch.nn import functional as f

from tests.frontend.pytorch.operators.layers import agree


def test_padding_of_all_modes_agrees() -> None:
    x = torch.randn(2, 3, 4, 5)
    agree(
        (partial(f.pad, pad=(1, -2, 0, 3), value=2.5), [x]),
        (partial(f.pad, pad=(1, 2), value=True), [x > 0]),
        (partial(f.pad, pad=(1, -2, 3, 0), mode="reflect"), [x]),
        (partial(f.pad, pad=(1, 7, 3, 0), mode="replicate"), [x]),
        (partial(f.pad, pad=(-4, 3), mode="replicate"), [x[0]]),
        (partial(f.pad, pad=(1, 2, 3, 0), mode="circular"), [x]),
        (partial(f.pad, pad=(1, 2, 0, 1, 1, 0), mode="reflect"), [x]),
    )


def test_windows_become_columns_and_columns_windows() -> None:
    window = {"kernel_size": (2, 3), "dilation": (2, 1), "padding": (1, 0), "stride": (1, 2)}
    agree(
        (partial(f.unfold, **window), [torch.randn(2, 3, 6, 8)]),
        (partial(f.fold, output_size=(6, 8), **window), [torch.randn(2, 18, 18)]),
        (partial(f.pixel_shuffle, upscale_factor=2), [torch.randn(2, 3, 8, 2, 3)]),
        (partial(f.pixel_unshuffle, downscale_factor=2), [torch.randn(3, 4, 6)]),
        (partial(f.channel_shuffle, groups=3), [torch.randn(2, 6, 2, 3)]),
    )


def test_sizes_of_images_may_be_open() -> None:
    sizes = {0: Dim("n", min=1), 2: 2 * Dim("h", min=2), 3: Dim("w", min=4)}

    def layers(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return f.pad(x, (1, 1, 2, 0), "reflect"), f.unfold(x, 2), f.pixel_shuffle(x, 2)

    given, other = torch.randn(2, 4, 6, 5), torch.randn(1, 4, 8, 9)
    agree((layers, [given]), dynamic_shapes=(sizes,), others=[[other]])
