"""Models of MXNet 1.9.1 and what it made of them, recorded by `record.py`."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import relay
from relay.executors import create_executor
from relay.interpreter.values import TupleValue

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Recorded:
    """A symbol in JSON, its inputs by name, and its outputs."""

    name: str
    symbol: str
    inputs: Mapping[str, np.ndarray]
    outputs: Sequence[np.ndarray]

    def __str__(self) -> str:
        return self.name


def unpacked(path: Path) -> tuple[Any, dict[str, np.ndarray]]:
    """A header, and arrays by name."""
    data = zlib.decompress(path.read_bytes())
    size = int.from_bytes(data[:8], "little")
    whole = json.loads(data[8 : 8 + size])
    found = {}
    for name, (dtype, shape, place) in whole["arrays"].items():
        found[name] = np.frombuffer(data, dtype, prod(shape), 8 + size + place).reshape(shape)
    return whole["header"], found


@cache
def cases() -> tuple[Recorded, ...]:
    symbols, arrays = unpacked(HERE / "recorded.zlib")
    inputs: dict[str, dict[str, np.ndarray]] = {name: {} for name in symbols}
    outputs: dict[str, list[np.ndarray]] = {name: [] for name in symbols}
    for key, value in arrays.items():
        name, kind, last = key.rsplit("/", 2)
        if kind == "in":
            inputs[name][last] = value
        else:
            outputs[name].append(value)
    return tuple(
        Recorded(name, text, inputs[name], outputs[name]) for name, text in symbols.items()
    )


def ours(case: Recorded, *, compiled: bool = False) -> list[np.ndarray]:
    """What our interpreter gives, or compiled code."""
    shapes = {name: one.shape for name, one in case.inputs.items()}
    types = {name: str(one.dtype) for name, one in case.inputs.items()}
    names = {one["name"] for one in json.loads(case.symbol)["nodes"] if one["op"] == "null"}
    shapes = {name: shape for name, shape in shapes.items() if name in names}
    mod, params = relay.frontend.from_mxnet(case.symbol, shapes, types)
    feeds = [case.inputs[one.name_hint] for one in mod["main"].params]
    if compiled:
        found = relay.compile(mod, params)(*feeds)
        return list(found) if isinstance(found, tuple) else [found]
    made = create_executor("debug", mod, params=params).evaluate()(*feeds)
    return [one.numpy() for one in (made.fields if isinstance(made, TupleValue) else [made])]


def agree(case: Recorded, *, compiled: bool = False) -> None:
    """A case gives what MXNet gave; halves of floats and sums of products nearly."""
    mine = ours(case, compiled=compiled)
    assert len(mine) == len(case.outputs), (len(mine), len(case.outputs))
    for left, right in zip(mine, case.outputs, strict=True):
        same(left, right)


def same(left: np.ndarray, right: np.ndarray, tolerance: float = 2e-5) -> None:
    assert left.shape == right.shape, (left.shape, right.shape)
    wide, other = left.astype("float64"), right.astype("float64")
    most = float(np.abs(other[np.isfinite(other)]).max(initial=0))
    np.testing.assert_allclose(wide, other, rtol=tolerance, atol=tolerance * max(most, 1e-3))
