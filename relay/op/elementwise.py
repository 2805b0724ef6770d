"""Element by element: one or two tensors in, one out."""

from __future__ import annotations

import numpy as np

from relay.op.opdef import FusionKind, define, sample
from relay.op.relations import broadcast, same_type

add = define(
    "add",
    doc="lhs + rhs, with broadcasting.",
    arguments=[("lhs", "left operand"), ("rhs", "right operand")],
    relation=broadcast,
    reference=np.add,
    fusion=FusionKind.BROADCAST,
    samples=[sample((2, 3), (2, 3)), sample((2, 3), (3,)), sample((), (), dtype="int32")],
)

relu = define(
    "nn.relu",
    doc="max(data, 0); NaN stays NaN.",
    arguments=[("data", "the input")],
    relation=same_type,
    reference=lambda data: np.maximum(data, data.dtype.type(0)),
    fusion=FusionKind.ELEMWISE,
    samples=[sample((2, 3)), sample((), dtype="int32")],
)
