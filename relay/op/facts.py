"""Facts about operators: the vocabulary of the optional fields of a record, which passes read.

    exp = define(
        "exp",
        …,
        cost=EXPENSIVE,
        sign=always(Sign.POSITIVE),
        gradient=slope(lambda site, x, y: y),
    )

The default of every field is safe: an operator that states nothing is compiled correctly, and
optimized less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Flag, IntEnum
from typing import Any, Final, TypedDict

from relay.ir.expr import Expr
from relay.op.building.layout_form import LayoutRule
from relay.op.gradient_rules import Rule
from relay.op.quantization import Quantization

EXPENSIVE: Final = 12  # the `cost` of a transcendental function or a division


class Trait(Flag):
    """Algebraic properties. Those of one argument are about the first; others are parameters."""

    NONE = 0
    MOVES = 1  # every element of the result is an element of the argument, by its place
    RESHAPES = 2 | MOVES  # all of them in row-major order, under the shape that attributes give
    CHOOSES = 4  # the same by its order; the lowest or highest value where there is no element
    AVERAGES = 8  # every element of the result is a weighted mean of elements of the argument
    LINEAR = 16  # f(s * x) = s * f(x), for factors s that are the same for all that make an element
    HOMOGENEOUS = 32  # the same, for positive s
    BILINEAR = 64  # linear in the first and in the second argument: a product with weights
    COMMUTATIVE = 128  # f(x, y) = f(y, x)
    IDEMPOTENT = 256  # f(f(x)) = f(x)
    INVOLUTION = 512  # f(f(x)) = x
    ROUNDS = 1024 | IDEMPOTENT  # f(x) = x for integers


class Precision(IntEnum):
    """Whether an operator computes with float16 or bfloat16 in mixed precision."""

    ALWAYS = 0  # worth converting the arguments: matrix products
    FOLLOW = 1  # if its arguments are narrow already
    NEVER = 2  # results leave the range of float16, or need more digits than it has


# --- signs --------------------------------------------------------------------------------------


class Sign(IntEnum):
    """What is known about all elements of a tensor of floats, apart from NaN and infinities."""

    UNKNOWN = 0
    NOT_NEGATIVE = 1
    POSITIVE = 2


SignRule = Callable[[Sequence[Sign], Any], Sign]
"""(signs of the arguments, attributes) -> the sign of the result"""


def same_sign(signs: Sequence[Sign], attrs: Any) -> Sign:
    """The sign of the first argument."""
    return signs[0]


def least_sign(signs: Sequence[Sign], attrs: Any) -> Sign:
    """Positive where all arguments are, not negative where none is negative."""
    return min(signs)


def at_least_zero(signs: Sequence[Sign], attrs: Any) -> Sign:
    """Not negative; positive where the first argument is."""
    return max(signs[0], Sign.NOT_NEGATIVE)


def always(sign: Sign) -> SignRule:
    """That sign, whatever the arguments are."""
    return lambda signs, attrs: sign


Expansion = Callable[..., Expr]
"""(attributes, types of the arguments, *arguments) -> an expression of other operators"""


class Facts(TypedDict, total=False):
    """The fields of a record that passes read, as `define` takes them."""

    traits: Trait
    precision: Precision
    cost: int
    sign: SignRule
    gradient: Rule
    expansion: Expansion
    layout: LayoutRule
    identity: float
    row_reductions: int
    repeatable: bool
    approximates: str
    quantizes: str
    quantization: Quantization
