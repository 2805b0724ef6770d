"""Pictures of all formats against Pillow; damaged ones end a run, and nothing is out of range."""

from __future__ import annotations

import struct
import zlib
from functools import partial

import numpy as np
import pytest
from PIL import Image

from relay.errors import EvaluationError
from relay.lower.kernel import Options
from relay.lower.symbolic import lower_dynamic
from relay.op.image.pictures import reference
from relay.parser import parse
from relay.testing.dynamic import DynamicFunction
from relay.testing.kernels import Memory
from tests.op.pictures import files, noise, opened, saved, smooth
from tests.target.llvm.kernels import WIDEST

Decoder = DynamicFunction


def decoder(checked: bool) -> Decoder:
    module = parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(?), uint8]) { image.decode(%x) }')
    made = lower_dynamic(module["main"], [False], WIDEST, Options(checked=checked))
    return DynamicFunction(made, WIDEST)


@pytest.fixture(scope="module")
def fenced() -> Decoder:
    """In memory that may not be left."""
    return decoder(checked=False)


@pytest.fixture(scope="module")
def checked() -> Decoder:
    """With every index looked at."""
    return decoder(checked=True)


def decoded(made: Decoder, file: bytes) -> np.ndarray:
    memory = Memory("before", aligned=False)
    (found,) = made.run([np.frombuffer(file, np.uint8)], threads=2, memory=memory)
    return found


def outcome(decode: partial[np.ndarray], file: bytes) -> np.ndarray | str:
    """Pixels, or what is wrong."""
    try:
        return decode(file)
    except EvaluationError as error:
        return str(error).splitlines()[0].partition("`image.decode`: ")[2]


def of_reference(file: bytes, pixel_format: str = "RGB") -> np.ndarray:
    return reference.decode(np.frombuffer(file, np.uint8), pixel_format=pixel_format)


# --- pictures


@pytest.mark.parametrize(
    "image", [smooth(33, 47), noise(6, 9), noise(1, 1)], ids=["smooth", "noise", "dot"]
)
def test_every_form_of_a_picture(image: Image.Image, fenced: Decoder) -> None:
    for name, file in files(image).items():
        wanted = opened(file)
        np.testing.assert_array_equal(decoded(fenced, file), wanted, name)
        np.testing.assert_array_equal(of_reference(file), wanted, name)


def test_larger_pictures_fill_tables_of_codes(fenced: Decoder) -> None:
    """Repeats from far away, codes of more bits than are looked up, several blocks and strips."""
    image = smooth(300, 200)
    image.paste(noise(150, 200), (0, 80))
    for file in (saved(image, "png"), saved(image, "tiff", compression="tiff_lzw")):
        np.testing.assert_array_equal(decoded(fenced, file), np.array(image))
        np.testing.assert_array_equal(of_reference(file), np.array(image))


def test_other_formats_of_pixels() -> None:
    """In the reference; models of ONNX have them in compiled code."""
    for form in ("bmp", "jpeg", "ppm", "png", "tiff"):
        file = saved(noise(5, 4), form)
        np.testing.assert_array_equal(of_reference(file, "BGR"), opened(file)[:, :, ::-1])
        grey = of_reference(file, "Grayscale")
        np.testing.assert_array_equal(grey, opened(file, "L")[:, :, None])


def test_samples_in_decimal(checked: Decoder) -> None:
    for file in (b"P3\n# red\n2 1\n255\n255 0 0  7 8 9\n", b"P2 3 1 # wide\n15 0 7 15 "):
        np.testing.assert_array_equal(decoded(checked, file), opened(file))
        np.testing.assert_array_equal(of_reference(file), opened(file))


def test_fewer_levels_than_bytes_have(checked: Decoder) -> None:
    file = b"P6 2 1 31\n" + bytes((0, 1, 2, 30, 31, 16))
    np.testing.assert_array_equal(decoded(checked, file), opened(file))
    np.testing.assert_array_equal(of_reference(file), opened(file))


def test_rows_of_bmp_downwards(checked: Decoder) -> None:
    file = bytearray(saved(noise(3, 5), "bmp"))
    wanted = opened(bytes(file))[::-1]
    file[22:26] = struct.pack("<i", -3)
    np.testing.assert_array_equal(decoded(checked, bytes(file)), wanted)
    np.testing.assert_array_equal(of_reference(bytes(file)), wanted)


def test_tiff_with_high_bytes_first(checked: Decoder) -> None:
    tags = ((256, 2), (257, 1), (258, 8), (259, 1), (262, 1), (273, 8), (278, 1), (279, 2))
    entries = b"".join(struct.pack(">HHIHH", tag, 3, 1, value, 0) for tag, value in tags)
    file = b"MM\0*" + struct.pack(">I", 10) + b"\x21\x43" + struct.pack(">H", len(tags)) + entries
    wanted = np.repeat([[[0x21], [0x43]]], 3, 2)
    np.testing.assert_array_equal(decoded(checked, file), wanted)
    np.testing.assert_array_equal(of_reference(file), wanted)


