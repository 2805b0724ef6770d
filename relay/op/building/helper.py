"""Python functions that build calls of an operator with other defaults than its record has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, Signature, isfunction
from types import MappingProxyType
from typing import Any

from relay.ir.attrs import Attrs
from relay.ir.expr import Call, TupleWrapper
from relay.op.opdef import OpDef, get

REQUIRED = Parameter.empty  # instead of a default


def helper(
    name: str,
    doc: str,
    arguments: Sequence[str],
    attrs: type[Attrs],
    *,
    first: Sequence[str] = (),
    without: Sequence[str] = (),
    convert: Mapping[str, Callable[[Any], Any]] = MappingProxyType({}),
    **defaults: Any,
) -> Callable[..., Call]:
    """The function `f(*arguments, *attributes)` that builds calls of operator `name`.

    Attributes come in the order of the record, after those named in `first` and except those in
    `without`; `defaults` replaces defaults of the record, `convert` converts given values.

    max_pool1d = helper("nn.max_pool1d", "…", ("data",), MaxPool1DAttrs, pool_size=(1,))
    """
    values = {**attrs.defaults(), **defaults}
    kind = Parameter.POSITIONAL_OR_KEYWORD
    parameters = [Parameter(argument, kind) for argument in arguments]
    for key in dict.fromkeys((*first, *attrs.keys())):
        if key not in without:
            parameters.append(Parameter(key, kind, default=values.get(key, Parameter.empty)))
    signature = Signature(parameters)

    def build(*args: Any, **keywords: Any) -> Call:
        bound = signature.bind(*args, **keywords)
        bound.apply_defaults()
        for key, function in convert.items():
            bound.arguments[key] = function(bound.arguments[key])
        operands = [bound.arguments.pop(argument) for argument in arguments]
        return get(name)(*operands, **bound.arguments)

    build.__doc__ = doc
    build.__name__ = build.__qualname__ = name.rpartition(".")[2]
    build.__module__ = attrs.__module__
    build.__signature__ = signature  # type: ignore[attr-defined]
    return build


def unpacked(build: Callable[..., Call], outputs: int) -> Callable[..., TupleWrapper]:
    """`build` for an operator of several outputs: the result can be unpacked."""

    @wraps(build)
    def wrapped(*args: Any, **keywords: Any) -> TupleWrapper:
        return TupleWrapper(build(*args, **keywords), outputs)

    return wrapped


def exported(namespace: Mapping[str, Any]) -> list[str]:
    """The names of the operators and of the functions that build calls, of a package."""
    other = ("relay.op.building.helper", "relay.op.opdef", "relay.op.sample")
    return sorted(
        name
        for name, value in namespace.items()
        if isinstance(value, OpDef) or (isfunction(value) and value.__module__ not in other)
    )
