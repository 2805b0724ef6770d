"""Every operator in the table keeps the promises that a record makes.

A new record is tested by being there.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import relay
from relay import dtypes
from relay.check.infer import infer_expr
from relay.errors import TypeCheckError
from relay.ir import dims
from relay.ir.compare import assert_structural_equal
from relay.ir.dims import Dim
from relay.ir.expr import Call, Function, Var, op_names
from relay.ir.types import ShapeVar, TensorType, TupleType, Type, substitute
from relay.op.attributes import meanings
from relay.op.opdef import OpDef, Sample, get
from tests.op.samples import every_sample
from tests.support.looping import each
from tests.support.sampling import some_of

NAMES = op_names()

# What a variable extent is tried with: nothing, one, small, and larger than what samples have.
EXTENTS = (0, 1, 2, 3, 4, 5, 6, 7, 12)

# All their extents are compared with numbers, or count axes; a variable never equals those.
OF_NUMBERS = (
    "auto_scheduler_layout_transform",
    "broadcast_to",
    "dyn.full",
    "dyn.ones",
    "dyn.random.normal",
    "dyn.random.uniform",
    "dyn.zeros",
    "random.normal",
    "random.threefry_generate",
    "random.threefry_split",
    "random.uniform",
)

# Where an extent decides how many axes the result has, so that it must be a number: the argument
# whose first one it is, or None for all extents, and the attribute that settles it otherwise, if
# there is one.
RANK_FROM: dict[str, tuple[int | None, str]] = {
    "collapse_sum_to": (1, "shape"),
    "dyn.broadcast_to": (1, ""),
    "dyn.full": (1, ""),
    "dyn.ones": (0, ""),
    "dyn.random.normal": (3, ""),
    "dyn.random.uniform": (3, ""),
    "dyn.reshape": (1, ""),
    "dyn.sparse_to_dense": (3, ""),
    "dyn.squeeze": (1, ""),
    "dyn.tile": (1, ""),
    "dyn.zeros": (0, ""),
    "gather_nd": (1, "index_rank"),
    "squeeze": (None, "axis"),
}

# Operators whose Python function is known under another name.
PYTHON_NAMES = {
    "contrib_reverse_reshape": "reverse_reshape",
    "nn.contrib_conv2d_NCHWc": "nn.contrib_conv2d_nchwc",
    "nn.contrib_depthwise_conv2d_NCHWc": "nn.contrib_depthwise_conv2d_nchwc",
    "on_device": "annotation.on_device",
    "relay.op.annotation.simulated_quantize": "annotation.simulated_quantize",
    "call_lowered": "vm.call_lowered",
    "nn.internal.sparse_dense_padded": "nn.sparse_dense_padded",
}


def infer(op: OpDef, types: tuple[Type, ...], sample: Sample) -> Type:
    args = tuple(Var(f"x{i}", ty) for i, ty in enumerate(types))
    return infer_expr(Call(op, args, op.make_attrs(sample.attrs))).checked_type


def compute(op: OpDef, sample: Sample) -> Any:
    attrs = op.make_attrs(sample.attrs)
    values = sample.values()
    for value in values:
        for array in value if isinstance(value, tuple) else (value,):
            array.flags.writeable = False
    return op.reference(*values, **(dict(attrs.items()) if attrs else {}))


def type_of(value: Any) -> Type:
    if isinstance(value, tuple):
        return TupleType(tuple(map(type_of, value)))
    assert isinstance(value, np.ndarray)
    return TensorType(value.shape, dtypes.canonical(value.dtype))


def covers(general: Type, special: Type) -> bool:
    """Whether `special` is `general`, up to `?`, which is any number."""
    if isinstance(general, TupleType) and isinstance(special, TupleType):
        pairs = zip(general.fields, special.fields, strict=True)
        return len(general.fields) == len(special.fields) and all(covers(*p) for p in pairs)
    assert isinstance(general, TensorType) and isinstance(special, TensorType)
    return (
        general.dtype == special.dtype
        and len(general.shape) == len(special.shape)
        and all(
            isinstance(g, dims.Any) or g == s
            for g, s in zip(general.shape, special.shape, strict=True)
        )
    )


Place = tuple[int, int, int]  # argument, part of it, axis


def places(types: tuple[Type, ...]) -> Iterator[tuple[Place, int]]:
    """Every axis of every argument, with its extent."""
    for index, ty in enumerate(types):
        parts = ty.fields if isinstance(ty, TupleType) else (ty,)
        for number, part in enumerate(parts):
            for axis, extent in enumerate(part.shape):
                yield (index, number, axis), extent


def replaced(types: tuple[Type, ...], at: set[Place], extent: Dim) -> tuple[Type, ...]:
    """`types` with another extent in some places."""

    def tensor(ty: TensorType, index: int, number: int) -> TensorType:
        shape = [extent if (index, number, a) in at else d for a, d in enumerate(ty.shape)]
        return TensorType(tuple(shape), ty.dtype)

    return tuple(
        TupleType(tuple(tensor(part, index, n) for n, part in enumerate(ty.fields)))
        if isinstance(ty, TupleType)
        else tensor(ty, index, 0)
        for index, ty in enumerate(types)
    )


def selections(types: tuple[Type, ...]) -> list[set[Place]]:
    """Each axis alone, the axes of equal extent together, and all of them."""
    found = dict(places(types))
    alone = [{place} for place in found]
    equal = [{p for p in found if found[p] == extent} for extent in set(found.values())]
    chosen = [*alone, *equal, set(found)]
    return [c for i, c in enumerate(chosen) if c and c not in chosen[:i]]


def decides_rank(op: OpDef, sample: Sample, at: set[Place]) -> bool:
    """Whether the number of axes of the result depends on an extent at one of these places."""
    argument, attribute = RANK_FROM.get(op.name, (-1, ""))
    if attribute in sample.attrs:
        return False
    return any(argument is None or (index, axis) == (argument, 0) for index, _, axis in at)


def attempt(infer_type: Callable[[], Type]) -> Type | None:
    try:
        return infer_type()
    except TypeCheckError:
        return None


# --- what is written down ----------------------------------------------------------------------


@each("name", NAMES)
def test_a_record_is_complete(name: str) -> None:
    op = get(name)
    assert op.doc.endswith("."), "a record says in a sentence what the operator does"
    assert op.reference is not None and op.relation is not None
    assert op.samples or op.on_values, "only values that are no tensors cannot be given as samples"
    assert all(argument and meaning for argument, meaning in op.arguments)
    assert op.signature.startswith("(")
    if op.attrs is not None:
        assert set(meanings(op.attrs)) == set(op.attrs.keys())


@each("name", [n for n in NAMES if get(n).attrs and get(n).samples])
def test_samples_try_every_attribute_away_from_its_default(name: str) -> None:
    op = get(name)
    assert op.attrs is not None
    defaults = op.attrs.defaults()
    tried = {
        key
        for sample in op.samples
        for key, value in op.make_attrs(sample.attrs).items()
        if key not in defaults or value != defaults[key]
    }
    assert tried == set(op.attrs.keys())


@each("name", [n for n in NAMES if get(n).attrs and get(n).samples])
def test_attributes_are_frozen(name: str) -> None:
    attrs = get(name).make_attrs(get(name).samples[0].attrs)
    key = attrs.keys()[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(attrs, key, None)
    assert hash(attrs) == hash(get(name).make_attrs(get(name).samples[0].attrs))


@each("name", NAMES)
def test_an_operator_is_built_by_its_python_name(name: str) -> None:
    op = get(name)
    # the functions of `qnn.add`, … are found in relay.qnn.op
    public = PYTHON_NAMES.get(name, re.sub("^qnn[.]", "qnn.op.", name))
    *namespaces, last = public.split(".")
    home: Any = relay.op
    for part in namespaces:
        home = getattr(home, part)
    assert last in home.__all__
    assert getattr(home, last) is (op.helper or op)
    assert namespaces or getattr(relay, last) is (op.helper or op)
    if op.helper is not None:
        assert inspect.getdoc(op.helper)


# --- relation and reference --------------------------------------------------------------------


@every_sample
def test_the_inferred_type_is_the_type_of_the_result(op: OpDef, sample: Sample) -> None:
    assert covers(infer(op, sample.types(), sample), type_of(compute(op, sample)))


@every_sample
def test_an_unknown_extent_is_never_refused_and_says_nothing_wrong(
    op: OpDef, sample: Sample
) -> None:
    types = sample.types()
    for at in selections(types):
        if decides_rank(op, sample, at):
            assert attempt(lambda at=at: infer(op, replaced(types, at, dims.ANY), sample)) is None
            continue
        general = infer(op, replaced(types, at, dims.ANY), sample)
        for extent in some_of(EXTENTS, 3):
            special = attempt(lambda e=extent, at=at: infer(op, replaced(types, at, e), sample))
            assert special is None or covers(general, special), f"? = {extent} at {at}"


@pytest.mark.parametrize("name", NAMES)
def test_a_variable_extent_stands_for_every_number(name: str) -> None:
    op = get(name)
    n = ShapeVar("n")
    generalised = 0
    for sample in op.samples:
        types = sample.types()
        for at in selections(types):
            general = attempt(lambda t=types, s=sample, at=at: infer(op, replaced(t, at, n), s))
            if general is None:
                continue  # n is compared with a number there, and no variable equals a number
            generalised += 1
            for extent in some_of(EXTENTS, 3):
                special = attempt(
                    lambda t=types, s=sample, e=extent, at=at: infer(op, replaced(t, at, e), s)
                )
                if special is not None:
                    assert covers(substitute(general, {n: extent}), special), f"n = {extent}"
    tried = any(list(places(sample.types())) for sample in op.samples)
    assert generalised or not tried or name in OF_NUMBERS


@every_sample
def test_a_call_reads_back_as_it_was_written(op: OpDef, sample: Sample) -> None:
    if any(map(callable, sample.attrs.values())):
        return  # a Python function has no text
    params = tuple(Var(f"x{i}", ty) for i, ty in enumerate(sample.types()))
    function = Function(params, Call(op, params, op.make_attrs(sample.attrs)))
    read = relay.parse(relay.IRModule.from_expr(function).astext())
    assert_structural_equal(read["main"], infer_expr(function))


@every_sample
def test_values_do_not_depend_on_how_arguments_lie_in_memory(op: OpDef, sample: Sample) -> None:
    attrs = op.make_attrs(sample.attrs)
    keywords = dict(attrs.items()) if attrs else {}

    def scattered(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(scattered, value))
        return np.asfortranarray(np.repeat(value[..., None], 2, -1))[..., 0]

    expected = op.reference(*sample.values(), **keywords)
    found = op.reference(*map(scattered, sample.values()), **keywords)
    for a, b in zip(
        *((x if isinstance(x, tuple) else (x,)) for x in (expected, found)), strict=True
    ):
        np.testing.assert_allclose(
            a.astype(np.float64),
            b.astype(np.float64),
            rtol=1e-2 if a.dtype.itemsize < 4 else 1e-5,
            atol=1e-6,  # what cancels leaves a small number with a large relative error
        )
