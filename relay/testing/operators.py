"""Check operators against their references.

check_operator(scale)       the compute of every sample agrees with the reference
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay import dtypes, te
from relay.immutable import frozen
from relay.ir.types import TensorType, TupleType, Type
from relay.lower.to_compute import Computed
from relay.op.opdef import OpDef, Sample
from relay.op.shapes import output_type, value_type
from relay.te.evaluate import evaluate

SMALL = 20_000  # elements; larger uses get larger tolerances


@frozen
class Use:
    """A legal call of an operator, with a stable name."""

    op: OpDef
    sample: Sample
    name: str
    reshaped: bool = False  # indices of the sample may be out of range


def check_operator(op: OpDef) -> None:
    """Compare the compute of an operator with its reference, for every sample."""
    for number, sample in enumerate(op.samples):
        use = Use(op, sample, f"{op.name}-{number}")
        computed, arrays = to_tensors(use)
        inputs = dict(zip(computed.inputs, arrays, strict=True))
        assert_agree(use, trimmed(op, evaluate(computed.outputs, inputs)), expected(use))


def size(sample: Sample) -> int:
    """The number of elements of the arguments."""
    return sum(math.prod(np.shape(leaf)) for leaf in leaves(sample.args))


def leaves(args: Any) -> list[Any]:
    """The arguments, with tuples flattened."""
    return [x for a in args for x in (leaves(a) if isinstance(a, tuple) else [a])]


# --- tolerances ---------------------------------------------------------------------------------

# (relative, absolute); integers and bools agree exactly. Results of narrow floats may differ by a
# unit in the last place, as they are rounded once or at every step, and sums by several.
TOLERANCES = {
    "float8_e4m3fn": (0.13, 0.05),
    "float8_e5m2": (0.26, 0.05),
    "float8_e4m3fnuz": (0.13, 0.05),
    "float8_e5m2fnuz": (0.26, 0.05),
    **dict.fromkeys(dtypes.MICROSCALING, (0.0, 0.0)),  # only moved and converted
    "float16": (4e-3, 2e-3),
    "bfloat16": (2e-2, 2e-2),
    "float32": (5e-5, 5e-6),
    "float64": (1e-11, 1e-11),
}
# Approximate by design, whatever the element type.
APPROXIMATE = {"nn.fast_softmax": (1e-6, 1e-6)}
# Whose samples have sums of terms in the thousands, which may cancel out.
LARGE_TERMS = {"nn.dense_nbits"}


def assert_agree(use: Use, found: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> None:
    """The results have the types of the reference's results, and their values within tolerances.

    The tolerance for large uses grows as the rounding error of a sum: with the square root of the
    number of terms and with the largest magnitude.
    """
    assert len(found) == len(wanted), f"{len(found)} results, not {len(wanted)}"
    growth = math.sqrt(max(1.0, size(use.sample) / SMALL))
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.shape == theirs.shape
        assert mine.dtype == theirs.dtype
        if mine.dtype.name not in TOLERANCES:
            np.testing.assert_array_equal(mine, theirs)
            continue
        rtol, atol = APPROXIMATE.get(use.op.name, TOLERANCES[mine.dtype.name])
        exact = theirs.astype(np.float64)
        if growth > 1 or use.op.name in LARGE_TERMS:
            rtol, atol = rtol * growth, atol * growth * max(1.0, _largest(exact))
        np.testing.assert_allclose(mine.astype(np.float64), exact, rtol=rtol, atol=atol)


def _largest(array: np.ndarray) -> float:
    return float(np.max(np.abs(array), initial=0.0, where=np.isfinite(array)))


# --- tensor expressions -------------------------------------------------------------------------

Extent = Callable[[int], te.Expr]


def expected(use: Use) -> tuple[np.ndarray, ...]:
    """The results of the reference."""
    assert use.op.reference is not None
    found = use.op.reference(*use.sample.values(), **_attributes(use))
    return found if isinstance(found, tuple) else (found,)


def _attributes(use: Use) -> dict[str, Any]:
    made = use.op.make_attrs(use.sample.attrs)
    return dict(made.items()) if made else {}


def to_tensors(use: Use, extent: Extent = te.index) -> tuple[Computed, list[np.ndarray]]:
    """The tensor expressions of the operator, and arrays for their placeholders.

    `extent` makes the extents: constants or variables. For operators with a `capacity`, the last
    result is the actual shapes; see `trimmed`.
    """
    op, sample = use.op, use.sample
    assert op.compute is not None, f"`{op.name}` has no compute"
    attrs, values = _attributes(use), sample.values()
    tensors = _placeholders(tuple(map(value_type, values)), extent)
    ty = output_type(op, sample.types(), op.make_attrs(sample.attrs), values)
    out = _specs(ty, extent)
    inputs = dict(zip(leaves(tensors), leaves(values), strict=True))
    if op.capacity is not None:
        shapes = op.capacity(*tensors, **attrs)
        each = out if isinstance(out, tuple) else (out,)
        kept = [
            te.Spec(_numbers(shape, inputs), one.dtype)
            for shape, one in zip(shapes, each, strict=True)
        ]
        out = tuple(kept) if isinstance(out, tuple) else kept[0]
    results = op.compute(*tensors, out=out, **attrs)
    results = results if isinstance(results, tuple) else (results,)
    _check_results(op, results, out if isinstance(out, tuple) else (out,))
    return Computed(tuple(inputs), results, (op.name,)), list(inputs.values())


def trimmed(op: OpDef, found: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """The results cut to their actual shapes."""
    if op.capacity is None:
        return tuple(found)
    *parts, actual = found
    return tuple(
        part[tuple(map(slice, shape[: part.ndim]))]
        for part, shape in zip(parts, actual.tolist(), strict=True)
    )


def _placeholders(types: Sequence[Type], extent: Extent) -> tuple[Any, ...]:
    return tuple(
        _placeholders(ty.fields, extent)
        if isinstance(ty, TupleType)
        else te.placeholder(*_spec(ty, extent), f"x{i}")
        for i, ty in enumerate(types)
    )


def _specs(ty: Type, extent: Extent) -> Any:
    if isinstance(ty, TupleType):
        return tuple(_specs(field, extent) for field in ty.fields)
    return te.Spec(*_spec(ty, extent))


def _spec(ty: Type, extent: Extent) -> tuple[tuple[te.Expr, ...], str]:
    assert isinstance(ty, TensorType)
    sizes = [n for n in ty.shape if isinstance(n, int)]  # all: the type of a value
    return tuple(map(extent, sizes)), ty.dtype


def _numbers(shape: Sequence[Any], inputs: dict[te.Tensor, np.ndarray]) -> tuple[te.Expr, ...]:
    """The values of the extents, which may read elements of the inputs."""
    made = [te.compute((), lambda extent=extent: te.index(extent)) for extent in shape]
    return tuple(te.index(int(found)) for found in evaluate(made, inputs))


def _check_results(op: OpDef, results: tuple[te.Tensor, ...], out: tuple[te.Spec, ...]) -> None:
    """The results have the requested shapes and element types."""
    counted = op.capacity is not None
    assert len(results) == len(out) + counted
    for result, wanted in zip(results, out, strict=not counted):
        assert result.dtype == wanted.dtype, f"`{op.name}` makes {result.dtype}: {wanted.dtype}"
        assert result.shape == wanted.shape, f"`{op.name}` makes {result!r}: {wanted.shape!r}"
    if counted:
        assert results[-1].dtype == "int64" and results[-1].extents[0] == len(out)
