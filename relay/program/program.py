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
instruction of a block, and only that, says where to go on. A block may have parameters, registers
that get their value from the jump that leads to it (`block 3(%7: int32):`):

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

Two engines run such programs: one instruction at a time (`relay.vm`), and as native code
(`relay.target.llvm.program`). What is straight-line code over tensors of known sizes, one block
that ends in `return`, runs in a planned arena (`relay.executors.bound`); who works on that alone
says so by asking for `Function.straight_line`.

Types are monomorphic. A tuple is not a value of its own: its fields are registers, also as fields
of data and as arguments. A tensor of rank 0 is a scalar, held in the register itself, except in
straight-line code, where all is tensors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Any, ClassVar

from relay import dtypes
from relay.errors import VALUE, RelayError
from relay.immutable import frozen
from relay.lower.kernel import Kernel, TensorSpec
from relay.tree import Steps, run

Register = int
# A value as the caller of a function sees it: a tensor, or tuples of tensors.
Value = Register | tuple[Any, ...]


# --- types of registers -------------------------------------------------------------------------


@frozen
class ScalarSpec:
    """`int32`: one number, or truth value, in the register itself."""

    dtype: str


@frozen
class DataSpec:
    """`List[int32]`: a value of a data type of the program, by name."""

    name: str


@frozen
class ClosureSpec:
    """`fn(int32, float32[3]) -> int32`: a function with what it remembers."""

    arguments: tuple[Any, ...]  # Spec, or tuples of them
    result: Any  # alike

    @cached_property
    def params(self) -> tuple[Spec, ...]:
        """The arguments one by one."""
        return tuple(flatten(self.arguments))

    @cached_property
    def results(self) -> tuple[Spec, ...]:
        """What it returns, one by one."""
        return tuple(flatten(self.result))


@frozen
class ReferenceSpec:
    """`ref(int32)`: a cell; one that holds a tuple has several places."""

    held: Any  # Spec, or tuples of them

    @cached_property
    def contents(self) -> tuple[Spec, ...]:
        """What it holds, one by one."""
        return tuple(flatten(self.held))


Spec = TensorSpec | ScalarSpec | DataSpec | ClosureSpec | ReferenceSpec


@frozen
class Constructor:
    """`Cons(int32, List[int32])`; a field that is a tuple is a tuple of its fields here."""

    name: str
    fields: tuple[Any, ...]  # Spec, or tuples of them

    @cached_property
    def places(self) -> tuple[Spec, ...]:
        """The fields one by one."""
        return tuple(flatten(self.fields))


@frozen
class DataType:
    """A data type at certain arguments: `List[int32]`. A constructor's tag is its position."""

    name: str
    constructors: tuple[Constructor, ...]

    def __getitem__(self, name: str) -> Constructor:
        return self.constructors[self.tag(name)]

    def tag(self, name: str) -> int:
        """The number of a constructor."""
        for tag, constructor in enumerate(self.constructors):
            if constructor.name == name:
                return tag
        raise RelayError(f"data type `{self.name}` has no constructor `{name}`")

    @cached_property
    def is_list(self) -> bool:
        """Whether a Python list is a value of it."""
        if not self._is_made_by("List", {"Cons", "Nil"}):
            return False
        fields = self["Cons"].fields
        return len(fields) == 2 and fields[1] == DataSpec(self.name) and not self["Nil"].places

    @cached_property
    def is_option(self) -> bool:
        """Whether None is a value of it, and whatever it has a constructor for."""
        return self._is_made_by("Option", {"Some", "None"})

    def _is_made_by(self, name: str, constructors: set[str]) -> bool:
        found = {one.name for one in self.constructors}
        return self.name.partition("[")[0] == name and found == constructors


# --- instructions: tensors and scalars ----------------------------------------------------------


@frozen
class LoadConstant:
    """`%1: T = constant "weight"`: the register is the constant itself; nothing is copied."""

    syntax: ClassVar = "<output:new> = constant <constant:constant>"
    output: Register
    constant: str


@frozen
class Literal:
    """`%1: int32 = 5`: a scalar that is part of the program."""

    syntax: ClassVar = "<output:new> = <value:literal>"
    output: Register
    value: bool | int | float


@frozen
class Scalar:
    """`%3: bool = lt %1, %2`: an operation of `relay.te.expr` on scalars, by its name there; the
    type of the result is the register's. `cast` and `bitcast` take one, `select` takes three."""

    syntax: ClassVar = "<output:new> = <op:operation> <inputs:listed>"
    output: Register
    op: str
    inputs: tuple[Register, ...]


@frozen
class AllocTensor:
    """`%1: T = alloc [%5, %6]`: memory for a tensor; what it holds is not defined. The sizes that
    are no numbers in the register's type are those of the scalars given, in order.

    `alloc local`: nobody sees the tensor once the function goes on elsewhere; its memory is the
    frame's.
    """

    syntax: ClassVar = "<output:new> = alloc<local:local><sizes:sizes><where:where>"
    output: Register
    sizes: tuple[Register, ...] = ()
    local: bool = False
    where: str = ""


