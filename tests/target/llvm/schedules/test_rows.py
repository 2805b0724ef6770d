"""Reductions with what reads them: in rows that stay in the cache, in the lanes of vectors."""

from __future__ import annotations

import numpy as np
import pytest

from relay import te
from relay.interpreter.evaluate import evaluate
from relay.ir.expr import Call, const
from relay.target.llvm.schedules.choose import choose
from relay.target.target import Target
from relay.te.loops import Kind
from tests.support.kernels import Batch
from tests.target.llvm.kernels import LEVEL_NAMES, LEVELS, scheduled
from tests.target.llvm.schedules.outline import computed, function, text, unindented


def test_a_sum_along_rows_has_partial_sums_in_lanes() -> None:
    (main,) = text("(%x: Tensor[(32, 1024), float32]) { sum(%x, axis=[1]) }")
    assert main == unindented("""
        for 32
          register compute.acc.p[1, 64]
          vector 16: compute.acc.p  x4
          for 16
            vector 16: compute.acc.p  x4
          register compute.acc.p0[1, 16]
          vector 16: compute.acc.p0  x5
          register compute.acc.p1[1, 8]
          vector 8: compute.acc.p1  x3
          register compute.acc.p2[1, 4]
          vector 4: compute.acc.p2  x3
          register compute.acc.p3[1, 2]
          vector 2: compute.acc.p3  x3
          register compute.acc[1]
          compute.acc  x3
          compute
    """)


def test_the_end_of_a_row_is_apart() -> None:
    (main,) = text("(%x: Tensor[(32, 1000), float32]) { sum(%x, axis=[1]) }")
    assert "  for 15\n    vector 16: compute.acc.p  x4\n  vector 16: compute.acc.p  x4\n" in main


def test_a_sum_down_columns_has_a_tile_of_sums_in_registers() -> None:
    (main,) = text("(%x: Tensor[(512, 256), float32]) { sum(%x, axis=[0]) }")
    assert main == unindented("""
        for 4
          register compute.acc[64]
          vector 16: compute.acc  x4
          for 512
            vector 16: compute.acc  x4
          vector 16: compute  x4
    """)


def test_a_tile_has_room_for_whole_vectors() -> None:
    """So that the last one stays in a register, although some of its lanes are not wanted."""
    (main,) = text("(%x: Tensor[(512, 40), float32]) { sum(%x, axis=[0]) }")
    assert main == unindented("""
        register compute.acc[48]
        vector 16: compute.acc  x3
        for 512
          vector 16: compute.acc  x2
          vector 16, some lanes: compute.acc
        vector 16: compute  x2
        vector 16, some lanes: compute
    """)


def test_a_sum_of_everything_is_computed_first_and_in_lanes() -> None:
    (main,) = text("(%x: Tensor[(32, 1024), float32]) { subtract(%x, sum(%x)) }")
    assert main.startswith(
        unindented("""
        register compute.acc.p[64]
        vector 16: compute.acc.p  x4
        for 32
          for 16
            vector 16: compute.acc.p  x4
        """)
    )
    assert main.endswith("for 2048\n  vector 16: compute1")


def test_an_argmax_has_values_and_positions_in_lanes() -> None:
    (main,) = text("(%x: Tensor[(32, 1024), float32]) { argmax(%x, axis=[1]) }")
    assert "  for 16\n    vector 16: compute_argmax.p, compute_argmax.p1  x4\n" in main
    assert main.startswith("for 32\n  register ")
    assert "workspace" not in main


def test_softmax_is_one_kernel_over_rows() -> None:
    (main,) = text("(%x: Tensor[(128, 1024), float32]) { nn.softmax(%x) }", threads=True)
    lines = main.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == ["parallel 128"]
    # the maximum; the exponentials, kept for the row; their sum; the quotients
    steps = [line for line in lines if line.startswith(("  for", "  workspace"))]
    assert steps == [
        "  for 16",
        "  workspace compute1[1, 1024]",
        "  for 64",
        "  for 16",
        "  for 64",
    ]


