"""Random tensor expressions: chains of what operators are made of, with results that are exact.

Elements are small whole numbers, and so are sums of them: whatever the order of additions, the
bits come out the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from relay import dtypes, te
from relay.te.compute import Computation, Placeholder, Procedure
from relay.te.expr import Expr, binary
from relay.te.loops import Kind

SIZES = (1, 2, 3, 4, 5, 7, 8, 11, 16, 17, 33)
DTYPES = ("float32", "float32", "float32", "int32", "int8", "float64", "int64")
MOST = 3000  # elements of a tensor
POINTS = 12_000  # of a reduction
LARGE = 1 << 23  # from where sums of float32 are not exact


@dataclass(frozen=True)
class Graph:
    """Tensors to compute, those they are computed from, and what these hold."""

    inputs: tuple[te.Tensor, ...]
    outputs: tuple[te.Tensor, ...]
    arrays: tuple[np.ndarray, ...]
    constant: tuple[bool, ...]

    def __repr__(self) -> str:
        """Every computation, for people to read."""
        lines, pending, seen = [], list(self.outputs), set()
        while pending:
            tensor = pending.pop()
            if id(tensor.op) in seen:
                continue
            seen.add(id(tensor.op))
            if isinstance(tensor.op, Computation):
                axes = ", ".join(f"{a.name} < {a.extent}" for a in tensor.op.axes)
                lines.append(f"{tensor!r} over {axes}: {tensor.op.bodies!r}")
                pending += tensor.op.inputs
            else:
                lines.append(f"{tensor!r}")
        return "\n".join(["", *lines, f"outputs {self.outputs}, constant {self.constant}"])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What Hypothesis shows of a counterexample."""
        printer.text(repr(self))


@st.composite
def graphs(draw: st.DrawFn, steps: int = 5) -> Graph:
    """One to three results of at most `steps` computations."""
    dtype = draw(st.sampled_from(DTYPES))
    inputs = [
        te.placeholder(draw(shapes()), dtype, f"x{i}") for i in range(draw(st.integers(1, 3)))
    ]
    tensors = list(inputs)
    for _ in range(draw(st.integers(1, steps))):
        made = _step(draw, tensors, inputs)
        if made is not None and prod(made.extents) <= MOST:
            tensors.append(made if _largest(made) < LARGE else _clamped(made))
    computed = [tensor for tensor in tensors if not isinstance(tensor.op, Placeholder)]
    if not computed:
        computed = [te.compute(inputs[0].shape, lambda *i: inputs[0][i] + 1, "plus")]
    # the last is always wanted, and up to two more
    wanted = [computed[-1]]
    for tensor in draw(st.lists(st.sampled_from(computed), max_size=2)):
        if not any(tensor is one for one in wanted):
            wanted.append(tensor)
    random = np.random.default_rng(draw(st.integers(0, 3)))
    arrays = tuple(
        random.integers(-2, 3, x.extents).astype(dtypes.to_numpy(x.dtype)) for x in inputs
    )
    constant = tuple(draw(st.booleans()) for _ in inputs)
    return Graph(tuple(inputs), tuple(wanted), arrays, constant)


def _largest(tensor: te.Tensor) -> int:
    """More than any element can be."""
    found: dict[int, int] = {}
    pending = [tensor]
    while pending:
        current = pending[-1]
        op = current.op
        below = [] if isinstance(op, Placeholder) else list(op.inputs)
        missing = [one for one in below if id(one) not in found]
        if missing:
            pending += missing
            continue
        pending.pop()
        sizes = [found[id(one)] for one in below]
        if isinstance(op, Placeholder):
            found[id(current)] = 2
        elif current.name == "clamped":
            found[id(current)] = 9
        elif isinstance(op, Procedure):
            found[id(current)] = max(sizes) * current.extents[-1]
        elif op.reduction is not None:
            found[id(current)] = prod(sizes) * prod(int(a.extent.value) for a in op.reduction_axes)
        else:
            found[id(current)] = 2 * sum(sizes) + 4
    return found[id(tensor)]


def _clamped(x: te.Tensor) -> te.Tensor:
    return te.compute(x.shape, lambda *i: te.minimum(te.maximum(x[i], -9), 9), "clamped")


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, ...]:
    sizes = tuple(draw(st.lists(st.sampled_from(SIZES), min_size=1, max_size=4)))
    while prod(sizes) > MOST // 2:
        sizes = sizes[1:]
    return sizes


