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


def test_operators_are_fused_first():
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    body = relay.nn.relu(relay.nn.dropout(relay.nn.dense(x, w)))
    mod = relay.IRModule.from_expr(relay.Function([x, w], relay.sort(body)))
    found = extract_fused_functions(mod)
    assert sorted(f.body.op.name for f in found.values()) == ["nn.relu", "sort"]
    assert not any(e.attrs.get("Primitive") for e in mod.functions.values())
