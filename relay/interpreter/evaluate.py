"""The meaning of Relay programs.

This file is the definition of the language: every executor must agree with it.

    call        by value: the callee first, then the arguments from left to right
    function    a closure over the variables around it; in `let %f = fn …` it may call itself
    let         the value, then the body
    sharing     an expression used in several places is evaluated once per call of the innermost
                function that contains them all (`relay.ir.scopes`)
    if          only the branch that is taken
    match       the first clause that matches; it is an error if none does
    ref         a new cell each time; reads and writes happen in the order of evaluation
    operator    its NumPy reference (`relay.interpreter.operators`)
    type        checked where a value may not have it (`relay.interpreter.promises`)

An expression is evaluated in a `Frame`, of which every call of a function makes one. The rules are
generators for `relay.tree.run`: `yield _evaluate(…)` waits for a value, `return _evaluate(…)` is a
tail call. So recursion may be far deeper than Python's stack, and tail calls take no stack space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from relay import tree
from relay.errors import EvaluationError
from relay.interpreter.frames import Closure, Frame, RunningModule, Stack, Watch
from relay.interpreter.operators import act, operate, require_room
from relay.interpreter.promises import bind_extents, check
from relay.interpreter.values import (
    UNIT,
    ConstructorValue,
    RefValue,
    TupleValue,
    Value,
    describe,
    to_value,
)
from relay.ir import expr as ir
from relay.ir.module import IRModule
from relay.ir.types import Type
from relay.nd import NDArray
from relay.op.opdef import OpDef
from relay.tree import Steps, run

# Steps that end with a value, or with the steps of a tail call.
Evaluation = Steps[Any]
DEPTH: Final = 1 << 20  # a stack of so many expressions takes about a gigabyte


def evaluate(
    expr: ir.Expr,
    module: IRModule | None = None,
    bindings: Mapping[ir.Var, Any] | None = None,
    *,
    depth: int | None = DEPTH,
    watch: Watch | None = None,
) -> Value:
    """The value of `expr`, with the functions of `module` and values for its free variables.

    `depth` is the maximal depth of the stack of expressions; None: as much as memory allows.
    `watch` is told of every operator on tensors.
    """
    expr = ir.as_expr(expr)
    stack = Stack(depth, watch)
    frame = RunningModule(IRModule() if module is None else module).outermost(expr, stack)
    for variable, given in (bindings or {}).items():
        frame.values[variable] = to_value(given)
    try:
        value: Value = run(_evaluate(expr, frame), stack.waiting)
    except EvaluationError as error:
        # the traceback through the interpreter may be a million frames long
        raise error.with_traceback(None) from error.__cause__
    return value


def call(function: Value, args: Sequence[Any], *, depth: int | None = DEPTH) -> Value:
    """The result of calling a closure, an operator or a constructor."""
    callee, variables = ir.Var("f"), tuple(ir.Var(f"x{i}") for i in range(len(args)))
    given = dict(zip(variables, args, strict=True))
    return evaluate(ir.Call(callee, variables), bindings={callee: function, **given}, depth=depth)


# --- expressions ---------------------------------------------------------------------------------


def _evaluate(e: ir.Expr, frame: Frame) -> Evaluation:
    if frame.scopes.is_shared(e):
        return _once(e, frame.home(e), frame.stack)
    return _compute(e, frame)


def _once(e: ir.Expr, home: Frame, stack: Stack) -> Evaluation:
    if e not in home.values:
        home.stack = stack  # a closure from one evaluation may be called in another
        home.values[e] = yield _compute(e, home)
    return home.values[e]


def _compute(e: ir.Expr, frame: Frame) -> Evaluation:
    match e:
        case ir.Call():
            values = []
            for part in (e.op, *e.args):
                # most parts are atoms, which need no steps: this saves a third of the time
                if (value := _atom(part, frame)) is None:
                    value = yield _evaluate(part, frame)
                values.append(value)
            return _apply(values[0], values[1:], e, frame)
        case ir.Function():
            return Closure(e, frame)
        case ir.Let() if e.body is e.variable and _is_only_a_name(e):
            return _evaluate(e.value, frame)
        case ir.Let():
            _bind(e.variable, (yield _evaluate(e.value, frame)), frame)
            return _evaluate(e.body, frame)
        case ir.If():
            condition = yield _evaluate(e.cond, frame)
            return _evaluate(e.true_branch if _is_true(condition, e) else e.false_branch, frame)
        case ir.Match():
            data = yield _evaluate(e.data, frame)
            for clause in e.clauses:
                if (variables := matches(clause.lhs, data)) is not None:
                    for variable, found in variables.items():
                        _bind(variable, found, frame)
                    return _evaluate(clause.rhs, frame)
            raise EvaluationError.of("no clause of this match fits", e.span, found=describe(data))
        case ir.Tuple():
            return TupleValue((yield tree.gather(_evaluate(field, frame) for field in e.fields)))
        case ir.TupleGetItem():
            value = yield _evaluate(e.tuple_value, frame)
            if isinstance(value, TupleValue) and 0 <= e.index < len(value):
                return value[e.index]
            raise EvaluationError.of(
                f"there is no field {e.index}", e.span, "a tuple", describe(value)
            )
        case ir.RefCreate():
            return RefValue((yield _evaluate(e.value, frame)))
        case ir.RefRead():
            value = _cell((yield _evaluate(e.ref, frame)), e).value
            if e.ty is not None:
                check(value, e.ty, frame.extents, "what the reference holds", e.span)
            return value
        case ir.RefWrite():
            cell = _cell((yield _evaluate(e.ref, frame)), e)
            cell.value = yield _evaluate(e.value, frame)
            return UNIT
        case _ if (value := _atom(e, frame)) is not None:
            return value
    raise EvaluationError.of(f"a {type(e).__name__} has no value", e.span)


def _atom(e: ir.Expr, frame: Frame) -> Value | None:
    """The value of an expression without parts; None for all others."""
    match e:
        case ir.Var():
            return frame.lookup(e)
        case ir.Constant():
            return e.data
        case ir.GlobalVar():
            return frame.program.closure(e, frame.stack)
        case ir.Op() | ir.Constructor():
            return e
    return None


def _is_only_a_name(e: ir.Let) -> bool:
    """Whether `let %x = v; %x` is `v`, so that a call in it is in tail position.

    It is not if the annotation differs from the type of `v`, or if `v` is a function, which may be
    recursive.
    """
    promised = e.variable.type_annotation
    return (promised is None or promised == e.value.ty) and not isinstance(e.value, ir.Function)


def _bind(variable: ir.Var, value: Value, frame: Frame) -> None:
    if (promised := variable.type_annotation) is not None:
        check(value, promised, frame.extents, f"`%{variable.name_hint}`", variable.span)
    frame.values[variable] = value


def _is_true(condition: Value, e: ir.If) -> bool:
    if isinstance(condition, NDArray) and condition.shape == () and condition.dtype == "bool":
        return bool(condition)
    message = "the condition is not a truth value"
    raise EvaluationError.of(message, e.span, "Tensor[(), bool]", describe(condition))


def _cell(value: Value, e: ir.RefRead | ir.RefWrite) -> RefValue:
    if isinstance(value, RefValue):
        return value
    message = "only a reference can be read or written"
    raise EvaluationError.of(message, e.span, "a reference", describe(value))


def matches(pattern: ir.Pattern, data: Value) -> dict[ir.Var, Value] | None:
    """The values of the variables in `pattern` when it matches `data`; else None."""
    found: dict[ir.Var, Value] = {}
    pending = [(pattern, data)]
    while pending:
        match pending.pop():
            case ir.PatternWildcard(), _:
                pass
            case ir.PatternVar(var=variable), value:
                found[variable] = value
            case ir.PatternConstructor() as p, ConstructorValue() as v:
                if not v.is_built_by(p.constructor) or len(p.patterns) != len(v.fields):
                    return None
                pending.extend(zip(p.patterns, v.fields, strict=True))
            case ir.PatternTuple() as p, TupleValue() as v:
                if len(p.patterns) != len(v):
                    return None
                pending.extend(zip(p.patterns, v.fields, strict=True))
            case _:
                return None
    return found


# --- calls ---------------------------------------------------------------------------------------


def _apply(callee: Value, args: list[Value], e: ir.Call, frame: Frame) -> Value | Evaluation:
    match callee:
        case Closure():
            _expect_arguments(callee.name, len(callee.function.params), args, e)
            return _enter(callee, args, e, frame.stack)
        case OpDef(on_values=True):
            return _act(callee, args, e, frame)
        case OpDef():
            if e.ty is not None:
                require_room(e.ty, e.span)
            result = operate(callee, args, e.attrs, e.span, _is_proven(e))
            if e.ty is not None:
                check(result, e.ty, frame.extents, f"the result of `{callee.name}`", e.span)
            if frame.stack.watch is not None:
                frame.stack.watch(e, args, result)
            return result
        case ir.Constructor():
            _expect_arguments(f"`{callee.name_hint}`", len(callee.inputs), args, e)
            for index, (value, promised) in enumerate(zip(args, callee.inputs, strict=True)):
                check(value, promised, {}, f"field {index} of `{callee.name_hint}`", e.span)
            return ConstructorValue(callee.tag, args, callee)
    raise EvaluationError.of("this cannot be called", e.span, "a function", describe(callee))


def _is_proven(e: ir.Call) -> bool:
    """Whether inference knew every extent of the arguments, so that none has to be checked."""
    return e.ty is not None and all(a.ty is not None and not a.ty.occurs for a in e.args)


def _act(op: OpDef, args: list[Value], e: ir.Call, frame: Frame) -> Evaluation:
    """An operator on values; functions that it calls do not see the attributes of `e`."""
    plain = ir.Call(e.op, e.args, span=e.span)
    result = yield act(op, args, e.attrs, e.span, lambda f, given: _apply(f, given, plain, frame))
    if e.ty is not None:
        check(result, e.ty, frame.extents, f"the result of `{op.name}`", e.span)
    return result


def _expect_arguments(callee: str, count: int, args: list[Value], e: ir.Call) -> None:
    if len(args) != count:
        message = f"wrong number of arguments for {callee}"
        raise EvaluationError.of(message, e.span, str(count), str(len(args)))


def _enter(closure: Closure, args: list[Value], e: ir.Call, stack: Stack) -> Evaluation:
    if len(stack.waiting) > stack.limit:
        raise _too_deep(closure, e, stack.limit)
    function, around = closure.function, closure.frame
    extents = bind_extents(function.params, args, around.extents, closure.name, e.span)
    scope = around.scopes.opened(function, "body")
    values: dict[ir.Expr, Value] = dict(zip(function.params, args, strict=True))
    frame = Frame(around.program, around.scopes, scope, around, values, extents, stack)
    promised, inferred = function.ret_type, function.body.ty
    if promised is None or inferred is None or promised == inferred:
        return _evaluate(function.body, frame)
    return _keep(promised, closure, frame)


def _too_deep(closure: Closure, e: ir.Call, limit: int) -> EvaluationError:
    return EvaluationError.of(
        f"{closure.name} recurses deeper than its stack",
        e.span,
        found=f"a stack of {limit} expressions that wait for another",
        hint="evaluate(…, depth=expressions) gives it more, None as many as memory holds",
    )


def _keep(promised: Type, closure: Closure, frame: Frame) -> Evaluation:
    """The result of a function whose declared type is more precise than that of its body."""
    body = closure.function.body
    result = yield _evaluate(body, frame)
    check(result, promised, frame.extents, f"the result of {closure.name}", body.span)
    return result
