"""The instructions of one layer.

A tile of the result goes through the units like this; the next one is loaded and the last one is
stored meanwhile, because data, weights and accumulators are in slots that take turns:

    LOAD       chunk of data, chunk of weights  --token-->                   (for each chunk)
    COMPUTE    accumulators = 0; += data x weights (for each chunk); steps   --token-->
    STORE      the tile

Tokens the other way say that a slot may be filled again. Between layers all units wait for each
other: the next one loads what this one has stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay.immutable import frozen
from relay.target.accel.config import Config
from relay.target.accel.geometry import Blocks, Geometry
from relay.target.accel.isa import (
    Alu,
    AluOp,
    Finish,
    Gemm,
    Instruction,
    Memory,
    Noop,
    Sync,
    Transfer,
    Unit,
)
from relay.target.accel.layers import Add, Bias, Clamp, Number, Shift, Step
from relay.target.accel.tiling import Tiling, bias_room


@frozen
class Place:
    """A tensor in memory."""

    address: int
    blocks: Blocks


@frozen
class Work:
    """A layer with the addresses of all that it reads and writes."""

    data: Place
    result: Place
    words: bool  # the result has 32 bits
    steps: tuple[Step, ...]
    added: tuple[Place, ...]  # the tensor of each `Add`
    biases: tuple[int, ...]  # the address of each `Bias`
    uops: int = 0  # the address of micro-operations
    weights: int = 0
    geometry: Geometry | None = None
    tiling: Tiling | None = None


Uop = tuple[int, int, int]


def layer_uops(geometry: Geometry | None, tiling: Tiling | None) -> list[Uop]:
    """The micro-operations of a layer: one that stands for any entry, then those of each phase, for
    the first tile, all channels of it."""
    found: list[Uop] = [(0, 0, 0)]
    if geometry is None or tiling is None:
        return found
    high, wide = geometry.window(tiling.rows, tiling.columns)
    points = tiling.rows * tiling.columns
    y, x = geometry.first
    for phase in geometry.phases:
        for o in range(tiling.outputs):
            for i in range(tiling.inputs):
                for tap in phase.taps:
                    source = i * high * wide + (tap.y - y) * wide + tap.x - x
                    weight = (o * tiling.inputs + i) * geometry.kernel + tap.number
                    found.append((o * points, source, weight))
    return found


def passes(steps: Sequence[Step]) -> int:
    """How often the ALU goes over a tile."""
    total = 0
    for step in steps:
        match step:
            case Add(shift=shift):
                total += 2 if shift else 1
            case Clamp(low=low, high=high):
                total += len(_bounds(low, high))
            case _:
                total += 1
    return total


class Emitter:
    """A program that grows layer by layer."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.program: list[Instruction] = []
        self.unstored = 0  # tokens of STORE that nobody has taken
        self.begun = False

    def finish(self) -> None:
        """End the program, when all is stored."""
        self._take_stored()
        self.program.append(Finish())

    def layer(self, work: Work) -> None:
        """Append the instructions of a layer."""
        self._take_stored()
        if work.geometry is None or work.tiling is None:
            _Elements(self, work).emit()
        else:
            _Products(self, work, work.geometry, work.tiling).emit()

    # --- what layers share

    def add(self, one: Instruction) -> int:
        """Append an instruction; its index."""
        self.program.append(one)
        return len(self.program) - 1

    def mark(self, index: int, **tokens: bool) -> None:
        """Have an instruction take or give tokens."""
        one = self.program[index]
        self.program[index] = replace(one, sync=replace(one.sync, **tokens))

    def alu(
        self, op: AluOp, tile: _Tile, source: tuple[int, int, int] | None, number: int | None
    ) -> int:
        """An operation on all entries of a tile, with entries from a base, or with a number."""
        base, first, second = source or (0, 0, 0)
        bases, own = (tile.base, base), (tile.pitch, 1)
        loops = (tile.outputs, tile.points)
        return self.add(Alu(op, (0, 1), loops, bases, own, (first, second), number))

    def steps(self, work: Work, tile: _Tile, scratch: int, biases: Sequence[int]) -> int | None:
        """The steps of a layer on a tile; the index of the last instruction."""
        last = None
        added, bias = iter(work.added), iter(biases)
        for step in work.steps:
            match step:
                case Bias():
                    last = self.alu(AluOp.ADD, tile, (next(bias), 1, 0), None)
                case Number(value=value):
                    last = self.alu(AluOp.ADD, tile, None, value)
                case Shift(by=by):
                    last = self.alu(AluOp.SHR, tile, None, by)
                case Clamp(low=low, high=high):
                    for op, bound in _bounds(low, high):
                        last = self.alu(op, tile, None, bound)
                case Add(shift=shift):
                    copy = replace(tile, base=scratch)
                    self._tile_load(copy, next(added))
                    if shift:
                        self.alu(AluOp.SHR, copy, None, -shift)
                    last = self.alu(AluOp.ADD, tile, (scratch, tile.pitch, 1), None)
        return last

    def store(self, work: Work, tile: _Tile) -> None:
        """Store a tile, after COMPUTE, and give a token when that is done."""
        size = self.config.acc_bytes if work.words else self.config.out_bytes
        memory = Memory.ACC if work.words else Memory.ACC8
        first = len(self.program)
        for transfer in tile.transfers(work.result, memory, size, True):
            self.add(transfer)
        self.mark(first, pop_prev=True)
        self.mark(len(self.program) - 1, push_prev=True)
        self.unstored += 1

    def _tile_load(self, tile: _Tile, place: Place) -> None:
        for transfer in tile.transfers(place, Memory.ACC8, self.config.out_bytes, False):
            self.add(transfer)

    def _take_stored(self) -> None:
        """COMPUTE waits until all is stored."""
        for _ in range(self.unstored):
            self.add(Noop(Unit.COMPUTE, Sync(pop_next=True)))
        self.unstored = 0


