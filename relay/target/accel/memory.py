"""The buffers of an accelerator and its memory, and who used what when.

Units run at the same time, ordered by tokens only. Every access is checked against the accesses of
other units to the same entries: if one of the two writes, tokens must say that the other one is
over. So the result of a program that ends without an error does not depend on how long anything
takes. Entries that were never written cannot be read.

An instruction is known by its number in its unit, from 1. A clock is, for each unit, the number of
the last instruction that is known to be over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from relay.errors import EvaluationError
from relay.target.accel.config import Config
from relay.target.accel.isa import Memory, Transfer, Unit, decode_uops

Clock = tuple[int, int, int]
GRAIN: Final = 16  # bytes of memory whose uses are recorded as one


class Uses:
    """The last accesses to each entry of a buffer, or each grain of the memory."""

    def __init__(self, name: str, entries: int, readers: Sequence[Unit], writer: Unit) -> None:
        self.name = name
        self.writer = writer
        self.written = np.zeros(entries, np.int64)
        self.read = {unit: np.zeros(entries, np.int64) for unit in readers if unit != writer}
        self.known = np.zeros(entries, np.bool_)

    def reads(self, where: np.ndarray | slice, unit: Unit, number: int, clock: Clock) -> None:
        """Record a read by an instruction of `unit`; an error if it is not safe."""
        if not self.known[where].all():
            raise self._hazard(where, unit, ~self.known, "reads", "was never written")
        if unit != self.writer:
            late = self.written[where].max(initial=0)
            if late > clock[self.writer]:
                text = f"instruction {late} of {self.writer.name} may still be writing"
                raise self._hazard(where, unit, self.written == late, "reads", text)
            self.read[unit][where] = number

    def writes(self, where: np.ndarray | slice, unit: Unit, number: int, clock: Clock) -> None:
        """Record a write, by the unit that writes here."""
        for reader, read in self.read.items():
            late = read[where].max(initial=0)
            if late > clock[reader]:
                text = f"instruction {late} of {reader.name} may still be reading"
                raise self._hazard(where, unit, read == late, "writes", text)
        self.written[where] = number
        self.known[where] = True

    def _hazard(
        self, where: np.ndarray | slice, unit: Unit, bad: np.ndarray, verb: str, text: str
    ) -> EvaluationError:
        chosen = np.zeros(len(self.known), np.bool_)
        chosen[where] = True
        entry = int(np.argmax(chosen & bad))
        hint = None if "never" in text else "a token between the two units is missing"
        return EvaluationError.of(
            f"{unit.name} {verb} entry {entry} of {self.name}, which {text}", hint=hint
        )


def entry_bytes(config: Config) -> dict[Memory, int]:
    """The bytes of an entry in memory."""
    return {
        Memory.UOP: config.uop_bytes,
        Memory.WGT: config.wgt_bytes,
        Memory.INP: config.inp_bytes,
        Memory.ACC: config.acc_bytes,
        Memory.ACC8: config.out_bytes,
    }


class Machine:
    """The contents of memory and buffers."""

    def __init__(self, config: Config, size: int) -> None:
        self.config = config
        self.dram = np.zeros(-(-size // GRAIN) * GRAIN, np.uint8)
        n = config.entries
        self.inp = np.zeros((n["inp"], config.batch, config.block_in), np.int8)
        self.wgt = np.zeros((n["wgt"], config.block_out, config.block_in), np.int8)
        self.acc = np.zeros((n["acc"], config.batch, config.block_out), np.int32)
        self.uop = np.zeros((n["uop"], 3), np.int64)
        self.bytes = entry_bytes(config)
        load, compute, store = Unit
        acc = Uses("the accumulators", n["acc"], (compute, store), compute)
        self.uses = {
            Memory.UOP: Uses("the micro-operations", n["uop"], (compute,), compute),
            Memory.WGT: Uses("the weight buffer", n["wgt"], (compute,), load),
            Memory.INP: Uses("the input buffer", n["inp"], (compute,), load),
            Memory.ACC: acc,
            Memory.ACC8: acc,
        }
        grains = len(self.dram) // GRAIN
        self.memory = Uses("the memory, in grains of 16 bytes,", grains, (load, compute), store)
        self.memory.known[:] = True  # what the host wrote

    def transfer(self, one: Transfer, number: int, clock: Clock) -> None:
        """Execute a load or a store."""
        if one.store and one.memory not in (Memory.ACC, Memory.ACC8):
            raise EvaluationError.of(
                "only accumulators can be stored", found=f"STORE of {one.memory.name}"
            )
        size = self.bytes[one.memory]
        top, bottom, left, right = one.pads
        height, width = top + one.rows + bottom, left + one.columns + right
        uses = self.uses[one.memory]
        if one.sram + height * width > len(uses.known):
            raise EvaluationError.of(
                f"a {_verb(one)} goes beyond the end of {uses.name}",
                expected=f"up to {len(uses.known)} entries",
                found=f"entries {one.sram} to {one.sram + height * width - 1}",
            )
        if one.store and (top or bottom or left or right):
            raise EvaluationError.of("a store has no padding", found=str(one.pads))
        if one.memory is Memory.UOP and (top or bottom or left or right):
            raise EvaluationError.of("micro-operations have no padding", found=str(one.pads))
        where = slice(one.sram, one.sram + height * width)
        if not one.rows * one.columns:
            if height * width:
                self._pad(one, where, number, clock)
            return
        if one.dram % size:
            raise EvaluationError.of(
                f"the address of a {_verb(one)} is no multiple of an entry",
                expected=f"a multiple of {size}",
                found=str(one.dram),
            )
        last = one.dram + ((one.rows - 1) * one.stride + one.columns) * size
        if last > len(self.dram):
            raise EvaluationError.of(
                f"a {_verb(one)} goes beyond the end of the memory",
                expected=f"up to {len(self.dram)} bytes",
                found=f"bytes {one.dram} to {last - 1}",
            )
        if one.store and one.rows > 1 and one.stride < one.columns:
            raise EvaluationError.of(
                "the rows of a store overlap",
                expected=f"a stride of at least {one.columns}",
                found=str(one.stride),
            )
        rows = self._rows(one, size)
        grains = self._grains(one, size)
        if one.store:
            uses.reads(where, one.unit, number, clock)
            self.memory.writes(grains, one.unit, number, clock)
            rows[...] = self._stored(one.memory, where).reshape(rows.shape)
        else:
            self.memory.reads(grains, one.unit, number, clock)
            uses.writes(where, one.unit, number, clock)
            self._load(one, rows, where, (height, width))

    def gather(
        self, memory: Memory, where: np.ndarray, number: int, clock: Clock, write: bool
    ) -> None:
        """Check and record accesses of COMPUTE to entries of a buffer."""
        uses = self.uses[memory]
        if where.size and int(where.max()) >= len(uses.known):
            raise EvaluationError.of(
                f"an index goes beyond the end of {uses.name}",
                expected=f"less than {len(uses.known)}",
                found=str(int(where.max())),
            )
        check: Callable[..., None] = uses.writes if write else uses.reads
        check(where, Unit.COMPUTE, number, clock)

    # --- parts of transfers

    def _rows(self, one: Transfer, size: int) -> np.ndarray:
        """The bytes of a rectangle in memory, (rows, columns * size)."""
        view = self.dram[one.dram :]
        return np.lib.stride_tricks.as_strided(
            view, (one.rows, one.columns * size), (one.stride * size, 1)
        )

    def _grains(self, one: Transfer, size: int) -> np.ndarray | slice:
        """The grains of a rectangle."""
        first = one.dram + np.arange(one.rows) * one.stride * size
        begin, end = first // GRAIN, (first + one.columns * size - 1) // GRAIN + 1
        if one.rows == 1 or one.stride == one.columns:
            return slice(int(begin[0]), int(end[-1]))
        widest = int((end - begin).max())
        found: np.ndarray = np.minimum(begin[:, None] + np.arange(widest), end[:, None] - 1)
        return found.ravel()

    def _pad(self, one: Transfer, where: slice, number: int, clock: Clock) -> None:
        self.uses[one.memory].writes(where, one.unit, number, clock)
        self._buffer(one.memory)[where] = 0

    def _buffer(self, memory: Memory) -> np.ndarray:
        return {Memory.INP: self.inp, Memory.WGT: self.wgt}.get(memory, self.acc)

    def _load(self, one: Transfer, rows: np.ndarray, where: slice, extent: tuple[int, int]) -> None:
        data = np.ascontiguousarray(rows)
        if one.memory is Memory.UOP:
            words = data.reshape(-1).view(f"<u{self.config.uop_bytes}")
            self.uop[where] = decode_uops(words, self.config)
            return
        buffer = self._buffer(one.memory)
        dtype = np.dtype("<i4" if one.memory is Memory.ACC else np.int8)
        entries = data.reshape(-1).view(dtype).reshape(one.rows, one.columns, *buffer.shape[1:])
        top, _, left, _ = one.pads
        inner = buffer[where].reshape(*extent, *buffer.shape[1:])  # a view
        if one.pads != (0, 0, 0, 0):
            inner[...] = 0
        inner[top : top + one.rows, left : left + one.columns] = entries

    def _stored(self, memory: Memory, where: slice) -> np.ndarray:
        values = self.acc[where]
        if memory is Memory.ACC8:
            return (values & 0xFF).astype(np.uint8)
        return np.ascontiguousarray(values.astype("<i4")).view(np.uint8)


def _verb(one: Transfer) -> str:
    return "store" if one.store else "load"
