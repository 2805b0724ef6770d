"""Builds functions of a program: registers, and basic blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from relay.errors import AnySpan
from relay.immutable import frozen
from relay.lower.kernel import Kernel, TensorSpec
from relay.program import program as isa


def place_of(span: AnySpan | None) -> str:
    """A source location as text, for errors; empty if unknown."""
    return "" if span is None else str(span)


@frozen
class At:
    """A value during lowering: a register of the current function, or of `prepare`."""

    stage: Builder = field(repr=False, compare=False)
    register: isa.Register


@dataclass(eq=False)
class OpenBlock:
    """A basic block under construction."""

    number: int
    params: tuple[isa.Register, ...] = ()
    instructions: list[isa.Instruction] = field(default_factory=list)
    constants: dict[str, isa.Register] = field(default_factory=dict)  # loaded here, by name


@dataclass(eq=False)
class Builder:
    """Builds a function; instructions are appended to the current block."""

    name: str
    registers: list[isa.Spec] = field(default_factory=list)
    blocks: list[OpenBlock] = field(default_factory=lambda: [OpenBlock(0)])
    current: OpenBlock = field(init=False)
    where: str = ""  # source location of allocations with dynamic dimensions
    loaded: dict[isa.Register, str] = field(default_factory=dict)  # register -> its constant
    roots: dict[isa.Register, isa.Register] = field(
        default_factory=dict
    )  # view -> the register that owns its memory

    def __post_init__(self) -> None:
        self.current = self.blocks[0]

    # --- registers and instructions

    def new(self, spec: isa.Spec) -> isa.Register:
        self.registers.append(spec)
        return len(self.registers) - 1

    def add(self, instruction: isa.Instruction) -> None:
        self.current.instructions.append(instruction)

    def emit(
        self, spec: isa.Spec, kind: Callable[..., isa.Instruction], *args: Any
    ) -> isa.Register:
        """A new register, written by an instruction."""
        register = self.new(spec)
        self.add(kind(register, *args))
        return register

    def load(self, name: str, spec: TensorSpec) -> isa.Register:
        """The register of a constant; a block loads each once."""
        constants = self.current.constants
        if name not in constants:
            constants[name] = self.emit(spec, isa.LoadConstant, name)
            self.loaded[constants[name]] = name
        return constants[name]

    def view(
        self, source: isa.Register, spec: TensorSpec, sizes: Sequence[isa.Register] = ()
    ) -> isa.Register:
        made = self.emit(spec, isa.ViewTensor, source, tuple(sizes), self.where if sizes else "")
        self.roots[made] = self.roots.get(source, source)
        return made

    def invoke(
        self,
        kernel: Kernel,
        inputs: Sequence[isa.Register],
        outputs: Sequence[isa.Spec],
        sizes: Sequence[isa.Register] = (),
        allocated: Sequence[Sequence[isa.Register]] | None = None,
        where: str = "",
    ) -> tuple[isa.Register, ...]:
        """New registers, written by a kernel. `sizes` are arguments of the kernel, `allocated` the
        sizes of the dynamic dimensions of each output; `where` is the source location."""
        registers = tuple(map(self.new, outputs))
        for position, register in enumerate(registers):
            if isinstance(outputs[position], TensorSpec):
                known = () if allocated is None else tuple(allocated[position])
                self.add(isa.AllocTensor(register, known, where=self.where if known else ""))
        place = where if kernel.checks else ""
        self.add(isa.InvokeKernel(kernel.name, tuple(inputs), registers, tuple(sizes), place))
        return registers

    # --- blocks

    def open(self, *params: isa.Register) -> OpenBlock:
        """A new block; `enter` makes it the current one."""
        block = OpenBlock(len(self.blocks), params)
        self.blocks.append(block)
        return block

    def enter(self, block: OpenBlock) -> None:
        self.current = block

    def end(self, terminator: isa.Terminator) -> None:
        """End the current block."""
        self.add(terminator)

    # --- the function

    def returning(
        self,
        params: Sequence[isa.Parameter],
        value: Any,
        names: Sequence[str] = (),
        state: Sequence[str] = (),
    ) -> isa.Function:
        """The function, with the current block returning `value`."""
        self.end(isa.Return(value))
        return self.build(params, names=names, state=state)

    def build(
        self,
        params: Sequence[isa.Parameter],
        results: Any = (),
        where: str = "",
        names: Sequence[str] = (),
        state: Sequence[str] = (),
    ) -> isa.Function:
        """The function; `names` are those of its results, `state` those of its last parameters."""
        blocks = tuple(isa.Block(tuple(one.instructions), one.params) for one in self.blocks)
        registers = tuple(self.registers)
        return isa.Function(
            self.name, tuple(params), registers, blocks, results, where, tuple(names), tuple(state)
        )
