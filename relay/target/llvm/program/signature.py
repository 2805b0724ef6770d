"""The calling convention of the native functions of a program.

    { i32, T, U } @f(ptr context, T a, U b)            up to two results, in registers
    i32 @f(ptr context, ptr out, T a, U b)             more, as words at `out`

The first result is a status: nonzero unwinds at once, without a value. With `tailcc`, a function
can tail-call any other with the same results, whatever its parameters.

The code of a closure takes the closure before the arguments.

Arguments beyond those in registers are words in memory (`REST` of the context), which the caller
stores right before the call and the callee loads first. They are never on the stack: for x86-64,
LLVM's tail calls assume that both functions use the same stack space for arguments.

Where processors have few registers, or LLVM has no `tailcc`, all functions are `uniform`, so that
any can tail-call any other: all arguments are words in memory, and all results.

    i32 @f(ptr context, ptr out, ptr closure)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relay.immutable import frozen
from relay.program.program import Spec
from relay.target.llvm.program.types import value_type

IN_REGISTERS = 2  # results in addition to the status, for which every processor has registers
REGISTERS = 6  # for arguments that are integers and addresses
FLOAT_REGISTERS = 8
_FLOATS = frozenset({"half", "bfloat", "float", "double"})


@frozen
class Signature:
    """The LLVM types of parameters and results."""

    params: tuple[str, ...]
    results: tuple[str, ...]
    uniform: bool = False

    @classmethod
    def of(
        cls, params: Iterable[Spec], results: Iterable[Spec], uniform: bool = False
    ) -> Signature:
        return cls(tuple(map(value_type, params)), tuple(map(value_type, results)), uniform)

    @property
    def convention(self) -> str:
        """LLVM's calling convention, in front of the result."""
        return "" if self.uniform else "tailcc "

    @property
    def has_out(self) -> bool:
        """Whether results are in memory."""
        return len(self.results) > (0 if self.uniform else IN_REGISTERS)

    @property
    def returned(self) -> str:
        """The return type of the LLVM function."""
        if self.has_out or not self.results:
            return "i32"
        return f"{{ i32, {', '.join(self.results)} }}"

    @property
    def is_bare(self) -> bool:
        """Whether it returns the status alone."""
        return self.has_out or not self.results

    def rest(self, *, closure: bool = False) -> tuple[int, ...]:
        """The parameters that are not in registers."""
        if self.uniform:
            return tuple(range(len(self.params)))
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
        """The parameter list of a definition."""
        if self.uniform:
            return "ptr %ctx, ptr %out, ptr %closure"
        listed = ["ptr noalias noundef %ctx"]
        if self.has_out:
            listed.append("ptr noalias noundef %out")
        if closure:
            listed.append("ptr noundef %closure")
        listed += self._in_registers([f"%{name}" for name in names], closure)
        return ", ".join(listed)

    def arguments(self, values: Sequence[str], out: str, *, closure: str | None = None) -> str:
        """The argument list of a call."""
        if self.uniform:
            return f"ptr %ctx, ptr {out or 'null'}, ptr {closure or 'null'}"
        listed = ["ptr %ctx"]
        if self.has_out:
            listed.append(f"ptr {out}")
        if closure is not None:
            listed.append(f"ptr {closure}")
        listed += self._in_registers(values, closure is not None)
        return ", ".join(listed)
