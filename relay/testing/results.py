"""Checks of results: against a type, and against another result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from relay import dtypes
from relay.interpreter.values import ConstructorValue, RefValue, TupleValue, Value
from relay.ir import dims, types
from relay.ir.dims import Symbol
from relay.ir.module import IRModule
from relay.nd import NDArray
from relay.testing.generator.features import SMOOTH

# The tolerance at the element type `SMOOTH`; all other results are exact.
TOLERANCE: Final = 1e-6


def extents_of(module: IRModule, inputs: Sequence[Any]) -> dict[Symbol, int]:
    """The values of the named dimensions of `main` for these arguments."""
    found: dict[Symbol, int] = {}
    pending = [(p.type_annotation, v) for p, v in zip(module["main"].params, inputs, strict=True)]
    while pending:
        ty, value = pending.pop()
        if isinstance(ty, types.TupleType):
            pending.extend(zip(ty.fields, value, strict=True))
        elif isinstance(ty, types.TensorType):
            for dim, extent in zip(ty.shape, np.shape(value), strict=True):
                if isinstance(dim, types.TypeVar):
                    found[dim] = extent
    return found


def assert_has_type(
    value: Value, ty: types.Type, module: IRModule, extents: Mapping[Symbol, int] | None = None
) -> None:
    """The value has the type, with these values of named dimensions."""
    known = extents or {}
    pending: list[tuple[Any, types.Type]] = [(value, ty)]
    while pending:
        part, expected = pending.pop()
        match expected:
            case types.TensorType():
                assert isinstance(part, NDArray), f"{part!r} is no {expected}"
                assert part.dtype == expected.dtype, f"{part!r} is no {expected}"
                assert len(part.shape) == len(expected.shape), f"{part!r} is no {expected}"
                for dim, extent in zip(expected.shape, part.shape, strict=True):
                    wanted = dims.substitute(dim, lambda s: known.get(s, s))
                    assert not isinstance(wanted, int) or wanted == extent, (
                        f"{part!r} is no {expected}"
                    )
            case types.TupleType(fields=fields):
                assert isinstance(part, TupleValue), f"{part!r} is no {expected}"
                pending.extend(zip(part.fields, fields, strict=True))
            case types.RefType(value=held):
                assert isinstance(part, RefValue), f"{part!r} is no {expected}"
                pending.append((part.value, held))
            case types.TypeCall(func=types.GlobalTypeVar() as func, args=args):
                assert isinstance(part, ConstructorValue), f"{part!r} is no {expected}"
                definition = module[func]
                assert part.constructor.belong_to == func, f"{part!r} is no {expected}"
                bindings = dict(zip(definition.type_vars, args, strict=True))
                inputs = (types.substitute(t, bindings) for t in part.constructor.inputs)
                pending.extend(zip(part.fields, inputs, strict=True))
            case types.FuncType():
                data = NDArray | TupleValue | ConstructorValue | RefValue
                assert not isinstance(part, data), f"{part!r} is no {expected}"


def assert_same_value(
    found: Value, expected: Value, *, rtol: float | None = None, functions: bool = False
) -> None:
    """Two results of one program are equal, up to `TOLERANCE` at the type `SMOOTH`.

    With `rtol`, every float type is compared with that tolerance. References are equal if their
    contents and their aliasing are. Functions are not compared; `functions` permits them.
    """
    pending: list[tuple[Any, Any]] = [(found, expected)]
    cells: dict[int, int] = {}
    while pending:
        a, b = pending.pop()
        if isinstance(b, NDArray):
            assert isinstance(a, NDArray), f"{a!r} instead of {b!r}"
            assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{a!r} instead of {b!r}"
            if rtol is not None and dtypes.is_float(b.dtype):
                mine, wanted = (array.array.astype(np.float64) for array in (a, b))
                np.testing.assert_allclose(mine, wanted, rtol, rtol / 10)
            elif b.dtype == SMOOTH:
                np.testing.assert_allclose(a.array, b.array, TOLERANCE, TOLERANCE)
            elif dtypes.is_float(b.dtype):  # bit by bit: NaN is equal to NaN
                assert a.array.tobytes() == b.array.tobytes(), f"{a!r} instead of {b!r}"
            else:
                assert np.array_equal(a.array, b.array), f"{a!r} instead of {b!r}"
        elif isinstance(b, TupleValue):
            assert isinstance(a, TupleValue), f"{a!r} instead of {b!r}"
            pending.extend(zip(a.fields, b.fields, strict=True))
        elif isinstance(b, ConstructorValue):
            assert isinstance(a, ConstructorValue), f"{a!r} instead of {b!r}"
            assert a.is_built_by(b.constructor), f"{a!r} instead of {b!r}"
            pending.extend(zip(a.fields, b.fields, strict=True))
        elif isinstance(b, RefValue):
            assert isinstance(a, RefValue), f"{a!r} instead of {b!r}"
            if id(b) not in cells:
                pending.append((a.value, b.value))
            assert cells.setdefault(id(b), id(a)) == id(a), f"another cell instead of {b!r}"
        else:
            data = NDArray | TupleValue | ConstructorValue | RefValue
            assert functions and not isinstance(a, data), f"{b!r} cannot be compared"
