"""What the `compute` of an operator says in tensor expressions is what its reference does.

Every sample of every record, and every element type the operator takes, goes through the slow
evaluator of tensor expressions; integers and bools agree exactly, floats within a tolerance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from relay import dtypes, te
from relay.errors import RelayError
from relay.ir.expr import op_names
from relay.ir.types import TensorType, TupleType, Type
from relay.op.opdef import FusionKind, OpDef, Sample, Tensor, get
from relay.op.shapes import output_type, value_type
from relay.te.evaluate import evaluate

# Storage, closures, functions and devices: nothing that is computed from elements.
NOT_COMPUTED = ("memory.", "vm.", "call_lowered")

# The inputs of these are large: they are run by `pytest -m full`.
LARGE = 20_000

TOLERANCES = {
    "float8_e4m3fn": (0.13, 0.05),
    "float8_e5m2": (0.26, 0.05),
    "float16": (4e-3, 2e-3),
    "bfloat16": (2e-2, 2e-2),
    "float32": (5e-5, 5e-6),
    "float64": (1e-11, 1e-11),
}
# Approximate by design, whatever the element type.
APPROXIMATE = {"nn.fast_softmax": (1e-6, 1e-6)}

# Their extents decide what is computed, or how, so that they are numbers.
OF_NUMBERS = (
    "gather_nd",
    "nn.contrib_conv2d_winograd_weight_transform",
    "nn.contrib_conv3d_winograd_weight_transform",
    "squeeze",
)

NAMES = [n for n in op_names() if not n.startswith(NOT_COMPUTED)]


def size(sample: Sample) -> int:
    return sum(int(np.prod(np.shape(leaf), dtype=int)) for leaf in leaves(sample.values()))


def leaves(args: Any) -> list[Any]:
    return [x for a in args for x in (leaves(a) if isinstance(a, tuple) else [a])]


SAMPLES = [
    pytest.param(
        get(name),
        sample,
        id=f"{name}-{i}",
        marks=[pytest.mark.full] if size(sample) > LARGE else [],
    )
    for name in NAMES
    for i, sample in enumerate(get(name).samples)
]


# --- running a compute -------------------------------------------------------------------------


Extent = Callable[[int], te.Expr]


def placeholders(types: Sequence[Type], extent: Extent) -> tuple[Any, ...]:
    return tuple(
        placeholders(ty.fields, extent)
        if isinstance(ty, TupleType)
        else te.placeholder(tuple(map(extent, ty.shape)), ty.dtype, f"x{i}")
        for i, ty in enumerate(types)
    )


def specs(ty: Type, extent: Extent) -> Any:
    if isinstance(ty, TupleType):
        return tuple(specs(field, extent) for field in ty.fields)
    assert isinstance(ty, TensorType)
    return te.Spec(tuple(map(extent, ty.shape)), ty.dtype)


def run(op: OpDef, sample: Sample, extent: Extent = te.index) -> tuple[np.ndarray, ...]:
    """The results of the compute of `op`, evaluated element by element.

    `extent` says how the compute sees an extent: as the number, or as a variable.
    """
    assert op.compute is not None, f"`{op.name}` has no compute"
    made = op.make_attrs(sample.attrs)
    attrs = dict(made.items()) if made else {}
    values = sample.values()
    tensors = placeholders(tuple(map(value_type, values)), extent)
    out = specs(output_type(op, sample.types(), made, values), extent)
    inputs = dict(zip(leaves(tensors), leaves(values), strict=True))
    if op.capacity is not None:
        shapes = op.capacity(*tensors, **attrs)
        each = out if isinstance(out, tuple) else (out,)
        kept = [
            te.Spec(numbers(shape, inputs), one.dtype)
            for shape, one in zip(shapes, each, strict=True)
        ]
        out = tuple(kept) if isinstance(out, tuple) else kept[0]
    results = op.compute(*tensors, out=out, **attrs)
    results = results if isinstance(results, tuple) else (results,)
    check_promise(op, results, out if isinstance(out, tuple) else (out,))
    found = evaluate(results, inputs, getattr(extent, "sizes", {}))
    if op.capacity is None:
        return tuple(found)
    *found, actual = found
    return tuple(
        part[tuple(map(slice, shape[: part.ndim]))]
        for part, shape in zip(found, actual.tolist(), strict=True)
    )


def numbers(shape: Sequence[Any], inputs: dict[te.Tensor, np.ndarray]) -> tuple[te.Expr, ...]:
    """The extents as numbers; they may read elements of the inputs."""
    made = [te.compute((), lambda extent=extent: te.index(extent)) for extent in shape]
    return tuple(te.index(int(found)) for found in evaluate(made, inputs))


def check_promise(op: OpDef, results: tuple[te.Tensor, ...], out: tuple[te.Spec, ...]) -> None:
    """The results have the shapes and element types that were asked for."""
    counted = op.capacity is not None
    assert len(results) == len(out) + counted
    for result, wanted in zip(results, out, strict=not counted):
        assert result.dtype == wanted.dtype, f"`{op.name}` makes {result.dtype}: {wanted.dtype}"
        assert result.shape == wanted.shape, f"`{op.name}` makes {result!r}: {wanted.shape!r}"
    if counted:
        assert results[-1].dtype == "int64" and results[-1].extents[0] == len(out)


def agree(op: OpDef, found: Sequence[np.ndarray], expected: Any) -> None:
    parts = expected if isinstance(expected, tuple) else (expected,)
    for mine, theirs in zip(found, parts, strict=True):
        assert mine.shape == theirs.shape
        assert mine.dtype == theirs.dtype
        if mine.dtype.name not in TOLERANCES:
            np.testing.assert_array_equal(mine, theirs)
            continue
        rtol, atol = APPROXIMATE.get(op.name, TOLERANCES[mine.dtype.name])
        np.testing.assert_allclose(
            mine.astype(np.float64), theirs.astype(np.float64), rtol=rtol, atol=atol
        )


def check(op: OpDef, sample: Sample) -> None:
    made = op.make_attrs(sample.attrs)
    expected = op.reference(*sample.values(), **(dict(made.items()) if made else {}))
    agree(op, run(op, sample), expected)


# --- the table ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_says_what_it_computes(name: str) -> None:
    assert get(name).compute is not None


@pytest.mark.parametrize(("op", "sample"), SAMPLES)
def test_the_compute_agrees_with_the_reference(op: OpDef, sample: Sample) -> None:
    check(op, sample)


class Unknown:
    """Extents as variables, one for each number; an extent of 1 stays one."""

    def __init__(self) -> None:
        self.sizes: dict[te.Var, int] = {}

    def __call__(self, extent: int) -> te.Expr:
        if extent == 1:
            return te.index(1)
        known = {number: size for size, number in self.sizes.items()}
        if extent not in known:
            known[extent] = te.Var("int64", f"n{extent}")
            self.sizes[known[extent]] = extent
        return known[extent]


@pytest.mark.parametrize(("op", "sample"), SAMPLES)
def test_a_compute_takes_extents_that_only_a_run_knows(op: OpDef, sample: Sample) -> None:
    if op.name in OF_NUMBERS or op.capacity is not None:
        return
    made = op.make_attrs(sample.attrs)
    expected = op.reference(*sample.values(), **(dict(made.items()) if made else {}))
    agree(op, run(op, sample, Unknown()), expected)


# The element types an operator may take besides those its samples have.
ELEMENTS = [
    *("bool", "int4", "uint4", "int8", "uint8", "int16", "uint16", "int32", "uint32"),
    *("int64", "uint64", "float16", "bfloat16", "float32", "float64"),
    *dtypes.FLOAT8,
]


def retyped(args: Any, before: str, after: str) -> tuple[Any, ...]:
    return tuple(
        retyped(a, before, after)
        if isinstance(a, tuple)
        else as_dtype(a, after)
        if isinstance(a, Tensor) and a.dtype == before
        else a
        for a in args
    )


def as_dtype(tensor: Tensor, dtype: str) -> Tensor:
    """The tensor with other elements, from the part of its range that they have."""
    low, high = tensor.low, tensor.high
    if dtypes.is_integer(dtype):
        lowest, highest = int(te.lowest(dtype).value), int(te.highest(dtype).value)
        low = min(max(int(low), lowest), highest - 1)
        high = max(min(int(high), highest), low + 1)
    elif dtype != "bool":
        low = min(max(low, -1e4), 1e4 - 1)  # what float16 holds
        high = max(min(high, 1e4), low + 1)
    return dataclasses.replace(tensor, dtype=dtype, low=low, high=high)


def accepted(op: OpDef, dtype: str) -> Sample | None:
    """The first sample whose leading element type the relation lets be `dtype`."""
    for sample in op.samples:
        leading = next((x.dtype for x in leaves(sample.args) if isinstance(x, Tensor)), None)
        if leading is None or size(sample) > LARGE:
            continue
        other = Sample(retyped(sample.args, leading, dtype), sample.attrs)
        try:
            output_type(op, other.types(), op.make_attrs(other.attrs), other.values())
        except RelayError:
            continue
        return other
    return None


@pytest.mark.parametrize("name", NAMES)
def test_the_compute_agrees_at_every_element_type(name: str) -> None:
    op = get(name)
    seen = {x.dtype for s in op.samples for x in leaves(s.args) if isinstance(x, Tensor)}
    for dtype in ELEMENTS:
        if dtype not in seen and (sample := accepted(op, dtype)) is not None:
            check(op, sample)


# --- where arithmetic has edges ----------------------------------------------------------------

REALS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 7.0, -0.3, 3e4, -3e4, 1e-7]
NO_NUMBERS = [np.inf, -np.inf, np.nan]


def edges(dtype: str) -> np.ndarray:
    """The ends of an element type, what lies around 0, and what is no number."""
    stored = dtypes.to_numpy(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if dtypes.is_integer(dtype):
        low, high = int(te.lowest(dtype).value), int(te.highest(dtype).value)
        found = {low, low + 1, low // 2, *range(-3, 6), high // 2, high - 1, high}
        return np.array(sorted(n for n in found if low <= n <= high), object).astype(stored)
    return np.array([*REALS, *NO_NUMBERS], np.float64).astype(stored)


def on_edges(op: OpDef, dtype: str) -> Sample | None:
    """Every element of an operator of one tensor, every pair of one of two; None if it takes none
    of that type."""
    values = edges(dtype)
    sample = Sample((values,) if len(op.arguments) == 1 else (values[:, None], values))
    try:
        output_type(op, sample.types(), None, sample.values())
    except RelayError:
        return None
    return sample


ARITHMETIC = [
    name
    for name in NAMES
    if get(name).attrs is None
    and [argument for argument, _ in get(name).arguments] in (["data"], ["lhs", "rhs"])
    and get(name).fusion in (FusionKind.ELEMWISE, FusionKind.BROADCAST)
]


@pytest.mark.parametrize("name", ARITHMETIC)
def test_the_compute_agrees_at_the_edges_of_numbers(name: str) -> None:
    for dtype in ELEMENTS:
        if (sample := on_edges(get(name), dtype)) is not None:
            check(get(name), sample)