# --- what is refused


def chunk(name: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)


def png(width: int, height: int, bits: int, kind: int, interlaced: int, content: bytes) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, interlaced)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", content) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


FAR_BACK = bytes((0x78, 0x01, 0x63, 0x00, 0x42, 0x00))  # a byte, then from 2 before

REFUSED = {
    "no picture of a known format; BMP, JPEG, PNM, PNG and TIFF are read": [
        b"",
        b"P",
        b"P9 1 1 255\n0",
        b"text",
    ],
    "are a GIF picture": [saved(noise(2, 2), "gif")],
    "are a progressive JPEG picture": [saved(noise(2, 2), "jpeg", progressive=True)],
    "colours": [saved(noise(2, 2).convert("CMYK"), form) for form in ("jpeg", "tiff")],
    "are a JPEG 2000 picture": [saved(noise(32, 32), "jpeg2000"), b"\xff\x4f\xff\x51\0"],
    "are a WebP picture": [saved(noise(2, 2), "webp")],
    "interlaced": [png(1, 1, 8, 0, 1, zlib.compress(b"\0\7"))],
    "more than 8 bits": [
        saved(Image.fromarray(np.ones((2, 2), "uint16")), form) for form in ("png", "tiff", "ppm")
    ],
    "no pixels, or too many": [
        b"P5 0 1 255\n",
        b"P5 99999 99999 255\n0",
        b"P5 99999999999999999999 1 255\n0",
        png(0, 4, 8, 0, 0, zlib.compress(b"")),
        png(2**31 - 1, 2**31 - 1, 8, 6, 0, zlib.compress(b"")),
    ],
    "end before the picture does": [
        b"BM",
        b"P5 3 2 255\n12345",
        b"P2 3 2 255 1 2 3 4 5",
        b"P6 7",
        png(2, 1, 8, 0, 0, zlib.compress(b"\0\7")),
        png(2, 1, 8, 0, 0, b""),
        png(9999, 9999, 8, 2, 0, zlib.compress(bytes(100))),
        b"II*\0\xff\xff\xff\xff",
    ],
    "damaged": [
        b"P5 3 x 255\n12345",
        b"P5 3 3 0\n12345",
        png(1, 1, 8, 0, 0, zlib.compress(b"\5\7")),  # no such filter
        png(1, 1, 8, 0, 0, b"\x78\x01\xff"),  # no such block
        png(1, 1, 8, 0, 0, b"\x78\x01\x04\xff\xff\xff\xff\xff\xff\xff\xff"),  # too many codes
        png(1, 2, 8, 0, 0, FAR_BACK),
        png(1, 1, 8, 3, 0, zlib.compress(b"\0\7")),  # no palette
    ],
}


def tidied(file: bytes) -> bytes:
    return file if file != b"BM" else saved(noise(2, 2), "bmp")[:-1]


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_refused_has_its_reason(reason: str, checked: Decoder) -> None:
    for file in map(tidied, REFUSED[reason]):
        with pytest.raises(EvaluationError, match=reason):
            decoded(checked, file)
        with pytest.raises(EvaluationError, match=reason):
            of_reference(file)


SMALL = {name: file for name, file in files(noise(4, 5)).items() if len(file) < 800}


def test_pictures_that_end_too_early_are_noticed(checked: Decoder) -> None:
    for name in (
        "bmp-P13",
        "pnm-RGB",
        "png-RGB-6",
        "png-P4-0",
        "tiff-RGB-0",
        "tiff-L-3",
        "jpeg-RGB-2",
    ):
        file = SMALL[name]
        for length in range(0, len(file), 3):
            found = outcome(partial(decoded, checked), file[:length])
            wanted = outcome(of_reference, file[:length])
            assert type(found) is type(wanted), (name, length, found, wanted)


@pytest.mark.parametrize("name", sorted(SMALL)[::5])
def test_damaged_pictures_are_noticed_or_read_alike(name: str, checked: Decoder) -> None:
    generator = np.random.default_rng(len(name))
    for _ in range(30):
        file = bytearray(SMALL[name])
        for place in generator.integers(0, len(file), generator.integers(1, 4)):
            file[place] = generator.integers(0, 256)
        found = outcome(partial(decoded, checked), bytes(file))
        wanted = outcome(of_reference, bytes(file))
        if isinstance(found, str) or isinstance(wanted, str):
            assert type(found) is type(wanted), (bytes(file), found, wanted)
        else:
            np.testing.assert_array_equal(found, wanted, str(bytes(file)))
