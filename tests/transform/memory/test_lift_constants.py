"""Constants are bound at the beginnings of functions."""

import numpy as np
from hypothesis import given

import relay
from relay.check.wellformed import check_well_formed
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_same_value
from relay.testing.strategies import programs
from relay.transform import FuseOps, InferType, LiftConstants

HEADER = '#[version = "0.0.5"]\n'


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def lifted(mod):
    after = LiftConstants()(mod)
    check_well_formed(after)
    again = LiftConstants()(after)
    assert all(again[name] is function for name, function in after.functions.items())
    return after


def assert_rewrites(before, after):
    assert_structural_equal(lifted(parse(before)), parse(after))


def test_constants_are_bound_first():
    assert_rewrites(
        "def @main(%x: int32) { add(multiply(%x, 2), 3) }",
        "def @main(%x: int32) { let %a = 2; let %b = 3; add(multiply(%x, %a), %b) }",
    )


def test_those_of_branches_and_functions_inside_are_bound_outside():
    assert_rewrites(
        """
        def @main(%x: int32, %c: bool) {
          let %f = fn (%y: int32) { add(%y, 1) };
          if (%c) { %f(2) } else { 3 }
        }
        """,
        """
        def @main(%x: int32, %c: bool) {
          let %a = 1;
          let %b = 2;
          let %d = 3;
          let %f = fn (%y: int32) { add(%y, %a) };
          if (%c) { %f(%b) } else { %d }
        }
        """,
    )


def test_a_constant_that_is_used_twice_is_bound_once():
    x, c = relay.var("x", shape=(2,)), relay.const(np.ones(2, "float32"))
    mod = InferType()(relay.IRModule.from_expr(relay.Function([x], (x + c) * c)))
    main = lifted(mod)["main"]
    assert isinstance(main.body, relay.Let)
    assert not isinstance(main.body.body, relay.Let)


def test_kernels_and_functions_of_others_keep_theirs():
    mod = FuseOps()(parse("def @main(%x: int32) { add(%x, 1) }"))
    assert lifted(mod)["main"] is mod["main"]
    mod = parse('def @main(%x: int32) { @f(%x) } def @f(%x: int32, Compiler="c") { add(%x, 1) }')
    assert lifted(mod)["f"] is mod["f"]


@given(programs())
def test_programs_mean_the_same(program):
    mod, args = program
    run = [relay.create_executor("debug", m).evaluate()(*args) for m in (mod, lifted(mod))]
    assert_same_value(*run)
