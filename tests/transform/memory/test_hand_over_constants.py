"""Kernels are handed their tensors."""

import numpy as np
import pytest

import relay
from relay.ir.compare import assert_structural_equal
from relay.transform import HandOverConstants, InferType, PassContext

PASS = HandOverConstants()
X = np.arange(6, dtype="float32").reshape(2, 3)
C = np.array([1, 2, 3], "float32")


def kernel(value):
    y = relay.var("y", shape=(2, 3))
    return relay.Function([y], relay.add(y, relay.const(value)), attrs={"Primitive": 1})


def of(body, *params):
    return InferType()(relay.IRModule.from_expr(relay.Function(list(params), body)))


def test_a_tensor_becomes_an_argument():
    x = relay.var("x", shape=(2, 3))
    after = PASS(of(relay.Call(kernel(C), [x]), x))
    p, q = relay.var("p", shape=(2, 3)), relay.var("q", shape=(3,))
    inside = relay.Function([p, q], relay.add(p, q), attrs={"Primitive": 1})
    z = relay.var("z", shape=(2, 3))
    assert_structural_equal(after, of(relay.Call(inside, [z, relay.const(C)]), z))


def test_a_number_stays():
    x = relay.var("x", shape=(2, 3))
    before = of(relay.Call(kernel(np.float32(2)), [x]), x)
    assert PASS(before)["main"] is before["main"]


def test_a_kernel_that_is_a_value_is_called_by_a_function():
    x, f = relay.var("x", shape=(2, 3)), relay.var("f")
    after = PASS(of(relay.Let(f, kernel(np.float32(2)), f(f(x))), x))["main"].body
    assert not after.value.attrs.get("Primitive")
    assert after.value.body.op.attrs["Primitive"]


def modules():
    x, c, f = relay.var("x", shape=(2, 3)), relay.var("c", shape=(), dtype="bool"), relay.var("f")
    yield of(relay.Call(kernel(C), [x]), x)
    yield of(relay.Let(f, kernel(C), f(x)), x)
    named = relay.IRModule({relay.GlobalVar("k"): kernel(C)})
    named["main"] = relay.Function([x], named.get_global_var("k")(x))
    yield named
    yield of(relay.Let(f, kernel(C), relay.If(c, f(x), x)), x, c)


@pytest.mark.parametrize("number", range(4))
def test_every_executor_runs_kernels_with_tensors_inside(number):
    mod = [*modules()][number]
    args = [X, np.array(True)][: len(mod["main"].params)]
    for run in (
        relay.compile(mod),
        *(relay.create_executor(k, mod).evaluate() for k in ("vm", "debug")),
    ):
        np.testing.assert_array_equal(np.asarray(run(*args)), X + C)


def test_what_fusion_is_told_to_keep_inside_is_handed_over_for_code():
    x = relay.var("x", shape=(2, 3))
    with PassContext(opt_level=3, config={"relay.FuseOps.link_params": True}):
        run = relay.compile(of(relay.nn.relu(relay.add(x, relay.const(C))), x))
    np.testing.assert_array_equal(np.asarray(run(X)), X + C)
