"""Tiles: as large as registers allow, and even where it costs little."""

from __future__ import annotations

import pytest

from relay.target.llvm.schedules.tile import Window, tile_for
from relay.target.target import Target

X86 = {level: Target.x86(level) for level in ("avx512", "avx2", "baseline")}


def test_tiles_fill_the_registers_and_no_more() -> None:
    shapes = {
        level: {
            (rows, columns): tile_for(rows, columns, "float32", target)
            for rows, columns in ((1024, 1024), (7, 1024), (1024, 3), (3, 20))
        }
        for level, target in X86.items()
    }
    for level, target in X86.items():
        for (rows, columns), tile in shapes[level].items():
            used = tile.rows * tile.vectors + tile.vectors + 1
            assert used <= target.vector_registers, (level, rows, columns)
            assert tile.rows <= rows
            assert tile.columns < columns + 2 * tile.lanes
    wide = shapes["avx512"][1024, 1024]
    assert (wide.vectors, wide.lanes) == (4, 16)


@pytest.mark.parametrize(
    ("window", "rows", "held"),
    [
        (Window(3), 5, 4),  # 0 1 2 3 4, then 1 2 3 4 5: four of them again
        (Window(3, step=2), 5, 5),  # the even ones wait while the odd ones are used
        (Window(3, apart=2), 5, 3),
        (Window(3, step=3), 5, 1),  # nothing in common
        (Window(3, step=16, apart=16), 5, 4),  # blocks of sixteen
        (Window(5), 5, 5),
    ],
)
def test_a_window_holds_what_is_read_again(window: Window, rows: int, held: int) -> None:
    assert window.held(rows) == held


def shape(rows: int, columns: int, level: str, window: Window | None = None) -> tuple[int, int]:
    tile = tile_for(rows, columns, "float32", X86[level], window=window)
    return tile.rows, tile.vectors


def test_rows_that_divide_are_taken_where_they_hide_the_latency_of_sums() -> None:
    # 4 x 4 sums are enough; 4 x 2 are just as many as the core has begun
    assert shape(1024, 1024, "avx512") == (4, 4)
    assert shape(1024, 64, "avx2") == (6, 2)
    assert shape(15, 16, "avx2") == (5, 2)


def test_tiles_are_wide_where_few_columns_are_wasted() -> None:
    """Three vectors and four rows are loaded for as many sums as two vectors and six rows are."""
    assert shape(1024, 1024, "avx2") == (4, 3)
    assert shape(1024, 64, "avx2") == (6, 2)  # 3, 3 and 2 are no better than 2, 2, 2 and 2
    assert shape(2, 1024, "avx2") == (2, 4)


def test_the_last_tile_counts() -> None:
    assert shape(14, 16, "avx2") == (5, 2)  # 5, 5 and 4 rather than 6, 6 and 2
    assert shape(7, 16, "avx2") == (4, 2)  # 4 and 3 rather than 6 and 1


def test_tiles_of_windows_are_lower() -> None:
    assert shape(48, 64, "avx2") == (6, 2)
    assert shape(48, 64, "avx2", Window(3)) == (5, 2)
    assert shape(48, 64, "avx2", Window(3, step=2)) == (4, 2)
    assert shape(48, 64, "avx512") == (6, 4)
    assert shape(48, 64, "avx512", Window(3)) == (4, 4)
