"""Sums of products of short integers: exact at every level, in the instructions made for them."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay.ir.expr import Call
from relay.lower.kernel import Lowered, Options
from relay.lower.lower import lower_static
from relay.lower.lower_dynamic import lower_dynamic
from relay.op.opdef import get
from relay.target.llvm.compile import assembly
from relay.target.llvm.schedules.integers import instructions
from relay.target.target import Target
from tests.support.dynamic_kernels import DynamicFunction
from tests.support.kernels import Batch
from tests.target.llvm.kernels import LEVEL_NAMES, LEVELS, WIDEST
from tests.target.llvm.schedules.outline import function, text
from tests.target.llvm.schedules.test_contraction import innermost_loops

# what this machine can run, and VNNI in vectors of 256 bits
MACHINES = dict(zip(LEVEL_NAMES, LEVELS, strict=True))
_HALF = Target("llvm -mcpu=x86-64-v3 -mattr=+avx512f,+avx512vl,+avx512vnni")
if Target.host().supports(_HALF):
    MACHINES["256 bits, VNNI"] = _HALF

KINDS = ("uint8", "int8")
PAIRS = list(product(KINDS, KINDS))
PAIR_NAMES = ["-".join(kinds) for kinds in PAIRS]


def extremes(random: np.random.Generator, shape: tuple[int, ...], kind: str) -> np.ndarray:
    """Integers, half of them at the ends of their type, where sums of products are largest."""
    known = np.iinfo(kind)
    ends = random.choice(np.array([known.min, known.max], kind), shape)
    every = random.integers(known.min, known.max, shape, kind, endpoint=True)
    return np.where(random.random(shape) < 0.5, ends, every)


def dense(m: int, k: int, n: int, left: str = "uint8", right: str = "int8") -> str:
    return f"""(%x: Tensor[({m}, {k}), {left}], %w: Tensor[({n}, {k}), {right}]) {{
      nn.dense(%x, %w, out_dtype="int32")
    }}"""


def conv2d(data: str, weight: str, kinds: tuple[str, str], **attributes: Any) -> str:
    written = "".join(f", {name}={value}" for name, value in attributes.items())
    return f"""(%x: Tensor[({data}), {kinds[0]}], %w: Tensor[({weight}), {kinds[1]}]) {{
      nn.conv2d(%x, %w, out_dtype="int32"{written})
    }}"""


def compiled(source: str, target: Target, constant: bool = True, checked: bool = False) -> Lowered:
    return lower_static(function(source), [False, constant], target, Options(checked=checked))


def wrapped(sums: np.ndarray) -> np.ndarray:
    """Whole numbers of 64 bits in 32."""
    return sums.astype(np.int64).astype(np.int32)


# --- sums are those of whole numbers


@pytest.mark.parametrize("target", MACHINES.values(), ids=MACHINES)
def test_products_of_matrices_are_exact(target: Target) -> None:
    """Sizes that fill no word, no vector and no tile; every pair of types; weights that never
    change and weights that do. Of all pairs with all sizes every machine gets a third."""
    random = np.random.default_rng(1)
    part = list(MACHINES.values()).index(target) % 3
    sizes = [(1, 37, 70), (5, 13, 37), (7, 130, 200), (16, 4, 3), (33, 64, 64), (4, 5, 130)]
    cases = []
    for i, (kinds, size) in enumerate(product(PAIRS, sizes)):
        if (i + i // len(sizes)) % 3 != part:
            continue
        m, k, n = size
        made = compiled(dense(m, k, n, *kinds), target, constant=i % 2 == 0)
        x, w = extremes(random, (m, k), kinds[0]), extremes(random, (n, k), kinds[1])
        cases.append((made, x, w))
    batch = Batch([made for made, _, _ in cases], target)
    for i, (_, x, w) in enumerate(cases):
        for threads in (1, 2):
            (found,) = batch.run(i, [x, w], threads=threads).results
            np.testing.assert_array_equal(found, x.astype(np.int64) @ w.astype(np.int64).T)


@pytest.mark.rotate(3)
@pytest.mark.parametrize("target", MACHINES.values(), ids=MACHINES)
@pytest.mark.parametrize("kinds", PAIRS, ids=PAIR_NAMES)
def test_sums_of_the_largest_products_do_not_saturate(
    kinds: tuple[str, str], target: Target
) -> None:
    ends = [np.iinfo(kind) for kind in kinds]
    batch = Batch([compiled(dense(4, 515, 66, *kinds), target)], target)
    for first, second in product(("min", "max"), ("min", "max")):
        x = np.full((4, 515), getattr(ends[0], first), kinds[0])
        w = np.full((66, 515), getattr(ends[1], second), kinds[1])
        (found,) = batch.run(0, [x, w]).results
        assert (found == 515 * int(x[0, 0]) * int(w[0, 0])).all()


def test_sums_beyond_32_bits_wrap() -> None:
    """As they do wherever integers of 32 bits are added."""
    x, w = np.full((2, 70_000), -128, np.int8), np.full((4, 70_000), -128, np.int8)
    for target in LEVELS:
        batch = Batch([compiled(dense(2, 70_000, 4, "int8", "int8"), target)], target)
        (found,) = batch.run(0, [x, w]).results
        assert (found == wrapped(x.astype(np.int64) @ w.astype(np.int64).T)).all()


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_integers_of_16_bits(target: Target) -> None:
    random = np.random.default_rng(2)
    for kinds in (("int16", "int16"), ("int16", "uint8"), ("int8", "int16")):
        x, w = extremes(random, (9, 31), kinds[0]), extremes(random, (40, 31), kinds[1])
        batch = Batch([compiled(dense(9, 31, 40, *kinds), target)], target)
        (found,) = batch.run(0, [x, w]).results
        assert (found == wrapped(x.astype(np.int64) @ w.astype(np.int64).T)).all()


CONVOLUTIONS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("NCHW", "1, 5, 9, 8", "7, 5, 3, 3", {"padding": "[1, 1, 1, 1]"}),
    ("NCHW", "2, 8, 6, 7", "20, 8, 1, 1", {}),
    ("NCHW", "1, 3, 12, 12", "16, 3, 5, 5", {"strides": "[2, 2]", "padding": "[2, 1, 2, 1]"}),
    ("NCHW", "1, 16, 7, 7", "24, 8, 3, 3", {"groups": 2, "padding": "[1, 1, 1, 1]"}),
    ("NCHW", "1, 6, 7, 7", "8, 3, 3, 3", {"groups": 2}),
    ("NCHW", "1, 6, 7, 7", "6, 1, 3, 3", {"groups": 6, "padding": "[1, 1, 1, 1]"}),
    ("NHWC", "1, 8, 9, 12", "3, 3, 12, 20", {"padding": "[1, 1, 1, 1]"}),
    ("NHWC", "1, 8, 9, 5", "2, 3, 5, 9", {"dilation": "[2, 1]"}),
]


@pytest.mark.rotate(3)
@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
@pytest.mark.parametrize("kinds", PAIRS, ids=PAIR_NAMES)
def test_convolutions_are_exact(kinds: tuple[str, str], target: Target) -> None:
    """Layouts and windows, against the reference in 64 bits."""
    random = np.random.default_rng(3)
    part = PAIRS.index(kinds) + LEVELS.index(target)
    cases = []
    for i, (layout, data, weight, known) in enumerate(CONVOLUTIONS):
        if (i + part) % 3 == 0:
            continue
        layouts = {"data_layout": f'"{layout}"'}
        layouts["kernel_layout"] = '"HWIO"' if layout == "NHWC" else '"OIHW"'
        shapes = [tuple(map(int, one.split(","))) for one in (data, weight)]
        x, w = (extremes(random, shape, kind) for shape, kind in zip(shapes, kinds, strict=True))
        made = function(conv2d(data, weight, kinds, **known, **layouts))
        cases.append((lower_static(made, [False, i % 3 > 0], target), made.body, x, w))
    batch = Batch([made for made, *_ in cases], target)
    reference = get("nn.conv2d").reference
    assert reference is not None
    for i, (_, call, x, w) in enumerate(cases):
        assert isinstance(call, Call) and call.attrs is not None
        attributes = {**dict(call.attrs.items()), "out_dtype": "int64"}
        expected = reference(x.astype(np.int64), w.astype(np.int64), **attributes)
        for threads in (1, 2):
            (found,) = batch.run(i, [x, w], threads=threads).results
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_batches_of_products(target: Target) -> None:
    random = np.random.default_rng(4)
    for kinds, turned in zip(PAIRS, ("True", "False", "True", "False"), strict=True):
        right = (3, 21, 10) if turned == "True" else (3, 10, 21)
        source = f"""(%x: Tensor[(3, 6, 10), {kinds[0]}], %y: Tensor[{right}, {kinds[1]}]) {{
          nn.batch_matmul(%x, %y, out_dtype="int32", transpose_b={turned})
        }}"""
        x, y = extremes(random, (3, 6, 10), kinds[0]), extremes(random, right, kinds[1])
        (found,) = Batch([compiled(source, target, False)], target).run(0, [x, y]).results
        wide = y.astype(np.int64)
        wide = wide.transpose(0, 2, 1) if turned == "True" else wide
        np.testing.assert_array_equal(found, x.astype(np.int64) @ wide)


@pytest.mark.rotate(3)
@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
@pytest.mark.parametrize("kinds", [("uint8", "int8"), ("int8", "int8")], ids="-".join)
def test_sizes_that_only_a_run_knows(kinds: tuple[str, str], target: Target) -> None:
    """Rows, columns and the length of the sum; words end where the sum does."""
    random = np.random.default_rng(6)
    x, w = (f"%{name}: Tensor[{{}}, {kind}]" for name, kind in zip("xw", kinds, strict=True))
    for known, (m, k, n) in product(([], [1]), [("m", "24", "40"), ("9", "k", "40")]):
        names = ", ".join(name for name in (m, k, n) if name.isalpha())
        given = f"{x.format(f'({m}, {k})')}, {w.format(f'({n}, {k})')}"
        source = f'[{names}]({given}) {{ nn.dense(%x, %w, out_dtype="int32") }}'
        dynamic = lower_dynamic(function(source), [i in known for i in range(2)], target)
        made = DynamicFunction(dynamic, target)
        for size in (1, 3, 8, 33):
            rows, depth, columns = (int(name) if name.isdigit() else size for name in (m, k, n))
            a = extremes(random, (rows, depth), kinds[0])
            b = extremes(random, (columns, depth), kinds[1])
            expected = a.astype(np.int64) @ b.astype(np.int64).T
            for threads in (1, 2):
                np.testing.assert_array_equal(made.run([a, b], threads=threads)[0], expected)


@settings(max_examples=12, deadline=None)
@given(
    st.integers(1, 20),
    st.integers(1, 70),
    st.integers(1, 90),
    st.sampled_from(PAIRS),
    st.sampled_from(LEVELS),
    st.booleans(),
    st.integers(0, 1000),
)
def test_any_size(
    m: int, k: int, n: int, kinds: tuple[str, str], target: Target, constant: bool, seed: int
) -> None:
    random = np.random.default_rng(seed)
    x, w = extremes(random, (m, k), kinds[0]), extremes(random, (n, k), kinds[1])
    batch = Batch([compiled(dense(m, k, n, *kinds), target, constant)], target)
    (found,) = batch.run(0, [x, w], threads=2).results
    np.testing.assert_array_equal(found, x.astype(np.int64) @ w.astype(np.int64).T)


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_every_access_is_checked_when_asked_for(target: Target) -> None:
    random = np.random.default_rng(5)
    x, w = extremes(random, (5, 13), "int8"), extremes(random, (37, 13), "int8")
    made = compiled(dense(5, 13, 37, "int8", "int8"), target, checked=True)
    assert made.steps[-1].kernel.checks
    (found,) = Batch([made], target).run(0, [x, w]).results
    np.testing.assert_array_equal(found, x.astype(np.int64) @ w.astype(np.int64).T)


# --- what becomes of them


def products(source: str, target: Target, constant: bool = True) -> list[list[str]]:
    """The instructions of every loop in which products are summed."""
    code = assembly([compiled(source, target, constant).steps[-1].kernel.ir], target)
    loops = innermost_loops(code)
    return [one for one in loops if any(re.search("vpdp|pmadd", line) for line in one)]


BIG = {"dense": dense(96, 256, 256), "one row": dense(1, 256, 256)}
CODE = {
    "vpdpbusd.*zmm": Target("llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server"),
    "vpdpbusd.*ymm": Target("llvm -mtriple=x86_64-linux-gnu -mcpu=alderlake"),
    "vpmaddwd.*zmm": Target("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512"),
    "vpmaddwd.*ymm": Target("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3"),
    "pmaddwd.*xmm": Target("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64"),
}


@pytest.mark.parametrize("wanted", CODE)
@pytest.mark.parametrize("source", BIG.values(), ids=BIG)
def test_every_machine_uses_what_it_has(source: str, wanted: str) -> None:
    found = products(source, CODE[wanted])
    assert found
    for loop in found:
        assert any(re.search(wanted, line) for line in loop)
        # the instruction whose sums of pairs saturate, and multiplications one by one
        assert not any("pmaddubsw" in line or "pmulld" in line for line in loop)
        assert not any(re.search(r"%[xyz]mm", line) and "(%rsp)" in line for line in loop)


def test_other_machines_have_others_or_none() -> None:
    plain, target = Target.aarch64("cortex-a72"), Target.aarch64("neoverse-n1")
    assert instructions(plain) == ()
    assert [one.name for one in instructions(target)] == ["dot4s", "dot4u"]
    for machine, wanted in ((plain, False), (target, True)):
        text = assembly([compiled(BIG["dense"], machine).steps[-1].kernel.ir], machine)
        assert ("sdot" in text or "udot" in text) == wanted
        assert "pmadd" not in text


VNNI = Target("llvm -mcpu=x86-64-v4 -mattr=+avx512vnni")


def test_bytes_are_read_where_they_lie() -> None:
    """Unsigned data by signed weights: nothing is copied, and nothing is corrected."""
    packed, main = text(dense(64, 256, 512), 1, target=VNNI)
    assert packed == "for 8\n  for 64\n    for 4\n      vector 64: dense.acc.panel"
    assert "workspace" not in main


def test_what_turning_bits_adds_is_known_beforehand() -> None:
    sums, packed, main = text(dense(64, 256, 512, "int8", "int8"), 1, target=VNNI)
    assert "dense.acc.sums" in sums
    assert "dense.acc.panel" in packed
    assert main.startswith("workspace dense.acc.words[64, 64, 4]")
    assert "sums" not in main


def test_where_nothing_is_known_the_factor_that_is_packed_is_turned() -> None:
    (main,) = text(dense(64, 256, 512, "int8", "int8"), target=VNNI)
    assert "words" not in main
    assert "dense.acc.sums[64]" in main  # of the rows, which are fewer than the columns


def test_an_image_is_copied_once() -> None:
    """With room around it, in words of channels, and converted, in one pass."""
    attributes = {"padding": "[1, 1, 1, 1]"}
    source = conv2d("1, 32, 28, 28", "64, 32, 3, 3", ("int8", "int8"), **attributes)
    *_, main = text(source, 1, target=VNNI)
    assert "workspace conv.acc.words[1, 8, 30, 30, 4]" in main
    assert "pad" not in main


@pytest.mark.parametrize(
    "source",
    [
        dense(64, 256, 512).replace('"int32"', '"int64"'),
        dense(64, 256, 512, "int32", "int8"),
        dense(64, 256, 512, "uint16", "int16"),
        conv2d("1, 64, 28, 28", "64, 1, 3, 3", ("uint8", "int8"), groups=64),
    ],
)
def test_other_sums_are_left_alone(source: str) -> None:
    kernel = compiled(source, WIDEST).steps[-1].kernel
    assert not re.search("vpdp|pmadd", kernel.ir)
