"""Random arrays, and random arguments for the main function of a module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay import dtypes
from relay.errors import RelayError
from relay.ir import dims
from relay.ir.dims import Symbol
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType, Type
from relay.testing.generator.choices import Choices, signed
from relay.testing.generator.features import BOUND, SMOOTH
from relay.testing.generator.types import MAX_EXTENT


def random_array(choices: Choices, shape: Sequence[int], dtype: str) -> np.ndarray:
    """Small integers; at the type `SMOOTH`, small multiples of 1/4."""
    if dtype == "bool":
        low, high = 0, 1
    else:
        low, high = (0 if dtype.startswith("uint") else -BOUND), BOUND
    array: np.ndarray
    if not shape:
        array = np.array(max(low, signed(choices, high)))
    else:
        # one decision for the whole array
        seed = choices.integer(0, 999)
        array = np.random.default_rng(seed).integers(low, high + 1, tuple(shape))
        if dtype == SMOOTH:
            array = array / 4
    return array.astype(dtypes.to_numpy(dtype))


def random_inputs(module: IRModule, choices: Choices) -> list[Any]:
    """Arguments for `main`: arrays for tensors, tuples for tuples.

    A named dimension gets one extent, every `?` its own.
    """
    extents: dict[Symbol, int] = {}

    def extent_of(symbol: Symbol) -> int:
        if symbol not in extents:
            extents[symbol] = choices.integer(1, MAX_EXTENT)
        return extents[symbol]

    def value(ty: Type | None) -> Any:
        match ty:
            case TensorType():
                shape: list[Any] = []
                for dim in ty.shape:
                    if isinstance(dim, dims.Any):
                        shape.append(choices.integer(1, MAX_EXTENT))
                    else:
                        shape.append(dims.substitute(dim, extent_of))
                return random_array(choices, shape, ty.dtype)
            case TupleType():
                return tuple(value(part) for part in ty.fields)
        raise RelayError(
            f"random_inputs makes tensors and tuples of them; a parameter of main has type {ty}"
        )

    return [value(param.type_annotation) for param in module["main"].params]
