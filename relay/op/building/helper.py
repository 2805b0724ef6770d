"""Python functions that build calls of an operator with other defaults than its record has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, Signature, isfunction
from types import MappingProxyType
from typing import Any

from relay.ir.expr import Call, TupleWrapper
from relay.op.opdef import OpDef, change

REQUIRED = Parameter.empty  # instead of a default


def helper(
    op: OpDef,
    doc: str,
    *,
    renamed: Mapping[str, str] = MappingProxyType({}),
    first: Sequence[str] = (),
    without: Sequence[str] = (),
    convert: Mapping[str, Callable[[Any], Any]] = MappingProxyType({}),
    build: Callable[..., Any] | None = None,
    **defaults: Any,
) -> Callable[..., Call]:
    """The function that builds calls of `op`, which becomes the `helper` of its record.

    It takes the arguments, then the attributes in the order of the record, after those named in
    `first` and except those in `without`; some may be `renamed`. `defaults` replaces those of the
    record, `convert` converts given values; `build` builds the call instead of `op`.

    max_pool1d = helper(MAX_POOL1D, "The maximum of each window.", pool_size=(1,))
    """
    assert op.attrs is not None
    values = {**op.attrs.defaults(), **defaults}
    kind = Parameter.POSITIONAL_OR_KEYWORD
    keys = dict.fromkeys((*(name for name, _ in op.arguments), *first, *op.attrs.keys()))
    signature = Signature(
        [
            Parameter(renamed.get(key, key), kind, default=values.get(key, REQUIRED))
            for key in keys
            if key not in without
        ]
    )
    back = {new: name for name, new in renamed.items()}

    def function(*args: Any, **keywords: Any) -> Any:
        bound = signature.bind(*args, **keywords)
        bound.apply_defaults()
        given = {back.get(name, name): value for name, value in bound.arguments.items()}
        for key, converted in convert.items():
            given[key] = converted(given[key])
        operands = [given.pop(name) for name, _ in op.arguments]
        return (build or op)(*operands, **given)

    function.__doc__ = doc
    function.__name__ = function.__qualname__ = op.name.rpartition(".")[2]
    function.__module__ = op.attrs.__module__
    function.__signature__ = signature  # type: ignore[attr-defined]
    change(op, helper=function)
    return function


def unpacked(op: OpDef, doc: str, outputs: int) -> Callable[..., TupleWrapper]:
    """The `helper` of an operator of several outputs, which can be unpacked."""
    build = helper(op, doc)

    @wraps(build)
    def wrapped(*args: Any, **keywords: Any) -> TupleWrapper:
        return TupleWrapper(build(*args, **keywords), outputs)

    change(op, helper=wrapped)
    return wrapped


def exported(namespace: Mapping[str, Any]) -> list[str]:
    """The names of the operators and of the functions that build calls, of a package."""
    other = ("relay.op.building.helper", "relay.op.opdef", "relay.op.sample")
    return sorted(
        name
        for name, value in namespace.items()
        if isinstance(value, OpDef) or (isfunction(value) and value.__module__ not in other)
    )