@frozen
class _Tile:
    """A part of a tensor in the accumulators, and where it is in the tensor."""

    base: int  # the first entry
    pitch: int  # entries from one block of channels to the next
    outputs: int
    batch: int
    channel: int
    y: int
    x: int
    rows: int
    columns: int

    @property
    def points(self) -> int:
        return self.rows * self.columns

    def transfers(self, place: Place, memory: Memory, size: int, store: bool) -> list[Transfer]:
        """Loads or stores of the tile, as few as possible."""
        blocks = place.blocks
        plane = blocks.plane
        number = (self.batch * blocks.channels + self.channel) * plane
        number += self.y * blocks.width + self.x
        address = place.address + number * size
        if self.columns == blocks.width and self.pitch == self.points:
            return [Transfer(store, memory, self.base, address, self.outputs, self.points, plane)]
        return [
            Transfer(
                store,
                memory,
                self.base + o * self.pitch,
                address + o * plane * size,
                self.rows,
                self.columns,
                blocks.width,
            )
            for o in range(self.outputs)
        ]


def _bounds(low: int, high: int) -> list[tuple[AluOp, int]]:
    """The operations that limit to a range."""
    found = [(AluOp.MAX, low)] if low > -(2**31) else []
    return found + ([(AluOp.MIN, high)] if high < 2**31 - 1 else [])


class _Slots:
    """The slots of one buffer: what is in each, and the last step that reads it."""

    def __init__(self, count: int, size: int) -> None:
        self.size = size
        self.keys: list[tuple[int, ...] | None] = [None] * count
        self.used = [-1] * count

    def find(self, key: tuple[int, ...], step: int) -> tuple[int, bool, int]:
        """(the slot for a chunk, whether it is there already, the last step that read what it
        replaces)"""
        if key in self.keys:
            slot = self.keys.index(key)
            self.used[slot] = step
            return slot, True, -1
        slot = min(range(len(self.keys)), key=self.used.__getitem__)
        before, self.used[slot], self.keys[slot] = self.used[slot], step, key
        return slot, False, before


