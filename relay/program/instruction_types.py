"""Type checking of instructions; dynamic sizes are checked at run time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, TypeVar

from relay import dtypes
from relay.errors import Diagnostic, did_you_mean
from relay.immutable import frozen
from relay.lower.kernel import Kernel, TensorSpec
from relay.program import program as isa
from relay.program.scalars import OPERATIONS, SIZE_OPERATIONS, result_type

S = TypeVar("S", bound=isa.Spec)

SIZE = isa.ScalarSpec("int64")
REAL = isa.ScalarSpec("float64")
TRUTH = isa.ScalarSpec("bool")


def fits(given: Any, wanted: Any) -> bool:
    """Whether a value of one type can be used as another."""
    pending = [(given, wanted)]
    while pending:
        match pending.pop():
            case TensorSpec() as one, TensorSpec() as other:
                if one.dtype != other.dtype or len(one.shape) != len(other.shape):
                    return False
                for size, extent in zip(one.shape, other.shape, strict=True):
                    if isinstance(size, int) and isinstance(extent, int) and size != extent:
                        return False
            case isa.ClosureSpec() as one, isa.ClosureSpec() as other:
                pending += [(one.arguments, other.arguments), (one.result, other.result)]
            case isa.ReferenceSpec(one), isa.ReferenceSpec(other):
                pending.append((one, other))
            case tuple() as one, tuple() as other:
                if len(one) != len(other):
                    return False
                pending += zip(one, other, strict=True)
            case one, other:
                if one != other:
                    return False
    return True


def holds(register: isa.Spec, wanted: TensorSpec) -> bool:
    """Whether a register may be an operand of a kernel or a constant, where scalars are tensors."""
    if isinstance(register, isa.ScalarSpec):
        return wanted.shape == () and wanted.dtype == register.dtype
    return fits(register, wanted)


def result_types(function: isa.Function) -> list[isa.Spec]:
    """The result types of a function; straight-line code need not declare them."""
    if function.results == () and function.is_straight_line and len(function.blocks[0]):
        last = function.blocks[0].instructions[-1]
        if isinstance(last, isa.Return):
            known = range(len(function.registers))
            return [function.registers[r] for r in isa.flatten(last.value) if r in known]
    return isa.flatten(function.results)


def parameter_types(function: isa.Function) -> list[isa.Spec]:
    """The types of a function's parameters."""
    return [function.registers[register] for register in function.inputs]


# --- instructions --------------------------------------------------------------------------------


class _Wrong(Exception):
    """A problem that rules out further checks."""

    def __init__(self, problem: Diagnostic) -> None:
        super().__init__(problem.message)
        self.problem = problem


