"""Free and bound variables and type variables of a program.

Every variable is bound once in a well-formed program, so a variable is free exactly when nothing in
the program binds it. Results are in the order of first occurrence.
"""

from __future__ import annotations

from collections.abc import Iterator

from relay import tree
from relay.ir import dims
from relay.ir.adt import TypeData
from relay.ir.expr import Call, Expr, Function, Let, PatternVar, Syntax, Var
from relay.ir.types import FuncType, Occurs, TensorType, Type, TypeVar


def all_vars(expr: Syntax) -> list[Var]:
    """Every variable, bound or used."""
    return [e for e in tree.postorder(expr) if isinstance(e, Var)]


def bound_vars(expr: Syntax) -> list[Var]:
    """Every variable that a parameter list, a let or a pattern inside `expr` binds."""
    found: dict[Var, None] = {}
    for e in tree.postorder(expr):
        found.update(dict.fromkeys(binders(e)))
    return list(found)


def free_vars(expr: Syntax) -> list[Var]:
    """Every variable used in `expr` and not bound in it."""
    bound = set(bound_vars(expr))
    return [v for v in all_vars(expr) if v not in bound]


def binders(e: Syntax) -> tuple[Var, ...]:
    """The variables that this one node binds."""
    match e:
        case Function():
            return e.params
        case Let():
            return (e.variable,)
        case PatternVar():
            return (e.var,)
    return ()


def all_type_vars(item: Syntax | Type) -> list[TypeVar]:
    """Every type variable and shape variable, bound or used."""
    found: dict[TypeVar, None] = {}
    for part in _type_parts(item):
        if isinstance(part, TypeVar):
            found[part] = None
        elif isinstance(part, TensorType):
            found.update(dict.fromkeys(v for dim in part.shape for v in _variables(dim)))
    return list(found)


def bound_type_vars(item: Syntax | Type) -> list[TypeVar]:
    """Every type variable that a function, a function type or a definition binds."""
    found: dict[TypeVar, None] = {}
    if isinstance(item, TypeData):
        found.update(dict.fromkeys(item.type_vars))
    elif not isinstance(item, Type):
        for e in tree.postorder(item):
            if isinstance(e, Function):
                found.update(dict.fromkeys(e.type_params))
    for part in _type_parts(item):
        if isinstance(part, FuncType):
            found.update(dict.fromkeys(part.type_params))
    return list(found)


def free_type_vars(item: Syntax | Type) -> list[TypeVar]:
    """Every type variable used and not bound inside."""
    bound = set(bound_type_vars(item))
    return [v for v in all_type_vars(item) if v not in bound]


def _type_parts(item: Syntax | Type) -> Iterator[Type]:
    """Every type with variables that is written in `item`, and its parts, each object once."""
    seen: set[int] = set()

    def is_new(ty: Type) -> bool:
        return bool(ty.occurs & (Occurs.VARIABLE | Occurs.BINDER)) and id(ty) not in seen

    for ty in _types(item):
        for part in tree.postorder(ty, is_new):
            if is_new(part):
                seen.add(id(part))
                yield part


def _types(item: Syntax | Type) -> Iterator[Type]:
    if isinstance(item, TypeData):
        yield from item.type_vars
        for constructor in item.constructors:
            yield from constructor.inputs
    elif isinstance(item, Type):
        yield item
    else:
        for e in tree.postorder(item):
            yield from types_in(e)


def types_in(e: Syntax) -> Iterator[Type]:
    """The types written at this one node."""
    match e:
        case Var(type_annotation=Type() as annotation):
            yield annotation
        case Function():
            yield from e.type_params
            if e.ret_type is not None:
                yield e.ret_type
        case Call():
            for given in e.type_args:
                if isinstance(given, Type):
                    yield given
                else:
                    yield from _variables(given)


def _variables(dim: dims.Dim) -> Iterator[TypeVar]:
    return (atom for atom in dims.atoms(dim) if isinstance(atom, TypeVar))


def is_closed(expr: Expr) -> bool:
    """Whether no variable is free in `expr`."""
    return not free_vars(expr)
