"""Inputs of several sizes, each with code of its own."""

import numpy as np
import pytest

import relay
from relay.errors import EvaluationError, PassError
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_generated_ok
from relay.transform import FlexibleShapeDispatch, InferType

HEADER = '#[version = "0.0.5"]\n'
NETWORK = """
def @main(%x: Tensor[(1, 3), float32], %w: Tensor[(4, 3), float32]) {
  let %y: Tensor[(1, 4), float32] = nn.dense(%x, %w);
  (nn.softmax(%y), sum(%y, axis=[0]))
}
"""


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def dispatching(text, *args, **options):
    after = FlexibleShapeDispatch(*args, **options)(parse(text))
    assert_generated_ok(after)
    return after


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def data(size):
    generator = np.random.default_rng(size)
    return [generator.uniform(-1, 1, s).astype("float32") for s in ((size, 3), (4, 3))]


def test_there_is_a_function_for_each_size():
    after = dispatching("def @main(%x: Tensor[(1, 3), float32]) { nn.relu(%x) }", [8, 1])
    wanted = parse(
        """
        def @main(%x: Tensor[(?, 3), float32]) -> Tensor[(?, 3), float32] {
          let %size = take(shape_of(%x, dtype="int64"), 0, axis=0);
          if (equal(%size, 1i64)) {
            let %a: Tensor[(?, 3), float32] = @main_1(%x);
            %a
          } else {
            let %b: Tensor[(?, 3), float32] = @main_8(%x);
            %b
          }
        }
        def @main_1(%x: Tensor[(1, 3), float32]) { nn.relu(%x) }
        def @main_8(%x: Tensor[(8, 3), float32]) { nn.relu(%x) }
        """
    )
    assert_structural_equal(after, wanted)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_each_size_is_computed(size):
    after = dispatching(NETWORK, [1, 2, 5], input_indices=[0])
    x, w = data(size)
    shares, total = (part.numpy() for part in evaluate(after, x, w))
    y = x.astype(np.float64) @ w.T.astype(np.float64)
    np.testing.assert_allclose(shares, np.exp(y) / np.exp(y).sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(total, y.sum(0), rtol=1e-4, atol=1e-6)


def test_unless_told_otherwise_the_first_input_varies_and_weights_do_not():
    after = dispatching(NETWORK, [1, 2])
    types = [str(param.type_annotation) for param in after["main"].params]
    assert types == ["Tensor[(?, 3), float32]", "Tensor[(4, 3), float32]"]
    assert_structural_equal(after, dispatching(NETWORK, [1, 2], input_indices=[0]))


def test_a_size_without_code_fails_and_says_so():
    after = dispatching(NETWORK, [2, 4], input_indices=[0])
    with pytest.raises(EvaluationError, match="wrong extent in dimension 0"):
        evaluate(after, *data(3))


@pytest.mark.parametrize("size", [1, 3, 4, 6])
def test_inputs_are_filled_up_and_results_cut(size):
    text = "def @main(%x: Tensor[(1, 3), float32]) { (exp(%x), (negative(%x),)) }"
    after = dispatching(text, [4, 8], auto_pad=True)
    x = data(size)[0]
    first, (second,) = evaluate(after, x)
    np.testing.assert_allclose(first.numpy(), np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(second.numpy(), -x)


def test_what_is_filled_in_is_a_choice_and_results_may_have_a_size_of_their_own():
    text = "def @main(%x: Tensor[(1, 3), float32]) { min(%x, axis=[0]) }"
    after = dispatching(text, [4], auto_pad=True, pad_value=9, affects_output=False)
    x = data(2)[0]
    np.testing.assert_array_equal(evaluate(after, x).numpy(), x.min(0))
    assert str(after["main"].checked_type.ret_type) == "Tensor[(3), float32]"


def test_another_axis_can_vary():
    text = "def @main(%x: Tensor[(2, 1), int32]) { add(%x, 1) }"
    after = dispatching(text, [4], axis=1, auto_pad=True)
    x = np.arange(6, dtype="int32").reshape(2, 3)
    np.testing.assert_array_equal(evaluate(after, x).numpy(), x + 1)


@pytest.mark.parametrize("kind", ["debug", "vm", "aot"])
def test_an_input_that_is_too_large_fails(kind):
    text = "def @main(%x: Tensor[(1, 3), float32]) { exp(%x) }"
    run = relay.create_executor(kind, dispatching(text, [2, 4], auto_pad=True)).evaluate()
    with pytest.raises(EvaluationError, match=r"found: +5"):
        run(data(5)[0])


def test_the_result_compiles():
    text = "def @main(%x: Tensor[(1, 3), float32]) { nn.relu(%x) }"
    exe = relay.compile(dispatching(text, [2, 4], auto_pad=True))
    x = data(3)[0]
    np.testing.assert_array_equal(exe(x), np.maximum(x, 0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"buckets": []}, "at least one"),
        ({"buckets": [0, 2]}, "buckets are sizes"),
        ({"buckets": [1], "input_indices": [2]}, "which has 2, found"),
        ({"buckets": [1], "axis": 2}, "has no axis 2"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(PassError, match=message):
        FlexibleShapeDispatch(**options)(parse(NETWORK))


def test_there_is_something_to_dispatch():
    with pytest.raises(PassError, match="there is no `@main`"):
        FlexibleShapeDispatch([1])(parse("def @f(%x: Tensor[(1), int8]) { %x }"))
