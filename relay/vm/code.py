"""Threaded code: a function of a program as a list of steps, one Python function per instruction.

A step updates the registers and returns what comes next:

    None      the step after this one
    int       the step with that number: where a block begins
    Enter     the first step of another function; then, unless it is a tail call, the one after this
    Leave     back to the caller

Types are inspected when the steps are made, not when they run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, assert_never

import numpy as np

from relay import dtypes
from relay.errors import EvaluationError, SourceName, Span, with_value
from relay.executors.arrays import address
from relay.executors.memory import typed
from relay.extents import EXPECTED, filled, has_room, is_size, size_text, tensor_text
from relay.immutable import frozen
from relay.lower.kernel import TensorSpec
from relay.program import program as isa
from relay.program.printer import instruction_text
from relay.target.loaded import Loaded
from relay.vm.objects import Data, VMCell, VMClosure
from relay.vm.scalars import from_memory, from_number, operation, to_memory

Registers = list[Any]


@dataclass(slots=True, eq=False)
class Run:
    """The state of one run besides registers."""

    constants: Mapping[str, np.ndarray]
    loaded: Loaded


@dataclass(slots=True, eq=False)
class Enter:
    """A call. `outputs` receive its results; None for a tail call."""

    code: ThreadedCode
    args: Registers
    outputs: tuple[isa.Register, ...] | None


@dataclass(slots=True, eq=False)
class Leave:
    """A return, with the results."""

    values: Registers


Outcome = None | int | Enter | Leave
Step = Callable[[Registers, Run], Outcome]
# May wrap a step, to count or time it.
Watch = Callable[[isa.Function, isa.Instruction, Step], Step]


class ThreadedCode:
    """A function as steps, which are filled in once all functions are known."""

    __slots__ = ("blank", "function", "steps")

    def __init__(self, function: isa.Function) -> None:
        self.function = function
        self.steps: list[Step] = []
        self.blank: Registers = [None] * (len(function.registers) - len(function.inputs))


def translate(program: isa.Program, watch: Watch | None = None) -> dict[str, ThreadedCode]:
    """The functions of a program as steps, by name."""
    codes = {function.name: ThreadedCode(function) for function in program.functions}
    for code in codes.values():
        _Translator(program, codes, code.function).fill(code, watch)
    return codes


@frozen
class _Translator:
    program: isa.Program
    codes: Mapping[str, ThreadedCode]
    function: isa.Function

    def fill(self, code: ThreadedCode, watch: Watch | None) -> None:
        begin = 0
        begins = []
        for block in self.function.blocks:
            begins.append(begin)
            begin += len(block)
        for instruction in self.function.instructions:
            step = self.step(instruction, begins)
            code.steps.append(step if watch is None else watch(self.function, instruction, step))

    def step(self, instruction: isa.Instruction, begins: Sequence[int]) -> Step:
        """The step of an instruction; block i begins at `begins[i]`."""
        match instruction:
            case isa.LoadConstant(output, name):
                return self.load_constant(output, name)
            case isa.Literal(output, value):
                spec = self.function.registers[output]
                assert isinstance(spec, isa.ScalarSpec)
                return _set(output, from_number(value, spec.dtype))
            case isa.Scalar():
                return self.scalar(instruction)
            case isa.AllocTensor(output, sizes):
                return self.alloc(instruction, output, sizes)
            case isa.ViewTensor():
                return self.view(instruction)
            case isa.InvokeKernel():
                return self.invoke(instruction)
            case isa.ReadSize(output, tensor, axis):
                return _make(output, lambda r: np.int64(r[tensor].shape[axis]))
            case isa.ReadElement(output, tensor, index):
                return self.read_element(output, tensor, index)
            case isa.ComputeSize():
                return _compute_size(instruction)
            case isa.RequireEqual():
                return _require(instruction)
            case isa.MakeData(output, name, fields):
                tag = self.tag(output, name)
                return _make(output, lambda r: Data(tag, tuple([r[field] for field in fields])))
            case isa.GetField(output, data, _, index):
                return _make(output, lambda r: r[data].fields[index])
            case isa.MakeClosure(output, name, captured):
                code = self.codes[name]
                return _make(output, lambda r: VMClosure(code, tuple([r[one] for one in captured])))
            case isa.MakeReference(output, contents):
                return _make(output, lambda r: VMCell(tuple([r[one] for one in contents])))
            case isa.ReadReference():
                return _read_reference(instruction)
            case isa.WriteReference():
                return _write_reference(instruction)
            case isa.Retain() | isa.Release():
                return _nothing  # Python counts references
            case isa.CallFunction(outputs, name, args):
                return _call(self.codes[name], args, outputs)
            case isa.TailCall(name, args):
                return _call(self.codes[name], args, None)
            case isa.CallClosure(outputs, closure, args):
                return _call_closure(closure, args, outputs)
            case isa.TailCallClosure(closure, args):
                return _call_closure(closure, args, None)
            case isa.Return(value):
                leaves = isa.flatten(value)
                return lambda r, _: Leave([r[leaf] for leaf in leaves])
            case isa.Jump(block, args):
                return self.jump(begins[block], self.function.blocks[block].params, args)
            case isa.Branch(condition, true, false):
                yes, no = begins[true], begins[false]
                return lambda r, _: yes if r[condition] else no
            case isa.Switch():
                return self.switch(instruction, begins)
            case isa.Fail():
                return _fail(instruction)
            case _:
                assert_never(instruction)

    # --- tensors and scalars

    def load_constant(self, output: isa.Register, name: str) -> Step:
        spec = self.function.registers[output]

        def step(registers: Registers, run: Run) -> None:
            registers[output] = run.constants[name]

        def scalar_step(registers: Registers, run: Run) -> None:
            assert isinstance(spec, isa.ScalarSpec)
            registers[output] = from_memory(run.constants[name], spec.dtype)

        return scalar_step if isinstance(spec, isa.ScalarSpec) else step

    def dtype(self, register: isa.Register) -> str:
        spec = self.function.registers[register]
        assert isinstance(spec, isa.ScalarSpec | TensorSpec)
        return spec.dtype

    def scalar(self, instruction: isa.Scalar) -> Step:
        output, inputs = instruction.output, instruction.inputs
        kinds = [self.dtype(register) for register in inputs]
        compute = operation(instruction.op, kinds, self.dtype(output))
        if len(inputs) == 1:
            (one,) = inputs
            return _make(output, lambda r: compute(r[one]))
        if len(inputs) == 2:
            left, right = inputs
            return _make(output, lambda r: compute(r[left], r[right]))
        return _make(output, lambda r: compute(*[r[one] for one in inputs]))

    def shape(
        self, instruction: isa.Instruction, output: isa.Register, sizes: Sequence[isa.Register]
    ) -> Callable[[Registers], tuple[int, ...]]:
        """A function that computes the shape of a new tensor."""
        spec = self.function.registers[output]
        assert isinstance(spec, TensorSpec)
        known = tuple(size for size in spec.shape if isinstance(size, int))
        if len(known) == len(spec.shape):
            return lambda _: known
        following = iter(sizes)
        # -1 - a register, or a size; registers are read when the tensor is made
        parts = [size if isinstance(size, int) else -1 - next(following) for size in spec.shape]

        def shape(registers: Registers) -> tuple[int, ...]:
            found = tuple([n if n >= 0 else int(registers[-1 - n]) for n in parts])
            if not has_room(found, spec.dtype):
                text = tensor_text(found, spec.dtype)
                raise self.failure(instruction, text, EXPECTED)
            return found

        return shape

    def alloc(
        self, instruction: isa.AllocTensor, output: isa.Register, sizes: Sequence[isa.Register]
    ) -> Step:
        dtype = self.dtype(output)
        width = dtypes.to_numpy(dtype).itemsize
        shape_of = self.shape(instruction, output, sizes)

        def step(registers: Registers, run: Run) -> None:
            shape = shape_of(registers)
            registers[output] = typed(run.loaded.allocate(prod(shape) * width), shape, dtype)

        return step

    def view(self, instruction: isa.ViewTensor) -> Step:
        source = instruction.input
        shape_of = self.shape(instruction, instruction.output, instruction.sizes)

        def make(registers: Registers) -> np.ndarray:
            shape = shape_of(registers)
            flat: np.ndarray = registers[source].reshape(-1)
            count = prod(shape)
            if count > flat.size:
                raise self.failure(
                    instruction, f"{flat.size} elements cannot be seen as a tensor of shape {shape}"
                )
            return flat[:count].reshape(shape)

        return _make(instruction.output, make)

    def read_element(self, output: isa.Register, tensor: isa.Register, index: int) -> Step:
        dtype = self.dtype(output)
        return _make(output, lambda r: from_memory(r[tensor].reshape(-1)[index], dtype))

    def invoke(self, call: isa.InvokeKernel) -> Step:
        name, sizes = call.kernel, call.sizes
        specs = self.function.registers
        narrow = {
            register: spec.dtype
            for register in (*call.inputs, *call.outputs)
            if isinstance(spec := specs[register], isa.ScalarSpec)
        }
        inputs = [(register, narrow.get(register)) for register in call.inputs]
        outputs = [(register, narrow.get(register)) for register in call.outputs]

        def step(registers: Registers, run: Run) -> None:
            held = []  # the memory of scalars, until the kernel has ended
            words = []
            written = []
            for register, dtype in inputs:
                value = registers[register]
                if dtype is not None:
                    value = to_memory(value, dtype)
                    held.append(value)
                words.append(address(value))
            for register, dtype in outputs:
                if dtype is None:
                    words.append(address(registers[register]))
                else:
                    place = np.empty((), dtypes.to_numpy(dtype))
                    written.append((register, place, dtype))
                    words.append(address(place))
            words += [int(registers[size]) for size in sizes]
            run.loaded.invoke(name, words, call.where)
            for register, place, dtype in written:
                registers[register] = from_memory(place, dtype)

        return step

    # --- data and blocks

    def tag(self, data: isa.Register, constructor: str) -> int:
        spec = self.function.registers[data]
        assert isinstance(spec, isa.DataSpec)
        return self.program.type_table[spec.name].tag(constructor)

    def switch(self, instruction: isa.Switch, begins: Sequence[int]) -> Step:
        spec = self.function.registers[instruction.data]
        assert isinstance(spec, isa.DataSpec)
        known = self.program.type_table[spec.name].constructors
        blocks = dict(instruction.cases)
        targets = [blocks.get(each.name, instruction.otherwise) for each in known]
        places = [0 if target is None else begins[target] for target in targets]
        data = instruction.data
        return lambda r, _: places[r[data].tag]

    def jump(
        self, begin: int, params: Sequence[isa.Register], args: Sequence[isa.Register]
    ) -> Step:
        if not args:
            return lambda _, __: begin

        def step(registers: Registers, _: Run) -> int:
            values = [registers[arg] for arg in args]  # read all before writing any
            for param, value in zip(params, values, strict=True):
                registers[param] = value
            return begin

        return step

    def failure(
        self, instruction: isa.Instruction, message: str, expected: str | None = None
    ) -> EvaluationError:
        text = instruction_text(instruction, self.function)
        found = f"`{text}` in function `@{self.function.name}`"
        where = getattr(instruction, "where", "") or self.function.where
        return EvaluationError.of(message, text_span(where), expected, found)


def text_span(where: str) -> Span | None:
    """A span that is known as text only."""
    return Span(SourceName(where)) if where else None


# --- steps that need no types --------------------------------------------------------------------


def _set(output: isa.Register, value: Any) -> Step:
    def step(registers: Registers, _: Run) -> None:
        registers[output] = value

    return step


def _make(output: isa.Register, make: Callable[[Registers], Any]) -> Step:
    def step(registers: Registers, _: Run) -> None:
        registers[output] = make(registers)

    return step


def _nothing(registers: Registers, run: Run) -> None:
    pass


def _compute_size(instruction: isa.ComputeSize) -> Step:
    op, left, right = instruction.op, instruction.left, instruction.right
    compute = int.__mul__ if op == "mul" else int.__add__

    def step(registers: Registers, _: Run) -> None:
        numbers = int(registers[left]), int(registers[right])
        found = compute(*numbers)
        if not is_size(found):
            text = filled(size_text(op), numbers)
            where = text_span(instruction.where)
            raise EvaluationError.of(text, where, expected=EXPECTED)
        registers[instruction.output] = np.int64(found)

    return step


def _require(instruction: isa.RequireEqual) -> Step:
    left, right = instruction.left, instruction.right

    def step(registers: Registers, _: Run) -> None:
        if registers[left] != registers[right]:
            found, expected = (registers[one] for one in instruction.details)
            raise EvaluationError.of(
                instruction.message,
                text_span(instruction.where),
                expected=with_value(instruction.expected, expected),
                found=with_value(instruction.found, found),
            )

    return step


def _fail(instruction: isa.Fail) -> Step:
    def step(registers: Registers, run: Run) -> None:
        raise EvaluationError.of(instruction.message, text_span(instruction.where))

    return step


def _read_reference(instruction: isa.ReadReference) -> Step:
    outputs, reference = instruction.outputs, instruction.reference

    def step(registers: Registers, _: Run) -> None:
        for output, value in zip(outputs, registers[reference].contents, strict=True):
            registers[output] = value

    return step


def _write_reference(instruction: isa.WriteReference) -> Step:
    reference, contents = instruction.reference, instruction.contents

    def step(registers: Registers, _: Run) -> None:
        registers[reference].contents = tuple([registers[one] for one in contents])

    return step


def _call(
    code: ThreadedCode, args: Sequence[isa.Register], outputs: tuple[isa.Register, ...] | None
) -> Step:
    return lambda r, _: Enter(code, [r[arg] for arg in args], outputs)


def _call_closure(
    closure: isa.Register, args: Sequence[isa.Register], outputs: tuple[isa.Register, ...] | None
) -> Step:
    def step(registers: Registers, _: Run) -> Enter:
        callee: VMClosure = registers[closure]
        return Enter(callee.code, [*callee.captured, *[registers[arg] for arg in args]], outputs)

    return step
