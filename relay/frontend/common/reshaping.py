"""Reshapes to extents that are known as numbers, as named dimensions, or at run time only.

    (n, 8) to (n, 4, 2)     reshape(data, [0, 4, 2])
    (n, m) to (n * m,)      reshape(data, [-1])
    (n, m) to (m, n)        reshape(data, stack((m, n))), declared to be (m, n)

Static codes are used where they can say the shape; otherwise the result has a declared type, which
is checked at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from relay import op
from relay.frontend.common.broadcast import without_names
from relay.frontend.common.builder import Builder
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr

Extents = Sequence["Dim | None"]  # None for one that is known at run time only


def reshaped(
    node: Builder,
    data: Expr,
    elements: Extents,
    wanted: Callable[[], Expr],
    *,
    allowzero: bool,
    as_computed: bool | None = None,
) -> Expr:
    """Data of another shape, as far as it is known; `wanted` makes the vector of all its extents.

    Without `allowzero` an extent of 0 copies the old one; `as_computed` is the same for extents
    that are computed.
    """
    old = node.shape(data)
    new = new_shape(elements, old, allowzero)
    codes = codes_of(elements, old, allowzero)
    if codes is not None and _is_number_for_name(codes, old, new):
        codes = None
    if product(old) != product(new):
        # equal at run time, though not for inference
        data = without_names(node, data)
    elif codes is not None:
        return op.reshape(data, codes, allowzero=allowzero)
    if codes is None:
        keeps = allowzero if as_computed is None else as_computed
        found = op.reshape(data, wanted(), allowzero=keeps)
    else:
        found = op.reshape(data, codes, allowzero=allowzero)
    return node.declare(found, new, node.dtype(data))


def product(extents: Sequence[Dim]) -> Dim:
    """The number of elements of a shape."""
    one: Dim = 1
    return reduce(dims.multiply, extents, one)


def is_same(one: Dim | None, other: Dim) -> bool:
    """Whether two extents are known to be equal."""
    return one is not None and dims.equal(one, other) is True


def codes_of(elements: Extents, old: Sequence[Dim], allowzero: bool) -> tuple[int, ...] | None:
    """A shape as numbers: 0 for an unchanged dimension, -1 for the one that is inferred; None where
    that is not possible."""
    codes: list[int] = []
    rest: list[int] = []  # positions of other dimensions
    for place, one in enumerate(elements):
        if isinstance(one, int):
            codes.append(one)
        elif place < len(old) and is_same(one, old[place]) and not allowzero:
            codes.append(0)
        else:
            rest.append(place)
            codes.append(-1)
    if rest and (codes.count(-1) > 1 or 0 in elements):
        return None
    # an unknown element may be 0 or -1 itself
    return None if any(elements[place] is None for place in rest) else tuple(codes)


def _is_number_for_name(codes: Sequence[int], old: Sequence[Dim], new: Sequence[Dim]) -> bool:
    """Whether -1 stands for a named dimension that static extents determine: (n,) for (2, 3)."""
    if -1 not in codes or isinstance(new[codes.index(-1)], int | dims.Any):
        return False
    left = [one for place, one in enumerate(old) if place >= len(codes) or codes[place] != 0]
    return isinstance(product(left), int)


def new_shape(elements: Extents, old: Sequence[Dim], allowzero: bool) -> tuple[Dim, ...]:
    """The shape of the result, as far as it is known."""
    found: list[Dim] = []
    for place, one in enumerate(elements):
        if one == 0 and not allowzero:
            found.append(old[place] if place < len(old) else dims.ANY)
        else:
            found.append(dims.ANY if one is None else one)
    if -1 in found:
        place = found.index(-1)
        rest = product([*found[:place], *found[place + 1 :]])
        whole = dims.exact_quotient(product(old), rest)
        found[place] = dims.ANY if whole is None else whole
    return tuple(found)
