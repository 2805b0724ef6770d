"""What depends on weights alone is computed apart, once."""

import numpy as np
import pytest

import relay
from relay.errors import PassError
from relay.transform import InferType, LiftWeights
from tests.support.sampling import deep

HEAD = '#[version = "0.0.5"]\n'


def lifted(text):
    module = LiftWeights()(InferType()(relay.parse(HEAD + text)))
    assert not relay.analysis.free_vars(module["main"])
    return module


def assert_lifts(before, after):
    module = lifted(before)
    relay.ir.assert_structural_equal(module, InferType()(relay.parse(HEAD + after)))
    return module


def test_weights_are_computed_in_prepare():
    module = assert_lifts(
        """
        def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3), float32], %s: Tensor[(3), float32],
                  Weights=["w", "s"]) {
          %0 = exp(%s);
          (%x * %w + %w * %0) - %0
        }
        """,
        """
        def @main(%x: Tensor[(2, 3), float32], %p: Tensor[(3), float32],
                  %q: Tensor[(3), float32], %r: Tensor[(3), float32], Prepare="prepare") {
          (%x * %p + %q) - %r
        }
        def @prepare(%w: Tensor[(3), float32], %s: Tensor[(3), float32]) {
          %0 = exp(%s);
          (%w, %w * %0, %0)
        }
        """,
    )
    x, w, s = (np.random.default_rng(i).random((2, 3)[i > 0 :], "float32") for i in range(3))
    packed = relay.create_executor("debug", module).evaluate(relay.GlobalVar("prepare"))(w, s)
    result = relay.create_executor("debug", module).evaluate()(x, *packed)
    np.testing.assert_allclose(result.numpy(), x * w + w * np.exp(s) - np.exp(s), rtol=1e-6)


def test_names_are_followed():
    assert_lifts(
        """
        def @main(%x: Tensor[(3), float32], %w: Tensor[(3), float32], Weights=["w"]) {
          let %a = exp(%w);
          let %b = %a;
          let %t = (%b, 2f);
          let %c = tanh(%x);
          let %d = %t.0 * %b;
          (%c + %d) + %b
        }
        """,
        """
        def @main(%x: Tensor[(3), float32], %p: Tensor[(3), float32], %q: Tensor[(3), float32],
                  Prepare="prepare") {
          let %c = tanh(%x);
          (%c + %p) + %q
        }
        def @prepare(%w: Tensor[(3), float32]) {
          %0 = exp(%w);
          %1 = (%0, 2f);
          (%1.0 * %0, %0)
        }
        """,
    )


def test_what_grows_is_computed_where_it_is_used():
    assert_lifts(
        """
        def @main(%x: Tensor[(512, 1024), float32], %w: Tensor[(1024), float32], Weights=["w"]) {
          %x + broadcast_to(exp(%w), shape=[512, 1024])
        }
        """,
        """
        def @main(%x: Tensor[(512, 1024), float32], %p: Tensor[(1024), float32],
                  Prepare="prepare") {
          %x + broadcast_to(%p, shape=[512, 1024])
        }
        def @prepare(%w: Tensor[(1024), float32]) { (exp(%w),) }
        """,
    )


def test_branches_and_functions_keep_what_is_in_them():
    assert_lifts(
        """
        def @main(%x: Tensor[(3), float32], %c: bool, %w: Tensor[(3), float32], Weights=["w"]) {
          let %a = exp(%w);
          let %f = fn (%y: Tensor[(3), float32]) { %y + tanh(%a) };
          if (%c) { %f(%x) } else { tanh(%w) }
        }
        """,
        """
        def @main(%x: Tensor[(3), float32], %c: bool, %p: Tensor[(3), float32],
                  %q: Tensor[(3), float32], Prepare="prepare") {
          let %f = fn (%y: Tensor[(3), float32]) { %y + tanh(%p) };
          if (%c) { %f(%x) } else { tanh(%q) }
        }
        def @prepare(%w: Tensor[(3), float32]) { (exp(%w), %w) }
        """,
    )


def test_a_result_may_depend_on_weights_alone():
    assert_lifts(
        """
        def @main(%x: float32, %w: Tensor[(3), float32], Weights=["w"]) { exp(%w) }
        """,
        """
        def @main(%x: float32, %p: Tensor[(3), float32], Prepare="prepare") { %p }
        def @prepare(%w: Tensor[(3), float32]) { (exp(%w),) }
        """,
    )


def test_a_function_of_that_name_is_left_alone():
    module = lifted(
        """
        def @prepare(%x: float32) { %x }
        def @main(%x: float32, %w: float32, Weights=["w"]) { %x + @prepare(%w) }
        """
    )
    assert module["main"].attrs["Prepare"] == "prepare_0"
    assert len(module["prepare"].params) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%x: float32, %w: float32) { %x + exp(%w) }",
        "def @f(%x: float32, %w: float32) { %x + exp(%w) }",
    ],
)
def test_without_weights_nothing_changes(text):
    before = InferType()(relay.parse(HEAD + text))
    relay.ir.assert_structural_equal(LiftWeights()(before), before)


def test_a_weight_that_is_no_parameter_is_refused():
    with pytest.raises(PassError, match="no parameter `v`"):
        lifted('def @main(%w: float32, Weights=["w", "v"]) { %w }')


def test_chains_are_as_long_as_they_like():
    x, w = relay.var("x", shape=(2,)), relay.var("w", shape=(2,))
    value = w
    for _ in range(deep(20_000)):
        value = relay.tanh(value)
    function = relay.Function([x, w], x + value).with_attr("Weights", ["w"])
    module = LiftWeights()(InferType()(relay.IRModule({"main": function})))
    assert len(module["main"].params) == 2
    assert not relay.analysis.free_vars(module["prepare"])
