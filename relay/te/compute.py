"""Tensors and their definitions.

    x = te.placeholder((m, k), "float32", "x")
    y = te.placeholder((k, n), "float32", "y")
    r = te.axis(k)
    z = te.compute((m, n), lambda i, j: te.sum(x[i, r] * y[r, j], r))

A computation defines each element; the order of evaluation is the schedule's. A reduction inside
an expression (`sum(…) / n`) becomes a tensor of its own, so a computation is either one reduction
or contains none.

What is not elementwise (sorting, say) is a `Procedure`: loops that fill whole tensors, written with
`relay.te.loops.Builder`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from relay import tree
from relay.errors import RelayError
from relay.immutable import frozen
from relay.te import expr as te
from relay.te.loops import Buffer, Builder, Statement
from relay.te.reduction import reduce
from relay.tree import node


@node
class Tensor(te.Source):
    """A tensor: result `position` of `op`."""

    op: Placeholder | Computation | Procedure
    position: int = 0

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape as integers; an error if it has dynamic dimensions."""
        return numbers(self.shape, f"the sizes of `{self.name}`")


def numbers(sizes: Iterable[te.Expr], what: str = "sizes") -> tuple[int, ...]:
    """Sizes as integers; an error if some are dynamic."""
    found = []
    for size in sizes:
        if not isinstance(size, te.Const):
            raise RelayError(f"{what} are known at run time only")
        found.append(int(size.value))
    return tuple(found)


@node
class Placeholder:
    """An input."""


@node
class Computation:
    """An elementwise definition: `bodies`, one per result, for every value of the axes."""

    axes: tuple[te.Axis, ...]
    bodies: tuple[te.Expr, ...]

    @property
    def reduction(self) -> te.Reduce | None:
        """The reduction, if it is one."""
        first = self.bodies[0]
        return first if isinstance(first, te.Reduce) else None

    @property
    def reduction_axes(self) -> tuple[te.Axis, ...]:
        """The reduction axes; none if it is not a reduction."""
        return () if self.reduction is None else self.reduction.axes

    @property
    def inputs(self) -> list[Tensor]:
        """The tensors read, in order."""
        return sources(self.bodies)


@node
class Procedure:
    """Loops that read `inputs` and fill `outputs`, one buffer per result."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Buffer, ...]
    body: Statement


def sources(bodies: Iterable[te.Expr]) -> list[Tensor]:
    """The tensors that expressions read."""
    found: dict[int, Tensor] = {}
    for read in chain.from_iterable(map(te.reads, bodies)):
        if isinstance(read.source, Tensor):
            found.setdefault(id(read.source), read.source)
    return list(found.values())


@frozen
class Spec:
    """The shape and element type of a tensor to be made."""

    shape: tuple[te.Expr, ...]
    dtype: str


def placeholder(shape: Sequence[te.Scalar], dtype: str, name: str = "x") -> Tensor:
    """An input tensor."""
    return Tensor(name, tuple(map(te.index, shape)), dtype, Placeholder())


def compute(
    shape: Sequence[te.Scalar], body: Callable[..., te.Expr], name: str = "compute"
) -> Tensor:
    """The tensor whose element at (i, j, …) is `body(i, j, …)`."""
    return compute_many(shape, lambda *indices: (body(*indices),), name)[0]


def compute_many(
    shape: Sequence[te.Scalar], body: Callable[..., tuple[te.Expr, ...]], name: str = "compute"
) -> tuple[Tensor, ...]:
    """Several tensors of one shape, computed together: `body` returns one element of each."""
    sizes = tuple(map(te.index, shape))
    axes = tuple(te.Axis(te.INDEX, axis_name(i), size) for i, size in enumerate(sizes))
    bodies = body(*axes)
    for part in bodies:
        if not isinstance(part, te.Expr):
            raise RelayError(f"an element of `{name}` is a scalar expression, found {part!r}")
    return from_bodies(axes, bodies, name)


def from_bodies(
    axes: tuple[te.Axis, ...], bodies: tuple[te.Expr, ...], name: str
) -> tuple[Tensor, ...]:
    """The tensors with these elements; nested reductions become tensors of their own.

    sum(x[i, k]) / 4   ->   s[i] = sum(x[i, k]);   s[i] / 4
    """
    first = bodies[0]
    if isinstance(first, te.Reduce) and _is_one_reduction(bodies):
        values = _lift_reductions((*axes, *first.axes), first.values, name)
        bodies = reduce(first.combiner, values, first.axes)
    else:
        bodies = _lift_reductions(axes, bodies, name)
    op = Computation(axes, bodies)
    shape = tuple(axis.extent for axis in axes)
    return tuple(Tensor(name, shape, body.dtype, op, i) for i, body in enumerate(bodies))


def _is_one_reduction(bodies: tuple[te.Expr, ...]) -> bool:
    """Whether the bodies are all results of one reduction, in order."""
    first = bodies[0]
    return (
        isinstance(first, te.Reduce)
        and len(bodies) == len(first.values)
        and all(
            isinstance(body, te.Reduce) and body.values is first.values and body.position == i
            for i, body in enumerate(bodies)
        )
    )


def _lift_reductions(
    axes: tuple[te.Axis, ...], bodies: tuple[te.Expr, ...], name: str
) -> tuple[te.Expr, ...]:
    """Replace reductions by reads of new tensors; equal reductions share one."""
    scope = dict.fromkeys(axes)
    for body in bodies:
        for part in tree.postorder(body):
            if isinstance(part, te.Reduce):
                scope.update(dict.fromkeys(part.axes))
    made: dict[Any, tuple[tuple[te.Axis, ...], tuple[Tensor, ...]]] = {}

    def lift(before: te.Expr, after: te.Expr) -> te.Expr:
        if not isinstance(after, te.Reduce):
            return te.remake(before, after)
        key = (after.combiner, after.axes, after.values)
        if key not in made:
            used = te.variables(after)
            over = tuple(axis for axis in scope if axis in used)
            fresh: dict[te.Var, te.Expr] = {
                axis: te.Axis(te.INDEX, axis.name, axis.extent) for axis in over
            }
            values = tuple(te.substitute(value, fresh) for value in after.values)
            own = tuple(axis for axis in fresh.values() if isinstance(axis, te.Axis))
            reduced = reduce(after.combiner, values, after.axes)
            made[key] = over, from_bodies(own, reduced, f"{name}_{after.combiner}")
        over, tensors = made[key]
        return tensors[after.position][over]

    return tuple(tree.transform(body, lift) for body in bodies)


def axis_name(position: int) -> str:
    """The default name of an axis."""
    return "ijklmnop"[position] if position < 8 else f"i{position}"


def procedure(
    inputs: Sequence[Tensor],
    outputs: Sequence[tuple[Sequence[te.Scalar], str]],
    write: Callable[..., None],
    name: str = "procedure",
) -> tuple[Tensor, ...]:
    """Tensors filled by loops, which `write(builder, *outputs)` builds."""
    buffers = tuple(
        Buffer(f"{name}_{i}", tuple(map(te.index, shape)), dtype)
        for i, (shape, dtype) in enumerate(outputs)
    )
    builder = Builder()
    write(builder, *buffers)
    op = Procedure(tuple(inputs), buffers, builder.finish())
    return tuple(
        Tensor(name, buffer.shape, buffer.dtype, op, i) for i, buffer in enumerate(buffers)
    )
