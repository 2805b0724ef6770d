"""Apply algebraic rules that preserve values:

reshape(reshape(add(%x, zeros_like(%x)), newshape=[6]), newshape=[3, 2])  ->  reshape(%x, …)

The rules are grouped in files:

    concrete_forms          *_like operators of known types
    shape_identities        reshapes, squeezes, transposes, layouts, broadcasts
    conversion_identities   casts and clips
    uniform_operands        arithmetic with 0 and 1, and with uniform tensors
    element_identities      x + x, double negation, powers, square roots, known selections
    binomials               x * x + 2 * x * y + y * y
    constant_terms          (x + c1) + c2, (x * c1) * c2, (x + c1) * c2
    part_identities         slices, concatenations, splits, paddings
    quantized_identities    argmin and argmax of quantized tensors

Each states its assumptions. Nothing is approximated: floats may be rounded once less or once more,
and the sign of a zero may change. Operators with effects are neither removed nor reordered.
Variables are looked through, and stay for their other uses:

let %a = negative(%x); let %b = negative(%a); (%a, %b)  ->  … let %b = %x; (%a, %b)
"""

from __future__ import annotations

from relay.immutable import frozen
from relay.transform.quantized import quantized_identities
from relay.transform.simplify import (
    binomials,
    concrete_forms,
    constant_terms,
    conversion_identities,
    element_identities,
    part_identities,
    shape_identities,
    uniform_operands,
)
from relay.transform.simplify.peephole import RulePass

RULES = (
    concrete_forms.RULES,
    shape_identities.RULES,
    conversion_identities.RULES,
    uniform_operands.RULES,
    element_identities.RULES,
    binomials.RULES,
    constant_terms.RULES,
    part_identities.RULES,
    quantized_identities.RULES,
)


@frozen
class SimplifyExpr(RulePass):
    """Simplifies expressions by the rules of algebra, of shapes and of element types."""

    rules = RULES
