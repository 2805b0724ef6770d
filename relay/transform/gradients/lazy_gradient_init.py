"""Create the initial zeros of gradients only where something reads them:

let %c = ref(zeros_like(%x));
let %k = ref_read(%c);
let %t = add(%k, %y);
ref_write(%c, %t)
->
let %c = ref(Zero[…]);
let %k = ref_read(%c);
let %t = match (%k) { Zero => %y, Raw(%v) => add(%v, %y), };
ref_write(%c, Raw(%t))

Every cell of a tensor holds a `GradCell` afterwards: nothing yet, or the tensor. The first gradient
is written as it is, and a cell that no gradient arrives at, as in a branch that is not taken, takes
no memory. Cells of tensors with dynamic extents stay as they are, and so do
programs that take or give cells, or have cells of any type in generic functions.
"""

from __future__ import annotations

from typing import Any

from relay import tree
from relay.check.infer import infer_module
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.adt import TypeData
from relay.ir.module import IRModule
from relay.ir.types import TensorType, Type, TypeCall, TypeVar
from relay.op.gradient_rules import build
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.gradients.cells import NewCells, has_cells, has_hidden_cells, is_cell, used

__all__ = ["LazyGradientInit"]

_ZEROS = ("zeros", "zeros_like")


@frozen
class LazyGradientInit(ModulePass):
    """Fills the cells of gradients when they are read, instead of when they are made."""

    opt_level = 0
    required = ("InferType",)

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        if not has_cells(module) or has_hidden_cells(module):
            return module
        return infer_module(_Cells(module).module())


class _Cells:
    """Rewrites a module."""

    def __init__(self, module: IRModule) -> None:
        self._before = module
        self._types = NewCells(module, self._cell)
        self._header = self._types.header("GradCell")
        content = TypeVar("A")
        self._zero = self._types.constructor("Zero", (), self._header)
        self._raw = self._types.constructor("Raw", (content,), self._header)
        self._definition = TypeData(self._header, (content,), (self._zero, self._raw))
        # what is in a cell, by the read of it or the variable that is bound to it
        self._contents: dict[ir.Expr, ir.Expr] = {}
        self._forced: set[ir.Var] = set()  # those of the variables that are used as tensors

    def module(self) -> IRModule:
        made = self._types.module(self._definition)
        for name, function in self._before.functions.items():
            nodes: list[Any] = list(tree.postorder(function))
            for node in nodes:
                if isinstance(node, ir.Let) and self._is_read(node.value):
                    ty = self._cell(node.value.checked_type)
                    self._contents[node.variable] = ir.Var("cell", ty)
            for node in nodes:
                place = self._place_of_sum(node)
                for part in used(node):
                    summed = place is not None and part is node.args[place]
                    if isinstance(part, ir.Var) and not summed:
                        self._forced.add(part)
            made[name] = tree.transform(function, self._visit)
        return made

    def _cell(self, content: Type) -> TypeCall:
        return TypeCall(self._header, (content,))

    def _is_read(self, e: ir.Expr) -> bool:
        return isinstance(e, ir.RefRead) and is_cell(e.ref.checked_type)

    def _visit(self, before: Any, after: Any) -> Any:
        match before:
            case ir.Let() if before.variable in self._contents:
                content, read = self._contents[before.variable], self._contents[before.value]
                inside = after if before.variable in self._forced else after.body
                if inside is after:
                    forced = self._tensor(before.value, content)
                    inside = tree.replace(after, value=forced)
                return tree.replace(after, variable=content, value=read, body=inside)
            case ir.RefCreate() if is_cell(before.checked_type):
                return tree.replace(after, value=self._first(before.value, after.value))
            case ir.RefRead() if self._is_read(before):
                self._contents[before] = after
                return self._tensor(before, after)
            case ir.RefWrite() if is_cell(before.ref.checked_type):
                return tree.replace(after, value=ir.Call(self._raw, (after.value,)))
            case ir.Call(op=ir.Op(name="add"), args=args):
                if (place := self._place_of_sum(before)) is not None:
                    return self._sum(self._contents[args[place]], after, place)
        return self._types.retyped(before, after)

    def _first(self, before: ir.Expr, after: ir.Expr) -> ir.Expr:
        """What a cell begins with."""
        match before:
            case ir.Call(op=ir.Op(name=name)) if name in _ZEROS:
                return ir.Call(self._zero, (), type_args=(before.checked_type,))
        return ir.Call(self._raw, (after,))

    def _tensor(self, read: ir.Expr, content: ir.Expr) -> ir.Expr:
        """The tensor in a cell."""
        ty = read.checked_type
        assert isinstance(ty, TensorType)
        zeros = build("zeros", shape=ty.concrete_shape, dtype=ty.dtype)
        return self._match(read, content, zeros, lambda tensor: tensor)

    def _place_of_sum(self, e: Any) -> int | None:
        """Which operand of a sum is what is in a cell, if one is."""
        match e:
            case ir.Call(op=ir.Op(name="add"), args=args):
                alike = len({arg.checked_type for arg in (*args, e)}) == 1
                for place in (0, 1) if alike and args[0] is not args[1] else ():
                    if args[place] in self._contents or self._is_read(args[place]):
                        return place
        return None

    def _sum(self, content: ir.Expr, after: ir.Call, place: int) -> ir.Expr:
        """A sum with what is in a cell, which is the other operand while that is nothing."""

        def added(tensor: ir.Var) -> ir.Expr:
            args = list(after.args)
            args[place] = tensor
            return tree.replace(after, args=tuple(args))

        return self._match(after, content, after.args[1 - place], added)

    def _match(self, at: ir.Expr, content: ir.Expr, nothing: ir.Expr, some: Any) -> ir.Match:
        tensor = ir.Var("v")
        first = ir.PatternConstructor(self._zero, ())
        second = ir.PatternConstructor(self._raw, (ir.PatternVar(tensor),))
        clauses = (ir.Clause(first, nothing), ir.Clause(second, some(tensor)))
        return ir.Match(content, clauses, True, span=at.span)
