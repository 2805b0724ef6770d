"""Sums of products: tiles that stay in registers, in the instructions that come out as well."""

from __future__ import annotations

import re

import numpy as np
import pytest

from relay import te
from relay.lower.kernel import Options
from relay.lower.lower import lower_static
from relay.program.explain import explain
from relay.program.primitives import Primitive
from relay.target.llvm.compile import assembly
from relay.target.llvm.schedules.tile import tile_for
from relay.target.target import Target
from tests.support.kernels import Batch
from tests.target.llvm.kernels import LEVEL_NAMES, LEVELS, scheduled
from tests.target.llvm.schedules.outline import function, outlines, text, unindented

X86 = {level: Target.x86(level) for level in ("avx512", "avx2", "baseline")}

DENSE = """(%x: Tensor[(64, 256), float32], %w: Tensor[(512, 256), float32],
            %b: Tensor[(512), float32]) {
  nn.relu(nn.bias_add(nn.dense(%x, %w), %b))
}"""
NCHW = """(%x: Tensor[(1, 32, 28, 28), float32], %w: Tensor[(64, 32, 3, 3), float32],
           %b: Tensor[(64), float32]) {
  nn.relu(nn.bias_add(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=64, kernel_size=[3, 3]), %b))
}"""
NCHW16C = """(%x: Tensor[(1, 2, 28, 28, 16), float32], %w: Tensor[(4, 2, 3, 3, 16, 16), float32],
              %b: Tensor[(1, 4, 1, 1, 16), float32]) {
  nn.relu(add(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=64, kernel_size=[3, 3],
                        data_layout="NCHW16c", kernel_layout="OIHW16i16o"), %b))
}"""
DEEP = """(%x: Tensor[(1, 32, 28, 28, 16), float32], %w: Tensor[(64, 512, 3, 3), float32],
           %b: Tensor[(1, 4, 1, 1, 16), float32]) {
  nn.relu(add(nn.contrib_conv2d_NCHWc(%x, %w, padding=[1, 1, 1, 1], channels=64, kernel_size=[3, 3],
                                      data_layout="NCHW16c", kernel_layout="OIHW"), %b))
}"""
VECTOR = """(%x: Tensor[(1, 187), float32], %w: Tensor[(59, 187), float32],
             %b: Tensor[(59), float32]) {
  nn.bias_add(nn.dense(%x, %w), %b)
}"""
KERNELS = {
    "dense": DENSE,
    "NCHW": NCHW,
    "NCHW16c": NCHW16C,
    "deep": DEEP,
    "few columns": VECTOR,
}


# --- instructions


def innermost_loops(code: str) -> list[list[str]]:
    """The instructions of every loop that has no other inside."""
    lines = [line.strip() for line in code.splitlines()]
    places = {line[:-1]: i for i, line in enumerate(lines) if line.endswith(":")}
    ranges = []
    for i, line in enumerate(lines):
        jump = re.match(r"j\w+\s+(\.LBB\w+)$", line)
        if jump and places.get(jump[1], len(lines)) < i:
            ranges.append((places[jump[1]], i))
    return [
        lines[begin : end + 1]
        for begin, end in ranges
        if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in ranges)
    ]


def micro_kernels(source: str, target: Target) -> list[list[str]]:
    """The loops in which products are summed."""
    lowered = lower_static(function(source), [False, True, True], target, Options(exact=True))
    code = assembly([lowered.steps[-1].kernel.ir], target)
    wanted = "vfmadd" if target.has_fma else "mulps"
    loops = [one for one in innermost_loops(code) if any(wanted in line for line in one)]
    assert loops
    return loops


