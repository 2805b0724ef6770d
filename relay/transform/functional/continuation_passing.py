"""Continuation-passing style (ToCPS, to_cps, un_cps): functions pass their result to a
continuation:

def @f(%x: int32) -> int32 { negative(%x) }
def @main(%x: int32) -> int32 { add(@f(%x), 1) }
->
def @f_cps[R](%x: int32, %k: fn (int32) -> R) -> R { let %y = negative(%x); %k(%y) }
def @main_cps[R](%x: int32, %k: fn (int32) -> R) -> R {
  @f_cps(%x, fn (%y: int32) -> R { let %one = 1; let %z = add(%y, %one); %k(%z) })
}
def @main(%x: int32) -> int32 { @main_cps(%x, fn (%result: int32) { %result }) }

Every function gets one more parameter, its continuation, and a type parameter for the answer that
this gives in the end. What was to be done with the result of a call is the continuation of that
call; a tail call passes the continuation on. Where the branches of an `if` or a `match` with calls
meet again there is a function that all of them call.

Function values take continuations as well, wherever they are: in tuples, cells and data. A data
type with functions in its definition gets a twin with the answer for a parameter. Operators,
constructors and functions of other compilers are called as before and return.

Evaluation order is preserved, because the program is brought to A-normal form first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relay import tree
from relay.analysis.normal_forms import CLOSURE, is_kernel
from relay.check.infer import infer_expr, infer_module
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.adt import TypeData
from relay.ir.dims import Dim
from relay.ir.function_attrs import is_sealed
from relay.ir.module import IRModule
from relay.ir.names import UniqueNames
from relay.ir.types import UNIT, FuncType, GlobalTypeVar, Type, TypeCall, TypeVar, substitute
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.functional.eta_expand import EtaExpand
from relay.transform.functional.function_types import with_annotation, with_functions
from relay.transform.functional.to_a_normal_form import ToANormalForm
from relay.tree import Steps

__all__ = ["ToCPS", "to_cps", "un_cps"]

# Wraps operators, constructors and global functions that are used as values.
_FUNCTIONS_ONLY = EtaExpand(expand_constructor=True, expand_global_var=True, expand_operator=True)


@frozen
class ToCPS(ModulePass):
    """Replaces every function `@f` by `@f_cps`, which takes a continuation.

    `@main` is kept, and calls `@main_cps`.
    """

    opt_level = 1
    required = (_FUNCTIONS_ONLY, "ToANormalForm")

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        wanted = [name.name_hint for name, f in module.functions.items() if not is_sealed(f)]
        conversion = _Conversion(module, wanted)
        for name in wanted:
            before: ir.Function = module[name]
            del module[name]
            module[conversion.names[name]] = conversion.function_of_module(before)
        for definition in conversion.definitions.values():
            module[definition.header] = definition
        if "main" in wanted:
            twin = ir.GlobalVar(conversion.names["main"])
            module["main"] = _returning(twin, module[twin])
        return infer_module(module) if wanted else module


def to_cps(func: ir.Function, mod: IRModule | None = None) -> ir.Function:
    """`func` with a continuation, `fn [.., R](.., k: fn (result) -> R) -> R`.

    The functions of `mod` that it calls are added to `mod` in that form, as `@f_cps`.
    """
    _require_function(func)
    if is_sealed(func):
        raise PassError("a function that is compiled as a whole has no place for a continuation")
    module = mod if mod is not None else IRModule()
    own = UniqueNames({name.name_hint for name in module.functions}).fresh("function")
    work = module.copy()
    work[own] = func
    work = ToANormalForm()(_FUNCTIONS_ONLY(work))
    wanted = [name for name in _reached(work, own) if not is_sealed(work[name])]
    conversion = _Conversion(work, wanted)
    made = {name: conversion.function_of_module(work[name]) for name in wanted}
    for definition in conversion.definitions.values():
        module[definition.header] = definition
    for name in wanted:
        if name != own:
            module[conversion.names[name]] = made[name]
    typed = infer_module(module)
    for name in wanted:
        if name != own:
            module[conversion.names[name]] = typed[conversion.names[name]]
    return infer_expr(made[own], module)


def un_cps(func: ir.Function) -> ir.Function:
    """A function that returns what `func`, a result of `to_cps`, passes to its continuation.

    Functions among its arguments, and in its result, still take continuations.
    """
    _require_function(func)
    return _returning(func, func)


def _require_function(func: object) -> None:
    if not isinstance(func, ir.Function):
        raise PassError(f"a continuation is added to a relay.Function, found {type(func).__name__}")


def _reached(module: IRModule, root: str) -> list[str]:
    """The functions of the module that are used by `root`, itself included."""
    found = {root: None}
    pending = [root]
    while pending:
        for node in tree.postorder(module[pending.pop()]):
            if isinstance(node, ir.GlobalVar) and node.name_hint not in found:
                found[node.name_hint] = None
                pending.append(node.name_hint)
    return list(found)


# --- types --------------------------------------------------------------------------------------


class _Types:
    """Types after the conversion, with the type of the answer."""

    def __init__(self, answer: TypeVar, twins: Mapping[str, GlobalTypeVar]) -> None:
        self.answer = answer
        self._twins = twins
        self._known: dict[Type, Type] = {}

    def of(self, ty: Type) -> Type:
        if ty not in self._known:
            self._known[ty] = tree.transform(ty, self._visit)
        return self._known[ty]

    def of_argument(self, given: Type | Dim) -> Type | Dim:
        return self.of(given) if isinstance(given, Type) else given

    def continuation(self, result: Type) -> FuncType:
        """The type of a continuation for a converted result type."""
        return FuncType((result,), self.answer)

    def _visit(self, _: Type, after: Type) -> Type:
        match after:
            case FuncType(arg_types=args, ret_type=result, type_params=params):
                return FuncType((*args, self.continuation(result)), self.answer, params)
            case TypeCall(func=GlobalTypeVar(name_hint=name), args=args) if name in self._twins:
                return TypeCall(self._twins[name], (*args, self.answer))
        return after


# --- functions ----------------------------------------------------------------------------------


@dataclass
class _Conversion:
    """The functions `wanted` of a module in A-normal form, converted together."""

    module: IRModule
    wanted: Sequence[str]
    names: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, TypeData] = field(default_factory=dict)  # twins, by the original
    constructors: dict[ir.Constructor, ir.Constructor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        taken = UniqueNames({name.name_hint for name in self.module.functions})
        self.names = {name: taken.fresh(f"{name}_cps") for name in self.wanted}
        self._make_twins()

    def _make_twins(self) -> None:
        definitions = self.module.type_definitions
        taken = UniqueNames({header.name_hint for header in definitions})
        constructors = UniqueNames(
            {c.name_hint for definition in definitions.values() for c in definition.constructors}
        )
        found = with_functions(definitions.values())
        self.headers = {
            d.header.name_hint: GlobalTypeVar(taken.fresh(f"{d.header.name_hint}_cps"))
            for d in found
        }
        for definition in found:
            name = definition.header.name_hint
            types = _Types(TypeVar("R"), self.headers)
            for before in definition.constructors:
                self.constructors[before] = ir.Constructor(
                    constructors.fresh(f"{before.name_hint}_cps"),
                    tuple(map(types.of, before.inputs)),
                    self.headers[name],
                )
            self.definitions[name] = TypeData(
                self.headers[name],
                (*definition.type_vars, types.answer),
                tuple(self.constructors[c] for c in definition.constructors),
            )

    def function_of_module(self, function: ir.Function) -> ir.Function:
        answer = TypeVar("R")
        made = tree.run(_Body(self, _Types(answer, self.headers), function).function(function))
        return tree.replace(made, type_params=(*made.type_params, answer))


class _Body:
    """Converts one global function, and its nested functions."""

    def __init__(self, conversion: _Conversion, types: _Types, root: ir.Function) -> None:
        self._conversion = conversion
        self._types = types
        self._new: dict[ir.Var, ir.Var] = {}
        self._calling = self._find_calls(root)

    def _find_calls(self, root: ir.Function) -> set[int]:
        """The expressions whose evaluation calls a function that takes a continuation."""
        found: set[int] = set()
        for node in tree.postorder(root):
            if isinstance(node, ir.Function):
                continue
            is_call = isinstance(node, ir.Call) and not self._returns(node.op)
            if is_call or any(id(part) in found for part in tree.children(node)):
                found.add(id(node))
        return found

    def _returns(self, callee: ir.Expr) -> bool:
        """Whether the callee takes no continuation."""
        if isinstance(callee, ir.GlobalVar):
            return callee.name_hint not in self._conversion.names
        return isinstance(callee, ir.Op | ir.Constructor) or is_kernel(callee)

    # --- parts

    def _variable(self, before: ir.Var) -> ir.Var:
        if before not in self._new:
            ty = before.type_annotation or before.checked_type
            self._new[before] = with_annotation(before, ty, self._types.of(ty))
        return self._new[before]

    def _atom(self, e: Any) -> Any:
        if isinstance(e, ir.Var):
            return self._variable(e)
        if isinstance(e, ir.Constructor):
            return self._conversion.constructors.get(e, e)
        return e

    def function(self, before: ir.Function) -> Steps[ir.Function]:
        """`before` with a continuation."""
        if before.attrs.get("Primitive"):
            return before
        ty = before.checked_type
        assert isinstance(ty, FuncType)
        params = tuple(map(self._variable, before.params))
        k = ir.Var("k", self._types.continuation(self._types.of(ty.ret_type)))
        body = yield self._block(before.body, k)
        return ir.Function(
            (*params, k),
            body,
            self._types.answer,
            before.type_params,
            before.attrs.without(CLOSURE) if before.attrs.get(CLOSURE) else before.attrs,
            span=before.span,
        )

    # --- blocks

    def _block(self, e: ir.Expr, k: ir.Var | None) -> Steps[ir.Expr]:
        """The block `e` with its result passed to `k`, or returned if `k` is None."""
        bindings: list[tuple[ir.Var, ir.Expr]] = []
        result: ir.Expr | None = None
        while isinstance(e, ir.Let) and result is None:
            if k is not None and id(e.value) in self._calling:
                result = yield self._with_rest(e, k, bindings)
            else:
                bindings.append((self._variable(e.variable), (yield self._value(e.value))))
                e = e.body
        if result is None:
            if isinstance(e, ir.Function):  # the one that a function marked `Closure` makes
                made = yield self.function(e)
                bindings.append((ir.Var("f", self._types.of(e.checked_type)), made))
                e = bindings[-1][0]
            result = self._atom(e) if k is None else ir.Call(k, (self._atom(e),))
        for variable, value in reversed(bindings):
            result = ir.Let(variable, value, result, span=value.span)
        return result

    def _with_rest(
        self, let: ir.Let, k: ir.Var, bindings: list[tuple[ir.Var, ir.Expr]]
    ) -> Steps[Any]:
        """A binding of a value with calls, and the rest of the block as its continuation."""
        value = let.value
        rest: ir.Expr = k
        if let.body is not let.variable:
            variable = self._variable(let.variable)
            body = yield self._block(let.body, k)
            rest = ir.Function((variable,), body, self._types.answer)
        if isinstance(value, ir.Call):
            return self._call(value, rest)
        if not isinstance(rest, ir.Var):
            result_type = self._types.of(value.checked_type)
            join = ir.Var("k", self._types.continuation(result_type))
            bindings.append((join, rest))
            rest = join
        return self._branches(value, rest)

    def _call(self, call: ir.Call, rest: ir.Expr | None) -> ir.Call:
        """A call, with a continuation where the callee takes one."""
        callee = self._atom(call.op)
        given = tuple(map(self._types.of_argument, call.type_args))
        if isinstance(callee, ir.GlobalVar) and rest is not None:
            callee = ir.GlobalVar(self._conversion.names[callee.name_hint])
            given = (*given, self._types.answer)
        elif isinstance(call.op, ir.Constructor) and callee is not call.op:
            given = (*given, self._types.answer)
        args = tuple(map(self._atom, call.args))
        return tree.replace(
            call, op=callee, args=args if rest is None else (*args, rest), type_args=given
        )

    def _value(self, e: ir.Expr) -> Any:
        """The value of a binding that has no calls."""
        match e:
            case ir.Var():
                return self._variable(e)
            case ir.Function():
                return self.function(e)
            case ir.If() | ir.Match():
                return self._branches(e, None)
            case ir.Call():
                return self._call(e, None)
        return tree.rebuild(e, [self._atom(part) for part in tree.children(e)])

    def _branches(self, e: ir.Expr, k: ir.Var | None) -> Steps[ir.Expr]:
        if isinstance(e, ir.If):
            true_branch = yield self._block(e.true_branch, k)
            false_branch = yield self._block(e.false_branch, k)
            return ir.If(self._atom(e.cond), true_branch, false_branch, span=e.span)
        assert isinstance(e, ir.Match)
        clauses = []
        for clause in e.clauses:
            pattern = tree.transform(clause.lhs, lambda _, after: self._atom(after))
            rhs = yield self._block(clause.rhs, k)
            clauses.append(ir.Clause(pattern, rhs, span=clause.span))
        return ir.Match(self._atom(e.data), tuple(clauses), e.complete, span=e.span)


# --- back ---------------------------------------------------------------------------------------


def _returning(callee: ir.Expr, function: ir.Function) -> ir.Function:
    """A function that calls `callee`, of the signature of `function`, and returns the result."""
    *params, k = function.params or (None,)
    answer = function.ret_type
    taken = k.type_annotation if k is not None else None
    if (
        not isinstance(taken, FuncType)
        or not isinstance(answer, TypeVar)
        or answer not in function.type_params
        or taken.ret_type is not answer
        or len(taken.arg_types) != 1
    ):
        raise PassError(
            "this function takes no continuation: its last parameter must be `fn (result) -> R`, "
            "where R is a type parameter and its own result; relay.transform.to_cps makes such"
        )
    fresh: dict[TypeVar, Type | Dim] = {
        p: TypeVar(p.name_hint, p.kind) for p in function.type_params if p is not answer
    }
    result = substitute(taken.arg_types[0], fresh)
    # functions in the result mention the answer type, which then cannot be the result type
    is_simple = answer not in tree.postorder(result)
    fresh[answer] = result if is_simple else UNIT
    result = substitute(result, {answer: fresh[answer]})
    mine = [
        ir.Var(p.name_hint, substitute(p.type_annotation or p.checked_type, fresh), span=p.span)
        for p in params
    ]
    type_args = tuple(fresh[p] for p in function.type_params)
    given = ir.Var("result", result)
    if is_simple:
        body: ir.Expr = ir.Call(
            callee, (*mine, ir.Function((given,), given, result)), type_args=type_args
        )
    else:
        body = _through_cell(callee, mine, given, result, type_args)
    kept = tuple(p for p in fresh.values() if isinstance(p, TypeVar) and p is not fresh[answer])
    return ir.Function(tuple(mine), body, result, kept, function.attrs, span=function.span)


def _through_cell(
    callee: ir.Expr, args: Sequence[ir.Var], given: ir.Var, result: Type, type_args: tuple[Any, ...]
) -> ir.Expr:
    """A call with a continuation that stores the result in a cell, which is read afterwards.

    The cell holds a function that returns the result; the initial one is never called.
    """
    thunk = FuncType((), result)
    never, cell, done = ir.Var("never", thunk), ir.Var("cell"), ir.Var("done")
    leave = ir.Function((given,), ir.RefWrite(cell, ir.Function((), given, result)), UNIT)
    call = ir.Call(callee, (*args, leave), type_args=type_args)
    body: ir.Expr = ir.Let(done, call, ir.Call(ir.RefRead(cell), ()))
    body = ir.Let(cell, ir.RefCreate(never), body)
    return ir.Let(never, ir.Function((), ir.Call(never, ()), result), body)