Draw = Callable[..., object]


def _step(draw: st.DrawFn, tensors: list[te.Tensor], inputs: list[te.Tensor]) -> te.Tensor | None:
    # mostly the newest tensor goes on: chains rather than bushes
    x = tensors[-1] if draw(st.booleans()) else draw(st.sampled_from(tensors))
    kind = draw(st.sampled_from(list(KINDS)))
    return KINDS[kind](draw, x, tensors, inputs)


def _elementwise(draw: st.DrawFn, x: te.Tensor, *_: object) -> te.Tensor:
    bodies: list[Callable[[Expr], Expr]] = [
        lambda v: te.maximum(v, 0),
        lambda v: te.minimum(te.maximum(v, -3), 3) + 1,
        lambda v: te.select(v < 1, -v, v * 2),
        lambda v: te.absolute(v) - v,
        # expensive enough to be stored where it is read several times
        lambda v: te.minimum(te.call("floor", v), te.call("ceil", v)),
    ]
    body = draw(st.sampled_from(bodies))
    return te.compute(x.shape, lambda *i: body(x[i]), "unary")


def _position(draw: st.DrawFn, x: te.Tensor, *_: object) -> te.Tensor:
    """What depends on where it is."""
    axis = draw(st.integers(0, x.rank - 1)) if x.rank else None
    if axis is None:
        return te.compute((), lambda: x[()] + 1, "plus")
    return te.compute(x.shape, lambda *i: x[i] + te.cast(i[axis] % 3, x.dtype), "where")


def _binary(draw: st.DrawFn, x: te.Tensor, tensors: list[te.Tensor], _: object) -> te.Tensor | None:
    """Two tensors, of which one may be repeated along axes."""
    fitting = [y for y in tensors if y.dtype == x.dtype and _broadcasts(x.extents, y.extents)]
    y = draw(st.sampled_from(fitting)) if fitting else x
    op = draw(st.sampled_from(["add", "sub", "max", "min"]))
    offset = x.rank - y.rank

    def body(*i: Expr) -> Expr:
        places = [0 if n == 1 else p for n, p in zip(y.extents, i[offset:], strict=True)]
        return binary(op, x[i], y[tuple(places)])

    return te.compute(x.shape, body, op)


def _broadcasts(large: Sequence[int], small: Sequence[int]) -> bool:
    pairs = zip(reversed(large), reversed(small), strict=False)
    return len(small) <= len(large) and all(b in (1, a) for a, b in pairs)


def _transpose(draw: st.DrawFn, x: te.Tensor, *_: object) -> te.Tensor:
    order = draw(st.permutations(range(x.rank)))
    back = [order.index(i) for i in range(x.rank)]
    shape = [x.shape[i] for i in order]
    return te.compute(shape, lambda *i: x[tuple(i[p] for p in back)], "transpose")


