"""Models of one operator, and whether ours agree with what TensorFlow gives.

Case("Softplus", {"features": x})
Case("Conv2D", {"input": x, "filter": held(w)}, strides=[1, 2, 2, 1], padding="SAME")

What TensorFlow makes of cases is recorded in a file, which `tools/tensorflow_suite.py --record`
writes, so that tests run without it.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import relay
from relay.executors import create_executor
from relay.interpreter.values import TupleValue

RECORDED = Path(__file__).parent / "operators.zlib"
PROGRAMS = Path(__file__).parent / "programs.zlib"


@dataclass(frozen=True)
class Given:
    """An input: its elements, whether they are a constant, and which axes a model leaves open."""

    array: np.ndarray
    fixed: bool = False
    open: tuple[int, ...] = ()


@dataclass(frozen=True)
class Case:
    """An operator with inputs by their names in `tf.raw_ops`, and attributes."""

    operator: str
    inputs: Mapping[str, Any]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    rtol: float = 1e-5

    def __str__(self) -> str:
        given = []
        for name, value in self.inputs.items():
            parts = value if isinstance(value, list) else [value]
            shown = [f"{one.array.dtype}{list(one.array.shape)}" for one in map(as_given, parts)]
            given.append(f"{name}={', '.join(shown)}")
        more = [f"{name}={value}" for name, value in self.attributes.items()]
        return f"{self.operator}({'; '.join([*given, *more])})"

    @property
    def feeds(self) -> list[np.ndarray]:
        """The inputs that are not constants."""
        return [one.array for one in self.given if not one.fixed]

    @property
    def given(self) -> list[Given]:
        parts = [v if isinstance(v, list) else [v] for v in self.inputs.values()]
        return [as_given(one) for part in parts for one in part]


def case(operator: str, inputs: Mapping[str, Any], rtol: float = 1e-5, **attributes: Any) -> Case:
    return Case(operator, inputs, attributes, rtol)


def as_given(one: Any) -> Given:
    return one if isinstance(one, Given) else Given(np.asarray(one))


def held(array: Any, dtype: str | None = None) -> Given:
    """A constant."""
    kind = dtype or (None if isinstance(array, np.ndarray) else "int32")
    return Given(np.asarray(array, kind), fixed=True)


def opened(array: np.ndarray, *axes: int) -> Given:
    """An input with open axes."""
    return Given(array, open=axes)


@dataclass(frozen=True)
class Recording:
    """The graph of a case, its inputs, and what TensorFlow gives."""

    name: str
    graph: bytes
    outputs: Sequence[str]
    feeds: Sequence[np.ndarray]
    wanted: Sequence[np.ndarray]
    rtol: float = 1e-5


def save(recordings: Sequence[Recording], path: Path = RECORDED) -> None:
    arrays: dict[str, np.ndarray] = {}
    for place, one in enumerate(recordings):
        head = f"{one.name}\n{','.join(one.outputs)}\n{one.rtol}"
        arrays[f"{place} text"] = np.frombuffer(head.encode(), "uint8")
        arrays[f"{place} graph"] = np.frombuffer(one.graph, "uint8")
        for kind, found in (("feed", one.feeds), ("wanted", one.wanted)):
            for number, array in enumerate(found):
                arrays[f"{place} {kind} {number}"] = array
    whole = io.BytesIO()
    np.savez(whole, **arrays)
    path.write_bytes(zlib.compress(whole.getvalue(), 9))


def load(path: Path = RECORDED) -> list[Recording]:
    arrays = np.load(io.BytesIO(zlib.decompress(path.read_bytes())))
    names = set(arrays.files)
    found = []
    while f"{len(found)} text" in names:
        place = len(found)
        name, outputs, rtol = bytes(arrays[f"{place} text"]).decode().split("\n")
        both = []
        for kind in ("feed", "wanted"):
            row: list[np.ndarray] = []
            while f"{place} {kind} {len(row)}" in names:
                row.append(arrays[f"{place} {kind} {len(row)}"])
            both.append(row)
        graph = bytes(arrays[f"{place} graph"])
        found.append(Recording(name, graph, outputs.split(","), *both, float(rtol)))
    return found


def ours(one: Recording, *, compiled: bool = False) -> list[Any]:
    """What our interpreter gives, or compiled code."""
    mod, params = relay.frontend.from_tensorflow(one.graph, outputs=one.outputs)
    if compiled:
        found = relay.compile(mod, params)(*one.feeds)
        return list(found) if isinstance(found, tuple) else [found]
    result = create_executor("debug", mod, params=params).evaluate()(*one.feeds)
    values = result.fields if isinstance(result, TupleValue) else [result]
    return [value.numpy() for value in values]


def agree(one: Recording, *, compiled: bool = False) -> None:
    """A case gives what TensorFlow gives: integers exactly."""
    mine = ours(one, compiled=compiled)
    assert len(mine) == len(one.wanted)
    for left, right in zip(mine, one.wanted, strict=True):
        same(left, right, one.rtol)


def same(mine: Any, theirs: np.ndarray, rtol: float) -> None:
    left, right = np.asarray(mine), np.asarray(theirs)
    if right.dtype.kind == "c":
        right = np.stack([right.real, right.imag], axis=-1)
    assert left.shape == right.shape, (left.shape, right.shape)
    assert left.dtype == right.dtype, (left.dtype, right.dtype)
    if left.dtype.kind in "biu":
        np.testing.assert_array_equal(left, right)
        return
    wide, other = left.astype("float64"), right.astype("float64")
    most = float(np.abs(other[np.isfinite(other)]).max(initial=0))
    np.testing.assert_allclose(wide, other, rtol=rtol, atol=rtol * max(most, 1e-3))