class _Products:
    """A layer with a product."""

    def __init__(self, to: Emitter, work: Work, geometry: Geometry, tiling: Tiling) -> None:
        self.to = to
        self.work = work
        self.geometry = geometry
        self.tiling = tiling
        self.config = to.config
        self.high, self.wide = geometry.window(tiling.rows, tiling.columns)
        self.data = _Slots(tiling.data_slots, tiling.inputs * self.high * self.wide)
        kernels = tiling.outputs * tiling.inputs * geometry.kernel
        self.weights = _Slots(tiling.weight_slots, kernels)
        self.pitch = tiling.rows * tiling.columns
        self.held = tiling.outputs * self.pitch
        self.ends: list[int] = []  # the last Gemm of each step
        self.waited = -1  # the last step that LOAD has waited for
        self.blocked = to.begun  # LOAD has to wait for the last layer

    def emit(self) -> None:
        to, work, config = self.to, self.work, self.config
        if self.blocked:
            to.add(Noop(Unit.COMPUTE, Sync(push_prev=True)))
        to.begun = True
        count = len(layer_uops(self.geometry, self.tiling))
        to.add(Transfer(False, Memory.UOP, 0, work.uops, 1, count, count))
        resident = bias_room(self.geometry, config)
        top = config.entries["acc"]
        biases = []
        for address in work.biases:
            room = resident or self.tiling.outputs
            top -= room
            biases.append(top)
            if resident:
                to.add(Transfer(False, Memory.ACC, top, address, 1, resident, resident))
        tiles = self._tiles()
        slots = min(2, len(tiles))
        scratch = slots * self.held
        backwards = False
        for number, tile in enumerate(tiles):
            tile = replace(tile, base=number % slots * self.held)
            chunks = range(self.geometry.data.channels // self.tiling.inputs)
            for place, chunk in enumerate(reversed(chunks) if backwards else chunks):
                loaded = self._load(tile, chunk)
                if place == 0:
                    self._reset(tile, number >= slots)
                self._multiply(tile, chunk, loaded)
            backwards = not backwards
            own = [base if resident else top for base in biases]
            if resident:
                own = [base + tile.channel for base in biases]
            elif biases:
                own = biases
                self._load_biases(tile, biases)
            last = to.steps(work, tile, scratch, own)
            to.mark(self.ends[-1] if last is None else last, push_next=True)
            to.store(work, tile)

    def _load_biases(self, tile: _Tile, bases: Sequence[int]) -> None:
        size = self.config.acc_bytes
        for base, address in zip(bases, self.work.biases, strict=True):
            at = address + tile.channel * size
            self.to.add(Transfer(False, Memory.ACC, base, at, 1, tile.outputs, tile.outputs))

    def _tiles(self) -> list[_Tile]:
        result, tiling = self.geometry.result, self.tiling
        channels = range(0, result.channels, tiling.outputs)
        places = [
            (n, y, x)
            for n in range(result.batches)
            for y in range(0, result.height, tiling.rows)
            for x in range(0, result.width, tiling.columns)
        ]
        order = (
            [(place, channel) for place in places for channel in channels]
            if tiling.by_data
            else [(place, channel) for channel in channels for place in places]
        )
        return [
            _Tile(
                0,
                self.pitch,
                tiling.outputs,
                n,
                channel,
                y,
                x,
                min(tiling.rows, result.height - y),
                min(tiling.columns, result.width - x),
            )
            for (n, y, x), channel in order
        ]

    # --- steps

    def _load(self, tile: _Tile, chunk: int) -> tuple[int, int, bool]:
        """Load what a step needs: the first entries of data and weights, and whether anything had
        to be loaded."""
        step = len(self.ends)
        slot, is_there, before = self.data.find((tile.batch, tile.y, tile.x, chunk), step)
        source = slot * self.data.size
        transfers = [] if is_there else self._data_transfers(tile, chunk, source)
        slot, is_there, late = self.weights.find((tile.channel, chunk), step)
        weights = slot * self.weights.size
        if not is_there:
            transfers.append(self._weight_transfer(tile, chunk, weights))
        if not transfers:
            return source, weights, False
        first = len(self.to.program)
        for transfer in transfers:
            self.to.add(transfer)
        self.to.mark(len(self.to.program) - 1, push_next=True)
        needed = max(before, late)
        if self.blocked:
            self.to.mark(first, pop_next=True)
            self.blocked = False
        if needed > self.waited:
            self.to.mark(first, pop_next=True)
            self.to.mark(self.ends[needed], push_prev=True)
            self.waited = needed
        return source, weights, True

    def _data_transfers(self, tile: _Tile, chunk: int, sram: int) -> list[Transfer]:
        geometry, size = self.geometry, self.config.inp_bytes
        place, blocks = self.work.data, geometry.data
        y = geometry.stride[0] * (tile.y // geometry.step[0]) + geometry.first[0]
        x = geometry.stride[1] * (tile.x // geometry.step[1]) + geometry.first[1]
        top, bottom, rows, y = _clipped(y, self.high, blocks.height)
        left, right, columns, x = _clipped(x, self.wide, blocks.width)
        number = (tile.batch * blocks.channels + chunk * self.tiling.inputs) * blocks.plane
        address = place.address + (number + y * blocks.width + x) * size
        many = self.tiling.inputs
        pads = (top, bottom, left, right)
        if pads == (0, 0, 0, 0) and columns == blocks.width:
            held = rows * columns
            return [Transfer(False, Memory.INP, sram, address, many, held, blocks.plane)]
        return [
            Transfer(
                False,
                Memory.INP,
                sram + i * self.high * self.wide,
                address + i * blocks.plane * size,
                rows,
                columns,
                blocks.width,
                pads,
            )
            for i in range(many)
        ]

    def _weight_transfer(self, tile: _Tile, chunk: int, sram: int) -> Transfer:
        kernel, inputs = self.geometry.kernel, self.tiling.inputs
        pitch = self.geometry.data.channels * kernel
        number = tile.channel * pitch + chunk * inputs * kernel
        address = self.work.weights + number * self.config.wgt_bytes
        held = inputs * kernel
        return Transfer(False, Memory.WGT, sram, address, tile.outputs, held, pitch)

    def _reset(self, tile: _Tile, wait: bool) -> None:
        loops = (tile.outputs, tile.points)
        index = self.to.add(Gemm(True, (0, 1), loops, (tile.base, 0, 0), (tile.pitch, 1)))
        if wait:
            self.to.mark(index, pop_next=True)
            self.to.unstored -= 1

    def _multiply(self, tile: _Tile, chunk: int, loaded: tuple[int, int, bool]) -> None:
        source, weights, is_new = loaded
        geometry, tiling = self.geometry, self.tiling
        first = len(self.to.program)
        begin = 1
        for phase in geometry.phases:
            count = tiling.outputs * tiling.inputs * len(phase.taps)
            rows = max(0, -(-(tile.rows - phase.y) // geometry.step[0]))
            columns = max(0, -(-(tile.columns - phase.x) // geometry.step[1]))
            base = tile.base + phase.y * tile.columns + phase.x
            if count and rows and columns:
                self.to.add(
                    Gemm(
                        False,
                        (begin, begin + count),
                        (rows, columns),
                        (base, source, weights),
                        (geometry.step[0] * tile.columns, geometry.step[1]),
                        (geometry.stride[0] * self.wide, geometry.stride[1]),
                    )
                )
            begin += count
        if first == len(self.to.program):
            self.to.add(Noop(Unit.COMPUTE))
        if is_new:
            self.to.mark(first, pop_prev=True)
        self.ends.append(len(self.to.program) - 1)


def _clipped(begin: int, extent: int, limit: int) -> tuple[int, int, int, int]:
    """The part of an axis that a window covers: (zeros before, zeros behind, elements, the first
    one)"""
    low, high = min(max(begin, 0), limit), max(min(begin + extent, limit), 0)
    count = max(0, high - low)
    if not count:
        return extent, 0, 0, 0
    return low - begin, begin + extent - high, count, low


class _Elements:
    """A layer without a product: COMPUTE loads bytes, and the ALU does the rest."""

    def __init__(self, to: Emitter, work: Work) -> None:
        self.to = to
        self.work = work

    def emit(self) -> None:
        to, work = self.to, self.work
        to.begun = True
        to.add(Transfer(False, Memory.UOP, 0, work.uops, 1, 1, 1))
        total = work.result.blocks.count
        parts = 3 if work.added else 2
        held = min(total, to.config.entries["acc"] // parts, 65_535)
        flat = Blocks(1, 1, 1, total)
        data, result = Place(work.data.address, flat), Place(work.result.address, flat)
        added = tuple(Place(place.address, flat) for place in work.added)
        work = replace(work, data=data, result=result, added=added)
        for number, at in enumerate(range(0, total, held)):
            count = min(held, total - at)
            tile = _Tile(number % 2 * held, held, 1, 0, 0, 0, at, 1, count)
            first = len(to.program)
            to._tile_load(tile, work.data)
            if number >= 2:
                to.mark(first, pop_next=True)
                to.unstored -= 1
            last = to.steps(work, tile, 2 * held, ())
            to.mark(len(to.program) - 1 if last is None else last, push_next=True)
            to.store(work, tile)
