"""Windows over single channels of bytes: exact at every level, and in dot products with VNNI."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay.ir.expr import Call
from relay.lower.kernel import Lowered
from relay.lower.lower import lower_static
from relay.lower.lower_dynamic import lower_dynamic
from relay.op.opdef import get
from relay.target.llvm.compile import assembly
from relay.target.target import Target
from tests.support.dynamic_kernels import DynamicFunction
from tests.support.kernels import Batch
from tests.target.llvm.kernels import LEVEL_NAMES, LEVELS
from tests.target.llvm.schedules.outline import function, text
from tests.target.llvm.schedules.test_integers import KINDS, MACHINES, extremes, wrapped

VNNI = Target("llvm -mcpu=x86-64-v4 -mattr=+avx512vnni")
PAIRS = list(product(KINDS, KINDS))

# image, window, and attributes
WINDOWS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((1, 9, 11, 32), (3, 3), {"padding": "[1, 1, 1, 1]"}),
    ((1, 30, 17, 48), (3, 3), {"padding": "[0, 1, 1, 2]", "strides": "[2, 2]"}),
    ((2, 6, 8, 21), (3, 3), {"padding": "[1, 1, 1, 1]"}),
    ((1, 7, 7, 200), (3, 3), {"padding": "[1, 1, 1, 1]"}),
    ((1, 12, 10, 16), (5, 5), {"padding": "[2, 2, 2, 2]", "strides": "[1, 2]"}),
    ((1, 9, 10, 3), (3, 3), {}),
    ((1, 16, 16, 64), (3, 3), {"dilation": "[2, 3]"}),
    ((1, 4, 29, 80), (1, 7), {"padding": "[0, 3, 0, 3]"}),
    ((1, 29, 4, 16), (4, 1), {}),
    ((1, 8, 8, 192), (2, 2), {"strides": "[2, 2]"}),
    ((1, 1, 1, 33), (3, 3), {"padding": "[1, 1, 1, 1]"}),
]


def windows(
    data: tuple[int, ...], size: tuple[int, ...], kinds: tuple[str, str], **known: str
) -> str:
    *_, channels = data
    written = "".join(f", {name}={value}" for name, value in known.items())
    return f"""(%x: Tensor[{data}, {kinds[0]}], %w: Tensor[{(*size, channels, 1)}, {kinds[1]}]) {{
      nn.conv2d(%x, %w, groups={channels}, data_layout="NHWC", kernel_layout="HWOI",
        out_dtype="int32"{written})
    }}"""


def summed(call: Call, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The sums by the reference, in 64 bits."""
    reference = get("nn.conv2d").reference
    assert reference is not None and call.attrs is not None
    attributes = {**dict(call.attrs.items()), "out_dtype": "int64"}
    found = reference(x.astype(np.int64), w.astype(np.int64), **attributes)
    return wrapped(np.asarray(found))


@pytest.mark.rotate(3)
@pytest.mark.parametrize("target", MACHINES.values(), ids=MACHINES)
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_sums_are_exact(kinds: tuple[str, str], target: Target) -> None:
    """Windows, strides, and channels that fill no vector; weights that change and that do not."""
    random = np.random.default_rng(1)
    cases = []
    for i, (data, size, known) in enumerate(WINDOWS):
        x = extremes(random, data, kinds[0])
        w = extremes(random, (*size, data[-1], 1), kinds[1])
        made = function(windows(data, size, kinds, **known))
        cases.append((lower_static(made, [False, i % 3 > 0], target), made.body, x, w))
    batch = Batch([made for made, *_ in cases], target)
    for i, (_, call, x, w) in enumerate(cases):
        assert isinstance(call, Call)
        for threads in (1, 2):
            (found,) = batch.run(i, [x, w], threads=threads).results
            np.testing.assert_array_equal(found, summed(call, x, w))


@settings(max_examples=10, deadline=None)
@given(
    st.integers(1, 20),
    st.integers(1, 20),
    st.integers(1, 70),
    st.integers(1, 2),
    st.integers(0, 1),
    st.sampled_from(PAIRS),
    st.sampled_from(list(MACHINES.values())),
    st.integers(0, 1000),
)
def test_any_size(
    height: int,
    width: int,
    channels: int,
    stride: int,
    around: int,
    kinds: tuple[str, str],
    target: Target,
    seed: int,
) -> None:
    height, width = height + 2 - around, width + 2 - around
    random = np.random.default_rng(seed)
    known = {"strides": str([stride] * 2), "padding": str([around] * 4)}
    made = function(windows((1, height, width, channels), (3, 3), kinds, **known))
    x = extremes(random, (1, height, width, channels), kinds[0])
    w = extremes(random, (3, 3, channels, 1), kinds[1])
    batch = Batch([lower_static(made, [False, seed % 2 == 0], target)], target)
    (found,) = batch.run(0, [x, w], threads=2).results
    assert isinstance(made.body, Call)
    np.testing.assert_array_equal(found, summed(made.body, x, w))


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_images_of_a_size_that_only_a_run_knows(target: Target) -> None:
    source = """[h](%x: Tensor[(1, h, 9, 24), uint8], %w: Tensor[(3, 3, 24, 1), int8]) {
      nn.conv2d(%x, %w, groups=24, data_layout="NHWC", kernel_layout="HWOI", out_dtype="int32",
        padding=[1, 1, 1, 1])
    }"""
    made = function(source)
    dynamic = DynamicFunction(lower_dynamic(made, [False, True], target), target)
    random = np.random.default_rng(2)
    for height in (1, 2, 17, 40):
        x = extremes(random, (1, height, 9, 24), "uint8")
        w = extremes(random, (3, 3, 24, 1), "int8")
        assert isinstance(made.body, Call)
        for threads in (1, 2):
            (found,) = dynamic.run([x, w], threads=threads)
            np.testing.assert_array_equal(found, summed(made.body, x, w))


# --- what becomes of them


def lowered(source: str, target: Target) -> Lowered:
    return lower_static(function(source), [False, True], target)


AROUND = {"padding": "[1, 1, 1, 1]"}


def test_a_word_of_four_lines_is_made_in_registers() -> None:
    source = windows((1, 28, 28, 64), (3, 3), ("uint8", "int8"), **AROUND)
    kernel = lowered(source, VNNI).steps[-1].kernel
    code = assembly([kernel.ir], VNNI)
    assert re.search(r"vpdpbusd\s+%zmm\d+, %zmm\d+, %zmm", code)
    assert not re.search(r"vpmulld|vpmaddwd|vpgather", code)


def test_lines_are_padded_a_few_at_a_time() -> None:
    source = windows((1, 56, 56, 64), (3, 3), ("uint8", "int8"), **AROUND)
    taps, main = text(source, 1, target=VNNI)
    assert "conv.acc.taps" in taps
    assert main.startswith("for 4\n  workspace pad[1, 16, 58, 64]")


def test_others_are_left_alone() -> None:
    """Windows of two numbers, sums that stay short, and machines without the instruction."""
    for source, target in (
        (windows((1, 9, 9, 64), (2, 1), ("uint8", "int8")), VNNI),
        (windows((1, 9, 9, 64), (3, 3), ("uint8", "int8")), Target.x86("avx2")),
        (windows((1, 9, 9, 64), (3, 3), ("int8", "int8")).replace('"int32"', '"int16"'), VNNI),
    ):
        kernel = lowered(source, target).steps[-1].kernel
        assert "vpdpbusd" not in kernel.ir