def _reshape(draw: st.DrawFn, x: te.Tensor, *_: object) -> te.Tensor:
    """Two axes as one, or one as two."""
    sizes = list(x.extents)
    even = [i for i, n in enumerate(sizes) if n % 2 == 0]
    if even and draw(st.booleans()):
        at = draw(st.sampled_from(even))
        shape = [*sizes[:at], 2, sizes[at] // 2, *sizes[at + 1 :]]
    elif len(sizes) > 1:
        at = draw(st.integers(0, len(sizes) - 2))
        shape = [*sizes[:at], sizes[at] * sizes[at + 1], *sizes[at + 2 :]]
    else:
        shape = [1, *sizes]

    def body(*i: Expr) -> Expr:
        flat: Expr = te.const(0, "int64")
        for n, place in zip(shape, i, strict=True):
            flat = flat * n + place
        places = []
        for n in reversed(sizes):
            places.append(flat % n)
            flat = flat // n
        return x[tuple(reversed(places))]

    return te.compute(shape, body, "reshape")


def _pad(draw: st.DrawFn, x: te.Tensor, *_: object) -> te.Tensor | None:
    if not x.rank:
        return None
    axis = draw(st.integers(0, x.rank - 1))
    before, after = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    shape = list(x.extents)
    shape[axis] += before + after

    def body(*i: Expr) -> Expr:
        place = i[axis] - before
        inside = (place >= 0) & (place < x.extents[axis])
        return te.select(inside, x[(*i[:axis], place, *i[axis + 1 :])], te.const(1, x.dtype))

    return te.compute(shape, body, "pad")


def _slice(draw: st.DrawFn, x: te.Tensor, *_: object) -> te.Tensor | None:
    wide = [i for i, n in enumerate(x.extents) if n > 2]
    if not wide:
        return None
    axis = draw(st.sampled_from(wide))
    begin, step = draw(st.integers(0, 2)), draw(st.sampled_from([1, 2, 3, -1]))
    size = x.extents[axis]
    shape = list(x.extents)
    shape[axis] = -(-(size - begin) // abs(step))
    start = begin if step > 0 else size - 1 - begin
    return te.compute(
        shape,
        lambda *i: x[(*i[:axis], i[axis] * step + start, *i[axis + 1 :])],
        "slice",
    )


def _concatenate(
    draw: st.DrawFn, x: te.Tensor, tensors: list[te.Tensor], _: object
) -> te.Tensor | None:
    if not x.rank:
        return None
    axis = draw(st.integers(0, x.rank - 1))
    rest = (*x.extents[:axis], *x.extents[axis + 1 :])
    fitting = [
        y
        for y in tensors
        if y.dtype == x.dtype
        and y.rank == x.rank
        and (*y.extents[:axis], *y.extents[axis + 1 :]) == rest
    ]
    y = draw(st.sampled_from(fitting))
    shape = list(x.extents)
    shape[axis] += y.extents[axis]
    first = x.extents[axis]

    def body(*i: Expr) -> Expr:
        second = (*i[:axis], i[axis] - first, *i[axis + 1 :])
        return te.select(i[axis] < first, x[i], y[second])

    return te.compute(shape, body, "concatenate")


def _reduce(draw: st.DrawFn, x: te.Tensor, *_: object) -> te.Tensor | None:
    if not x.rank:
        return None
    over = draw(st.sets(st.integers(0, x.rank - 1), min_size=1))
    axes = {i: te.axis(x.extents[i], f"k{i}") for i in sorted(over)}
    shape = [n for i, n in enumerate(x.extents) if i not in over]
    name = draw(st.sampled_from(["sum", "max", "argmax", "mean"]))

    def body(*i: Expr) -> Expr:
        rest = iter(i)
        places = tuple(axes[a] if a in axes else next(rest) for a in range(x.rank))
        element, every = x[places], list(axes.values())
        if name == "argmax":
            number: Expr = te.const(0, "int64")
            for a in every:
                number = number * a.extent + a
            found = te.argmax(element, te.cast(number, "int64"), every)[1]
            return te.minimum(te.cast(found, x.dtype), 2)
        if name == "max":
            return te.max(element, every)
        total = te.sum(element, every)
        # a function of a reduction is a computation of its own
        return total if name == "sum" else te.minimum(te.maximum(total, -4), 4)

    return te.compute(shape, body, name)


def _normalize(draw: st.DrawFn, x: te.Tensor, *_: object) -> te.Tensor | None:
    """A row less its maximum, cut by its sum: two reductions whose reader has the same rows."""
    if x.rank < 1 or prod(x.extents) > 1500:
        return None
    axis = draw(st.sampled_from([0, x.rank - 1]))
    k, r = te.axis(x.extents[axis], "k"), te.axis(x.extents[axis], "r")
    shape = [*x.extents[:axis], *x.extents[axis + 1 :]]

    def at(i: tuple[Expr, ...], place: Expr) -> tuple[Expr, ...]:
        return (*i[:axis], place, *i[axis:])

    top = te.compute(shape, lambda *i: te.max(x[at(i, k)], k), "top")
    total = te.compute(shape, lambda *i: te.sum(x[at(i, r)] - top[i], r), "total")

    def body(*i: Expr) -> Expr:
        row = (*i[:axis], *i[axis + 1 :])
        return te.maximum(x[i] - top[row], te.minimum(total[row], 1))

    return te.compute(x.shape, body, "normalize")


def _product(
    draw: st.DrawFn, x: te.Tensor, tensors: list[te.Tensor], inputs: list[te.Tensor]
) -> te.Tensor | None:
    """x[…, m, k] times w[n, k] or w[k, n], with a weight of its own."""
    if x.rank < 2 or prod(x.extents) > 600:
        return None
    depth, columns = x.extents[-1], draw(st.sampled_from(SIZES))
    if prod(x.extents) * columns > POINTS:
        return None
    turned = draw(st.booleans())
    batch = x.extents[0] if x.rank > 2 and draw(st.booleans()) else 0
    shape = (columns, depth) if turned else (depth, columns)
    w = te.placeholder((batch, *shape) if batch else shape, x.dtype, f"w{len(inputs)}")
    inputs.append(w)
    k = te.axis(depth, "k")

    def body(*i: Expr) -> Expr:
        place = (i[-1], k) if turned else (k, i[-1])
        return te.sum(x[(*i[:-1], k)] * w[(i[0], *place) if batch else place], k)

    return te.compute((*x.extents[:-1], columns), body, "product")


def _windows(
    draw: st.DrawFn, x: te.Tensor, tensors: list[te.Tensor], inputs: list[te.Tensor]
) -> te.Tensor | None:
    """x[c, w] seen through windows: a convolution, a depthwise one, or a pool."""
    if x.rank < 2 or x.extents[-1] < 3 or prod(x.extents) > 600:
        return None
    width, step = draw(st.sampled_from([2, 3])), draw(st.sampled_from([1, 2]))
    channels, size = x.extents[-2], (x.extents[-1] - width) // step + 1
    r, c = te.axis(width, "r"), te.axis(channels, "c")
    lead = x.extents[:-2]
    kind = draw(st.sampled_from(["pool", "depthwise", "convolution"]))
    if kind == "pool":
        return te.compute(
            (*lead, channels, size),
            lambda *i: te.max(x[(*i[:-1], i[-1] * step + r)], r),
            "pool",
        )
    if kind == "depthwise":
        w = te.placeholder((channels, width), x.dtype, f"w{len(inputs)}")
        inputs.append(w)
        return te.compute(
            (*lead, channels, size),
            lambda *i: te.sum(x[(*i[:-1], i[-1] * step + r)] * w[i[-2], r], r),
            "depthwise",
        )
    filters = draw(st.sampled_from(SIZES))
    if filters * size * channels * width * prod(lead) > POINTS:
        return None
    w = te.placeholder((filters, channels, width), x.dtype, f"w{len(inputs)}")
    inputs.append(w)
    return te.compute(
        (*lead, filters, size),
        lambda *i: te.sum(x[(*i[:-2], c, i[-1] * step + r)] * w[i[-2], c, r], [c, r]),
        "convolution",
    )


def _gather(draw: st.DrawFn, x: te.Tensor, *_: object) -> te.Tensor | None:
    """Elements chosen by elements."""
    if not x.rank:
        return None
    axis = draw(st.integers(0, x.rank - 1))
    size = x.extents[axis]

    def body(*i: Expr) -> Expr:
        place = te.cast(x[i], "int64") % size
        return x[(*i[:axis], place, *i[axis + 1 :])]

    return te.compute(x.shape, body, "gather")


def _cumulate(draw: st.DrawFn, x: te.Tensor, *_: object) -> te.Tensor | None:
    """Loops of its own: running sums along the last axis, kept small."""
    if not x.rank or prod(x.extents) > 600:
        return None
    outer = prod(x.extents[:-1])

    def write(b: te.Builder, y: te.Buffer) -> None:
        with b.loop(outer, kind=Kind.PARALLEL) as row:
            places: list[Expr] = []
            rest: Expr = row
            for n in reversed(x.extents[:-1]):
                places.insert(0, rest % n)
                rest = rest // n
            total = b.variable(x.dtype, 0)
            with b.loop(x.extents[-1]) as i:
                b.store(total, (), te.minimum(total[()] + x[(*places, i)], 9))
                b.store(y, (*places, i), total[()])

    return te.procedure([x], [(x.extents, x.dtype)], write, "cumulate")[0]


KINDS: dict[str, Callable[..., te.Tensor | None]] = {
    "elementwise": _elementwise,
    "position": _position,
    "binary": _binary,
    "transpose": _transpose,
    "reshape": _reshape,
    "pad": _pad,
    "slice": _slice,
    "concatenate": _concatenate,
    "reduce": _reduce,
    "normalize": _normalize,
    "product": _product,
    "windows": _windows,
    "gather": _gather,
    "cumulate": _cumulate,
}
