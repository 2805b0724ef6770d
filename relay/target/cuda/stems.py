"""Convolutions over few channels, as the first of a network, over a padded copy of the image.

    y[n, i, j, k] = sum(x[n, 2*i + r - 3, 2*j + s - 3, c] * w[r, s, c, k])      c < 3, where inside
      ->   f[n, h, 4*v + c] = x[n, h - 3, v - 3, c]        0 around, and for the fourth channel
           g[r, 4*s + c, k] = w[r, s, c, k]                0 for it, and for the eighth column
           y[n, i, j, k] = sum(f[n, 2*i + r, 8*j + q] * g[r, q, k])

So a row of the window is contiguous memory, read as vectors and without conditions. For few pixels
the copies take longer than they save.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from relay.immutable import frozen
from relay.target.cuda.launches import power_of_two
from relay.target.cuda.products import Product, recognize
from relay.te import expr as te
from relay.te.compute import Computation, Tensor, from_bodies
from relay.te.loops import MemoryScope
from relay.te.reduction import SUM, reduce
from relay.te.schedule import Schedule, Stage, make_stage, unused_name
from relay.te.simplify import Simplifier

CHANNELS = 4  # of the copy
_PIXELS = 1024  # per multiprocessor that are worth copies
_LEAST = 16  # elements of a row of the window

Linear = tuple[int, Mapping[te.Var, int]]  # a number, and the factors of variables


@frozen
class Stem:
    """A convolution over few channels."""

    read: te.Read  # of the image
    weights: te.Read
    window: tuple[te.Axis, te.Axis, te.Axis]  # rows, columns, channels
    rows: Linear  # the indices of the image
    columns: Linear


def pack_stems(s: Schedule, multiprocessors: int) -> Schedule:
    """The schedule with copies of images of few channels."""
    for name in [stage.name for stage in s.stages]:
        product = recognize(s[name])
        if product is None:
            continue
        pixels = prod(int(axis.extent.value) for axis in product.rows)
        if pixels < _PIXELS * multiprocessors:
            continue
        stem = find_stem(product)
        if stem is not None:
            s = _packed(s, s[name], stem)
    return s


def find_stem(product: Product) -> Stem | None:
    """The convolution over few channels that a product is, if it is one."""
    image, weights = product.left, product.right
    conditions: list[te.Expr] = []
    while isinstance(image, te.Select):
        conditions += _conjuncts(image.condition)
        image = image.if_true
    if not isinstance(image, te.Read) or not isinstance(weights, te.Read):
        return None
    if len(product.inner) != 3 or len(image.indices) != 4 or product.batch:
        return None
    channel = image.indices[3]
    if channel not in product.inner or _extents(image)[3] >= CHANNELS:
        return None
    first, down, across = image.indices[:3]
    if any(axis in te.variables(first) for axis in product.inner):
        return None
    rows, columns = linear(down), linear(across)
    if rows is None or columns is None:
        return None
    others = [axis for axis in product.inner if axis is not channel]
    window = [[axis for axis in others if axis in part[1]] for part in (rows, columns)]
    if [len(each) for each in window] != [1, 1] or window[0] == window[1]:
        return None
    (r,), (c,) = window
    if columns[1][c] != 1 or any(
        factor < 0 for part in (rows, columns) for factor in part[1].values()
    ):
        return None
    extents = _extents(image)[1:3]
    allowed = [
        bound
        for part, n in zip((rows, columns), extents, strict=True)
        for bound in _bounds(part, n)
    ]
    if not all(_half_space(one) in allowed for one in conditions):
        return None
    assert isinstance(channel, te.Axis)
    return Stem(image, weights, (r, c, channel), rows, columns)


def linear(expr: te.Expr) -> Linear | None:
    """An index as a number and multiples of axes, if it is that."""
    axes = sorted(te.variables(expr), key=lambda axis: axis.name)
    simplify = Simplifier()

    def at(values: Mapping[te.Var, int]) -> int | None:
        chosen = {axis: te.index(values.get(axis, 0)) for axis in axes}
        found = simplify(te.substitute(expr, chosen))
        return int(found.value) if isinstance(found, te.Const) else None

    offset = at({})
    ones = {axis: at({axis: 1}) for axis in axes}
    if offset is None or any(one is None for one in ones.values()):
        return None
    factors = {axis: int(one or 0) - offset for axis, one in ones.items()}
    # every index of a convolution is linear; this refuses quotients and remainders
    if not _is_sum_of_multiples(expr):
        return None
    return offset, {axis: factor for axis, factor in factors.items() if factor}


def _is_sum_of_multiples(expr: te.Expr) -> bool:
    pending = [expr]
    while pending:
        one = pending.pop()
        if isinstance(one, te.Const | te.Var):
            continue
        if not isinstance(one, te.Binary) or one.op not in ("add", "sub", "mul"):
            return False
        if (
            one.op == "mul"
            and not isinstance(one.left, te.Const)
            and not isinstance(one.right, te.Const)
        ):
            return False
        pending += (one.left, one.right)
    return True


def _bounds(part: Linear, extent: int) -> list[tuple[int, frozenset[tuple[te.Var, int]]]]:
    """0 <= index and index < extent, as what is not negative."""
    offset, factors = part
    below = extent - 1 - offset, frozenset((axis, -factor) for axis, factor in factors.items())
    return [(offset, frozenset(factors.items())), below]


def _half_space(condition: te.Expr) -> tuple[int, frozenset[tuple[te.Var, int]]] | None:
    """What is not negative where a comparison holds."""
    if not isinstance(condition, te.Compare) or condition.left.dtype != te.INDEX:
        return None
    left, right = condition.left, condition.right
    if condition.op in ("le", "lt"):
        left, right = right, left
    elif condition.op not in ("ge", "gt"):
        return None
    found = linear(left - right)
    if found is None:
        return None
    return found[0] - (condition.op in ("lt", "gt")), frozenset(found[1].items())


def _conjuncts(condition: te.Expr) -> list[te.Expr]:
    found: list[te.Expr] = []
    pending = [condition]
    while pending:
        one = pending.pop()
        if isinstance(one, te.Binary) and one.op == "and":
            pending += (one.left, one.right)
        else:
            found.append(one)
    return found


# --- the copies ----------------------------------------------------------------------------------


def _packed(s: Schedule, stage: Stage, stem: Stem) -> Schedule:
    op = stage.computation
    reduction = op.reduction
    assert reduction is not None
    down, across, _ = stem.window
    wide = max(_LEAST // CHANNELS, power_of_two(int(across.extent.value)))
    image = _frame(stem, wide, f"{stage.name}_frame")
    own = [axis for axis in op.axes if axis in te.variables(stem.weights)]
    weights = _padded_weights(stem, wide, own, f"{stage.name}_weights")
    r, q = te.axis(down.extent, "r"), te.axis(wide * CHANNELS, "q")
    steps = _without(stem.rows, down, r), _without(stem.columns, across, None)
    left = image[(stem.read.indices[0], steps[0], steps[1] * CHANNELS + q)]
    right = weights[(r, q, *own)]
    kind = reduction.dtype
    total = reduce(SUM, (te.cast(left, kind) * te.cast(right, kind),), [r, q])
    names = {one.name for one in s.stages}
    before = []
    for tensor, hint in ((image, "frame"), (weights, "weights")):
        name = unused_name(f"{stage.name}_{hint}", names)
        names.add(name)
        assert isinstance(tensor.op, Computation)
        before.append(make_stage(name, (tensor,), tensor.op, MemoryScope.WORKSPACE))
    summed = make_stage(stage.name, stage.tensors, Computation(op.axes, total), stage.scope)
    stages = tuple(
        new for one in s.stages for new in ((*before, summed) if one is stage else (one,))
    )
    return replace(s, stages=stages)


def _without(part: Linear, axis: te.Axis, instead: te.Axis | None) -> te.Expr:
    """An index of the frame, whose first is the smallest index of the image."""
    total: te.Expr = te.index(0)
    for one, factor in part[1].items():
        if one is not axis:
            total = total + one * factor
        elif instead is not None:
            total = total + instead * factor
    return total


def _frame(stem: Stem, wide: int, name: str) -> Tensor:
    read = stem.read
    source = read.source
    count, height, width, channels = _extents(read)
    tall, broad = (_span(part) for part in (stem.rows, stem.columns))
    broad += wide - int(stem.window[1].extent.value)
    broad += broad % 2  # rows are multiples of 16 bytes
    n, h, f = te.axis(count, "n"), te.axis(tall, "h"), te.axis(broad * CHANNELS, "f")
    y, x, c = h + stem.rows[0], f // CHANNELS + stem.columns[0], f % CHANNELS
    inside = te.every(
        te.compare("ge", y, te.index(0)),
        te.compare("lt", y, te.index(height)),
        te.compare("ge", x, te.index(0)),
        te.compare("lt", x, te.index(width)),
        te.compare("lt", c, te.index(channels)),
    )
    value = te.Read(read.dtype, source, (n, y, x, c))
    body = te.Select(read.dtype, inside, value, te.const(0, read.dtype))
    (made,) = from_bodies((n, h, f), (body,), name)
    return made


def _extents(read: te.Read) -> list[int]:
    """The sizes of what is read, which are known in kernels for the device."""
    return [int(size.value) for size in read.source.shape if isinstance(size, te.Const)]


def _span(part: Linear) -> int:
    """The number of indices from the smallest to the largest."""
    return 1 + sum(
        factor * (int(axis.extent.value) - 1)
        for axis, factor in part[1].items()
        if isinstance(axis, te.Axis)
    )


def _padded_weights(stem: Stem, wide: int, others: Sequence[te.Axis], name: str) -> Tensor:
    read = stem.weights
    down, across, channel = stem.window
    r, q = te.axis(down.extent, "r"), te.axis(wide * CHANNELS, "q")
    fresh = [te.axis(axis.extent, axis.name) for axis in others]
    values: dict[te.Var, te.Expr] = dict(zip(others, fresh, strict=True))
    values |= {down: r, across: q // CHANNELS, channel: q % CHANNELS}
    inside = te.every(
        te.compare("lt", q // CHANNELS, across.extent),
        te.compare("lt", q % CHANNELS, channel.extent),
    )
    value = te.substitute(read, values)
    body = te.Select(read.dtype, inside, value, te.const(0, read.dtype))
    (made,) = from_bodies((r, q, *fresh), (body,), name)
    return made
