"""Move constants into the functions that are always called with them:

def @loop(%n: int32, %w: float32) -> float32 {
  if (equal(%n, 0)) { %w } else { @loop(subtract(%n, 1), %w) }
}
def @main(%n: int32) { @loop(%n, 2f) }
->
def @loop(%n: int32) -> float32 { if (equal(%n, 0)) { 2f } else { @loop(subtract(%n, 1)) } }
def @main(%n: int32) { @loop(%n) }

A parameter is removed when all calls of its function pass the same constant, or the parameter of
another function that is always that constant; so a recursive function may pass it on. Two constants
are the same when their tensor is, and two weights when their name is. Functions that make closures
are treated like others; one that captures nothing else becomes the function it would make.

All calls of a function must be known, so a function that is used as a value keeps its parameters,
and so do the entry and functions of other compilers.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from relay import tree
from relay.analysis.normal_forms import makes_closure
from relay.check.infer import infer_module
from relay.immutable import frozen
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Let, Var
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.nd import Weight
from relay.transform.base import ModulePass
from relay.transform.context import PassContext

# A parameter: the function, and the position.
Parameter = tuple[str, int]


@frozen
class BindConstantArguments(ModulePass):
    """Drops parameters that are always the same constant."""

    opt_level = 1
    required = ("InferType",)

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        flows = _Flows(module)
        bound = {param: c for param, c in flows.constants().items() if c is not None}
        if not bound:
            return module
        emptied = {
            name.name_hint
            for name, function in module.functions.items()
            if makes_closure(function)
            and not function.type_params
            and all((name.name_hint, i) in bound for i in range(len(function.params)))
        }
        for name, function in module.functions.items():
            if not is_foreign(function):
                module[name] = _rewritten(name.name_hint, function, bound, emptied)
        return infer_module(module)


@dataclass
class _Flows:
    """The data flow into the parameters of the functions of a module."""

    module: IRModule
    given: dict[Parameter, list[Constant]] = field(default_factory=dict)
    leads_to: dict[Parameter, list[Parameter]] = field(default_factory=dict)
    unknown: list[Parameter] = field(default_factory=list)  # given something else

    def __post_init__(self) -> None:
        for name, function in self.module.functions.items():
            self._read(name.name_hint, function)

    def _read(self, name: str, function: Function) -> None:
        own = {param: (name, i) for i, param in enumerate(function.params)}
        foreign = is_foreign(function)
        if name == "main" or foreign:
            self.unknown.extend(own.values())
        named: dict[Expr, Expr] = {}
        for node in tree.postorder(function):
            if isinstance(node, Let) and isinstance(node.value, Constant | Var):
                named[node.variable] = node.value
        for node in tree.postorder(function):
            for i, part in enumerate(tree.children(node)):
                if isinstance(part, GlobalVar) and part in self.module:
                    if isinstance(node, Call) and i == 0 and not foreign:
                        self._read_call(node, part.name_hint, own, named)
                    else:
                        count = len(self.module[part].params)
                        self.unknown.extend((part.name_hint, k) for k in range(count))

    def _read_call(
        self, call: Call, callee: str, own: dict[Var, Parameter], named: dict[Expr, Expr]
    ) -> None:
        for i, (param, arg) in enumerate(zip(self.module[callee].params, call.args, strict=True)):
            to = (callee, i)
            while arg in named:
                arg = named[arg]
            if isinstance(arg, Constant) and arg.ty == param.ty:
                self.given.setdefault(to, []).append(arg)
            elif isinstance(arg, Var) and arg in own and arg.ty == param.ty:
                self.leads_to.setdefault(own[arg], []).append(to)
            else:
                self.unknown.append(to)

    def constants(self) -> dict[Parameter, Constant | None]:
        """The constants of parameters; None where they are not always the same constant.

        A parameter that is only passed itself is not included: the function is never called.
        """
        found: dict[Parameter, Constant | None] = {}
        pending: list[tuple[Parameter, Constant | None]] = [(p, None) for p in self.unknown]
        for param, constants in self.given.items():
            pending.extend((param, constant) for constant in constants)
        while pending:
            param, constant = pending.pop()
            if param in found:
                known = found[param]
                if known is None or (constant is not None and _key(known) == _key(constant)):
                    continue
                constant = None
            found[param] = constant
            pending.extend((onward, constant) for onward in self.leads_to.get(param, ()))
        return found


def _key(constant: Constant) -> Hashable:
    data = constant.data
    return data.name if isinstance(data, Weight) else id(data)


def _rewritten(
    name: str, function: Function, bound: dict[Parameter, Constant], emptied: set[str]
) -> Function:
    """The function without its bound parameters, calling others without theirs."""
    own = {param: bound[name, i] for i, param in enumerate(function.params) if (name, i) in bound}

    def visit(before: Any, after: Any) -> Any:
        if isinstance(before, Call) and isinstance(before.op, GlobalVar):
            callee = before.op.name_hint
            if callee in emptied:
                return before.op
            kept = tuple(a for i, a in enumerate(after.args) if (callee, i) not in bound)
            return after if len(kept) == len(after.args) else tree.replace(after, args=kept)
        return after

    body = tree.transform(function.body, visit, own)
    if name in emptied:
        assert isinstance(body, Function)
        return tree.replace(body)
    if body is function.body and not own:
        return function
    params = tuple(param for param in function.params if param not in own)
    return tree.replace(function, params=params, body=body)
