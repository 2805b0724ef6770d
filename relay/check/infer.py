"""Type inference, in the three steps of the Relay paper: generate, solve, annotate.

`generate.py` gives every expression a type, with holes where nothing is known, and every use of an
operator a relation between its types; `solver.py` fills the holes; `annotate.py` writes the types
back. This file says what is inferred together, and when it has to be.

Work is kept. A function remembers the signatures it was typed against (`Function.assumptions`), so
a function is inferred again only when it, or a signature it uses, has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay import tree
from relay.check.annotate import E, annotate
from relay.check.components import strongly_connected
from relay.check.generate import Generator
from relay.check.kinds import check_definition
from relay.check.wellformed import check_well_formed
from relay.immutable import frozen
from relay.ir.adt import TypeData
from relay.ir.expr import Constructor, Expr, Function, GlobalVar, Op
from relay.ir.module import IRModule
from relay.ir.types import FuncType, IncompleteType, Type
from relay.ir.variables import free_vars


@frozen
class Assumptions:
    """What a function was typed against: signatures of globals, definitions of data types.

    `source` is the function as it was given. When an assumption no longer holds, inference begins
    from there, so that a type it filled in last time is not mistaken for one the user declared.
    """

    source: Function
    globals: Mapping[str, Type]
    types: Mapping[str, TypeData]

    def hold(self, signatures: Mapping[str, Type | None], module: IRModule) -> bool:
        """Whether inferring again would find the same."""
        return all(signatures.get(name) == ty for name, ty in self.globals.items()) and all(
            module.find_type(name) is definition for name, definition in self.types.items()
        )


# --- modules -----------------------------------------------------------------------------------


def infer_module(module: IRModule) -> IRModule:
    """A module of the same functions with every expression typed."""
    return infer_changed(module)[0]


def infer_changed(module: IRModule) -> tuple[IRModule, list[str]]:
    """`infer_module`, and the names of the functions that had to be inferred."""
    for definition in module.type_definitions.values():
        check_definition(definition, module)
    result = module.copy()
    functions = {var.name_hint: function for var, function in module.functions.items()}
    signatures: dict[str, Type | None] = {
        name: f.ty if f.assumptions is not None else f.declared_type
        for name, f in functions.items()
    }
    uses = {name: _globals_used(function) for name, function in functions.items()}
    inferred: list[str] = []
    for group in strongly_connected(uses):
        while stale := [n for n in group if not _is_current(functions[n], signatures, module)]:
            # members without a declared type get theirs from each other, so they go together
            again = {n: _source(functions[n]) for n in group}
            again = {n: f for n, f in again.items() if n in stale or f.declared_type is None}
            signatures.update({name: f.declared_type for name, f in again.items()})
            typed = _infer_group(again, signatures, module)
            for name, function in typed.items():
                signatures[name] = function.ty
                functions[name] = result[name] = function
            inferred.extend(typed)
    return result, inferred


def _is_current(
    function: Function, signatures: Mapping[str, Type | None], module: IRModule
) -> bool:
    found = function.assumptions
    return isinstance(found, Assumptions) and found.hold(signatures, module)


def _source(function: Function) -> Function:
    found = function.assumptions
    return found.source if isinstance(found, Assumptions) else function


def _globals_used(function: Function) -> list[str]:
    if isinstance(function.assumptions, Assumptions):
        return list(function.assumptions.globals)
    return [e.name_hint for e in tree.postorder(function) if isinstance(e, GlobalVar)]


def _infer_group(
    functions: Mapping[str, Function], signatures: Mapping[str, Type | None], module: IRModule
) -> dict[str, Function]:
    """Functions that call each other, inferred together."""
    check_well_formed(IRModule(functions))
    generator = Generator(module, signatures)
    for name, function in functions.items():
        if signatures[name] is None:
            # callers in the group see it with holes, and at one type only
            generator.globals[name] = FuncType(
                tuple(generator.variable_type(p) for p in function.params),
                function.ret_type or IncompleteType(),
            )
    for name, function in functions.items():
        found = tree.run(generator.infer(function))
        if name in generator.globals:
            monomorphic = FuncType(found.arg_types, found.ret_type)  # type: ignore[attr-defined]
            generator.solver.unify(monomorphic, generator.globals[name], function)
    generator.finish()
    typed = {name: annotate(function, generator) for name, function in functions.items()}
    # a single function without recursion is typed against other groups only
    alone = len(functions) == 1 and not any(n in _globals_used(f) for n, f in functions.items())
    within = {} if alone else {name: typed[name].checked_type for name in generator.globals}
    known = generator.used_globals | within
    for name, function in typed.items():
        used = known
        if functions[name].declared_type is not None:
            # the globals that others of the group use do not matter to it
            used = {n: known[n] for n in _globals_used(functions[name]) if n in known}
        _assume(function, Assumptions(functions[name], used, generator.used_types))
    return typed


def _assume(function: Function, assumptions: Assumptions) -> None:
    object.__setattr__(function, "assumptions", assumptions)


def with_known_types(
    after: Function, before: Function, type_of: Callable[[Expr], Type | None]
) -> Function:
    """`after`, a rewritten form of the typed `before`, with the types that `type_of` knows; the
    types of expressions that are part of both must not have changed."""
    if not isinstance(before.assumptions, Assumptions):
        return after
    untyped = [
        e
        for e in tree.postorder(after)
        if isinstance(e, Expr) and e.ty is None and not isinstance(e, Op | Constructor | GlobalVar)
    ]
    types = list(map(type_of, untyped))
    if None in types:
        return after
    for e, ty in zip(untyped, types, strict=True):
        object.__setattr__(e, "ty", ty)
    known = before.assumptions
    _assume(after, Assumptions(after, known.globals, known.types))
    return after


# --- single expressions ------------------------------------------------------------------------


def infer_expr(expr: E, module: IRModule | None = None) -> E:
    """`expr` typed. Variables free in it have the types of their annotations."""
    if module is not None:
        module = infer_module(module)
    module = module or IRModule()
    signatures = {var.name_hint: f.ty for var, f in module.functions.items()}
    generator = Generator(module, signatures)
    tree.run(generator.infer(expr))
    generator.finish()
    typed = annotate(expr, generator)
    if isinstance(expr, Function) and isinstance(typed, Function) and not free_vars(typed):
        _assume(typed, Assumptions(expr, generator.used_globals, generator.used_types))
    return typed


def infer_local(expr: Expr, module: IRModule | None = None) -> Type:
    """The type of one expression over children that are typed; it is noted on `expr` itself."""
    generator = Generator(module or IRModule(), {})
    for child in tree.children(expr):
        if isinstance(child, Expr) and child.ty is not None:
            generator.types[id(child)] = child.ty
    ty = tree.run(generator.infer(expr))
    generator.finish()
    found = generator.solver.unifier.resolve(ty)
    object.__setattr__(expr, "ty", found)
    return found
