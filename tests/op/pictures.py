"""Pictures in many forms, written by Pillow or by hand."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image

GENERATOR = np.random.default_rng(5)
TIFF: tuple[dict[str, Any], ...] = (
    {},
    {"tiffinfo": {278: 3}},  # rows of a strip
    {"compression": "packbits"},
    {"compression": "tiff_lzw"},
    {"compression": "tiff_lzw", "tiffinfo": {317: 2}},  # differences from the pixel before
    {"compression": "tiff_adobe_deflate"},
    {"compression": "tiff_deflate"},
)
JPEG: tuple[dict[str, Any], ...] = (
    *({"subsampling": number} for number in (0, 1, 2, "4:1:1")),
    {"quality": 98, "subsampling": 2},
    {"quality": 15, "optimize": True},
    {"restart_marker_blocks": 2},
    {"keep_rgb": True},
)


def saved(image: Image.Image, form: str, **options: Any) -> bytes:
    """The file of an image."""
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


def opened(file: bytes, mode: str = "RGB") -> np.ndarray:
    """What Pillow makes of a file."""
    return np.array(Image.open(io.BytesIO(file)).convert(mode))


def smooth(height: int, width: int) -> Image.Image:
    """Colours that change slowly, so that all filters are of use."""
    y, x = np.mgrid[:height, :width]
    each = [x * 7 + y * 3 + 17 * i + GENERATOR.integers(0, 6, (height, width)) for i in range(3)]
    return Image.fromarray((np.stack(each, -1) % 256).astype("uint8"))


def noise(height: int, width: int) -> Image.Image:
    return Image.fromarray(GENERATOR.integers(0, 256, (height, width, 3)).astype("uint8"))


def modes(image: Image.Image) -> Iterator[tuple[str, Image.Image]]:
    """The same in greys, with alpha, with palettes."""
    grey, red = image.convert("L"), image.getchannel(0)
    yield "RGB", image
    yield "L", grey
    yield "1", image.convert("1")
    for colours in (2, 4, 13, 200):
        yield f"P{colours}", image.quantize(colours)
    with_alpha = image.copy()
    with_alpha.putalpha(red)
    yield "RGBA", with_alpha
    yield "LA", Image.merge("LA", (grey, red))


def files(image: Image.Image) -> dict[str, bytes]:
    """The image in all modes and formats, and in all the ways these may be compressed."""
    found = {}
    for mode, one in modes(image):
        if mode != "LA":
            found[f"bmp-{mode}"] = saved(one, "bmp")
        for number, options in enumerate(JPEG if mode in ("RGB", "L") else ()):
            found[f"jpeg-{mode}-{number}"] = saved(one, "jpeg", **options)
        if mode in ("RGB", "L", "1"):
            found[f"pnm-{mode}"] = saved(one, "ppm")
        for level in (0, 6):
            found[f"png-{mode}-{level}"] = saved(one, "png", compress_level=level)
        for number, options in enumerate(TIFF):
            if mode != "1" or 317 not in options.get("tiffinfo", {}):
                found[f"tiff-{mode}-{number}"] = saved(one, "tiff", **options)
    return found
