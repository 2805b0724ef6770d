"""Winograd's algorithm F(4x4, 3x3) for convolutions of stride 1 with constant 3x3 weights.

    y[h, w, o] = relu(sum(x[h + kh, w + kw, c] * weight[o, c, kh, kw] for c, kh, kw))
      ->   u[i, j, c, o] = the weight, transformed               before, packed in panels
           for a block of tiles:
             for a tile, a vector of channels c:
               v[i, j, tile, c] = 6x6 elements of x, transformed
             for i in 6: for j in 6:
               m[i, j, tile, o] = sum(v[i, j, tile, c] * u[i, j, c, o] for c)
             for a tile, a vector of channels o:
               y = relu(m[:, :, tile, o], transformed to 4x4 results)

36 products per input and output channel give 16 results, for which the direct sum takes 144. The
points of the transforms are 0, ±1/sqrt(2), ±sqrt(2) and infinity: the matrices have small numbers,
and points of both signs share half of their operations.

Rounding errors are about twice those of the direct sum (with 0, ±1, ±2 twelve times): at most
`ERROR` times the norm of a window times that of its weights. Results are the same for any number of
threads. `exact=True` leaves the algorithm out.

It pays from 16 channels on, with AVX-512 and AVX2 alike: 2 to 3.5 times as fast, where the
transformed weights, four times as large, come from the L2 or L3 cache. A small image that has to
read many of them from memory is computed directly (`tiling`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod, sqrt
from typing import Final

import numpy as np

from relay import te
from relay.immutable import frozen
from relay.op.conv.winograd import transforms
from relay.target.llvm.schedules.contraction import Form, is_constant, uncast
from relay.target.llvm.schedules.plan import RULES, Plan, tiles
from relay.target.llvm.schedules.tile import Tile
from relay.target.llvm.target import LLVMTarget
from relay.te import schedule
from relay.te.compute import Computation
from relay.te.expr import Axis, Binary, Const, Expr, Read, Var, every, index, select, substitute
from relay.te.schedule import Schedule, facts

WINOGRAD: Final = "Winograd F(4x4, 3x3)"
ERROR: Final = 4e-6
TILE: Final = 4  # results of a tile along an axis
WINDOW: Final = 3
TAPS: Final = TILE + WINDOW - 1  # elements of the image for a tile, along an axis
POINTS: Final = (0.0, 1 / sqrt(2), -1 / sqrt(2), sqrt(2), -sqrt(2))

_DECIMALS = 14  # to which the matrices are rounded, so that equal numbers compare equal
_TRANSFORMS = 1.2  # the time of all, for one of products
_NEAR, _FAR = 1 << 19, 24 << 20  # bytes of weights that stay in the L2 cache, and in L3
_READ, _READ_FAR = 2.5, 9.0  # operations in the time of a byte from L3, and from memory
_WHOLE = 5 << 19  # bytes of transformed tiles that need no blocks
_FEW = 4  # blocks that are too few to share out


@frozen
class Convolution:
    """The axes of a convolution of 3x3, stride 1."""

    batch: Axis
    height: Axis  # of the result
    width: Axis
    taps: tuple[Axis, Axis]  # of the window, down and across
    channels: tuple[Axis, ...]  # of the image, summed up
    columns: tuple[Axis, ...]  # channels of the result
    image: Read
    places: tuple[int, int]  # of height and width in the indices of the image
    weight: Expr

    @property
    def tiles(self) -> tuple[int, int]:
        """How many there are, down and across."""
        return -(-size([self.height]) // TILE), -(-size([self.width]) // TILE)


@frozen
class Blocks:
    """Rows of tiles in a block. Threads share out the blocks or, if these are few, each step."""

    rows: int
    shared_out: bool


def size(axes: Sequence[Axis]) -> int:
    """The number of iterations of some axes."""
    return prod(facts.extents(axis.extent for axis in axes))


# --- where it is used


def tiling(
    form: Form, axes: Sequence[Axis], target: LLVMTarget, constants: set[int], plan: Plan = RULES
) -> tuple[Convolution, Blocks] | None:
    """A sum of products over `axes` as a convolution in blocks of tiles, where that is faster, or
    the plan says so."""
    found = _convolution(form, axes, constants)
    if found is None or not _fits(found, target) or plan.winograd == "no":
        return None
    blocks = _planned(found, plan) if plan.winograd else _blocks(found)
    return None if blocks is None else (found, blocks)


def plans(
    form: Form, axes: Sequence[Axis], target: LLVMTarget, constants: set[int]
) -> Iterator[Plan]:
    """The algorithm in other ways than the rule chooses, and the direct sum where it does not."""
    found = _convolution(form, axes, constants)
    if found is None or not _fits(found, target):
        return
    chosen = _blocks(found)
    if chosen is not None:
        yield Plan(winograd="no")
    for name in ("rows", "whole"):
        if _planned(found, Plan(winograd=name)) != chosen:
            yield Plan(winograd=name)
    products = Tile(0, 0, target.vector_bits // 32)
    count = found.tiles[1] if chosen is None else chosen.rows * found.tiles[1]
    for rows, vectors in tiles(products, count, size(found.columns), target):
        yield Plan(rows, vectors, winograd="" if chosen else "rows")


def _convolution(form: Form, axes: Sequence[Axis], constants: set[int]) -> Convolution | None:
    """The convolution that a sum of products over `axes` is, or None."""
    image = uncast(form.left)
    if not isinstance(image, Read) or form.batch or form.instruction is not None:
        return None
    if len(form.rows) != 3 or not is_constant(form.right, constants):
        return None
    if {image.dtype, form.left.dtype, form.right.dtype} != {"float32"}:
        return None
    windows: list[tuple[int, Axis, Axis]] = []
    others: list[Expr] = []
    for place, position in enumerate(image.indices):
        match position:
            case Binary(op="add", left=Axis() as row, right=Axis() as tap):
                windows.append((place, row, tap))
            case _:
                others.append(position)
    if len(windows) != 2:
        return None
    (down, height, first), (across, width, second) = windows
    sizes = [tap.extent for tap in (first, second)]
    if sizes != [index(WINDOW)] * 2 or not {first, second} <= set(form.reduced):
        return None
    if not {height, width} < set(form.rows):
        return None
    (batch,) = set(form.rows) - {height, width}
    channels = tuple(axis for axis in form.reduced if axis not in (first, second))
    if not channels or len(others) != 1 + len(channels) or set(others) != {batch, *channels}:
        return None
    if image.indices[-1] is not channels[-1] or axes[-1] is not form.columns[-1]:
        return None
    taps = first, second
    places = down, across
    return Convolution(
        batch, height, width, taps, channels, form.columns, image, places, form.right
    )


def _fits(found: Convolution, target: LLVMTarget) -> bool:
    """Whether the sizes of a convolution are known, and its channels whole vectors."""
    known = (found.height, found.width, *found.channels, *found.columns)
    if not all(isinstance(axis.extent, Const) for axis in known):
        return False
    lanes = target.vector_bits // 32
    return not (size(found.channels[-1:]) % lanes or size(found.columns[-1:]) % lanes)


def _planned(found: Convolution, plan: Plan) -> Blocks:
    """The blocks that a plan wants."""
    whole = plan.winograd == "whole"
    return Blocks(found.tiles[0] if whole else 1, shared_out=not whole)


def _blocks(found: Convolution) -> Blocks | None:
    """The blocks of tiles of a convolution, or None where the direct sum is faster."""
    images = size([found.batch]) if isinstance(found.batch.extent, Const) else 1
    down, across = found.tiles
    products = size(found.channels) * size(found.columns)
    weights = TAPS * TAPS * products * 4
    far = 0.0 if weights <= _NEAR else _READ if weights <= _FAR else _READ_FAR
    results = images * size([found.height, found.width])
    direct = 2 * results * WINDOW**2 * products
    steps = 2 * images * down * across * TAPS**2 * products * _TRANSFORMS + weights * far
    if steps >= direct:
        return None
    between = down * across * TAPS**2 * (size(found.channels) + size(found.columns)) * 4
    if (between <= _WHOLE and weights > _NEAR) or down < _FEW:
        return Blocks(down, shared_out=False)
    return Blocks(1, shared_out=True)


# --- the algorithm


@frozen
class Stages:
    """The names of the stages, in order."""

    half: str  # the weight, transformed down
    weight: str  # and across
    lines: str  # tiles of the image, transformed down
    tiles: str  # and across
    product: str
    rows: str  # results of a tile, transformed down; the root transforms them across

    @classmethod
    def of(cls, name: str) -> Stages:
        return cls(*(f"{name}.{stage}" for stage in cls.__annotations__))


def with_stages(s: Schedule, name: str, found: Convolution, blocks: Blocks) -> Schedule:
    """The algorithm in place of stage `name`, the direct sum; its last transform is part of what
    reads it, and the padding of the image part of the first one."""
    names = Stages.of(name)
    matrices = transforms(TILE, WINDOW, POINTS)
    down, across = found.tiles
    grid = (found.batch.extent, index(-(-down // blocks.rows)))
    tiles = index(blocks.rows * across)
    inputs = [axis.extent for axis in found.channels]
    outputs = [axis.extent for axis in found.columns]

    def line(n: Expr, block: Expr, t: Expr, *rest: Expr) -> Expr:
        *channels, i, x, last = rest
        y = (block * blocks.rows + t // across) * TILE
        place = t % across * TILE + x
        column = [_element(found, n, y + r, place, (*channels, last)) for r in range(TAPS)]
        return _chosen(i, combined(matrices.input, column))

    lines = te.compute((*grid, tiles, *inputs[:-1], TAPS, TAPS, inputs[-1]), line, names.lines)

    def tile(n: Expr, block: Expr, i: Expr, j: Expr, t: Expr, *channels: Expr) -> Expr:
        *far, last = channels
        row = [lines[(n, block, t, *far, i, x, last)] for x in range(TAPS)]
        return _chosen(j, combined(matrices.input, row))

    data = te.compute((*grid, TAPS, TAPS, tiles, *inputs), tile, names.tiles)
    half, weight = _weights(found, matrices.kernel, names)
    over = [te.axis(axis.extent, axis.name) for axis in found.channels]

    def product(n: Expr, block: Expr, i: Expr, j: Expr, t: Expr, *columns: Expr) -> Expr:
        factors = data[(n, block, i, j, t, *over)], weight[(i, j, *over, *columns)]
        return te.sum(factors[0] * factors[1], over)

    products = te.compute((*grid, TAPS, TAPS, tiles, *outputs), product, names.product)

    def row(n: Expr, block: Expr, t: Expr, *rest: Expr) -> Expr:
        *far, i, j, last = rest
        column = [products[(n, block, r, j, t, *far, last)] for r in range(TAPS)]
        return _chosen(i, combined(matrices.output, column))

    rows = te.compute((*grid, tiles, *outputs[:-1], TILE, TAPS, outputs[-1]), row, names.rows)
    y, x = found.height, found.width
    place = y // TILE % blocks.rows * across + x // TILE
    where = (found.batch, y // (TILE * blocks.rows), place, *found.columns[:-1], y % TILE)
    results = combined(matrices.output, [rows[(*where, j, found.columns[-1])] for j in range(TAPS)])
    for made in (lines, data, half, weight, products, rows):
        s = schedule.put_before(s, name, made)
    s = schedule.inline(schedule.recompute(s, name, _chosen(x % TILE, results)), name)
    return _with_padding_inside(s, found)


def _with_padding_inside(s: Schedule, found: Convolution) -> Schedule:
    """An image that costs little is computed where it is read: zeros around it are not stored."""
    assert isinstance(found.image.source, te.Tensor)
    image = s.stage_of(found.image.source)
    if image is None or not isinstance(image.op, Computation) or image.is_reduction:
        return s
    if facts.is_expensive(image) or len(s.readers(image.name)) > 1:
        return s
    return schedule.inline(s, image.name)


def _element(found: Convolution, n: Expr, y: Expr, x: Expr, channels: Sequence[Expr]) -> Expr:
    """An element of the image; tiles at the end go beyond it."""
    values: dict[Var, Expr] = {found.batch: n, found.height: y, found.width: x}
    values |= dict.fromkeys(found.taps, index(0))
    values |= dict(zip(found.channels, channels, strict=True))
    limits = [found.image.source.shape[place] for place in found.places]
    inside = every(*(at < limit for at, limit in zip((y, x), limits, strict=True)))
    return select(inside, substitute(found.image, values), 0)


def _weights(found: Convolution, matrix: np.ndarray, names: Stages) -> tuple[te.Tensor, te.Tensor]:
    """The weight, transformed down, and across as well: both once, beforehand."""
    inputs = [axis.extent for axis in found.channels]
    shape = [*inputs, *(axis.extent for axis in found.columns)]

    def element(kh: int, kw: Expr, at: Sequence[Expr]) -> Expr:
        axes = (*found.taps, *found.channels, *found.columns)
        return substitute(found.weight, dict(zip(axes, (index(kh), kw, *at), strict=True)))

    def down(i: Expr, kw: Expr, *at: Expr) -> Expr:
        column = [element(kh, kw, at) for kh in range(WINDOW)]
        return _chosen(i, combined(matrix, column))

    half = te.compute((TAPS, WINDOW, *shape), down, names.half)

    def both(i: Expr, j: Expr, *at: Expr) -> Expr:
        return _chosen(j, combined(matrix, [half[(i, kw, *at)] for kw in range(WINDOW)]))

    return half, te.compute((TAPS, TAPS, *shape), both, names.weight)


# --- a matrix times a vector


def combined(matrix: np.ndarray, values: Sequence[Expr]) -> list[Expr]:
    """The rows of a matrix times values. Two rows, or columns, that differ in signs only share
    their operations.

        [[a, b], [a, -b]] times (x, y)   ->   p = a * x; q = b * y; (p + q, p - q)
    """
    matrix, values = _shared_columns(np.round(matrix, _DECIMALS), values)
    result: list[Expr] = []
    while len(result) < len(matrix):
        pair = matrix[len(result) : len(result) + 2]
        even, odd = (pair[0] + pair[-1]) / 2, (pair[0] - pair[-1]) / 2
        if even.any() and odd.any() and not (even * odd).any():
            same, turned = _sum(even, values), _sum(odd, values)
            result += [same + turned, same - turned]
        else:
            result.append(_sum(pair[0], values))
    return result


def _shared_columns(
    matrix: np.ndarray, values: Sequence[Expr]
) -> tuple[np.ndarray, Sequence[Expr]]:
    """Pairs of columns that differ in signs only, replaced by those of sums and differences."""
    columns: list[np.ndarray] = []
    parts: list[Expr] = []
    while len(parts) < len(values):
        place = len(parts)
        one, other = matrix[:, place], matrix[:, min(place + 1, len(values) - 1)]
        if place + 1 < len(values) and (abs(one) == abs(other)).all():
            columns += [(one + other) / 2, (one - other) / 2]
            parts += [values[place] + values[place + 1], values[place] - values[place + 1]]
        else:
            columns.append(one)
            parts.append(values[place])
    return np.stack(columns, axis=1), parts


def _sum(numbers: np.ndarray, values: Sequence[Expr]) -> Expr:
    """A sum of products, additions before multiply-adds."""
    terms = [(float(n), value) for n, value in zip(numbers, values, strict=True) if n]
    terms.sort(key=lambda term: (abs(term[0]) != 1, term[0] < 0))
    (first, value), *rest = terms
    total = value if first == 1 else value * first
    for number, value in rest:
        if abs(number) == 1:
            total = total + value if number == 1 else total - value
        else:
            total = value * number + total
    return total


def _chosen(position: Expr, values: Sequence[Expr]) -> Expr:
    """The value at a position, which is that of an unrolled loop."""
    result = values[-1]
    for number in reversed(range(len(values) - 1)):
        result = select(te.equal(position, number), values[number], result)
    return result
