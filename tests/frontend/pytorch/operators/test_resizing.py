"""Resized images agree with torch, for sizes and for factors."""

from __future__ import annotations

from functools import partial
from itertools import product

import torch
from torch.export import Dim
from torch.nn import functional as f

from tests.frontend.pytorch.operators.layers import agree

resize = f.interpolate


def test_all_modes_agree_for_sizes_and_factors() -> None:
    image = torch.randn(1, 2, 5, 7)
    given = [{"size": (8, 3)}, {"scale_factor": (1.7, 0.6)}, {"scale_factor": 2.0}]
    cases = [
        (partial(resize, mode=mode, **more), [image])
        for mode, more in product(("nearest", "nearest-exact", "bilinear", "bicubic"), given)
    ]
    for mode in ("bilinear", "bicubic"):
        for more in given:
            cases.append((partial(resize, mode=mode, align_corners=True, **more), [image]))
            cases.append((partial(resize, mode=mode, antialias=True, **more), [image]))
    signal, volume = torch.randn(2, 3, 7), torch.randn(1, 2, 3, 4, 5)
    cases += [
        (partial(resize, size=10, mode="linear"), [signal]),
        (partial(resize, scale_factor=0.4), [signal]),
        (partial(resize, size=(4, 2, 9), mode="trilinear"), [volume]),
        (partial(resize, scale_factor=1.5), [volume]),
    ]
    agree(*cases)


def test_nearest_elements_are_found_in_single_precision() -> None:
    rows = [torch.arange(n, dtype=torch.float32)[None, None] for n in (7, 23, 50, 93)]
    agree(*((partial(resize, size=n), [row]) for row in rows for n in (3, 41, 74, 158)))


def test_images_may_have_any_size() -> None:
    sizes = {2: Dim("h", min=2), 3: Dim("w", min=2)}

    def layers(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        larger = resize(x, scale_factor=2.0), resize(x, scale_factor=2.0, mode="bilinear")
        return *larger, resize(x, (6, 6), mode="bilinear", align_corners=True)

    given, other = torch.randn(1, 2, 4, 5), torch.randn(1, 2, 7, 3)
    agree((layers, [given]), dynamic_shapes=(sizes,), others=[[other]])


def test_grids_agree() -> None:
    image, grid = torch.randn(2, 3, 5, 4), torch.rand(2, 3, 6, 2) * 2.5 - 1.25
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    cases = [
        (
            partial(f.grid_sample, mode=mode, padding_mode=padding, align_corners=aligned),
            [image, grid],
        )
        for mode, padding, aligned in product(modes, paddings, (False, True))
    ]
    volume, places = torch.randn(1, 2, 3, 4, 5), torch.rand(1, 2, 3, 4, 3) * 2 - 1
    agree(
        *cases,
        (partial(f.grid_sample, align_corners=False), [volume, places]),
        (partial(f.affine_grid, size=(2, 3, 4, 5), align_corners=True), [torch.randn(2, 2, 3)]),
        (partial(f.affine_grid, size=(1, 3, 4, 5, 2), align_corners=False), [torch.randn(1, 3, 4)]),
        atol=1e-4,
    )