@pytest.mark.parametrize("source", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("target", X86.values(), ids=X86)
def test_a_micro_kernel_reads_its_factors_and_nothing_else(target: Target, source: str) -> None:
    for loop in micro_kernels(source, target):
        spilled = [line for line in loop if re.search(r"%[xyz]mm", line) and "(%rsp)" in line]
        stored = [line for line in loop if re.search(r"%[xyz]mm\d+, [^,]*\([^)]*\)", line)]
        assert not spilled and not stored


@pytest.mark.parametrize("target", X86.values(), ids=X86)
def test_products_are_added_in_one_instruction_where_there_is_one(target: Target) -> None:
    tile = tile_for(64, 512, "float32", target)
    loops = micro_kernels(DENSE, target)
    fused = [sum("vfmadd" in line for line in loop) for loop in loops]
    apart = [sum("addps" in line for line in loop) for loop in loops]
    # four steps of the sum at a time; the last tiles may be smaller
    assert max(fused if target.has_fma else apart) == 4 * tile.rows * tile.vectors
    assert any(fused) == target.has_fma


WINDOWS = {"3x3": (3, 1, 1), "3x3/2": (3, 2, 1), "3x3 dilated": (3, 1, 2), "5x5": (5, 1, 1)}


@pytest.mark.rotate(3)
@pytest.mark.parametrize("extent", [24, 28, 56])
@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
@pytest.mark.parametrize("target", [X86["avx512"], X86["avx2"]], ids=["avx512", "avx2"])
def test_what_taps_share_is_not_more_than_fits(
    target: Target, window: tuple[int, int, int], extent: int
) -> None:
    """LLVM loads once what several taps read, and would rather store sums than load it again."""
    kernel, stride, dilation = window
    source = f"""(%x: Tensor[(1, 4, {extent}, {extent}, 16), float32],
                  %w: Tensor[(4, 4, {kernel}, {kernel}, 16, 16), float32],
                  %b: Tensor[(1, 4, 1, 1, 16), float32]) {{
      add(nn.conv2d(%x, %w, channels=64, kernel_size=[{kernel}, {kernel}],
                    strides=[{stride}, {stride}], dilation=[{dilation}, {dilation}],
                    data_layout="NCHW16c", kernel_layout="OIHW16i16o"), %b)
    }}"""
    for loop in micro_kernels(source, target):
        assert not [line for line in loop if re.search(r"%[xyz]mm", line) and "(%rsp)" in line]


# --- where stages are computed


def test_bias_and_relu_are_applied_to_a_tile_in_registers() -> None:
    packed, main = text(DENSE, 1, 2)
    assert packed == unindented("""
        for 8
          for 256
            for 4
              vector 16: dense.panel
    """)
    assert main == unindented("""
        for 8
          for 16
            register dense[4, 64]
            vector 16: dense  x16
            for 64
              vector 16: dense  x64
            vector 16: compute1  x16
    """)


def test_a_factor_that_changes_is_packed_panel_by_panel() -> None:
    (main,) = text(DENSE)
    assert main.startswith("for 8\n  workspace dense.panel[1, 256, 64]\n  for 256\n")


def test_few_panels_are_packed_before_the_rows() -> None:
    (main,) = text(DENSE.replace("512", "128"))
    assert main.startswith("workspace dense.panel[2, 256, 64]\nfor 2\n")


@pytest.mark.parametrize("source", [NCHW, NCHW16C], ids=["NCHW", "NCHW16c"])
def test_convolutions_hold_pixels_of_all_their_channels(source: str) -> None:
    _, main = text(source, 1, 2, threads=True)
    padded, products = main.split("parallel 28")
    assert "pad[" in padded
    assert "register conv[1, 1, 4, 64]" in products
    assert products.rstrip().endswith("vector 16: compute1  x16")


def test_a_small_window_is_written_out_and_a_large_one_line_by_line() -> None:
    _, main = text(NCHW16C, 1, 2)
    assert "for 16\n        vector 16: conv  x144\n" in main  # 4 x 4 vectors, 9 taps
    large = NCHW16C.replace("2, 3, 3, 16", "2, 5, 5, 16").replace("[3, 3]", "[5, 5]")
    assert "x144" not in text(large, 1, 2)[-1]


def test_a_deep_reduction_has_panels_that_stay_in_a_cache() -> None:
    """Every tile of rows reads a whole panel."""
    panels, main = text(DEEP, 1, 2)
    assert panels == "for 2\n  for 4608\n    for 2\n      vector 16: conv.panel"
    assert "register conv[1, 1, 10, 32]" in main


def test_groups_and_batches_are_loops_outside() -> None:
    grouped = NCHW.replace("(64, 32, 3", "(64, 8, 3").replace(
        "channels=64", "channels=64, groups=4"
    )
    _, main = text(grouped, 1, 2)
    assert "\nfor 4\n  for 28\n    for 2\n      register conv[1, 1, 1, 10, 16]" in main
    (main,) = text("""(%x: Tensor[(12, 128, 64), float32], %y: Tensor[(12, 128, 64), float32]) {
      nn.batch_matmul(%x, %y, transpose_b=True)
    }""")
    assert main.startswith("for 12\n  for 2\n    workspace matmul.acc.panel[1, 1, 64, 64]")


def test_a_result_read_as_if_it_had_more_axes_stays_in_registers() -> None:
    x, w = te.placeholder((8, 16), "float32", "x"), te.placeholder((64, 16), "float32", "w")
    k = te.axis(16, "k")
    product = te.compute((2, 4, 64), lambda a, b, j: te.sum(x[a * 4 + b, k] * w[j, k], k), "p")
    y = te.compute((8, 64), lambda i, j: te.maximum(product[i // 4, i % 4, j], 0.0), "y")
    (main,) = outlines([y], [x, w])
    assert "workspace p[" not in main
    assert "register p[" in main


def test_threads_take_panels_or_rows_or_tiles() -> None:
    def first(rows: int, columns: int) -> str:
        source = DENSE.replace("64, 256", f"{rows}, 256").replace("512", str(columns))
        return text(source, 1, 2, threads=True)[-1].split("\n")[0]

    assert first(64, 1024) == "parallel 16"  # panels of 64 columns
    assert first(1, 1024) == "alternating 8"  # panels that are read once
    assert first(1, 512) == "alternating 4"  # however few: there is one tile
    assert first(1024, 64) == "parallel 256"  # tiles of 4 rows
    assert text(NCHW, 1, 2, threads=True)[-1].count("parallel 28") == 1  # rows of pixels


LINES = """(%x: Tensor[(1, 56, 56, 256), float32], %w: Tensor[(64, 256, 1, 1), float32]) {
  nn.conv2d(%x, %w, channels=64, kernel_size=[1, 1], data_layout="NHWC", kernel_layout="OIHW")
}"""


def test_a_line_meets_all_panels_that_stay_in_a_cache() -> None:
    """Rows that do not stay there are read from further away only once. And the steps of a sum are
    taken four at a time though the innermost axes, those of the window, are of one."""
    _, main = text(LINES, 1, threads=True, target=X86["avx2"])
    lines, panels, tiles = "parallel 56\n", "  for 4\n", "    for 9\n"
    assert main.startswith(lines + panels + tiles + "      register conv.acc[1, 1, 6, 16]")
    assert "for 64\n        vector 8: conv.acc  x48" in main
    _, few = text(LINES.replace("56, 56", "8, 16"), 1, threads=True, target=X86["avx2"])
    assert few.startswith("parallel 32\n  for 2\n")  # of panels and lines: those stay as well


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (
            "(%x: Tensor[(64, 256), float32], %w: Tensor[(1, 256), float32]) { nn.dense(%x, %w) }",
            "one column",
        ),
        (
            "(%x: Tensor[(64, 2), float32], %w: Tensor[(64, 2), float32]) { nn.dense(%x, %w) }",
            "two products",
        ),
        ("(%x: Tensor[(64, 256), float32]) { sum(multiply(%x, %x), axis=[1]) }", "no columns"),
    ],
)
def test_sums_that_use_little_twice_are_no_contractions(source: str, why: str) -> None:
    assert ".panel" not in text(source)[-1], why


def test_vectors_run_along_the_weights_where_an_image_would_be_copied_often() -> None:
    """An image that is no constant is read through windows, and results are scattered."""
    (main,) = text(NCHW.replace("padding=[1, 1, 1, 1], ", ""))
    assert "conv.panel[1, 32, 3, 3, 64]" in main


# --- numbers


SIZES = [(1, 64, 33, 200), (1, 70, 33, 64), (1, 200, 5, 7), (3, 17, 20, 65), (9, 2, 300, 70)]


def product(batch: int, m: int, k: int, n: int) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    x, w = te.placeholder((batch, m, k), "float32"), te.placeholder((batch, n, k), "float32")
    r = te.axis(k, "r")
    y = te.compute((batch, m, n), lambda b, i, j: te.sum(x[b, i, r] * w[b, j, r], r), "y")
    return x, w, y


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_products_of_matrices_of_every_form(target: Target) -> None:
    random = np.random.default_rng(0)
    cases = []
    for i, sizes in enumerate(SIZES):
        x, w, y = product(*sizes)
        given = [random.integers(-9, 9, t.extents).astype("float32") for t in (x, w)]
        constant = (i + LEVELS.index(target)) % 2 == 0
        cases.append((scheduled([y], [x, w], target, [False, constant]), given))
    batch = Batch([function for function, _ in cases], target)
    for i, (_, (left, right)) in enumerate(cases):
        for threads in (1, 3):
            (found,) = batch.run(i, [left, right], threads=threads).results
            np.testing.assert_array_equal(found, left @ right.transpose(0, 2, 1))


@pytest.mark.parametrize("each", [4, 12, 20, 24])
def test_a_tile_ends_where_its_group_of_channels_does(each: int) -> None:
    count = 4 * each
    made = function(f"""(%x: Tensor[(1, {count}, 14, 14), float32],
        %w: Tensor[({count}, {each}, 3, 3), float32]) {{
      nn.conv2d(%x, %w, padding=[1, 1, 1, 1], groups=4, channels={count}, kernel_size=[3, 3])
    }}""")
    for target in X86.values():
        (*_, kernel) = explain(Primitive(made, (False, True)), target)
        # of the sums of one group
        found = re.findall(r"register conv: float32\[(\d+), (\d+)", kernel.loops)
        assert {*found} == {("1", "1")}
