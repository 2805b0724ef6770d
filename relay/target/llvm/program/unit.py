"""State that the native functions of one program share while they are generated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from relay.check.components import strongly_connected
from relay.program import program as isa
from relay.program.native import Site, workspace_name
from relay.program.uses import local_tensors
from relay.target.kernel import Kernel
from relay.target.llvm.program.building import building_calls
from relay.target.llvm.program.signature import Signature
from relay.target.llvm.target import LLVMTarget
from relay.te.legalize import Facts


class Device(Protocol):
    """How programs whose tensors lie in memory of a device call kernels."""

    def entry(self, kernel: Kernel) -> str:
        """The function that is called in place of a kernel, with the same arguments."""

    def runs_on_host(self, kernel: Kernel) -> bool:
        """Whether that takes a workspace in memory of the host, whose address is followed by the
        sizes of the kernel's tensors in bytes."""

    def text(self, names: Sequence[str]) -> str:
        """The code of these functions, for kernels by name."""


@dataclass
class Unit:
    """One program during translation; its tensors lie in memory of the `device`, if there is
    one."""

    program: isa.Program
    target: LLVMTarget
    functions: Mapping[str, isa.Function]
    recursive: frozenset[str]  # may be active several times at once
    device: Device | None = None
    facts: Facts = field(init=False)
    sites: dict[Site, int] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    kernels: dict[str, None] = field(default_factory=dict)
    workspaces: dict[str, None] = field(default_factory=dict)  # functions that compute their size
    closures: dict[tuple[str, int], None] = field(default_factory=dict)  # function, captured values
    rest: int = 0  # the most arguments of a call that are not in registers

    def __post_init__(self) -> None:
        self.facts = self.target.facts
        self.types = self.program.type_table

    def site(self, site: Site) -> int:
        return self.sites.setdefault(site, len(self.sites))

    def constant(self, name: str) -> int:
        """The index of a constant in the array of the context."""
        return self.constants.setdefault(name, len(self.constants))

    def workspace_of(self, kernel: str) -> str:
        """The function that computes the size of the workspace of a kernel."""
        name = workspace_name(kernel)
        self.workspaces[name] = None
        return name

    def local(self, function: isa.Function) -> Mapping[isa.Register, isa.Register]:
        """The tensors that lie in the stack frame (`local_tensors`)."""
        return local_tensors(function) if self.device is None else {}

    @property
    def uniform(self) -> bool:
        """Whether all functions take the same parameters (`signature.py`)."""
        return self.target.arch not in ("x86_64", "aarch64")

    def signature(self, name: str) -> Signature:
        function = self.functions[name]
        results = isa.flatten(function.results)
        return Signature.of(parameter_specs(function), results, self.uniform)


def parameter_specs(function: isa.Function) -> list[isa.Spec]:
    """The types of the parameters, flattened."""
    return [function.registers[register] for register in function.inputs]


def symbol_name(function: str) -> str:
    """The symbol of the code of a function, distinct from kernels."""
    return f"program.{function}"


def closure_name(function: str, captured: int) -> str:
    """The symbol of the code of closures of a function."""
    return f"closure.{captured}.{function}"


# --- recursion ----------------------------------------------------------------------------------


def recursive_functions(functions: Sequence[isa.Function]) -> frozenset[str]:
    """The functions that may call themselves, other than by a loop: members of cycles in the call
    graph. A closure may be any of its type."""
    closures: dict[Signature, list[str]] = {}
    table = {function.name: function for function in functions}
    for function in functions:
        for instruction in function.instructions:
            if isinstance(instruction, isa.MakeClosure):
                made = function.registers[instruction.output]
                assert isinstance(made, isa.ClosureSpec)
                fitting = closures.setdefault(Signature.of(made.params, made.results), [])
                if instruction.function not in fitting:
                    fitting.append(instruction.function)
    calls = {name: _calls(function, closures) for name, function in table.items()}
    return frozenset(
        name
        for component in strongly_connected(calls)
        for name in component
        if len(component) > 1 or name in calls[name]
    )


def _calls(function: isa.Function, closures: Mapping[Signature, Sequence[str]]) -> list[str]:
    found: dict[str, None] = {}
    loops = {id(building.call) for building in building_calls(function).values()}
    for instruction in function.instructions:
        if id(instruction) in loops:
            continue
        match instruction:
            case isa.CallFunction():
                found[instruction.function] = None
            case isa.TailCall() if instruction.function != function.name:
                found[instruction.function] = None
            case isa.CallClosure() | isa.TailCallClosure():
                spec = function.registers[instruction.closure]
                assert isinstance(spec, isa.ClosureSpec)
                found.update(
                    dict.fromkeys(closures.get(Signature.of(spec.params, spec.results), ()))
                )
    return list(found)
