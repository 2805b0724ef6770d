"""Bindings become edges of a graph, unless somebody would notice."""

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import tree
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import Call, Let
from relay.testing import assert_generated_ok, assert_same_value
from relay.testing.strategies import programs
from relay.transform import InferType, ToANormalForm, ToGraphNormalForm
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def graph(mod):
    after = ToGraphNormalForm()(mod)
    assert_generated_ok(after)
    return after


def assert_rewrites(before, after):
    found = graph(parse(before))
    assert_structural_equal(found, parse(after))
    again = graph(found)
    assert all(again[name] is function for name, function in found.functions.items())


def assert_stays(text):
    before = parse(text)
    after = ToGraphNormalForm()(before)
    assert all(after[name] is function for name, function in before.functions.items())


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def lets(mod):
    nodes = (node for f in mod.functions.values() for node in tree.postorder(f))
    return [node for node in nodes if isinstance(node, Let)]


# --- what goes ---------------------------------------------------------------------------------


def test_names_become_edges():
    assert_rewrites(
        "def @main(%x: float32) { let %a = exp(%x); let %b = sqrt(%a); add(%b, %a) }",
        "def @main(%x: float32) { %0 = exp(%x); add(sqrt(%0), %0) }",
    )


def test_what_nobody_uses_goes():
    assert_rewrites(
        "def @main(%x: float32) { let %a = exp(%x); let %b = %x; %b }",
        "def @main(%x: float32) { %x }",
    )


def test_constants_variables_and_tuples_are_values_as_well():
    assert_rewrites(
        """def @main(%x: float32) {
          let %one = 1f; let %y = %x; let %t = (%y, %one); add(%t.0, %t.1)
        }""",
        "def @main(%x: float32) { %0 = (%x, 1f); add(%0.0, %0.1) }",
    )


def test_lets_in_branches_clauses_and_functions_go():
    assert_rewrites(
        """
        type Box { Of(float32), Empty }
        def @main(%b: Box, %c: bool) {
          let %f = fn (%x: float32) { let %y = exp(%x); add(%y, %y) };
          let %v = match (%b) { Of(%x) => { let %z = sqrt(%x); %z }, Empty => 0f };
          if (%c) { let %w = %f(%v); negative(%w) } else { %v }
        }
        """,
        """
        type Box { Of(float32), Empty }
        def @main(%b: Box, %c: bool) {
          %0 = match (%b) { Of(%x) => sqrt(%x), Empty => 0f };
          if (%c) {
            %2 = fn (%x: float32) { %1 = exp(%x); add(%1, %1) };
            negative(%2(%0))
          } else { %0 }
        }
        """,
    )


def test_a_new_cell_is_no_effect_and_stays_one_cell():
    mod = parse(
        """def @main(%x: float32) {
          let %r = ref(%x);
          let %done = ref_write(%r, add(%x, 1f));
          ref_read(%r)
        }"""
    )
    after = graph(mod)
    assert [let.variable.name_hint for let in lets(after)] == ["done"]
    assert_same_value(evaluate(after, np.float32(2)), evaluate(mod, np.float32(2)))


def test_a_call_of_a_function_that_is_known_to_be_pure_moves():
    assert_rewrites(
        """
        def @f(%x: float32) -> float32 { exp(%x) }
        def @main(%x: float32) { let %a = @f(%x); add(%a, %a) }
        """,
        """
        def @f(%x: float32) -> float32 { exp(%x) }
        def @main(%x: float32) { %0 = @f(%x); add(%0, %0) }
        """,
    )


# --- what stays --------------------------------------------------------------------------------


def test_reading_and_writing_stay_in_their_order():
    assert_stays(
        """def @main(%r: ref(float32), %x: float32) {
          let %old = ref_read(%r);
          let %done = ref_write(%r, %x);
          let %new = ref_read(%r);
          (%old, %new)
        }"""
    )


def test_a_call_of_an_unknown_function_stays():
    assert_stays("def @main(%f: fn (float32) -> float32) { let %a = %f(1f); (%a, %f(2f)) }")


def test_a_function_that_writes_when_called_is_called_when_it_was():
    mod = parse(
        """def @main(%x: float32) {
          let %r = ref(%x);
          let %bump = fn () { ref_write(%r, add(ref_read(%r), 1f)) };
          let %a = ref_read(%r);
          let %u = %bump();
          let %b = ref_read(%r);
          (%b, %a)
        }"""
    )
    after = graph(mod)
    assert [let.variable.name_hint for let in lets(after)] == ["b", "u", "a"]
    assert_same_value(evaluate(after, np.float32(2)), evaluate(mod, np.float32(2)))


def test_a_function_that_calls_itself_keeps_its_name():
    assert_stays(
        """def @main(%n: int32) {
          let %f: fn (int32) -> int32 = fn (%k: int32) -> int32 {
            if (less(%k, 1)) { 0 } else { %f(subtract(%k, 1)) }
          };
          %f(%n)
        }"""
    )


def test_work_does_not_move_into_a_function():
    assert_stays(
        """def @main(%x: float32) {
          let %a = exp(%x);
          fn (%y: float32) { add(%a, %y) }
        }"""
    )


def test_work_that_a_function_shares_with_what_is_around_is_done_once():
    mod = parse(
        """def @main(%x: float32) {
          let %a = exp(%x);
          (%a, fn (%y: float32) { add(%a, %y) })
        }"""
    )
    assert lets(graph(mod)) == []


def test_a_binding_that_declares_another_type_stays():
    assert_stays(
        """def @main(%x: Tensor[(3), float32]) {
          let %a: Tensor[(?), float32] = exp(%x);
          sqrt(%a)
        }"""
    )


def test_functions_of_others_are_left_alone():
    assert_stays("""def @main(%x: float32, SkipOptimization=1) { let %a = exp(%x); sqrt(%a) }""")


# --- the whole ---------------------------------------------------------------------------------


def test_it_is_the_way_back_from_a_normal_form():
    mod = parse(
        """def @main(%x: Tensor[(n, 4), float32]) {
          %0 = exp(%x);
          %1 = nn.relu(%0);
          add(multiply(%1, %0), %1)
        }""".replace("@main(", "@main[n: Shape](")
    )
    assert_structural_equal(graph(ToANormalForm()(mod)), mod)


@pytest.mark.parametrize("length", [deep(10_000)])
def test_long_chains_take_no_stack(length):
    x = relay.var("x", shape=(), dtype="float32")
    names = [x, *(relay.var(f"v{i}") for i in range(length))]
    body = names[-1]
    for previous, name in zip(reversed(names[:-1]), reversed(names[1:]), strict=True):
        body = Let(name, relay.op.negative(previous), body)
    after = ToGraphNormalForm()(relay.IRModule.from_expr(relay.Function([x], body)))
    nodes = list(tree.postorder(after["main"]))
    assert not any(isinstance(node, Let) for node in nodes)
    assert sum(isinstance(node, Call) for node in nodes) == length


@given(programs())
def test_programs_mean_the_same(program):
    mod, inputs = program
    before = InferType()(mod)
    assert_same_value(evaluate(graph(before), *inputs), evaluate(before, *inputs))


@given(programs(unknown_dims=False, polymorphism=False))
def test_programs_mean_the_same_after_a_normal_form(program):
    mod, inputs = program
    after = graph(ToANormalForm()(mod))
    assert_same_value(evaluate(after, *inputs), evaluate(mod, *inputs))
