"""How a product is divided into tiles that fit the buffers, by a model of its cycles.

A tile of the result is `rows` x `columns` points of `outputs` blocks of channels; it is a sum over
chunks of `inputs` blocks. A chunk of the data and one of the weight are in a slot of their buffers
each; while the core works on one, the next is loaded into another slot. What is still in a slot is
not loaded again, so the order of tiles matters: `by_data` goes through all channels of some points
first, otherwise through all points of some channels.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from relay.immutable import frozen
from relay.target.accel.config import Config
from relay.target.accel.geometry import Geometry

MOST_SLOTS: Final = 8


@frozen
class Tiling:
    """The extents of tiles and the order of them."""

    rows: int
    columns: int
    outputs: int
    inputs: int
    by_data: bool
    data_slots: int
    weight_slots: int
    cycles: float  # as estimated


@frozen
class Epilogue:
    """What follows the sums of a tile: passes of the ALU, tensors that are added, bytes stored."""

    passes: int
    tensors: int
    has_bias: bool
    stored: int  # bytes of an entry


@lru_cache(maxsize=4096)
def best_tiling(geometry: Geometry, epilogue: Epilogue, config: Config) -> Tiling | None:
    """The tiling that takes the fewest cycles; None if nothing fits."""
    found = None
    for one in _candidates(geometry, epilogue, config):
        if found is None or one.cycles < found.cycles:
            found = one
    return found


def bias_room(geometry: Geometry, config: Config) -> int:
    """The entries for the bias of a whole layer; 0 if it is loaded with each tile."""
    many = geometry.result.channels
    return many if 4 * many <= config.entries["acc"] else 0


def _candidates(geometry: Geometry, epilogue: Epilogue, config: Config) -> Iterator[Tiling]:
    room = config.entries
    # a token for each slot at most waits for LOAD: with room for all, COMPUTE never waits for it
    most_slots = min(MOST_SLOTS, config.tokens // 2)
    result, data = geometry.result, geometry.data
    resident = bias_room(geometry, config) if epilogue.has_bias else 0
    for rows in _extents(result.height, geometry.step[0]):
        for columns in _extents(result.width, geometry.step[1]):
            points = rows * columns
            if points > room["acc"]:
                continue
            high, wide = geometry.window(rows, columns)
            for inputs in _divisors(data.channels):
                held = inputs * high * wide
                if held > room["inp"]:
                    break
                for outputs in _divisors(result.channels):
                    weights = outputs * inputs * geometry.kernel
                    if weights > room["wgt"] or weights + 1 > room["uop"]:
                        break
                    own = outputs if epilogue.has_bias and not resident else 0
                    shape = (rows, columns, outputs, inputs)
                    tiles = _count(geometry, shape)[0]
                    used = points * outputs * (min(tiles, 2) + (epilogue.tensors > 0))
                    if used + own + resident > room["acc"]:
                        break
                    slots = [
                        min(most_slots, room["inp"] // held),
                        min(most_slots, room["wgt"] // weights),
                    ]
                    for by_data in (True, False):
                        cost = _estimate(geometry, epilogue, config, shape, by_data, slots)
                        yield Tiling(*shape, by_data, slots[0], slots[1], cost)


def _count(geometry: Geometry, shape: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """How many tiles there are, and of them places, blocks of channels, and chunks of each."""
    rows, columns, outputs, inputs = shape
    result = geometry.result
    places = result.batches * -(-result.height // rows) * -(-result.width // columns)
    across = result.channels // outputs
    return places * across, places, across, geometry.data.channels // inputs


def _loads(outer: int, inner: int, chunks: int, slots: int) -> tuple[int, int]:
    """How often chunks are loaded: those that only the outer loop changes, and those that only the
    inner one changes. Chunks are taken forwards and backwards in turn."""
    kept = min(slots, chunks) if slots > 1 or chunks == 1 else 0
    own = outer * (chunks + (inner - 1) * (chunks - kept))
    if inner == 1:
        return own, chunks + (outer - 1) * (chunks - kept)
    other = inner * chunks
    return own, other if other <= slots else outer * other


def _estimate(
    geometry: Geometry,
    epilogue: Epilogue,
    config: Config,
    shape: tuple[int, int, int, int],
    by_data: bool,
    slots: list[int],
) -> float:
    rows, columns, outputs, inputs = shape
    tiles, places, across, chunks = _count(geometry, shape)
    high, wide = geometry.window(rows, columns)
    if by_data:
        data_loads = _loads(places, across, chunks, slots[0])[0]
        weight_loads = _loads(places, across, chunks, slots[1])[1]
    else:
        weight_loads = _loads(across, places, chunks, slots[1])[0]
        data_loads = _loads(across, places, chunks, slots[0])[1]
    speed, latency = config.dram_bytes, config.dram_latency
    data_bytes = inputs * high * min(wide, geometry.data.width) * config.inp_bytes
    weight_bytes = outputs * inputs * geometry.kernel * config.wgt_bytes
    whole = geometry.result.count
    stored = whole * epilogue.stored
    extra = whole * config.out_bytes * epilogue.tensors
    fetched = weight_bytes / config.wgt_bytes * config.uop_bytes
    data_instructions = 1 if geometry.kernel == 1 and columns == geometry.result.width else inputs
    load = (
        data_loads * (data_bytes / speed + data_instructions * latency)
        + weight_loads * (weight_bytes / speed + latency)
    )  # fmt: skip
    compute = (
        geometry.products
        + whole * (1 + epilogue.passes)
        + tiles * chunks * len(geometry.phases) * (config.pipeline + 1)
        + tiles * (1 + epilogue.passes) * config.pipeline
        + extra / speed
        + tiles * epilogue.tensors * latency
        + fetched / speed
        + latency
    )
    stores = 1 if columns == geometry.result.width else outputs
    store = stored / speed + tiles * stores * latency
    moved = data_loads * data_bytes + weight_loads * weight_bytes + stored + extra + fetched
    first = (data_bytes + weight_bytes) / speed + latency * (1 + data_instructions)
    last = rows * columns * outputs * epilogue.stored / speed + latency
    if tiles * chunks > 1 and 1 in (
        slots[0] if data_loads > 1 else 2,
        slots[1] if weight_loads > 1 else 2,
    ):
        return load + compute + last  # nothing is loaded meanwhile
    return max(compute, load, store, moved / speed) + first + last


@lru_cache(maxsize=256)
def _divisors(number: int) -> tuple[int, ...]:
    return tuple(n for n in range(1, number + 1) if number % n == 0)


@lru_cache(maxsize=256)
def _extents(extent: int, step: int) -> tuple[int, ...]:
    """Extents of tiles, multiples of a step, that divide an axis into 1, 2, … parts."""
    parts = {-(-extent // many) for many in range(1, extent + 1)}
    return tuple(sorted({-(-part // step) * step for part in parts}))
