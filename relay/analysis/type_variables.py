"""The type variables of an expression, a type or a module: all, bound, free.

The answers do not depend on `mod`, which older programs give.
"""

from __future__ import annotations

from collections.abc import Callable

from relay.ir import variables
from relay.ir.expr import Syntax
from relay.ir.module import IRModule
from relay.ir.types import Type, TypeVar

Item = Syntax | Type | IRModule


def all_type_vars(expr: Item, mod: IRModule | None = None) -> list[TypeVar]:
    """Every type variable, bound or used, in the order of first occurrence."""
    return _collect(variables.all_type_vars, expr)


def bound_type_vars(expr: Item, mod: IRModule | None = None) -> list[TypeVar]:
    """Every type variable that a function, a function type or a definition inside binds."""
    return _collect(variables.bound_type_vars, expr)


def free_type_vars(expr: Item, mod: IRModule | None = None) -> list[TypeVar]:
    """Every type variable used and not bound inside."""
    return _collect(variables.free_type_vars, expr)


def _collect(question: Callable[[Syntax | Type], list[TypeVar]], item: Item) -> list[TypeVar]:
    if not isinstance(item, IRModule):
        return question(item)
    found: dict[TypeVar, None] = {}
    for definition in item.type_definitions.values():
        found.update(dict.fromkeys(question(definition)))
    for function in item.functions.values():
        found.update(dict.fromkeys(question(function)))
    return list(found)
