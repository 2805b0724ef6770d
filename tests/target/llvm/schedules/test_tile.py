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


def test_rows_that_divide_are_taken_where_they_hide_the_latency_of_sums() -> None:
    wide, narrow = Target.x86("avx512"), Target.x86("avx2")
    # 4 x 4 sums are enough; 4 x 2 are just as many as the core has begun
    assert tile_for(1024, 1024, "float32", wide).rows == 4
    assert tile_for(1024, 1024, "float32", narrow).rows == 6
    assert tile_for(15, 1024, "float32", narrow).rows == 5


def test_the_last_tile_counts() -> None:
    target = Target.x86("avx2")
    assert tile_for(14, 1024, "float32", target).rows == 5  # 5, 5 and 4 rather than 6, 6 and 2
    assert tile_for(7, 1024, "float32", target).rows == 4  # 4 and 3 rather than 6 and 1


def test_tiles_of_windows_are_lower() -> None:
    target = Target.x86("avx2")
    assert tile_for(48, 64, "float32", target).rows == 6
    assert tile_for(48, 64, "float32", target, window=Window(3)).rows == 5
    assert tile_for(48, 64, "float32", target, window=Window(3, step=2)).rows == 4
