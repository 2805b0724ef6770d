"""Add an operator from outside the package: one `define` parses, prints, types and runs."""

import numpy as np

import relay
from relay import te
from relay.ir.attrs import Attrs, attrs
from relay.op.opdef import FusionKind, define, sample


@attrs
class ScaleAttrs(Attrs):
    factor: float = 1.0


scale = define(
    "my.scale",
    doc="data * factor, element by element.",
    arguments=[("data", "the input")],
    attrs=ScaleAttrs,
    relation=lambda site: site.tensor(0),
    reference=lambda data, factor: data * data.dtype.type(factor),
    compute=lambda data, factor, out: te.compute(out.shape, lambda *i: data[i] * factor),
    fusion=FusionKind.ELEMWISE,
    samples=[sample((2, 3), factor=0.5)],
)

x = relay.var("x", shape=(2, 3))
mod = relay.IRModule.from_expr(relay.Function([x], scale(relay.nn.relu(x), factor=0.5)))
mod = relay.parse(mod.astext())
print(mod)
result = relay.create_executor("debug", mod).evaluate()(np.ones((2, 3), "float32")).numpy()
print(result)
assert (result == 0.5).all()
