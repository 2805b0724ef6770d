"""einsum: contractions written as an equation over axes.

ij,jk->ik       matrix product          ...ij->...ji    matrices transposed
ii->i           diagonal                ij,ij->         sum of all products
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from itertools import chain
from string import ascii_letters

import numpy as np

from relay import te
from relay.immutable import frozen
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Expr, const
from relay.ir.types import TensorType, Type
from relay.op.building.contraction import converted
from relay.op.building.elements import common_extent, stretched
from relay.op.building.numerics import computing_dtype, widened
from relay.op.building.scalars import wide
from relay.op.gradient_rules import ArgumentGradient, Backward, build
from relay.op.opdef import FusionKind, define, sample
from relay.op.site import NUMERIC, Site

REST = "..."  # unnamed axes


@attrs
class EinsumAttrs(Attrs):
    """equation: a letter for each axis of each operand, and those of the result after `->`; axes
    that the result does not name are summed. `...` stands for unnamed axes, which broadcast.
    Without `->` the result has the letters that occur once, in alphabetical order
    """

    equation: str


@frozen
class Equation:
    """The axes of each operand and of the result: letters, and `...` for the rest."""

    operands: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]


@cache
def parse_equation(text: str) -> Equation | None:
    """Parse an equation; None if it is malformed."""
    left, arrow, right = text.replace(" ", "").partition("->")
    operands = [_names(part) for part in left.split(",")]
    every = list(chain.from_iterable(names or () for names in operands))
    if arrow:
        result = _names(right)
    else:
        once = sorted(name for name in set(every) if every.count(name) == 1 and name != REST)
        result = (REST, *once) if REST in every else tuple(once)
    if result is None or None in operands or len(set(result)) < len(result):
        return None
    if not set(result) <= {*every, REST}:
        return None
    return Equation(tuple(names for names in operands if names is not None), result)


def _names(part: str) -> tuple[str, ...] | None:
    before, dots, after = part.partition(REST)
    if not all(c.isascii() and c.isalpha() for c in before + after):
        return None
    return (*before, REST, *after) if dots else tuple(before)


def _einsum_type(site: Site) -> Type | None:
    """The extents of the named axes of the result."""
    text = site.attrs.equation
    if (equation := parse_equation(text)) is None:
        site.fail("`equation` is none", '"ij,jk->ik"', f'equation = "{text}"')
    if (parts := site.tensor_tuple(0)) is None:
        return None
    site.require(
        len(parts) == len(equation.operands),
        "`equation` speaks of another number of operands",
        f"{len(equation.operands)} operands",
        str(len(parts)),
    )
    site.require_same_dtype(*parts)
    site.require(
        parts[0].dtype in NUMERIC.allowed,
        "there are no products of these",
        "numbers",
        str(parts[0]),
    )
    extents: dict[str, Dim] = {}
    rest: list[Dim] = []  # the extents of `...`
    for number, (part, names) in enumerate(zip(parts, equation.operands, strict=True)):
        unnamed = len(part.shape) - len(names) + (REST in names)
        if unnamed < 0 or (unnamed and REST not in names):
            site.fail(
                f"operand {number} does not have the axes of the equation",
                f"axes {''.join(names)}",
                str(part),
            )
        shape = list(part.shape)
        if REST in names:
            at = names.index(REST)
            rest = _broadcast(site, rest, shape[at : at + unnamed])
            del shape[at : at + unnamed]
        own: dict[str, Dim] = {}
        for name, extent in zip((n for n in names if n != REST), shape, strict=True):
            # extents of a diagonal must be equal; only operands broadcast
            own[name] = site.require_equal(own.get(name, extent), extent, f"extents of axis {name}")
        for name, extent in own.items():
            found = site.broadcast(extents.get(name, 1), extent)
            if found is None:
                site.fail(
                    f"extents of axis {name} differ",
                    f"{extents[name]}, or 1",
                    f"{extent} in operand {number}",
                )
            extents[name] = found
    result: list[Dim] = []
    for name in equation.result:
        result.extend(rest if name == REST else [extents[name]])
    return TensorType(tuple(result), parts[0].dtype)


def _broadcast(site: Site, a: list[Dim], b: list[Dim]) -> list[Dim]:
    rank = max(len(a), len(b))
    pairs = zip([1] * (rank - len(a)) + a, [1] * (rank - len(b)) + b, strict=True)
    found: list[Dim] = []
    for left, right in pairs:
        extent = site.broadcast(left, right)
        if extent is None:
            site.fail("the axes without a name do not broadcast", f"{left}, or 1", f"{right}")
        found.append(extent)
    return found


def _einsum(operands: tuple[np.ndarray, ...], equation: str) -> np.ndarray:
    stored = operands[0].dtype
    found = np.einsum(equation, *map(widened, operands), optimize=len(operands) > 1)
    result: np.ndarray = np.asarray(found, computing_dtype(stored)).astype(stored)
    return result


@frozen
class _Term:
    """A tensor and the names of its axes."""

    tensor: te.Tensor
    names: tuple[str, ...]

    def at(self, place: Mapping[str, te.Expr], extents: Mapping[str, te.Expr]) -> te.Expr:
        """The element at the indices of names with these extents."""
        indices = tuple(place[name] for name in self.names)
        return stretched(self.tensor, indices, [extents[name] for name in self.names])


def _einsum_compute(operands: tuple[te.Tensor, ...], out: te.Spec, equation: str) -> te.Tensor:
    """Multiply one operand after the other; a name is summed as soon as no other operand has it."""
    known = parse_equation(equation)
    assert known is not None
    terms = [
        _Term(operand, _each_name(names, operand.rank))
        for operand, names in zip(operands, known.operands, strict=True)
    ]
    result = _each_name(known.result, len(out.shape))
    extents: dict[str, te.Expr] = {}
    for term in terms:
        for name, extent in zip(term.names, term.tensor.shape, strict=True):
            extents[name] = common_extent(extents.get(name, te.index(1)), extent)
    dtype = wide(out.dtype)
    if len(terms) > 1:
        terms = [_alone(term, terms, result, dtype) for term in terms]
    while len(terms) > 2:
        first, second, *others = terms
        needed = {*result, *chain.from_iterable(term.names for term in others)}
        names = tuple(name for name in dict.fromkeys(first.names + second.names) if name in needed)
        terms = [_multiplied([first, second], names, extents, dtype), *others]
    return converted(_multiplied(terms, result, extents, dtype).tensor, out.dtype)


def _each_name(names: tuple[str, ...], rank: int) -> tuple[str, ...]:
    """A name for each axis; unnamed axes are counted from the last."""
    unnamed = rank - len(names) + 1
    rest = [f"{REST}{number}" for number in reversed(range(unnamed))]
    return tuple(chain.from_iterable(rest if name == REST else (name,) for name in names))


def _alone(term: _Term, terms: list[_Term], result: tuple[str, ...], dtype: str) -> _Term:
    """The term summed over the names that no other has."""
    others = {*result, *chain.from_iterable(o.names for o in terms if o is not term)}
    names = tuple(name for name in dict.fromkeys(term.names) if name in others)
    if len(names) == len(set(term.names)):
        return term
    own = dict(zip(term.names, term.tensor.shape, strict=True))
    return _multiplied([term], names, own, dtype)


def _multiplied(
    terms: list[_Term], names: tuple[str, ...], extents: Mapping[str, te.Expr], dtype: str
) -> _Term:
    """The product of terms, summed over all names except these."""
    every = dict.fromkeys(chain.from_iterable(term.names for term in terms))
    summed = {name: te.axis(extents[name], name[0]) for name in every if name not in names}

    def element(*i: te.Expr) -> te.Expr:
        place = {**dict(zip(names, i, strict=True)), **summed}
        factors = [te.cast(term.at(place, extents), dtype) for term in terms]
        return te.sum(reduce(operator.mul, factors), tuple(summed.values()))

    shape = [extents[name] for name in names]
    return _Term(te.compute(shape, element, "einsum"), names)


def _einsum_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """Of each operand: the product of the gradient with the others, with its own axes."""
    operands = site.fields(site.args[0])
    types = site.field_types(site.args[0])
    known = parse_equation(site.attrs.equation)
    assert known is not None
    names = [_each_name(own, len(ty.shape)) for own, ty in zip(known.operands, types, strict=True)]
    result = _each_name(known.result, len(site.type.shape))
    letters = dict(zip(dict.fromkeys(chain.from_iterable(names)), ascii_letters, strict=False))
    found = []
    for number, (operand, own) in enumerate(zip(operands, names, strict=True)):
        others = [i for i in range(len(operands)) if i != number]
        # ones of the shape of the operand stretch axes that nothing else has, and make diagonals
        ones = build("ones_like", operand)
        whole = tuple(dict.fromkeys(own))
        terms = [result, *(names[i] for i in others), own]
        parts = [site.gradient, *(operands[i] for i in others), ones]
        left = ",".join("".join(letters[name] for name in term) for term in terms)
        right = "".join(letters[name] for name in whole)
        gradient = build("einsum", parts, equation=f"{left}->{right}")
        if len(whole) < len(own):
            gradient = _on_diagonal(gradient, own, whole, operand)
        found.append(build("collapse_sum_like", gradient, operand))
    return [found]


def _on_diagonal(gradient: Expr, own: Sequence[str], whole: Sequence[str], operand: Expr) -> Expr:
    """A gradient with an axis for each name, where indices of repeated names are equal."""
    rank = len(own)
    for axis, name in enumerate(own):
        if axis != own.index(name):
            gradient = build("expand_dims", gradient, axis=axis)
    mask: Expr | None = None
    shape = build("shape_of", operand, dtype="int64")
    for axis, name in enumerate(own):
        first = own.index(name)
        if axis == first:
            continue
        extent = build("take", shape, const(axis), axis=0)
        row = build("arange", const(0, "int64"), extent, const(1, "int64"), dtype="int64")
        sides = [
            build("reshape", row, newshape=[-1 if a == place else 1 for a in range(rank)])
            for place in (first, axis)
        ]
        here = build("equal", *sides)
        mask = here if mask is None else build("logical_and", mask, here)
    return build("where", mask, gradient, build("zeros_like", operand))


einsum = define(
    "einsum",
    doc="The sum of the products of the operands over the axes that the result does not name; "
    "integers wrap.",
    arguments=[("data", "a tuple of tensors")],
    attrs=EinsumAttrs,
    relation=_einsum_type,
    reference=_einsum,
    compute=_einsum_compute,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    samples=[
        sample([(2, 3), (3, 4)], equation="ij,jk->ik"),
        sample([(3, 3)], equation="ii->i", dtype="int32"),
        sample([(2, 3), (2, 3)], equation="ij, ij ->", dtype="float16"),
        sample([(1, 2, 3), (4, 3, 5)], equation="...ij,...jk->...ik"),
        sample([(3, 2)], equation="ba", dtype="int8"),
        sample([(2, 3), (3,), (3, 4)], equation="ab,b,bc->ca", dtype="float64"),
        sample([(2, 3), (1, 4)], equation="ij,ik->jk"),
        sample([(), ()], equation=",->", dtype="int64"),
    ],
    gradient=_einsum_gradient,
)
