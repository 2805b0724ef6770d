"""The programs people learn Relay with, as they stand in lessons, but for the imports."""

import numpy as np
import pytest

import relay


def test_a_two_layer_perceptron_prints_as_main():
    x = relay.var("x", shape=(1, 784), dtype="float32")
    w1 = relay.var("w1", shape=(128, 784), dtype="float32")
    b1 = relay.var("b1", shape=(128,), dtype="float32")
    w2 = relay.var("w2", shape=(10, 128), dtype="float32")
    b2 = relay.var("b2", shape=(10,), dtype="float32")
    h = relay.nn.dense(x, w1)
    h = relay.add(h, b1)
    h = relay.nn.relu(h)
    out = relay.add(relay.nn.dense(h, w2), b2)
    func = relay.Function([x, w1, b1, w2, b2], out)
    mod = relay.IRModule.from_expr(func)
    assert (
        str(mod)
        == """\
#[version = "0.0.5"]
def @main(
  %x: Tensor[(1, 784), float32],
  %w1: Tensor[(128, 784), float32],
  %b1: Tensor[(128), float32],
  %w2: Tensor[(10, 128), float32],
  %b2: Tensor[(10), float32],
) {
  %0 = nn.dense(%x, %w1);
  %1 = add(%0, %b1);
  %2 = nn.relu(%1);
  %3 = nn.dense(%2, %w2);
  add(%3, %b2)
}
"""
    )


def test_an_explicit_chain_of_lets():
    x = relay.var("x", shape=(2, 2))
    a, b = relay.var("a"), relay.var("b")
    body = relay.Let(a, relay.add(x, x), relay.Let(b, relay.multiply(a, a), relay.nn.relu(b)))
    mod = relay.IRModule.from_expr(relay.Function([x], body))
    mod = relay.transform.InferType()(mod)
    text = str(mod)
    assert "let %a: Tensor[(2, 2), float32] = add(%x, %x)" in text
    assert "let %b: Tensor[(2, 2), float32] = multiply(%a, %a)" in text
    value = np.array([[1, -2], [3, 0.5]], "float32")
    result = relay.create_executor("debug", mod=mod).evaluate()(value)
    np.testing.assert_allclose(result.numpy(), (2 * value) ** 2)


def test_the_shape_of_a_strided_convolution():
    data = relay.var("data", shape=(1, 3, 224, 224))
    weight = relay.var("weight", shape=(64, 3, 7, 7))
    conv = relay.nn.conv2d(
        data, weight, strides=(2, 2), padding=(3, 3), channels=64, kernel_size=(7, 7)
    )
    mod = relay.IRModule.from_expr(conv)
    mod = relay.transform.InferType()(mod)
    assert str(mod["main"].body.checked_type) == "Tensor[(1, 64, 112, 112), float32]"


@pytest.fixture
def cnn() -> relay.IRModule:
    data = relay.var("data", shape=(1, 1, 28, 28))
    w1 = relay.var("w1", shape=(8, 1, 3, 3))
    b1 = relay.var("b1", shape=(8,))
    w2 = relay.var("w2", shape=(10, 8 * 14 * 14))
    x = relay.nn.conv2d(data, w1, padding=(1, 1), channels=8, kernel_size=(3, 3))
    x = relay.nn.relu(relay.nn.bias_add(x, b1))
    x = relay.nn.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))
    x = relay.nn.batch_flatten(x)
    x = relay.nn.softmax(relay.nn.relu(relay.nn.dense(x, w2)))
    return relay.IRModule.from_expr(relay.Function([data, w1, b1, w2], x))


def test_a_small_cnn_ends_in_ten_classes(cnn):
    mod = relay.transform.InferType()(cnn)
    assert mod["main"].checked_type.ret_type.concrete_shape == (1, 10)


def test_a_visitor_counts_operators(cnn):
    class OpCounter(relay.ExprVisitor):
        def __init__(self):
            super().__init__()
            self.counts = {}

        def visit_call(self, call):
            if isinstance(call.op, relay.ir.Op):
                name = call.op.name
                self.counts[name] = self.counts.get(name, 0) + 1
            super().visit_call(call)

    counter = OpCounter()
    counter.visit(cnn["main"])
    assert counter.counts["nn.relu"] == 2
    assert sum(counter.counts.values()) == 8


def test_a_mutator_replaces_relu_by_leaky_relu(cnn):
    class ReplaceRelu(relay.ExprMutator):
        def visit_call(self, call):
            new_call = super().visit_call(call)
            if isinstance(new_call.op, relay.ir.Op) and new_call.op.name == "nn.relu":
                return relay.nn.leaky_relu(new_call.args[0], alpha=0.1)
            return new_call

    cnn["main"] = ReplaceRelu().visit(cnn["main"])
    mod = relay.transform.InferType()(cnn)
    assert "nn.relu" not in str(mod)
    assert str(mod).count("nn.leaky_relu") == 2
    assert relay.analysis.list_op_freqs(mod)["nn.leaky_relu"] == 2


def test_a_visitor_lists_every_call_with_its_shape(cnn):
    mod = relay.transform.InferType()(cnn)
    found = []

    class ShapePrinter(relay.ExprVisitor):
        def visit_call(self, call):
            super().visit_call(call)
            found.append((call.op.name, tuple(call.checked_type.shape)))

    ShapePrinter().visit(mod["main"])
    assert found[0] == ("nn.conv2d", (1, 8, 28, 28))
    assert found[-1] == ("nn.softmax", (1, 10))
    assert len(found) == 8


def test_the_example_of_the_reference_page():
    mod = relay.parse(
        """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @main(%x: Tensor[(1, 3), float32], %n: int32) -> Tensor[(1, 3), float32] {
  %0 = nn.relu(%x);
  let %f = fn (%y: Tensor[(1, 3), float32]) { %y + %0 };
  if (%n == 0) { %f(%x) } else { @main(%f(%x), %n - 1) }
}
"""
    )
    run = relay.create_executor("debug", mod=mod).evaluate()
    x = np.array([[1, -1, 2]], "float32")
    expected = x
    for _ in range(4):
        expected = expected + np.maximum(expected, 0)
    np.testing.assert_allclose(run(x, 3).numpy(), expected)
