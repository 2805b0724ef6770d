"""Fused Relay -> program.

    def @main(%x: Tensor[(1, 8), float32]) {
      %0 = fn (%a, %w, Primitive=1) { nn.relu(nn.dense(%a, %w)) };
      %0(%x, meta[relay.Constant][0])
    }
    ->
    function @main("x" = %0: float32[1, 8]) {
      %1: float32[8, 16] = constant "packed_0"
      %2: float32[1, 16] = alloc
      invoke @dense_relu(%0, %1) -> (%2)
      return %2
    }

Every primitive function becomes the steps that `relay.lower` makes of it. A step that needs nothing
but constants goes to `prepare`, whatever the reason it is constant for: the whole call is, or the
step lays out a weight for the next one. So a value belongs to one of two stages, and where a step
of `main` reads one of `prepare`, that becomes a constant of the program.

What the pass LiftWeights took out of `@main` is a function over the weights, which become constants
by their names; the last parameters of `@main` are the fields of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relay import tree
from relay.check.infer import infer_module
from relay.check.locate import locate
from relay.errors import AnySpan, Diagnostic, DiagnosticError
from relay.ir import compare, expr, types
from relay.ir.expr import Call, Expr, GlobalVar, Let, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.lower.kernel import Kernel, Lowered, Param, Place, Result, Step, TensorSpec
from relay.nd import NDArray
from relay.program.program import (
    MAIN,
    PREPARE,
    AllocTensor,
    Block,
    Constant,
    Function,
    Instruction,
    InvokeKernel,
    LoadConstant,
    Parameter,
    Program,
    Register,
    Return,
    ViewTensor,
    flatten,
    nbytes,
    unflatten,
)
from relay.program.slice import prune
from relay.transform import lift_weights
from relay.tree import Steps

# What makes steps of a primitive function; the flags say which flattened parameters are constant.
LowerFunction = Callable[[expr.Function, Sequence[bool]], Lowered]

# Operators that change nothing but the shape.
RESHAPES = frozenset({"reshape", "expand_dims", "squeeze", "nn.batch_flatten"})


def lower_module(
    module: IRModule, lower_function: LowerFunction
) -> tuple[Program, dict[str, NDArray]]:
    """The program of a typed, fused module, and the values of the constants written in it.

    The constants without a value there are weights.
    """
    lowering = _Lowering(module, lower_function)
    try:
        return lowering.program(), lowering.values
    except _Refusal as refusal:
        raise refusal.explained(module) from None


def requests(module: IRModule) -> list[tuple[expr.Function, tuple[bool, ...]]]:
    """What `lower_module` will ask to be lowered, as far as that shows before it is."""
    found: list[tuple[expr.Function, tuple[bool, ...]]] = []

    def note(function: expr.Function, constant: Sequence[bool]) -> Lowered:
        found.append((function, tuple(constant)))
        given = tuple(param.checked_type for param in function.params)
        specs = tensor_specs(types.TupleType(given), function, "a parameter")
        results = tensor_specs(function.body.checked_type, function, "a result")
        kernel = Kernel(f"function_{len(found)}", tuple(specs), tuple(results), "")
        places = tuple(Param(index) for index in range(len(specs)))
        return Lowered((Step(kernel, places, tuple(map(Result, range(len(results))))),))

    lower_module(module, note)
    return found


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value while lowering: a register of `main`, or of `prepare`."""

    stage: Builder = field(repr=False, compare=False)
    register: Register


@dataclass(eq=False)
class Scope:
    """What the expressions of one activation of a function are, by identity."""

    outer: Scope | None
    found: dict[int, Any] = field(default_factory=dict)
    bound: dict[int, Expr] = field(default_factory=dict)  # variables of lets

    def value_of(self, wanted: Expr) -> Any:
        passed = []
        scope: Scope = self
        while id(wanted) not in scope.found:
            if id(wanted) in scope.bound:
                if scope is self:
                    passed.append(id(wanted))
                wanted = scope.bound[id(wanted)]
            else:
                assert scope.outer is not None, "a variable of no function around"
                scope = scope.outer
        value = scope.found[id(wanted)]
        for name in passed:
            self.found[name] = value
        return value


