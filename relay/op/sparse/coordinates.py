"""Sparse tensors in coordinate (COO) format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from relay import dtypes, te
from relay.errors import MATCHING, NONZERO, EvaluationError
from relay.extents import LARGEST_SIZE
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Call, Expr, TupleWrapper, const
from relay.ir.types import TensorType, TupleType, Type
from relay.op.building.numerics import convert
from relay.op.gradient_rules import (
    NO_FLOATS,
    ArgumentGradient,
    Backward,
    Composed,
    added_at,
    build,
    numbered,
)
from relay.op.known import is_known
from relay.op.loop_nest import spread
from relay.op.opdef import FusionKind, Tensor, define, get, sample
from relay.op.site import INTEGER, Site
from relay.op.tensor.positions import distances

# --- to a dense tensor -------------------------------------------------------------------------


@attrs
class SparseToDenseAttrs(Attrs):
    """output_shape: the shape of the result"""

    output_shape: tuple[int, ...]


def sparse_values_type(site: Site, rank: int) -> TensorType | None:
    """The values of a COO tensor of that rank; None while something is unknown.

    Coordinates are a scalar (one element), a vector (positions along one axis), or a matrix.
    """
    site.require_elements(0, INTEGER)
    site.tensor(2, rank=0)
    indices, values = site.tensor(0), site.tensor(1)
    if indices is None or values is None:
        return None
    site.require(
        len(indices.shape) <= 2,
        "argument `sparse_indices` has the wrong rank",
        "2 or less",
        str(indices),
    )
    given = indices.shape[1] if len(indices.shape) == 2 else 1
    site.require_equal(given, rank, "coordinates and the rank of the result")
    site.require(
        len(values.shape) <= min(1, len(indices.shape)),
        "argument `sparse_values` has the wrong rank",
        "one value for each row of indices, or one for all",
        f"{values}, for {indices}",
    )
    if values.shape:
        site.require_equal(indices.shape[0], values.shape[0], "the number of indices and values")
    return values


def _sparse_to_dense_type(site: Site) -> Type | None:
    """The given shape, with the element type of the values."""
    shape = site.attrs.output_shape
    for extent in shape:
        site.require(extent >= 0, "an extent is negative", "0 or more", str(extent))
    values = sparse_values_type(site, len(shape))
    return None if values is None else TensorType(shape, values.dtype)


def _sparse_to_dense(
    indices: np.ndarray, values: np.ndarray, default_value: np.ndarray, output_shape: Sequence[int]
) -> np.ndarray:
    result = np.full(output_shape, convert(default_value, dtypes.canonical(values.dtype)))
    rows = indices.astype(np.int64)
    rows = rows if rows.ndim == 2 else rows.reshape(-1, 1)
    inside = ((rows >= 0) & (rows < np.array(output_shape, np.int64))).all(1)
    each = np.broadcast_to(values, rows.shape[:1])
    result[tuple(rows[inside].T)] = each[inside]
    return result


def sparse_to_dense_loops(
    indices: te.Tensor,
    values: te.Tensor,
    default_value: te.Tensor,
    *_: te.Tensor,
    out: te.Spec,
    **__: Any,
) -> te.Tensor:
    """Fill a tensor of the shape of `out`."""
    count = indices.shape[0] if indices.rank else te.index(1)

    def write(b: te.Builder, result: te.Buffer) -> None:
        with spread(b, result.shape) as i:
            b.store(result, i, te.cast(default_value[()], out.dtype))
        # sequential, so that the last value of an element wins
        with b.loop(count) as row:
            own = (row,) if indices.rank else ()
            rank = len(out.shape) if indices.rank == 2 else 1
            named = [
                b.let(te.index(indices[(*own, axis) if indices.rank == 2 else own]))
                for axis in range(rank)
            ]
            inside = [te.every(n >= 0, n < d) for n, d in zip(named, out.shape, strict=True)]
            for axis, fits in enumerate(inside):
                b.expect(fits, named[axis], out.shape[axis], f"an index along axis {axis}")
            with b.if_(te.every(*inside)):
                b.store(result, tuple(named), values[own if values.rank else ()])

    inputs = [indices, values, default_value]
    return te.procedure(inputs, [(out.shape, out.dtype)], write, "sparse_to_dense")[0]


def sparse_to_dense(
    sparse_indices: Expr,
    output_shape: int | Sequence[int] | Expr,
    sparse_values: Expr,
    default_value: Expr | float = 0,
) -> Call:
    """The dense tensor of coordinates and values. Its shape may be a tensor, `default_value` a
    number."""
    filler = default_value
    if not isinstance(filler, Expr | TupleWrapper):
        filler = const(filler)
    if is_known(output_shape):
        return SPARSE_TO_DENSE(sparse_indices, sparse_values, filler, output_shape=output_shape)
    return get("dyn.sparse_to_dense")(sparse_indices, sparse_values, filler, output_shape)


def _scattered(site: Backward) -> Expr:
    """The values written into a tensor of the default."""
    indices, values, default, *shape = site.args
    ty, own = site.type, site.tensor_type(values)
    filler = default.astype(ty.dtype) if site.tensor_type(default).dtype != ty.dtype else default
    dense = (
        build("dyn.full", filler, *shape, dtype=ty.dtype)
        if shape
        else build("full", filler, shape=site.attrs.output_shape, dtype=ty.dtype)
    )
    wide = build("cast", indices, dtype="int64")
    # negative coordinates are out of range here
    nowhere = build("full_like", wide, const(2**40, "int64"))
    places = build("where", build("less", wide, const(0, "int64")), nowhere, wide)
    if len(site.tensor_type(indices).shape) == 2:
        places = build("transpose", places, axes=(1, 0))
    else:
        places = build("reshape", places, newshape=(1, -1))
    row = build("take", places, const(0, "int64"), axis=0)
    if own.shape:
        row_of_values = values
    else:
        row_of_values = build("broadcast_to_like", values, row.astype(ty.dtype))
    return build("scatter_nd", dense, places, row_of_values, mode="update")


SPARSE_TO_DENSE = define(
    "sparse_to_dense",
    doc="A dense tensor with the given values at their coordinates and another value elsewhere. "
    "Coordinates out of range are ignored; of several values of one element the last wins.",
    arguments=[
        ("sparse_indices", "a row of coordinates for each value, integers"),
        ("sparse_values", "the values, or one for all"),
        ("default_value", "the value elsewhere, a scalar, which is converted"),
    ],
    attrs=SparseToDenseAttrs,
    relation=_sparse_to_dense_type,
    reference=_sparse_to_dense,
    compute=sparse_to_dense_loops,
    helper=sparse_to_dense,
    samples=[
        sample(Tensor((3, 2), "int32", 0, 3), (3,), (), output_shape=(3, 4)),
        sample(
            Tensor((4,), "int64", -1, 7), (), Tensor((), "float32"), dtype="int8", output_shape=5
        ),
        sample(Tensor((), "int32", 0, 3), (), (), dtype="float16", output_shape=(3,)),
        sample(Tensor((0, 3), "int32"), (0,), (), dtype="bool", output_shape=(2, 0, 2)),
    ],
    gradient=Composed(_scattered),
)

# --- empty rows --------------------------------------------------------------------------------


def _sparse_fill_empty_rows_type(site: Site) -> Type | None:
    """((?, rank), (?,), (rows,)): the lists grow by the empty rows."""
    for index in (0, 2):
        site.require_elements(index, INTEGER)
    indices, values = site.tensor(0, rank=2), site.tensor(1, rank=1)
    shape, default = site.tensor(2, rank=1), site.tensor(3)
    if indices is None or values is None:
        return None
    rank = indices.shape[1]
    if shape is not None:
        rank = site.require_equal(rank, shape.shape[0], "coordinates and extents")
    if default is not None:
        site.require_same_dtype(values, default)
        site.require(
            len(default.shape) <= 1,
            "argument `default_value` has the wrong rank",
            "a scalar, or a tensor of 1 element",
            str(default),
        )
        if default.shape:
            site.require_equal(default.shape[0], 1, "the default value and one element")
    site.require_equal(indices.shape[0], values.shape[0], "the number of indices and values")
    return TupleType(
        (
            TensorType((dims.ANY, rank), indices.dtype),
            TensorType((dims.ANY,), values.dtype),
            TensorType((dims.ANY,), "int64"),
        )
    )


def _rows(indices: np.ndarray, dense_shape: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number of elements of each row, and which elements are in range."""
    if len(dense_shape) == 0:
        raise EvaluationError.of(
            "a sparse tensor without axes has no rows", expected="1 axis or more", found="none"
        )
    count = int(dense_shape[0])
    inside = (indices[:, 0] >= 0) & (indices[:, 0] < count)
    return np.bincount(indices[inside, 0].astype(np.int64), minlength=count), inside


