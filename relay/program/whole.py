"""Fused Relay -> whole program, with branches, calls, data, closures and cells.

    def @length(%xs: List[int32], %n: int32) -> int32 {
      match (%xs) { Cons(_, %rest) => { let %m = …(%n); @length(%rest, %m) }, Nil => %n }
    }
    ->
    function @length("xs" = %0: List[int32], "n" = %1: int32) -> int32 {
      switch %0 { Cons: 1, Nil: 2 }
      …
    }

The module went through `relay.pipeline.whole_program`: functions are monomorphic and in A-normal
form, operators are in primitive functions, closures are calls of functions marked `Closure`. Every
function that `main` reaches becomes a function of the program.

A function value that is known during lowering is called by name; it becomes a closure only where it
is stored, returned or passed on. Operators on scalars become scalar instructions.

Where a value of unknown size is used as one of known size, its size is checked: kernels are
compiled for the sizes in types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from relay import tree
from relay.analysis.reshapes import only_reshapes
from relay.errors import AnySpan, LowerError
from relay.immutable import frozen
from relay.ir import dims, expr
from relay.ir.expr import Call, Expr, GlobalVar, Let, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.types import FuncType, TensorType, Type
from relay.lower.kernel import Lowered, TensorSpec
from relay.lower.to_compute import calls_of, require_room, to_compute
from relay.nd import NDArray
from relay.op.annotation import annotated
from relay.op.opdef import OpDef
from relay.op.tensor.require import REQUIRE, RequireAttrs
from relay.program import program as isa
from relay.program import scalar_code
from relay.program.builder import At, Builder, OpenBlock, place_of
from relay.program.dynamic import emit_dynamic
from relay.program.lower import KILL, is_external, require_own
from relay.program.matching import Part, Row, lower_match
from relay.program.primitives import is_annotation, is_dynamic, primitive_of, types_of
from relay.program.specs import Specs, structure
from relay.program.stages import Lowering, Stages
from relay.tree import Steps


def lower_program(module: IRModule, lowering: Lowering) -> tuple[isa.Program, dict[str, NDArray]]:
    """The program of a typed module, and the values of its constants that are no weights."""
    return Whole(module, Stages(lowering)).program()


@frozen
class Known:
    """A known function with the values it captures, not yet a closure object."""

    function: str
    captured: tuple[Any, ...] = ()


@dataclass(eq=False)
class Whole:
    """A program under construction."""

    module: IRModule
    stages: Stages
    functions: dict[str, isa.Function | None] = field(default_factory=dict)
    wanted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.specs = Specs(self.module)
        self.function_values = function_values(self.module)

    def program(self) -> tuple[isa.Program, dict[str, NDArray]]:
        main = self.module[isa.MAIN]
        for param in main.params:
            _require_data(param.checked_type, f"parameter `%{param.name_hint}`", param.span)
        _require_data(main.body.checked_type, "the result", main.span)
        self.want(isa.MAIN)
        while self.wanted:
            name = self.wanted.pop()
            self.functions[name] = Body(self, name, *parts_of(self.module[name])).lower()
        prepare = self.stages.prepare_function()
        functions = (prepare, *(one for one in self.functions.values() if one is not None))
        loaded = {
            one.constant
            for function in functions
            for one in function.instructions
            if isinstance(one, isa.LoadConstant)
        }
        constants = tuple(one for one in self.stages.constants.values() if one.name in loaded)
        values = {name: data for name, data in self.stages.values.items() if name in loaded}
        kernels = tuple(self.stages.kernels.values())
        return isa.Program(kernels, constants, functions, self.specs.data_types()), values

    def want(self, name: str) -> str:
        """Add a function to the program; returns its name."""
        if name not in self.functions:
            require_own(self.module[name], f"`@{name}`")
            self.functions[name] = None
            self.wanted.append(name)
        return name


def _require_data(ty: Type, what: str, span: AnySpan | None) -> None:
    """Refuse functions as inputs and results of `main`."""
    if any(isinstance(leaf, FuncType) for leaf in isa.flatten(structure(ty))):
        raise LowerError.of(
            f"{what} of `@main` is a function: native code takes and gives data",
            span,
            expected="tensors, tuples and values of data types",
            found=str(ty),
            hint='relay.create_executor("debug") runs every program',
        )


def function_values(module: IRModule) -> set[str]:
    """The functions of a module that are used as values."""
    found = {name.name_hint for name, one in module.functions.items() if one.attrs.get("Closure")}
    for function in module.functions.values():
        for node in tree.postorder(function):
            parts = node.args if isinstance(node, Call) else tree.children(node)
            found.update(part.name_hint for part in parts if isinstance(part, GlobalVar))
    return found


def parts_of(function: expr.Function) -> tuple[tuple[Var, ...], expr.Function]:
    """The captured variables of a function, and the function: that inside one marked `Closure`."""
    if function.attrs.get("Closure"):
        body = function.body.value if isinstance(function.body, Let) else function.body
        assert isinstance(body, expr.Function)
        return function.params, body
    return (), function


@dataclass(eq=False)
class Body:
    """A function under construction."""

    whole: Whole
    name: str
    captured: tuple[Var, ...]
    function: expr.Function
    values: dict[Var, Any] = field(default_factory=dict)
    sizes: dict[dims.Symbol, isa.Register] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.builder = Builder(self.name)
        self.specs = self.whole.specs
        self.stages = self.whole.stages

    def lower(self) -> isa.Function:
        params = []
        for param in (*self.captured, *self.function.params):
            specs = self.specs(param.checked_type)
            registers = list(map(self.builder.new, isa.flatten(specs)))
            params.append(isa.Parameter(param.name_hint, isa.unflatten(specs, registers)))
            self.values[param] = self.held(param.checked_type, registers)
        self.look_at_sizes()
        if self.name in self.whole.function_values:
            # the caller of a function value may know less about sizes than the function does
            for param in self.function.params:
                what = f"`%{param.name_hint}`"
                self.fitted(self.values[param], None, param.checked_type, param.span, what)
        result = self.result_type
        tree.run(self.tail(self.function.body, result))
        where, names = place_of(self.function.span), self.function.result_names
        state = self.function.state_names if self.name == isa.MAIN else ()
        return self.builder.build(params, self.specs(result), where, names, state)

    @property
    def result_type(self) -> Type:
        ty = self.function.checked_type
        assert isinstance(ty, FuncType)
        return ty.ret_type

    def held(self, ty: Type, registers: Sequence[isa.Register]) -> Any:
        """Registers as a value of type `ty`, in nested tuples."""
        return isa.unflatten(self.specs(ty), [At(self.builder, register) for register in registers])

    # --- sizes

    def look_at_sizes(self) -> None:
        """Read the named dimensions of the parameters, and check that they agree."""
        later: list[tuple[Var, isa.Register, int, dims.Dim]] = []
        for param in (*self.captured, *self.function.params):
            tensors = isa.flatten(structure(param.checked_type))
            held = isa.flatten(self.values[param])
            for ty, value in zip(tensors, held, strict=True):
                for axis, dim in enumerate(ty.shape) if isinstance(ty, TensorType) else ():
                    if isinstance(dim, int | dims.Any):
                        continue
                    if isinstance(dim, dims.DimExpr | dims.DimCall) or dim in self.sizes:
                        later.append((param, value.register, axis, dim))
                    else:
                        self.sizes[dim] = self.size(value.register, axis)
        for param, register, axis, dim in later:
            if scalar_code.evaluable(dim, self.sizes):
                wanted = self.dim(dim, param.span)
                message = f"axis {axis} of `%{param.name_hint}` is not `{dim}`"
                self.require(self.size(register, axis), wanted, message, param.span)

    def size(self, tensor: isa.Register, axis: int) -> isa.Register:
        return self.builder.emit(isa.ScalarSpec(scalar_code.SIZE), isa.ReadSize, tensor, axis)

    def dim(self, dim: dims.Dim, span: AnySpan | None) -> isa.Register:
        return scalar_code.emit_dim(self.builder, dim, self.sizes, place_of(span))

    def require(
        self, found: isa.Register, expected: isa.Register, message: str, span: AnySpan | None
    ) -> None:
        self.builder.add(isa.RequireEqual(found, expected, message, place_of(span)))

    def fitted(
        self, value: Any, known: Type | None, wanted: Type, span: AnySpan | None, what: str
    ) -> Any:
        """`value` of type `known` as one of type `wanted`: sizes that only the latter knows are
        checked. Without `known` no sizes are known; `what` describes the value in errors."""
        held = isa.flatten(value)
        before = isa.flatten(structure(known)) if known is not None else [None] * len(held)
        for one, source, target in zip(held, before, isa.flatten(structure(wanted)), strict=True):
            if isinstance(target, TensorType) and isinstance(one, At):
                self.compare_sizes(one, source, target, span, what)
        return value

    def compare_sizes(
        self, value: At, source: Any, target: TensorType, span: AnySpan | None, what: str
    ) -> None:
        for axis, dim in enumerate(target.shape):
            known = source.shape[axis] if isinstance(source, TensorType) else dims.ANY
            if known == dim or value.stage is not self.builder:
                continue
            if scalar_code.evaluable(dim, self.sizes):
                found = self.size(value.register, axis)
                wanted = self.dim(dim, span)
                self.require(found, wanted, f"axis {axis} of {what} is not {dim} long", span)

    # --- values in registers

    def registers(self, *values: Any) -> tuple[isa.Register, ...]:
        """The registers of values; functions become closures, constants are loaded."""
        return tuple(map(self.register, isa.flatten(values)))

    def register(self, value: At | Known) -> isa.Register:
        if isinstance(value, Known):
            return self.closure(value)
        if value.stage is self.builder:
            return value.register
        spec = value.stage.registers[value.register]
        assert isinstance(spec, TensorSpec)
        return self.stages.register(value, self.builder) if spec.shape else self.scalar(value, spec)

    def scalar(self, value: At, spec: TensorSpec) -> isa.Register:
        """A constant of rank 0."""
        name = self.stages.prepare.loaded.get(value.register)
        if name in self.stages.values:
            number = self.stages.values[name].array.item()
            return scalar_code.literal(self.builder, number, spec.dtype)
        register = self.builder.new(isa.ScalarSpec(spec.dtype))
        constant = self.stages.register(value, self.builder)
        self.builder.add(isa.ReadElement(register, constant, 0))
        return register

    def closure(self, value: Known) -> isa.Register:
        _, function = parts_of(self.whole.module[value.function])
        ty = function.checked_type
        assert isinstance(ty, FuncType)
        spec = self.specs(FuncType(ty.arg_types, ty.ret_type))
        assert isinstance(spec, isa.ClosureSpec)
        given = self.registers(*value.captured)
        return self.builder.emit(spec, isa.MakeClosure, self.whole.want(value.function), given)

    # --- terminators

    def tail(self, root: Expr, result: Type) -> Steps[None]:
        """Return the value of an expression in tail position."""
        last = yield self.bindings(root, tail=True)
        match last:
            case expr.If() | expr.Match():
                for branch, block in self.branches(last):
                    self.builder.enter(block)
                    yield self.tail(branch, result)
            case Call() if self.is_tail_call(last, result):
                self.tail_call(last)
            case _:
                value = yield self.operation(last)
                value = self.fitted(value, last.checked_type, result, last.span, "the result")
                returned = isa.unflatten(value, self.registers(value))
                self.builder.end(isa.Return(returned))

    def bindings(self, root: Expr, *, tail: bool = False) -> Steps[Expr]:
        """Lower the lets of a block; returns its last expression. In tail position `let %r = e; %r`
        is `e`."""
        while isinstance(root, Let):
            if tail and root.body is root.var and not isinstance(root.value, expr.Function):
                return root.value
            value = yield self.operation(root.value)
            ty = root.var.checked_type
            what = f"`%{root.var.name_hint}`"
            found = root.value.checked_type
            self.values[root.var] = self.fitted(value, found, ty, root.span, what)
            root = root.body
        return root

    def is_tail_call(self, call: Call, result: Type) -> bool:
        """Whether the result of a call can be returned unchanged."""
        if not isinstance(call.op, GlobalVar | Var):
            return False
        if isinstance(call.op, GlobalVar) and self.makes_closure(call.op):
            return False
        if isinstance(call.op, GlobalVar) and is_external(self.whole.module[call.op.name_hint]):
            return False
        return call.checked_type == result

    def makes_closure(self, function: GlobalVar) -> bool:
        return bool(self.whole.module[function.name_hint].attrs.get("Closure"))

    def tail_call(self, call: Call) -> None:
        callee = self.atom(call.op)
        args = self.arguments(call)
        if isinstance(callee, Known):
            name = self.whole.want(callee.function)
            self.builder.end(isa.TailCall(name, (*self.registers(*callee.captured), *args)))
        else:
            self.builder.end(isa.TailCallClosure(self.register(callee), args))

    # --- branches

    def branches(self, root: expr.If | expr.Match) -> list[tuple[Expr, OpenBlock]]:
        """End the block with a branch or switch; returns the reachable cases with their blocks."""
        if isinstance(root, expr.Match):
            return self.clauses(root)
        (condition,) = self.registers(self.atom(root.cond))
        blocks = self.builder.open(), self.builder.open()
        self.builder.end(isa.Branch(condition, *(block.number for block in blocks)))
        return list(zip((root.true_branch, root.false_branch), blocks, strict=True))

    def clauses(self, root: expr.Match) -> list[tuple[Expr, OpenBlock]]:
        data = Part(self.atom(root.data), root.data.checked_type)
        blocks: dict[int, tuple[list[Var], OpenBlock]] = {}

        def reached(row: Row) -> None:
            variables = [variable for variable, _ in row.named]
            if row.clause not in blocks:
                specs = [spec for v in variables for spec in self.specs.flat(v.checked_type)]
                params = [self.builder.new(spec) for spec in specs]
                blocks[row.clause] = variables, self.builder.open(*params)
                shape = tuple(self.specs(v.checked_type) for v in variables)
                held = isa.unflatten(shape, [At(self.builder, one) for one in params])
                self.values.update(zip(variables, held, strict=True))
            order, block = blocks[row.clause]
            given = dict(row.named)
            values = [
                self.fitted(
                    given[v].value, given[v].type, v.checked_type, v.span, f"`%{v.name_hint}`"
                )
                for v in order
            ]
            self.builder.end(isa.Jump(block.number, self.registers(*values)))

        field = partial(self.field, span=root.span)
        lower_match(self.builder, root, data, self.whole.module, field, reached)
        return [(root.clauses[index].rhs, block) for index, (_, block) in sorted(blocks.items())]

    def field(
        self,
        data: At,
        constructor: str,
        index: int,
        types: Sequence[Type],
        *,
        span: AnySpan | None = None,
    ) -> Any:
        """A field of data of a known constructor, whose fields have `types`."""
        before = sum(len(self.specs.flat(one)) for one in types[:index])
        made = [
            self.builder.emit(spec, isa.GetField, data.register, constructor, place)
            for place, spec in enumerate(self.specs.flat(types[index]), before)
        ]
        what = f"field {index} of `{constructor}`"
        return self.fitted(self.held(types[index], made), None, types[index], span, what)

    def joined(self, root: Expr, parts: Sequence[tuple[Expr, OpenBlock]]) -> Steps[Any]:
        """The value of the branch that is taken, as parameters of a join block."""
        params = [self.builder.new(spec) for spec in self.specs.flat(root.checked_type)]
        join = self.builder.open(*params)
        for part, block in parts:
            self.builder.enter(block)
            last = yield self.bindings(part)
            value = yield self.operation(last)
            value = self.fitted(value, last.checked_type, root.checked_type, last.span, "a branch")
            self.builder.end(isa.Jump(join.number, self.registers(value)))
        self.builder.enter(join)
        return self.held(root.checked_type, params)

    # --- expressions

    def atom(self, root: Expr) -> Any:
        """The value of an expression that needs no computation."""
        match root:
            case Var():
                return self.values[root]
            case expr.Constant():
                return self.stages.constant(root.data)
            case GlobalVar():
                return Known(root.name_hint)
            case Tuple():
                return tuple(self.atom(part) for part in root.fields)
            case TupleGetItem():
                return self.atom(root.tuple_value)[root.index]
        raise AssertionError(
            f"a {type(root).__name__} is no atom; the program is not in normal form"
        )

    def operation(self, root: Expr) -> Steps[Any]:
        """The value of an expression in A-normal form."""
        match root:
            case expr.If() | expr.Match():
                return self.joined(root, self.branches(root))
            case Let():
                last = yield self.bindings(root)
                return self.operation(last)
            case Call():
                return self.call(root)
            case expr.RefCreate():
                spec = self.specs(root.checked_type)
                contents = self.registers(self.atom(root.value))
                return At(self.builder, self.builder.emit(spec, isa.MakeReference, contents))
            case expr.RefRead():
                return self.read_reference(root)
            case expr.RefWrite():
                reference = self.register(self.atom(root.ref))
                self.builder.add(
                    isa.WriteReference(reference, self.registers(self.atom(root.value)))
                )
                return ()
        return self.atom(root)

    def read_reference(self, root: expr.RefRead) -> Any:
        outputs = [self.builder.new(spec) for spec in self.specs.flat(root.checked_type)]
        self.builder.add(isa.ReadReference(tuple(outputs), self.register(self.atom(root.ref))))
        held = self.held(root.checked_type, outputs)
        return self.fitted(held, None, root.checked_type, root.span, "what the reference holds")

    # --- calls

    def call(self, call: Call) -> Any:
        match call.op:
            case OpDef() if is_annotation(call.op):
                return self.atom(annotated(call))
            case expr.Op(name=name) if name == KILL:
                return ()
            case OpDef() if call.op is REQUIRE:
                return self.check(call)
            case expr.Op():
                return self.operator(call, call.op)
            case expr.Constructor():
                return self.construct(call, call.op)
            case expr.Function():
                require_own(call.op, "a function")
                return self.primitive(call, call.op, [self.atom(arg) for arg in call.args])
            case GlobalVar() if is_external(self.whole.module[call.op.name_hint]):
                function = self.whole.module[call.op.name_hint]
                return self.primitive(call, function, [self.atom(arg) for arg in call.args])
            case GlobalVar() if self.makes_closure(call.op):
                return Known(call.op.name_hint, tuple(self.atom(arg) for arg in call.args))
        callee = self.atom(call.op)
        args = self.arguments(call)
        outputs = tuple(self.builder.new(spec) for spec in self.specs.flat(call.checked_type))
        if isinstance(callee, Known):
            name = self.whole.want(callee.function)
            given = (*self.registers(*callee.captured), *args)
            self.builder.add(isa.CallFunction(outputs, name, given))
            return self.held(call.checked_type, outputs)
        self.builder.add(isa.CallClosure(outputs, self.register(callee), args))
        held = self.held(call.checked_type, outputs)
        return self.fitted(held, None, call.checked_type, call.span, "what the function gives")

    def check(self, call: Call) -> Any:
        """A check that the program itself makes."""
        data, *rest = (self.atom(arg) for arg in call.args)
        condition, found, bound = self.registers(*rest)
        known = call.attrs
        assert isinstance(known, RequireAttrs)
        holds = scalar_code.operation(self.builder, "cast", (condition,), scalar_code.SIZE)
        yes = scalar_code.literal(self.builder, 1, scalar_code.SIZE)
        texts = (known.expected, known.shown, (found, bound))
        self.builder.add(isa.RequireEqual(holds, yes, known.message, place_of(call.span), *texts))
        return data

    def arguments(self, call: Call) -> tuple[isa.Register, ...]:
        """The arguments, whose sizes are checked against the types of the parameters."""
        ty = call.op.checked_type
        assert isinstance(ty, FuncType)
        values = []
        for number, (arg, wanted) in enumerate(zip(call.args, ty.arg_types, strict=True), 1):
            value, span = self.atom(arg), arg.span or call.span
            values.append(self.fitted(value, arg.checked_type, wanted, span, f"argument {number}"))
        return self.registers(*values)

    def construct(self, call: Call, constructor: expr.Constructor) -> At:
        register = self.builder.new(self.specs(call.checked_type))
        fields = self.registers(*(self.atom(arg) for arg in call.args))
        self.builder.add(isa.MakeData(register, constructor.name_hint, fields))
        return At(self.builder, register)

    # --- primitive functions

    def operator(self, call: Call, op: expr.Op) -> Any:
        """A call of an operator that was not fused."""
        function = primitive_of(op, [arg.checked_type for arg in call.args], call.attrs)
        return self.primitive(call, function, [self.atom(arg) for arg in call.args])

    def primitive(self, call: Call, function: expr.Function, args: Sequence[Any]) -> Any:
        given = isa.flatten(tuple(args))
        if not all(isinstance(one, At) for one in given):
            raise LowerError.of("a kernel over functions", call.span)
        specs = self.specs.flat(call.checked_type)
        if is_external(function):
            return self.steps(call, self.stages.lower(function, given), given, specs)
        if is_dynamic(function):
            return self.dynamic(call, function, given, specs)
        if self.has_scalars(function, all):
            computed = to_compute(function)
            if scalar_code.is_scalar(computed):
                made = scalar_code.emit_computed(self.builder, computed, self.registers(*given))
                return self.held(call.checked_type, made)
        if only_reshapes(function) and not self.has_scalars(function, any):
            (value,), (spec,) = given, specs
            assert isinstance(spec, TensorSpec)
            require_room(call.checked_type, call)
            return At(value.stage, value.stage.view(value.register, spec))
        return self.steps(call, self.stages.lower(function, given), given, specs)

    def steps(
        self, call: Call, lowered: Lowered, given: Sequence[At], specs: Sequence[isa.Spec]
    ) -> Any:
        """The result of a call, as kernel calls."""
        results = self.stages.steps(lowered, given, specs, self.builder, where=place_of(call.span))
        return isa.unflatten(self.specs(call.checked_type), results)

    def dynamic(
        self, call: Call, function: expr.Function, given: Sequence[At], specs: Sequence[isa.Spec]
    ) -> Any:
        """A call of a primitive function with dynamic dimensions."""
        results = emit_dynamic(
            self.builder,
            self.stages,
            self.stages.lower_dynamic(function, given),
            given,
            specs,
            call.span,
            only_shapes=only_reshapes(function) and not self.has_scalars(function, any),
            places=[place_of(one.span) for one in calls_of(function)],
        )
        value = isa.unflatten(self.specs(call.checked_type), results)
        return self.fitted(value, None, call.checked_type, call.span, "a result")

    def has_scalars(
        self, function: expr.Function, quantifier: Callable[[Iterable[bool]], bool]
    ) -> bool:
        """Whether all parameters and results are scalars, or any."""
        specs = [spec for ty in types_of(function) for spec in self.specs.flat(ty)]
        return quantifier(isinstance(spec, isa.ScalarSpec) for spec in specs)
