"""Reference counting: where objects are retained and released.

    function @twice("pair" = %0: Pair) -> Pair {        function @twice("pair" = %0: Pair) -> Pair {
      %1: List = field %0 Pair.0                          %1: List = field %0 Pair.0
                                                   ->     release %0
                                                          retain %1
      %2: Pair = data Pair(%1, %1)                        %2: Pair = data Pair(%1, %1)
      return %2                                           return %2
    }                                                   }

Every reference is transferred or released exactly once, as early as possible:

- a function owns its arguments, a block its parameters, a caller the results;
- what an instruction consumes (`relay.program.uses`) is transferred; a register that is live
  afterwards is retained before;
- a dead value is released: after its last use, or, where only one successor of a branch uses it, at
  the start of the other.

Scalars, constants and data without fields are not counted, nor are tensors that do not escape
(`local_tensors`), which are marked as local here.

This is precise reference counting as in Perceus (Reinking, Xie, de Moura, Leijen, 2021).
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


def own(program: isa.Program, *, frames: bool = True) -> isa.Program:
    """The program with `retain` and `release`, except in `prepare`, which is straight-line. Without
    `frames`, no tensor is local."""
    table = program.type_table
    functions = tuple(
        function if function.name == isa.PREPARE else own_function(function, table, frames=frames)
        for function in program.functions
    )
    return replace(program, functions=functions)


def own_function(function: isa.Function, types: Types, *, frames: bool = True) -> isa.Function:
    """The function with `retain` and `release`, and local tensors marked."""
    return _Owner(function, types, local_tensors(function) if frames else {}).function()


def is_counted(spec: isa.Spec, types: Types) -> bool:
    """Whether values of a type are reference counted."""
    if isinstance(spec, isa.DataSpec):
        return any(constructor.places for constructor in types[spec.name].constructors)
    return not isinstance(spec, isa.ScalarSpec)


def counted_registers(
    function: isa.Function, types: Types, local: Mapping[isa.Register, isa.Register]
) -> set[isa.Register]:
    """The registers that are reference counted; `local` are tensors that are not."""
    constant = {one.output for one in function.instructions if isinstance(one, isa.LoadConstant)}
    return {
        register
        for register, spec in enumerate(function.registers)
        if register not in local and register not in constant and is_counted(spec, types)
    }


class _Owner:
    def __init__(
        self, function: isa.Function, types: Types, local: Mapping[isa.Register, isa.Register]
    ) -> None:
        self.before = function
        self.local = local
        self.counted = counted_registers(function, types, local)
        self.live = live_at_start(function, self.counted, self.local)
        self.predecessors = predecessors(function)
        self.first: dict[int, list[isa.Register]] = {}  # block -> what to release at its start
        self.between: list[isa.Block] = []  # new blocks, which split critical edges
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
        """The instructions of a block, walked backwards: `after` are the live registers."""
        block = self.before.blocks[number]
        terminator = block.instructions[-1]
        after = {r for other in successors(terminator) for r in self.live[other]}
        reversed_: list[isa.Instruction] = []
        for position in range(len(block.instructions) - 1, -1, -1):
            instruction = block.instructions[position]
            each = uses(instruction, self.before.registers)
            consumed = Counter(r for r in each.consumed if r in self.counted)
            borrowed = self.owners(each.borrowed)
            # borrowed or written here, and dead afterwards
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
                # the last reference is transferred itself
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
        """The terminator of a block that owns `held`; successors release what is dead in them."""
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
    raise AssertionError("only a terminator with several successors is divided")
