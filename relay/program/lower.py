"""Fused Relay -> straight-line program.

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

Calls of functions are inlined; what cannot be inlined is refused (whole programs are lowered by
`relay.program.whole`). A primitive function becomes kernel calls (`relay.lower`), in `main` or in
`prepare` (`relay.program.stages`).

The function that the pass LiftWeights took out of `@main` computes from the weights; the fields of
its result are the last parameters of `@main`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relay import tree
from relay.analysis.reshapes import only_reshapes
from relay.check.locate import locate
from relay.errors import AnySpan, DiagnosticError, LowerError
from relay.ir import expr, types
from relay.ir.expr import Call, Expr, GlobalVar, Let, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.lower.kernel import TensorSpec
from relay.lower.to_compute import require_room
from relay.nd import NDArray
from relay.op.annotation import annotated
from relay.op.opdef import OpDef
from relay.program.builder import At, Builder, place_of
from relay.program.primitives import is_annotation, primitive_of
from relay.program.program import MAIN, Parameter, Program, Register, flatten, unflatten
from relay.program.specs import require_axes, structure
from relay.program.stages import Lowering, Stages
from relay.program.updates import updates_last
from relay.transform.memory import lift_weights
from relay.tree import Steps

# Marks the end of a live range, which lowering computes itself.
KILL = "memory.kill"


def lower_module(
    module: IRModule, lowering: Lowering, *, whole: bool = False
) -> tuple[Program, dict[str, NDArray]]:
    """The program of a typed, fused module, and the values of its constants that are no weights."""
    if whole:
        from relay.program.whole import lower_program  # not loaded for straight-line code

        return lower_program(module, lowering)
    straight = _StraightLine(module, Stages(lowering))
    try:
        return straight.program(), straight.stages.values
    except _Refusal as refusal:
        raise refusal.explained(module) from None


@dataclass(eq=False)
class Activation:
    """The values of expressions in one inlined call, by identity."""

    outer: Activation | None
    found: dict[int, Any] = field(default_factory=dict)
    bound: dict[int, Expr] = field(default_factory=dict)  # let-bound variables

    def value_of(self, wanted: Expr) -> Any:
        passed = []
        scope: Activation = self
        while id(wanted) not in scope.found:
            if id(wanted) in scope.bound:
                if scope is self:
                    passed.append(id(wanted))
                wanted = scope.bound[id(wanted)]
            else:
                assert scope.outer is not None, "an unbound variable"
                scope = scope.outer
        value = scope.found[id(wanted)]
        for name in passed:
            self.found[name] = value
        return value


@dataclass(frozen=True, eq=False)
class Closure:
    """A function value during lowering, with the activation that it captures."""

    function: expr.Function
    scope: Activation | None
    name: str


@dataclass
class _StraightLine:
    module: IRModule
    stages: Stages
    main: Builder = field(default_factory=lambda: Builder(MAIN))
    active: set[int] = field(default_factory=set)  # functions being inlined

    def program(self) -> Program:
        function = self.module[MAIN]
        self.active.add(id(function))
        packed: tuple[Any, ...] = ()
        if lift_weights.PREPARE in function.attrs:
            lifted = self.module[function.attrs[lift_weights.PREPARE]]
            packed = tree.run(self.prepared_values(lifted))
        inputs = function.params[: len(function.params) - len(packed)]
        params = [Parameter(p.name_hint, self.parameter(p)) for p in inputs]
        given = [unflatten(p.value, [At(self.main, r) for r in flatten(p.value)]) for p in params]
        result = tree.run(self.body(Closure(function, None, "`@main`"), [*given, *packed]))
        value = self.results(result, len(flatten(tuple(p.value for p in params))))
        main = self.main.returning(params, value, function.result_names, function.state_names)
        functions = (self.stages.prepare_function(), updates_last(main))
        stages = self.stages
        return Program(tuple(stages.kernels.values()), tuple(stages.constants.values()), functions)

    # --- constants and stages

    def parameter(self, param: Var) -> Any:
        """Registers of `main` for the value of a parameter."""
        specs = tensor_specs(param.checked_type, param, f"parameter `%{param.name_hint}`")
        return unflatten(structure(param.checked_type), [self.main.new(spec) for spec in specs])

    def prepared_values(self, function: expr.Function) -> Steps[tuple[Any, ...]]:
        """The results of the function over weights."""
        given = []
        for param in function.params:
            (spec,) = tensor_specs(param.checked_type, param, "a weight")
            given.append(self.stages.declare(param.name_hint, spec))
        fields = yield self.body(Closure(function, None, "`@prepare`"), given)
        return fields  # type: ignore[no-any-return]

    # --- expressions

    def body(self, closure: Closure, args: Sequence[Any]) -> Steps[Any]:
        """The value of a function body: tensors, functions, and tuples of them."""
        function = closure.function
        scope = Activation(closure.scope)
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
                    value = self.stages.constant(node.data)
                case Tuple():
                    value = tuple(map(scope.value_of, node.fields))
                case TupleGetItem():
                    value = scope.value_of(node.tuple_value)[node.index]
                case Let():
                    value = scope.value_of(node.body)
                case Call(op=OpDef() as op) if is_annotation(op):
                    value = scope.value_of(annotated(node))
                case Call(op=OpDef(name=name)) if name == KILL:
                    value = ()
                case Call():
                    if isinstance(node.op, expr.Op):
                        raise _Refusal(f"a call of `{node.op.name}` that is not fused", node)
                    if isinstance(node.op, expr.Constructor):
                        raise _Refusal("a value of a data type", node)
                    callee = scope.value_of(node.op)
                    if isinstance(callee, Closure):
                        require_own(callee.function, callee.name)
                    given = list(map(scope.value_of, node.args))
                    if isinstance(callee, expr.Op):
                        value = self.operator(node, callee, given)
                    elif callee.function.attrs.get("Primitive"):
                        value = self.primitive(node, callee.function, given)
                    else:
                        value = yield self.inline(node, callee, given)
                case _:
                    what = _CONSTRUCTS.get(type(node), f"a {type(node).__name__}")
                    raise _Refusal(what, node)
            scope.found[id(node)] = value
        return scope.value_of(root)

    def inline(self, call: Call, callee: Closure, args: list[Any]) -> Steps[Any]:
        """The value of a call, whose body is inlined."""
        function = callee.function
        if id(function) in self.active:
            raise _Refusal(f"a recursive call of {callee.name}", call)
        self.active.add(id(function))
        value = yield self.body(callee, args)
        self.active.remove(id(function))
        return value

    def results(self, result: Any, inputs: int) -> Any:
        """The registers `main` returns: distinct memory, and neither inputs nor constants."""
        if not _is_data(result):
            raise _Refusal("a result that is a function", self.module[MAIN].body)
        taken = {*range(inputs)}
        returned = []
        for tensor in flatten(result):
            constant = tensor.stage is not self.main
            register = self.stages.register(tensor, self.main)
            root = self.main.roots.get(register, register)
            if constant or root in taken:
                register = root = self.copy(register)
            taken.add(root)
            returned.append(register)
        return unflatten(result, returned)

    def copy(self, register: Register) -> Register:
        """A copy in its own memory, made by a kernel."""
        copy = expr.get_op("copy")
        made: At = self.operator(Call(copy, ()), copy, [At(self.main, register)])
        return made.register

    # --- primitive functions

    def operator(self, call: Call, op: expr.Op, args: Sequence[Any]) -> Any:
        """The value of a call of an operator that was a value, and so was not fused."""
        if not _is_data(tuple(args)):
            raise _Refusal(f"a call of `{op.name}` with functions", call)
        function = primitive_of(op, [type_of(arg) for arg in args], call.attrs)
        assert isinstance(function.body, Call)
        return self.primitive(function.body, function, args)

    def primitive(self, call: Call, function: expr.Function, args: Sequence[Any]) -> Any:
        given = flatten(tuple(args))
        if not _is_data(tuple(given)):
            raise _Refusal("a kernel over functions", call)
        result_type = call.checked_type
        specs = tensor_specs(result_type, call, f"a result of {_operators(function)}")
        mine = not is_external(function)
        if mine and len(given) == len(specs) == 1 and only_reshapes(function):
            (tensor,) = given
            require_room(result_type, call)
            return At(tensor.stage, tensor.stage.view(tensor.register, specs[0]))
        lowered = self.stages.lower(function, given)
        made = self.stages.steps(lowered, given, specs, self.main, where=place_of(call.span))
        return unflatten(structure(result_type), made)


# --- restrictions --------------------------------------------------------------------------------


def tensor_specs(ty: types.Type, where: Expr, what: str) -> list[TensorSpec]:
    """The tensors in `ty`, flattened; an error for dynamic dimensions."""
    specs = []
    for leaf in flatten(structure(ty)):
        if not isinstance(leaf, types.TensorType):
            raise _Refusal(f"{what} of type {leaf}", where)
        if any(type(size) is not int for size in leaf.shape):
            raise _Refusal(f"{what} of type {leaf}, whose shape shows at run time", where)
        require_axes(leaf, where.span)
        specs.append(TensorSpec(leaf.concrete_shape, leaf.dtype))
    return specs


def type_of(value: Any) -> types.Type:
    """The type of a value."""

    def build(part: Any) -> Steps[types.Type]:
        if isinstance(part, At):
            spec = part.stage.registers[part.register]
            assert isinstance(spec, TensorSpec)
            return types.TensorType(tuple(map(int, spec.shape)), spec.dtype)
        return types.TupleType(tuple((yield tree.gather(map(build, part)))))

    return tree.run(build(value))


def is_external(function: expr.Function) -> bool:
    """Whether an external compiler compiles it, as one kernel (`PartitionGraph`)."""
    attrs = function.attrs
    return bool(attrs.get("Primitive")) and attrs.get("Compiler", "default") != "default"


def require_own(function: expr.Function, what: str) -> None:
    """Refuse functions that others know, and that are no kernels of external compilers."""
    for mark in () if is_external(function) else ("Compiler", "Extern"):
        if function.attrs.get(mark, "default") != "default":
            raise LowerError.of(
                f"{what} is marked `{mark}`: another compiler knows what it is",
                function.span,
                found=f"{mark}={function.attrs[mark]!r}",
                hint="relay.transform.InlineCompilerFunctionsBoundTo takes functions back; "
                'relay.create_executor("debug") runs every program',
            )


def _is_straight(node: Any) -> bool:
    """Whether the parts of an expression are evaluated unconditionally."""
    return not isinstance(node, expr.Function | expr.If | expr.Match)


def _is_data(value: Any) -> bool:
    return all(isinstance(leaf, At) for leaf in flatten(value))


def _operators(function: expr.Function) -> str:
    """The operators of a primitive function, by name."""
    calls = (node for node in tree.postorder(function.body) if isinstance(node, Call))
    names = (call.op.name for call in calls if isinstance(call.op, expr.Op))
    return ", ".join(f"`{name}`" for name in names)


_CONSTRUCTS: Mapping[type, str] = {
    expr.If: "an `if`",
    expr.Match: "a `match`",
    expr.RefCreate: "a reference",
    expr.RefRead: "a reference",
    expr.RefWrite: "a reference",
    expr.Constructor: "a value of a data type",
}


@dataclass(eq=False)
class _Refusal(Exception):
    """What cannot be in a straight-line program, and where."""

    what: str
    where: Expr

    def explained(self, module: IRModule) -> DiagnosticError:
        """The error for the user; a program without source is shown as text after the passes."""
        span: AnySpan | None = self.where.span
        for function in module.functions.values() if span is None else ():
            span = span or locate(self.where, function)
        return DiagnosticError.of(
            f"the graph executor runs straight-line code over tensors, and this is {self.what}",
            span,
            hint='relay.compile and relay.create_executor("debug") run every program',
        )
