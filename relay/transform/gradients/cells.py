"""Replaces the content of gradient cells in the types of a module:

type W_dual { W_dual((A, ref(A))) }    ->    type W_dual { W_dual((A, ref(Content[A]))) }
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relay import tree
from relay.ir import expr as ir
from relay.ir.adt import TypeData
from relay.ir.module import IRModule
from relay.ir.names import UniqueNames
from relay.ir.types import GlobalTypeVar, RefType, TensorType, Type, TypeVar
from relay.transform.gradients.accumulate import is_differentiable


def is_cell(ty: Type | None) -> bool:
    """Whether this is the type of a cell that holds the gradient of a tensor of known shape."""
    if not isinstance(ty, RefType) or not isinstance(ty.value, TensorType):
        return False
    return is_differentiable(ty.value) and is_static(ty.value)


def is_static(ty: TensorType) -> bool:
    """Whether all extents are known."""
    return all(isinstance(extent, int) for extent in ty.shape)


def has_hidden_cells(module: IRModule) -> bool:
    """Whether cells may be reached from where this module is not rewritten: by its callers, or as
    references to values of any type."""
    if any(map(_is_generic, _types(module))):
        return True
    main = module.functions.get(ir.GlobalVar("main")) if "main" in module else None
    entries = [main] if main is not None else module.functions.values()
    return any(is_cell(part) for one in entries for part in tree.postorder(one.checked_type))


def has_cells(module: IRModule) -> bool:
    """Whether there are cells of gradients in a typed module."""
    return any(map(is_cell, _types(module)))


def used(node: Any) -> list[Any]:
    """The parts of a node but for the variable that a `let` binds, which may be its body too."""
    parts = [*tree.children(node)]
    return parts[1:] if isinstance(node, ir.Let) else parts


def _types(module: IRModule) -> set[Type]:
    return {
        node.ty
        for function in module.functions.values()
        for node in tree.postorder(function)
        if isinstance(node, ir.Expr) and node.ty is not None
    }


def _is_generic(ty: Type) -> bool:
    """Whether this is the type of a cell whose content is known to callers only."""
    return isinstance(ty, RefType) and any(isinstance(p, TypeVar) for p in tree.postorder(ty))


class NewCells:
    """The types of a module with another content of cells.

    `content` gives that of the cells of a type of tensors, or None where they stay.
    """

    def __init__(self, module: IRModule, content: Callable[[TensorType], Type | None]) -> None:
        self._module = module
        self._content = content
        self._types = UniqueNames({header.name_hint for header in module.type_definitions})
        definitions = module.type_definitions.values()
        self._names = UniqueNames({c.name_hint for d in definitions for c in d.constructors})
        self._constructors: dict[ir.Constructor, ir.Constructor] = {}

    def header(self, name: str) -> GlobalTypeVar:
        """A new data type, called `name` or nearly so."""
        return GlobalTypeVar(self._types.fresh(name))

    def constructor(self, name: str, inputs: tuple[Type, ...], of: GlobalTypeVar) -> ir.Constructor:
        """A constructor of a new data type."""
        return ir.Constructor(self._names.fresh(name), inputs, of)

    def module(self, *added: TypeData) -> IRModule:
        """A copy of the module with its data types rewritten, and new ones."""
        made = self._module.copy()
        for header, definition in self._module.type_definitions.items():
            for before in definition.constructors:
                inputs = tuple(map(self.of, before.inputs))
                self._constructors[before] = tree.replace(before, inputs=inputs)
            constructors = tuple(self._constructors[c] for c in definition.constructors)
            made[header] = TypeData(header, definition.type_vars, constructors)
        for definition in added:
            made[definition.header] = definition
        return made

    def changes(self, ty: Type | None) -> bool:
        """Whether this is the type of a cell that gets another content."""
        return is_cell(ty) and self._content(ty.value) is not None  # type: ignore[union-attr]

    def of(self, ty: Type) -> Type:
        """A type with its cells rewritten."""

        def visit(before: Type, after: Type) -> Type:
            if not is_cell(before):
                return after
            content = self._content(before.value)  # type: ignore[attr-defined]
            return after if content is None else RefType(content)

        return tree.transform(ty, visit)

    def retyped(self, before: Any, after: Any) -> Any:
        """A node of a program with the types that are written in it rewritten."""
        match before:
            case ir.Var() if before.type_annotation is not None:
                return tree.replace(after, type_annotation=self.of(before.type_annotation))
            case ir.Constructor():
                return self._constructors[before]
            case ir.Function() if before.ret_type is not None:
                return tree.replace(after, ret_type=self.of(before.ret_type))
            case ir.Call() if before.type_args:
                types = tuple(
                    self.of(one) if isinstance(one, Type) else one for one in before.type_args
                )
                return tree.replace(after, type_args=types)
        return after
