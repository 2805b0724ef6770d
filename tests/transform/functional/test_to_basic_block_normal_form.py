"""What several blocks need is bound around them."""

import sys

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import tree
from relay.analysis import check_basic_block_normal_form
from relay.check.wellformed import check_well_formed
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_same_value
from relay.testing.strategies import programs
from relay.transform import InferType, PassContext, Sequential, ToBasicBlockNormalForm
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'


def parse(text):
    return relay.parse(HEADER + text)


def normal_form(mod):
    after = ToBasicBlockNormalForm()(mod)
    check_well_formed(after)
    assert all(check_basic_block_normal_form(f) for f in after.functions.values())
    return after


def assert_rewrites(before, after):
    assert_structural_equal(normal_form(parse(before)), parse(after))


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def test_what_both_branches_need_is_bound_before_them():
    assert_rewrites(
        """
        def @main(%x: Tensor[(4), float32], %c: bool) {
          %0 = exp(%x);
          if (%c) { sqrt(%0) } else { %0 }
        }
        """,
        """
        def @main(%x: Tensor[(4), float32], %c: bool) {
          let %shared = exp(%x);
          if (%c) { sqrt(%shared) } else { %shared }
        }
        """,
    )


def test_the_scope_is_the_innermost_one():
    assert_rewrites(
        """
        def @main(%x: Tensor[(4), float32], %c: bool, %d: bool) {
          %0 = exp(%x);
          if (%c) { %1 = sqrt(%x); if (%d) { %1 } else { add(%0, %1) } } else { %0 }
        }
        """,
        """
        def @main(%x: Tensor[(4), float32], %c: bool, %d: bool) {
          let %a = exp(%x);
          if (%c) { let %b = sqrt(%x); if (%d) { %b } else { add(%a, %b) } } else { %a }
        }
        """,
    )


def test_bindings_before_it_stay_before_it():
    assert_rewrites(
        """
        def @main(%x: Tensor[(4), float32], %c: bool) {
          let %y = exp(%x);
          let %z = tanh(%y);
          %0 = sqrt(%y);
          if (%c) { add(%0, %z) } else { add(%z, %0) }
        }
        """,
        """
        def @main(%x: Tensor[(4), float32], %c: bool) {
          let %y = exp(%x);
          let %z = tanh(%y);
          let %0 = sqrt(%y);
          if (%c) { add(%0, %z) } else { add(%z, %0) }
        }
        """.replace("%0", "%shared"),
    )


def test_what_is_needed_first_is_bound_first():
    assert_rewrites(
        """
        def @main(%x: Tensor[(4), float32], %c: bool) {
          %0 = exp(%x);
          %1 = sqrt(%0);
          %2 = if (%c) { %1 } else { add(%0, %1) };
          add(%0, %2)
        }
        """,
        """
        def @main(%x: Tensor[(4), float32], %c: bool) {
          let %a = exp(%x);
          let %b = sqrt(%a);
          add(%a, if (%c) { %b } else { add(%a, %b) })
        }
        """,
    )


def test_functions_and_clauses_are_blocks():
    assert_rewrites(
        """
        def @main(%t: (Tensor[(4), float32], Tensor[(4), float32])) {
          match (%t) {
            (%x, %y) => {
              %0 = exp(%x);
              let %f = fn (%z: Tensor[(4), float32]) { add(%0, add(%y, %z)) };
              %f(%0)
            }
          }
        }
        """,
        """
        def @main(%t: (Tensor[(4), float32], Tensor[(4), float32])) {
          match (%t) {
            (%x, %y) => {
              let %shared = exp(%x);
              let %f = fn (%z: Tensor[(4), float32]) { add(%shared, add(%y, %z)) };
              %f(%shared)
            }
          }
        }
        """,
    )


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%x: Tensor[(4), float32]) { %0 = exp(%x); add(%0, %0) }",
        "def @main(%x: Tensor[(4), float32]) { let %y = exp(%x); %0 = sqrt(%y); (%0, %0) }",
        """
        def @main(%x: Tensor[(4), float32], %c: bool) {
          if (%c) { %0 = exp(%x); add(%0, %0) } else { exp(%x) }
        }
        """,
        """
        def @main(%x: Tensor[(4), float32]) {
          fn (%y: Tensor[(4), float32]) { %0 = exp(%x); add(%0, %y) }
        }
        """,
    ],
)
def test_what_one_block_shares_stays_a_graph(text):
    before = parse(text)
    assert normal_form(before)["main"] is before["main"]


