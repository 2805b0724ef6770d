"""What Gemm and Alu compute, over whole instructions at once.

A Gemm is many small products. Where all accumulators take the same inputs, which is how layers are
written, it is one product of matrices: the inputs of all positions times the weights of all
micro-operations. Sums of float32 are exact here: products of bytes with fewer than 2^24 / 2^14
terms.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from relay.errors import EvaluationError
from relay.target.accel.isa import Alu, AluOp, Gemm, Memory
from relay.target.accel.memory import Clock, Machine

EXACT: Final = 1 << 10  # products of bytes whose sum is exact in float32
MOST: Final = 1 << 21  # elements that are gathered at once


def gemm(machine: Machine, one: Gemm, number: int, clock: Clock) -> None:
    """Execute a Gemm."""
    if not one.cycles:
        return
    uops = _uops(machine, one.uops, number, clock)
    steps = _steps(one.loops)
    dst = _places(uops[:, 0], steps, one.bases[0], one.dst)
    touched = _distinct(dst)
    if one.reset:
        machine.gather(Memory.ACC, touched, number, clock, True)
        machine.acc[touched] = 0
        return
    src = _places(uops[:, 1], steps, one.bases[1], one.src)
    wgt = _places(uops[:, 2], steps, one.bases[2], one.wgt)
    machine.gather(Memory.INP, _distinct(src), number, clock, False)
    machine.gather(Memory.WGT, _distinct(wgt), number, clock, False)
    machine.gather(Memory.ACC, touched, number, clock, False)
    machine.gather(Memory.ACC, touched, number, clock, True)
    if one.wgt == (0, 0) and len(touched) == len(np.unique(uops[:, 0])) * len(steps):
        _as_matrices(machine, uops, dst, src, one.bases[2])
    else:
        _one_by_one(machine, dst.ravel(), src.ravel(), wgt.ravel())


def _as_matrices(
    machine: Machine, uops: np.ndarray, dst: np.ndarray, src: np.ndarray, base: int
) -> None:
    """Weights depend on the micro-operation only, and positions have accumulators of their own."""
    order = np.argsort(uops[:, 0], kind="stable")
    starts = np.flatnonzero(np.diff(uops[order, 0], prepend=-1))
    groups = np.split(order, starts[1:])
    known: dict[bytes, list[np.ndarray]] = {}
    for group in groups:
        known.setdefault(uops[group, 1].tobytes(), []).append(group)
    batch, inner = machine.inp.shape[1:]
    outer = machine.wgt.shape[1]
    positions = dst.shape[1]
    span = max(1, EXACT // inner)
    for same in known.values():  # accumulators that take the same inputs
        total = np.zeros((positions * batch, len(same) * outer), np.int32)
        table = np.stack(same)  # (accumulators, micro-operations of each)
        for at in range(0, table.shape[1], span):
            part = table[:, at : at + span]
            data = machine.inp[src[part[0]].T]  # (positions, terms, batch, inner)
            left = data.transpose(0, 2, 1, 3).astype(np.float32)
            weights = machine.wgt[base + uops[part, 2]]  # (accumulators, terms, outer, inner)
            right = weights.transpose(1, 3, 0, 2).astype(np.float32)
            terms = part.shape[1] * inner
            product = left.reshape(-1, terms) @ right.reshape(terms, -1)
            total += product.astype(np.int32)
        sums = total.reshape(positions, batch, len(same), outer).transpose(2, 0, 1, 3)
        machine.acc[dst[table[:, 0]]] += sums


def _one_by_one(machine: Machine, dst: np.ndarray, src: np.ndarray, wgt: np.ndarray) -> None:
    """Any indices."""
    size = machine.wgt[0].size + machine.inp[0].size
    for at in range(0, len(dst), max(1, MOST // size)):
        part = slice(at, at + max(1, MOST // size))
        left = machine.inp[src[part]].astype(np.float32)
        right = machine.wgt[wgt[part]].astype(np.float32)
        product = (left @ right.transpose(0, 2, 1)).astype(np.int32)
        np.add.at(machine.acc, dst[part], product)


def alu(machine: Machine, one: Alu, number: int, clock: Clock) -> None:
    """Execute an Alu."""
    if not one.cycles:
        return
    uops = _uops(machine, one.uops, number, clock)
    steps = _steps(one.loops)
    # in the order of execution: loops are outside of micro-operations
    dst = _places(uops[:, 0], steps, one.bases[0], one.dst).T.ravel()
    touched = _distinct(dst)
    machine.gather(Memory.ACC, touched, number, clock, False)
    acc = machine.acc
    if one.immediate is not None:
        machine.gather(Memory.ACC, touched, number, clock, True)
        value = np.int32(one.immediate)
        if len(touched) == len(dst):
            acc[dst] = _computed(one.op, acc[dst], value)
        else:
            for to in dst.tolist():
                acc[to] = _computed(one.op, acc[to], value)
        return
    src = _places(uops[:, 1], steps, one.bases[1], one.src).T.ravel()
    read = _distinct(src)
    machine.gather(Memory.ACC, read, number, clock, False)
    machine.gather(Memory.ACC, touched, number, clock, True)
    apart = len(np.intersect1d(touched, read, assume_unique=True)) == 0
    if len(touched) == len(dst) and (apart or np.array_equal(dst, src)):
        acc[dst] = _computed(one.op, acc[dst], acc[src])
        return
    for to, of in zip(dst.tolist(), src.tolist(), strict=True):
        acc[to] = _computed(one.op, acc[to], acc[of])


def _computed(op: AluOp, left: np.ndarray, right: np.ndarray | np.int32) -> np.ndarray:
    match op:
        case AluOp.ADD:
            found = left.astype(np.int64) + right
        case AluOp.MUL:
            found = left.astype(np.int64) * right
        case AluOp.MIN:
            found = np.minimum(left, right)
        case AluOp.MAX:
            found = np.maximum(left, right)
        case AluOp.SHR:
            by = np.asarray(right, np.int64)
            if by.size and (int(by.min()) < -31 or int(by.max()) > 31):
                raise EvaluationError.of(
                    "a shift of the ALU is out of range",
                    expected="-31 to 31",
                    found=str(int(by.min() if by.min() < -31 else by.max())),
                )
            wide = left.astype(np.int64)
            found = np.where(by >= 0, wide >> np.maximum(by, 0), wide << np.maximum(-by, 0))
    return found.astype(np.int32)  # modulo 2^32


def _uops(machine: Machine, span: tuple[int, int], number: int, clock: Clock) -> np.ndarray:
    machine.gather(Memory.UOP, np.arange(*span), number, clock, False)
    return machine.uop[span[0] : span[1]]


def _steps(loops: tuple[int, int]) -> np.ndarray:
    """The iterations (o, i), in their order."""
    outer, inner = loops
    found = np.empty((outer, inner, 2), np.int64)
    found[..., 0] = np.arange(outer)[:, None]
    found[..., 1] = np.arange(inner)
    return found.reshape(-1, 2)


def _places(own: np.ndarray, steps: np.ndarray, base: int, factors: tuple[int, int]) -> np.ndarray:
    """The index of each micro-operation (rows) in each iteration."""
    found: np.ndarray = own[:, None] + (base + steps @ np.asarray(factors, np.int64))
    return found


def _distinct(indices: np.ndarray) -> np.ndarray:
    """The different indices, in order; faster than np.unique for small numbers."""
    return np.flatnonzero(np.bincount(indices.ravel()))
