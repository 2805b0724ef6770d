"""Graphs of TensorFlow written for tests, without TensorFlow.

graph = Graph()
graph.node("x", "Placeholder", dtype=Type("float32"), shape=Shape(None, 3))
graph.node("y", "Softplus", ["x"])
graph.bytes()
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

CODES = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int64": 9, "bool": 10}
CODES |= {"string": 7, "resource": 20, "variant": 21}


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def field(number: int, value: int | bytes | str) -> bytes:
    """A field of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


@dataclass(frozen=True)
class Type:
    name: str


@dataclass(frozen=True)
class Function:
    name: str


class Shape(tuple):
    """Extents; None is an open one."""

    def __new__(cls, *extents: int | None) -> Shape:
        return super().__new__(cls, extents)


def shape(extents: Sequence[int | None]) -> bytes:
    return b"".join(field(2, field(1, -1 if one is None else one)) for one in extents)


def tensor(array: np.ndarray) -> bytes:
    start = field(1, CODES[array.dtype.name]) + field(2, shape(array.shape))
    return start + field(4, array.tobytes())


def attribute(value: Any) -> bytes:
    match value:
        case bool():
            return field(5, int(value))
        case int():
            return field(3, value)
        case float():
            return varint(4 << 3 | 5) + struct.pack("<f", value)
        case str():
            return field(2, value)
        case Type(name=name):
            return field(6, CODES[name])
        case Function(name=name):
            return field(10, field(1, name))
        case Shape():
            return field(7, shape(value))
        case np.ndarray():
            return field(8, tensor(value))
        case list():
            return field(1, b"".join(field(3, one) for one in value))
    raise TypeError(value)


def node(name: str, op: str, inputs: Sequence[str] = (), **attributes: Any) -> bytes:
    found = field(1, name) + field(2, op)
    for one in inputs:
        found += field(3, one)
    for key, value in attributes.items():
        found += field(5, field(1, key) + field(2, attribute(value)))
    return found


class Graph:
    """Collects nodes and functions."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []
        self.functions: list[bytes] = []

    def node(self, name: str, op: str, inputs: Sequence[str] = (), **attributes: Any) -> str:
        self.nodes.append(node(name, op, inputs, **attributes))
        return name

    def input(self, name: str, *extents: int | None, dtype: str = "float32") -> str:
        return self.node(name, "Placeholder", dtype=Type(dtype), shape=Shape(*extents))

    def constant(self, name: str, array: np.ndarray) -> str:
        return self.node(name, "Const", dtype=Type(array.dtype.name), value=array)

    def function(
        self,
        name: str,
        arguments: Mapping[str, str],
        nodes: Sequence[bytes],
        results: Mapping[str, tuple[str, str]],
        effects: Sequence[str] = (),
    ) -> str:
        """A function: types of arguments by name, nodes, types and origins of results."""
        signature = field(1, name)
        for argument, dtype in arguments.items():
            signature += field(2, field(1, argument) + field(3, CODES[dtype]))
        for result, (dtype, _) in results.items():
            signature += field(3, field(1, result) + field(3, CODES[dtype]))
        found = field(1, signature)
        found += b"".join(field(3, one) for one in nodes)
        for result, (_, origin) in results.items():
            found += field(4, field(1, result) + field(2, origin))
        for place, effect in enumerate(effects):
            found += field(6, field(1, str(place)) + field(2, effect))
        self.functions.append(found)
        return name

    def bytes(self) -> bytes:
        library = b"".join(field(1, one) for one in self.functions)
        return b"".join(field(1, one) for one in self.nodes) + field(2, library)
