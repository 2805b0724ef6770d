"""Every intermediate value has a name, and is computed when it was before."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import tree
from relay.analysis import check_a_normal_form
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_generated_ok, assert_same_value
from relay.testing.strategies import programs
from relay.transform import InferType, PassContext, Sequential, ToANormalForm, ToANormalFormExpr
from tests.support.looping import each
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'
PROGRAMS = sorted(Path(__file__).parents[2].joinpath("programs").glob("*.relay"))


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def normal_form(mod):
    after = ToANormalForm()(mod)
    assert_generated_ok(after)
    assert all(check_a_normal_form(f) for f in after.functions.values())
    again = ToANormalForm()(after)
    assert all(again[name] is function for name, function in after.functions.items())
    return after


def assert_rewrites(before, after):
    assert_structural_equal(normal_form(parse(before)), parse(after))


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


# --- names ---------------------------------------------------------------------------------------


def test_every_value_gets_a_name_in_the_order_of_evaluation():
    assert_rewrites(
        "def @main(%x: float32) { add(exp(%x), multiply(2f, %x)) }",
        """
        def @main(%x: float32) {
          let %a = exp(%x);
          let %b = 2f;
          let %c = multiply(%b, %x);
          let %d = add(%a, %c);
          %d
        }
        """,
    )


def test_a_name_that_is_there_is_kept():
    assert_rewrites(
        "def @main(%x: float32) { let %y = exp(%x); let %z = %y; sqrt(add(%y, %z)) }",
        """
        def @main(%x: float32) {
          let %y = exp(%x);
          let %z = %y;
          let %a = add(%y, %z);
          let %b = sqrt(%a);
          %b
        }
        """,
    )


def test_lets_inside_expressions_join_the_block():
    assert_rewrites(
        "def @main(%x: float32) { add({ let %y = exp(%x); sqrt(%y) }, { let %z = 1f; %z }) }",
        """
        def @main(%x: float32) {
          let %y = exp(%x);
          let %a = sqrt(%y);
          let %z = 1f;
          let %b = add(%a, %z);
          %b
        }
        """,
    )


def test_what_is_shared_is_bound_once():
    assert_rewrites(
        "def @main(%x: float32) { %0 = exp(%x); %1 = (%0, %0); (%1.0, %1) }",
        """
        def @main(%x: float32) {
          let %a = exp(%x);
          let %b = (%a, %a);
          let %c = %b.0;
          let %d = (%c, %b);
          %d
        }
        """,
    )


def test_a_shared_value_takes_the_name_that_it_is_given():
    assert_rewrites(
        "def @main(%x: float32) { %0 = exp(%x); let %y = %0; add(%y, %0) }",
        "def @main(%x: float32) { let %y = exp(%x); let %a = add(%y, %y); %a }",
    )


def test_but_not_one_that_declares_less():
    assert_rewrites(
        """
        def @main(%x: Tensor[(3), float32]) {
          %0 = exp(%x);
          let %y: Tensor[(?), float32] = %0;
          (%y, %0)
        }
        """,
        """
        def @main(%x: Tensor[(3), float32]) {
          let %a = exp(%x);
          let %y: Tensor[(?), float32] = %a;
          let %b = (%y, %a);
          %b
        }
        """,
    )


def test_operators_constructors_and_global_functions_stay_where_they_are():
    assert_rewrites(
        """
        type Option[A] { Some(A), None }
        def @f(%x: float32) -> Option[float32] { Some(%x) }
        def @apply[A, B](%f: fn (A) -> B, %x: A) -> B { %f(%x) }
        def @main(%x: float32) { (@apply(exp, %x), @apply(@f, %x), @apply(Some, %x)) }
        """,
        """
        type Option[A] { Some(A), None }
        def @f(%x: float32) -> Option[float32] { let %a = Some(%x); %a }
        def @apply[A, B](%f: fn (A) -> B, %x: A) -> B { let %a = %f(%x); %a }
        def @main(%x: float32) {
          let %a = @apply(exp, %x);
          let %b = @apply(@f, %x);
          let %c = @apply(Some, %x);
          let %d = (%a, %b, %c);
          %d
        }
        """,
    )


def test_primitive_functions_are_operators():
    text = """
    def @main(%x: float32) {
      let %a = fn (%p: float32, Primitive=1) { sqrt(exp(%p)) }(%x);
      let %b = fn (%p: float32, Primitive=1) { add(%p, 1f) }(%a);
      %b
    }
    """
    before = parse(text)
    assert ToANormalForm()(before)["main"] is before["main"]


def test_references_are_read_and_written_in_order():
    assert_rewrites(
        """
        def @main(%x: float32) {
          let %r = ref(%x);
          (ref_read(%r), ref_write(%r, exp(ref_read(%r))), ref_read(%r))
        }
        """,
        """
        def @main(%x: float32) {
          let %r = ref(%x);
          let %a = ref_read(%r);
          let %b = ref_read(%r);
          let %c = exp(%b);
          let %d = ref_write(%r, %c);
          let %e = ref_read(%r);
          let %f = (%a, %d, %e);
          %f
        }
        """,
    )


def test_an_expression_alone_is_given_its_form():
    one, two, three = (relay.const(i) for i in (1, 2, 3))
    a, b, c, d, e = (relay.var(name) for name in "abcde")
    expected = relay.Let(d, relay.multiply(b, c), relay.Let(e, relay.add(a, d), e))
    expected = relay.Let(a, one, relay.Let(b, two, relay.Let(c, three, expected)))
    assert_structural_equal(ToANormalFormExpr(one + two * three), expected)
    x = relay.var("x", shape=())
    function = ToANormalFormExpr(relay.Function([x], relay.exp(x)))
    assert_structural_equal(function, relay.Function([x], relay.Let(a, relay.exp(x), a)))


# --- blocks --------------------------------------------------------------------------------------


def test_branches_clauses_and_functions_keep_their_own_bindings():
    assert_rewrites(
        """
        type Option[A] { Some(A), None }
        def @main(%x: float32, %o: Option[float32]) {
          let %f = fn (%y: float32) { add(%y, exp(%x)) };
          match (%o) {
            Some(%y) => if (less(%x, %y)) { %f(%y) } else { 2f },
            None => sqrt(%x)
          }
        }
        """,
        """
        type Option[A] { Some(A), None }
        def @main(%x: float32, %o: Option[float32]) {
          let %f = fn (%y: float32) { let %a = exp(%x); let %b = add(%y, %a); %b };
          let %m = match (%o) {
            Some(%y) => {
              let %a = less(%x, %y);
              let %i = if (%a) { let %b = %f(%y); %b } else { let %b = 2f; %b };
              %i
            },
            None => { let %a = sqrt(%x); %a }
          };
          %m
        }
        """,
    )


def test_what_several_blocks_need_is_bound_before_them():
    assert_rewrites(
        """
        def @main(%x: float32, %c: bool) {
          %0 = exp(%x);
          let %f = fn () { %0 };
          if (%c) { sqrt(%0) } else { %f() }
        }
        """,
        """
        def @main(%x: float32, %c: bool) {
          let %a = exp(%x);
          let %f = fn () { %a };
          let %b = if (%c) { let %d = sqrt(%a); %d } else { let %d = %f(); %d };
          %b
        }
        """,
    )


def test_no_function_has_to_remember_a_constant():
    x, y, one = relay.var("x", shape=()), relay.var("y", shape=()), relay.const(1.0)
    inner = relay.Function([y], relay.add(y, one))
    after = normal_form(relay.IRModule.from_expr(relay.Function([x], inner(relay.add(x, one)))))
    for e in tree.postorder(after["main"]):
        if isinstance(e, relay.Function) and e is not after["main"]:
            assert not relay.analysis.free_vars(e)


# --- when ----------------------------------------------------------------------------------------


def test_what_is_needed_in_any_case_is_bound_where_it_is_needed_first():
    assert_rewrites(
        """
        def @f(%x: float32) -> float32 { @f(%x) }
        def @main(%x: float32, %c: bool) {
          %0 = @f(%x);
          add(%0, if (%c) { %0 } else { %x })
        }
        """,
        """
        def @f(%x: float32) -> float32 { let %a = @f(%x); %a }
        def @main(%x: float32, %c: bool) {
          let %a = @f(%x);
          let %b = if (%c) { %a } else { %x };
          let %d = add(%a, %b);
          %d
        }
        """,
    )


def test_a_call_that_two_of_three_branches_need_is_made_there():
    assert_rewrites(
        """
        def @sum(%n: int32) -> int32 {
          %0 = @sum(subtract(%n, 1));
          if (less(%n, 0)) { negative(%0) } else { if (equal(%n, 0)) { 0 } else { add(%n, %0) } }
        }
        """,
        """
        def @sum(%n: int32) -> int32 {
          let %z = 0;
          let %a = less(%n, %z);
          let %later = fn () {
            let %o = 1; let %s = subtract(%n, %o); let %r = @sum(%s); %r
          };
          let %b = if (%a) { let %l = %later(); let %m = negative(%l); %m } else {
            let %z1 = 0;
            let %e = equal(%n, %z1);
            let %i = if (%e) { let %z2 = 0; %z2 } else {
              let %l = %later(); let %m = add(%n, %l); %m
            };
            %i
          };
          %b
        }
        """,
    )


REMEMBERS = """
        let %compute = fn () { let %a = %f(%x); %a };
        let %cell = ref(%compute);
        let %later = fn () {
          let %c1 = ref_read(%cell);
          let %v = %c1();
          let %again = fn () { %v };
          let %done = ref_write(%cell, %again);
          %v
        };
