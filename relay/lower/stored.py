"""What lowering gives, as bytes: for a cache, where work is kept that was done before."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, astuple, fields
from typing import Any, Final

from relay.ir.dims import Dim
from relay.lower.dynamic import Dynamic, ElementOf, Requirement, Search, SizeOf, Variable, Variant
from relay.lower.kernel import Kernel, Lowered, Param, Place, Result, Step, Temporary, TensorSpec
from relay.lower.sizes import Operation, from_operations, operations

_PLACES: Final = {place.__name__: place for place in (Param, Temporary, Result)}
_SOURCES: Final = {source.__name__: source for source in (SizeOf, ElementOf)}


def to_bytes(lowered: Lowered | Dynamic) -> bytes:
    """What lowering gives with the code of its kernels, compressed: text shrinks to a fifth in no
    time."""
    data = _steps(lowered) if isinstance(lowered, Lowered) else _dynamic(lowered)
    return zlib.compress(json.dumps(data).encode(), 1)


def from_bytes(data: bytes) -> Lowered:
    """The steps `to_bytes` wrote. The bytes are trusted, as the code is that they name."""
    return _lowered(json.loads(zlib.decompress(data)))


def dynamic_from_bytes(data: bytes) -> Dynamic:
    """The same for a function over sizes that a run finds."""
    given = json.loads(zlib.decompress(data))
    return Dynamic(
        tuple(
            Variable(name, _SOURCES[kind](*place), message)
            for name, kind, place, message in given["variables"]
        ),
        _requirements(given["required"]),
        tuple(
            Variant(
                tuple((_dim(left), _dim(right)) for left, right in one["conditions"]),
                _requirements(one["required"]),
                _lowered(one["lowered"]),
                tuple(tuple(map(_dim, shape)) for shape in one["results"]),
            )
            for one in given["variants"]
        ),
        tuple(
            Search(_lowered(one["lowered"]), tuple(one["names"]), _requirements(one["required"]))
            for one in given["searches"]
        ),
        given["counted"],
    )


# --- writing


def _steps(lowered: Lowered) -> dict[str, Any]:
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


def _dynamic(made: Dynamic) -> dict[str, Any]:
    return {
        "variables": [
            [one.name, type(one.source).__name__, list(astuple(one.source)), one.message]
            for one in made.variables
        ],
        "required": _required(made.required),
        "variants": [
            {
                "conditions": [[_plain(left), _plain(right)] for left, right in one.conditions],
                "required": _required(one.required),
                "lowered": _steps(one.lowered),
                "results": [list(map(_plain, shape)) for shape in one.results],
            }
            for one in made.variants
        ],
        "searches": [
            {
                "lowered": _steps(one.lowered),
                "names": one.names,
                "required": _required(one.required),
            }
            for one in made.searches
        ],
        "counted": made.counted,
    }


def _required(required: tuple[Requirement, ...]) -> list[Any]:
    return [[_plain(one.left), _plain(one.right), one.message] for one in required]


def _plain(dim: Dim) -> Any:
    """A dimension as the steps that compute it; the last one does."""
    if isinstance(dim, int):
        return dim
    steps, _ = operations(dim)
    return [[step.op, step.operands, step.value] for step in steps]


# --- reading


def _dim(given: Any) -> Dim:
    if isinstance(given, int):
        return given
    steps = [Operation(op, tuple(operands), value) for op, operands, value in given]
    return from_operations(steps)[-1]


def _requirements(given: list[Any]) -> tuple[Requirement, ...]:
    return tuple(Requirement(_dim(left), _dim(right), message) for left, right, message in given)


def _lowered(given: dict[str, Any]) -> Lowered:
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
