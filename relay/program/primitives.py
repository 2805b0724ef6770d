"""The primitive functions of a fused module, which become kernels.

`primitives` predicts those that lowering will request, so that their kernels are compiled in
parallel before. Which arguments are constant follows from constants, weights and the sizes of what
is computed from them (`relay.analysis.precompute`); a kernel that it misses is compiled on request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import tree
from relay.analysis import precompute
from relay.analysis.reshapes import only_reshapes
from relay.check.infer import infer_module
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.ir.types import Type
from relay.op.opdef import OpDef
from relay.program.program import MAIN, flatten
from relay.program.specs import structure
from relay.program.straight import is_tensors, looks_at_values
from relay.transform.memory import lift_weights


@frozen
class Primitive:
    """A primitive function, and which of its flattened parameters are constant."""

    function: ir.Function
    constant: tuple[bool, ...]
    dynamic: bool = False  # has dynamic dimensions (`relay.lower.lower_dynamic`)


def primitives(module: IRModule, *, whole: bool = False) -> list[Primitive]:
    """The primitive functions that `main` of a typed, fused module reaches; in a `whole` program
    calls are not inlined."""
    search = _Search(module, whole)
    main = module[MAIN]
    prepared: Any = ()
    if lift_weights.PREPARE in main.attrs:
        lifted = module[main.attrs[lift_weights.PREPARE]]
        prepared = search.visit(lifted, [True] * len(lifted.params))
    inputs = len(main.params) - len(prepared)
    search.visit(main, [False] * inputs + list(prepared))
    while search.pending:
        search.visit(*search.pending.pop())
    return search.found


def primitive_of(op: ir.Op, args: Sequence[Type], attrs: Any) -> ir.Function:
    """The typed primitive function of a single operator."""
    params = tuple(ir.Var("p", arg) for arg in args)
    function = ir.Function(params, ir.Call(op, params, attrs)).with_attr("Primitive", 1)
    typed: ir.Function = infer_module(IRModule({"kernel": function}))["kernel"]
    return typed


def is_dynamic(function: ir.Function) -> bool:
    """Whether it has dynamic dimensions, or an operator that checks values at run time."""
    return not all(map(is_tensors, types_of(function))) or any(
        map(looks_at_values, tree.postorder(function.body))
    )


def types_of(function: ir.Function) -> list[Type]:
    """The types of the result and of the parameters."""
    return [function.body.checked_type, *(param.checked_type for param in function.params)]


def is_annotation(op: OpDef) -> bool:
    """Whether an operator only annotates its first argument."""
    return op.on_values and op.compute is not None


class _Search:
    """Constant propagation: a value is True if it is constant, or a tuple of values."""

    def __init__(self, module: IRModule, whole: bool) -> None:
        self.module = module
        self.whole = whole
        self.found: list[Primitive] = []
        self.pending: list[tuple[ir.Function, Sequence[Any]]] = []
        self._called: set[tuple[str, tuple[Any, ...]]] = set()

    def visit(self, function: ir.Function, given: Sequence[Any]) -> Any:
        """The value of a body, for values of the parameters."""
        known: dict[ir.Expr, Any] = dict(zip(function.params, given, strict=True))
        nodes = list(tree.postorder(function.body, enter=lambda node: not _is_primitive(node)))
        bound = {node.variable: node.value for node in nodes if isinstance(node, ir.Let)}

        def unbound(e: ir.Expr) -> ir.Expr:
            while e in bound:
                e = bound[e]
            return e

        def value(e: ir.Expr) -> Any:
            return known.get(unbound(e), False)

        for node in nodes:
            match node:
                case ir.Constant():
                    known[node] = True
                case ir.Tuple():
                    known[node] = tuple(map(value, node.fields))
                case ir.TupleGetItem():
                    whole = value(node.tuple_value)
                    known[node] = whole[node.index] if isinstance(whole, tuple) else whole
                case ir.Let():
                    known[node] = value(node.body)
                case ir.Call(op=OpDef() as op) if is_annotation(op):
                    known[node] = value(node.args[0])
                case ir.Call():
                    known[node] = self._call(unbound(node.op), node, list(map(value, node.args)))
                case ir.GlobalVar() if self.whole:
                    self._want(node, ())
        return value(function.body)

    def _call(self, callee: ir.Expr, call: ir.Call, args: Sequence[Any]) -> Any:
        if isinstance(callee, ir.GlobalVar):
            function = self.module[callee.name_hint]
            if not _is_primitive(function):
                self._want(callee, () if self.whole else tuple(args))
                return False
            callee = function
        return self._primitive(callee, call, args) if _is_primitive(callee) else False

    def _want(self, name: ir.GlobalVar, args: tuple[Any, ...]) -> None:
        """Visit a function later, with the arguments of an inlined call or with no constants."""
        function: ir.Function = self.module[name.name_hint]
        if (name.name_hint, args) not in self._called and not _is_primitive(function):
            self._called.add((name.name_hint, args))
            self.pending.append((function, args or [False] * len(function.params)))

    def _primitive(self, function: Any, call: ir.Call, args: Sequence[Any]) -> Any:
        flags: list[bool] = []
        for arg, value in zip(call.args, args, strict=True):
            leaves = len(flatten(structure(arg.checked_type)))
            flags += flatten(value) if isinstance(value, tuple) else [value] * leaves
        if is_dynamic(function):
            if self.whole:
                self.found.append(Primitive(function, tuple(flags), dynamic=True))
            return False
        if is_foreign(function):  # made on request, by the process that knows its compiler
            return False
        tensors = [flatten(structure(ty)) for ty in types_of(function)]
        scalars = [self.whole and not tensor.shape for each in tensors for tensor in each]
        if only_reshapes(function) and not any(scalars):
            return flags[0]
        if all(scalars):  # scalar instructions
            return False
        self.found.append(Primitive(function, tuple(flags)))
        made, *read = (sum(precompute.size_of(tensor) or 0 for tensor in each) for each in tensors)
        return bool(flags) and all(flags) and precompute.is_worth_storing(made, sum(read))


def _is_primitive(node: object) -> bool:
    return isinstance(node, ir.Function) and bool(node.attrs.get("Primitive"))
