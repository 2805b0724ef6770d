"""Serialization of lowered primitive functions, for the cache.

A record is `{"<class>": [its fields]}`, a dynamic dimension its operations. Kernels come first, and
steps refer to them by number.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from relay.ir.dims import Symbol
from relay.lower import kernel
from relay.lower.kernel import Kernel, Lowered

if TYPE_CHECKING:
    from relay.lower.dynamic import Dynamic

_STATIC: Final = ("Param", "Temporary", "Result", "TensorSpec", "Step", "Lowered")
_DIMENSION: Final = "dimension"
_KERNEL: Final = "kernel"


def to_bytes(lowered: Lowered | Dynamic) -> bytes:
    """A lowered function with the code of its kernels."""
    kernels: dict[str, Kernel] = {step.kernel.name: step.kernel for step in lowered.steps}
    numbers = {name: number for number, name in enumerate(kernels)}
    written = [_fields(one, {}) for one in kernels.values()]
    return packed([written, _plain(lowered, numbers)])


def from_bytes(data: bytes) -> Any:
    """The inverse of `to_bytes`; the bytes are trusted, as the code in them is."""
    written, lowered = unpacked(data)
    return _value(lowered, [Kernel(*_value(one, [])) for one in written])


def packed(plain: Any) -> bytes:
    """Plain data as compressed JSON."""
    return zlib.compress(json.dumps(plain).encode(), 1)


def unpacked(data: bytes) -> Any:
    """The inverse of `packed`."""
    return json.loads(zlib.decompress(data))


def _plain(value: Any, kernels: dict[str, int]) -> Any:
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, tuple):
        return [_plain(part, kernels) for part in value]
    if isinstance(value, Kernel):
        return {_KERNEL: kernels[value.name]}
    if isinstance(value, Symbol):
        from relay.lower.sizes import operations  # not loaded for static functions

        return {_DIMENSION: [[step.op, step.operands, step.value] for step in operations(value)[0]]}
    return {type(value).__name__: _fields(value, kernels)}


def _fields(value: Any, kernels: dict[str, int]) -> list[Any]:
    return [_plain(getattr(value, field.name), kernels) for field in fields(value)]


def _value(plain: Any, kernels: list[Kernel]) -> Any:
    if isinstance(plain, list):
        return tuple([_value(part, kernels) for part in plain])
    if not isinstance(plain, dict):
        return plain
    ((name, content),) = plain.items()
    if name == _KERNEL:
        return kernels[content]
    if name in _STATIC:
        return getattr(kernel, name)(*_value(content, kernels))
    from relay.lower import dynamic
    from relay.lower.sizes import Operation, from_operations

    if name == _DIMENSION:
        return from_operations([Operation(*_value(step, kernels)) for step in content])[-1]
    return getattr(dynamic, name)(*_value(content, kernels))
