"""What lowering gives, as bytes: for a cache, where work is kept that was done before."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, fields
from typing import Any, Final

from relay.lower.kernel import Kernel, Lowered, Param, Place, Result, Step, Temporary, TensorSpec

_PLACES: Final = {place.__name__: place for place in (Param, Temporary, Result)}


def to_bytes(lowered: Lowered) -> bytes:
    """The steps with the code of their kernels, compressed: text shrinks to a fifth in no time."""
    return packed(to_plain(lowered))


def from_bytes(data: bytes) -> Lowered:
    """What `to_bytes` wrote. The bytes are trusted, as the code is that they name."""
    return from_plain(unpacked(data))


def packed(plain: Any) -> bytes:
    """Plain data as bytes."""
    return zlib.compress(json.dumps(plain).encode(), 1)


def unpacked(data: bytes) -> Any:
    """What `packed` packed."""
    return json.loads(zlib.decompress(data))


# --- writing


def to_plain(lowered: Lowered) -> dict[str, Any]:
    """Steps as plain data."""
    kernels = {step.kernel.name: step.kernel for step in lowered.steps}
    return {
        "kernels": [asdict(kernel) for kernel in kernels.values()],
        "steps": [
            {
                "kernel": step.kernel.name,
                "inputs": [[type(place).__name__, place.index] for place in step.inputs],
                "outputs": [[type(place).__name__, place.index] for place in step.outputs],
                "constant": step.constant,
            }
            for step in lowered.steps
        ],
        "temporaries": [asdict(spec) for spec in lowered.temporaries],
    }


# --- reading


def from_plain(given: dict[str, Any]) -> Lowered:
    """What `to_plain` was given."""
    kernels = {kernel["name"]: _kernel(kernel) for kernel in given["kernels"]}
    steps = tuple(
        Step(
            kernels[step["kernel"]],
            tuple(map(_place, step["inputs"])),
            tuple(map(_place, step["outputs"])),
            step["constant"],
        )
        for step in given["steps"]
    )
    return Lowered(steps, tuple(map(_spec, given["temporaries"])))


def _kernel(given: dict[str, Any]) -> Kernel:
    values = {field.name: _frozen(given[field.name]) for field in fields(Kernel)}
    for name in ("inputs", "outputs"):
        values[name] = tuple(map(_spec, given[name]))
    return Kernel(**values)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _spec(given: dict[str, Any]) -> TensorSpec:
    return TensorSpec(tuple(given["shape"]), given["dtype"])


def _place(given: list[Any]) -> Place:
    kind, index = given
    return _PLACES[kind](index)
