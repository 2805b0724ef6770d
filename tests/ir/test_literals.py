"""Scalars as text: the same bits come back, and what has no exact text has none."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.ir.literals import read_number, read_scalar, scalar_text


def back(text: str) -> np.ndarray:
    return read_scalar(text.lstrip("-"), text.startswith("-"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int32(3), "3"),
        (np.int32(-3), "-3"),
        (np.int64(3), "3i64"),
        (np.uint8(255), "255u8"),
        (np.float32(1), "1f"),
        (np.float32(1e-5), "1e-05f"),
        (np.float32(0.1), "0.1f"),
        (np.float32("-0"), "-0f"),
        (np.float32("inf"), "inff"),
        (np.float32("-inf"), "-inff"),
        (np.float32("nan"), "nanf"),
        (np.float16(0.1), "0.1f16"),
        (np.float64(0.1), "0.1f64"),
        (np.bool_(True), "True"),
        (ml_dtypes.bfloat16(1.5), "1.5bf16"),
        (ml_dtypes.int4(-8), "-8i4"),
        (ml_dtypes.uint2(3), "3u2"),
    ],
)
def test_scalars_are_short(value: np.generic, text: str) -> None:
    assert scalar_text(np.array(value)) == text


@pytest.mark.parametrize("value", [ml_dtypes.float8_e4m3fn(1.5), ml_dtypes.float8_e5m2(1.5)])
def test_what_has_no_suffix_has_no_literal(value: np.generic) -> None:
    assert scalar_text(np.array(value)) is None


def test_a_nan_with_a_payload_has_no_literal() -> None:
    payload = np.array(0x7FC00001, np.uint32).view(np.float32)
    assert scalar_text(payload) is None


@given(st.integers(0, 2**16 - 1))
def test_narrow_floats_read_back_bit_by_bit(bits: int) -> None:
    for dtype in (np.float16, ml_dtypes.bfloat16):
        value = np.array(bits, np.uint16).view(dtype)
        text = scalar_text(value)
        assert text is None or back(text).tobytes() == value.tobytes()
        assert text is not None or np.isnan(value)


@given(st.integers(0, 2**32 - 1))
def test_single_floats_read_back_bit_by_bit(bits: int) -> None:
    value = np.array(bits, np.uint32).view(np.float32)
    text = scalar_text(value)
    assert text is None or back(text).tobytes() == value.tobytes()
    assert text is not None or np.isnan(value)


@given(st.floats())
def test_doubles_read_back_bit_by_bit(number: float) -> None:
    value = np.array(number)
    text = scalar_text(value)
    assert text is None or back(text).tobytes() == value.tobytes()


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_read_back(number: int) -> None:
    assert back(scalar_text(np.array(number, np.int64)) or "") == number


def test_a_number_in_an_attribute_is_a_python_number() -> None:
    found = [read_number(t) for t in ("3", "3i64", "3f", "1e-05f", "1.5f64", "inff")]
    assert found == [3, 3, 3.0, 1e-05, 1.5, float("inf")]
    assert [type(f) for f in found] == [int, int, float, float, float, float]
    assert read_number("1", negative=True) == -1


def test_a_suffix_without_a_width_means_32_bits() -> None:
    for text, dtype in {"42i": "int32", "42u": "uint32", "42f": "float32"}.items():
        found = read_scalar(text)
        assert found.dtype == dtype and found.item() == 42