@dataclass(frozen=True, eq=False)
class Closure:
    """A function while lowering, with the activation it was made in; calls of it are inlined."""

    function: expr.Function
    scope: Scope | None
    name: str


@dataclass(eq=False)
class Builder:
    """A function in the making."""

    name: str
    registers: list[TensorSpec] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    constants: dict[str, Register] = field(default_factory=dict)
    loaded: dict[Register, str] = field(default_factory=dict)
    roots: dict[Register, Register] = field(default_factory=dict)  # of views: whose memory it is

    def new(self, spec: TensorSpec) -> Register:
        self.registers.append(spec)
        return len(self.registers) - 1

    def load(self, name: str, spec: TensorSpec) -> Register:
        """The register of a constant; each is loaded once."""
        if name not in self.constants:
            self.constants[name] = self.new(spec)
            self.loaded[self.constants[name]] = name
            self.instructions.append(LoadConstant(self.constants[name], name))
        return self.constants[name]

    def view(self, source: Register, spec: TensorSpec) -> Register:
        made = self.new(spec)
        self.instructions.append(ViewTensor(made, source))
        self.roots[made] = self.roots.get(source, source)
        return made

    def invoke(
        self, kernel: Kernel, inputs: Sequence[Register], specs: Sequence[TensorSpec]
    ) -> tuple[Register, ...]:
        outputs = tuple(self.new(spec) for spec in specs)
        self.instructions.extend(map(AllocTensor, outputs))
        self.instructions.append(InvokeKernel(kernel.name, tuple(inputs), outputs))
        return outputs

    def build(self, params: Sequence[Parameter], value: Any) -> Function:
        body = (*self.instructions, Return(value))
        return Function(self.name, tuple(params), tuple(self.registers), (Block(body),))


