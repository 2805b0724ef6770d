"""Type checking of instructions.

Sizes are compared as far as both are numbers: that others are equal shows when the program runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from relay import dtypes
from relay.errors import Diagnostic, did_you_mean
from relay.immutable import frozen
from relay.lower.kernel import Kernel, TensorSpec
from relay.program.program import (
    AllocTensor,
    Branch,
    CallClosure,
    CallFunction,
    ClosureSpec,
    ComputeSize,
    Constructor,
    DataSpec,
    DataType,
    Function,
    GetField,
    Instruction,
    InvokeKernel,
    Jump,
    Literal,
    LoadConstant,
    MakeClosure,
    MakeData,
    MakeReference,
    Program,
    ReadElement,
    ReadReference,
    ReadSize,
    ReferenceSpec,
    Register,
    Release,
    RequireEqual,
    Retain,
    Return,
    Scalar,
    ScalarSpec,
    Spec,
    Switch,
    TailCall,
    TailCallClosure,
    ViewTensor,
    WriteReference,
    flatten,
    spec_text,
)
from relay.program.scalars import OPERATIONS, SIZE_OPERATIONS, result_type

SIZE = ScalarSpec("int64")
REAL = ScalarSpec("float64")
TRUTH = ScalarSpec("bool")


def fits(given: Any, wanted: Any) -> bool:
    """Whether a value of one type can be used as one of another."""
    pending = [(given, wanted)]
    while pending:
        match pending.pop():
            case TensorSpec() as one, TensorSpec() as other:
                if one.dtype != other.dtype or len(one.shape) != len(other.shape):
                    return False
                for size, extent in zip(one.shape, other.shape, strict=True):
                    if isinstance(size, int) and isinstance(extent, int) and size != extent:
                        return False
            case ClosureSpec() as one, ClosureSpec() as other:
                pending += [(one.arguments, other.arguments), (one.result, other.result)]
            case ReferenceSpec(one), ReferenceSpec(other):
                pending.append((one, other))
            case tuple() as one, tuple() as other:
                if len(one) != len(other):
                    return False
                pending += zip(one, other, strict=True)
            case one, other:
                if one != other:
                    return False
    return True


def holds(register: Spec, wanted: TensorSpec) -> bool:
    """Whether a register may be an operand of a kernel, or a constant: there all is tensors."""
    if isinstance(register, ScalarSpec):
        return wanted.shape == () and wanted.dtype == register.dtype
    return fits(register, wanted)


def result_types(function: Function) -> list[Spec]:
    """The types of what a function returns; straight-line code need not say so itself."""
    if function.results == () and function.is_straight_line and len(function.blocks[0]):
        last = function.blocks[0].instructions[-1]
        if isinstance(last, Return):
            known = range(len(function.registers))
            return [function.registers[r] for r in flatten(last.value) if r in known]
    return flatten(function.results)


def parameter_types(function: Function) -> list[Spec]:
    """The types of a function's parameters."""
    return [function.registers[register] for register in function.inputs]


# --- instructions --------------------------------------------------------------------------------


class _Wrong(Exception):
    """A problem that leaves nothing else to look at."""

    def __init__(self, problem: Diagnostic) -> None:
        super().__init__(problem.message)
        self.problem = problem


