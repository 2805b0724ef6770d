"""Gradient rules of operators that are linear along each spatial axis: pools of means, resizing.

The operator along one axis, applied to the rows of the identity, gives the matrix of that axis. The
result is the product of data with the matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from relay.errors import GradientError
from relay.ir.expr import Expr, const
from relay.op.building.layouts import extents, read_layout, spatial_axes
from relay.op.gradient_rules import Backward, Composed, build, relaid

# (call, number of the axis, its extent, (1, extent, extent) with the identity) -> the rows after it
AlongAxis = Callable[[Backward, int, int, Expr], Expr]


def separable(along: AlongAxis) -> Composed:
    """The rule, from the operator along one axis."""

    def result(site: Backward) -> Expr:
        (data,) = site.args[:1]
        layout: str = site.attrs.layout
        ty = site.tensor_type(data)
        spatial = spatial_axes(layout)
        matrices = []
        for number, extent in enumerate(fixed(site, extents(ty.shape, layout, spatial))):
            rows = const(np.eye(extent)[None], ty.dtype)
            matrices.append(build("squeeze", along(site, number, extent, rows), axis=[0]))
        out_layout: str = dict(site.attrs.items()).get("out_layout") or layout
        names = _names(layout)
        inside = "".join(names)
        terms, whole = [inside], inside
        for number, letter in enumerate(spatial):
            before, after = names[read_layout(layout).places(letter)[0]], "xyz"[number]
            terms.append(before + after)
            whole = whole.replace(before, after)
        made = build("einsum", [data, *matrices], equation=f"{','.join(terms)}->{whole}")
        made = relaid(made, layout, out_layout)
        return made if site.type.dtype == ty.dtype else made.astype(site.type.dtype)

    return Composed(result)


def fixed(site: Backward, shape: Sequence[object]) -> list[int]:
    """Extents that must be known."""
    known = [extent for extent in shape if isinstance(extent, int)]
    if len(known) != len(shape):
        raise GradientError.of(
            "the gradient needs the extents of the spatial axes",
            site.call.span,
            "numbers",
            str(site.tensor_type(site.args[0])),
        )
    return known


def _names(layout: str) -> list[str]:
    """A letter for each axis of a layout."""
    return [chr(ord("a") + place) for place in range(len(read_layout(layout).axes))]