def test_layer_norm_reads_each_row_while_it_is_in_the_cache() -> None:
    (main,) = text("""(%x: Tensor[(128, 768), float32], %g: Tensor[(768), float32],
                      %b: Tensor[(768), float32]) { nn.layer_norm(%x, %g, %b) }""")
    lines = main.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == ["for 128"]
    assert [line for line in lines if line.startswith("  for")] == [
        "  for 12",
        "  for 12",
        "  for 48",
    ]


def test_windows_of_a_pool_are_written_out_over_a_row_of_results() -> None:
    (main,) = text("(%x: Tensor[(1, 64, 34, 34), float32]) { nn.max_pool2d(%x, pool_size=[3, 3]) }")
    assert main == unindented("""
        for 64
          for 32
            register pool.acc[1, 1, 1, 32]
            vector 16: pool.acc  x20
            vector 16: pool  x2
    """)


def test_rows_of_an_extent_that_a_run_finds_are_loops_of_their_own() -> None:
    """Channels are for threads; a window over pixels whose number is open has tiles of a vector."""
    n, h, w = (te.Var("int64", name) for name in "nhw")
    x = te.placeholder((n, 64, h, w), "float32", "x")
    rows, columns = te.axis(3, "kh"), te.axis(3, "kw")
    y = te.compute(
        (n, 64, h - 2, w - 2),
        lambda i, j, k, m: te.max(x[i, j, k + rows, m + columns], (rows, columns)),
        "y",
    )
    s = choose([y], [x], Target.x86("avx512")).main
    assert [loop.name for loop in s["y"].loops] == ["i.j", "k", "tile", "inner"]
    assert s["y"].loops[0].kind is Kind.PARALLEL


def test_a_mean_of_a_small_image_runs_along_its_rows() -> None:
    (main,) = text("(%x: Tensor[(1, 64, 8, 8), float32]) { nn.global_avg_pool2d(%x) }")
    assert main.startswith("for 64\n  register mean_sum.p[1, 1, 8]\n")


def test_a_depthwise_convolution_keeps_parts_of_a_few_rows_in_registers() -> None:
    (main,) = text(
        """(%x: Tensor[(1, 32, 34, 34), float32], %w: Tensor[(32, 1, 3, 3), float32]) {
          nn.relu(nn.conv2d(%x, %w, groups=32, channels=32, kernel_size=[3, 3]))
        }"""
    )
    assert main == unindented("""
        for 32
          for 4
            for 2
              register conv[1, 1, 8, 16]
              vector 16: conv  x80
              vector 16: compute  x8
    """)


def test_pixels_whose_channels_are_one_vector_are_computed_together() -> None:
    """They share the weights, and neighbors share most of what their windows read."""
    source = """(%x: Tensor[(1, 4, 28, 28, 16), float32]) {
      nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2], layout="NCHW16c")
    }"""
    (main,) = text(source)
    assert main == unindented(
        """
        for 4
          for 14
            for 2
              register pool.acc[1, 1, 1, 7, 16]
              vector 16: pool.acc  x35
              vector 16: pool  x7
        """
    )


DEPTHWISE = """(%x: Tensor[(1, 2, 33, 30, 16), float32], %w: Tensor[(2, 1, 3, 3, 1, 16), float32],
                %b: Tensor[(2, 1, 1, 16), float32]) {
  nn.relu(add(nn.contrib_depthwise_conv2d_NCHWc(%x, %w, padding=[1, 1, 1, 1], channels=32,
              strides=[1, 1], kernel_size=[3, 3], groups=32, data_layout="NCHW16c",
              kernel_layout="OIHW1i16o"), %b))
}"""


def test_a_padded_image_is_made_a_few_lines_at_a_time() -> None:
    (main,) = text(DEPTHWISE, threads=True)
    assert main == unindented(
        """
        parallel 6
          workspace pad[1, 1, 13, 32, 16]
          for 13
            for 32
              vector 16: pad
          for 11
            for 5
              register conv[1, 1, 1, 6, 16]
              vector 16: conv  x60
              vector 16: compute1  x6
        """
    )


CHANNELS_LAST = """(%x: Tensor[(1, 33, 30, 40), float32], %w: Tensor[(3, 3, 40, 1), float32],
                    %b: Tensor[(40), float32]) {
  nn.relu(add(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=40, strides=[1, 1],
              kernel_size=[3, 3], groups=40, data_layout="NHWC", kernel_layout="HWOI"), %b))
}"""