@dataclass
class _Lowering:
    module: IRModule
    lower_function: LowerFunction
    main: Builder = field(default_factory=lambda: Builder(MAIN))
    prepare: Builder = field(default_factory=lambda: Builder(PREPARE))
    kernels: dict[str, Kernel] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)
    values: dict[str, NDArray] = field(default_factory=dict)
    given: dict[int, Tensor] = field(default_factory=dict)  # id of an array -> its constant
    prepared: list[Register] = field(default_factory=list)  # the results of prepare
    published: dict[Register, Register] = field(default_factory=dict)  # of prepare -> of main
    done: dict[tuple[Any, ...], tuple[Register, ...]] = field(default_factory=dict)
    lowered: dict[tuple[int, tuple[bool, ...]], list[tuple[expr.Function, Lowered]]] = field(
        default_factory=dict
    )
    active: set[int] = field(default_factory=set)  # functions being inlined

    def program(self) -> Program:
        function = self.module[MAIN]
        require_first_order(function)
        self.active.add(id(function))
        packed: tuple[Any, ...] = ()
        if lift_weights.PREPARE in function.attrs:
            lifted = self.module[function.attrs[lift_weights.PREPARE]]
            packed = tree.run(self.prepared_values(lifted))
        inputs = function.params[: len(function.params) - len(packed)]
        params = [Parameter(p.name_hint, self.parameter(p)) for p in inputs]
        given = [
            unflatten(p.value, [Tensor(self.main, r) for r in flatten(p.value)]) for p in params
        ]
        result = tree.run(self.body(Closure(function, None, "`@main`"), [*given, *packed]))
        value = self.results(result, len(flatten(tuple(p.value for p in params))))
        functions = (
            prune(self.prepare.build((), tuple(self.prepared))),
            self.main.build(params, value),
        )
        return Program(tuple(self.kernels.values()), tuple(self.constants.values()), functions)

    # --- constants and stages

    def parameter(self, param: Var) -> Any:
        """Registers of `main` for the value of a parameter."""
        specs = tensor_specs(param.checked_type, param, "a parameter")
        return unflatten(structure(param.checked_type), [self.main.new(spec) for spec in specs])

    def prepared_values(self, function: expr.Function) -> Steps[tuple[Any, ...]]:
        """The fields of what a function over weights gives."""
        given = []
        for param in function.params:
            (spec,) = tensor_specs(param.checked_type, param, "a weight")
            given.append(self.declare(param.name_hint, spec))
        fields = yield self.body(Closure(function, None, "`@prepare`"), given)
        return fields  # type: ignore[no-any-return]

    def declare(self, name: str, spec: TensorSpec) -> Tensor:
        """A constant that comes from outside."""
        self.constants[name] = Constant(name, spec)
        return Tensor(self.prepare, self.prepare.load(name, spec))

    def constant(self, data: NDArray) -> Tensor:
        """A constant of the program; the same array is the same constant."""
        if id(data) not in self.given:
            name = self.unused_name("constant")
            self.values[name] = data
            self.given[id(data)] = self.declare(name, TensorSpec(data.shape, data.dtype))
        return self.given[id(data)]

    def unused_name(self, stem: str) -> str:
        number = len(self.prepared) if stem == "packed" else len(self.values)
        while (name := f"{stem}_{number}") in self.constants:
            number += 1
        return name

    def in_main(self, tensor: Tensor) -> Register:
        """The register of `main` for a value of either stage."""
        if tensor.stage is self.main:
            return tensor.register
        register = tensor.register
        if register not in self.published:
            self.published[register] = self.publish(register)
        return self.published[register]

    def publish(self, register: Register) -> Register:
        """Make a register of `prepare` known to `main`."""
        spec = self.prepare.registers[register]
        root = self.prepare.roots.get(register)
        if root is not None:  # a view costs nothing in either stage
            return self.main.view(self.in_main(Tensor(self.prepare, root)), spec)
        if (known := self.prepare.loaded.get(register)) is not None:
            return self.main.load(known, spec)
        name = self.unused_name("packed")
        self.constants[name] = Constant(name, spec, len(self.prepared))
        self.prepared.append(register)
        return self.main.load(name, spec)

    # --- expressions

    def body(self, closure: Closure, args: Sequence[Any]) -> Steps[Any]:
        """The value of a function's body: tensors, functions, and tuples of them."""
        function = closure.function
        scope = Scope(closure.scope)
        scope.found.update((id(p), value) for p, value in zip(function.params, args, strict=True))
        for node in tree.postorder(function.body, enter=_is_straight):
            if isinstance(node, Let):
                scope.bound[id(node.variable)] = node.value
        root = function.body
        for node in tree.postorder(root, enter=_is_straight):
            value: Any
            match node:
                case Var():
                    continue
                case expr.Op():
                    value = node
                case GlobalVar():
                    value = Closure(self.module[node.name_hint], None, f"`@{node.name_hint}`")
                case expr.Function():
                    value = Closure(node, scope, "a function")
                case expr.Constant():
                    value = self.constant(node.data)
                case Tuple():
                    value = tuple(map(scope.value_of, node.fields))
                case TupleGetItem():
                    value = scope.value_of(node.tuple_value)[node.index]
                case Let():
                    value = scope.value_of(node.body)
                case Call():
                    if isinstance(node.op, expr.Op):
                        raise _Refusal(f"a call of `{node.op.name}` that is not fused", node)
                    if isinstance(node.op, expr.Constructor):
                        raise _Refusal("a value of a data type", node)
                    callee = scope.value_of(node.op)
                    given = list(map(scope.value_of, node.args))
                    if isinstance(callee, expr.Op):
                        value = self.operator(node, callee, given)
                    elif callee.function.attrs.get("Primitive"):
                        value = self.primitive(node, callee.function, given)
                    else:
                        value = yield self.inline(node, callee, given)
                case _:
                    raise _Refusal(_what_it_is(node), node)
            scope.found[id(node)] = value
        return scope.value_of(root)

    def inline(self, call: Call, callee: Closure, args: list[Any]) -> Steps[Any]:
        """The value of a call: the body of the function, in its place."""
        function = callee.function
        if id(function) in self.active:
            raise _Refusal(f"a recursive call of {callee.name}", call)
        self.active.add(id(function))
        value = yield self.body(callee, args)
        self.active.remove(id(function))
        return value

    def results(self, result: Any, inputs: int) -> Any:
        """The registers `main` returns: each of its own, and none the caller's or a constant."""
        if not _is_data(result):
            raise _Refusal("a result that is a function", self.module[MAIN].body)
        taken = {*range(inputs)}
        returned = []
        for tensor in flatten(result):
            constant = tensor.stage is self.prepare
            register = self.in_main(tensor)
            root = self.main.roots.get(register, register)
            if constant or root in taken:
                register = root = self.copy(register)
            taken.add(root)
            returned.append(register)
        return unflatten(result, returned)

    def copy(self, register: Register) -> Register:
        """A copy in memory of its own, made by a kernel like any other."""
        copy = expr.get_op("copy")
        made: Tensor = self.operator(Call(copy, ()), copy, [Tensor(self.main, register)])
        return made.register

    # --- primitive functions

    def operator(self, call: Call, op: expr.Op, args: Sequence[Any]) -> Any:
        """The value of a call of an operator that came as a value, so that no pass fused it."""
        if not _is_data(tuple(args)):
            raise _Refusal(f"a call of `{op.name}` with functions", call)
        params = tuple(Var("p", type_of(arg)) for arg in args)
        function = expr.Function(params, Call(op, params, call.attrs)).with_attr("Primitive", 1)
        function = infer_module(IRModule({"kernel": function}))["kernel"]
        assert isinstance(function.body, Call)
        return self.primitive(function.body, function, args)

    def primitive(self, call: Call, function: expr.Function, args: Sequence[Any]) -> Any:
        given = flatten(tuple(args))
        if not _is_data(tuple(given)):
            raise _Refusal("a kernel over functions", call)
        result_type = call.checked_type
        specs = tensor_specs(result_type, call, f"a result of {_operators(function)}")
        if len(given) == len(specs) == 1 and _only_reshapes(function):
            (tensor,) = given
            return Tensor(tensor.stage, tensor.stage.view(tensor.register, specs[0]))
        return unflatten(structure(result_type), self.steps(function, given, specs))

    def steps(
        self, function: expr.Function, args: Sequence[Tensor], results: Sequence[TensorSpec]
    ) -> list[Tensor]:
        """Append the steps of a primitive function; what they result in."""
        lowered = self.lower(function, tuple(arg.stage is self.prepare for arg in args))
        places: dict[Place, Tensor] = {Param(i): arg for i, arg in enumerate(args)}
        for step in lowered.steps:
            if step.kernel.sizes:
                raise _Refusal("a kernel over symbolic sizes", function)
            self.kernels.setdefault(step.kernel.name, step.kernel)
            inputs = [places[place] for place in step.inputs]
            known = bool(inputs) and all(tensor.stage is self.prepare for tensor in inputs)
            assert known or not step.constant, f"{step.kernel.name} reads what is not constant"
            if step.constant or (known and _is_worth_keeping(step.kernel)):
                stage, registers = self.prepare, [tensor.register for tensor in inputs]
            else:
                stage, registers = self.main, [self.in_main(tensor) for tensor in inputs]
            outputs = self.invoke(stage, step.kernel, registers)
            for place, register in zip(step.outputs, outputs, strict=True):
                places[place] = Tensor(stage, register)
        return [places[Result(i)] for i in range(len(results))]

    def invoke(
        self, stage: Builder, kernel: Kernel, inputs: Sequence[Register]
    ) -> tuple[Register, ...]:
        if stage is self.main:
            return stage.invoke(kernel, inputs, kernel.outputs)
        # one weight used in several places is prepared once
        key = (kernel.name, *inputs)
        if key not in self.done:
            self.done[key] = stage.invoke(kernel, inputs, kernel.outputs)
        return self.done[key]

    def lower(self, function: expr.Function, constant: tuple[bool, ...]) -> Lowered:
        """The steps of `function`; equal functions are lowered once."""
        alike = self.lowered.setdefault((compare.structural_hash(function), constant), [])
        for known, lowered in alike:
            if known is function or compare.structural_equal(known, function):
                return lowered
        alike.append((function, self.lower_function(function, constant)))
        return alike[-1][1]


