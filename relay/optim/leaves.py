"""Parameters of any type as named tensors.

    {"net": Net(w, [b, c])}     net.w, net.layers.0, net.layers.1

The structure of a parameter is that of its initial value: a list of layers stays as long as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from relay import nd, tree
from relay.errors import RelayError
from relay.frontend.python.declarations import declaration_of
from relay.frontend.python.definitions import constructor_of, definition_of
from relay.frontend.python.lifting import declared, is_instance
from relay.frontend.python.standard import Cons, List, Nil
from relay.immutable import frozen
from relay.interpreter.values import to_value
from relay.ir import expr as ir
from relay.ir.types import TensorType, TupleType, Type, TypeCall, substitute
from relay.tree import Steps


@frozen
class Leaves:
    """The tensors of a parameter, as variables and values, and the parameter made of them."""

    variables: list[ir.Var]
    values: dict[str, nd.NDArray]
    whole: ir.Expr


def leaves_of(param: ir.Var, data: Any) -> Leaves:
    """The tensors of a parameter with that initial value."""
    variables: list[ir.Var] = []
    values: dict[str, nd.NDArray] = {}

    def leaf(name: str, ty: Type, data: Any) -> ir.Var:
        value = to_value(data, ty)
        if not isinstance(value, nd.NDArray) or not isinstance(ty, TensorType):
            raise RelayError(
                f"the weight `{name}` is {ty}; weights are tensors, and tuples, lists and classes "
                f"of them, found a {type(data).__name__}"
            )
        values[name] = value
        known = name == param.name_hint
        variables.append(param if known else ir.Var(name, TensorType(value.shape, ty.dtype)))
        return variables[-1]

    def made(data: Any, ty: Type, name: str) -> Steps[ir.Expr]:
        if is_instance(data):
            names = [field.name for field in fields(data)]
            types = _field_types(data, ty)
            parts = []
            for field, inside in zip(names, types, strict=True):
                parts.append((yield made(getattr(data, field), inside, f"{name}.{field}")))
            return ir.Call(constructor_of(type(data)), tuple(parts))
        if isinstance(data, list | tuple) and isinstance(ty, TupleType):
            parts = []
            for number, (one, inside) in enumerate(zip(data, ty.fields, strict=True)):
                parts.append((yield made(one, inside, f"{name}.{number}")))
            return ir.Tuple(tuple(parts))
        if isinstance(data, list | tuple) and _is_list(ty):
            assert isinstance(ty, TypeCall)
            parts = []
            for number, one in enumerate(data):
                parts.append((yield made(one, ty.args[0], f"{name}.{number}")))
            whole: ir.Expr = ir.Call(constructor_of(Nil), ())
            for part in reversed(parts):
                whole = ir.Call(constructor_of(Cons), (part, whole))
            return whole
        return leaf(name, ty, data)

    whole = tree.run(made(data, param.checked_type, param.name_hint))
    return Leaves(variables, values, whole)


def _field_types(data: Any, ty: Type) -> list[Type]:
    """The types of the fields of an object of a type."""
    declaration = declaration_of(data)
    assert declaration is not None
    wanted: Mapping[Any, Any] = {}
    if isinstance(ty, TypeCall) and ty.func == declaration.header:
        wanted = dict(zip(definition_of(declaration).type_vars, ty.args, strict=True))
    return [substitute(one, wanted) for one in constructor_of(type(data)).inputs]


def _is_list(ty: Type) -> bool:
    return isinstance(ty, TypeCall) and bool(ty.func == declared(List).header)


def rebuilt(data: Any, name: str, tensors: Mapping[str, Any]) -> Any:
    """`data` with the tensors of these names in place of its own; others stay."""

    def made(data: Any, name: str) -> Steps[Any]:
        if is_instance(data):
            parts = []
            for field in fields(data):
                parts.append((yield made(getattr(data, field.name), f"{name}.{field.name}")))
            return type(data)(*parts)
        if isinstance(data, list | tuple):
            parts = []
            for number, one in enumerate(data):
                parts.append((yield made(one, f"{name}.{number}")))
            return type(data)(parts)
        return tensors.get(name, data)

    return tree.run(made(data, name))
