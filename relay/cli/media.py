"""Images and sound as tensors of an input.

photo.jpg  ->  float32[1, 3, 224, 224]    scaled to the size, values from 0 to 1
word.wav   ->  float32[1, 16000]          values from -1 to 1, cut or filled up with silence
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relay.errors import RelayError
from relay.immutable import frozen

if TYPE_CHECKING:
    import numpy as np

    from relay.target.kernel import TensorSpec

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff")
SOUNDS = (".wav",)
CHANNELS = {1: "L", 3: "RGB", 4: "RGBA"}


@frozen
class Normal:
    """What is done to the values of an image: (value - mean) / std, channel by channel."""

    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()


def is_media(path: Path) -> bool:
    """Whether a file is an image or sound, by its name."""
    return path.suffix.lower() in (*IMAGES, *SOUNDS)


def load(path: Path, wanted: TensorSpec, normal: Normal) -> np.ndarray:
    """The tensor of an image or of sound, as an input wants it."""
    if path.suffix.lower() in SOUNDS:
        return _sound(path, wanted)
    return _image(path, wanted, normal)


# --- images


def _image(path: Path, wanted: TensorSpec, normal: Normal) -> np.ndarray:
    import numpy as np

    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError:
        raise RelayError("images need the package pillow: pip install pillow") from None
    first, channels, height, width = _axes(path, wanted)
    try:
        with Image.open(path) as opened:
            image = opened.convert(CHANNELS[channels])
    except UnidentifiedImageError:
        raise RelayError(f"`{path}` is no image") from None
    except OSError as error:
        raise RelayError(f"cannot read `{path}`: {error.strerror or error}") from None
    size = (width or image.width, height or image.height)
    if image.size != size:
        image = image.resize(size, Image.Resampling.BILINEAR)
    values: np.ndarray = np.asarray(image).reshape(size[1], size[0], channels)
    if wanted.dtype.startswith("float") or wanted.dtype == "bfloat16":
        values = _normalized(values.astype(np.float32) / 255, normal, channels)
    elif normal.mean or normal.std:
        raise RelayError(f"--mean and --std are for inputs of floats, and this is {wanted.dtype}")
    if first:
        values = values.transpose(2, 0, 1)
    values = values.astype(_dtype(wanted))
    ones = (1,) * (len(wanted.shape) - 3)
    shape = values.shape[1:] if len(wanted.shape) == 2 else ones + values.shape
    return np.ascontiguousarray(values.reshape(shape))


def _axes(path: Path, wanted: TensorSpec) -> tuple[bool, int, int | None, int | None]:
    """Whether channels come first, how many there are, and the height and width, if known."""
    shape = wanted.shape
    if len(shape) == 4 and (shape[0] == 1 or isinstance(shape[0], str)):
        shape = shape[1:]
    sizes = [size if isinstance(size, int) else None for size in shape]
    if len(sizes) == 3 and sizes[0] in CHANNELS:
        return True, int(sizes[0] or 0), sizes[1], sizes[2]
    if len(sizes) == 3 and sizes[2] in CHANNELS:
        return False, int(sizes[2] or 0), sizes[0], sizes[1]
    if len(sizes) == 2:
        return True, 1, sizes[0], sizes[1]
    text = ", ".join(map(str, wanted.shape))
    raise RelayError(
        f"`{path}` does not fit: an image is for an input of (1, channels, height, width) or "
        f"(1, height, width, channels) with 1, 3 or 4 channels, found ({text})"
    )


def _normalized(values: np.ndarray, normal: Normal, channels: int) -> np.ndarray:
    import numpy as np

    for name, numbers in (("--mean", normal.mean), ("--std", normal.std)):
        if len(numbers) not in (0, 1, channels):
            raise RelayError(f"{name} has {len(numbers)} numbers, for {channels} channels")
    if normal.mean:
        values = values - np.array(normal.mean, np.float32)
    if normal.std:
        values = values / np.array(normal.std, np.float32)
    return values


# --- sound


def _sound(path: Path, wanted: TensorSpec) -> np.ndarray:
    import wave

    import numpy as np

    try:
        with wave.open(str(path), "rb") as file:
            width, channels = file.getsampwidth(), file.getnchannels()
            data = file.readframes(file.getnframes())
    except OSError as error:
        raise RelayError(f"cannot read `{path}`: {error.strerror or error}") from None
    except (wave.Error, EOFError) as error:
        raise RelayError(f"`{path}` is no sound in PCM: {error}") from None
    samples = _samples(data, width).reshape(-1, channels)
    places = [number for number, size in enumerate(wanted.shape) if size != 1]
    if not wanted.dtype.startswith("float") or len(places) > 1:
        text = ", ".join(map(str, wanted.shape))
        raise RelayError(
            f"`{path}` does not fit: sound is for an input of floats with one long axis, found "
            f"{wanted.dtype}[{text}]"
        )
    mono = samples.mean(axis=1, dtype=np.float32)
    length = next((wanted.shape[place] for place in places), len(mono))
    if isinstance(length, int) and length != len(mono):
        change = "cut" if len(mono) > length else "filled up with silence"
        print(f"{path}: {len(mono)} samples, {change} to {length}", file=sys.stderr)
        mono = np.pad(mono[:length], (0, max(0, length - len(mono))))
    shape = [1 if size == 1 else -1 for size in wanted.shape]
    made: np.ndarray = mono.reshape(shape).astype(_dtype(wanted))
    return made


def _samples(data: bytes, width: int) -> np.ndarray:
    """PCM as floats from -1 to 1."""
    import numpy as np

    if width == 1:
        return np.asarray((np.frombuffer(data, np.uint8).astype(np.float32) - 128) / 128)
    count = len(data) // width
    wide = np.zeros((count, 4), np.uint8)  # little endian, the highest bytes last
    wide[:, 4 - width :] = np.frombuffer(data, np.uint8, count * width).reshape(count, width)
    return np.asarray(wide.view("<i4").reshape(-1) / 2.0**31, np.float32)


def _dtype(wanted: TensorSpec) -> Any:
    from relay import dtypes

    return dtypes.to_numpy(wanted.dtype)


def numbers(text: str | None, name: str) -> tuple[float, ...]:
    """`0.5,0.5` -> (0.5, 0.5)"""
    try:
        return tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError:
        raise RelayError(f"{name} takes numbers, `0.485,0.456,0.406`, found `{text}`") from None
