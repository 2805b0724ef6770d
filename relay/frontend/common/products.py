"""Matrix products of broadcast batches, and operands of einsum with dynamic shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from relay import op
from relay.frontend.common.broadcast import best_known, of_shape, without_names
from relay.frontend.common.builder import Builder, int64, static
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr
from relay.op.linalg.einsum import REST, Equation

# (left, right, whether both are batches of matrices) -> their product
Multiply = Callable[[Expr, Expr, bool], Expr]


def plain_product(left: Expr, right: Expr, in_batches: bool) -> Expr:
    if in_batches:
        return op.nn.batch_matmul(left, right, transpose_b=False)
    return op.nn.matmul(left, right)


def product(node: Builder, left: Expr, right: Expr, *, multiply: Multiply = plain_product) -> Expr:
    """The broadcast products of the matrices in the last two axes; a vector on the left is a row,
    one on the right a column, whose other axis is not in the result."""
    ranks = node.rank(left), node.rank(right)
    if 0 in ranks:
        types = f"{node.type_of(left)} and {node.type_of(right)}"
        raise node.refused("a scalar is no matrix", "one axis at least", types)
    if ranks[0] == 1:
        left = node.let(op.expand_dims(left, 0))
    if ranks[1] == 1:
        right = node.let(op.expand_dims(right, 1))
    left, right = contractible(node, left, right, -1, -2)
    found: Expr
    if node.rank(right) == 2:
        found = multiply(left, right, False)
    else:
        found = _batches(node, left, right, multiply)
    gone = [axis for axis, rank in zip((-2, -1), ranks, strict=True) if rank == 1]
    return op.squeeze(found, tuple(gone)) if gone else found


def contractible(
    node: Builder, left: Expr, right: Expr, left_axis: int, right_axis: int
) -> tuple[Expr, Expr]:
    """Operands with the same extent along the axes that are contracted, as checked at run time."""
    shapes = [list(node.shape(one)) for one in (left, right)]
    extent = best_known([shapes[0][left_axis], shapes[1][right_axis]])
    shapes[0][left_axis] = shapes[1][right_axis] = extent
    return of_shape(node, left, shapes[0]), of_shape(node, right, shapes[1])


def _batches(node: Builder, left: Expr, right: Expr, multiply: Multiply) -> Expr:
    """Products of matrices in batches, as one batch."""
    shapes = [node.shape(one)[:-2] for one in (left, right)]
    rank = max(map(len, shapes))
    padded = [(*[1] * (rank - len(shape)), *shape) for shape in shapes]
    # the operand with the batch of the result: the other one has the same, or broadcasts
    if all(map(_is_same, *padded)):
        having = left if node.rank(left) > node.rank(right) else right
    elif all(extent == 1 for extent in padded[0]):
        having = right
    elif all(extent == 1 for extent in padded[1]):
        having = left
    else:
        left, right = _stretched(node, left, right, padded)
        having = left
    first, second = _one_batch(node, left), _one_batch(node, right)
    found = node.let(multiply(first, second, True))
    if node.rank(having) < rank + 2:
        having = node.let(op.expand_dims(having, 0, num_newaxis=rank + 2 - node.rank(having)))
    return found if rank == 1 else _with_batch_of(node, found, having)


def _is_same(one: Dim, other: Dim) -> bool:
    return dims.equal(one, other) is True


def _with_batch_of(node: Builder, products: Expr, having: Expr) -> Expr:
    """The products with the batch axes of an operand."""
    wanted = (*node.shape(having)[:-2], *node.shape(products)[1:])
    codes = [extent if isinstance(extent, int) else -1 for extent in wanted]
    if codes.count(-1) <= 1 and 0 not in codes:
        return op.reshape(products, codes)
    batch = len(wanted) - 2
    if codes[:batch].count(-1) > 1 or 0 in codes[:batch]:
        return op.reshape_like(products, having, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=batch)
    # reshapes are free, and RecognizeAttention sees through them
    place = codes[:batch].index(-1) if -1 in codes[:batch] else 0
    for axis in range(place):
        products = op.reshape(products, (*[0] * axis, -4, codes[axis], -1, -2))
    for extent in reversed(codes[place + 1 : batch]):
        products = op.reshape(products, (*[0] * place, -4, -1, extent, -2))
    return products


def _one_batch(node: Builder, matrices: Expr) -> Expr:
    """All axes before the last two as one."""
    shape = node.shape(matrices)
    if len(shape) == 2:
        return node.let(op.expand_dims(matrices, 0))
    if len(shape) == 3:
        return matrices
    extents = [reduce(dims.multiply, shape[:-2]), *shape[-2:]]
    codes = [extent if isinstance(extent, int) else -1 for extent in extents]
    if codes.count(-1) <= 1 and 0 not in codes:
        return node.let(op.reshape(matrices, codes))
    for _ in shape[3:]:
        matrices = op.reshape(matrices, (-3, -2))
    return node.let(matrices)


def _stretched(
    node: Builder, left: Expr, right: Expr, padded: Sequence[Sequence[Dim]]
) -> tuple[Expr, Expr]:
    """Operands broadcast to a common batch."""
    batch = tuple(_common(node, a, b) for a, b in zip(*padded, strict=True))
    found = []
    one = int64(1)
    sizes = [_batch_sizes(node, side, len(batch)) for side in (left, right)]
    common = node.let(op.where(op.equal(sizes[0], one), sizes[1], sizes[0]))
    for side in (left, right):
        shape = (*batch, *node.shape(side)[-2:])
        if (numbers := static(shape)) is not None:
            # a named dimension against a number of the other side
            found.append(node.let(op.broadcast_to(without_names(node, side), numbers)))
            continue
        own = op.strided_slice(op.shape_of(side, dtype="int64"), [-2], [node.rank(side)])
        wanted = op.broadcast_to(without_names(node, side), op.concatenate([common, own], axis=0))
        found.append(node.declare(wanted, shape, node.dtype(side)))
    return found[0], found[1]


def _common(node: Builder, one: Dim, other: Dim) -> Dim:
    if one == 1 or other == 1:
        return other if one == 1 else one
    if isinstance(one, int) and isinstance(other, int) and one != other:
        raise node.refused("batches do not broadcast", str(one), str(other))
    if isinstance(one, int) or isinstance(other, int):
        # a dynamic dimension may be 1
        return one if isinstance(one, int) else other
    return one if _is_same(one, other) else dims.ANY


def _batch_sizes(node: Builder, matrices: Expr, count: int) -> Expr:
    """The extents before the last two, with leading ones."""
    rank = node.rank(matrices)
    sizes = op.strided_slice(op.shape_of(matrices, dtype="int64"), [0], [rank - 2])
    ahead = count - (rank - 2)
    if ahead:
        sizes = op.concatenate([int64([1] * ahead), sizes], axis=0)
    return node.let(sizes)


def of_equation(node: Builder, equation: Equation, operands: Sequence[Expr]) -> tuple[Expr, ...]:
    """Operands with one extent per letter, as checked at run time."""
    named = [
        dict(_letters(letters, node.rank(operand)))
        for letters, operand in zip(equation.operands, operands, strict=True)
    ]
    extents: dict[str, list[Dim]] = {}
    for positions, operand in zip(named, operands, strict=True):
        for axis, letter in positions.items():
            extents.setdefault(letter, []).append(node.shape(operand)[axis])
    found = []
    for positions, operand in zip(named, operands, strict=True):
        shape = node.shape(operand)
        wanted = [
            best_known([one for one in extents[positions[axis]] if one != 1] or [extent])
            if axis in positions
            else extent
            for axis, extent in enumerate(shape)
        ]
        found.append(of_shape(node, operand, wanted))
    return tuple(found)


def _letters(letters: Sequence[str], rank: int) -> Iterator[tuple[int, str]]:
    """The axes of letters; those after `...` are counted from the back."""
    for place, letter in enumerate(letters):
        if letter == REST:
            behind = enumerate(reversed(letters[place + 1 :]), 1)
            yield from ((rank - back, one) for back, one in behind if back <= rank)
            return
        if place < rank:
            yield place, letter
