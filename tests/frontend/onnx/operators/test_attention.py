"""Attention in ONNX, and rotary embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from relay.transform.functional.to_graph_normal_form import ToGraphNormalForm
from relay.transform.fusion.recognize_attention import RecognizeAttention
from relay.transform.infer_type import InferType
from tests.frontend.onnx.oracle import agree, main_type, model, reference

RANDOM = np.random.default_rng(7)


def floats(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(dtype)


# batch 2, heads 4 of queries and 2 of keys, 3 queries, 5 keys, width 8
Q, K, V = floats(2, 4, 3, 8), floats(2, 2, 5, 8), floats(2, 2, 5, 6)
SAME = (floats(2, 3, 4, 8), floats(2, 3, 6, 8), floats(2, 3, 6, 8))


def attends(*inputs: Any, opset: int = 24, atol: float = 1e-5, **attributes: Any) -> None:
    given = model("Attention", *inputs, opset=opset, **attributes)
    agree(given, *(one for one in inputs if one is not None), oracle=reference, atol=atol)


def test_heads_of_their_own() -> None:
    attends(*SAME, opset=23)
    attends(*SAME, scale=0.3, softcap=2.0)


def test_heads_share_keys() -> None:
    attends(Q, K, V)
    attends(Q, K[:, :1], V[:, :1], is_causal=1)


def test_heads_lie_side_by_side() -> None:
    flat = [one.transpose(0, 2, 1, 3).reshape(2, one.shape[2], -1) for one in (Q, K, V)]
    attends(*flat, q_num_heads=4, kv_num_heads=2)


@pytest.mark.parametrize(
    "shape", [(3, 5), (1, 5), (4, 3, 5), (2, 1, 1, 5), (2, 4, 3, 5), (4, 1, 5)]
)
@pytest.mark.parametrize("causal", [0, 1])
def test_masks_of_all_shapes(shape: tuple[int, ...], causal: int) -> None:
    for mask in (floats(*shape), RANDOM.random(shape) < 0.5):
        # the reference wants the rows of a mask that is causal
        whole = np.broadcast_to(mask, (2, 4, 3, 5))
        given, full = (
            model("Attention", Q, K, V, one, opset=24, is_causal=causal) for one in (mask, whole)
        )
        wanted = reference(full, Q, K, V, whole)
        agree(given, Q, K, V, mask, wanted=wanted)


def test_queries_that_see_nothing_give_zeros() -> None:
    mask = np.ones((3, 5), bool)
    mask[1] = False
    given = model("Attention", Q, K, V, mask, opset=23)
    (found,) = agree(given, Q, K, V, mask, oracle=reference)
    assert not found[:, :, 1].any()
    attends(Q, K, V, np.where(mask, 0, -np.inf).astype("float32"))


def test_a_mask_may_end_early_from_version_24_on() -> None:
    attends(Q, K, V, floats(3, 4))
    attends(Q, K, V, np.ones((2, 1, 3, 2), bool))
    with pytest.raises(FrontendError):
        from_onnx(model("Attention", Q, K, V, floats(3, 4), opset=23))


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_what_is_on_the_way(mode: int) -> None:
    mask = RANDOM.random((3, 5)) < 0.6
    cap: dict[str, Any] = {"softcap": 1.5} if mode else {}
    attends(Q, K, V, mask, outputs=["y", "", "", "s"], qk_matmul_output_mode=mode, **cap)


def test_keys_and_values_of_the_past() -> None:
    past = [floats(2, 2, 4, 8), floats(2, 2, 4, 6)]
    attends(Q, K, V, None, *past, outputs=3, is_causal=1)
    attends(Q, K, V, floats(3, 9), *past, outputs=3)


def test_some_keys_are_not_in_use() -> None:
    lengths = np.array([3, 5])
    none = (None, None)
    attends(Q, K, V, None, *none, lengths)
    attends(Q, K, V, floats(3, 5), *none, lengths, is_causal=1)
    attends(Q, K, V, None, *none, np.array([1, 0]), is_causal=1)


@pytest.mark.parametrize(("left", "right"), [(1, -1), (-1, 0), (1, 1), (0, 2)])
def test_windows_from_version_25_on(left: int, right: int) -> None:
    windows = {"left_window_size": left, "right_window_size": right}
    attends(Q, K, V, opset=25, **windows)
    attends(Q, K, V, opset=25, is_causal=1, **windows)
    attends(Q, K, V, None, None, None, np.array([3, 5]), opset=25, **windows)


def test_softmax_in_another_precision() -> None:
    half = [one.astype("float16") for one in (Q, K, V)]
    attends(*half, softmax_precision=1, atol=5e-3)
    attends(*half, atol=5e-3)
    attends(*(one.astype("float64") for one in (Q, K, V)))


def test_named_dimensions_stay() -> None:
    mask = floats(3, 5)
    shapes = {
        0: ("b", 4, "n", 8),
        1: ("b", 2, "m", 8),
        2: ("b", 2, "m", 6),
        3: ("n", "m"),
    }
    given = model("Attention", Q, K, V, mask, opset=24, shapes=shapes, is_causal=1)
    assert main_type(from_onnx(given)[0]) == "Tensor[(b, 4, n, 6), float32]"
    agree(given, Q, K, V, mask, oracle=reference)


def test_other_names_are_compared_in_a_run() -> None:
    mask = RANDOM.random((2, 1, 3, 5)) < 0.7
    shapes: dict[int, Any] = {
        0: ("b", 4, "n", 8),
        1: ("c", 2, "m", 8),
        2: (None, 2, None, 6),
        3: ("d", 1, None, "k"),
    }
    given = model("Attention", Q, K, V, mask, opset=24, shapes=shapes)
    agree(given, Q, K, V, mask, oracle=reference)


def test_the_past_may_be_of_any_length() -> None:
    past = [floats(2, 2, 4, 8), floats(2, 2, 4, 6)]
    shapes = {4: (2, 2, "p", 8), 5: (2, 2, "p", 6)}
    given = model(
        "Attention", Q, K, V, None, *past, opset=24, shapes=shapes, outputs=3, is_causal=1
    )
    agree(given, Q, K, V, *past, oracle=reference)


@pytest.mark.parametrize("inputs", [SAME, (Q, K, V)], ids=["heads", "shared heads"])
def test_attention_is_recognized(inputs: Any) -> None:
    mod, _ = from_onnx(model("Attention", *inputs, opset=23, is_causal=1))
    for step in (ToGraphNormalForm(), InferType(), RecognizeAttention()):
        mod = step(mod)
    assert 'Pattern="attention"' in str(mod["main"])


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ((Q, K, V[0]), {}, "axes"),
        ((Q[:, :3], K, V), {}, "evenly"),
        ((Q, K, V, None, K), {}, "come together"),
        ((Q, K, V), {"qk_matmul_output_mode": 4}, "mode"),
        ((Q[0], K[0], V[0]), {"q_num_heads": 3, "kv_num_heads": 1}, "evenly"),
        ((Q[0], K[0], V[0]), {}, "missing"),
    ],
)
def test_what_does_not_fit_is_refused(
    inputs: Any, attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(model("Attention", *inputs, opset=24, **attributes))


# --- rotary embeddings

X = floats(2, 4, 3, 8)
COSINES, SINES = floats(50, 4), floats(50, 4)
PLACES = np.array([[0, 1, 2], [7, 8, 9]])


@pytest.mark.parametrize("interleaved", [0, 1])
def test_pairs_are_turned(interleaved: int) -> None:
    given = model("RotaryEmbedding", X, COSINES, SINES, PLACES, opset=23, interleaved=interleaved)
    agree(given, X, COSINES, SINES, PLACES, oracle=reference)
    angles = [floats(2, 3, 2), floats(2, 3, 2)]
    given = model(
        "RotaryEmbedding", X, *angles, opset=23, interleaved=interleaved, rotary_embedding_dim=4
    )
    agree(given, X, *angles, oracle=reference)


def test_heads_side_by_side_are_turned() -> None:
    flat = floats(2, 3, 32)
    given = model("RotaryEmbedding", flat, COSINES, SINES, PLACES, opset=23, num_heads=4)
    agree(given, flat, COSINES, SINES, PLACES, oracle=reference)


def test_the_length_of_sequences_may_have_a_name() -> None:
    shapes = {0: ("b", 4, "n", 8), 3: ("b", "n")}
    given = model("RotaryEmbedding", X, COSINES, SINES, PLACES, opset=23, shapes=shapes)
    assert main_type(from_onnx(given)[0]) == "Tensor[(b, 4, n, 8), float32]"
    agree(given, X, COSINES, SINES, PLACES, oracle=reference)


def test_angles_that_do_not_fit_are_refused() -> None:
    with pytest.raises(FrontendError, match="angles"):
        from_onnx(model("RotaryEmbedding", X, floats(50, 3), SINES, PLACES, opset=23))
    with pytest.raises(FrontendError, match="even"):
        from_onnx(
            model("RotaryEmbedding", X, COSINES, SINES, PLACES, opset=23, rotary_embedding_dim=3)
        )