# --- what a program may have --------------------------------------------------------------------


def require_first_order(function: expr.Function) -> None:
    """An error when `function` takes or returns anything but tensors and tuples of them."""
    for param in function.params:
        tensor_specs(param.checked_type, param, f"parameter `%{param.name_hint}`")


def tensor_specs(ty: types.Type, where: Expr, what: str) -> list[TensorSpec]:
    """The tensors in `ty`, from left to right; all sizes must be numbers."""
    specs = []
    for leaf in flatten(structure(ty)):
        if not isinstance(leaf, types.TensorType):
            raise _Refusal(f"{what} of type {leaf}", where)
        if any(type(size) is not int for size in leaf.shape):
            raise _Refusal(f"{what} of type {leaf}, whose shape shows at run time", where)
        specs.append(TensorSpec(leaf.concrete_shape, leaf.dtype))
    return specs


def structure(ty: types.Type) -> Any:
    """A type as Python tuples of the types that are no tuples."""

    def build(part: types.Type) -> Steps[Any]:
        if not isinstance(part, types.TupleType):
            return part
        fields = []
        for member in part.fields:
            fields.append((yield build(member)))
        return tuple(fields)

    return tree.run(build(ty))


def type_of(value: Any) -> types.Type:
    """The type of tensors in tuples."""

    def build(part: Any) -> Steps[types.Type]:
        if isinstance(part, Tensor):
            spec = part.stage.registers[part.register]
            return types.TensorType(tuple(map(int, spec.shape)), spec.dtype)
        fields = []
        for member in part:
            fields.append((yield build(member)))
        return types.TupleType(tuple(fields))

    return tree.run(build(value))


