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

A program contains the names and types of weights, not their values, so compilation depends only on
the structure of a model. `main` is the model. `prepare` computes constants that other functions
read (a weight in the layout of its kernel) from the given ones; it runs once, and again when the
weights change.

Registers are in SSA form: each is written by one instruction and has one type. A function is a list
of basic blocks, each ending in a terminator. A block may have parameters, which the jump to it
defines (`block 3(%7: int32):`):

    data List[int32] { Cons(int32, List[int32]); Nil }

    function @sum("so far" = %0: int32, "rest" = %1: List[int32]) -> int32 {
      switch %1 { Cons: 1, Nil: 2 }
    block 1:
      %2: int32 = field %1 Cons.0
      %3: List[int32] = field %1 Cons.1
      %4: int32 = add %0, %2
      tail call @sum(%4, %3)
    block 2:
      return %0
    }

Programs are interpreted (`relay.vm`) or compiled to native code (`relay.target.llvm.program`).
Straight-line code over tensors of known sizes (`Function.straight_line`), one block that ends in
`return`, runs in a planned arena (`relay.executors.bound`).

Types are monomorphic. Tuples are flattened: their fields are separate registers, arguments and
fields of data. A tensor of rank 0 is a scalar in a register, except in straight-line code, which
has only tensors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Any, TypeVar, dataclass_transform

from relay import dtypes
from relay.errors import VALUE, RelayError
from relay.immutable import frozen
from relay.lower.kernel import Kernel, TensorSpec
from relay.tree import Steps, gather, run

T = TypeVar("T")
Register = int
# A register, or nested tuples of registers.
Value = Register | tuple[Any, ...]


# --- types of registers -------------------------------------------------------------------------


@frozen
class ScalarSpec:
    """`int32`: a number or boolean."""

    dtype: str


@frozen
class DataSpec:
    """`List[int32]`: a value of a data type, by name."""

    name: str


@frozen
class ClosureSpec:
    """`fn(int32, float32[3]) -> int32`: a closure."""

    arguments: tuple[Any, ...]  # Spec, or tuples of them
    result: Any  # the same

    @cached_property
    def params(self) -> tuple[Spec, ...]:
        """The flattened arguments."""
        return tuple(flatten(self.arguments))

    @cached_property
    def results(self) -> tuple[Spec, ...]:
        """The flattened result."""
        return tuple(flatten(self.result))


@frozen
class ReferenceSpec:
    """`ref(int32)`: a cell; one that holds a tuple has one place per field."""

    held: Any  # Spec, or tuples of them

    @cached_property
    def contents(self) -> tuple[Spec, ...]:
        """The flattened content."""
        return tuple(flatten(self.held))


Spec = TensorSpec | ScalarSpec | DataSpec | ClosureSpec | ReferenceSpec


@frozen
class Constructor:
    """`Cons(int32, List[int32])`"""

    name: str
    fields: tuple[Any, ...]  # Spec, or tuples of them

    @cached_property
    def places(self) -> tuple[Spec, ...]:
        """The flattened fields."""
        return tuple(flatten(self.fields))


@frozen
class DataType:
    """An instance of a data type: `List[int32]`. A constructor's tag is its position."""

    name: str
    constructors: tuple[Constructor, ...]

    def __getitem__(self, name: str) -> Constructor:
        return self.constructors[self.tag(name)]

    def tag(self, name: str) -> int:
        """The tag of a constructor."""
        for tag, constructor in enumerate(self.constructors):
            if constructor.name == name:
                return tag
        raise RelayError(f"data type `{self.name}` has no constructor `{name}`")

    @cached_property
    def is_list(self) -> bool:
        """Whether its values are Python lists."""
        if not self._is_made_by("List", {"Cons", "Nil"}):
            return False
        fields = self["Cons"].fields
        return len(fields) == 2 and fields[1] == DataSpec(self.name) and not self["Nil"].places

    @cached_property
    def is_option(self) -> bool:
        """Whether its values are None and those of `Some`."""
        return self._is_made_by("Option", {"Some", "None"})

    def _is_made_by(self, name: str, constructors: set[str]) -> bool:
        found = {one.name for one in self.constructors}
        return self.name.partition("[")[0] == name and found == constructors


# --- instructions: tensors and scalars ----------------------------------------------------------


@dataclass_transform(frozen_default=True)
def instruction(syntax: str) -> Callable[[type[T]], type[T]]:
    """A frozen record with its text form (`relay.program.syntax`)."""

    def made(cls: type[T]) -> type[T]:
        cls.syntax = syntax  # type: ignore[attr-defined]
        return frozen(cls)

    return made


@instruction("<output:new> = constant <constant:constant>")
class LoadConstant:
    """`%1: T = constant "weight"`: the constant itself, not a copy."""

    output: Register
    constant: str


