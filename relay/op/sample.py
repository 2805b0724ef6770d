"""Samples: legal uses of an operator, which the tests check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import numpy as np

from relay import dtypes
from relay.immutable import frozen
from relay.ir.types import TensorType, TupleType, Type


@frozen
class Tensor:
    """An argument of a sample: random values of that shape and type from [low, high)."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    low: float = -2.0
    high: float = 2.0

    def draw(self, generator: np.random.Generator) -> np.ndarray:
        """Random values of this tensor."""
        stored = dtypes.to_numpy(self.dtype)
        if self.dtype == "bool":
            return generator.integers(0, 2, self.shape).astype(stored)
        if dtypes.is_integer(self.dtype):
            low = max(int(self.low), 0) if self.dtype in dtypes.UNSIGNED else int(self.low)
            return generator.integers(low, int(self.high), self.shape).astype(stored)
        return generator.uniform(self.low, self.high, self.shape).astype(stored)


@frozen
class Sample:
    """A legal use of an operator: arguments (tensors, arrays, or tuples of them) and attributes."""

    args: tuple[Any, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def values(self, seed: int = 0) -> tuple[Any, ...]:
        """Arrays for the arguments; a tuple argument is a tuple of arrays."""
        generator = np.random.default_rng(seed)
        return _map(
            self.args,
            lambda leaf: leaf.draw(generator) if isinstance(leaf, Tensor) else np.asarray(leaf),
        )

    def types(self) -> tuple[Type, ...]:
        """The types of the arguments."""

        def leaf_type(leaf: Any) -> Type:
            shape = leaf.shape if isinstance(leaf, Tensor) else np.shape(leaf)
            return TensorType(shape, dtypes.canonical(leaf.dtype))

        found = _map(self.args, leaf_type)
        return tuple(TupleType(part) if isinstance(part, tuple) else part for part in found)


def _map(args: tuple[Any, ...], f: Callable[[Any], Any]) -> tuple[Any, ...]:
    return tuple(tuple(map(f, arg)) if isinstance(arg, tuple) else f(arg) for arg in args)


def sample(
    *args: Any,
    dtype: str = "float32",
    low: float = -2.0,
    high: float = 2.0,
    attrs: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Sample:
    """`sample((2, 3), (3, 4))`: a tuple is a tensor's shape, a list is a tuple argument, a `Tensor`
    or an array stands for itself. Keywords are attributes; `attrs` takes those whose names are
    taken here (`dtype`)."""

    def argument(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(argument(v) for v in value)
        return Tensor(value, dtype, low, high) if isinstance(value, tuple) else value

    return Sample(tuple(argument(a) for a in args), {**keywords, **(attrs or {})})
