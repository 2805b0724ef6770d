"""Check operators against their references: test inputs and tolerances.

Test inputs are the samples of an operator's record, and samples with other element types and other
extents (0, 1, odd, prime, large), as far as the type relation accepts them.

    for use in uses(get("nn.dense")):
        computed, arrays = to_tensors(use)
        …
        assert_agree(use, results, expected(use))
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from relay import dtypes, te
from relay.errors import RelayError
from relay.immutable import frozen
from relay.ir.expr import op_names
from relay.ir.types import TensorType, TupleType, Type
from relay.lower.to_compute import Computed
from relay.op.opdef import OpDef, Sample, Tensor
from relay.op.shapes import output_type, value_type
from relay.te.evaluate import evaluate

T = TypeVar("T")

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
        if growth > 1:
            rtol, atol = rtol * growth, atol * growth * max(1.0, _largest(exact))
        np.testing.assert_allclose(mine.astype(np.float64), exact, rtol=rtol, atol=atol)


def _largest(array: np.ndarray) -> float:
    return float(np.max(np.abs(array), initial=0.0, where=np.isfinite(array)))


# --- uses ---------------------------------------------------------------------------------------

# Prefixes of operators that compute no elements.
NOT_COMPUTED = ("memory.", "vm.", "call_lowered", "require")

# Element types to try besides those of the samples.
ELEMENTS = (
    *("bool", "int2", "uint2", "int4", "uint4", "int8", "uint8", "int16", "uint16", "int32"),
    *("uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64"),
    *(*dtypes.FLOAT8, "float8_e8m0fnu", "float4_e2m1fn"),
)
SMALL = 20_000  # elements; larger uses get larger tolerances


@frozen
class Use:
    """A legal call of an operator, with a stable name."""

    op: OpDef
    sample: Sample
    name: str
    reshaped: bool = False  # indices of the sample may be out of range


def computed_names() -> list[str]:
    """The names of operators that compute elements."""
    return [name for name in op_names() if not name.startswith(NOT_COMPUTED)]


# elements: exceeds the caches of one core, and enough for several threads
LARGE = 400_000
WORK = 1_000_000_000  # multiplications in a convolution


def uses(op: OpDef, large: int = LARGE) -> Iterator[Use]:
    """The samples of an operator, then other element types, then other extents, up to `large`
    elements."""
    for i, sample in enumerate(op.samples):
        yield Use(op, sample, f"{op.name}-{i}")
    yield from with_other_elements(op)
    yield from with_other_extents(op, large)


def digest(name: str) -> int:
    """A stable hash."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big")


def size(sample: Sample) -> int:
    """The number of elements of the arguments."""
    return sum(int(np.prod(_shape(leaf), dtype=int)) for leaf in leaves(sample.args))


def _shape(leaf: Any) -> tuple[int, ...]:
    return leaf.shape if isinstance(leaf, Tensor) else np.shape(leaf)


def leaves(args: Any) -> list[Any]:
    """The arguments, with tuples flattened."""
    return [x for a in args for x in (leaves(a) if isinstance(a, tuple) else [a])]


def is_legal(op: OpDef, sample: Sample) -> bool:
    """Whether the type relation accepts the sample."""
    return _result_type(op, sample) is not None


def _result_type(op: OpDef, sample: Sample) -> Type | None:
    values = None if op.runtime_shape is None else sample.values()  # making values is slow
    try:
        return output_type(op, sample.types(), op.make_attrs(sample.attrs), values)
    except RelayError:
        return None


# --- other element types


def with_other_elements(op: OpDef) -> Iterator[Use]:
    """One use for each accepted element type that no sample has."""
    seen = {x.dtype for s in op.samples for x in leaves(s.args) if isinstance(x, Tensor)}
    for dtype in ELEMENTS:
        if dtype not in seen and (sample := accepted(op, dtype)) is not None:
            yield Use(op, sample, f"{op.name}-{dtype}")


def accepted(op: OpDef, dtype: str) -> Sample | None:
    """The first sample whose leading element type can be changed to `dtype`."""
    for sample in op.samples:
        leading = next((x.dtype for x in leaves(sample.args) if isinstance(x, Tensor)), None)
        if leading is None or size(sample) > SMALL:
            continue
        other = Sample(_retyped(sample.args, leading, dtype), sample.attrs)
        if is_legal(op, other):
            return other
    return None


def _retyped(args: Any, before: str, after: str) -> tuple[Any, ...]:
    return tuple(
        _retyped(a, before, after)
        if isinstance(a, tuple)
        else _as_dtype(a, after)
        if isinstance(a, Tensor) and a.dtype == before
        else a
        for a in args
    )


def _as_dtype(tensor: Tensor, dtype: str) -> Tensor:
    """The tensor with another element type, its range limited to that of the type."""
    low, high = tensor.low, tensor.high
    if dtypes.is_integer(dtype):
        lowest, highest = int(te.lowest(dtype).value), int(te.highest(dtype).value)
        low = min(max(int(low), lowest), highest - 1)
        high = max(min(int(high), highest), low + 1)
    elif dtype == "float8_e8m0fnu":  # has no sign
        low, high = 0.25, max(high, 4.0)
    elif dtype != "bool":
        low = min(max(low, -1e4), 1e4 - 1)  # what float16 holds
        high = max(min(high, 1e4), low + 1)
    return dataclasses.replace(tensor, dtype=dtype, low=low, high=high)


# --- other extents

# empty, one, and odd numbers below and above the number of vector lanes
EXTENTS = (0, 1, 5, 17, 37)