def _sparse_fill_empty_rows(
    indices: np.ndarray, values: np.ndarray, dense_shape: np.ndarray, default_value: np.ndarray
) -> tuple[np.ndarray, ...]:
    counts, inside = _rows(indices, dense_shape)
    empty = np.flatnonzero(counts == 0)
    added = np.zeros((len(empty), indices.shape[1]), indices.dtype)
    added[:, 0] = empty
    rows = np.concatenate([indices[inside], added])
    filled = np.concatenate([values[inside], np.full(len(empty), default_value, values.dtype)])
    order = np.argsort(rows[:, 0], kind="stable")
    return rows[order], filled[order], (counts == 0).astype(np.int64)


def _sparse_fill_empty_rows_shape(
    indices: np.ndarray, values: np.ndarray, dense_shape: np.ndarray, default_value: np.ndarray
) -> tuple[tuple[int, ...], ...]:
    counts, inside = _rows(indices, dense_shape)
    number = int(inside.sum() + (counts == 0).sum())
    return (number, indices.shape[1]), (number,), (len(counts),)


def _filled_rows_capacity(
    indices: te.Tensor, values: te.Tensor, dense_shape: te.Tensor, _: te.Tensor
) -> tuple[tuple[te.Scalar, ...], ...]:
    rows = te.index(dense_shape[0])
    most = indices.shape[0] + rows
    return (most, indices.shape[1]), (most,), (rows,)


