"""Attention of com.microsoft, with ONNX Runtime as oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import agree, model

RANDOM = np.random.default_rng(11)
MICROSOFT = "com.microsoft"


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype("float32")


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, "int32")


def agrees(operator: str, *inputs: Any, outputs: Any = 1, shapes: Any = None, **more: Any) -> None:
    given = model(
        operator, *inputs, opset=17, domain=MICROSOFT, outputs=outputs, shapes=shapes, **more
    )
    agree(given, *(one for one in inputs if one is not None), rtol=1e-4, atol=1e-5)


# batch 2, 3 queries, 4 heads of 8
X, W, B = floats(2, 3, 32), floats(32, 96) / 6, floats(96)


# --- Attention


def test_weights_side_by_side() -> None:
    agrees("Attention", X, W, B, num_heads=4)
    agrees("Attention", X, W, B, num_heads=4, unidirectional=1, scale=0.2)


def test_values_of_another_width() -> None:
    weights, bias = floats(32, 80), floats(80)
    agrees("Attention", X, weights, bias, num_heads=4, qkv_hidden_sizes=[32, 32, 16])


@pytest.mark.parametrize(
    "mask",
    [
        ints(2, 3),
        ints(2, 3, 1, 0),
        np.array([[1, 1, 0], [1, 0, 1]], "int32"),
        (RANDOM.random((2, 3, 3)) < 0.6).astype("int32"),
    ],
    ids=["lengths", "ends and beginnings", "keys", "queries and keys"],
)
def test_masks_of_integers(mask: np.ndarray) -> None:
    agrees("Attention", X, W, B, mask, num_heads=4)


def test_what_was_before() -> None:
    past = floats(2, 2, 4, 5, 8)
    agrees("Attention", X, W, B, None, past, num_heads=4, unidirectional=1, outputs=2)
    mask = np.ones((2, 8), "int32")
    agrees("Attention", X, W, B, mask, past, num_heads=4, outputs=2)
    agrees("Attention", X, W, B, None, None, floats(2, 4, 3, 3), num_heads=4)


def test_batches_and_lengths_with_names() -> None:
    shapes = {0: ("b", "n", 32), 3: ("b", "n")}
    agrees("Attention", X, W, B, np.ones((2, 3), "int32"), num_heads=4, shapes=shapes)


# --- MultiHeadAttention

Q, K, V = floats(2, 3, 32), floats(2, 5, 32), floats(2, 5, 16)


def test_queries_keys_and_values() -> None:
    agrees("MultiHeadAttention", Q, K, V, num_heads=4)
    agrees("MultiHeadAttention", Q, K, V, floats(80), num_heads=4, scale=0.4)


def test_masks_of_keys() -> None:
    for mask in (ints(3, 5), np.array([[1, 1, 0, 1, 1], [0, 1, 1, 1, 0]], "int32")):
        agrees("MultiHeadAttention", Q, K, V, None, mask, num_heads=4)
    agrees("MultiHeadAttention", Q, K, V, None, None, floats(1, 4, 3, 5), num_heads=4)


def test_keys_that_are_heads_already() -> None:
    keys, values = floats(2, 4, 5, 8), floats(2, 4, 5, 8)
    agrees("MultiHeadAttention", Q, keys, values, num_heads=4)


def test_keys_behind_those_of_before() -> None:
    past = [floats(2, 4, 6, 8), floats(2, 4, 6, 8)]
    new = floats(2, 3, 32)
    inputs = (Q, new, new, None, None, None, *past)
    agrees("MultiHeadAttention", *inputs, num_heads=4, unidirectional=1, outputs=3)


# --- GroupQueryAttention

NEW_K, NEW_V = floats(2, 3, 16), floats(2, 3, 16)


def grouped(inputs: Any, outputs: int = 3, **more: Any) -> None:
    agrees("GroupQueryAttention", *inputs, num_heads=4, kv_num_heads=2, outputs=outputs, **more)


def test_a_prompt() -> None:
    past = [floats(2, 2, 0, 8), floats(2, 2, 0, 8)]
    grouped((Q, NEW_K, NEW_V, *past, ints(2, 2), np.array(3, "int32")))


def test_a_token_behind_a_cache() -> None:
    past = [floats(2, 2, 6, 8), floats(2, 2, 6, 8)]
    one = [array[:, :1] for array in (Q, NEW_K, NEW_V)]
    grouped((*one, *past, ints(6, 6), np.array(7, "int32")), scale=0.3)


def test_caches_of_different_lengths() -> None:
    past = [floats(2, 2, 8, 8), floats(2, 2, 8, 8)]
    one = [array[:, :1] for array in (Q, NEW_K, NEW_V)]
    inputs = (*one, *past, ints(3, 6), np.array(7, "int32"))
    grouped(inputs)


def test_turned_on_the_way() -> None:
    past = [floats(2, 2, 6, 16), floats(2, 2, 6, 16)]
    one = [floats(2, 1, 64), floats(2, 1, 32), floats(2, 1, 32)]
    angles = RANDOM.random((16, 8)).astype("float32") * 6
    tables = [np.cos(angles), np.sin(angles)]
    inputs = (*one, *past, ints(6, 6), np.array(7, "int32"), *tables)
    for interleaved in (0, 1):
        grouped(inputs, do_rotary=1, rotary_interleaved=interleaved)


def test_caches_of_any_length() -> None:
    past = [floats(2, 2, 6, 8), floats(2, 2, 6, 8)]
    one = [array[:, :1] for array in (Q, NEW_K, NEW_V)]
    shapes: dict[int, Any] = {0: ("b", "n", 32), 1: ("b", "n", 16), 2: ("b", "n", 16)}
    shapes |= {3: ("b", 2, "p", 8), 4: ("b", 2, "p", 8), 5: ("b",)}
    grouped((*one, *past, ints(6, 6), np.array(7, "int32")), shapes=shapes)


def test_all_in_one_tensor_and_a_window() -> None:
    packed = np.concatenate([Q, NEW_K, NEW_V], axis=2)
    past = [floats(2, 2, 0, 8), floats(2, 2, 0, 8)]
    inputs = (packed, None, None, *past, ints(2, 2), np.array(3, "int32"))
    grouped(inputs, local_window_size=2, softcap=3.0)


def test_a_key_without_a_value() -> None:
    past = [floats(2, 2, 0, 8), floats(2, 2, 0, 8)]
    inputs = (Q, NEW_K, NEW_V, *past, ints(2, 2), np.array(3, "int32"))
    grouped(inputs, smooth_softmax=1)


# --- RotaryEmbedding


@pytest.mark.parametrize("interleaved", [0, 1])
def test_heads_are_turned(interleaved: int) -> None:
    angles = RANDOM.random((16, 4)).astype("float32") * 6
    tables = [np.cos(angles), np.sin(angles)]
    for data in (floats(2, 3, 32), floats(2, 4, 3, 8)):
        for numbers in (np.array([2]), np.array([[0, 1, 2], [5, 6, 7]])):
            agrees("RotaryEmbedding", data, numbers, *tables, interleaved=interleaved)


def test_buffers_are_not_shared() -> None:
    given = model(
        "Attention", X, W, B, opset=17, domain=MICROSOFT, num_heads=4, past_present_share_buffer=1
    )
    with pytest.raises(FrontendError, match="shared"):
        from_onnx(given)