@frozen
class ViewTensor:
    """`%2: T = view %1 [%5]`: the first elements of another register in the same order, in another
    shape; sizes as for `alloc`."""

    syntax: ClassVar = "<output:new> = view <input:read><sizes:sizes><where:where>"
    output: Register
    input: Register
    sizes: tuple[Register, ...] = ()
    where: str = ""


@frozen
class InvokeKernel:
    """`invoke @k(%0, %1) -> (%2, %3: int32) [%5] where "…"`: the outputs, tensors allocated before,
    are overwritten; an output that is a scalar is written by this. `sizes` are the kernel's, in its
    order. Of a kernel that may end the run, `where` is the place in the source."""

    syntax: ClassVar = (
        "invoke <kernel:kernel><inputs:reads> -> <outputs:outputs><sizes:sizes><where:where>"
    )
    kernel: str
    inputs: tuple[Register, ...]
    outputs: tuple[Register, ...]
    sizes: tuple[Register, ...] = ()
    where: str = ""


@frozen
class ReadSize:
    """`%5: int64 = size %1[0]`: how long a tensor is along an axis."""

    syntax: ClassVar = "<output:new> = size <tensor:read>[<axis:natural>]"
    output: Register
    tensor: Register
    axis: int


@frozen
class ReadElement:
    """`%5: int64 = element %1[0]`: an element of a tensor, by its place in memory order."""

    syntax: ClassVar = "<output:new> = element <tensor:read>[<index:natural>]"
    output: Register
    tensor: Register
    index: int


@frozen
class ComputeSize:
    """`%5: int64 = compute mul %3, %4 where "…"`: the sum (`add`) or the product (`mul`) of two
    int64; where it is none itself, the run ends (`relay.extents`)."""

    syntax: ClassVar = "<output:new> = compute <op:name> <left:read>, <right:read><where:where>"
    output: Register
    op: str
    left: Register
    right: Register
    where: str = ""


@frozen
class RequireEqual:
    """`require %5 = %6 "…" where "…"`: two int64 must be equal, or the run ends with this message,
    `where` being the place in the source.

    `expected` and `found` say more, `{}` (`{:g}` for a float64) in them being the value of the
    register in `shown`, found first; without any these are the two numbers. An empty text is not
    shown."""

    syntax: ClassVar = (
        "require <left:read> = <right:read> <message:string><shown:texts><where:where>"
    )
    left: Register
    right: Register
    message: str
    where: str = ""
    expected: str = VALUE
    found: str = VALUE
    shown: tuple[Register, ...] = ()

    @property
    def details(self) -> tuple[Register, Register]:
        """Where the values are that the texts show: what was found, and what was expected."""
        found, expected = self.shown or (self.left, self.right)
        return found, expected


# --- instructions: data, functions, cells -------------------------------------------------------


@frozen
class MakeData:
    """`%3: List[int32] = data Cons(%1, %2)`."""

    syntax: ClassVar = "<output:new> = data <constructor:name><fields:gives>"
    output: Register
    constructor: str
    fields: tuple[Register, ...]


@frozen
class GetField:
    """`%3: int32 = field %1 Cons.0`: the data is known to be of that constructor; fields are
    counted one by one."""

    syntax: ClassVar = "<output:new> = field <data:read> <constructor:name>.<index:natural>"
    output: Register
    data: Register
    constructor: str
    index: int


@frozen
class MakeClosure:
    """`%3: fn(int32) -> int32 = closure @f(%1, %2)`: the first parameters of `@f` are remembered;
    the others are those of the closure."""

    syntax: ClassVar = "<output:new> = closure <function:function><captured:gives>"
    output: Register
    function: str
    captured: tuple[Register, ...]


@frozen
class MakeReference:
    """`%3: ref(int32) = reference (%1)`."""

    syntax: ClassVar = "<output:new> = reference <contents:gives>"
    output: Register
    contents: tuple[Register, ...]


@frozen
class ReadReference:
    """`(%4: int32) = read %3`: what the cell holds now."""

    syntax: ClassVar = "<outputs:news> = read <reference:read>"
    outputs: tuple[Register, ...]
    reference: Register


@frozen
class WriteReference:
    """`write %3 (%1)`."""

    syntax: ClassVar = "write <reference:read> <contents:gives>"
    reference: Register
    contents: tuple[Register, ...]


@frozen
class CallFunction:
    """`(%4: int32, %5: bool) = call @f(%1, %2)`."""

    syntax: ClassVar = "<outputs:news> = call <function:function><args:gives>"
    outputs: tuple[Register, ...]
    function: str
    args: tuple[Register, ...]


@frozen
class CallClosure:
    """`(%4: int32) = call %3(%1, %2)`."""

    syntax: ClassVar = "<outputs:news> = call <closure:give><args:gives>"
    outputs: tuple[Register, ...]
    closure: Register
    args: tuple[Register, ...]


@frozen
class Retain:
    """`retain %1`: one more holds what is in the register. See `relay.program.ownership`."""

    syntax: ClassVar = "retain <register:read>"
    register: Register


@frozen
class Release:
    """`release %1`: one less holds it; the last one frees it."""

    syntax: ClassVar = "release <register:give>"
    register: Register


