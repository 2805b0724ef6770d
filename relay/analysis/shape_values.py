"""Values of integer tensors that are computed from shapes, as far as types determine them.

    %x: Tensor[(n, 3, 4), float32]

    shape_of(%x)                                    [n, 3, 4]
    take(shape_of(%x), 1)                           3
    subtract(take(shape_of(%x), 0), n)              0
    concatenate(([2], strided_slice(shape_of(%x), begin=[1], end=[3])))      [2, 3, 4]

A tensor of integers is an array of dimensions: numbers, shape variables, and `?`. Moving elements
moves dimensions. Sums, differences and products are those of dimensions, which also holds for
integers that wrap; of every other broadcasting operator a result is known where the operands are
numbers. Extents fit the integer type they are asked for in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relay import dtypes
from relay.errors import RelayError
from relay.interpreter.operators import operate, require_room
from relay.interpreter.values import TupleValue
from relay.ir import dims
from relay.ir.expr import Call
from relay.ir.types import TensorType, TypeVar
from relay.nd import NDArray
from relay.op.building.numerics import limits
from relay.op.facts import Trait
from relay.op.opdef import FusionKind, OpDef

# The integers that shapes are computed with.
INTEGERS = ("int32", "int64")
# Shapes are short; longer tensors of integers are data.
LONGEST = 64

RING: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": dims.add,
    "subtract": dims.subtract,
    "multiply": dims.multiply,
}

Dims = np.ndarray  # of dimensions, one for each element


def of_shape(ty: TensorType) -> Dims:
    """What `shape_of` gives for a tensor of that type."""
    return _array(list(ty.shape))


def of_tensor(array: np.ndarray) -> Dims | None:
    """The elements of a tensor of integers that is short enough to have to do with shapes."""
    if array.dtype.kind not in "iu" or array.size > LONGEST:
        return None
    return _array(array.reshape(-1).tolist()).reshape(array.shape)


def in_type(elements: Dims, dtype: str) -> np.ndarray | None:
    """The tensor, where all its elements are numbers of that type."""
    if all(isinstance(d, int) for d in within(elements, dtype).flat):
        return elements.astype(dtypes.to_numpy(dtype))
    return None


def within(elements: Dims, dtype: str) -> Dims:
    """The elements, without what has become too large for their type and wraps around."""
    low, high = limits(dtypes.to_numpy(dtype))
    return _each(lambda d: d if not isinstance(d, int) or low <= d <= high else dims.ANY, elements)


def computed(op: OpDef, args: Sequence[Any], call: Call) -> Dims | None:
    """The elements of a result; an argument is `Dims`, or a tuple of them.

    None where the operator is none of those that shapes are computed with, or fails.
    """
    try:
        if Trait.MOVES in op.traits and op.runtime_shape is None:
            return _moved(op, args, call)
        if not all(isinstance(arg, np.ndarray) for arg in args):
            return None
        if op.name in RING:
            return _each(RING[op.name], *args)
        if op.name == "cast":
            # a sum may have wrapped around in its own type
            return _each(lambda d: d if isinstance(d, int | TypeVar) else dims.ANY, *args)
        return _where_known(op, args, call) if _lays_over(op) else None
    except RelayError:
        return None  # the run reports it


def _lays_over(op: OpDef) -> bool:
    """Whether an element of the result needs those elements of the operands that broadcasting puts
    in its place: no operand is a shape, or goes along an axis that is named."""
    return op.fusion <= FusionKind.BROADCAST and op.runtime_shape is None and not op.names_axes


def _moved(op: OpDef, args: Sequence[Any], call: Call) -> Dims | None:
    """The operator applied to the places of elements says where they go."""
    data = args[0] if isinstance(args[0], tuple) else (args[0],)
    others = [in_type(arg, "int64") if isinstance(arg, np.ndarray) else None for arg in args[1:]]
    pool = [d for part in data for d in part.flat]
    begin, places = 0, []
    for part in data:
        places.append(np.arange(begin, begin + part.size).reshape(part.shape))
        begin += part.size
    given = tuple(places) if isinstance(args[0], tuple) else places[0]
    moved = _operated(op, [given, *others], call)
    if moved is None or moved.size > LONGEST:
        return None
    return _array([pool[i] for i in moved.flat]).reshape(moved.shape)


def _where_known(op: OpDef, args: Sequence[Dims], call: Call) -> Dims | None:
    """Elements of which all operands are numbers; 1 stands for the others meanwhile."""
    numbers = [in_type(_each(lambda d: d if isinstance(d, int) else 1, a), "int64") for a in args]
    result = _operated(op, numbers, call)
    if result is None or result.dtype.kind not in "iu" or result.size > LONGEST:
        return None
    known = _each(lambda *operands: all(isinstance(d, int) for d in operands), *args).astype(bool)
    found = _array(result.reshape(-1).tolist()).reshape(result.shape)
    found[~np.broadcast_to(known, result.shape)] = dims.ANY
    return found


def _operated(op: OpDef, arrays: Sequence[Any], call: Call) -> np.ndarray | None:
    if any(array is None for array in arrays):
        return None
    values = [
        TupleValue(tuple(map(NDArray, array))) if isinstance(array, tuple) else NDArray(array)
        for array in arrays
    ]
    if call.ty is not None:
        require_room(call.ty, call.span)
    result = operate(op, values, call.attrs, call.span, proven=True)
    return result.array if isinstance(result, NDArray) else None


def _each(function: Callable[..., Any], *arrays: Dims) -> Dims:
    """The function of every element, with broadcasting."""
    together = np.broadcast_arrays(*arrays)
    shape = together[0].shape
    flat = zip(*(array.flat for array in together), strict=True)
    return _array([function(*elements) for elements in flat]).reshape(shape)


def _array(elements: list[Any]) -> Dims:
    found = np.empty(len(elements), object)
    found[:] = elements
    return found
