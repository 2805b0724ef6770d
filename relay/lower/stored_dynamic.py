"""Functions over sizes of a run, as bytes, for a cache (`relay.lower.stored`)."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any, Final

from relay.ir.dims import Dim
from relay.lower.dynamic import Dynamic, ElementOf, Requirement, Search, SizeOf, Variable, Variant
from relay.lower.sizes import Operation, from_operations, operations
from relay.lower.stored import from_plain, packed, to_plain, unpacked

_SOURCES: Final = {source.__name__: source for source in (SizeOf, ElementOf)}


def to_bytes(made: Dynamic) -> bytes:
    """The function with the code of its kernels."""
    return packed(_dynamic(made))


def from_bytes(data: bytes) -> Dynamic:
    """What `to_bytes` wrote. The bytes are trusted, as the code is that they name."""
    given = unpacked(data)
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
                from_plain(one["lowered"]),
                _shapes(one["results"]),
                _shapes(one["rooms"]),
            )
            for one in given["variants"]
        ),
        tuple(
            Search(from_plain(one["lowered"]), tuple(one["names"]), _requirements(one["required"]))
            for one in given["searches"]
        ),
        given["counted"],
    )


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
                "lowered": to_plain(one.lowered),
                "results": [list(map(_plain, shape)) for shape in one.results],
                "rooms": [list(map(_plain, shape)) for shape in one.rooms],
            }
            for one in made.variants
        ],
        "searches": [
            {
                "lowered": to_plain(one.lowered),
                "names": one.names,
                "required": _required(one.required),
            }
            for one in made.searches
        ],
        "counted": made.counted,
    }


def _required(required: tuple[Requirement, ...]) -> list[Any]:
    return [
        [
            *map(_plain, (one.left, one.right)),
            one.message,
            one.expected,
            one.found,
            list(map(_plain, one.shown)),
            one.operator,
        ]
        for one in required
    ]


def _plain(dim: Dim) -> Any:
    """A dimension as the steps that compute it; the last one does."""
    if isinstance(dim, int):
        return dim
    steps, _ = operations(dim)
    return [[step.op, step.operands, step.value] for step in steps]


def _dim(given: Any) -> Dim:
    if isinstance(given, int):
        return given
    steps = [Operation(op, tuple(operands), value) for op, operands, value in given]
    return from_operations(steps)[-1]


def _shapes(given: list[Any]) -> tuple[tuple[Dim, ...], ...]:
    return tuple(tuple(map(_dim, shape)) for shape in given)


def _requirements(given: list[Any]) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(
            _dim(left), _dim(right), message, expected, found, tuple(map(_dim, shown)), operator
        )
        for left, right, message, expected, found, shown, operator in given
    )
