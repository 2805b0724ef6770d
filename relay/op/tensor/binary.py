"""Elementwise operators with broadcasting: arithmetic, bits, logic, comparison, where."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from relay import te
from relay.ir.expr import Expr
from relay.ir.types import TensorType, Type
from relay.op.building import numerics, scalars
from relay.op.building.elements import broadcasting
from relay.op.building.numerics import rounded_once
from relay.op.building.scalars import Function
from relay.op.facts import EXPENSIVE, Facts, Precision, Sign, Trait, least_sign
from relay.op.gradient_rules import DISCRETE, NO_FLOATS, Backward, Gradient, build, flat, stretching
from relay.op.opdef import FusionKind, OpDef, Sample, define, sample
from relay.op.relations import broadcast, broadcast_bool, broadcast_of, broadcast_types, comparison
from relay.op.site import ADDABLE, BITS, BOOLEAN, INTEGER, NUMERIC, Relation, Site
from relay.op.tensor.unary import log, zeros_like

_OPERANDS = (("lhs", "left operand"), ("rhs", "right operand"))


def _binary(
    name: str,
    doc: str,
    relation: Relation,
    reference: Any,
    scalar: Function,
    samples: tuple[Sample, ...],
    **facts: Unpack[Facts],
) -> OpDef:
    return define(
        name,
        doc=doc,
        arguments=_OPERANDS,
        relation=relation,
        reference=rounded_once(reference),
        compute=broadcasting(scalar),
        fusion=FusionKind.BROADCAST,
        samples=samples,
        **facts,
    )


_numeric_type = broadcast_of(NUMERIC)
_NUMBERS = (
    sample((2, 3), (2, 3), low=0.5, high=4.0),
    sample((4, 1, 3), (2, 1)),
    sample((), (5,), dtype="int32", low=-9, high=9),
    sample((3,), (), dtype="float16"),
    sample((0, 2), (1, 2), dtype="uint8", high=9),
)
_FLAGS = (sample((2, 3), (3,), dtype="bool"), sample((), (), dtype="bool"))
_WORDS = (
    sample((2, 3), (3,), dtype="int32", low=-50, high=50),
    sample((4,), (), dtype="uint8", high=200),
)

# --- arithmetic --------------------------------------------------------------------------------


def _arithmetic(
    name: str, doc: str, reference: Any, scalar: Function, **facts: Unpack[Facts]
) -> OpDef:
    return _binary(name, doc, _numeric_type, reference, scalar, _NUMBERS, **facts)


def _plus(lhs: te.Expr, rhs: te.Expr) -> te.Expr:
    return lhs | rhs if scalars.is_truth(lhs) else lhs + rhs


def _sum_sign(signs: Sequence[Sign], attrs: Any) -> Sign:
    return max(signs) if min(signs) > Sign.UNKNOWN else Sign.UNKNOWN


add = _binary(
    "add",
    "lhs + rhs; integers wrap. For bool it is the logical or, as in NumPy: to count, `cast` first.",
    broadcast_of(ADDABLE),
    np.add,
    _plus,
    (*_NUMBERS, *_FLAGS),
    traits=Trait.COMMUTATIVE,
    precision=Precision.FOLLOW,
    identity=0,
    sign=_sum_sign,
    gradient=stretching(lambda site: [site.gradient, site.gradient]),
)
subtract = _arithmetic(
    "subtract",
    "lhs - rhs; integers wrap.",
    np.subtract,
    operator.sub,
    identity=0,
    precision=Precision.FOLLOW,
    gradient=stretching(lambda site: [site.gradient, -site.gradient]),
)


def _multiply_gradient(site: Backward) -> Sequence[Expr]:
    left, right = site.args
    return [site.gradient * right, site.gradient * left]


multiply = _arithmetic(
    "multiply",
    "lhs * rhs; integers wrap.",
    np.multiply,
    operator.mul,
    traits=Trait.COMMUTATIVE,
    precision=Precision.FOLLOW,
    identity=1,
    sign=least_sign,
    gradient=stretching(_multiply_gradient),
)


def _divide_gradient(site: Backward) -> Sequence[Expr]:
    left = site.gradient / site.args[1]
    return [left, -(left * site.output)]


divide = _arithmetic(
    "divide",
    "lhs / rhs. Integers truncate toward zero; x / 0 is 0, and the lowest / -1 wraps.",
    numerics.divide,
    scalars.divide,
    precision=Precision.FOLLOW,
    cost=EXPENSIVE,
    sign=lambda signs, attrs: signs[0] if signs[1] > Sign.UNKNOWN else Sign.UNKNOWN,
    identity=1,
    gradient=stretching(_divide_gradient),
)


def _modulo_gradient(quotient: str) -> Gradient:
    """The rule of the rest of a division with that whole quotient, which is constant."""

    def gradients(site: Backward) -> Sequence[Expr]:
        left, right = site.args
        return [site.gradient, -(site.gradient * build(quotient, left, right))]

    return stretching(gradients)


floor_divide = _arithmetic(
    "floor_divide",
    "lhs / rhs rounded down, without an intermediate rounding; integer x / 0 is 0.",
    numerics.floor_divide,
    scalars.floor_divide,
    cost=EXPENSIVE,
    gradient=flat,
)
trunc_divide = _arithmetic(
    "trunc_divide",
    "lhs / rhs rounded toward zero; integer x / 0 is 0.",
    numerics.trunc_divide,
    scalars.trunc_divide,
    cost=EXPENSIVE,
    gradient=flat,
)
mod = _arithmetic(
    "mod",
    "lhs - rhs * trunc(lhs / rhs), with the sign of lhs, as in C; integer x mod 0 is x.",
    numerics.trunc_mod,
    scalars.trunc_mod,
    cost=EXPENSIVE,
    gradient=_modulo_gradient("trunc_divide"),
)
trunc_mod = _arithmetic(
    "trunc_mod",
    "The same as `mod`.",
    numerics.trunc_mod,
    scalars.trunc_mod,
    cost=EXPENSIVE,
    gradient=_modulo_gradient("trunc_divide"),
)
floor_mod = _arithmetic(
    "floor_mod",
    "lhs - rhs * floor(lhs / rhs), with the sign of rhs, as in Python; integer x mod 0 is x.",
    numerics.floor_mod,
    scalars.floor_mod,
    cost=EXPENSIVE,
    gradient=_modulo_gradient("floor_divide"),
)


def _power_gradient(site: Backward) -> Sequence[Expr]:
    """X ** 0 is constant in x, and 0 ** y in y, where it is finite."""
    base, exponent = site.args
    zero = zeros_like(site.output)
    lower = power(base, exponent - site.number(1))
    by_base = where(equal(exponent, site.number(0)), zero, exponent * lower)
    constant = logical_and(equal(base, site.number(0)), greater_equal(exponent, site.number(0)))
    by_exponent = where(constant, zero, site.output * log(base))
    return [site.gradient * by_base, site.gradient * by_exponent]


power = _arithmetic(
    "power",
    "lhs to the power of rhs. Integers wrap; a negative exponent gives 0 unless lhs is 1 or -1.",
    numerics.power,
    scalars.power,
    cost=EXPENSIVE,
    sign=lambda signs, attrs: Sign.POSITIVE if signs[0] is Sign.POSITIVE else Sign.UNKNOWN,
    identity=1,
    gradient=stretching(_power_gradient),
)


def _extremum(
    name: str, doc: str, reference: Any, scalar: Function, **facts: Unpack[Facts]
) -> OpDef:
    facts = {"traits": Trait.COMMUTATIVE, "precision": Precision.FOLLOW, **facts}
    return _binary(name, doc, broadcast, reference, scalar, (*_NUMBERS, *_FLAGS), **facts)


def _chosen_gradient(site: Backward, condition: Expr) -> list[Expr | None]:
    """The gradient with respect to the first of two tensors where it was taken, and the second."""
    zero = zeros_like(site.gradient)
    return [where(condition, site.gradient, zero), where(condition, zero, site.gradient)]


def _extremum_gradient(site: Backward, loses: OpDef) -> list[Expr | None]:
    """The gradient goes to the operand that was taken; equal ones share it. An operand loses to the
    other if the comparison holds."""
    left, right = site.args
    zero, half = zeros_like(site.gradient), site.gradient * site.number(0.5)
    shared = where(equal(left, right), half, site.gradient)
    return [where(loses(left, right), zero, shared), where(loses(right, left), zero, shared)]


def _greater(lhs: te.Expr, rhs: te.Expr) -> te.Expr:
    return lhs | rhs if scalars.is_truth(lhs) else te.maximum(lhs, rhs)


def _smaller(lhs: te.Expr, rhs: te.Expr) -> te.Expr:
    return lhs & rhs if scalars.is_truth(lhs) else te.minimum(lhs, rhs)


maximum = _extremum(
    "maximum",
    "The maximum of lhs and rhs; NaN if either is NaN.",
    np.maximum,
    _greater,
    identity=-np.inf,
    sign=lambda signs, attrs: max(signs),
    gradient=stretching(lambda site: _extremum_gradient(site, less)),
)
minimum = _extremum(
    "minimum",
    "The minimum of lhs and rhs; NaN if either is NaN.",
    np.minimum,
    _smaller,
    identity=np.inf,
    sign=least_sign,
    gradient=stretching(lambda site: _extremum_gradient(site, greater)),
)

# --- bits and logic ----------------------------------------------------------------------------


def _bits(name: str, doc: str, reference: Any, scalar: Function, identity: int) -> OpDef:
    samples = (*_WORDS, *_FLAGS)
    facts: Facts = {
        "traits": Trait.COMMUTATIVE,
        "identity": identity,
        "gradient": NO_FLOATS,
    }
    return _binary(name, doc, broadcast_of(BITS), reference, scalar, samples, **facts)


bitwise_and = _bits("bitwise_and", "Bitwise and.", np.bitwise_and, operator.and_, -1)
bitwise_or = _bits("bitwise_or", "Bitwise or.", np.bitwise_or, operator.or_, 0)
bitwise_xor = _bits("bitwise_xor", "Bitwise xor.", np.bitwise_xor, operator.xor, 0)

_SHIFTS = (
    sample((2, 3), (3,), dtype="int32", low=0, high=40),
    sample((4,), (), dtype="uint8", high=9),
)
left_shift = _binary(
    "left_shift",
    "lhs * 2**rhs, wrapped. A count that is negative, or not less than the width, gives 0.",
    broadcast_of(INTEGER),
    np.left_shift,
    operator.lshift,
    _SHIFTS,
    identity=0,
    gradient=NO_FLOATS,
)
right_shift = _binary(
    "right_shift",
    "lhs / 2**rhs rounded down. A count that is negative, or not less than the width, gives the "
    "sign: 0 or -1.",
    broadcast_of(INTEGER),
    np.right_shift,
    operator.rshift,
    _SHIFTS,
    identity=0,
    gradient=NO_FLOATS,
)


def _logical(name: str, doc: str, reference: Any, scalar: Function, identity: bool) -> OpDef:
    facts: Facts = {
        "traits": Trait.COMMUTATIVE,
        "identity": identity,
        "gradient": NO_FLOATS,
    }
    return _binary(name, doc, broadcast_bool, reference, scalar, _FLAGS, **facts)


logical_and = _logical("logical_and", "Logical and.", np.logical_and, operator.and_, True)
logical_or = _logical("logical_or", "Logical or.", np.logical_or, operator.or_, False)
logical_xor = _logical("logical_xor", "Logical xor.", np.logical_xor, operator.xor, False)

# --- comparison --------------------------------------------------------------------------------


def _comparison(name: str, doc: str, reference: Any, scalar: Function) -> OpDef:
    samples = (*_NUMBERS, *_FLAGS)
    return _binary(name, doc, comparison, reference, scalar, samples, gradient=DISCRETE)


def _ordered(compare: Function) -> Function:
    """False comes before True."""

    def scalar(lhs: te.Expr, rhs: te.Expr) -> te.Expr:
        if scalars.is_truth(lhs):
            lhs, rhs = te.cast(lhs, "uint8"), te.cast(rhs, "uint8")
        return compare(lhs, rhs)

    return scalar


equal: OpDef = _comparison("equal", "lhs == rhs; NaN equals nothing.", np.equal, te.equal)
not_equal = _comparison(
    "not_equal", "lhs != rhs; NaN differs from everything.", np.not_equal, te.not_equal
)
less: OpDef = _comparison("less", "lhs < rhs; False for NaN.", np.less, _ordered(operator.lt))
less_equal: OpDef = _comparison(
    "less_equal", "lhs <= rhs; False for NaN.", np.less_equal, _ordered(operator.le)
)
greater: OpDef = _comparison(
    "greater", "lhs > rhs; False for NaN.", np.greater, _ordered(operator.gt)
)
greater_equal: OpDef = _comparison(
    "greater_equal", "lhs >= rhs; False for NaN.", np.greater_equal, _ordered(operator.ge)
)

# --- choice ------------------------------------------------------------------------------------


def _where_type(site: Site) -> Type | None:
    """Condition, x and y broadcast; x and y have the element type of the result."""
    site.require_elements(0, BOOLEAN)
    if (operands := site.tensors()) is None:
        return None
    condition, x, y = operands
    site.require_same_dtype(x, y)
    shape = broadcast_types(site, condition, x, y).shape
    return TensorType(shape, x.dtype)


where = define(
    "where",
    doc="x where the condition holds, y elsewhere, with broadcasting.",
    arguments=[
        ("condition", "bool tensor"),
        ("x", "elements taken where it holds"),
        ("y", "elements taken where it does not"),
    ],
    relation=_where_type,
    reference=np.where,
    compute=broadcasting(te.select),
    fusion=FusionKind.BROADCAST,
    precision=Precision.FOLLOW,
    gradient=stretching(lambda site: [None, *_chosen_gradient(site, site.args[0])]),
    samples=[
        sample(np.array([True, False, True]), (2, 3), (2, 3)),
        sample(np.array([[True], [False]]), (), (4,), dtype="int32"),
        sample(np.array(False), (3, 1), (1, 2), dtype="bfloat16"),
    ],
)
