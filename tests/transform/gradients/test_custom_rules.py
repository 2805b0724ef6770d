"""Functions with a gradient of their own."""

from __future__ import annotations

import numpy as np
import pytest

import relay
from relay.errors import GradientError
from relay.testing import check_grad
from relay.transform.gradients.differentiate import gradient

X, Y = np.array([1.5, 2.5, 3.5]), np.array(0.3)


def program(text: str) -> relay.IRModule:
    return relay.fromtext(f'#[version = "0.0.5"]\n{text}')


ROUNDED = """
def @rounded(%x: Tensor[(3), float64], %n: int32, Gradient="slope") -> Tensor[(3), float64] {
  floor(%x) * cast(%n, dtype="float64")
}
def @slope(%x: Tensor[(3), float64], %n: int32, %y: Tensor[(3), float64],
           %g: Tensor[(3), float64]) -> Tensor[(3), float64] {
  %g * %x * cast(%n, dtype="float64")
}
def @swapped(%p: (float64, float64), Gradient="back") -> (float64, float64) { (%p.1, %p.0) }
def @back(%p: (float64, float64), %y: (float64, float64), %g: (float64, float64)) {
  ((%g.1 * 10f64, %g.0 * 100f64),)
}
def @main(%x: Tensor[(3), float64], %y: float64) {
  let %q = @swapped((%y, 2f64 * %y));
  @rounded(%x * %x, 3) * %q.0 + %q.1 * %q.1
}
"""


@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_gradients_are_those_of_the_rule(kind: str) -> None:
    module = program(ROUNDED)
    module["main"] = gradient(module["main"], module)
    value, slopes = relay.create_executor(kind, module).evaluate()(X, Y)
    rounded = np.floor(X * X) * 3
    np.testing.assert_allclose(value.numpy(), rounded * 2 * Y + Y * Y)
    np.testing.assert_allclose(slopes[0].numpy(), X * X * 3 * 2 * Y * 2 * X)
    # %q.0 comes second from the pair, which is 2 * %y
    wanted = rounded.sum() * 100 * 2 + 3 * 2 * Y * 10
    np.testing.assert_allclose(slopes[1].numpy(), wanted)


def test_a_function_with_a_rule_may_be_what_is_differentiated() -> None:
    module = program(ROUNDED)
    module["main"] = gradient(module["rounded"], module, wrt=[0])
    found = relay.create_executor("debug", module).evaluate()(X, np.array(2, "int32"))
    np.testing.assert_allclose(found[1][0].numpy(), X * 2)


def test_the_gradient_of_a_rule_is_that_of_its_program() -> None:
    module = program("""
    def @cube(%x: float64, Gradient="slope") -> float64 { %x * %x * %x }
    def @slope(%x: float64, %y: float64, %g: float64) -> float64 { %g * 3f64 * %x * %x }
    def @main(%x: float64) { sin(@cube(%x)) }""")
    once = gradient(module["main"], module)
    first = relay.Function(once.params, relay.TupleGetItem(relay.TupleGetItem(once.body, 1), 0))
    check_grad(module.get_global_var("main"), [Y], mod=module, rtol=1e-7)
    check_grad(first, [Y], mod=module, rtol=1e-7)


def test_the_body_of_a_function_with_a_rule_need_not_have_gradients() -> None:
    module = program("""
    def @index(%x: Tensor[(3), float64], Gradient="slope") -> Tensor[(3), float64] {
      cast(argsort(%x), dtype="float64")
    }
    def @slope(%x: Tensor[(3), float64], %y: Tensor[(3), float64], %g: Tensor[(3), float64]) { %g }
    def @main(%x: Tensor[(3), float64]) { @index(%x * 2f64) }""")
    module["main"] = gradient(module["main"], module)
    found = relay.create_executor("debug", module).evaluate()(X)
    np.testing.assert_allclose(found[1][0].numpy(), 2)


@relay.function
def limited_slope(x, result, slope):
    return relay.clip(slope, -0.1, 0.1)


@relay.function(gradient=limited_slope)
def limited(x):
    return x


@relay.function
def limited_loss(x: relay.Tensor[3], y: relay.Tensor[3]):
    return relay.sum(limited(x * y) * y)


def test_functions_in_python_name_their_rule() -> None:
    x, y = np.array([1, 2, 3], "float32"), np.array([0.05, 2, 3], "float32")
    slope = relay.compile(relay.grad(limited_loss, wrt="x"))(x, y)
    np.testing.assert_allclose(slope, np.minimum(y, 0.1) * y, rtol=1e-6)


def test_what_is_no_rule_is_refused_with_its_place() -> None:
    text = """def @f(%x: float64, Gradient="g") -> float64 {{ %x }}
    def @g(%x: float64, %y: float64, %g: float64) -> {result} {{ {body} }}
    def @main(%x: float64) {{ @f(%x) }}"""
    module = program(text.format(result="int32", body="1"))
    with pytest.raises(GradientError, match="`@g` does not compute the gradients of `@f`"):
        gradient(module["main"], module)
    module = program(text.format(result="float64", body="%g").replace("def @g", "def @h"))
    with pytest.raises(GradientError, match="the gradient of `@f` is no function of the module"):
        gradient(module["main"], module)
    module = program("""
    def @f(%x: ref(float64), Gradient="f") -> float64 { ref_read(%x) }
    def @main(%x: float64) { @f(ref(%x)) }""")
    with pytest.raises(GradientError, match="`@f` cannot have a gradient of its own"):
        gradient(module["main"], module)


@relay.function
def twice(x: relay.Tensor[3]):
    return x + x


def test_what_cannot_be_a_rule_in_python_is_refused() -> None:
    with pytest.raises(relay.errors.RelayError, match="a gradient is computed by"):
        relay.function(gradient=np.sin)

    @relay.function(gradient=twice)
    def wrong(x: relay.Tensor[3]):
        return x

    with pytest.raises(relay.errors.FrontendError, match="does not compute the gradients"):
        relay.grad(wrong)(np.ones(3, "float32"))