@instruction("<output:new> = <value:literal>")
class Literal:
    """`%1: int32 = 5`"""

    output: Register
    value: bool | int | float


@instruction("<output:new> = <op:operation> <inputs:listed>")
class Scalar:
    """`%3: bool = lt %1, %2`: a scalar operation by name (`relay.program.scalars`)."""

    output: Register
    op: str
    inputs: tuple[Register, ...]


@instruction("<output:new> = alloc<local:local><sizes:sizes><where:where>")
class AllocTensor:
    """`%1: T = alloc [%5, %6]`: an uninitialized tensor; `sizes` are those of the dynamic
    dimensions of its type, in order. A `local` one does not escape: it lies in the stack frame."""

    output: Register
    sizes: tuple[Register, ...] = ()
    local: bool = False
    where: str = ""


@instruction("<output:new> = view <input:read><sizes:sizes><where:where>")
class ViewTensor:
    """`%2: T = view %1 [%5]`: the first elements of a tensor in another shape; sizes as for
    `alloc`."""

    output: Register
    input: Register
    sizes: tuple[Register, ...] = ()
    where: str = ""


@instruction("invoke <kernel:kernel><inputs:reads> -> <outputs:outputs><sizes:sizes><where:where>")
class InvokeKernel:
    """`invoke @k(%0, %1) -> (%2, %3: int32) [%5] where "…"`: calls a kernel. It overwrites output
    tensors that were allocated before, and defines output scalars. `sizes` are in the order of the
    kernel's; `where` is the source location of a kernel that may fail."""

    kernel: str
    inputs: tuple[Register, ...]
    outputs: tuple[Register, ...]
    sizes: tuple[Register, ...] = ()
    where: str = ""


@instruction("<output:new> = size <tensor:read>[<axis:natural>]")
class ReadSize:
    """`%5: int64 = size %1[0]`: the extent of an axis."""

    output: Register
    tensor: Register
    axis: int


@instruction("<output:new> = element <tensor:read>[<index:natural>]")
class ReadElement:
    """`%5: int64 = element %1[0]`: an element of a tensor, by its row-major offset."""

    output: Register
    tensor: Register
    index: int


@instruction("<output:new> = compute <op:name> <left:read>, <right:read><where:where>")
class ComputeSize:
    """`%5: int64 = compute mul %3, %4 where "…"`: the sum (`add`) or product (`mul`) of two int64;
    overflow ends the run (`relay.extents`)."""

    output: Register
    op: str
    left: Register
    right: Register
    where: str = ""


@instruction("require <left:read> = <right:read> <message:string><shown:texts><where:where>")
class RequireEqual:
    """`require %5 = %6 "…" where "…"`: the run ends with this message unless two int64 are equal.

    In the texts `expected` and `found`, `{}` (`{:g}` for a float64) stands for a register of
    `shown`: (found, expected), by default the two that are compared. An empty text is not shown."""

    left: Register
    right: Register
    message: str
    where: str = ""
    expected: str = VALUE
    found: str = VALUE
    shown: tuple[Register, ...] = ()

    @property
    def details(self) -> tuple[Register, Register]:
        """The registers that the texts show: (found, expected)."""
        found, expected = self.shown or (self.left, self.right)
        return found, expected


# --- instructions: data, functions, cells -------------------------------------------------------


@instruction("<output:new> = data <constructor:name><fields:gives>")
class MakeData:
    """`%3: List[int32] = data Cons(%1, %2)`."""

    output: Register
    constructor: str
    fields: tuple[Register, ...]


@instruction("<output:new> = field <data:read> <constructor:name>.<index:natural>")
class GetField:
    """`%3: int32 = field %1 Cons.0`: a flattened field of data of a known constructor."""

    output: Register
    data: Register
    constructor: str
    index: int


@instruction("<output:new> = closure <function:function><captured:gives>")
class MakeClosure:
    """`%3: fn(int32) -> int32 = closure @f(%1, %2)`: captures the first parameters of `@f`."""

    output: Register
    function: str
    captured: tuple[Register, ...]


@instruction("<output:new> = reference <contents:gives>")
class MakeReference:
    """`%3: ref(int32) = reference (%1)`."""

    output: Register
    contents: tuple[Register, ...]


@instruction("<outputs:news> = read <reference:read>")
class ReadReference:
    """`(%4: int32) = read %3`: the current content of a cell."""

    outputs: tuple[Register, ...]
    reference: Register


@instruction("write <reference:read> <contents:gives>")
class WriteReference:
    """`write %3 (%1)`."""

    reference: Register
    contents: tuple[Register, ...]


@instruction("<outputs:news> = call <function:function><args:gives>")
class CallFunction:
    """`(%4: int32, %5: bool) = call @f(%1, %2)`."""

    outputs: tuple[Register, ...]
    function: str
    args: tuple[Register, ...]


