"""Whether a program has the form that `relay.program` lowers, and the faults if not.

    for fault in lowerable_faults(module):
        print(fault)

All functions reachable from `main`

- are typed, and have no type parameters but dimensions;
- have bodies in A-normal form, whose operators are inside primitive functions, called in place;
- contain no other function, except for those marked `Closure`, which only return the one function
  in them: calling them makes a closure;
- use operators and constructors only to call them, while a global function may be a value.

`relay.pipeline.whole_program` brings programs into that form.
"""

from __future__ import annotations

from collections.abc import Iterator

from relay import tree
from relay.analysis.call_graph import CallGraph
from relay.analysis.normal_forms import check_a_normal_form, is_kernel, makes_closure
from relay.errors import Diagnostic, IllFormed
from relay.ir import expr as ir
from relay.ir.module import IRModule
from relay.ir.types import Occurs, Type, TypeKind, TypeVar

ENTRY = "main"


def check_lowerable(module: IRModule) -> None:
    """Raise IllFormed with all faults of `module`."""
    if found := list(lowerable_faults(module)):
        raise IllFormed(found)


def lowerable_faults(module: IRModule) -> Iterator[Diagnostic]:
    """Everything reachable from `main` that cannot be lowered."""
    if ENTRY not in module:
        yield Diagnostic(f"the module has no function `@{ENTRY}`")
        return
    reached = CallGraph(module).reachable([ENTRY])
    for name, function in module.functions.items():
        if name in reached:
            yield from _faults(name.name_hint, function, module)


def _faults(name: str, function: ir.Function, module: IRModule) -> Iterator[Diagnostic]:
    where = f"in `@{name}`"
    if function.ty is None:
        yield Diagnostic(f"`@{name}` has no type yet", function.span)
        return
    for attr in ("Primitive", "Composite", "Compiler", "Extern"):
        if function.attrs.get(attr):
            yield Diagnostic(f"`@{name}` is marked `{attr}`: others know what it is", function.span)
            return
    yield from _type_faults(function, where)
    if not check_a_normal_form(function):
        yield Diagnostic(f"`@{name}` is not in A-normal form", function.span)
    own = {id(function), id(function.body)} if makes_closure(function) else {id(function)}
    for node in tree.postorder(function, lambda n: not (isinstance(n, ir.Expr) and is_kernel(n))):
        if isinstance(node, ir.GlobalVar) and node not in module:
            yield Diagnostic(f"there is no function `@{node.name_hint}`, used {where}", node.span)
        elif isinstance(node, ir.Call) and isinstance(node.op, ir.Op):
            what = f"operator `{node.op.name}` is called outside of a primitive function {where}"
            yield Diagnostic(what, node.span)
        for index, part in enumerate(tree.children(node)):
            if id(part) not in own:
                yield from _place_faults(node, index, part, where)


def _place_faults(user: ir.Syntax, index: int, part: ir.Syntax, where: str) -> Iterator[Diagnostic]:
    """The faults of `part` as a part of `user`."""
    is_called = isinstance(user, ir.Call) and index == 0
    match part:
        case ir.Function() if not (is_called and is_kernel(part)):
            yield Diagnostic(
                f"there is a function {where} that is not one of the module", part.span
            )
        case ir.Op(name=name) if not is_called:
            yield Diagnostic(f"operator `{name}` is a value {where}", user.span)
        case ir.Constructor(name_hint=name) if not is_called:
            if not isinstance(user, ir.PatternConstructor):
                yield Diagnostic(f"constructor `{name}` is a value {where}", user.span)


def _type_faults(function: ir.Function, where: str) -> Iterator[Diagnostic]:
    seen: set[Type] = set()
    for node in tree.postorder(function):
        if not isinstance(node, ir.Expr) or isinstance(node, ir.Op | ir.Constructor | ir.GlobalVar):
            continue
        if node.ty is None:
            yield Diagnostic(f"an expression {where} has no type yet", node.span)
        elif node.ty.occurs and node.ty not in seen:
            seen.add(node.ty)
            if node.ty.occurs & Occurs.HOLE:
                yield Diagnostic(f"{node.ty} {where} is not a whole type", node.span)
            for variable in _type_variables(node.ty):
                yield Diagnostic(f"type variable `{variable}` {where} could be any type", node.span)


def _type_variables(ty: Type) -> Iterator[TypeVar]:
    for part in tree.postorder(ty):
        if isinstance(part, TypeVar) and part.kind is not TypeKind.ShapeVar:
            yield part
