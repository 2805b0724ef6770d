"""Illegal uses of every operator, made from its legal samples by changing one thing.

What is refused is refused with a message that names the operator and says what was expected and
what was found. What is accepted is computed, and the result has the inferred type: a relation never
promises what the reference does not keep.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from relay import dtypes
from relay.check.infer import infer_expr
from relay.errors import EvaluationError, RelayError
from relay.ir import dims
from relay.ir.expr import Call, Var, op_names
from relay.ir.types import TensorType, TupleType, Type
from relay.op.opdef import OpDef, Sample, get

DTYPES = (
    "bool",
    "int8",
    "uint8",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
)
# A legal but enormous result is not computed, nor one of more axes than arrays have.
MOST_ELEMENTS = 1 << 20
MOST_AXES = 32
# Where the values of arguments decide, so that a run may still refuse what has a type.
VALUES_DECIDE = {
    "arange": "how many steps there are",
    "check_indices": "whether the indices are in range",
    "collapse_sum_to": "the shape",
    "device_copy": "whether the machine has the device",
    "invert_permutation": "whether it is a permutation",
    "nn.internal.sparse_dense_padded": "where elements are stored",
    "nn.sparse_add": "where elements are stored",
    "nn.sparse_conv2d": "where elements are stored",
    "nn.sparse_dense": "where elements are stored",
    "nn.sparse_transpose": "where elements are stored",
    "sparse_reshape": "the shape",
    "on_device": "whether the machine has the device",
    "strided_set": "the bounds of the slice",
    "dyn.broadcast_to": "the shape",
    "dyn.expand_dims": "the axis",
    "dyn.image.resize2d": "the size, which may be 0",
    "dyn.nn.pad": "the padding",
    "dyn.nn.upsampling": "the factors, which may be 0",
    "dyn.nn.upsampling3d": "the factors, which may be 0",
    "dyn.reshape": "the shape",
    "dyn.squeeze": "the axes",
    "dyn.strided_slice": "the bounds",
    "dyn.topk": "the number of elements",
    "vm.reshape_tensor": "the shape",
}
# In CI each kind of change is tried this often for an operator, spread over its samples.
TRIED_IN_CI = 6


@dataclass(frozen=True)
class Variant:
    """A sample with one thing changed."""

    kind: str
    what: str
    values: tuple[Any, ...]
    attrs: dict[str, Any]
    must_fail: bool = False


# --- changes -------------------------------------------------------------------------------------


def variants(op: OpDef, sample: Sample) -> Iterator[Variant]:
    values, attrs = sample.values(), dict(sample.attrs)
    yield from other_counts(op, values, attrs)
    for index, value in enumerate(values):
        parts = value if isinstance(value, tuple) else (value,)
        yield from other_structure(values, attrs, index)
        for part, array in enumerate(parts):
            for kind, what, changed in other_arrays(array):
                new = changed
                if isinstance(value, tuple):
                    new = (*parts[:part], changed, *parts[part + 1 :])
                where = f"argument {index}.{part}: {what}"
                yield Variant(kind, where, replaced(values, index, new), attrs)
    given = op.make_attrs(attrs)
    for name, value in given.items() if given else ():
        for other in other_attributes(value):
            yield Variant("attribute", f"{name} = {other!r}", values, {**attrs, name: other})


def replaced(values: tuple[Any, ...], index: int, new: Any) -> tuple[Any, ...]:
    return (*values[:index], new, *values[index + 1 :])


def other_counts(op: OpDef, values: tuple[Any, ...], attrs: dict[str, Any]) -> Iterator[Variant]:
    if op.variadic:
        return
    if values:
        yield Variant("count", "an argument less", values[:-1], attrs, must_fail=True)
        yield Variant("count", "no argument", (), attrs, must_fail=True)
    extra = (*values, np.zeros((2, 3), "float32"))
    yield Variant("count", "an argument more", extra, attrs, must_fail=True)


def other_structure(
    values: tuple[Any, ...], attrs: dict[str, Any], index: int
) -> Iterator[Variant]:
    value = values[index]
    if isinstance(value, tuple):
        tensor = value[0] if value else np.zeros((2, 3), "float32")
        changed = {"a tensor for a tuple": tensor, "no parts": (), "nested": (value,)}
    else:
        changed = {"a tuple for a tensor": (value,), "a pair": (value, value), "no parts": ()}
    for what, new in changed.items():
        yield Variant("structure", f"argument {index}: {what}", replaced(values, index, new), attrs)


def other_arrays(array: np.ndarray) -> Iterator[tuple[str, str, np.ndarray]]:
    yield "rank", "an axis of 1 more in front", array[None]
    yield "rank", "an axis of 2 more in front", np.repeat(array[None], 2, 0)
    yield "rank", "an axis of 2 more behind", np.repeat(array[..., None], 2, -1)
    if array.ndim and array.shape[0]:
        yield "rank", "an axis less in front", array[0]
    if array.ndim and array.shape[-1]:
        yield "rank", "an axis less behind", array[..., 0]
    for dtype in DTYPES:
        if dtype != dtypes.canonical(array.dtype):
            with np.errstate(all="ignore"):
                yield "dtype", dtype, array.astype(dtypes.to_numpy(dtype))
    for axis, extent in enumerate(array.shape):
        if extent:
            longer = np.concatenate([array, array.take([0], axis)], axis)
            yield "extent", f"axis {axis} longer", longer
            yield "extent", f"axis {axis} shorter", array.take(range(extent - 1), axis)
            yield "extent", f"axis {axis} empty", array.take([], axis).astype(array.dtype)


def other_attributes(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (99, -99, -1, 0, 1)
    elif isinstance(value, float):
        yield from (-value - 1, 0.0, float("inf"), float("nan"))
    elif isinstance(value, str):
        yield from ("nonsense", "", "int32", "bool")
    elif value is None:
        yield from (0, -1, 99, (), (0,), (-1, 99), "nonsense")
    elif isinstance(value, tuple):
        yield from ((), (*value, 1), value[:-1])
        for index, part in enumerate(value):
            for other in other_attributes(part):
                yield (*value[:index], other, *value[index + 1 :])
    yield "nonsense"


# --- what must hold ------------------------------------------------------------------------------


def problem(op: OpDef, variant: Variant) -> str | None:
    """What is wrong with how `op` takes this variant; None when nothing is."""
    try:
        attrs = op.make_attrs(variant.attrs)
        args = tuple(Var(f"x{i}", type_of(v)) for i, v in enumerate(variant.values))
        inferred = infer_expr(Call(op, args, attrs)).checked_type
    except RelayError as error:
        text = str(error)
        said = "found" in text and ("expected" in text or "must be" in text)
        if not said or f"`{op.name}`" not in text:
            return f"the message lacks the operator, what was expected or what was found: {text}"
        return None
    except Exception as error:
        return f"inference crashed: {type(error).__name__}: {error}"
    if variant.must_fail:
        return f"accepted, as {inferred}"
    if (count := elements(inferred)) is None:
        return f"the inferred type is impossible: {inferred}"
    if count > MOST_ELEMENTS or axes(inferred) > MOST_AXES:
        return None
    try:
        computed = op.reference(*variant.values, **(dict(attrs.items()) if attrs else {}))
    except EvaluationError as error:
        said = "expected" in str(error) and "found" in str(error)
        if said and op.name in VALUES_DECIDE:
            return None
        return f"accepted as {inferred}, but evaluation fails: {error}"
    except Exception as error:
        return f"accepted as {inferred}, but the reference fails: {type(error).__name__}: {error}"
    if not covers(inferred, type_of(computed)):
        return f"accepted as {inferred}, computed as {type_of(computed)}"
    return None


def type_of(value: Any) -> Type:
    if isinstance(value, tuple):
        return TupleType(tuple(map(type_of, value)))
    return TensorType(value.shape, dtypes.canonical(value.dtype))


def elements(ty: Type) -> int | None:
    """How many numbers a value holds, `?` counted as one; None when an extent is negative."""
    if isinstance(ty, TupleType):
        counts = [elements(field) for field in ty.fields]
        return None if None in counts else sum(counts)
    assert isinstance(ty, TensorType)
    known = [extent for extent in ty.shape if isinstance(extent, int)]
    return None if any(extent < 0 for extent in known) else int(np.prod(known, dtype=object))


def axes(ty: Type) -> int:
    if isinstance(ty, TupleType):
        return max(map(axes, ty.fields), default=0)
    assert isinstance(ty, TensorType)
    return len(ty.shape)


def covers(general: Type, special: Type) -> bool:
    """Whether `special` is `general`, up to `?`, which is any number."""
    if isinstance(general, TupleType) and isinstance(special, TupleType):
        same_length = len(general.fields) == len(special.fields)
        return same_length and all(map(covers, general.fields, special.fields))
    if not isinstance(general, TensorType) or not isinstance(special, TensorType):
        return False
    return (
        general.dtype == special.dtype
        and len(general.shape) == len(special.shape)
        and all(
            isinstance(g, dims.Any) or g == s
            for g, s in zip(general.shape, special.shape, strict=True)
        )
    )


# --- the tests -----------------------------------------------------------------------------------


def problems(op: OpDef, chosen: list[tuple[int, Variant]]) -> list[str]:
    found = ((number, variant, problem(op, variant)) for number, variant in chosen)
    return [f"sample {n}, {v.kind}, {v.what}: {text}" for n, v, text in found if text is not None]


def all_variants(op: OpDef) -> list[tuple[int, Variant]]:
    return [(n, v) for n, sample in enumerate(op.samples) for v in variants(op, sample)]


def some_variants(op: OpDef) -> list[tuple[int, Variant]]:
    """A few of each kind: the first, the last, and others evenly spread between them."""
    kinds: dict[str, list[tuple[int, Variant]]] = {}
    for number, variant in all_variants(op):
        kinds.setdefault(variant.kind, []).append((number, variant))
    return [
        found[place]
        for found in kinds.values()
        for place in sorted({i * (len(found) - 1) // TRIED_IN_CI for i in range(TRIED_IN_CI + 1)})
    ]


@pytest.mark.parametrize("name", op_names())
def test_what_is_refused_is_explained_and_what_is_accepted_is_computed(name: str) -> None:
    op = get(name)
    assert not problems(op, some_variants(op))


@pytest.mark.full
@pytest.mark.parametrize("name", op_names())
def test_every_change_of_every_sample(name: str) -> None:
    op = get(name)
    assert not problems(op, all_variants(op))


def test_values_decide_only_for_operators_that_are_there() -> None:
    assert set(VALUES_DECIDE) <= set(op_names())
