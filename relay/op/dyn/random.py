"""Random tensors of dynamic shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import te
from relay.errors import VALUE
from relay.ir import dims
from relay.ir.types import TensorType, TupleType, Type
from relay.op.dyn.extents import Need, Shapes, integers
from relay.op.dyn.form import define_dynamic, value_count
from relay.op.dyn.shape import ints
from relay.op.opdef import OpDef, sample
from relay.op.random import threefry
from relay.op.random.draw import GENERATOR, NORMAL, UNIFORM, drawn_dtype
from relay.op.site import Site

__all__ = ["normal", "uniform"]


def _draw_type(site: Site) -> Type | None:
    """(generator, tensor) with a dynamic dimension for each extent."""
    dtype, count = drawn_dtype(site), value_count(site, 3)
    if dtype is None or count is None:
        return None
    return TupleType((GENERATOR, TensorType((dims.ANY,) * count, dtype)))


def _draw_extents(key: te.Tensor, *args: te.Tensor, need: Need, **_: Any) -> Shapes:
    shape = integers(args[2])
    for extent in shape:
        need(extent >= 0, "`out_shape` has a negative extent", "0 or more", VALUE, (extent, 0))
    return key.shape, shape


def _drawn(static: OpDef) -> OpDef:
    compute = static.compute
    assert compute is not None
    return define_dynamic(
        static,
        arguments=[*static.arguments, ("out_shape", "the shape of the result, integers")],
        relation=_draw_type,
        compute=lambda key, first, second, out_shape, out, **attrs: compute(
            key, first, second, out_shape=(), out=out, **attrs
        ),
        extents=_draw_extents,
        samples=[
            sample(threefry.make_key(1), (), (), ints(2, 3)),
            sample(
                threefry.make_key(2),
                (),
                (),
                ints(5),
                dtype="float64",
                attrs={"out_dtype": "float64"},
            ),
            sample(threefry.make_key(3), *[np.array(1, "float32")] * 2, ints(dtype="int32")),
        ],
    )


uniform = _drawn(UNIFORM)
normal = _drawn(NORMAL)
