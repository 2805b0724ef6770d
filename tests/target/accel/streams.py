"""Random programs of the accelerator, with the tokens that make their order the only one."""

from dataclasses import replace

from relay.target.accel.isa import Alu, AluOp, Finish, Gemm, Memory, Noop, Sync, Transfer, Unit
from tests.target.accel.plain_model import Forbidden, Plain

GRAIN = 16


def in_order(program):
    """The program with a token wherever the next instruction is of another unit."""
    found = []
    for one in program:
        last = found[-1] if found else None
        if last is not None and abs(last.unit - one.unit) == 2:
            found += _linked(found, Noop(Unit.COMPUTE))
        found += _linked(found, one)
    return found


def _linked(found, one):
    """The instruction, waiting for the last one."""
    if not found or found[-1].unit == one.unit:
        return [one]
    up = one.unit > found[-1].unit
    last = found[-1].sync
    given = replace(last, push_next=True) if up else replace(last, push_prev=True)
    found[-1] = replace(found[-1], sync=given)
    return [replace(one, sync=Sync(pop_prev=True) if up else Sync(pop_next=True))]


def random_program(chance, config, size, count, wild=0.0):
    """(program, memory, what the plain model makes of the memory, or None where it forbids). Each
    instruction is out of range with a chance of `wild`."""
    dram = chance.integers(0, 256, size, "uint8")
    model = Plain(config, dram)
    program = []
    while len(program) < count:
        one = _instruction(chance, config, size, wild)
        before = {memory: [*buffer] for memory, buffer in model.buffers.items()}
        memory = [*model.dram]
        try:
            model.run([one])
        except Forbidden:
            if chance.random() < wild:
                return [*program, one, Finish()], dram, None
            model.buffers.update(before)
            model.dram = memory
            continue
        program.append(one)
    return [*program, Finish()], dram, bytes(model.dram)


def _instruction(chance, config, size, wild):
    n = config.entries
    slack = 2 if chance.random() < wild else 0

    def upto(most):
        return int(chance.integers(0, most + 1))

    def pair(most):
        return upto(most), upto(most)

    kind = chance.choice(["uop", "inp", "wgt", "acc", "acc8", "store", "store8", "gemm", "alu"])
    if kind in ("gemm", "alu"):
        first = upto(n["uop"] - 1)
        uops = first, min(n["uop"] + slack, first + upto(3))
        loops, factors = pair(3), [pair(2), pair(2), pair(1)]
        if kind == "gemm":
            bases = upto(3), upto(3), upto(1)
            return Gemm(bool(chance.integers(2)), uops, loops, bases, *factors)
        op = AluOp(upto(4))
        number = upto(62) - 31 if op is AluOp.SHR else upto(2**20) - 2**19
        immediate = None if op is not AluOp.SHR and chance.random() < 0.5 else number
        return Alu(op, uops, loops, pair(3), factors[0], factors[1], immediate)
    memory = {
        "uop": Memory.UOP,
        "inp": Memory.INP,
        "wgt": Memory.WGT,
        "acc": Memory.ACC,
        "store": Memory.ACC,
    }.get(kind, Memory.ACC8)
    wide = {
        Memory.UOP: config.uop_bytes,
        Memory.INP: config.inp_bytes,
        Memory.WGT: config.wgt_bytes,
        Memory.ACC: config.acc_bytes,
        Memory.ACC8: config.out_bytes,
    }[memory]
    store = kind.startswith("store")
    pads = (upto(1), upto(1), upto(1), upto(1)) if kind in ("inp", "acc", "acc8") else (0,) * 4
    place = upto(size // wide - 1 + slack) * wide
    columns = upto(4)
    entries = {Memory.UOP: "uop", Memory.INP: "inp", Memory.WGT: "wgt"}.get(memory, "acc")
    sram = upto(n[entries] - 1)
    return Transfer(store, memory, sram, place, upto(3), columns, columns + upto(2), pads)
