"""Reference counting: where objects are retained and released.

    function @twice("pair" = %0: Pair) -> Pair {        function @twice("pair" = %0: Pair) -> Pair {
      %1: List = field %0 Pair.0                          %1: List = field %0 Pair.0
                                                   ->     release %0
                                                          retain %1
      %2: Pair = data Pair(%1, %1)                        %2: Pair = data Pair(%1, %1)
      return %2                                           return %2
    }                                                   }

A register holds what is in it, and every hold is handed over or let go exactly once, as early as
can be:

- a function holds its arguments, a block its parameters, and whoever calls holds the results;
- what an instruction consumes (`relay.program.uses`) is handed over; one that is needed later is
  retained before;
- what nobody uses any more is released: after its last use, or, where only one way of a branch goes
  on using it, at the beginning of the other.

Not counted are scalars, constants, which nobody frees, data without fields, and tensors that no one
outside ever sees (`local_tensors`), whose memory is the frame's and which are marked so here.

This is precise counting as in Perceus (Reinking, Xie, de Moura, Leijen, 2021): a value that goes
out of use in the middle of a function is gone by then, however long the function goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from relay.errors import RelayError
from relay.program import program as isa
from relay.program.liveness import live_at_start
from relay.program.uses import local_tensors, predecessors, successors, uses

Types = Mapping[str, isa.DataType]


def own(program: isa.Program) -> isa.Program:
    """The program with `retain` and `release`, but for `prepare`, which is straight-line."""
    return replace(
        program,
        functions=tuple(
            function if function.name == isa.PREPARE else own_function(function, program.type_table)
            for function in program.functions
        ),
    )


def own_function(function: isa.Function, types: Types) -> isa.Function:
    """The function with `retain` and `release` where they belong, local tensors marked."""
    return _Owner(function, types).function()


def is_counted(spec: isa.Spec, types: Types) -> bool:
    """Whether values of a type are reference counted."""
    if isinstance(spec, isa.DataSpec):
        return any(constructor.places for constructor in types[spec.name].constructors)
    return not isinstance(spec, isa.ScalarSpec)


def counted_registers(function: isa.Function, types: Types) -> set[isa.Register]:
    """The registers that are reference counted."""
    local = local_tensors(function)
    constant = {one.output for one in function.instructions if isinstance(one, isa.LoadConstant)}
    return {
        register
        for register, spec in enumerate(function.registers)
        if register not in local and register not in constant and is_counted(spec, types)
    }


class _Owner:
    def __init__(self, function: isa.Function, types: Types) -> None:
        self.before = function
        self.local = local_tensors(function)
        self.counted = counted_registers(function, types)
        self.live = live_at_start(function, self.counted, self.local)
        self.predecessors = predecessors(function)
        self.first: dict[int, list[isa.Register]] = {}  # block -> what to release at its beginning
        self.between: list[isa.Block] = []  # new blocks, on the way from one to another
        if self.predecessors[0]:
            raise RelayError(f"a block of `@{function.name}` leads back to its first")

    def function(self) -> isa.Function:
        inputs = [register for register in self.before.inputs if register in self.counted]
        self.first[0] = [register for register in inputs if register not in self.live[0]]
        bodies = [self.block(number) for number in range(len(self.before.blocks))]
        blocks = [
            replace(block, instructions=(*_releases(self.first.get(number, ())), *body))
            for number, (block, body) in enumerate(zip(self.before.blocks, bodies, strict=True))
        ]
        return replace(self.before, blocks=(*blocks, *self.between))

    def block(self, number: int) -> list[isa.Instruction]:
        """Its instructions, from the last to the first: what comes after says what dies."""
        block = self.before.blocks[number]
        terminator = block.instructions[-1]
        after = {r for other in successors(terminator) for r in self.live[other]}
        reversed_: list[isa.Instruction] = []
        for position in range(len(block.instructions) - 1, -1, -1):
            instruction = block.instructions[position]
            each = uses(instruction, self.before.registers)
            consumed = Counter(r for r in each.consumed if r in self.counted)
            borrowed = self.owners(each.borrowed)
            # let go of what this looks at, or makes, and nobody uses
            made = [r for r in each.written if r in self.counted]
            dying = [r for r in (*borrowed, *made) if r not in after and r not in consumed]
            if instruction is terminator:
                instruction = self.divided(number, after.union(dying))
            else:
                reversed_ += reversed(_releases(dying))
                if isinstance(instruction, isa.AllocTensor):
                    instruction = replace(instruction, local=instruction.output in self.local)
            reversed_.append(instruction)
            for register, times in reversed(consumed.items()):
                # the last hold is handed over itself
                extra = times if register in after else times - 1
                reversed_ += [isa.Retain(register)] * extra
            after.difference_update(made)
            after.update(borrowed, consumed)
        dead = [r for r in block.params if r in self.counted and r not in after]
        return [*_releases(dead), *reversed(reversed_)]

    def owners(self, registers: Iterable[isa.Register]) -> list[isa.Register]:
        """The counted registers whose memory these are, each once."""
        found = (self.local.get(register, register) for register in registers)
        return list(dict.fromkeys(register for register in found if register in self.counted))

    def divided(self, number: int, held: set[isa.Register]) -> isa.Instruction:
        """The terminator of a block that holds this; each way begins by releasing what it does
        not use."""
        terminator = self.before.blocks[number].instructions[-1]
        elsewhere: dict[int, int] = {}
        for other in successors(terminator):
            unused = sorted(held - self.live[other])
            if not unused:
                continue
            if len(self.predecessors[other]) == 1 and not isinstance(terminator, isa.Jump):
                self.first[other] = unused
            else:
                elsewhere[other] = len(self.before.blocks) + len(self.between)
                self.between.append(isa.Block((*_releases(unused), isa.Jump(other))))
        return _redirected(terminator, elsewhere) if elsewhere else terminator


def _releases(registers: Iterable[isa.Register]) -> list[isa.Instruction]:
    return [isa.Release(register) for register in registers]


def _redirected(terminator: isa.Instruction, blocks: Mapping[int, int]) -> isa.Instruction:
    match terminator:
        case isa.Branch():
            true, false = (blocks.get(b, b) for b in (terminator.true, terminator.false))
            return replace(terminator, true=true, false=false)
        case isa.Switch():
            cases = tuple((name, blocks.get(block, block)) for name, block in terminator.cases)
            otherwise = terminator.otherwise
            if otherwise is not None:
                otherwise = blocks.get(otherwise, otherwise)
            return replace(terminator, cases=cases, otherwise=otherwise)
    raise AssertionError("only a terminator with several ways on is divided")
