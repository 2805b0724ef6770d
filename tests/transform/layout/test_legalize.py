"""Operators rewritten by functions that are attached to them."""

import numpy as np
import pytest

import relay
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.op import register_op_attr, temporary_operators
from relay.transform import InferType, Legalize, PassContext, Sequential
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'


@pytest.fixture(autouse=True)
def undone():
    with temporary_operators():
        yield


def parsed(text):
    return InferType()(relay.parse(HEADER + text))


def as_clip(attrs, inputs, types):
    return relay.maximum(inputs[0], relay.const(0.0, types[-1].dtype))


def test_calls_become_what_the_function_says():
    register_op_attr("nn.relu", "FTVMLegalize", as_clip)
    before = parsed("def @main(%x: Tensor[(2), float32]) { nn.relu(tanh(nn.relu(%x))) }")
    after = parsed("def @main(%x: Tensor[(2), float32]) { maximum(tanh(maximum(%x, 0f)), 0f) }")
    assert_structural_equal(Legalize()(before), after)
    assert_structural_equal(Legalize()(Legalize()(before)), after)


def test_the_function_sees_attributes_inputs_and_all_types():
    seen = []

    def look(attrs, inputs, types):
        seen.append((attrs.axis, len(inputs), [ty.concrete_shape for ty in types]))

    register_op_attr("nn.bias_add", "FTVMLegalize", look)
    before = parsed(
        "def @main(%x: Tensor[(2, 3), float32], %b: Tensor[(3), float32]) { nn.bias_add(%x, %b) }"
    )
    assert Legalize()(before)["main"] is before["main"]
    assert seen == [(1, 2, [(2, 3), (3,), (2, 3)])]


def test_a_product_may_be_padded_to_what_a_machine_likes():
    def pad(attrs, inputs, types):
        data, weight, out = types
        rows = [ty.concrete_shape[0] for ty in (data, weight)]
        if rows[1] % 4 == 0:
            return None
        wider = relay.nn.pad(inputs[1], ((0, -rows[1] % 4), (0, 0)))
        product = relay.nn.dense(inputs[0], wider)
        return relay.strided_slice(product, begin=[0, 0], end=out.concrete_shape)

    register_op_attr("nn.dense", "FTVMLegalize", pad)
    before = parsed(
        "def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(5, 3), float32]) { nn.dense(%x, %w) }"
    )
    after = Legalize()(before)
    assert "nn.pad" in str(after)
    x, w = np.random.rand(2, 3).astype("float32"), np.random.rand(5, 3).astype("float32")
    found = relay.create_executor("debug", mod=after).evaluate()(x, w).numpy()
    np.testing.assert_allclose(found, x @ w.T, rtol=1e-6)


def test_another_attribute_can_be_asked_for():
    register_op_attr("nn.relu", "FTVMQnnLegalize", as_clip)
    before = parsed("def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }")
    assert Legalize()(before)["main"] is before["main"]
    assert "maximum" in str(Legalize("FTVMQnnLegalize")(before))


def test_branches_functions_and_lets_are_looked_into():
    register_op_attr("nn.relu", "FTVMLegalize", as_clip)
    before = parsed("""
        def @main(%x: Tensor[(2), float32], %c: bool) {
          let %f = fn (%y: Tensor[(2), float32]) { nn.relu(%y) };
          let %z = nn.relu(%x);
          if (%c) { %f(%z) } else { nn.relu(%z) }
        }
    """)
    after = parsed("""
        def @main(%x: Tensor[(2), float32], %c: bool) {
          let %f = fn (%y: Tensor[(2), float32]) { maximum(%y, 0f) };
          let %z = maximum(%x, 0f);
          if (%c) { %f(%z) } else { maximum(%z, 0f) }
        }
    """)
    assert_structural_equal(Legalize()(before), after)


def test_functions_of_somebody_else_stay_as_they_are():
    register_op_attr("nn.relu", "FTVMLegalize", as_clip)
    before = parsed("""
        def @main(%x: Tensor[(2), float32]) {
          let %f = fn (%y: Tensor[(2), float32], Primitive=1) { nn.relu(%y) };
          %f(%x)
        }
    """)
    assert Legalize()(before)["main"] is before["main"]


def test_what_is_no_expression_is_refused():
    register_op_attr("nn.relu", "FTVMLegalize", lambda attrs, inputs, types: 3)
    with pytest.raises(PassError, match="gives an expression or None"):
        Legalize()(parsed("def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }"))


def test_it_belongs_to_level_one():
    register_op_attr("nn.relu", "FTVMLegalize", as_clip)
    before = parsed("def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }")
    with PassContext(opt_level=0):
        assert Sequential([Legalize()])(before)["main"] is before["main"]
    with PassContext(opt_level=1):
        assert "maximum" in str(Sequential([Legalize()])(before))


def test_long_chains_take_no_stack():
    register_op_attr("nn.relu", "FTVMLegalize", lambda attrs, inputs, _: relay.abs(*inputs))
    x = relay.var("x", shape=(2,))
    body = x
    for _ in range(deep(10_000)):
        body = relay.nn.relu(body)
    module = InferType()(relay.IRModule.from_expr(relay.Function([x], body)))
    found = Legalize()(module)
    assert not any(e is relay.op.get("nn.relu") for e in relay.tree.postorder(found["main"]))