def test_what_has_its_normal_form_stays_as_it_is():
    once = normal_form(
        parse(
            """
            def @main(%x: Tensor[(4), float32], %c: bool) {
              %0 = exp(%x);
              if (%c) { %0 } else { fn () { negative(%0) }() }
            }
            """
        )
    )
    assert normal_form(once)["main"] is once["main"]


def test_functions_are_shared_like_all_values():
    x, c, y = relay.var("x", shape=(4,)), relay.var("c", "bool"), relay.var("y", shape=(4,))
    closure = relay.Function([y], relay.add(x, y))
    before = relay.Function([x, c], relay.If(c, closure(x), closure(closure(x))))
    after = normal_form(relay.IRModule.from_expr(before))["main"]
    assert isinstance(after.body, relay.Let)
    assert isinstance(after.body.value, relay.Function)


def test_what_calls_a_function_inside_and_behind_it_cannot_be_bound():
    f, x, y = relay.var("f"), relay.var("x", shape=()), relay.var("y", shape=())
    ty = relay.scalar_type("float32")
    again = relay.Call(f, [x])  # needed in %f, where it calls %f, and after it
    inner = relay.If(relay.less(y, relay.const(0.0)), relay.add(again, again), y)
    body = relay.Let(f, relay.Function([y], inner, ty), relay.add(again, relay.exp(x)))
    mod = InferType()(relay.IRModule.from_expr(relay.Function([x], body)))
    check_well_formed(mod)
    after = ToBasicBlockNormalForm()(mod)
    check_well_formed(after)
    assert_same_value(evaluate(after, np.float32(1)), evaluate(mod, np.float32(1)))


def test_a_call_that_may_never_end_waits_until_it_is_needed():
    before = parse(
        """
        def @down(%n: int32) -> int32 {
          %0 = @down(subtract(%n, 1));
          if (less(%n, 0)) { negative(%0) } else { if (equal(%n, 0)) { 0 } else { %0 } }
        }
        def @main(%n: int32) -> int32 { @down(%n) }
        """
    )
    assert int(evaluate(normal_form(before), np.int32(3)).numpy()) == 0


def test_effects_happen_in_the_branch_they_happened_in():
    before = parse(
        """
        def @main(%c: bool) {
          let %r = ref(0);
          %0 = ref_write(%r, 1);
          if (%c) { (%0, ref_read(%r)).1 } else { (ref_read(%r), %0).0 }
        }
        """
    )
    after = normal_form(before)
    assert [int(evaluate(after, c).numpy()) for c in (True, False)] == [1, 0]


def test_it_belongs_to_level_one():
    before = parse(
        """
        def @main(%x: Tensor[(4), float32], %c: bool) {
          %0 = exp(%x);
          if (%c) { sqrt(%0) } else { %0 }
        }
        """
    )
    with PassContext(opt_level=0):
        assert Sequential([ToBasicBlockNormalForm()])(before)["main"] is before["main"]


@given(programs())
def test_programs_mean_the_same_as_before(program):
    module, inputs = program
    typed = InferType()(module)
    after = normal_form(typed)
    for name, function in typed.functions.items():
        assert after[name].checked_type == function.checked_type
        assert normal_form(after)[name] is after[name]
    assert_same_value(evaluate(after, *inputs), evaluate(typed, *inputs))


def test_a_deep_program_gets_its_normal_form():
    limit = sys.getrecursionlimit()
    x, c = relay.var("x", shape=(4,)), relay.var("c", "bool")
    value = x
    for _ in range(deep(5_000)):
        shared = relay.nn.relu(value)
        value = relay.If(c, relay.exp(shared), shared)
    mod = relay.IRModule.from_expr(relay.Function([x, c], value))
    after = normal_form(mod)["main"]
    assert sum(isinstance(e, relay.Let) for e in tree.postorder(after)) == deep(5_000)
    assert sys.getrecursionlimit() == limit
