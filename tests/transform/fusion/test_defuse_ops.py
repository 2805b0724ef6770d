"""Kernels become operators again."""

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import tree
from relay.check.wellformed import check_well_formed
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_same_value
from relay.testing.strategies import programs
from relay.transform import DefuseOps, FuseOps, InferType, PassContext, Sequential

HEADER = '#[version = "0.0.5"]\n'


def parse(text):
    return relay.parse(HEADER + text)


def assert_rewrites(before, after):
    result = DefuseOps()(parse(before))
    check_well_formed(result)
    assert_structural_equal(result, parse(after))


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def test_a_kernel_stands_where_it_was_called():
    assert_rewrites(
        """
        def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) {
          sqrt(fn (%p0: Tensor[(4), float32], %p1: Tensor[(4), float32], Primitive=1) {
            exp(add(%p0, add(%p1, %p0)))
          }(%x, %y))
        }
        """,
        """
        def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) {
          sqrt(exp(add(%x, add(%y, %x))))
        }
        """,
    )


def test_arguments_are_computed_once():
    assert_rewrites(
        """
        def @main(%x: Tensor[(4), float32]) {
          fn (%p0: Tensor[(4), float32], Primitive=1) { add(%p0, %p0) }(exp(%x))
        }
        """,
        "def @main(%x: Tensor[(4), float32]) { %0 = exp(%x); add(%0, %0) }",
    )


def test_other_functions_stay():
    before = parse(
        """
        def @main(%x: Tensor[(4), float32]) {
          let %kernel = fn (%y: Tensor[(4), float32], Primitive=1) { exp(%y) };
          fn (%y: Tensor[(4), float32]) { sqrt(%y) }(%kernel(%x))
        }
        """
    )
    assert DefuseOps()(before)["main"] is before["main"]


def test_a_function_that_is_called_twice_stands_in_two_places():
    x, p, v = (relay.var(name, shape=(4,)) for name in "xpv")
    body = relay.Let(v, relay.exp(p), relay.add(v, p))
    kernel = relay.Function([p], body, attrs={"Primitive": 1})
    mod = DefuseOps()(relay.IRModule.from_expr(relay.Function([x], kernel(kernel(x)))))
    check_well_formed(mod)
    value = np.arange(4, dtype="float32") / 4
    once = np.exp(value) + value
    np.testing.assert_allclose(evaluate(mod, value).numpy(), np.exp(once) + once, 1e-6)


@pytest.mark.parametrize("body", ["add(%q, %p)", "%p", "if (%c) { add(%p, %q) } else { %p }"])
def test_what_has_effects_happens_once_and_in_order(body):
    text = f"""
    def @main(%x: float32, %c: bool) {{
      let %r = ref(%x);
      let %next = fn () -> float32 {{
        let %_ = ref_write(%r, multiply(ref_read(%r), 3f));
        ref_read(%r)
      }};
      let %y = fn (%p: float32, %q: float32, Primitive=1) {{ {body} }}(%next(), add(%next(), %x));
      (%y, ref_read(%r))
    }}
    """
    before = parse(text)
    after = DefuseOps()(before)
    check_well_formed(after)
    for condition in (True, False):
        args = (np.float32(2), np.bool_(condition))
        assert_same_value(evaluate(after, *args), evaluate(before, *args))


def test_it_belongs_to_level_three():
    mod = FuseOps()(parse("def @main(%x: Tensor[(4), float32]) { exp(%x) }"))
    passes = Sequential([DefuseOps()])
    with PassContext(opt_level=2):
        assert passes(mod)["main"] is mod["main"]
    with PassContext(opt_level=3):
        assert passes(mod)["main"].body.op.name == "exp"


@given(programs())
def test_it_undoes_fusion(program):
    module, inputs = program
    typed = InferType()(module)
    assert_structural_equal(DefuseOps()(FuseOps(fuse_opt_level=0)(typed)), typed)
    after = DefuseOps()(FuseOps()(typed))
    check_well_formed(after)
    kernels = [e for f in after.functions.values() for e in tree.postorder(f) if is_kernel(e)]
    assert not kernels
    assert_same_value(evaluate(after, *inputs), evaluate(typed, *inputs))


def is_kernel(e):
    return isinstance(e, relay.Function) and "Primitive" in e.attrs