def test_pixels_of_a_window_with_weights_are_computed_together_vector_by_vector() -> None:
    (main,) = text(CHANNELS_LAST, threads=True)
    assert main == unindented(
        """
        parallel 3
          workspace pad[1, 13, 32, 40]
          for 13
            for 32
              for 2
                vector 16: pad
              vector 16, some lanes: pad
          for 11
            for 5
              for 2
                register conv[1, 1, 6, 16]
                vector 16: conv  x60
                vector 16: compute1  x6
              register conv[1, 1, 6, 16]
              vector 16: conv  x6
              vector 16, some lanes: conv  x54
              vector 16, some lanes: compute1  x6
        """
    )


def test_pixels_that_share_no_weights_or_nothing_else_are_computed_alone() -> None:
    (main,) = text("""(%x: Tensor[(1, 30, 30, 64), float32]) {
      nn.max_pool2d(%x, pool_size=[3, 3], strides=[1, 1], layout="NHWC")
    }""")
    assert "register pool.acc[1, 1, 1, 64]\n" in main
    (main,) = text(CHANNELS_LAST.replace("strides=[1, 1]", "strides=[3, 3]"))
    assert "register conv[1, 1, 1, 48]\n" in main


@pytest.mark.parametrize("layout", [DEPTHWISE, CHANNELS_LAST], ids=["blocks", "channels last"])
@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_lines_and_pixels_come_out_even_or_not(target: Target, layout: str) -> None:
    """On one thread and on several, a weight that is known or not."""
    random = np.random.default_rng(0)
    cases = []
    for size in ("33, 30", "9, 17", "2, 3"):
        for strides in ("[1, 1]", "[2, 2]", "[2, 1]"):
            source = layout.replace("33, 30", size).replace("strides=[1, 1]", f"strides={strides}")
            found = computed(source)
            given = [random.standard_normal(t.extents).astype("float32") for t in found.inputs]
            known = [False, len(cases) % 2 == 0, True]
            cases.append((scheduled(found.outputs, found.inputs, target, known), source, given))
    batch = Batch([one for one, *_ in cases], target)
    for i, (_, source, given) in enumerate(cases):
        expected = evaluate(Call(function(source), tuple(map(const, given)))).numpy()
        for threads in (1, 3):
            (result,) = batch.run(i, given, threads=threads).results
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_normalizations_of_several_operators_are_one_pass_over_rows() -> None:
    (main,) = text("""(%x: Tensor[(128, 1024), float32], %g: Tensor[(1024), float32]) {
      %0 = subtract(%x, mean(%x, axis=[1], keepdims=True));
      %1 = mean(multiply(%0, %0), axis=[1], keepdims=True);
      multiply(divide(%0, sqrt(add(%1, 1e-5f))), %g)
    }""")
    lines = main.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == ["for 128"]
    assert [line for line in lines if line.startswith("  for")] == [
        "  for 16",
        "  for 16",
        "  for 64",
    ]
    # the root is computed once for a row, and stays in a register
    assert "  register compute5[1, 1]\n  compute5\n" in main
    assert "workspace" not in main


def test_exponentials_that_are_summed_and_divided_are_kept_for_the_row() -> None:
    (main,) = text("""(%x: Tensor[(128, 1024), float32]) {
      %0 = exp(subtract(%x, max(%x, axis=[1], keepdims=True)));
      divide(%0, sum(%0, axis=[1], keepdims=True))
    }""")
    lines = main.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == ["for 128"]
    assert [line for line in lines if line.startswith("  workspace")] == [
        "  workspace compute2[1, 1024]"
    ]


def test_statistics_of_columns_are_computed_in_tiles_of_them() -> None:
    (main,) = text("""(%x: Tensor[(512, 256), float32]) {
      subtract(%x, mean(%x, axis=[0], keepdims=True))
    }""")
    assert main == unindented("""
        for 4
          register compute_sum[64]
          vector 16: compute_sum  x4
          for 512
            vector 16: compute_sum  x4
          for 512
            vector 16: compute1  x4
    """)