def with_other_extents(op: OpDef, large: int = LARGE) -> Iterator[Use]:
    """A use with each of `EXTENTS` somewhere, and some of `large` elements.

    An extent changes in one axis, or in every axis of the same extent; what the type relation
    refuses is left out.
    """
    seen = {_shapes(sample) for sample in op.samples}
    for turn, extent in enumerate(EXTENTS):
        for i, changed in _with_extent(op, extent, turn):
            if _shapes(changed) not in seen and size(changed) <= SMALL and is_legal(op, changed):
                seen.add(_shapes(changed))
                yield Use(op, changed, f"{op.name}-{i}-{_shape_text(changed)}", reshaped=True)
                break
    for enlarged in _enlarged(op, large):
        yield Use(op, enlarged, f"{op.name}-{_shape_text(enlarged)}", reshaped=True)


def at_other_extents(op: OpDef, sample: Sample, extents: Sequence[int]) -> Iterator[Sample]:
    """The legal samples of `with_extents`."""
    for changed in with_extents(sample, extents):
        if is_legal(op, changed):
            yield changed


def with_extents(sample: Sample, extents: Sequence[int]) -> Iterator[Sample]:
    """The sample with each of the extents in one axis, or in every axis of the same extent."""
    seen = {_shapes(sample)}
    for extent in extents:
        for changed in changed_extents(sample, lambda *_, extent=extent: extent):
            if _shapes(changed) not in seen and size(changed) <= SMALL:
                seen.add(_shapes(changed))
                yield changed


def _shapes(sample: Sample) -> tuple[tuple[int, ...], ...]:
    return tuple(_shape(leaf) for leaf in leaves(sample.args))


def _shape_text(sample: Sample) -> str:
    return ",".join("x".join(map(str, shape)) or "scalar" for shape in _shapes(sample))


Change = Callable[[int, tuple[int, ...]], tuple[int, ...]]  # index of the tensor, its shape


def changed_extents(sample: Sample, new: Callable[[int, int], int]) -> Iterator[Sample]:
    """The sample with another extent in one axis, or in every axis of the same extent.

    `new` takes the extent and the number of elements of the changed tensors.
    """
    tensors = [leaf for leaf in leaves(sample.args) if isinstance(leaf, Tensor)]
    for position, tensor in enumerate(tensors):
        for axis, n in enumerate(tensor.shape):
            changed = new(n, math.prod(tensor.shape))
            yield _mapped(sample, _one_axis(position, axis, changed))
    for n in sorted({n for tensor in tensors for n in tensor.shape}, reverse=True):
        elements = sum(math.prod(tensor.shape) for tensor in tensors if n in tensor.shape)
        yield _mapped(sample, _all_axes(n, new(n, elements)))


def _all_axes(before: int, after: int) -> Change:
    return lambda _, shape: tuple(after if n == before else n for n in shape)


def _one_axis(position: int, axis: int, after: int) -> Change:
    def change(i: int, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:axis], after, *shape[axis + 1 :]) if i == position else shape

    return change


def _mapped(sample: Sample, change: Change) -> Sample:
    """The sample with other shapes."""
    count = 0

    def walk(args: Any) -> tuple[Any, ...]:
        nonlocal count
        found: list[Any] = []
        for arg in args:
            if isinstance(arg, Tensor):
                arg = dataclasses.replace(arg, shape=change(count, arg.shape))
                count += 1
            found.append(walk(arg) if isinstance(arg, tuple) else arg)
        return tuple(found)

    return Sample(walk(sample.args), sample.attrs)


def _with_extent(op: OpDef, extent: int, turn: int) -> Iterator[tuple[int, Sample]]:
    """Samples with that extent in some axis, with their indices, in an order rotated by `turn`."""
    for i in _rotated(range(len(op.samples)), turn):
        for changed in _rotated(list(changed_extents(op.samples[i], lambda *_: extent)), turn):
            yield i, changed


def _rotated(items: Sequence[T], turn: int) -> Sequence[T]:
    first = turn % max(1, len(items))
    return [*items[first:], *items[:first]]


def _enlarged(op: OpDef, large: int) -> list[Sample]:
    """Samples of at least `large` elements: with a large outer extent, and a large inner one."""

    def grown(extent: int, elements: int) -> int:
        return extent * -(-large // max(1, elements)) + 1

    for sample in op.samples:
        if 0 < size(sample) < large:
            changed = list(changed_extents(sample, grown))
            outer = next((one for one in changed if _is_large(op, one, large)), None)
            inner = next((one for one in reversed(changed) if _is_large(op, one, large)), None)
            if outer is not None and inner is not None:
                return [outer] if _shapes(outer) == _shapes(inner) else [outer, inner]
    return []


def _is_large(op: OpDef, sample: Sample, large: int) -> bool:
    """Whether the sample is legal and large, but within limits of elements and of work."""
    most = 4 * large
    if not large <= size(sample) <= most or (made := _result_type(op, sample)) is None:
        return False
    attrs = op.make_attrs(sample.attrs)
    window = math.prod(_shapes(sample)[1][1:]) if hasattr(attrs, "kernel_layout") else 1
    return _elements(made) <= most and _elements(made) * window <= WORK


def _elements(ty: Type) -> int:
    if isinstance(ty, TupleType):
        return sum(map(_elements, ty.fields))
    assert isinstance(ty, TensorType)
    return math.prod(n for n in ty.shape if isinstance(n, int))


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


__all__ = [
    "ELEMENTS",
    "SMALL",
    "TOLERANCES",
    "Use",
    "accepted",
    "assert_agree",
    "at_other_extents",
    "computed_names",
    "digest",
    "expected",
    "is_legal",
    "leaves",
    "size",
    "to_tensors",
    "trimmed",
    "uses",
    "with_extents",
    "with_other_elements",
    "with_other_extents",
]
