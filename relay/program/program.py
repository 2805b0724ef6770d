"""A lowered program: a register machine over tensors, with kernels as its arithmetic.

    kernel @dense_relu(float32[1, 8], float32[8, 16]) -> (float32[1, 16])

    constant "weight": float32[16, 8]
    constant "packed_0": float32[8, 16] = prepare.0

    function @main("x" = %0: float32[1, 8]) {
      %1: float32[8, 16] = constant "packed_0"
      %2: float32[1, 16] = alloc
      invoke @dense_relu(%0, %1) -> (%2)
      return %2
    }

A program has no weights inside, only their names and types, so that what is compiled depends on the
structure of a model alone. `prepare` reads the constants that come with the program and computes
those that the other functions read (a weight laid out for its kernel); it runs once, and again when
the weights change. `main` is the model.

A register is written by one instruction and has one type. A function is a list of blocks; the last
instruction of a block, and only that, says where to go on. What is lowered today is straight-line:
one block that ends in `return`. Branches, calls, closures, data structures and allocation by size
are further members of `Instruction`, and further kinds of register type; nothing below changes for
them, and who works on straight-line code says so by asking for `Function.straight_line`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from relay import dtypes
from relay.errors import RelayError
from relay.lower.kernel import Kernel, TensorSpec
from relay.tree import Steps, run

Register = int
# A value as the caller of a function sees it: a tensor, or tuples of tensors.
Value = Register | tuple[Any, ...]


# --- instructions -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LoadConstant:
    """`%1: T = constant "weight"`: the register is the constant itself; nothing is copied."""

    output: Register
    constant: str


@dataclass(frozen=True, slots=True)
class AllocTensor:
    """`%1: T = alloc`: memory for a tensor of the register's type; what it holds is not defined."""

    output: Register


@dataclass(frozen=True, slots=True)
class ViewTensor:
    """`%2: T = view %1`: the elements of another register in the same order, in another shape."""

    output: Register
    input: Register


@dataclass(frozen=True, slots=True)
class InvokeKernel:
    """`invoke @k(%0, %1) -> (%2)`: the outputs, allocated before, are overwritten."""

    kernel: str
    inputs: tuple[Register, ...]
    outputs: tuple[Register, ...]


@dataclass(frozen=True, slots=True)
class Return:
    """`return (%1, %2)`: ends the function; the tensors belong to the caller."""

    value: Value


Instruction = LoadConstant | AllocTensor | ViewTensor | InvokeKernel | Return
Terminator = Return
Block = tuple[Instruction, ...]


# --- programs -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """What a function is called with; the fields of a tuple are registers of their own."""

    name: str
    value: Value


@dataclass(frozen=True)
class Function:
    """Registers are counted from 0; those of the parameters come first."""

    name: str
    params: tuple[Parameter, ...]
    registers: tuple[TensorSpec, ...]
    blocks: tuple[Block, ...]

    @property
    def straight_line(self) -> Block:
        """The instructions of a function without branches."""
        if len(self.blocks) != 1:
            raise RelayError(f"function `@{self.name}` has branches; it is not straight-line code")
        return self.blocks[0]

    @property
    def inputs(self) -> list[Register]:
        """The registers of the parameters, in order."""
        return list(range(sum(len(flatten(param.value)) for param in self.params)))

    @property
    def result(self) -> Value:
        """What straight-line code returns."""
        last = self.straight_line[-1]
        assert isinstance(last, Return)
        return last.value


@dataclass(frozen=True)
class Constant:
    """A tensor that stays the same from call to call."""

    name: str
    spec: TensorSpec
    prepared: int | None = None  # the result of `prepare` it is; None when it comes from outside

    @property
    def is_given(self) -> bool:
        """Whether it comes from outside: a weight, or a constant of the model."""
        return self.prepared is None


@dataclass(frozen=True)
class Program:
    """Kernels by name, constants by name, and the functions that use them."""

    kernels: tuple[Kernel, ...]
    constants: tuple[Constant, ...]
    functions: tuple[Function, ...]

    def __getitem__(self, name: str) -> Function:
        for function in self.functions:
            if function.name == name:
                return function
        raise RelayError(f"the program has no function `@{name}`")

    @cached_property
    def kernel_table(self) -> dict[str, Kernel]:
        return {kernel.name: kernel for kernel in self.kernels}

    @cached_property
    def constant_table(self) -> dict[str, Constant]:
        return {constant.name: constant for constant in self.constants}

    def __str__(self) -> str:
        from relay.program.text import to_text

        return to_text(self)


MAIN = "main"
PREPARE = "prepare"


def invocations(function: Function) -> Iterator[InvokeKernel]:
    """The calls of kernels, in order."""
    for block in function.blocks:
        for instruction in block:
            if isinstance(instruction, InvokeKernel):
                yield instruction


def nbytes(spec: TensorSpec) -> int:
    """How much memory a tensor takes; its sizes must be numbers."""
    sizes = [size for size in spec.shape if isinstance(size, int)]
    if len(sizes) != len(spec.shape):
        raise RelayError(f"{spec_text(spec)} has no size before the program runs")
    return prod(sizes) * dtypes.to_numpy(spec.dtype).itemsize


def spec_text(spec: TensorSpec) -> str:
    """`float32[2, 3]`"""
    return f"{spec.dtype}[{', '.join(map(str, spec.shape))}]"


# --- tuples, which registers do not hold --------------------------------------------------------


def flatten(value: Any) -> list[Any]:
    """The leaves of nested tuples, from left to right."""
    leaves: list[Any] = []
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, tuple):
            pending.extend(reversed(current))
        else:
            leaves.append(current)
    return leaves


def unflatten(structure: Any, leaves: Sequence[Any]) -> Any:
    """`leaves` in tuples nested as those of `structure`."""
    following = iter(leaves)

    def build(part: Any) -> Steps[Any]:
        if not isinstance(part, tuple):
            return next(following)
        fields = []
        for field in part:
            fields.append((yield build(field)))
        return tuple(fields)

    return run(build(structure))
