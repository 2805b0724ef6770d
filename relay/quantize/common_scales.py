"""Common scales: parts of a concatenation get the scale of the result, or are requantized.

concatenate((point(%a, scale 0.1), point(%b, scale 0.2)))  and a point of scale 0.2 after it
->
concatenate((point(%a, scale 0.2), point(%b, scale 0.2)))

A part without other readers is rounded to the common scale anyway; rounding it to its own scale
first would add an error. A part with other readers gets the common scale if their error grows
little; otherwise it keeps its own, and is requantized.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

import numpy as np

from relay import tree
from relay.ir.expr import Call, Expr, Function, Tuple
from relay.op.opdef import OpDef
from relay.op.quantization import Kind, quantization_of
from relay.quantize.histogram import Histogram
from relay.quantize.points import points
from relay.quantize.scheme import Parameters

# how much larger the squared error of other readers may become
TOLERATED: Final = 1.5


def common_scales(
    main: Function, chosen: Mapping[Expr, Parameters], measured: Mapping[Expr, Histogram]
) -> dict[Expr, Parameters]:
    """The parameters of points that change."""
    readers: Counter[Expr] = Counter()
    for node in tree.postorder(main):
        readers.update(child for child in tree.children(node) if isinstance(child, Expr))
    found: dict[Expr, Parameters] = {}
    # the last concatenation first: one of another gets its scale
    for whole in reversed(points(main)):
        join = whole.data
        if whole.call not in chosen or not isinstance(join, Call) or not _joins(join):
            continue
        (parts,) = join.args
        assert isinstance(parts, Tuple)
        scale = found.get(whole.call, chosen[whole.call])
        for part in parts.fields:
            if part not in chosen:
                continue
            is_only_reader = readers[part] == 1 and readers[parts] == 1
            if is_only_reader or _costs_little(measured[part], chosen[part], scale):
                found[part] = scale
    return found


def _joins(call: Call) -> bool:
    return isinstance(call.op, OpDef) and quantization_of(call.op).kind is Kind.JOIN


def _costs_little(measured: Histogram, own: Parameters, common: Parameters) -> bool:
    return squared_error(measured, common) <= TOLERATED * squared_error(measured, own)


def squared_error(measured: Histogram, known: Parameters) -> float:
    """The sum of the squared errors of the elements."""
    centers = measured.centers
    back = known.centered(centers) * known.scale.astype(np.float64)
    return float(((back - centers) ** 2 * measured.counts).sum())