def _filled_rows_loops(
    indices: te.Tensor,
    values: te.Tensor,
    dense_shape: te.Tensor,
    default_value: te.Tensor,
    out: tuple[te.Spec, ...],
) -> tuple[te.Tensor, ...]:
    """A counting sort by row."""
    count, rank = indices.shape
    (rows,) = out[2].shape

    def write(
        b: te.Builder, places: te.Buffer, filled: te.Buffer, empty: te.Buffer, shapes: te.Buffer
    ) -> None:
        following = b.local("int64", (rows,), "following")
        with b.loop(rows) as row:
            b.store(following, row, 0)
        with b.loop(count) as k, row_of(b, k) as row:
            b.store(following, row, following[row] + 1)
        total = b.variable("int64", 0, "total")
        with b.loop(rows) as row:
            start = b.let(total[()])
            size = b.let(following[row])
            b.store(following, row, start)
            b.store(empty, row, te.cast(te.equal(size, 0), "int64"))
            with b.if_(te.equal(size, 0)):
                b.store(filled, start, default_value[(0,) * default_value.rank])
                with b.loop(rank) as axis:
                    number = te.select(te.equal(axis, 0), row, te.index(0))
                    b.store(places, (start, axis), te.cast(number, out[0].dtype))
            b.store(total, (), start + te.maximum(size, 1))
        with b.loop(count) as k, row_of(b, k) as row:
            at = b.let(following[row])
            b.store(filled, at, values[k])
            with b.loop(rank) as axis:
                b.store(places, (at, axis), indices[k, axis])
            b.store(following, row, at + 1)
        found: list[tuple[te.Scalar, te.Scalar]] = [(total[()], rank), (total[()], 1), (rows, 1)]
        for result, extents in enumerate(found):
            for place, extent in enumerate(extents):
                b.store(shapes, (result, place), extent)

    @contextmanager
    def row_of(b: te.Builder, k: te.Expr) -> Iterator[te.Expr]:
        """The row of an element, if it is in range."""
        row = b.let(te.index(indices[k, 0]))
        with b.if_(te.every(row >= 0, row < rows)):
            yield row

    outputs = [*((spec.shape, spec.dtype) for spec in out), ((3, 2), "int64")]
    inputs = [indices, values, dense_shape, default_value]
    return te.procedure(inputs, outputs, write, "sparse_fill_empty_rows")


def sparse_fill_empty_rows(
    sparse_indices: Expr, sparse_values: Expr, dense_shape: Expr, default_value: Expr
) -> TupleWrapper:
    """A sparse tensor with a value in every row, and a flag for each row that was empty."""
    call = SPARSE_FILL_EMPTY_ROWS(sparse_indices, sparse_values, dense_shape, default_value)
    return TupleWrapper(call, 3)


