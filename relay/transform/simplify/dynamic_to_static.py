"""Replace dynamic operators by static ones where their shapes can be computed at compile time:

dyn.reshape(%y, shape_of(%x))  ->  reshape(%y, newshape=[2, 3])

for %y: Tensor[(3, 2), float32]

A dynamic operator takes some attributes of a static one as tensors. Where these are constants, or
can be computed from constants and known shapes, it becomes the static one, whose result has a known
shape in turn. This is propagated through names, tuples, branches that agree and calls of known
functions until nothing changes; then FoldConstant runs on the rest, and it starts again.

The types found are more precise than before. Where others rely on the previous type (references,
data, arguments of functions, branches that do not agree), it is kept:

ref(dyn.tile(%x, shape_of(%x)))
->
ref({ let %known: Tensor[(?, ?), float32] = tile(%x, reps=[2, 3]); %known })

A call that would fail stays, since it may never be reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from relay import tree
from relay.analysis.call_graph import CallGraph
from relay.analysis.purity import Purity
from relay.check.infer import infer_local, infer_module
from relay.errors import RelayError
from relay.immutable import frozen
from relay.ir import dims
from relay.ir import expr as ir
from relay.ir.function_attrs import is_foreign, is_opaque
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType, Type
from relay.ir.variables import all_vars
from relay.op.dyn.form import STATIC_FORM, static_form
from relay.op.opdef import OpDef
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.simplify.fold_constant import OF_SHAPES, FoldConstant, FoldConstantExpr
from relay.tree import Steps

# Steps that end with an expression, or with more steps to be taken instead.
Refinement = Steps[Any]


@frozen
class DynamicToStatic(ModulePass):
    """Makes dynamic operators static where their shapes are known."""

    opt_level = 2
    required = ("InferType",)

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        left = _dynamic_calls(module)
        while left:
            after = _refined(module.copy())
            if _dynamic_calls(after) == left:
                after = _refined(FoldConstant().transform_module(module.copy(), context))
            found, left = left, _dynamic_calls(after)
            if left == found:
                break
            module = after
        return module


def _dynamic_calls(module: IRModule) -> int:
    """How many calls of dynamic operators there are."""
    return sum(
        isinstance(node, ir.Call) and _is_dynamic(node.op)
        for function in module.functions.values()
        for node in tree.postorder(function)
    )


def _is_dynamic(e: ir.Expr) -> bool:
    return isinstance(e, OpDef) and e.get_attr(STATIC_FORM) is not None


def _refined(module: IRModule) -> IRModule:
    """The module after one round."""
    graph, purity = CallGraph(module), Purity(module)
    values = _function_values(module)
    results: dict[str, Type] = {}
    changed: dict[ir.GlobalVar, ir.Function] = {}
    for name in (name for group in graph.components() for name in group):
        function = module[name]
        if is_foreign(function):
            continue
        refining = _Refining(purity, results)
        after = tree.run(refining.function(function))
        body = refining.type_of(function.body)
        # all users of the result must be known, and come later
        is_known = not graph.is_recursive(name) and name not in values and not function.type_params
        if is_known and function.ret_type == function.body.ty != body:
            results[name.name_hint] = body
            after = tree.replace(after, ret_type=body)
        if after is not function:
            changed[name] = after
    for name, function in changed.items():
        module[name] = function
    return infer_module(module) if changed else module


def _function_values(module: IRModule) -> set[ir.GlobalVar]:
    """The functions that are used as values somewhere."""
    found: set[ir.GlobalVar] = set()
    for function in module.functions.values():
        for node in tree.postorder(function):
            parts = node.args if isinstance(node, ir.Call) else tree.children(node)
            found.update(part for part in parts if isinstance(part, ir.GlobalVar))
    return found


class _Refining:
    """Rewrites a typed function in evaluation order, with the types that rewriting refines.

    `results` are the types of the results of other functions, where more is known about them.
    """

    def __init__(self, purity: Purity, results: Mapping[str, Type]) -> None:
        self._purity = purity
        self._results = results
        self._done: dict[int, ir.Expr] = {}
        self._types: dict[int, Type] = {}  # of expressions as they were, where they are better now
        self._variables: dict[
            ir.Var, ir.Expr
        ] = {}  # what stands for variables that are better known
        self._tuples: dict[ir.Var, ir.Tuple] = {}

    def type_of(self, e: ir.Expr) -> Type:
        """What is known of the type of `e`, an expression as it was."""
        return self._types.get(id(e), e.checked_type)

    def function(self, e: ir.Function) -> Refinement:
        """Its declared result stays."""
        if is_opaque(e):
            seeds: dict[ir.Syntax, ir.Syntax] = {
                v: self._variables[v] for v in all_vars(e) if v in self._variables
            }
            root: ir.Syntax = e
            return tree.transform(root, lambda _, after: after, seeds) if seeds else e
        return tree.rebuild(e, [*e.params, (yield self._of(e.body))])

    def _of(self, e: ir.Expr) -> Refinement:
        if isinstance(e, ir.Var):
            return self._variables.get(e, e)
        if ir.is_atom(e):
            return e
        if id(e) not in self._done:
            self._done[id(e)] = yield self._compute(e)
        return self._done[id(e)]

    def _all(self, parts: Iterable[ir.Expr]) -> Steps[list[ir.Expr]]:
        return tree.gather(self._of(part) for part in parts)

    def _compute(self, e: ir.Expr) -> Refinement:
        match e:
            case ir.Call(op=OpDef(on_values=False) as op, args=args):
                return self._operator(e, op, (yield self._all(args)))
            case ir.Call(op=callee, args=args):
                function = yield self._of(callee)
                given = yield self._all(args)
                if isinstance(callee, ir.GlobalVar) and callee.name_hint in self._results:
                    self._note(e, self._results[callee.name_hint])
                return tree.rebuild(e, [function, *map(self._as_before, args, given)])
            case ir.Let():
                value = yield self._of(e.value)
                variable = self._bound(e, value)
                body = yield self._of(e.body)
                self._note(e, self.type_of(e.body))
                return (
                    body
                    if isinstance(variable, ir.Constant)
                    else tree.rebuild(e, [variable, value, body])
                )
            case ir.If(true_branch=true_branch, false_branch=false_branch):
                cond = yield self._of(e.cond)
                before = [true_branch, false_branch]
                after = self._agreeing(e, before, (yield self._all(before)))
                return tree.rebuild(e, [cond, *after])
            case ir.Match(clauses=clauses):
                data = yield self._of(e.data)
                before = [clause.rhs for clause in clauses]
                after = self._agreeing(e, before, (yield self._all(before)))
                over = zip(clauses, after, strict=True)
                return tree.rebuild(e, [data, *(tree.rebuild(c, [c.lhs, r]) for c, r in over)])
            case ir.Tuple(fields=fields):
                result = tree.rebuild(e, (yield self._all(fields)))
                self._note(e, TupleType(tuple(map(self.type_of, fields))))
                return result
            case ir.TupleGetItem(tuple_value=value, index=index):
                result = tree.rebuild(e, [(yield self._of(value))])
                if isinstance(ty := self.type_of(value), TupleType):
                    self._note(e, ty.fields[index])
                return result
            case ir.Function():
                return self.function(e)
            case ir.RefCreate(value=value):
                return tree.rebuild(e, [self._as_before(value, (yield self._of(value)))])
            case ir.RefWrite(ref=ref, value=value):
                cell = yield self._of(ref)
                return tree.rebuild(e, [cell, self._as_before(value, (yield self._of(value)))])
        return tree.rebuild(e, (yield self._all(tree.children(e))))

    # --- types

    def _note(self, e: ir.Expr, ty: Type) -> None:
        if ty != e.ty:
            self._types[id(e)] = ty

    def _as_before(self, before: ir.Expr, after: ir.Expr) -> ir.Expr:
        """`after`, of the type that `before` had."""
        if id(before) not in self._types:
            return after
        known = ir.Var("known", before.ty)
        return ir.Let(known, after, known)

    def _agreeing(
        self, e: ir.Expr, before: Sequence[ir.Expr], after: Sequence[ir.Expr]
    ) -> Sequence[ir.Expr]:
        """Branches, which tell the type of `e` if they agree about it."""
        first, *others = map(self.type_of, before)
        if all(other == first for other in others) and _says_more(first, e.checked_type):
            self._note(e, first)
            return after
        return list(map(self._as_before, before, after))

    def _bound(self, e: ir.Let, value: ir.Expr) -> ir.Expr:
        """What stands for the variable from now on, unless it declares its type by itself."""
        variable = e.variable
        if variable.type_annotation != e.value.ty:
            return variable
        if isinstance(value, ir.Tuple):
            self._tuples[variable] = value
        ty = self._types.get(id(e.value))
        if isinstance(value, ir.Constant):
            self._variables[variable] = value
        elif ty is not None:
            self._variables[variable] = ir.Var(variable.name_hint, ty, span=variable.span)
        if ty is not None:
            self._types[id(variable)] = ty
        return self._variables.get(variable, variable)

    # --- operators

    def _operator(self, e: ir.Call, op: OpDef, args: list[ir.Expr]) -> ir.Expr:
        """A call of an operator, with these arguments: static, or a constant, if it can be."""
        is_new = any(a is not b or id(b) in self._types for a, b in zip(args, e.args, strict=True))
        known = list(map(self._known, e.args, args))
        decides = op.name in OF_SHAPES or None not in known
        if not is_new and not decides and not _is_dynamic(op):
            return e
        call = tree.replace(e, args=tuple(args))
        # inference looks at the call alone, so variables of the known types stand for the rest
        types = map(self.type_of, e.args)
        given = [
            k if k is not None else ir.Var("x", ty) for k, ty in zip(known, types, strict=True)
        ]
        probe = tree.replace(e, args=tuple(given))
        if decides and (constant := self._constant(e, probe)) is not None:
            self._note(e, constant.tensor_type)
            return constant
        static, static_probe = _static(call), _static(probe)
        ty = _type(static_probe if static is not None and static_probe is not None else probe)
        if ty is None or not _says_more(ty, e.checked_type):
            return tree.rebuild(e, [e.op, *map(self._as_before, e.args, args)])
        self._note(e, ty)
        return tree.rebuild(e, [e.op, *args]) if static is None else static

    def _known(self, before: ir.Expr, after: ir.Expr) -> ir.Expr | None:
        """An argument that is a constant, or a tuple of constants."""
        held = self._tuples.get(before) if isinstance(before, ir.Var) else after
        if isinstance(held, ir.Tuple) and all(isinstance(field, ir.Constant) for field in held):
            return held
        return after if isinstance(after, ir.Constant) else None

    def _constant(self, e: ir.Call, probe: ir.Call) -> ir.Constant | None:
        """The value of the call, if it does not depend on its other arguments."""
        if not all(map(self._purity.is_pure, e.args)):
            return None
        result = FoldConstantExpr(probe)
        return result if isinstance(result, ir.Constant) else None


def _static(call: ir.Call) -> ir.Call | None:
    """The static form of the call, if it has one and its values make sense."""
    try:
        return static_form(call)
    except RelayError:
        return None


def _type(call: ir.Call) -> Type | None:
    """The type of the call; None if it would fail."""
    try:
        return infer_local(call)
    except RelayError:
        return None


def _says_more(new: Type, old: Type) -> bool:
    """Whether `new` is `old` with some unknown dimensions known."""
    match new, old:
        case TensorType(), TensorType():
            return (
                new.dtype == old.dtype
                and len(new.shape) == len(old.shape)
                and all(
                    isinstance(b, dims.Any) or a == b
                    for a, b in zip(new.shape, old.shape, strict=True)
                )
            )
        case TupleType(), TupleType():
            return len(new.fields) == len(old.fields) and all(
                map(_says_more, new.fields, old.fields)
            )
    return new == old
