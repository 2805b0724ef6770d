"""How native functions of a program call each other.

    { i32, T, U } @f(ptr context, T a, U b)            up to two results, in registers
    i32 @f(ptr context, ptr out, T a, U b)             more, as words at `out`

The first result is a status: 0, or anything else to unwind at once, without a value. The calling
convention is `tailcc`, so that what calls another function last leaves no trace on the stack.
A function with the same results, whatever its parameters, can be called so from any other.

The code of a closure takes the closure before the arguments.

Arguments that no register is left for are words in memory that the context knows of (`REST`): the
caller puts them there right before the call, and the callee begins by taking them out. Never do
they go on the stack: for x86-64, LLVM jumps from a function to another as if arguments of both took
as much of it, and whoever called the first finds the stack somewhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relay.immutable import frozen
from relay.program.program import Spec
from relay.target.llvm.program.types import value_type

IN_REGISTERS = 2  # results besides the status, as many as every processor has registers for
REGISTERS = 6  # for arguments that are integers and addresses
FLOAT_REGISTERS = 8
_FLOATS = frozenset({"half", "bfloat", "float", "double"})


@frozen
class Signature:
    """The LLVM types of parameters and results."""

    params: tuple[str, ...]
    results: tuple[str, ...]

    @classmethod
    def of(cls, params: Iterable[Spec], results: Iterable[Spec]) -> Signature:
        return cls(tuple(map(value_type, params)), tuple(map(value_type, results)))

    @property
    def has_out(self) -> bool:
        """Whether results go to memory."""
        return len(self.results) > IN_REGISTERS

    @property
    def returned(self) -> str:
        """The type that LLVM's function returns."""
        if self.has_out or not self.results:
            return "i32"
        return f"{{ i32, {', '.join(self.results)} }}"

    @property
    def is_bare(self) -> bool:
        """Whether it returns the status alone."""
        return self.has_out or not self.results

    def rest(self, *, closure: bool = False) -> tuple[int, ...]:
        """The parameters that have no register."""
        others = REGISTERS - 1 - self.has_out - closure
        floats = FLOAT_REGISTERS
        found = []
        for index, kind in enumerate(self.params):
            if kind in _FLOATS:
                floats -= 1
            else:
                others -= 1
            if (floats if kind in _FLOATS else others) < 0:
                found.append(index)
        return tuple(found)

    def _in_registers(self, values: Sequence[str], closure: bool) -> list[str]:
        rest = self.rest(closure=closure)
        pairs = enumerate(zip(self.params, values, strict=True))
        return [f"{kind} {value}" for index, (kind, value) in pairs if index not in rest]

    def parameters(self, names: Sequence[str], *, closure: bool = False) -> str:
        """The list of a definition."""
        listed = ["ptr noalias noundef %ctx"]
        if self.has_out:
            listed.append("ptr noalias noundef %out")
        if closure:
            listed.append("ptr noundef %closure")
        listed += self._in_registers([f"%{name}" for name in names], closure)
        return ", ".join(listed)

    def arguments(self, values: Sequence[str], out: str, *, closure: str | None = None) -> str:
        """The list of a call."""
        listed = ["ptr %ctx"]
        if self.has_out:
            listed.append(f"ptr {out}")
        if closure is not None:
            listed.append(f"ptr {closure}")
        listed += self._in_registers(values, closure is not None)
        return ", ".join(listed)
