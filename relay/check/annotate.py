"""Step 3 of inference: write the types back into the program.

    fn (%x: int32) { let %y = %x; %y }   ->   fn (%x: int32) -> int32 { let %y: int32 = %x; %y }

Every expression gets its `checked_type`, and omitted annotations are filled in: the types of
variables, the results of functions, the type arguments of calls. An expression with nothing to fill
in keeps its identity; one that was typed differently before is copied.
"""

from __future__ import annotations

from typing import Any, TypeVar

from relay import tree
from relay.check.generate import Generator
from relay.check.unify import Mismatch
from relay.ir.expr import Call, Expr, Function, Syntax, Var
from relay.ir.types import FuncType, IncompleteType, Occurs, Type, TypeKind

E = TypeVar("E", bound=Expr)


def annotate(expr: E, generator: Generator) -> E:
    """`expr` with the types that `generator` found for it."""
    resolved: dict[int, Type] = {}

    def final_type(node: Expr) -> Type:
        ty = generator.types[id(node)]
        if not ty.occurs & Occurs.HOLE:
            return ty
        if id(ty) not in resolved:
            try:
                found = generator.solver.unifier.resolve(ty)
            except Mismatch as mismatch:
                generator.report(node, f"this has no type: {mismatch.why}", hint=mismatch.hint)
                found = ty
            else:
                if found.occurs & Occurs.HOLE:
                    _report_unknown(node, found, generator)
            resolved[id(ty)] = found
        return resolved[id(ty)]

    def visit(before: Syntax, after: Syntax) -> Syntax:
        # operators, and constructors in patterns, have no type of their own
        if not isinstance(before, Expr) or id(before) not in generator.types:
            return after
        ty = final_type(before)
        return _with_type(_filled_in(before, after, ty), ty)

    def _filled_in(before: Expr, after: Any, ty: Type) -> Any:
        match after:
            case Var(type_annotation=given) if _has_gap(given):
                return tree.replace(after, type_annotation=ty)
            case Function(ret_type=given) if _has_gap(given) and isinstance(ty, FuncType):
                return tree.replace(after, ret_type=ty.ret_type)
            case Call(type_args=()) if id(before) in generator.type_args:
                found = generator.type_args[id(before)]
                return tree.replace(after, type_args=_final_type_args(found, generator))
        return after

    result = tree.transform(expr, visit)
    generator.diagnostics.render()
    return result


def _has_gap(given: Type | None) -> bool:
    return given is None or bool(given.occurs & Occurs.HOLE)


def _with_type(expr: Expr, ty: Type) -> Expr:
    if expr.ty is not None and expr.ty != ty:
        expr = tree.replace(expr)
    object.__setattr__(expr, "ty", ty)
    return expr


def _final_type_args(found: tuple[Any, ...], generator: Generator) -> tuple[Any, ...]:
    unifier = generator.solver.unifier
    return tuple(
        unifier.resolve_dim(a)
        if isinstance(a, IncompleteType) and a.kind is TypeKind.ShapeVar
        else unifier.resolve(a)
        for a in found
    )


def _report_unknown(node: Expr, found: Type, generator: Generator) -> None:
    name = f"`%{node.name_hint}`" if isinstance(node, Var) else None
    generator.report(
        node,
        f"cannot infer the type of {name or 'this expression'}",
        "a type that the program determines",
        f"{found}, where `_` is unknown",
        f"annotate {name or 'a variable it depends on'}",
    )