@instruction("<outputs:news> = call <closure:give><args:gives>")
class CallClosure:
    """`(%4: int32) = call %3(%1, %2)`."""

    outputs: tuple[Register, ...]
    closure: Register
    args: tuple[Register, ...]


@instruction("retain <register:read>")
class Retain:
    """`retain %1`: increments the reference count (`relay.program.ownership`)."""

    register: Register


@instruction("release <register:give>")
class Release:
    """`release %1`: decrements the reference count; at 0 the object is freed."""

    register: Register


# --- instructions that end a block --------------------------------------------------------------


@instruction("return <value:value>")
class Return:
    """`return (%1, %2)`: the caller owns the values."""

    value: Value


@instruction("jump <block:block><args:arguments>")
class Jump:
    """`jump 3(%1, %2)`: to a block, with values for its parameters."""

    block: int
    args: tuple[Register, ...] = ()


@instruction("branch <condition:read> ? <true:block> : <false:block>")
class Branch:
    """`branch %1 ? 2 : 3`: to one of two blocks without parameters."""

    condition: Register
    true: int
    false: int


@instruction("switch <data:read> { <cases:cases> }")
class Switch:
    """`switch %1 { Cons: 1, Nil: 2, else: 3 }`: by constructor, to blocks without parameters. All
    constructors are listed, or there is an `otherwise`."""

    data: Register
    cases: tuple[tuple[str, int], ...]
    otherwise: int | None = None


@instruction("tail call <function:function><args:gives>")
class TailCall:
    """`tail call @f(%1)`: returns the result of a call, which reuses the stack frame."""

    function: str
    args: tuple[Register, ...]


@instruction("tail call <closure:give><args:gives>")
class TailCallClosure:
    """`tail call %3(%1)`."""

    closure: Register
    args: tuple[Register, ...]


@instruction("fail <message:string><where:where>")
class Fail:
    """`fail "…" where "…"`: ends the run with this message."""

    message: str
    where: str = ""


Terminator = Return | Jump | Branch | Switch | TailCall | TailCallClosure | Fail
Instruction = (
    LoadConstant
    | Literal
    | Scalar
    | AllocTensor
    | ViewTensor
    | InvokeKernel
    | ReadSize
    | ReadElement
    | ComputeSize
    | RequireEqual
    | MakeData
    | GetField
    | MakeClosure
    | MakeReference
    | ReadReference
    | WriteReference
    | CallFunction
    | CallClosure
    | Retain
    | Release
    | Terminator
)
# The instructions of straight-line code over tensors of known sizes.
StraightLine = LoadConstant | AllocTensor | ViewTensor | InvokeKernel | Return


@frozen
class Block:
    """A basic block: instructions, the last of which is a terminator."""

    instructions: tuple[Instruction, ...]
    params: tuple[Register, ...] = ()

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    def __len__(self) -> int:
        return len(self.instructions)


# --- programs -----------------------------------------------------------------------------------


@frozen
class Parameter:
    """A parameter: a register, or nested tuples of registers."""

    name: str
    value: Value


@frozen
class Function:
    """The registers of the parameters come first; execution starts at the first block."""

    name: str
    params: tuple[Parameter, ...]
    registers: tuple[Spec, ...]
    blocks: tuple[Block, ...]
    results: Any = ()  # the result type: Spec, or tuples of them
    where: str = ""  # the source location, for errors
    result_names: tuple[str, ...] = ()  # of the model; () if it has none
    # of `main`: the names of its last parameters, which an executable keeps between calls; then the
    # result is a tuple of that of the call and their new values
    state: tuple[str, ...] = ()

    @property
    def straight_line(self) -> tuple[StraightLine, ...]:
        """The instructions of straight-line code; an error for other functions."""
        if not self.is_straight_line:
            raise RelayError(f"function `@{self.name}` is not straight-line code over tensors")
        return tuple(one for one in self.blocks[0] if isinstance(one, StraightLine))

    @cached_property
    def is_straight_line(self) -> bool:
        """Whether it is one block over tensors of known sizes."""
        if len(self.blocks) != 1 or not all(map(is_static, self.registers)):
            return False
        return all(isinstance(one, StraightLine) for one in self.blocks[0])

    @property
    def instructions(self) -> Iterator[Instruction]:
        """The instructions of all blocks."""
        return (instruction for block in self.blocks for instruction in block)

    @property
    def inputs(self) -> list[Register]:
        """The registers of the parameters, in order."""
        return list(range(sum(len(flatten(param.value)) for param in self.params)))

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        """The parameters that a caller gives: all but the state."""
        return self.params[: len(self.params) - len(self.state)]

    def answer(self, result: Any) -> Any:
        """What a caller gets of `result`: all but the new state."""
        return result[0] if self.state else result

    @property
    def state_specs(self) -> dict[str, Spec]:
        """The types of the state, by name."""
        kept = self.params[len(self.arguments) :]
        return {param.name: self.registers[flatten(param.value)[0]] for param in kept}

    def result_name(self, place: int) -> str:
        """The name of a result."""
        named = place < len(self.result_names)
        return self.result_names[place] if named else f"output_{place}"

    @property
    def result(self) -> Value:
        """The result of straight-line code."""
        last = self.straight_line[-1]
        assert isinstance(last, Return)
        return last.value


