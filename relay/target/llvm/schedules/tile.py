"""Sizes of register tiles of sums of products.

A step of a tile of r rows and v vectors loads v vectors of the panel and r scalars of the rows, and
does r * v multiply-adds. A good tile has many of these per load, and more than the core has in
flight, because each depends on the one before in the same register. A tile that does not fit spills
registers, which doubles the time.
"""

from __future__ import annotations

from relay import dtypes
from relay.immutable import frozen
from relay.target.llvm.target import LLVMTarget

_IN_FLIGHT = 8  # multiply-adds in flight: two issue per cycle, with a latency of four
_LOAD = 0.5  # the cost of a load in multiply-adds, for which it takes queue entries
_TALLEST = 6  # rows; beyond that, loads of the panel no longer matter
_TALLEST_NARROW = 12  # for one vector of columns
_TALLEST_DYNAMIC = 8  # for a dynamic number of columns
_FEW_ROWS = 4  # of a window, which always fit; fewer would be bound by latency
_FEW_TAPS = 3  # with more taps LLVM loads one number ahead


@frozen
class Tile:
    """A register tile: rows, and vectors of columns."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes


@frozen
class Window:
    """A sliding window: row i reads number i * `step` + k * `apart` of a line at tap k."""

    taps: int
    step: int = 1
    apart: int = 1

    def held(self, rows: int) -> int:
        """How many numbers of the line are in registers at once: taps are unrolled, and LLVM loads
        shared numbers once.

            Window(taps=3).held(5)    4: the last four of a tap are the first of the next one
        """
        places = [i * self.step + k * self.apart for k in range(self.taps) for i in range(rows)]
        last = {place: turn for turn, place in enumerate(places)}
        held: set[int] = set()
        most = 0
        for turn, place in enumerate(places):
            held.add(place)
            most = max(most, len(held))
            held -= {other for other in held if last[other] <= turn}
        return most + (self.taps > _FEW_TAPS)


def tile_for(
    rows: int,
    columns: int,
    dtype: str,
    target: LLVMTarget,
    *,
    window: Window | None = None,
    known: bool = True,
    blocked: bool = False,
) -> Tile:
    """The tile for this many rows and columns.

    If the number of columns is not `known`, it may be small, and narrow tiles with more rows waste
    less in the last tile. If columns are `blocked`, the width is a multiple of blocks.
    """
    item = 8 if dtype in ("float64", "int64", "uint64") else 4
    lanes = max(1, target.vector_bits // 8 // item)
    while lanes > 2 and lanes >= 2 * columns:
        lanes //= 2
    total = -(-columns // lanes)
    integers = target.has_vnni or target.multiplies_by_lanes
    fused = target.has_fma if dtypes.is_float(dtype) else integers
    many = target.vector_registers == 32 and known
    if rows == 1:
        return Tile(1, _even_vectors(total, 8 if many else 4), lanes)
    widths = [min(4 if many else 2, total)]
    if fused and known and not many and not blocked and window is None and total > 2:
        widths = [2, 3, 4]
    # without FMA, products need registers of their own
    products = 0 if fused else 2 if target.has_fma else 4
    tiles = []
    for vectors in widths:
        tallest = _TALLEST_NARROW if vectors == 1 else _TALLEST if known else _TALLEST_DYNAMIC
        fitting = _most_rows(tallest, vectors, target.vector_registers - products, window)
        tiles.append(Tile(_even_rows(rows, vectors, fitting), vectors, lanes))
    return min(
        tiles,
        key=lambda tile: -(-total // tile.vectors) * steps(tile.rows, tile.vectors, rows),
    )


def _most_rows(tallest: int, vectors: int, registers: int, window: Window | None) -> int:
    """The maximal number of rows whose sums fit in registers."""
    for rows in range(tallest, 2, -1):
        held = 1 if window is None or rows <= _FEW_ROWS else window.held(rows)
        if rows * vectors + vectors + held <= registers:
            return rows
    return 2


def _even_vectors(total: int, most: int) -> int:
    """Enough vectors to hide latency, with the least padding."""
    if total <= most:
        return total
    return min(range(most, most // 2, -1), key=lambda vectors: -(-total // vectors) * vectors)


def _even_rows(extent: int, vectors: int, most: int) -> int:
    """A divisor of the extent, if such a tile hides latency; otherwise the number of rows with the
    least total time, including the last, smaller tile."""
    if extent <= most:
        return extent
    candidates = range(most, max(1, most - 3), -1)
    for rows in candidates:
        if extent % rows == 0 and rows * vectors > _IN_FLIGHT:
            return rows
    return min(candidates, key=lambda rows: steps(rows, vectors, extent))


def steps(rows: int, vectors: int, extent: int) -> float:
    """The time of a step of all tiles of a column, in multiply-adds."""
    whole, rest = divmod(extent, rows)
    return whole * _step(rows, vectors) + (_step(rest, vectors) if rest else 0)


def _step(rows: int, vectors: int) -> float:
    return max(rows * vectors, _IN_FLIGHT + 1) + _LOAD * (rows + vectors)