@frozen
class InstructionTypes:
    """Says what is wrong with an instruction of `function`; `problem` adds where that is."""

    program: Program
    function: Function
    problem: Callable[..., Diagnostic]

    @property
    def specs(self) -> tuple[Spec, ...]:
        return self.function.registers

    def expect(
        self, what: str, given: Sequence[Any], wanted: Sequence[Any]
    ) -> Iterator[Diagnostic]:
        """Registers or types that must fit types, one by one."""
        types = [self.specs[one] if isinstance(one, int) else one for one in given]
        if not fits(tuple(types), tuple(wanted)):
            yield self.problem(f"{what} do not fit", _listed(wanted), _listed(types))

    def expect_sizes(self, spec: Spec, sizes: Sequence[Register]) -> Iterator[Diagnostic]:
        """A size for every dynamic dimension of a tensor."""
        if not isinstance(spec, TensorSpec):
            yield self.problem("this makes a tensor", "a tensor", spec_text(spec))
            return
        open_sizes = [size for size in spec.shape if not isinstance(size, int)]
        yield from self.expect("sizes", sizes, [SIZE] * len(open_sizes))

    def tensor(self, register: Register) -> Iterator[Diagnostic]:
        if not isinstance(self.specs[register], TensorSpec):
            found = spec_text(self.specs[register])
            yield self.problem(f"register %{register} holds no tensor", "a tensor", found)

    def data_type(self, data: Register) -> DataType:
        spec = self.specs[data]
        if isinstance(spec, DataSpec):
            return self.program.type_table[spec.name]
        message = f"register %{data} holds no data"
        raise _Wrong(self.problem(message, "a value of a data type", spec_text(spec)))

    def constructor(self, data: Register, name: str) -> Constructor:
        """The constructor `name` of the type of a register."""
        one = self.data_type(data)
        table = {constructor.name: constructor for constructor in one.constructors}
        missing = f"data type `{one.name}` has no constructor `{name}`"
        return self.known(table, name, missing)  # type: ignore[no-any-return]

    def callee(self, name: str) -> Function:
        missing = f"the program has no function `@{name}`"
        return self.known(self.program.function_table, name, missing)  # type: ignore[no-any-return]

    def known(self, table: Mapping[str, Any], name: str, message: str) -> Any:
        if name not in table:
            raise _Wrong(self.problem(message, hint=did_you_mean(name, table)))
        return table[name]

    def closure(self, register: Register) -> ClosureSpec:
        spec = self.specs[register]
        if isinstance(spec, ClosureSpec):
            return spec
        message = f"register %{register} holds no function"
        raise _Wrong(self.problem(message, "fn(…)", spec_text(spec)))

    def __call__(self, instruction: Instruction) -> Iterator[Diagnostic]:
        """The type errors of an instruction."""
        try:
            yield from self.problems(instruction)
        except _Wrong as wrong:
            yield wrong.problem

    def problems(self, instruction: Instruction) -> Iterator[Diagnostic]:
        specs, program = self.specs, self.program
        match instruction:
            case LoadConstant(output, name):
                missing = f"the program has no constant `{name}`"
                constant = self.known(program.constant_table, name, missing)
                if not holds(specs[output], constant.spec):
                    wanted, found = spec_text(constant.spec), spec_text(specs[output])
                    yield self.problem("the constant is of another type", wanted, found)
            case Literal(output, value):
                if not _is_literal(value, specs[output]):
                    found = spec_text(specs[output])
                    yield self.problem("the number is none of this type", found, repr(value))
            case Scalar():
                yield from self.scalar(instruction)
            case AllocTensor(output, sizes):
                yield from self.expect_sizes(specs[output], sizes)
            case ViewTensor(output, source, sizes):
                yield from self.expect_sizes(specs[output], sizes)
                yield from self.tensor(source)
                kinds = [getattr(specs[one], "dtype", None) for one in (output, source)]
                if kinds[0] != kinds[1]:
                    yield self.problem("a view has the elements of what is viewed")
            case InvokeKernel(name):
                missing = f"the program has no kernel `@{name}`"
                yield from self.invoke(instruction, self.known(program.kernel_table, name, missing))
            case ReadSize(output, tensor, axis):
                yield from self.expect("types of sizes", [output], [SIZE])
                yield from self.tensor(tensor)
                spec = specs[tensor]
                if isinstance(spec, TensorSpec) and axis >= len(spec.shape):
                    yield self.problem(f"there is no axis {axis}", found=spec_text(spec))
            case ReadElement(output, tensor, index):
                yield from self.tensor(tensor)
                spec = specs[tensor]
                if isinstance(spec, TensorSpec):
                    yield from self.expect("types", [output], [ScalarSpec(spec.dtype)])
                    known = [size for size in spec.shape if isinstance(size, int)]
                    if len(known) == len(spec.shape) and index >= prod(known):
                        yield self.problem(f"there is no element {index}", found=spec_text(spec))
            case ComputeSize(output, op, left, right):
                yield from self.expect("types of sizes", [output, left, right], [SIZE] * 3)
                if op not in SIZE_OPERATIONS:
                    listed = " or ".join(SIZE_OPERATIONS)
                    yield self.problem("sizes are not computed so", listed, op)
            case RequireEqual(left, right, shown=shown):
                yield from self.expect("types of sizes", [left, right], [SIZE, SIZE])
                if any(specs[one] not in (SIZE, REAL) for one in shown):
                    found = ", ".join(spec_text(specs[one]) for one in shown)
                    yield self.problem("a check shows an int64 or a float64", found=found)
            case Retain(register) | Release(register):
                if isinstance(specs[register], ScalarSpec):
                    yield self.problem("scalars are not counted")
            case Return(value):
                yield from self.expect("results", flatten(value), result_types(self.function))
            case Jump(block, args):
                params = self.function.blocks[block].params
                yield from self.expect("arguments", args, [specs[param] for param in params])
            case Branch(condition):
                yield from self.expect("types of conditions", [condition], [TRUTH])
            case Switch(data, cases, otherwise):
                yield from self.switch(data, [name for name, _ in cases], otherwise)
            case MakeData(output, name, fields):
                yield from self.expect("fields", fields, self.constructor(output, name).places)
            case GetField(output, data, name, index):
                places = self.constructor(data, name).places
                if index < len(places):
                    yield from self.expect("types", [places[index]], [specs[output]])
                else:
                    yield self.problem(f"there is no field {index}", found=_listed(places))
            case MakeClosure(output, name, captured):
                function, closure = self.callee(name), self.closure(output)
                taken = [*(specs[one] for one in captured), *closure.params]
                yield from self.expect("parameters", taken, parameter_types(function))
                yield from self.expect("results", result_types(function), closure.results)
            case MakeReference(reference, contents) | WriteReference(reference, contents):
                yield from self.reference(reference, contents, inwards=True)
            case ReadReference(outputs, reference):
                yield from self.reference(reference, outputs, inwards=False)
            case CallFunction(function=name) | TailCall(function=name):
                function = self.callee(name)
                types = parameter_types(function), result_types(function)
                yield from self.call(instruction, *types)
            case CallClosure(closure=register) | TailCallClosure(closure=register):
                closure = self.closure(register)
                yield from self.call(instruction, closure.params, closure.results)

    def call(
        self,
        call: CallFunction | CallClosure | TailCall | TailCallClosure,
        params: Sequence[Spec],
        results: Sequence[Spec],
    ) -> Iterator[Diagnostic]:
        yield from self.expect("arguments", call.args, params)
        if isinstance(call, CallFunction | CallClosure):
            returned = [self.specs[one] for one in call.outputs]
        else:
            returned = result_types(self.function)
        yield from self.expect("results", results, returned)

    def scalar(self, instruction: Scalar) -> Iterator[Diagnostic]:
        if instruction.op not in OPERATIONS:
            hint = did_you_mean(instruction.op, OPERATIONS)
            yield self.problem(f"there is no operation `{instruction.op}`", hint=hint)
            return
        spec = self.specs[instruction.output]
        given = [self.specs[register] for register in instruction.inputs]
        kinds = [one.dtype for one in given if isinstance(one, ScalarSpec)]
        wanted = spec.dtype if isinstance(spec, ScalarSpec) else ""
        result = result_type(instruction.op, kinds, wanted) if len(kinds) == len(given) else None
        if result is None:
            count = OPERATIONS[instruction.op]
            what = f"{count} scalars" if count > 1 else "a scalar"
            yield self.problem(
                f"operands of `{instruction.op}` do not fit",
                f"{what} it is defined for",
                _listed(given),
            )
        elif spec != ScalarSpec(result):
            yield self.problem("the result is of another type", result, spec_text(spec))

    def invoke(self, call: InvokeKernel, kernel: Kernel) -> Iterator[Diagnostic]:
        for what, registers, wanted in (
            ("inputs", call.inputs, kernel.inputs),
            ("outputs", call.outputs, kernel.outputs),
        ):
            specs = [self.specs[register] for register in registers]
            if len(specs) != len(wanted) or not all(map(holds, specs, wanted)):
                yield self.problem(
                    f"{what} of kernel `@{kernel.name}` do not fit", _listed(wanted), _listed(specs)
                )
        yield from self.expect("sizes", call.sizes, [SIZE] * len(kernel.sizes))

    def switch(
        self, data: Register, names: Sequence[str], otherwise: int | None
    ) -> Iterator[Diagnostic]:
        known = self.data_type(data).constructors
        for name, count in Counter(names).items():
            self.constructor(data, name)
            if count > 1:
                yield self.problem(f"constructor `{name}` is listed {count} times")
        missing = [f"`{one.name}`" for one in known if one.name not in names]
        if missing and otherwise is None:
            wanted = "all of them, or `else`"
            yield self.problem("not every constructor is listed", wanted, ", ".join(missing))

    def reference(
        self, register: Register, contents: Sequence[Register], *, inwards: bool
    ) -> Iterator[Diagnostic]:
        spec = self.specs[register]
        if not isinstance(spec, ReferenceSpec):
            yield self.problem(f"register %{register} holds no cell", "ref(…)", spec_text(spec))
        elif inwards:
            yield from self.expect("contents", contents, spec.contents)
        else:
            wanted = [self.specs[one] for one in contents]
            yield from self.expect("contents", spec.contents, wanted)


def _is_literal(value: bool | int | float, spec: Spec) -> bool:
    if not isinstance(spec, ScalarSpec):
        return False
    if dtypes.is_float(spec.dtype):
        return not isinstance(value, bool)
    if spec.dtype == "bool":
        return value in (0, 1)
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    bits = int(spec.dtype.lstrip("uint"))
    low, high = (-(1 << bits - 1), 1 << bits - 1) if spec.dtype[0] == "i" else (0, 1 << bits)
    return low <= value < high


def _listed(specs: Sequence[Any]) -> str:
    return ", ".join(map(spec_text, specs)) or "none"
