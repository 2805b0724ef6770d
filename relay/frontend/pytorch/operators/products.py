"""Matrix products, sums of them, and distances."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import inf

from relay import op
from relay.frontend.common import curves
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.common.products import contractible, of_equation, product
from relay.frontend.common.reshaping import product as extent_product
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number
from relay.frontend.pytorch.promotion import promoted
from relay.frontend.pytorch.shapes import dimensions, swapped, to_shape
from relay.ir import dims
from relay.ir.expr import Expr, Tuple, const
from relay.op.linalg.einsum import parse_equation

table = Converters()


@table("linear")
def linear(node: Node, input: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    found = with_weight(node, input, weight)
    return found if bias is None else op.add(*broadcastable(node, node.let(found), bias))


def with_weight(node: Node, data: Expr, weight: Expr) -> Expr:
    """Rows of data times the transpose of a weight, which may be one row."""
    if node.rank(weight) == 1 or node.rank(data) == 1:
        return product(node, data, weight if node.rank(weight) == 1 else swapped(node, weight))
    return op.nn.dense(*contractible(node, data, weight, -1, -1))


@table("matmul", "mm", "bmm", "mv", "linalg_matmul", "__matmul__")
def matmul(node: Node, self: Expr, other: Expr, out_dtype: str | None = None) -> Expr:
    if out_dtype is not None:
        self, other = (node.as_dtype(one, out_dtype) for one in (self, other))
    return product(node, self, other)


table.add("dot", product)
table.add("vdot", product)


@table("_int_mm")
def integer_product(node: Node, self: Expr, mat2: Expr) -> Expr:
    return product(node, node.as_dtype(self, "int32"), node.as_dtype(mat2, "int32"))


@table("linalg_multi_dot", "chain_matmul")
def chain(node: Node, tensors: Sequence[Expr]) -> Expr:
    return reduce(lambda one, other: node.let(product(node, one, other)), tensors)


@table("inner")
def inner(node: Node, self: Expr, other: Expr) -> Expr:
    if 0 in (node.rank(self), node.rank(other)):
        return op.multiply(self, other)
    if node.rank(other) <= 2:
        return with_weight(node, self, other)
    width = node.dimension(other, -1)
    found = node.let(with_weight(node, self, to_shape(node, other, [-1, width])))
    return to_shape(node, found, [*dimensions(node, self, 0, -1), *dimensions(node, other, 0, -1)])


@table("outer", "ger")
def outer(node: Node, self: Expr, vec2: Expr) -> Expr:
    left, right = promoted(node, self, vec2)
    times = op.logical_and if node.dtype(left) == "bool" else op.multiply
    return times(op.expand_dims(left, 1), op.expand_dims(right, 0))


# --- sums of products ----------------------------------------------------------------------------


def combined(node: Node, addend: Expr, found: Expr, beta: Number, alpha: Number) -> Expr:
    """`beta * addend + alpha * found`; with a beta of 0 the addend does not matter."""
    dtype = node.dtype(found)
    found = _scaled(node, found, alpha)
    if is_number(beta, 0):
        return _like(node, found, addend)
    addend = _scaled(node, node.as_dtype(addend, dtype), beta)
    plus = op.logical_or if dtype == "bool" else op.add
    return plus(*broadcastable(node, found, addend))


def is_number(value: object, number: int) -> bool:
    """Whether a value is a number of Python, and this one."""
    return isinstance(value, bool | int | float) and value == number


def _scaled(node: Node, value: Expr, factor: Number) -> Expr:
    if is_number(factor, 1):
        return value
    scale = node.number(factor, value)
    if node.dtype(value) == "bool":
        return node.let(op.logical_and(value, scale))
    return node.let(op.multiply(value, scale))


def _like(node: Node, found: Expr, addend: Expr) -> Expr:
    """A sum of which the other part does not count, though it may stretch it."""
    if node.rank(addend) <= node.rank(found):
        return found
    return op.add(found, node.let(op.zeros_like(addend)))


@table("addmm", "baddbmm")
def addmm(
    node: Node,
    self: Expr,
    mat1: Expr,
    mat2: Expr,
    out_dtype: str | None = None,
    *,
    beta: Number = 1,
    alpha: Number = 1,
) -> Expr:
    return combined(node, self, node.let(matmul(node, mat1, mat2, out_dtype)), beta, alpha)


@table("addmv")
def addmv(
    node: Node, self: Expr, mat: Expr, vec: Expr, *, beta: Number = 1, alpha: Number = 1
) -> Expr:
    return addmm(node, self, mat, vec, beta=beta, alpha=alpha)


@table("_addmm_activation")
def addmm_activation(
    node: Node,
    self: Expr,
    mat1: Expr,
    mat2: Expr,
    *,
    beta: Number = 1,
    alpha: Number = 1,
    use_gelu: bool = False,
) -> Expr:
    found = node.let(addmm(node, self, mat1, mat2, beta=beta, alpha=alpha))
    return curves.gelu(node, found, by_tanh=True) if use_gelu else op.nn.relu(found)


@table("addbmm")
def addbmm(
    node: Node, self: Expr, batch1: Expr, batch2: Expr, *, beta: Number = 1, alpha: Number = 1
) -> Expr:
    products = node.let(product(node, batch1, batch2))
    return combined(node, self, node.let(op.sum(products, axis=(0,))), beta, alpha)


@table("addr")
def addr(
    node: Node, self: Expr, vec1: Expr, vec2: Expr, *, beta: Number = 1, alpha: Number = 1
) -> Expr:
    self, vec1, vec2 = promoted(node, self, vec1, vec2)
    return combined(node, self, node.let(outer(node, vec1, vec2)), beta, alpha)


# --- several axes --------------------------------------------------------------------------------


@table("einsum")
def einsum(node: Node, equation: str, tensors: Sequence[Expr], *, path: object = None) -> Expr:
    text = equation.replace(" ", "")
    wanted = node.declared.dtype if node.declared is not None else node.dtype(tensors[0])
    tensors = [node.as_dtype(one, wanted) for one in tensors]  # sums of integers are wider
    parsed = parse_equation(text)
    if parsed is not None and len(parsed.operands) == len(tensors):
        tensors = of_equation(node, parsed, tensors)
    return op.einsum(Tuple(tuple(tensors)), equation=text)


@table("tensordot")
def tensordot(
    node: Node, self: Expr, other: Expr, dims_self: Sequence[int], dims_other: Sequence[int]
) -> Expr:
    """tensordot: a product of matrices whose common axis has all contracted axes."""
    axes = [node.axes_of(one, node.rank(x)) for one, x in ((dims_self, self), (dims_other, other))]
    for one, other_one in zip(*axes, strict=True):
        # an extent of 1 on one side stretches
        if node.shape(self)[one] == 1 != node.shape(other)[other_one]:
            other = node.let(op.sum(other, axis=(other_one,), keepdims=True))
        elif node.shape(other)[other_one] == 1 != node.shape(self)[one]:
            self = node.let(op.sum(self, axis=(one,), keepdims=True))
    kept = [
        [axis for axis in range(node.rank(x)) if axis not in gone]
        for x, gone in zip((self, other), axes, strict=True)
    ]
    shape = [
        node.dimension(x, axis)
        for x, rest in zip((self, other), kept, strict=True)
        for axis in rest
    ]
    left = node.let(op.transpose(self, [*kept[0], *axes[0]]))
    right = node.let(op.transpose(other, [*axes[1], *kept[1]]))
    common = extent_product([node.shape(self)[axis] for axis in axes[0]])
    if isinstance(common, dims.Any):
        raise node.refused("the summed axes have unknown extents", hint=node.give_sizes)
    if common == 0 or any(isinstance(one, int) and one == 0 for one in shape):
        zero = node.number(0, self)
        return op.broadcast_to(zero, node.sizes(shape)) if shape else zero
    flat = product(node, to_shape(node, left, [-1, common]), to_shape(node, right, [common, -1]))
    return to_shape(node, node.let(flat), shape)


@table("bilinear")
def bilinear(
    node: Node, input1: Expr, input2: Expr, weight: Expr, bias: Expr | None = None
) -> Expr:
    """`input1 @ weight[o] @ input2` for each output o."""
    outputs, first, second = dimensions(node, weight)
    rows = to_shape(node, node.let(op.transpose(weight, (0, 2, 1))), [-1, first])
    halfway = node.let(with_weight(node, input1, rows))
    shape = [*dimensions(node, input1, 0, -1), outputs, second]
    found = node.let(product(node, to_shape(node, halfway, shape), _column(node, input2)))
    found = node.let(op.squeeze(found, (-1,)))
    return found if bias is None else op.add(found, bias)


def _column(node: Node, data: Expr) -> Expr:
    return node.let(op.expand_dims(data, node.rank(data)))


@table("_trilinear")
def trilinear(
    node: Node,
    i1: Expr,
    i2: Expr,
    i3: Expr,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Expr:
    found: Expr | None = None
    for one, axes in ((i1, expand1), (i2, expand2), (i3, expand3)):
        for axis in sorted(axes):
            one = node.let(op.expand_dims(one, axis))
        found = one if found is None else node.let(op.multiply(*broadcastable(node, found, one)))
    assert found is not None
    return op.sum(found, axis=tuple(sumdim)) if sumdim else found


@table("kron")
def kron(node: Node, self: Expr, other: Expr) -> Expr:
    left, right = promoted(node, self, other)
    rank = max(node.rank(left), node.rank(right))
    times = op.logical_and if node.dtype(left) == "bool" else op.multiply
    if rank == 0:
        return times(left, right)
    left, right = (
        one if node.rank(one) == rank else node.let(op.expand_dims(one, 0, rank - node.rank(one)))
        for one in (left, right)
    )
    pairs = zip(node.shape(left), node.shape(right), strict=True)
    shape = [dims.multiply(one, other) for one, other in pairs]
    for axis in range(rank):
        left = node.let(op.expand_dims(left, 2 * axis + 1))
        right = node.let(op.expand_dims(right, 2 * axis))
    found = node.let(times(*broadcastable(node, left, right)))
    return to_shape(node, found, shape)


@table("trace")
def trace(node: Node, self: Expr) -> Expr:
    rows = op.expand_dims(node.positions(self, 0), 1)
    on_diagonal = op.equal(rows, op.expand_dims(node.positions(self, 1), 0))
    values = self if node.dtype(self)[:5] in ("float", "bfloa") else node.as_dtype(self, "int64")
    return op.sum(op.where(on_diagonal, values, node.number(0, values)), axis=(0, 1))


@table("cross", "linalg_cross")
def cross(node: Node, self: Expr, other: Expr, dim: int | None = None) -> Expr:
    left, right = broadcastable(node, *promoted(node, self, other))
    if dim is None and node.operator == "aten.cross":
        dim = node.shape(left).index(3)
    axis = -1 if dim is None else dim
    axis = axis if axis < 0 else axis - max(node.rank(left), node.rank(right))

    def turned(value: Expr, places: Sequence[int]) -> Expr:
        return op.take(value, node.let(const(list(places), "int64")), axis=axis)

    first = turned(left, (1, 2, 0)) * turned(right, (2, 0, 1))
    return first - turned(left, (2, 0, 1)) * turned(right, (1, 2, 0))


# --- distances -----------------------------------------------------------------------------------


@table("cdist", "_cdist_forward", "_euclidean_dist")
def cdist(node: Node, x1: Expr, x2: Expr, p: float = 2.0, compute_mode: int | None = None) -> Expr:
    left = node.let(op.expand_dims(x1, node.rank(x1) - 1))
    right = node.let(op.expand_dims(x2, node.rank(x2) - 2))
    left, right = broadcastable(node, left, right)
    return norm(node, node.let(op.abs(op.subtract(left, right))), p)


def norm(node: Node, sizes: Expr, p: float) -> Expr:
    """The p-norm of absolute values along the last axis."""
    if p == 0:
        apart = op.not_equal(sizes, node.number(0, sizes))
        return op.sum(op.cast(apart, node.dtype(sizes)), axis=(-1,))
    if p == 1:
        return op.sum(sizes, axis=(-1,))
    if p == inf:
        if node.shape(sizes)[-1] == 0:
            return op.sum(sizes, axis=(-1,))
        return op.max(sizes, axis=(-1,))
    if p == 2:
        return op.sqrt(op.sum(sizes * sizes, axis=(-1,)))
    powers = op.sum(op.power(sizes, node.number(p, sizes)), axis=(-1,))
    return op.power(powers, node.number(1 / p, sizes))


@table("pairwise_distance")
def pairwise_distance(
    node: Node, x1: Expr, x2: Expr, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False
) -> Expr:
    left, right = broadcastable(node, *promoted(node, x1, x2))
    apart = node.let(op.abs(left - right + node.number(eps, left)))
    found = node.let(norm(node, apart, p))
    return op.expand_dims(found, node.rank(found)) if keepdim else found


@table("linalg_vecdot")
def vecdot(node: Node, x: Expr, y: Expr, *, dim: int = -1) -> Expr:
    left, right = broadcastable(node, *promoted(node, x, y))
    products = node.let(op.multiply(left, right))
    return op.sum(products, axis=(node.axis(products, dim),))


@table("pdist", "_pdist_forward")
def pdist(node: Node, self: Expr, p: float = 2.0) -> Expr:
    """The distances of all pairs of rows, the first one before the second."""
    rows, columns = node.positions(self, 0), node.positions(self, 0)
    before = node.let(op.less(op.expand_dims(rows, 1), op.expand_dims(columns, 0)))
    pairs = node.let(op.argwhere(before))
    extent = node.shape(self)[0]
    count = dims.floor_divide(dims.multiply(extent, extent - 1), 2)
    pairs = node.declare(pairs, (count, 2), node.dtype(pairs))
    first, second = (
        node.let(op.take(self, op.take(pairs, const(place, "int64"), axis=1), axis=0))
        for place in range(2)
    )
    return norm(node, node.let(op.abs(first - second)), p)
