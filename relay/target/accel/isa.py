"""The instructions of the accelerator, as data and as 32 bytes each.

    Transfer   LOAD and STORE: a rectangle of entries between memory and a buffer; loads may pad
    Gemm       micro-operations in two loops: accumulators += inputs x weights, or accumulators = 0
    Alu        micro-operations in two loops: accumulators = accumulators op (accumulators | number)
    Noop       waits and signals only
    Finish     the end of the program

There are three units with a queue each: LOAD, which fills the input and weight buffers; COMPUTE,
which executes Gemm and Alu, and loads micro-operations and accumulators; STORE. A unit executes its
instructions in order. What one needs of another it waits for with tokens: an instruction may take
one from, and give one to, the unit before it and the unit after it (`Sync`).

The index of a micro-operation in loop iteration (o, i) is `base + own + o * first + i * second`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final

import numpy as np

from relay.errors import EvaluationError
from relay.immutable import frozen
from relay.target.accel.config import Config

SIZE: Final = 32  # bytes of an instruction


class Unit(IntEnum):
    """Who executes an instruction."""

    LOAD = 0
    COMPUTE = 1
    STORE = 2


class Memory(IntEnum):
    """A buffer, and how its entries lie in memory."""

    UOP = 0
    WGT = 1
    INP = 2
    ACC = 3  # 32-bit numbers
    ACC8 = 4  # accumulators, as bytes: loads extend the sign, stores keep the low byte


class AluOp(IntEnum):
    """What the ALU computes of two 32-bit integers, modulo 2^32."""

    ADD = 0
    MUL = 1
    MIN = 2
    MAX = 3
    SHR = 4  # arithmetic, by -31 to 31: a negative number shifts to the left


class Opcode(IntEnum):
    """The first byte of an instruction."""

    LOAD = 0
    STORE = 1
    GEMM = 2
    ALU = 3
    NOOP = 4
    FINISH = 5


@frozen
class Sync:
    """The tokens of an instruction: taken before it starts, given when it ends. The units in order
    are LOAD, COMPUTE, STORE."""

    pop_prev: bool = False
    pop_next: bool = False
    push_prev: bool = False
    push_next: bool = False

    @property
    def bits(self) -> int:
        return self.pop_prev | self.pop_next << 1 | self.push_prev << 2 | self.push_next << 3

    @classmethod
    def of_bits(cls, bits: int) -> Sync:
        return cls(*(bool(bits >> place & 1) for place in range(4)))


NONE: Final = Sync()


@frozen
class Transfer:
    """`rows` rows of `columns` entries, `stride` entries apart in memory, and dense in the buffer;
    a load puts zeros around them: rows above and below, columns left and right."""

    store: bool
    memory: Memory
    sram: int  # the first entry in the buffer
    dram: int  # the address of the first byte
    rows: int
    columns: int
    stride: int
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)  # top, bottom, left, right
    sync: Sync = NONE

    @property
    def unit(self) -> Unit:
        if self.store:
            return Unit.STORE
        return Unit.LOAD if self.memory in (Memory.INP, Memory.WGT) else Unit.COMPUTE


@frozen
class Gemm:
    """acc[dst] += inp[src] x wgt[weight], or acc[dst] = 0, for micro-operations in two loops."""

    reset: bool
    uops: tuple[int, int]  # the first one, and the one behind the last
    loops: tuple[int, int]
    bases: tuple[int, int, int]  # dst, src, weight
    dst: tuple[int, int]  # factors of the outer and the inner loop
    src: tuple[int, int] = (0, 0)
    wgt: tuple[int, int] = (0, 0)
    sync: Sync = NONE

    unit = Unit.COMPUTE

    @property
    def cycles(self) -> int:
        """One for each micro-operation in each iteration."""
        return max(0, self.uops[1] - self.uops[0]) * self.loops[0] * self.loops[1]


@frozen
class Alu:
    """acc[dst] = acc[dst] op acc[src], or op `immediate`, in the order of the loops."""

    op: AluOp
    uops: tuple[int, int]
    loops: tuple[int, int]
    bases: tuple[int, int]  # dst, src
    dst: tuple[int, int]
    src: tuple[int, int] = (0, 0)
    immediate: int | None = None
    sync: Sync = NONE

    unit = Unit.COMPUTE

    @property
    def cycles(self) -> int:
        """One for each micro-operation in each iteration."""
        return max(0, self.uops[1] - self.uops[0]) * self.loops[0] * self.loops[1]


@frozen
class Noop:
    """Nothing but tokens."""

    unit: Unit
    sync: Sync = NONE


@frozen
class Finish:
    """The end of the program, when COMPUTE gets here."""

    sync: Sync = NONE

    unit = Unit.COMPUTE


Instruction = Transfer | Gemm | Alu | Noop | Finish

# --- bytes

_TRANSFER: Final = struct.Struct("<BBBxIQHHIHHHH")
_GEMM: Final = struct.Struct("<BBBx2H2H3H2H2H2H2x")
_ALU: Final = struct.Struct("<BBBB2H2H2H2H2Hi4x")
_PLAIN: Final = struct.Struct("<BBB29x")


def encode(program: Iterable[Instruction]) -> bytes:
    """The bytes of instructions."""
    return b"".join(map(_encoded, program))


def _encoded(one: Instruction) -> bytes:
    bits = one.sync.bits
    try:
        match one:
            case Transfer():
                code = Opcode.STORE if one.store else Opcode.LOAD
                place = (one.sram, one.dram, one.rows, one.columns, one.stride)
                return _TRANSFER.pack(code, bits, one.memory, *place, *one.pads)
            case Gemm():
                numbers = (*one.uops, *one.loops, *one.bases, *one.dst, *one.src, *one.wgt)
                return _GEMM.pack(Opcode.GEMM, bits, one.reset, *numbers)
            case Alu():
                pairs = (*one.uops, *one.loops, *one.bases, *one.dst, *one.src)
                has, number = one.immediate is not None, one.immediate or 0
                return _ALU.pack(Opcode.ALU, bits, one.op, has, *pairs, number)
            case Noop():
                return _PLAIN.pack(Opcode.NOOP, bits, one.unit)
            case Finish():
                return _PLAIN.pack(Opcode.FINISH, bits, 0)
    except struct.error as error:
        raise EvaluationError.of(
            f"an instruction of the accelerator does not fit in {SIZE} bytes: {error}",
            found=str(one),
        ) from error


def decode(data: bytes) -> list[Instruction]:
    """The instructions of bytes."""
    if len(data) % SIZE:
        raise _wrong(f"{len(data)} bytes", f"a multiple of {SIZE} bytes")
    return [_decoded(data[at : at + SIZE]) for at in range(0, len(data), SIZE)]


def _decoded(data: bytes) -> Instruction:
    try:
        code = Opcode(data[0])
        if data[1] > 15:
            raise ValueError(f"{data[1]} is no set of tokens")
        sync = Sync.of_bits(data[1])
        match code:
            case Opcode.LOAD | Opcode.STORE:
                _, _, memory, sram, dram, rows, columns, stride, *pads = _TRANSFER.unpack(data)
                store = code is Opcode.STORE
                top, bottom, left, right = pads
                around = (top, bottom, left, right)
                place = (sram, dram, rows, columns, stride)
                return Transfer(store, Memory(memory), *place, around, sync)
            case Opcode.GEMM:
                _, _, reset, *n = _GEMM.unpack(data)
                return Gemm(
                    bool(reset),
                    (n[0], n[1]),
                    (n[2], n[3]),
                    (n[4], n[5], n[6]),
                    (n[7], n[8]),
                    (n[9], n[10]),
                    (n[11], n[12]),
                    sync,
                )
            case Opcode.ALU:
                _, _, op, has, *n = _ALU.unpack(data)
                pairs = ((n[0], n[1]), (n[2], n[3]), (n[4], n[5]), (n[6], n[7]), (n[8], n[9]))
                return Alu(AluOp(op), *pairs, n[10] if has else None, sync)
            case Opcode.NOOP:
                return Noop(Unit(data[2]), sync)
            case Opcode.FINISH:
                return Finish(sync)
    except ValueError as error:
        raise _wrong(data.hex(), str(error)) from error


def _wrong(found: str, expected: str) -> EvaluationError:
    return EvaluationError.of(
        "this is no program for the accelerator", expected=expected, found=found
    )


# --- micro-operations


def encode_uops(uops: Sequence[tuple[int, int, int]], config: Config) -> bytes:
    """The words of micro-operations (dst, src, weight)."""
    widths = config.uop_widths
    found = np.asarray(uops, np.uint64).reshape(-1, 3)
    for column, width in zip(found.T, widths, strict=True):
        if column.size and int(column.max()) >> width:
            raise EvaluationError.of(
                "an index of a micro-operation is too large",
                expected=f"{width} bits",
                found=str(int(column.max())),
            )
    first, second = np.uint64(widths[0]), np.uint64(widths[0] + widths[1])
    words = found[:, 0] | found[:, 1] << first | found[:, 2] << second
    return bytes(words.astype(f"<u{config.uop_bytes}").tobytes())


def decode_uops(words: np.ndarray, config: Config) -> np.ndarray:
    """The indices (dst, src, weight) of words, as rows."""
    wide = words.astype(np.uint64)
    columns = []
    for width in config.uop_widths:
        columns.append((wide & np.uint64((1 << width) - 1)).astype(np.int64))
        wide >>= np.uint64(width)
    return np.stack(columns, axis=-1)
