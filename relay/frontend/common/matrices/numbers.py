"""Real and complex matrices in one algorithm: its formulas are written of `Numbers`.

Complex numbers are the tensors of their real and imaginary parts.
"""

from __future__ import annotations

from collections.abc import Callable

from relay import op
from relay.frontend.common.builder import Builder, int64
from relay.frontend.common.products import product as real_product
from relay.immutable import frozen
from relay.ir.expr import Expr


@frozen
class Numbers:
    """Real numbers, or complex ones: one or two tensors of the same shape."""

    parts: tuple[Expr, ...]

    @property
    def real(self) -> Expr:
        return self.parts[0]

    @property
    def is_complex(self) -> bool:
        return len(self.parts) == 2

    def each(self, node: Builder, move: Callable[[Expr], Expr]) -> Numbers:
        """What an operator that moves elements, or adds them, makes of the parts."""
        return Numbers(tuple(node.let(move(one)) for one in self.parts))


def real(value: Expr) -> Numbers:
    """Real numbers."""
    return Numbers((value,))


def with_zeros(node: Builder, value: Expr, like: Numbers) -> Numbers:
    """Real numbers as such of the kind of others."""
    return Numbers((value, node.let(op.zeros_like(value)))) if like.is_complex else real(value)


def times(node: Builder, one: Numbers, other: Numbers) -> Numbers:
    """Products, element by element."""
    return _multiplied(node, one, other, op.multiply)


def product(node: Builder, one: Numbers, other: Numbers) -> Numbers:
    """Products of matrices."""
    return _multiplied(node, one, other, lambda a, b: real_product(node, a, b))


def _multiplied(
    node: Builder, one: Numbers, other: Numbers, multiply: Callable[[Expr, Expr], Expr]
) -> Numbers:
    """(a + bi)(c + di) = ac - bd + (ad + bc)i"""
    if not other.is_complex:
        return one.each(node, lambda part: multiply(part, other.real))
    if not one.is_complex:
        return other.each(node, lambda part: multiply(one.real, part))
    (a, b), (c, d) = one.parts, other.parts
    ac, bd, ad, bc = (node.let(multiply(*pair)) for pair in ((a, c), (b, d), (a, d), (b, c)))
    return Numbers((node.let(ac - bd), node.let(ad + bc)))


def minus(node: Builder, one: Numbers, other: Numbers) -> Numbers:
    """Differences."""
    pairs = zip(one.parts, other.parts, strict=True)
    return Numbers(tuple(node.let(a - b) for a, b in pairs))


def plus(node: Builder, one: Numbers, other: Numbers) -> Numbers:
    """Sums."""
    pairs = zip(one.parts, other.parts, strict=True)
    return Numbers(tuple(node.let(a + b) for a, b in pairs))


def conjugate(node: Builder, one: Numbers) -> Numbers:
    """The numbers with the other sign of their imaginary parts."""
    return Numbers((one.real, *(node.let(op.negative(part)) for part in one.parts[1:])))


def squares(node: Builder, one: Numbers) -> Expr:
    """The squares of absolute values."""
    total = node.let(one.real * one.real)
    for part in one.parts[1:]:
        total = node.let(total + part * part)
    return total


def sizes(node: Builder, one: Numbers) -> Expr:
    """Absolute values."""
    return node.let(op.sqrt(squares(node, one)) if one.is_complex else op.abs(one.real))


def divided(node: Builder, one: Numbers, other: Numbers) -> Numbers:
    """Quotients, element by element."""
    if not other.is_complex:
        return one.each(node, lambda part: part / other.real)
    above = times(node, one, conjugate(node, other))
    return divided(node, above, real(squares(node, other)))


def where(node: Builder, condition: Expr, one: Numbers, other: Numbers) -> Numbers:
    """One number or another."""
    pairs = zip(one.parts, other.parts, strict=True)
    return Numbers(tuple(node.let(op.where(condition, a, b)) for a, b in pairs))


def number(node: Builder, value: float, like: Numbers) -> Numbers:
    """A real number as scalar parts of the kind of other numbers."""
    return Numbers(
        tuple(node.number(0 if place else value, one) for place, one in enumerate(like.parts))
    )


def adjoint(node: Builder, matrix: Numbers) -> Numbers:
    """Transposed matrices, of complex numbers conjugate ones."""
    return conjugate(node, transposed(node, matrix))


def transposed(node: Builder, matrix: Numbers) -> Numbers:
    order = [*range(node.rank(matrix.real))]
    order[-2:] = reversed(order[-2:])
    return matrix.each(node, lambda part: op.transpose(part, order))


# --- complex matrices as real ones: each number a + bi is [[a, -b], [b, a]] ----------------------


def embedded(node: Builder, matrix: Numbers) -> Expr:
    """Complex matrices as real ones of twice the size, whose products, sums and inverses are those
    of the complex ones."""
    a, b = matrix.parts
    *batch, height, width = node.static_shape(a, "a matrix")
    rows = [op.stack([a, op.negative(b)], -1), op.stack([b, a], -1)]
    blocks = node.let(op.stack([*map(node.let, rows)], len(batch) + 1))
    return node.let(op.reshape(blocks, (*batch, 2 * height, 2 * width)))


def extracted(node: Builder, matrix: Expr) -> Numbers:
    """The complex matrices that real ones of twice the size stand for."""
    *batch, height, width = node.static_shape(matrix, "a matrix")
    blocks = node.let(op.reshape(matrix, (*batch, height // 2, 2, width // 2, 2)))
    rank = len(batch) + 4
    first = node.let(op.take(blocks, int64(0), axis=rank - 1))
    a, b = (node.let(op.take(first, int64(one), axis=rank - 3)) for one in (0, 1))
    return Numbers((a, b))


def inverse(node: Builder, matrix: Numbers) -> Numbers:
    """Inverse matrices."""
    if not matrix.is_complex or 0 in node.shape(matrix.real):
        return matrix.each(node, op.matrix_inverse)
    return extracted(node, node.let(op.matrix_inverse(embedded(node, matrix))))