def _is_straight(node: Any) -> bool:
    """Whether the parts of an expression are always computed, and here."""
    return not isinstance(node, expr.Function | expr.If | expr.Match)


def _is_worth_keeping(kernel: Kernel) -> bool:
    """Whether to keep what a kernel makes of constants: not when it makes much of little."""
    made, read = (sum(map(nbytes, specs)) for specs in (kernel.outputs, kernel.inputs))
    return made <= max(lift_weights.SMALL, lift_weights.GROWTH * read)


def _is_data(value: Any) -> bool:
    return all(isinstance(leaf, Tensor) for leaf in flatten(value))


def _operators(function: expr.Function) -> str:
    """The operators in a primitive function, by name."""
    calls = (node for node in tree.postorder(function.body) if isinstance(node, Call))
    names = (call.op.name for call in calls if isinstance(call.op, expr.Op))
    return ", ".join(f"`{name}`" for name in names)


def _only_reshapes(function: expr.Function) -> bool:
    """Whether the elements of the only parameter come out as they are, in another shape."""
    current = function.body
    while isinstance(current, Call) and isinstance(current.op, expr.Op):
        if current.op.name not in RESHAPES or len(current.args) != 1:
            return False
        (current,) = current.args
    return len(function.params) == 1 and current is function.params[0]


_CONSTRUCTS: Mapping[type, str] = {
    expr.If: "an `if`",
    expr.Match: "a `match`",
    expr.RefCreate: "a reference",
    expr.RefRead: "a reference",
    expr.RefWrite: "a reference",
    expr.Constructor: "a value of a data type",
}


def _what_it_is(node: Any) -> str:
    return _CONSTRUCTS.get(type(node), f"a {type(node).__name__}")


@dataclass(eq=False)
class _Refusal(Exception):
    """What cannot be in a program, and where it was found."""

    what: str
    where: Expr

    def explained(self, module: IRModule) -> DiagnosticError:
        """The error to show; where the program has no source, its text after the passes."""
        span: AnySpan | None = self.where.span
        for function in module.functions.values() if span is None else ():
            span = span or locate(self.where, function)
        return DiagnosticError(
            Diagnostic(
                f"the graph executor runs straight-line code over tensors, and this is {self.what}",
                span,
                hint='relay.create_executor("debug") runs every program',
            )
        )