"""


def test_a_value_that_may_be_needed_twice_is_remembered():
    signature = "def @main(%x: float32, %c: bool, %d: bool, %f: fn (float32) -> float32)"
    assert_rewrites(
        f"""
        {signature} {{
          %0 = %f(%x);
          (if (%c) {{ %0 }} else {{ %x }}, if (%d) {{ %0 }} else {{ %x }})
        }}
        """,
        f"""
        {signature} {{
          {REMEMBERS}
          let %i = if (%c) {{ let %b = %later(); %b }} else {{ %x }};
          let %j = if (%d) {{ let %b = %later(); %b }} else {{ %x }};
          let %t = (%i, %j);
          %t
        }}
        """,
    )


def test_a_function_that_is_called_again_remembers():
    signature = "def @main(%x: float32, %f: fn (float32) -> float32)"
    assert_rewrites(
        f"{signature} {{ %0 = %f(%x); (fn () {{ add(%0, %x) }}, fn () {{ %0 }}) }}",
        f"""
        {signature} {{
          {REMEMBERS}
          let %g = fn () {{ let %l = %later(); let %s = add(%l, %x); %s }};
          let %h = fn () {{ let %l = %later(); %l }};
          let %t = (%g, %h);
          %t
        }}
        """,
    )


# Each counts in %r how often %0 is evaluated, and shows when.
COUNTED = [
    "if (%c) { (%0, ref_read(%r)) } else { (ref_read(%r), %0) }",
    "if (%c) { (%0, %0) } else { (ref_read(%r), 1) }",
    "(ref_read(%r), if (%c) { %0 } else { if (%d) { 1 } else { add(%0, 1) } })",
    "(if (%c) { %0 } else { 1 }, if (%d) { %0 } else { 2 })",
    "(if (%c) { %0 } else { 1 }, %0)",
    "(%0, if (%c) { %0 } else { 1 })",
    "let %f = fn () { %0 }; (if (%c) { add(%f(), %f()) } else { 1 }, if (%d) { %0 } else { 2 })",
    "let %f = fn () { add(%0, ref_read(%r)) }; let %v = ref_write(%r, 7); (%f(), %f())",
    "%1 = add(%0, ref_read(%r)); (if (%c) { %1 } else { %0 }, if (%d) { %1 } else { %0 })",
    "%1 = @tick(%r); (if (%c) { add(%1, %0) } else { %0 }, if (%d) { %1 } else { add(%0, %1) })",
    "if (%c) { (%0, if (%d) { %0 } else { 1 }) } else { (1, %0) }",
    "if (%c) { (if (%d) { %0 } else { 1 }, %0) } else { (1, %0) }",
    "match ((1, %c)) { (%a, %b) => if (%b) { (%a, %0) } else { (%0, %a) } }",
    "let %a = if (%c) { let %b = %0; %b } else { 1 }; (%a, if (%d) { %0 } else { 3 })",
]


@pytest.mark.parametrize("body", COUNTED)
def test_effects_happen_when_and_as_often_as_they_did(body):
    module = parse(
        f"""
        def @tick(%r: ref(int32)) -> int32 {{
          let %v = ref_write(%r, add(multiply(ref_read(%r), 3), 1));
          ref_read(%r)
        }}
        def @main(%c: bool, %d: bool) {{
          let %r = ref(0);
          %0 = @tick(%r);
          let %t = {{ {body} }};
          (%t, ref_read(%r))
        }}
        """
    )
    after = normal_form(module)
    for c in (False, True):
        for d in (False, True):
            assert_same_value(evaluate(after, c, d), evaluate(module, c, d))


def test_what_would_fail_is_not_evaluated_in_vain():
    module = parse(
        """
        def @main(%x: Tensor[(?), float32], %y: Tensor[(?), float32], %c: bool, %d: bool) {
          %0 = add(%x, %y);
          if (%c) { exp(%0) } else { if (%d) { %x } else { %0 } }
        }
        """
    )
    after = normal_form(module)
    x, y = np.ones(2, "float32"), np.ones(3, "float32")
    assert_same_value(evaluate(after, x, y, False, True), evaluate(module, x, y, False, True))
    assert_same_value(evaluate(after, x, x, True, True), evaluate(module, x, x, True, True))


def test_what_calls_a_function_inside_and_behind_it_is_computed_once():
    f, x, y, r = relay.var("f"), relay.var("x", shape=()), relay.var("y", shape=()), relay.var("r")
    ty = relay.scalar_type("float32")
    again = relay.Call(f, [x])  # needed in %f, where it calls %f, and after it
    count = relay.RefWrite(r, relay.RefRead(r) + relay.const(1.0))
    inner = relay.If(relay.less(y, relay.const(0.0)), again + again, y)
    inner = relay.Let(relay.var("u"), count, inner)
    body = relay.Tuple([again, relay.Call(f, [relay.const(-1.0)]), relay.RefRead(r)])
    body = relay.Let(f, relay.Function([y], inner, ty), body)
    body = relay.Let(r, relay.RefCreate(relay.const(0.0)), body)
    mod = InferType()(relay.IRModule.from_expr(relay.Function([x], body)))
    after = normal_form(mod)
    assert [float(v.numpy()) for v in evaluate(after, np.float32(5))] == [5, 10, 2]
    assert_same_value(evaluate(after, np.float32(5)), evaluate(mod, np.float32(5)))


def test_a_pair_with_a_function_that_is_made_in_it_as_well():
    f, x, y = relay.var("f"), relay.var("x", shape=()), relay.var("y", shape=())
    ty = relay.scalar_type("float32")
    pair = relay.Tuple([f, x])
    next_one = relay.Call(relay.TupleGetItem(pair, 0), [y - relay.TupleGetItem(pair, 1)])
    inner = relay.If(relay.less(y, relay.const(0.0)), y, next_one)
    result = relay.Call(relay.TupleGetItem(pair, 0), [relay.const(3.5)])
    body = relay.Let(f, relay.Function([y], inner, ty), result)
    mod = InferType()(relay.IRModule.from_expr(relay.Function([x], body)))
    assert float(evaluate(normal_form(mod), np.float32(1)).numpy()) == -0.5


# --- every program -------------------------------------------------------------------------------


@given(programs())
def test_programs_mean_the_same_as_before(program):
    module, inputs = program
    typed = InferType()(module)
    after = normal_form(typed)
    for name, function in typed.functions.items():
        assert after[name].checked_type == function.checked_type
    assert_same_value(evaluate(after, *inputs), evaluate(typed, *inputs))


@each("path", PROGRAMS)
def test_written_programs_get_their_form(path):
    module = relay.parse(path.read_text())
    normal_form(InferType()(module))


def test_functions_of_others_are_left_alone():
    before = parse('def @main(%x: float32, Compiler="other") { sqrt(exp(%x)) }')
    assert ToANormalForm()(before)["main"] is before["main"]


@pytest.mark.parametrize(
    "depth", [deep(20_000), pytest.param(deep(100_000), marks=pytest.mark.full)]
)
def test_programs_may_be_deep(depth):
    limit = sys.getrecursionlimit()
    x = value = relay.var("x", shape=(3,))
    for _ in range(depth):
        value = relay.nn.relu(value)
    after = ToANormalForm()(relay.IRModule.from_expr(relay.Function([x], value)))["main"]
    assert sum(isinstance(e, relay.Let) for e in tree.postorder(after)) == depth
    assert check_a_normal_form(after)
    assert sys.getrecursionlimit() == limit


def test_blocks_may_be_deep():
    x, c, f = relay.var("x", shape=(3,)), relay.var("c", "bool"), relay.GlobalVar("f")
    value = x
    for i in range(1_000):
        shared = relay.nn.relu(value) if i % 2 else f(value)
        value = relay.If(c, relay.exp(shared), relay.If(c, x, shared))
    y = relay.var("y", shape=(3,))
    mod = relay.IRModule({"f": relay.Function([y], y)})
    mod["main"] = relay.Function([x, c], value)
    normal_form(mod)


def test_a_loop_of_tail_calls_is_one_still():
    module = parse(
        """
        def @loop(%n: int32, %s: int32) -> int32 {
          if (equal(%n, 0)) { %s } else { @loop(subtract(%n, 1), add(%s, 1)) }
        }
        def @main(%n: int32) -> int32 { @loop(%n, 0) }
        """
    )
    assert int(evaluate(normal_form(module), np.int32(deep(10_000))).numpy()) == deep(10_000)


def test_it_belongs_to_level_one():
    before = parse("def @main(%x: float32) { sqrt(exp(%x)) }")
    with PassContext(opt_level=0):
        assert Sequential([ToANormalForm()])(before)["main"] is before["main"]
