"""Binding parameters of a function, such as the weights of a network, to constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay import dtypes, nd
from relay.errors import RelayError
from relay.ir.expr import Constant, Expr, Function, Var, as_expr, bind, const
from relay.ir.types import TensorType


def bind_params_by_name(func: Function, params: Mapping[str, Any]) -> Function:
    """`func` with constants in place of the parameters that `params` names.

    Unknown names are ignored, since weights often come for several functions. Arrays are copied,
    tensors of `relay.nd` are not.
    """
    if not isinstance(func, Function):
        raise RelayError(f"parameters are bound in a relay.Function, found {type(func).__name__}")
    bindings: dict[Var, Expr] = {}
    for param in func.params:
        if param.name_hint in params:
            if any(param.name_hint == other.name_hint for other in bindings):
                raise RelayError(
                    f"several parameters are called `{param.name_hint}`; "
                    "give them different names, or bind them with relay.bind"
                )
            bindings[param] = _constant(param, params[param.name_hint])
    result: Function = bind(func, bindings) if bindings else func
    return result


def _constant(param: Var, value: Any) -> Expr:
    """The constant for a parameter, of the type that it declares."""
    declared = param.type_annotation
    if isinstance(value, Expr):
        found = as_expr(value)
        if not isinstance(found, Constant):
            raise RelayError(
                f"`{param.name_hint}` is bound to a constant, found a {type(value).__name__}"
            )
    elif isinstance(value, bool | int | float) and isinstance(declared, TensorType):
        found = const(value, declared.dtype)
        if not dtypes.is_float(declared.dtype) and found.data.item() != value:
            raise RelayError(
                f"parameter `{param.name_hint}` is a {declared}, and was given {value!r}, which is "
                f"no {declared.dtype}; convert it first, or declare the parameter with another type"
            )
    else:
        try:
            if isinstance(value, nd.PYTHON) and isinstance(declared, TensorType):
                value = nd.as_tensor(value, dtypes.to_numpy(declared.dtype))
            found = Constant(value if isinstance(value, nd.NDArray) else nd.array(value))
        except RelayError as error:
            raise RelayError(f"parameter `{param.name_hint}`: {error}") from None
    if isinstance(declared, TensorType) and not _fits(found.tensor_type, declared):
        another = found.tensor_type.dtype != declared.dtype
        raise RelayError(
            f"parameter `{param.name_hint}` is a {declared}, and was given a {found.tensor_type}"
            + (f"; {nd.conversion(value, declared.dtype)}" if another else "")
        )
    return found


def _fits(found: TensorType, declared: TensorType) -> bool:
    if found.dtype != declared.dtype or found.ndim != declared.ndim:
        return False
    pairs = zip(found.shape, declared.shape, strict=True)
    return all(a == b or not isinstance(b, int) for a, b in pairs)
