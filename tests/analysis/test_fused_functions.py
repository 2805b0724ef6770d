"""The kernels of a module."""

import relay
from relay.analysis import extract_fused_functions


def kernel(op):
    x = relay.var("x", shape=(2,))
    return relay.Function([x], op(x, x), attrs={"Primitive": 1})


def test_equal_kernels_are_found_once():
    x = relay.var("x", shape=(2,))
    body = kernel(relay.add)(kernel(relay.multiply)(kernel(relay.add)(x)))
    found = extract_fused_functions(relay.IRModule.from_expr(body))
    names = sorted(f.body.op.name for f in found.values())
    assert names == ["add", "multiply"]


def test_other_functions_are_no_kernels():
    x = relay.var("x", shape=(2,))
    assert extract_fused_functions(relay.IRModule.from_expr(relay.Function([x], x))) == {}