# --- instructions that end a block --------------------------------------------------------------


@frozen
class Return:
    """`return (%1, %2)`: ends the function; the values belong to the caller."""

    syntax: ClassVar = "return <value:value>"
    value: Value


@frozen
class Jump:
    """`jump 3(%1, %2)`: go on in another block, with values for its parameters."""

    syntax: ClassVar = "jump <block:block><args:arguments>"
    block: int
    args: tuple[Register, ...] = ()


@frozen
class Branch:
    """`branch %1 ? 2 : 3`: go on in one of two blocks, without parameters."""

    syntax: ClassVar = "branch <condition:read> ? <true:block> : <false:block>"
    condition: Register
    true: int
    false: int


@frozen
class Switch:
    """`switch %1 { Cons: 1, Nil: 2, else: 3 }`: go on by the constructor of data, in blocks without
    parameters. Every constructor is listed, or there is an `otherwise`."""

    syntax: ClassVar = "switch <data:read> { <cases:cases> }"
    data: Register
    cases: tuple[tuple[str, int], ...]
    otherwise: int | None = None


@frozen
class TailCall:
    """`tail call @f(%1)`: what that returns is returned; this activation ends before."""

    syntax: ClassVar = "tail call <function:function><args:gives>"
    function: str
    args: tuple[Register, ...]


@frozen
class TailCallClosure:
    """`tail call %3(%1)`."""

    syntax: ClassVar = "tail call <closure:give><args:gives>"
    closure: Register
    args: tuple[Register, ...]


@frozen
class Fail:
    """`fail "…" where "…"`: the run ends with this message (no clause fits)."""

    syntax: ClassVar = "fail <message:string><where:where>"
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
# What is left of them where tensors of known sizes are computed one after the other.
StraightLine = LoadConstant | AllocTensor | ViewTensor | InvokeKernel | Return


@frozen
class Block:
    """Instructions, of which the last is a terminator."""

    instructions: tuple[Instruction, ...]
    params: tuple[Register, ...] = ()

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    def __len__(self) -> int:
        return len(self.instructions)


# --- programs -----------------------------------------------------------------------------------


@frozen
class Parameter:
    """What a function is called with; the fields of a tuple are registers of their own."""

    name: str
    value: Value


@frozen
class Function:
    """Registers are counted from 0; those of the parameters come first. The first block is where
    it begins."""

    name: str
    params: tuple[Parameter, ...]
    registers: tuple[Spec, ...]
    blocks: tuple[Block, ...]
    results: Any = ()  # the types of what it returns: Spec, or tuples of them
    where: str = ""  # in the source, for errors
    result_names: tuple[str, ...] = ()  # what the model calls its results; () when it does not

    @property
    def straight_line(self) -> tuple[StraightLine, ...]:
        """The instructions of a function without branches, over tensors of known sizes."""
        if not self.is_straight_line:
            raise RelayError(f"function `@{self.name}` is not straight-line code over tensors")
        return tuple(one for one in self.blocks[0] if isinstance(one, StraightLine))

    @cached_property
    def is_straight_line(self) -> bool:
        """Whether it only computes tensors of known sizes, one after the other."""
        known = all(
            isinstance(one, TensorSpec) and all(type(size) is int for size in one.shape)
            for one in self.registers
        )
        return (
            known
            and len(self.blocks) == 1
            and all(isinstance(one, StraightLine) for one in self.blocks[0])
        )

    @property
    def instructions(self) -> Iterator[Instruction]:
        """Those of all blocks."""
        return (instruction for block in self.blocks for instruction in block)

    @property
    def inputs(self) -> list[Register]:
        """The registers of the parameters, in order."""
        return list(range(sum(len(flatten(param.value)) for param in self.params)))

    def result_name(self, place: int) -> str:
        """What the model calls one of its results."""
        if place < len(self.result_names):
            return self.result_names[place]
        return f"output_{place}"

    @property
    def result(self) -> Value:
        """What straight-line code returns."""
        last = self.straight_line[-1]
        assert isinstance(last, Return)
        return last.value


@frozen
class Constant:
    """A tensor that stays the same from call to call."""

    name: str
    spec: TensorSpec
    prepared: int | None = None  # the result of `prepare` it is; None when it comes from outside

    @property
    def is_given(self) -> bool:
        """Whether it comes from outside: a weight, or a constant of the model."""
        return self.prepared is None


@frozen
class Program:
    """Kernels by name, constants by name, and the functions that use them."""

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


def nbytes(spec: Spec) -> int:
    """How much memory a tensor takes; its sizes must be numbers."""
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
    """The parts with commas between, last first: ready to be put on a stack."""
    listed: list[Any] = []
    for part in reversed(parts):
        listed += [part, ", "]
    return listed[:-1]


def _size_text(size: int | str) -> str:
    if isinstance(size, int) or size == "?" or (size.isidentifier() and size.isascii()):
        return str(size)
    return string_text(size)


def name_text(name: str) -> str:
    """The name of a data type or a constructor; in quotes where it could be taken for another."""
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