@frozen
class Constant:
    """A tensor that calls do not change."""

    name: str
    spec: TensorSpec
    prepared: int | None = None  # which result of `prepare` it is; None: a given constant

    @property
    def is_given(self) -> bool:
        """Whether it is a weight or a constant of the model, not computed by `prepare`."""
        return self.prepared is None


@frozen
class Program:
    """Kernels, constants, functions and data types, each by name."""

    kernels: tuple[Kernel, ...]
    constants: tuple[Constant, ...]
    functions: tuple[Function, ...]
    types: tuple[DataType, ...] = ()

    def __getitem__(self, name: str) -> Function:
        if name not in self.function_table:
            raise RelayError(f"the program has no function `@{name}`")
        return self.function_table[name]

    @cached_property
    def function_table(self) -> dict[str, Function]:
        return {function.name: function for function in self.functions}

    @cached_property
    def kernel_table(self) -> dict[str, Kernel]:
        return {kernel.name: kernel for kernel in self.kernels}

    @cached_property
    def constant_table(self) -> dict[str, Constant]:
        return {constant.name: constant for constant in self.constants}

    @cached_property
    def type_table(self) -> dict[str, DataType]:
        return {one.name: one for one in self.types}

    def __str__(self) -> str:
        from relay.program.text import to_text

        return to_text(self)


MAIN = "main"
PREPARE = "prepare"


def is_static(spec: Spec) -> bool:
    """Whether it is a tensor of known sizes."""
    return isinstance(spec, TensorSpec) and all(type(size) is int for size in spec.shape)


def nbytes(spec: Spec) -> int:
    """The size of a tensor of known sizes, in bytes."""
    assert isinstance(spec, TensorSpec)
    sizes = [size for size in spec.shape if isinstance(size, int)]
    if len(sizes) != len(spec.shape):
        raise RelayError(f"{spec_text(spec)} has no size before the program runs")
    return prod(sizes) * dtypes.to_numpy(spec.dtype).itemsize


# --- types as text ------------------------------------------------------------------------------

# Names of data types and constructors that need no quotes: `List[float32[?]]`.
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*(\[[\w\[\](),?>\- ]*\])?")
_RESERVED = frozenset({"fn", "ref", "else", "inf", "nan"})


def spec_text(spec: Any) -> str:
    """`float32[2, n]`, `fn(int32) -> List[int32]`; tuples of types in parentheses."""
    pieces: list[str] = []
    pending: list[Any] = [spec]
    while pending:
        current = pending.pop()
        match current:
            case str():
                pieces.append(current)
            case ScalarSpec():
                pieces.append(current.dtype)
            case TensorSpec():
                pieces.append(f"{current.dtype}[{', '.join(map(_size_text, current.shape))}]")
            case DataSpec():
                pieces.append(name_text(current.name))
            case ClosureSpec():
                pending += [current.result, ") -> ", *_listed(current.arguments), "fn("]
            case ReferenceSpec():
                pending += [")", current.held, "ref("]
            case _:
                pending += [",)" if len(current) == 1 else ")", *_listed(current), "("]
    return "".join(pieces)


def _listed(parts: Sequence[Any]) -> list[Any]:
    """The parts with commas between them, in reverse order, for a stack."""
    listed: list[Any] = []
    for part in reversed(parts):
        listed += [part, ", "]
    return listed[:-1]


def _size_text(size: int | str) -> str:
    if isinstance(size, int) or size == "?" or (size.isidentifier() and size.isascii()):
        return str(size)
    return string_text(size)


def name_text(name: str) -> str:
    """The name of a data type or constructor, quoted where it would be ambiguous."""
    plain = (
        _PLAIN_NAME.fullmatch(name) is not None
        and name.partition("[")[0] not in _RESERVED
        and not dtypes.is_dtype(name.partition("[")[0])
        and _is_balanced(name)
    )
    return name if plain else string_text(name)


def _is_balanced(text: str) -> bool:
    """Whether the first bracket is closed by the last character, and not before."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if depth == 0 and character == "]" and place + 1 < len(text):
            return False
    return depth == 0


def string_text(value: str) -> str:
    """A string as in JSON."""
    return json.dumps(value, ensure_ascii=not value.isprintable())


# --- nested tuples ------------------------------------------------------------------------------


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
        return tuple((yield gather(map(build, part))))

    return run(build(structure))