def _filled_rows_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """Gradients go back to where the values came from; the default is behind the values."""
    indices, values, shape, default = site.args
    gradient = site.gradients[1]
    if gradient is None:
        return []
    row = build("reshape", default, newshape=(-1,))
    known = {row: TensorType((1,), site.tensor_type(default).dtype)}
    known[values] = site.tensor_type(values)
    places, last = numbered([values, row], known.__getitem__)
    last = build("reshape_like", last, default)
    moved = build("sparse_fill_empty_rows", indices, places, shape, last)
    total = build("zeros_like", build("concatenate", [values, row]))
    added = added_at(total, moved[1], gradient)
    return [
        None,
        build("take", added, places, axis=0),
        None,
        build("take", added, last, axis=0),
    ]


SPARSE_FILL_EMPTY_ROWS = define(
    "sparse_fill_empty_rows",
    doc="The coordinates and values of a sparse tensor sorted by row, with a value at the "
    "beginning of each empty row; and, for each row, 1 if it was empty. Rows out of range are "
    "dropped.",
    arguments=[
        ("sparse_indices", "a row of coordinates for each value, integers"),
        ("sparse_values", "the values"),
        ("dense_shape", "the shape of the tensor, integers"),
        ("default_value", "the value for empty rows, a scalar or a tensor of 1 element"),
    ],
    relation=_sparse_fill_empty_rows_type,
    reference=_sparse_fill_empty_rows,
    compute=_filled_rows_loops,
    capacity=_filled_rows_capacity,
    runtime_shape=_sparse_fill_empty_rows_shape,
    helper=sparse_fill_empty_rows,
    samples=[
        sample(
            np.array([[0, 1], [0, 3], [2, 0], [3, 1]], "int64"), (4,), np.array([5, 6], "int64"), ()
        ),
        sample(
            np.array([[4, 1, 0], [1, 0, 2], [4, 0, 0]], "int32"),
            (3,),
            np.array([6, 2, 3], "int32"),
            (),
            dtype="int64",
        ),
        sample(np.array([[2, 1]], "int64"), (1,), np.array([4, 2], "int64"), (1,)),
        sample(np.zeros((0, 2), "int64"), (0,), np.array([3, 2], "int64"), (), dtype="float16"),
        sample(np.zeros((0, 1), "int64"), (0,), np.array([0], "int64"), (), dtype="int8"),
    ],
    gradient=_filled_rows_gradient,
)

# --- another shape -----------------------------------------------------------------------------


def _sparse_reshape_type(site: Site) -> Type | None:
    """((number, new rank), (new rank,)): new coordinates, and the shape without -1."""
    for index in range(3):
        site.require_elements(index, INTEGER)
    indices, old = site.tensor(0, rank=2), site.tensor(1, rank=1)
    new = site.tensor(2, rank=1)
    if indices is None or new is None:
        return None
    if old is not None:
        site.require_equal(indices.shape[1], old.shape[0], "coordinates and extents")
    return TupleType((TensorType((indices.shape[0], new.shape[0]), indices.dtype), new))


def _sparse_reshape(
    indices: np.ndarray, prev_shape: np.ndarray, new_shape: np.ndarray
) -> tuple[Any, ...]:
    before, after = prod(prev_shape.tolist()), new_shape.tolist()
    for name, shape in (("prev_shape", prev_shape.tolist()), ("new_shape", after)):
        if min(shape, default=0) < -1 or prod(max(extent, 1) for extent in shape) > LARGEST_SIZE:
            raise EvaluationError.of(
                f"an extent of `{name}` is out of range",
                expected="less than 2^63 elements",
                found=str(shape),
            )
    unknown = [axis for axis, extent in enumerate(after) if extent == -1]
    rest = prod(extent for extent in after if extent != -1)
    if len(unknown) == 1 and rest:
        after[unknown[0]] = before // rest
    if prod(after) != before or any(extent < 0 for extent in [*prev_shape, *after]):
        raise EvaluationError.of(
            "the number of elements of a sparse tensor changes",
            expected=f"{before} elements, as {prev_shape.tolist()} has",
            found=f"{new_shape.tolist()}",
        )
    place = np.zeros(len(indices), np.int64)
    for axis, extent in enumerate(prev_shape.tolist()):
        place = place * extent + indices[:, axis].astype(np.int64)
    found = np.empty((len(indices), len(after)), indices.dtype)
    for axis, extent in reversed(list(enumerate(after))):
        found[:, axis] = place % max(extent, 1)
        place = place // max(extent, 1)
    return found, np.array(after, new_shape.dtype)


