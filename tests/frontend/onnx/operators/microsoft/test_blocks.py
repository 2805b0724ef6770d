"""Weights of few bits in blocks, beside ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, model, ours

DOMAIN = "com.microsoft"
RANDOM = np.random.default_rng(7)


def integers(*shape: int) -> np.ndarray:
    return RANDOM.integers(0, 256, shape).astype("uint8")


def near(given: onnx.ModelProto, data: np.ndarray) -> None:
    agree(given, data, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("zero_points", [False, True])
@pytest.mark.parametrize(("depth", "block"), [(32, 16), (40, 32), (64, 32)])
def test_weights_of_four_bits_lie_in_blocks(zero_points: bool, depth: int, block: int) -> None:
    outputs, count = 3, -(-depth // block)
    data = RANDOM.normal(size=(2, depth)).astype("float32")
    packed = integers(outputs, count, block // 2)
    scales = Fixed(RANDOM.uniform(0.1, 1, outputs * count).astype("float32"))
    more = (Fixed(integers(outputs * ((count + 1) // 2))),) if zero_points else ()
    given = model(
        "MatMulNBits",
        data,
        Fixed(packed),
        scales,
        *more,
        opset=13,
        domain=DOMAIN,
        K=depth,
        N=outputs,
        bits=4,
        block_size=block,
    )
    near(given, data)


def test_elements_may_belong_to_any_block() -> None:
    depth, block, outputs = 40, 16, 3
    data = RANDOM.normal(size=(2, depth)).astype("float32")
    packed = integers(outputs, 3, block // 2)
    scales = RANDOM.uniform(0.1, 1, (outputs, 3)).astype("float32")
    groups = RANDOM.integers(0, 3, depth).astype("int32")
    given = model(
        "MatMulNBits",
        data,
        Fixed(packed),
        Fixed(scales.reshape(-1)),
        None,
        Fixed(groups),
        opset=13,
        domain=DOMAIN,
        K=depth,
        N=outputs,
        bits=4,
        block_size=block,
    )
    halves = np.stack([packed & 15, packed >> 4], -1).reshape(outputs, -1)[:, :depth]
    weight = (halves.astype("float32") - 8) * scales[:, groups]
    (found,) = ours(given, data)
    np.testing.assert_allclose(found, data @ weight.T, 1e-4, 1e-4)


@pytest.mark.parametrize("zero_points", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
def test_rows_of_a_table_are_taken_before_they_become_numbers(bits: int, zero_points: bool) -> None:
    rows, width, block = 6, 40, 16
    count, per_byte = -(-width // block), 8 // bits
    table = integers(rows, width // per_byte)
    scales = Fixed(RANDOM.uniform(0.1, 1, (rows, count)).astype("float32"))
    more = (Fixed(integers(rows, -(-count // per_byte))),) if zero_points else ()
    indices = np.array([[0, 5], [-1, 2]], "int64")
    given = model(
        "GatherBlockQuantized",
        Fixed(table),
        indices,
        scales,
        *more,
        opset=13,
        domain=DOMAIN,
        bits=bits,
        block_size=block,
    )
    near(given, indices)


def test_other_blocks_are_refused() -> None:
    given = model(
        "MatMulNBits",
        np.zeros((2, 32), "float32"),
        Fixed(integers(3, 1, 16)),
        Fixed(np.ones(3, "float32")),
        opset=13,
        domain=DOMAIN,
        K=32,
        N=3,
        bits=3,
        block_size=32,
    )
    with pytest.raises(FrontendError, match="no such blocks"):
        from_onnx(given)
    rows = model(
        "GatherBlockQuantized",
        Fixed(integers(6, 16)),
        np.zeros(2, "int64"),
        Fixed(np.ones((1, 16), "float32")),
        opset=13,
        domain=DOMAIN,
        bits=8,
        quantize_axis=0,
        block_size=16,
    )
    with pytest.raises(FrontendError, match="blocks of its own"):
        from_onnx(rows)
