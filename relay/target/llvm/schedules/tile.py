"""How many rows and vectors of columns of a sum of products stay in registers.

A step of a tile of r rows and v vectors reads v vectors of the panel and r numbers of the rows, and
adds r * v vectors of products. A tile is good when these are many for what is read, and more than
the core works on at once: each sum waits for the one before it in the same register. It is bad when
it does not fit: then sums go to memory and back, which takes twice as long as the rest.
"""

from __future__ import annotations

from relay import dtypes
from relay.immutable import frozen
from relay.target.llvm.target import LLVMTarget

_IN_FLIGHT = 8  # sums a core works on at once: it begins two a cycle, and each takes four
_LOAD = 0.5  # what a load costs of a sum: they take different units, but room in the same queues
_TALLEST = 6  # rows; more use what is read of a panel so often that it does not matter
_TALLEST_NARROW = 12  # where there is one vector of columns
_TALLEST_OPEN = 8  # where there may be few columns
_FEW_ROWS = 4  # of a window, which always fit well enough: fewer would wait for their sums
_FEW_TAPS = 3  # of more taps LLVM loads a number ahead of its use


@frozen
class Tile:
    """Rows, and vectors of columns, that stay in registers."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes


@frozen
class Window:
    """Where rows read what other rows have read, a few steps of the sum (taps) before.

    Row i reads number i * `step` + k * `apart` of a line at tap k.
    """

    taps: int
    step: int = 1
    apart: int = 1

    def held(self, rows: int) -> int:
        """How many numbers of the line are in registers at once: taps are written out one after
        the other, and LLVM loads only once what several of them read.

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
    """The tile for so many rows and columns.

    Where how many columns there are is not `known`, they may be few: the last tile is as wide as
    the others, so a narrow one with more rows wastes less. Where columns are `blocked`, tiles are
    as wide as blocks, or as several of them.
    """
    lanes = target.vector_bits // 8 // (8 if dtype in ("float64", "int64", "uint64") else 4)
    while lanes > 2 and lanes >= 2 * columns:
        lanes //= 2
    total = -(-columns // lanes)
    fused = target.has_fma if dtypes.is_float(dtype) else target.has_vnni
    many = target.vector_registers == 32 and known
    if rows == 1:
        return Tile(1, _even_vectors(total, 8 if many else 4), lanes)
    widths = [min(4 if many else 2, total)]
    if fused and known and not many and not blocked and window is None and total > 2:
        widths = [2, 3, 4]
    # without instructions of three operands a product is made in a copy of its factor
    products = 0 if fused else 2 if target.has_fma else 4
    tiles = []
    for vectors in widths:
        tallest = _TALLEST_NARROW if vectors == 1 else _TALLEST if known else _TALLEST_OPEN
        fitting = _fitting(tallest, vectors, target.vector_registers - products, window)
        tiles.append(Tile(_even_rows(rows, vectors, fitting), vectors, lanes))
    return min(
        tiles,
        key=lambda tile: -(-total // tile.vectors) * _steps(tile.rows, tile.vectors, rows),
    )


def _fitting(tallest: int, vectors: int, registers: int, window: Window | None) -> int:
    """The most rows whose sums fit beside the vectors of the panel and what is broadcast."""
    for rows in range(tallest, 2, -1):
        held = 1 if window is None or rows <= _FEW_ROWS else window.held(rows)
        if rows * vectors + vectors + held <= registers:
            return rows
    return 2


def _even_vectors(total: int, most: int) -> int:
    """As many at once as hide the latency of a sum, with as little as possible beyond the end."""
    if total <= most:
        return total
    return min(range(most, most // 2, -1), key=lambda vectors: -(-total // vectors) * vectors)


def _even_rows(extent: int, vectors: int, most: int) -> int:
    """Rows that leave none over, if such a tile is large enough; otherwise those with which all
    tiles together, the last and smaller one among them, take the least time."""
    if extent <= most:
        return extent
    candidates = range(most, max(1, most - 3), -1)
    for rows in candidates:
        if extent % rows == 0 and rows * vectors > _IN_FLIGHT:
            return rows
    return min(candidates, key=lambda rows: _steps(rows, vectors, extent))


def _steps(rows: int, vectors: int, extent: int) -> float:
    """How long a step of all tiles one below the other takes, in sums."""
    whole, rest = divmod(extent, rows)
    return whole * _step(rows, vectors) + (_step(rest, vectors) if rest else 0)


def _step(rows: int, vectors: int) -> float:
    return max(rows * vectors, _IN_FLIGHT + 1) + _LOAD * (rows + vectors)
