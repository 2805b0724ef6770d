"""cumsum and cumprod."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay import dtypes, te
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Call, Expr, const
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building.elements import position
from relay.op.building.helper import helper
from relay.op.building.numerics import convert, widened
from relay.op.building.scalars import Function, wide
from relay.op.gradient_rules import ArgumentGradient, Backward, Rule, build
from relay.op.loop_nest import nest, spread
from relay.op.opdef import Compute, DType, OpDef, define, sample
from relay.op.relations import size
from relay.op.site import NUMERIC, Site


@attrs
class ScanAttrs(Attrs):
    """axis: the axis; None flattens data first
    dtype: the element type to compute in and of the result; None is that of data
    exclusive: exclude the element at its own position
    rounded: round each total to the element type; otherwise totals of narrow floats are kept in
    float32
    """

    axis: int | None = None
    dtype: DType | None = None
    exclusive: bool = False
    rounded: bool = False


def _scan_type(site: Site) -> Type | None:
    """The shape of data, or a vector of all its elements."""
    known: ScanAttrs = site.attrs
    if (data := site.tensor(0)) is None:
        return None
    dtype = known.dtype or data.dtype
    site.require(
        dtype in NUMERIC.allowed,
        "there are no totals of these elements",
        "numeric elements",
        dtype,
        "name an element type with `dtype`",
    )
    if known.axis is None:
        return TensorType((size(data.shape),), dtype)
    site.axis(known.axis, len(data.shape))
    return TensorType(data.shape, dtype)


def _scan(step: np.ufunc) -> Any:
    def reference(data: np.ndarray, known: ScanAttrs) -> np.ndarray:
        axis, dtype = known.axis, known.dtype
        stored = dtypes.to_numpy(dtype) if dtype else data.dtype
        values = convert(data, dtype) if dtype else data
        values = values if known.rounded else widened(values)
        if axis is None:
            values, axis = values.reshape(-1), 0
        totals = step.accumulate(values, axis, dtype=values.dtype)
        if known.exclusive:
            totals = np.moveaxis(totals, axis, 0)
            shifted = np.full(totals.shape, step.identity, totals.dtype)
            shifted[1:] = totals[:-1]
            totals = np.moveaxis(shifted, 0, axis)
        return totals.astype(stored, copy=False)

    return with_attrs(ScanAttrs, reference)


def _scan_loops(step: Function, identity: int) -> Compute:
    """One running total per line; adjacent lines advance together."""

    def compute(data: te.Tensor, out: te.Spec, known: ScanAttrs) -> te.Tensor:
        axis = known.axis
        counted = wide(out.dtype)

        def advance(
            b: te.Builder,
            total: te.Buffer,
            row: tuple[te.Expr, ...],
            value: te.Expr,
            write: Callable[[te.Expr], None],
        ) -> None:
            before = b.let(total[row])
            after = step(before, te.cast(te.cast(value, out.dtype), counted))
            after = b.let(te.cast(te.cast(after, out.dtype), counted) if known.rounded else after)
            write(te.cast(before if known.exclusive else after, out.dtype))
            b.store(total, row, after)

        def flat(b: te.Builder, result: te.Buffer) -> None:
            total = b.variable(counted, identity)
            with nest(b, data.shape) as i:
                target = position(i, data.shape)
                advance(b, total, (), data[i], lambda value: b.store(result, target, value))

        def rows(b: te.Builder, result: te.Buffer) -> None:
            along = 0 if axis is None else axis % data.rank
            outer, inner = data.shape[:along], data.shape[along + 1 :]
            with spread(b, outer) as first:
                total = b.local(counted, inner, "total")
                with nest(b, inner) as j:
                    b.store(total, j, te.const(identity, counted))
                with b.loop(data.shape[along]) as k, nest(b, inner) as j:
                    i = (*first, k, *j)
                    advance(b, total, j, data[i], lambda value: b.store(result, i, value))

        write = flat if axis is None else rows
        return te.procedure([data], [(out.shape, out.dtype)], write, "scan")[0]

    return with_attrs(ScanAttrs, compute)


def _from_end(value: Expr, exclusive: bool, axis: int) -> Expr:
    """The cumulative sum from the end of an axis."""
    turned = build("reverse", value, axis=axis)
    added = build("cumsum", turned, axis=axis, exclusive=exclusive)
    return build("reverse", added, axis=axis)


def _line(site: Backward) -> tuple[Expr, int]:
    """What the scan runs over, and the axis."""
    (data,) = site.args
    flat = site.attrs.axis is None
    return (build("reshape", data, newshape=(-1,)) if flat else data), site.attrs.axis or 0


def _cumsum_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    (data,) = site.args
    _, axis = _line(site)
    added = _from_end(site.as_type_of(data), site.attrs.exclusive, axis)
    return [build("reshape_like", added, data)]


def _cumprod_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """Products up to the first 0 are divided by the element; that 0 is left out of its products;
    after it everything is 0."""
    (data,) = site.args
    dtype = site.tensor_type(data).dtype
    line, axis = _line(site)
    gradient, exclusive = site.as_type_of(data), site.attrs.exclusive
    zero = const(0, dtype)
    is_zero = build("equal", line, zero)
    zeros_so_far = build("cumsum", is_zero.astype("int32"), axis=axis)
    first = build("logical_and", is_zero, build("equal", zeros_so_far, const(1)))
    without = build("where", first, const(1, dtype), line)

    def later(factors: Expr) -> Expr:
        """The sum of the later products, each times its gradient."""
        products = build("cumprod", factors, axis=axis, exclusive=exclusive)
        return _from_end(gradient * products, exclusive, axis)

    before = later(line) / build("where", is_zero, const(1, dtype), line)
    before = build("where", build("greater", zeros_so_far, const(0)), zero, before)
    found = build("where", first, later(without), before)
    return [build("reshape_like", found, data)]


def _define(
    name: str, total: str, step: np.ufunc, scalar: Function, gradient: Rule
) -> tuple[OpDef, Callable[..., Call]]:
    record = define(
        name,
        doc=f"The cumulative {total} along an axis; integers wrap.",
        arguments=[("data", "the input")],
        attrs=ScanAttrs,
        relation=_scan_type,
        reference=_scan(step),
        compute=_scan_loops(scalar, step.identity),
        gradient=gradient,
        samples=[
            sample((2, 3), axis=1),
            sample((2, 3), axis=-2, exclusive=True),
            sample((2, 3), dtype="int8", low=-99, high=99),
            sample((2, 3, 2), dtype="float16", axis=1, exclusive=True),
            sample((4,), dtype="bool", axis=0, attrs={"dtype": "int32"}),
            sample((3, 4), dtype="int32", axis=0, attrs={"dtype": "float64"}),
            sample((2, 0), axis=1, exclusive=True, dtype="bfloat16"),
            sample((), dtype="int64"),
            sample((3, 40), dtype="bfloat16", axis=1, rounded=True),
            sample((50,), dtype="float16", rounded=True),
        ],
    )
    summary = f"The cumulative {total} along an axis."
    return record, helper(record, summary, convert={"exclusive": bool}, exclusive=None)


CUMSUM, cumsum = _define("cumsum", "sum", np.add, operator.add, _cumsum_gradient)
CUMPROD, cumprod = _define("cumprod", "product", np.multiply, operator.mul, _cumprod_gradient)
