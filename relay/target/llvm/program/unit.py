"""What the native functions of one program share: tables, and what is collected on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from relay.program.native import Site, workspace_name
from relay.program.program import (
    CallClosure,
    CallFunction,
    ClosureSpec,
    Function,
    MakeClosure,
    Program,
    Spec,
    TailCall,
    TailCallClosure,
    flatten,
)
from relay.target.llvm.program.building import building_calls
from relay.target.llvm.program.signature import Signature
from relay.target.llvm.target import LLVMTarget
from relay.te.legalize import Facts


@dataclass
class Unit:
    """One program while it is translated."""

    program: Program
    target: LLVMTarget
    functions: Mapping[str, Function]
    recursive: frozenset[str]  # those that may be entered again before they end
    facts: Facts = field(init=False)
    sites: dict[Site, int] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    kernels: dict[str, None] = field(default_factory=dict)
    workspaces: dict[str, None] = field(
        default_factory=dict
    )  # functions that say how large they are
    # closures that remember so many arguments of a function
    closures: dict[tuple[str, int], None] = field(default_factory=dict)
    rest: int = 0  # the most arguments of a call that have no register

    def __post_init__(self) -> None:
        self.facts = self.target.facts
        self.types = self.program.type_table

    def site(self, site: Site) -> int:
        return self.sites.setdefault(site, len(self.sites))

    def constant(self, name: str) -> int:
        """The place of a constant in the context's array."""
        return self.constants.setdefault(name, len(self.constants))

    def workspace_of(self, kernel: str) -> str:
        """The function that says how much memory a kernel wants."""
        name = workspace_name(kernel)
        self.workspaces[name] = None
        return name

    def signature(self, name: str) -> Signature:
        function = self.functions[name]
        return Signature.of(parameter_specs(function), flatten(function.results))


def parameter_specs(function: Function) -> list[Spec]:
    """The types of the parameters, one by one."""
    return [function.registers[register] for register in function.inputs]


def symbol_name(function: str) -> str:
    """The name of a function's code; not that of a kernel."""
    return f"program.{function}"


def closure_name(function: str, captured: int) -> str:
    """The name of the code of closures, and of one that remembers nothing."""
    return f"closure.{captured}.{function}"


# --- recursion ----------------------------------------------------------------------------------


def recursive_functions(functions: Sequence[Function]) -> frozenset[str]:
    """The functions that may come to call themselves, other than by a loop: all members of cycles
    of calls. A closure may be any that its type fits."""
    closures: dict[Signature, list[str]] = {}
    table = {function.name: function for function in functions}
    for function in functions:
        for instruction in function.instructions:
            if isinstance(instruction, MakeClosure):
                made = function.registers[instruction.output]
                assert isinstance(made, ClosureSpec)
                fitting = closures.setdefault(Signature.of(made.params, made.results), [])
                if instruction.function not in fitting:
                    fitting.append(instruction.function)
    calls = {name: _calls(function, closures) for name, function in table.items()}
    return frozenset(
        name
        for component in _components(calls)
        for name in component
        if len(component) > 1 or name in calls[name]
    )


def _calls(function: Function, closures: Mapping[Signature, Sequence[str]]) -> list[str]:
    found: dict[str, None] = {}
    loops = {id(building.call) for building in building_calls(function).values()}
    for instruction in function.instructions:
        if id(instruction) in loops:
            continue
        match instruction:
            case CallFunction():
                found[instruction.function] = None
            case TailCall() if instruction.function != function.name:
                found[instruction.function] = None
            case CallClosure() | TailCallClosure():
                spec = function.registers[instruction.closure]
                assert isinstance(spec, ClosureSpec)
                found.update(
                    dict.fromkeys(closures.get(Signature.of(spec.params, spec.results), ()))
                )
    return list(found)


def _components(edges: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Strongly connected components (Tarjan), without recursion."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    inside: set[str] = set()
    found: list[list[str]] = []
    for root in edges:
        if root in number:
            continue
        pending = [(root, iter(edges[root]))]
        number[root] = lowest[root] = len(number)
        stack.append(root)
        inside.add(root)
        while pending:
            here, rest = pending[-1]
            for other in rest:
                if other not in number:
                    number[other] = lowest[other] = len(number)
                    stack.append(other)
                    inside.add(other)
                    pending.append((other, iter(edges[other])))
                    break
                if other in inside:
                    lowest[here] = min(lowest[here], number[other])
            else:
                pending.pop()
                if pending:
                    above = pending[-1][0]
                    lowest[above] = min(lowest[above], lowest[here])
                if lowest[here] == number[here]:
                    component = stack[stack.index(here) :]
                    del stack[-len(component) :]
                    inside.difference_update(component)
                    found.append(component)
    return found
