"""Change the batch size of some parameters:

ChangeBatch({"x": 0}, 16):
fn (%x: Tensor[(1, 3), float32]) { nn.relu(%x) }
->
fn (%x: Tensor[(16, 3), float32]) { nn.relu(%x) }

Declared types of inner variables and results hold for the previous batch size, so they are dropped
and inferred again. A program that contains the size elsewhere, as in
`reshape(%x, newshape=[1, -1])`, may become ill-typed, and the error says where.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from relay import tree
from relay.check.infer import infer_module
from relay.errors import PassError, did_you_mean
from relay.ir.dims import Dim
from relay.ir.expr import Call, Function, Let, PatternVar, Syntax, Var
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.ir.types import TensorType, as_dim
from relay.transform.base import ModulePass
from relay.transform.context import PassContext


@dataclass(frozen=True, eq=False)
class ChangeBatch(ModulePass):
    """Sets the dimension `data[%x]` of each parameter %x to `batch_size`.

    The keys of `data` are parameters of functions of the module, or their names.
    """

    data: Mapping[Var | str, int]
    batch_size: Any = 16

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        size = as_dim(self.batch_size)
        found: set[Var | str] = set()
        changed: dict[str, Function] = {}
        for name, function in module.functions.items():
            if is_foreign(function):
                continue
            types: dict[Var, TensorType] = {}
            for param in function.params:
                for key in (param, param.name_hint):
                    if key in self.data:
                        found.add(key)
                        types[param] = resized(param, self.data[key], size)
            if any(ty != param.type_annotation for param, ty in types.items()):
                changed[name.name_hint] = with_types(function, types)
        if missing := [key for key in self.data if key not in found]:
            self._refuse(missing[0], module)
        for name_hint, function in changed.items():
            module[name_hint] = function
        return infer_module(module) if changed else module

    def _refuse(self, key: Var | str, module: IRModule) -> None:
        wanted = key.name_hint if isinstance(key, Var) else key
        known = [p.name_hint for f in module.functions.values() for p in f.params]
        hint = "give its name" if wanted in known else did_you_mean(wanted, known)
        raise PassError(
            f"no function of the module has the parameter `%{wanted}`"
            + (f"; {hint}" if hint else "")
        )


def resized(param: Var, axis: int, size: Dim) -> TensorType:
    """The type of a parameter with another extent along one axis."""
    ty = param.type_annotation or param.ty
    if not isinstance(ty, TensorType):
        raise PassError(f"parameter `%{param.name_hint}` is no tensor: it is of type {ty}")
    if not -len(ty.shape) <= axis < len(ty.shape):
        raise PassError(f"parameter `%{param.name_hint}` of type {ty} has no axis {axis}")
    shape = list(ty.shape)
    shape[axis] = size
    return TensorType(tuple(shape), ty.dtype)


def with_types(function: Function, types: Mapping[Var, TensorType]) -> Function:
    """A copy with other types for parameters, in which those that follow are yet to be found."""
    seeds: dict[Syntax, Syntax] = {}
    for node in tree.postorder(function):
        match node:
            case Let(variable=variable) | PatternVar(var=variable):
                seeds[variable] = tree.replace(variable, type_annotation=None)
            case Function(type_params=()) if node is not function:
                seeds.update((p, tree.replace(p, type_annotation=None)) for p in node.params)
    for param in function.params:
        seeds[param] = tree.replace(param, type_annotation=types.get(param, param.type_annotation))

    def visit(_: Syntax, after: Syntax) -> Syntax:
        match after:
            case Function(type_params=()):
                return tree.replace(after, ret_type=None)
            case Call(type_args=given) if given:
                return tree.replace(after, type_args=())
        return after

    result = visit(function, tree.transform(function, visit, seeds))
    assert isinstance(result, Function)
    return tree.replace(result, ret_type=None)
