"""What every instruction means, element by element in plain Python, in the order of the program.

It knows nothing of units, tokens and time. What no program may do is `Forbidden`.
"""

from relay.target.accel.isa import Alu, AluOp, Finish, Gemm, Memory, Noop, Transfer


class Forbidden(Exception):
    """An access beyond the end of something, or of what was never written."""


def wrapped(value):
    return (value + 2**31) % 2**32 - 2**31


class Plain:
    """Memory as a list of bytes, buffers as lists of entries, which are None until written."""

    def __init__(self, config, dram):
        self.config = config
        self.dram = [int(byte) for byte in dram]
        n = config.entries
        self.buffers = {
            Memory.INP: [None] * n["inp"],
            Memory.WGT: [None] * n["wgt"],
            Memory.ACC: [None] * n["acc"],
            Memory.UOP: [None] * n["uop"],
        }
        self.size = {
            Memory.INP: config.batch * config.block_in,
            Memory.WGT: config.block_out * config.block_in,
            Memory.ACC: config.batch * config.block_out * 4,
            Memory.ACC8: config.batch * config.block_out,
            Memory.UOP: config.uop_bytes,
        }

    def buffer(self, memory):
        return self.buffers[Memory.ACC if memory is Memory.ACC8 else memory]

    def at(self, memory, index):
        buffer = self.buffer(memory)
        if not 0 <= index < len(buffer) or buffer[index] is None:
            raise Forbidden
        return buffer[index]

    def put(self, memory, index, value):
        if not 0 <= index < len(self.buffer(memory)):
            raise Forbidden
        self.buffer(memory)[index] = value

    def run(self, program):
        for one in program:
            match one:
                case Transfer(store=True):
                    self.store(one)
                case Transfer():
                    self.load(one)
                case Gemm():
                    self.gemm(one)
                case Alu():
                    self.alu(one)
                case Noop() | Finish():
                    pass

    def load(self, one):
        top, bottom, left, right = one.pads
        size = self.size[one.memory]
        number = one.sram
        if one.rows * one.columns and one.dram % size:
            raise Forbidden
        if any(one.pads) and one.memory is Memory.UOP:
            raise Forbidden
        for row in range(-top, one.rows + bottom):
            for column in range(-left, one.columns + right):
                inside = 0 <= row < one.rows and 0 <= column < one.columns
                address = one.dram + (row * one.stride + column) * size
                if inside and address + size > len(self.dram):
                    raise Forbidden
                raw = self.dram[address : address + size] if inside else [0] * size
                self.put(one.memory, number, self.value(one.memory, raw))
                number += 1

    def value(self, memory, raw):
        if memory is Memory.UOP:
            word = sum(byte << 8 * place for place, byte in enumerate(raw))
            found = []
            for width in self.config.uop_widths:
                found.append(word % (1 << width))
                word >>= width
            return found
        if memory is Memory.ACC:
            words = [raw[place : place + 4] for place in range(0, len(raw), 4)]
            return [wrapped(sum(b << 8 * i for i, b in enumerate(word))) for word in words]
        return [byte - 256 if byte > 127 else byte for byte in raw]

    def store(self, one):
        size = self.size[one.memory]
        if one.memory not in (Memory.ACC, Memory.ACC8) or any(one.pads):
            raise Forbidden
        if one.rows * one.columns and one.dram % size:
            raise Forbidden
        number = one.sram
        for row in range(one.rows):
            for column in range(one.columns):
                address = one.dram + (row * one.stride + column) * size
                if address + size > len(self.dram):
                    raise Forbidden
                values = self.at(Memory.ACC, number)
                wide = 4 if one.memory is Memory.ACC else 1
                raw = [v >> 8 * i & 255 for v in values for i in range(wide)]
                self.dram[address : address + size] = raw
                number += 1

    def iterations(self, one):
        for outer in range(one.loops[0]):
            for inner in range(one.loops[1]):
                for number in range(*one.uops):
                    yield outer, inner, self.at(Memory.UOP, number)

    def gemm(self, one):
        batch, block_in = self.config.batch, self.config.block_in
        for outer, inner, (dst, src, wgt) in self.iterations(one):
            dst += one.bases[0] + outer * one.dst[0] + inner * one.dst[1]
            if one.reset:
                self.put(Memory.ACC, dst, [0] * (batch * self.config.block_out))
                continue
            src += one.bases[1] + outer * one.src[0] + inner * one.src[1]
            wgt += one.bases[2] + outer * one.wgt[0] + inner * one.wgt[1]
            data, weight = self.at(Memory.INP, src), self.at(Memory.WGT, wgt)
            old = self.at(Memory.ACC, dst)
            new = []
            for row in range(batch):
                for column in range(self.config.block_out):
                    total = old[len(new)]
                    for k in range(block_in):
                        total += data[row * block_in + k] * weight[column * block_in + k]
                    new.append(wrapped(total))
            self.put(Memory.ACC, dst, new)

    def alu(self, one):
        for outer, inner, (dst, src, _) in self.iterations(one):
            dst += one.bases[0] + outer * one.dst[0] + inner * one.dst[1]
            src += one.bases[1] + outer * one.src[0] + inner * one.src[1]
            left = self.at(Memory.ACC, dst)
            right = self.at(Memory.ACC, src) if one.immediate is None else None
            found = []
            for place, a in enumerate(left):
                b = one.immediate if right is None else right[place]
                found.append(self.computed(one.op, a, b))
            self.put(Memory.ACC, dst, found)

    def computed(self, op, a, b):
        if op is AluOp.SHR and not -31 <= b <= 31:
            raise Forbidden
        return {
            AluOp.ADD: lambda: wrapped(a + b),
            AluOp.MUL: lambda: wrapped(a * b),
            AluOp.MIN: lambda: min(a, b),
            AluOp.MAX: lambda: max(a, b),
            AluOp.SHR: lambda: wrapped(a >> b if b >= 0 else a << -b),
        }[op]()
