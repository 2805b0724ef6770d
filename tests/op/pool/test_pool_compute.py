"""Pools are one reduction over the window; what a mean is divided by is known where it can be."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from relay.op.pool.pool_compute import sum_dtype

Stages = Callable[..., list[str]]


def test_a_maximum_is_one_reduction(stages: Stages) -> None:
    assert stages("nn.max_pool2d", (1, 2, 6, 6), pool_size=2, strides=2) == [
        "pool[i, j, k, l] = maximum(x0[i, j, ((k * 2) + kh), ((l * 2) + kw)] for kh < 2, kw < 2)"
    ]


def test_padding_holds_the_lowest_value(stages: Stages) -> None:
    pad, _ = stages("nn.max_pool2d", (1, 2, 6, 6), pool_size=3, padding=(1, 0, 0, 0), dtype="int8")
    assert pad.endswith("if ((k - 1) >= 0) else -128:int8)")


def test_windows_that_lie_in_data_are_divided_by_a_number(stages: Stages) -> None:
    sums, mean = stages("nn.avg_pool2d", (1, 2, 6, 6), pool_size=3, strides=2)
    assert sums.endswith("sum(x0[i, j, ((k * 2) + kh), ((l * 2) + kw)] for kh < 3, kw < 3)")
    assert mean.endswith("/ 9.0:float32)")


def test_a_global_pool_reduces_the_spatial_axes(stages: Stages) -> None:
    sums, mean = stages("nn.global_avg_pool2d", (1, 8, 7, 7))
    assert sums == "mean_sum[i, j] = sum(x0[i, j, kh, kw] for kh < 7, kw < 7)"
    assert mean == "mean[i, j, k, l] = (mean_sum[i, j] / 49.0:float32)"


def test_even_windows_are_plain_windows(stages: Stages) -> None:
    (pool,) = stages("nn.adaptive_max_pool2d", (1, 8, 6, 4), output_size=(3, 4))
    assert pool.endswith("maximum(x0[i, j, ((k * 2) + kh), (l + kw)] for kh < 2, kw < 1)")


def test_uneven_windows_leave_out_what_is_beyond_their_end(stages: Stages) -> None:
    (pool,) = stages("nn.adaptive_max_pool1d", (1, 8, 7), output_size=3)
    assert "x0[i, j, (((k * 7) // 3) + kw)] if (kw < " in pool
    assert pool.endswith("else -inf:float32) for kw < 4)")


@pytest.mark.parametrize(
    ("dtype", "count", "found"),
    [
        ("float32", 9, "float32"),
        ("bfloat16", 9, "float32"),
        ("float64", 9, "float64"),
        ("int8", 9, "int32"),
        ("uint16", 2**15, "int32"),
        ("uint16", 2**15 + 1, "uint64"),
        ("int8", None, "int64"),
        ("int32", 9, "int64"),
        ("uint64", 9, "uint64"),
    ],
)
def test_sums_do_not_overflow(dtype: str, count: int | None, found: str) -> None:
    assert sum_dtype(dtype, count) == found