@frozen
class InstructionTypes:
    """Type checks instructions of `function`; `problem` makes a diagnostic with its location."""

    program: isa.Program
    function: isa.Function
    problem: Callable[..., Diagnostic]

    @property
    def specs(self) -> tuple[isa.Spec, ...]:
        return self.function.registers

    def expect(
        self, what: str, given: Sequence[Any], wanted: Sequence[Any]
    ) -> Iterator[Diagnostic]:
        """Registers or types must fit types, pairwise."""
        types = [self.specs[one] if isinstance(one, int) else one for one in given]
        if not fits(tuple(types), tuple(wanted)):
            yield self.problem(f"{what} do not fit", _listed(wanted), _listed(types))

    def expect_sizes(self, spec: isa.Spec, sizes: Sequence[isa.Register]) -> Iterator[Diagnostic]:
        """There is a size for every dynamic dimension of a tensor."""
        if not isinstance(spec, TensorSpec):
            yield self.problem("this makes a tensor", "a tensor", isa.spec_text(spec))
            return
        dynamic = [size for size in spec.shape if not isinstance(size, int)]
        yield from self.expect("sizes", sizes, [SIZE] * len(dynamic))

    def held(self, register: isa.Register, kind: type[S], what: str, expected: str) -> S:
        """The type of a register, which must be of some kind."""
        spec = self.specs[register]
        if isinstance(spec, kind):
            return spec
        message = f"register %{register} holds no {what}"
        raise _Wrong(self.problem(message, expected, isa.spec_text(spec)))

    def tensor(self, register: isa.Register) -> TensorSpec:
        return self.held(register, TensorSpec, "tensor", "a tensor")

    def data_type(self, data: isa.Register) -> isa.DataType:
        spec = self.held(data, isa.DataSpec, "data", "a value of a data type")
        return self.program.type_table[spec.name]

    def constructor(self, data: isa.Register, name: str) -> isa.Constructor:
        """The constructor `name` of the type of a register."""
        one = self.data_type(data)
        table = {constructor.name: constructor for constructor in one.constructors}
        missing = f"data type `{one.name}` has no constructor `{name}`"
        return self.known(table, name, missing)  # type: ignore[no-any-return]

    def callee(self, name: str) -> isa.Function:
        missing = f"the program has no function `@{name}`"
        return self.known(self.program.function_table, name, missing)  # type: ignore[no-any-return]

    def known(self, table: Mapping[str, Any], name: str, message: str) -> Any:
        if name not in table:
            raise _Wrong(self.problem(message, hint=did_you_mean(name, table)))
        return table[name]

    def closure(self, register: isa.Register) -> isa.ClosureSpec:
        return self.held(register, isa.ClosureSpec, "function", "fn(…)")

    def __call__(self, instruction: isa.Instruction) -> Iterator[Diagnostic]:
        """The type errors of an instruction."""
        try:
            yield from self.problems(instruction)
        except _Wrong as wrong:
            yield wrong.problem

    def problems(self, instruction: isa.Instruction) -> Iterator[Diagnostic]:
        specs, program = self.specs, self.program
        match instruction:
            case isa.LoadConstant(output, name):
                missing = f"the program has no constant `{name}`"
                constant = self.known(program.constant_table, name, missing)
                if not holds(specs[output], constant.spec):
                    wanted, found = isa.spec_text(constant.spec), isa.spec_text(specs[output])
                    yield self.problem("the constant is of another type", wanted, found)
            case isa.Literal(output, value):
                if not _is_literal(value, specs[output]):
                    found = isa.spec_text(specs[output])
                    yield self.problem("the number is none of this type", found, repr(value))
            case isa.Scalar():
                yield from self.scalar(instruction)
            case isa.AllocTensor(output, sizes):
                yield from self.expect_sizes(specs[output], sizes)
            case isa.ViewTensor(output, source, sizes):
                yield from self.expect_sizes(specs[output], sizes)
                if self.tensor(source).dtype != getattr(specs[output], "dtype", None):
                    yield self.problem("a view has the elements of what is viewed")
            case isa.InvokeKernel(name):
                missing = f"the program has no kernel `@{name}`"
                yield from self.invoke(instruction, self.known(program.kernel_table, name, missing))
            case isa.ReadSize(output, tensor, axis):
                yield from self.expect("types of sizes", [output], [SIZE])
                if axis >= len((spec := self.tensor(tensor)).shape):
                    yield self.problem(f"there is no axis {axis}", found=isa.spec_text(spec))
            case isa.ReadElement(output, tensor, index):
                spec = self.tensor(tensor)
                yield from self.expect("types", [output], [isa.ScalarSpec(spec.dtype)])
                known = [size for size in spec.shape if isinstance(size, int)]
                if len(known) == len(spec.shape) and index >= prod(known):
                    yield self.problem(f"there is no element {index}", found=isa.spec_text(spec))
            case isa.ComputeSize(output, op, left, right):
                yield from self.expect("types of sizes", [output, left, right], [SIZE] * 3)
                if op not in SIZE_OPERATIONS:
                    listed = " or ".join(SIZE_OPERATIONS)
                    yield self.problem("sizes are not computed so", listed, op)
            case isa.RequireEqual(left, right, shown=shown):
                yield from self.expect("types of sizes", [left, right], [SIZE, SIZE])
                if any(specs[one] not in (SIZE, REAL) for one in shown):
                    found = ", ".join(isa.spec_text(specs[one]) for one in shown)
                    yield self.problem("a check shows an int64 or a float64", found=found)
            case isa.Retain(register) | isa.Release(register):
                if isinstance(specs[register], isa.ScalarSpec):
                    yield self.problem("scalars are not counted")
            case isa.Return(value):
                yield from self.expect("results", isa.flatten(value), result_types(self.function))
            case isa.Jump(block, args):
                params = self.function.blocks[block].params
                yield from self.expect("arguments", args, [specs[param] for param in params])
            case isa.Branch(condition):
                yield from self.expect("types of conditions", [condition], [TRUTH])
            case isa.Switch(data, cases, otherwise):
                yield from self.switch(data, [name for name, _ in cases], otherwise)
            case isa.MakeData(output, name, fields):
                yield from self.expect("fields", fields, self.constructor(output, name).places)
            case isa.GetField(output, data, name, index):
                places = self.constructor(data, name).places
                if index < len(places):
                    yield from self.expect("types", [places[index]], [specs[output]])
                else:
                    yield self.problem(f"there is no field {index}", found=_listed(places))
            case isa.MakeClosure(output, name, captured):
                function, closure = self.callee(name), self.closure(output)
                taken = [*(specs[one] for one in captured), *closure.params]
                yield from self.expect("parameters", taken, parameter_types(function))
                yield from self.expect("results", result_types(function), closure.results)
            case isa.MakeReference(reference, contents) | isa.WriteReference(reference, contents):
                yield from self.reference(reference, contents, inwards=True)
            case isa.ReadReference(outputs, reference):
                yield from self.reference(reference, outputs, inwards=False)
            case isa.CallFunction(function=name) | isa.TailCall(function=name):
                function = self.callee(name)
                types = parameter_types(function), result_types(function)
                yield from self.call(instruction, *types)
            case isa.CallClosure(closure=register) | isa.TailCallClosure(closure=register):
                closure = self.closure(register)
                yield from self.call(instruction, closure.params, closure.results)

    def call(
        self,
        call: isa.CallFunction | isa.CallClosure | isa.TailCall | isa.TailCallClosure,
        params: Sequence[isa.Spec],
        results: Sequence[isa.Spec],
    ) -> Iterator[Diagnostic]:
        yield from self.expect("arguments", call.args, params)
        if isinstance(call, isa.CallFunction | isa.CallClosure):
            returned = [self.specs[one] for one in call.outputs]
        else:
            returned = result_types(self.function)
        yield from self.expect("results", results, returned)

    def scalar(self, instruction: isa.Scalar) -> Iterator[Diagnostic]:
        if instruction.op not in OPERATIONS:
            hint = did_you_mean(instruction.op, OPERATIONS)
            yield self.problem(f"there is no operation `{instruction.op}`", hint=hint)
            return
        spec = self.specs[instruction.output]
        given = [self.specs[register] for register in instruction.inputs]
        kinds = [one.dtype for one in given if isinstance(one, isa.ScalarSpec)]
        wanted = spec.dtype if isinstance(spec, isa.ScalarSpec) else ""
        result = result_type(instruction.op, kinds, wanted) if len(kinds) == len(given) else None
        if result is None:
            count = OPERATIONS[instruction.op]
            what = f"{count} scalars" if count > 1 else "a scalar"
            yield self.problem(
                f"operands of `{instruction.op}` do not fit",
                f"{what} it is defined for",
                _listed(given),
            )
        elif spec != isa.ScalarSpec(result):
            yield self.problem("the result is of another type", result, isa.spec_text(spec))

    def invoke(self, call: isa.InvokeKernel, kernel: Kernel) -> Iterator[Diagnostic]:
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
        self, data: isa.Register, names: Sequence[str], otherwise: int | None
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
        self, register: isa.Register, contents: Sequence[isa.Register], *, inwards: bool
    ) -> Iterator[Diagnostic]:
        held = self.held(register, isa.ReferenceSpec, "cell", "ref(…)").contents
        types = [self.specs[one] for one in contents]
        yield from self.expect("contents", *((types, held) if inwards else (held, types)))


def _is_literal(value: bool | int | float, spec: isa.Spec) -> bool:
    if not isinstance(spec, isa.ScalarSpec):
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
    return ", ".join(map(isa.spec_text, specs)) or "none"
