"""The oracle of quantization: the annotated network in float64, from what its points give.

At each point the realized program has integers, and the numbers between points follow from those
before them. Integers may differ from the ones expected only where the number is next to a tie.
"""

from __future__ import annotations

import numpy as np

import relay
from relay import tree
from relay.ir.expr import Call, Constant, Function, Tuple, TupleGetItem, Var
from relay.op.annotation import simulated_quantize
from relay.quantize.points import Point, points
from relay.quantize.realize import realize

# how far from a tie a number may be that is rounded the other way, in steps
NEAR = 1e-3


def with_points(module: relay.IRModule) -> relay.IRModule:
    """The module with the values of all its points as results."""
    main = module["main"]
    found = [point.call for point in points(main) if not isinstance(point.data, Constant)]
    result = relay.IRModule.from_expr(Function(main.params, Tuple((*found, main.body))))
    return relay.transform.InferType()(result)


def assert_realized(module, inputs: dict[str, np.ndarray], run, rounding, sums="int32") -> int:
    """The realized program has the integers of the simulation in float64; gives their number."""
    whole = with_points(module)
    results = run(realize(rounding, sums)(whole), inputs)
    *places, body = whole["main"].body.fields
    realized = dict(zip(places, results, strict=False))
    known = {}
    checked = 0
    for e in tree.postorder(whole["main"].body):
        if isinstance(e, Var):
            known[e] = inputs[e.name_hint].astype(np.float64)
        elif isinstance(e, Constant):
            known[e] = e.data.array.astype(np.float64) if _is_float(e) else e.data.array
        elif isinstance(e, Tuple):
            known[e] = tuple(known[field] for field in e.fields)
        elif isinstance(e, TupleGetItem):
            known[e] = known[e.tuple_value][e.index]
        elif isinstance(e, Call):
            known[e] = _value(e, known)
            if e.op.name in ("add", "nn.bias_add"):
                sums, bias = e.args
                if isinstance(bias, Constant) and (step := _step_of_sums(sums)) is not None:
                    known[e] = known[sums] + np.rint(_spread(bias) / step) * step
            if e in realized:
                checked += _compare(Point(e), known[e.args[0]], realized[e])
                known[e] = realized[e].astype(np.float64)
    wanted, found = known[body], results[-1]
    np.testing.assert_allclose(
        found, wanted, rtol=2e-3, atol=2e-3 * max(np.abs(wanted).max(), 1e-6)
    )
    return checked


def _value(call: Call, known) -> np.ndarray:
    attrs = {} if call.attrs is None else dict(call.attrs.items())
    if attrs.get("out_dtype"):
        attrs["out_dtype"] = None
    return call.op.reference(*(known[arg] for arg in call.args), **attrs)


def _step_of_sums(e) -> np.ndarray | None:
    """The scale of a product of integers, to which the bias is rounded."""
    if not isinstance(e, Call) or e.op.name not in ("nn.conv2d", "nn.dense"):
        return None
    sides = [_point_of(arg) for arg in e.args]
    if any(side is None for side in sides) or not _fits(*map(Point, sides)):
        return None
    scales = [Point(side).parameters.scale for side in sides]
    step = (scales[0] * scales[1]).astype(np.float64)
    return step.reshape(-1, 1, 1) if e.op.name == "nn.conv2d" and step.ndim else step


def _fits(data: Point, weight: Point) -> bool:
    """Whether sums of products are sure to fit in 32 bits; others stay floats."""
    known = data.parameters
    reach = max(abs(int(end)) for end in known.ends)
    if isinstance(weight.data, Constant):
        values = np.abs(
            weight.parameters.centered(weight.data.data.array.astype(float), weight.axis)
        )
        axis = weight.axis % values.ndim if weight.axis >= 0 else 0
        return values.sum(tuple(i for i in range(values.ndim) if i != axis)).max() * reach < 2**31
    return True


def _point_of(e):
    """The point that the integers of a value come from, through what only moves them."""
    while isinstance(e, Call | Tuple) and getattr(e, "op", None) is not simulated_quantize:
        e = tree.children(e)[1 if isinstance(e, Call) else 0]
    return e if isinstance(e, Call) else None


def _spread(bias: Constant) -> np.ndarray:
    return bias.data.array.astype(np.float64)


def _compare(point: Point, values: np.ndarray, realized: np.ndarray) -> int:
    parameters = point.parameters
    scale = parameters.scale.astype(np.float64)
    found = np.rint(realized / scale)
    exact = values / scale
    wanted = parameters.centered(values)
    differs = found != wanted
    from_tie = np.abs(np.abs(exact - np.floor(exact)) - 0.5)
    tolerated = (np.abs(found - wanted) <= 1) & (from_tie < NEAR + 1e-7 * np.abs(exact))
    assert not (differs & ~tolerated).any(), (
        point.name,
        exact[differs & ~tolerated][:5],
        found[differs & ~tolerated][:5],
    )
    return found.size


def _is_float(e: Constant) -> bool:
    return e.data.array.dtype.kind == "f"