def _elements(b: te.Builder, shape: te.Tensor, name: str, least: int) -> tuple[te.Expr, te.Expr]:
    """The product of the extents other than -1, checked to fit into int64, and how many are -1."""
    number, bound, unknown = (b.variable("int64", n) for n in (1, 1, 0))
    with b.loop(shape.shape[0]) as axis:
        extent = b.let(te.index(shape[axis]))
        size = b.let(te.maximum(extent, 1))
        with b.if_(te.some(extent < least, bound[()] > LARGEST_SIZE // size)):
            b.fail(extent, LARGEST_SIZE, f"an extent of `{name}`")
        b.store(bound, (), bound[()] * size)
        with b.if_(te.equal(extent, -1)):
            b.store(unknown, (), unknown[()] + 1)
        with b.else_():
            b.store(number, (), number[()] * extent)
    return b.let(number[()]), b.let(unknown[()])


def _sparse_reshape_compute(
    indices: te.Tensor, prev_shape: te.Tensor, new_shape: te.Tensor, out: tuple[te.Spec, ...]
) -> tuple[te.Tensor, ...]:
    def write(b: te.Builder, extents: te.Buffer) -> None:
        """The new shape, if it has the elements of the old one."""
        before, _ = _elements(b, prev_shape, "prev_shape", least=0)
        rest, unknown = _elements(b, new_shape, "new_shape", least=-1)
        with b.if_(unknown > 1):
            b.fail(unknown, 2, "the number of extents of `new_shape` to be inferred")
        with b.if_(te.every(te.equal(unknown, 1), te.equal(rest, 0))):
            b.fail(rest, 0, f"the number of elements beside an inferred extent, {NONZERO}")
        inferred = b.let(before // te.maximum(rest, 1))
        after = b.let(te.select(te.equal(unknown, 1), inferred * rest, rest))
        with b.if_(te.not_equal(after, before)):
            b.fail(after, before, f"the number of elements of a sparse tensor, {MATCHING}")
        with b.loop(new_shape.shape[0]) as axis:
            asked = te.index(new_shape[axis])
            b.store(extents, axis, te.select(te.equal(asked, -1), inferred, asked))

    old = te.axis(prev_shape.shape[0])
    (extents,) = te.procedure([prev_shape, new_shape], [(new_shape.shape, "int64")], write, "shape")
    old_steps = distances(prev_shape.shape[0], lambda axis: te.index(prev_shape[axis]))
    new_steps = distances(new_shape.shape[0], lambda axis: te.maximum(extents[axis], 1))
    places = te.compute(
        indices.shape[:1],
        lambda row: te.sum(te.index(indices[row, old]) * old_steps[old], old),
    )

    def coordinate(row: te.Expr, axis: te.Expr) -> te.Expr:
        line = places[row] // new_steps[axis]
        return te.cast(line % te.maximum(extents[axis], 1), out[0].dtype)

    return (
        te.compute(out[0].shape, coordinate),
        te.compute(out[1].shape, lambda axis: te.cast(extents[axis], out[1].dtype)),
    )


def sparse_reshape(sparse_indices: Expr, prev_shape: Expr, new_shape: Expr) -> TupleWrapper:
    """The coordinates of a sparse tensor under another shape, and that shape."""
    return TupleWrapper(SPARSE_RESHAPE(sparse_indices, prev_shape, new_shape), 2)


SPARSE_RESHAPE = define(
    "sparse_reshape",
    doc="The coordinates of the same elements under another shape, and that shape, where one "
    "extent may be -1 to be inferred.",
    arguments=[
        ("sparse_indices", "a row of coordinates for each element, integers"),
        ("prev_shape", "the old shape, integers"),
        ("new_shape", "the new shape, integers"),
    ],
    relation=_sparse_reshape_type,
    reference=_sparse_reshape,
    compute=_sparse_reshape_compute,
    fusion=FusionKind.INJECTIVE,
    helper=sparse_reshape,
    samples=[
        sample(
            np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 2, 3]], "int64"),
            np.array([2, 3, 6], "int64"),
            np.array([9, -1], "int64"),
        ),
        sample(
            np.array([[3, 1], [0, 2]], "int32"), np.array([4, 3], "int64"), np.array([12], "int32")
        ),
        sample(np.zeros((0, 2), "int64"), np.array([2, 6], "int64"), np.array([-1, 2, 3], "int64")),
    ],
    gradient=NO_FLOATS,
)
