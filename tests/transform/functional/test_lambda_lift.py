"""Functions inside functions become functions of the module."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import relay
from relay import tree
from relay.analysis import check_a_normal_form
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_generated_ok, assert_same_value
from relay.testing.strategies import programs
from relay.transform import (
    DeadCodeElimination,
    EtaExpand,
    FuseOps,
    InferType,
    Inline,
    LambdaLift,
    PassContext,
    PassInstrument,
    Sequential,
    ToANormalForm,
)
from tests.support.looping import each

HEADER = '#[version = "0.0.5"]\n'
PROGRAMS = sorted(Path(__file__).parents[2].joinpath("programs").glob("*.relay"))


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def lifted(mod):
    after = LambdaLift()(mod)
    assert_generated_ok(after)
    for function in after.functions.values():
        for e in () if function.attrs.get("Compiler") else tree.postorder(function):
            if isinstance(e, relay.Function) and e is not function:
                assert function.attrs.get("Closure") and e is function.body
    again = LambdaLift()(after)
    assert all(again[name] is function for name, function in after.functions.items())
    return after


def assert_rewrites(before, after):
    assert_structural_equal(lifted(parse(before)), parse(after))


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def test_what_a_function_remembers_becomes_parameters():
    assert_rewrites(
        "def @main(%x: int32) { let %f = fn (%y: int32) { add(%x, %y) }; %f(1) }",
        """
        def @main(%x: int32) { let %f = @main_f(%x); %f(1) }
        def @main_f(%x: int32, Closure=1) -> fn (int32) -> int32 {
          fn (%y: int32) { add(%x, %y) }
        }
        """,
    )


def test_a_function_that_remembers_nothing_is_known_by_its_name():
    assert_rewrites(
        """
        def @apply(%f: fn (int32) -> int32) -> int32 { %f(1) }
        def @main() {
          let %f = fn (%y: int32) { negative(%y) };
          let %g = fn (%y: int32) { %f(%y) };
          (%f(1), %g(2), @apply(%f))
        }
        """,
        """
        def @apply(%f: fn (int32) -> int32) -> int32 { %f(1) }
        def @main() { (@main_f(1), @main_g(2), @apply(@main_f)) }
        def @main_f(%y: int32) { negative(%y) }
        def @main_g(%y: int32) { @main_f(%y) }
        """,
    )


def test_functions_without_a_name_are_numbered():
    assert_rewrites(
        "def @main(%x: int32) { (fn () { %x }, fn () { 1 }, fn (%y: int32) { %y }(2)) }",
        """
        def @main(%x: int32) { (@main_function(%x), @main_function_1, @main_function_2(2)) }
        def @main_function(%x: int32, Closure=1) -> fn () -> int32 { fn () { %x } }
        def @main_function_1() { 1 }
        def @main_function_2(%y: int32) { %y }
        """,
    )


def test_names_of_the_module_are_not_taken_twice():
    assert_rewrites(
        "def @main() { let %f = fn () { 1 }; (%f(), @main_f()) }  def @main_f() { 2 }",
        """
        def @main() { (@main_f_1(), @main_f()) }
        def @main_f() { 2 }
        def @main_f_1() { 1 }
        """,
    )


def test_functions_in_lifted_functions_are_lifted_too():
    assert_rewrites(
        """
        def @main(%x: int32) {
          let %f = fn (%y: int32) { let %g = fn (%z: int32) { (%x, %y, %z) }; %g };
          %f(1)(2)
        }
        """,
        """
        def @main(%x: int32) { let %f = @main_f(%x); %f(1)(2) }
        def @main_g(%x: int32, %y: int32, Closure=1)
            -> fn (int32) -> (int32, int32, int32) {
          fn (%z: int32) { (%x, %y, %z) }
        }
        def @main_f(%x: int32, Closure=1)
            -> fn (int32) -> fn (int32) -> (int32, int32, int32) {
          fn (%y: int32) { let %g = @main_g(%x, %y); %g }
        }
        """,
    )


# --- recursion -----------------------------------------------------------------------------------


def test_a_function_calls_itself_by_its_new_name():
    assert_rewrites(
        """
        def @main(%n: int32) {
          let %f = fn (%y: int32) -> int32 {
            if (equal(%y, 0)) { 0 } else { %f(subtract(%y, 1)) }
          };
          %f(%n)
        }
        """,
        """
        def @main(%n: int32) { @main_f(%n) }
        def @main_f(%y: int32) -> int32 {
          if (equal(%y, 0)) { 0 } else { @main_f(subtract(%y, 1)) }
        }
        """,
    )


def test_or_it_makes_its_closure_again():
    assert_rewrites(
        """
        def @main(%n: int32) {
          let %f = fn (%y: int32) -> int32 {
            if (equal(%y, 0)) { 0 } else { %f(subtract(%y, %n)) }
          };
          %f(6)
        }
        """,
        """
        def @main(%n: int32) { let %f = @main_f(%n); %f(6) }
        def @main_f(%n: int32, Closure=1) -> fn (int32) -> int32 {
          fn (%y: int32) -> int32 {
            let %f = @main_f(%n);
            if (equal(%y, 0)) { 0 } else { %f(subtract(%y, %n)) }
          }
        }
        """,
    )


def test_a_function_that_gives_itself_away():
    text = """
    def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }
    def @main(%n: int32) {
      let %f = fn (%y: int32) -> int32 {
        if (less(%y, %n)) { add(%y, 1) } else { @twice(%f, subtract(%y, 3)) }
      };
      %f(9)
    }
    """
    module = parse(text)
    after = lifted(module)
    for n in (0, 3, 20):
        assert_same_value(evaluate(after, np.int32(n)), evaluate(module, np.int32(n)))


def test_a_function_inside_may_call_the_one_around():
    text = """
    def @main(%n: int32) {
      let %even = fn (%y: int32) -> bool {
        let %odd = fn (%z: int32) -> bool {
          if (equal(%z, 0)) { False } else { %even(subtract(%z, 1)) }
        };
        if (equal(%y, 0)) { True } else { %odd(subtract(%y, 1)) }
      };
      %even(%n)
    }
    """
    after = lifted(parse(text))
    assert [bool(evaluate(after, np.int32(n)).numpy()) for n in range(4)] == [1, 0, 1, 0]


# --- types ---------------------------------------------------------------------------------------


def test_type_parameters_around_are_abstracted_too():
    assert_rewrites(
        """
        def @main[A, B](%x: A, %y: B) {
          let %f = fn (%z: A) { (%x, %z) };
          let %g = fn (%z: A) { %z };
          (%f(%x), %g(%x), %y)
        }
        """,
        """
        def @main[A, B](%x: A, %y: B) {
          let %f = @main_f[A](%x);
          let %g = @main_g[A]();
          (%f(%x), %g(%x), %y)
        }
        def @main_f[A](%x: A, Closure=1) -> fn (A) -> (A, A) { fn (%z: A) { (%x, %z) } }
        def @main_g[A](Closure=1) -> fn (A) -> A { fn (%z: A) { %z } }
        """,
    )


def test_so_are_symbolic_dimensions():
    assert_rewrites(
        """
        def @main[n](%x: Tensor[(n), float32]) {
          let %f = fn (%y: Tensor[(n + 1), float32]) { (%x, %y) };
          %f(concatenate((%x, ones(shape=[1], dtype="float32"))))
        }
        """,
        """
        def @main[n](%x: Tensor[(n), float32]) {
          let %f = @main_f[n](%x);
          %f(concatenate((%x, ones(shape=[1], dtype="float32"))))
        }
        def @main_f[n](%x: Tensor[(n), float32], Closure=1)
            -> fn (Tensor[(n + 1), float32]) -> (Tensor[(n), float32], Tensor[(n + 1), float32]) {
          fn (%y: Tensor[(n + 1), float32]) { (%x, %y) }
        }
        """,
    )


def test_polymorphic_functions_stay_polymorphic():
    text = """
    def @main(%x: int32) {
      let %f = fn [A](%y: A) -> (A, int32) { (%y, %x) };
      let %id = fn [A](%y: A) -> A { %y };
      (%f(1f), %f(True), %id(1), %id(2f))
    }
    """
    module = parse(text)
    assert_same_value(evaluate(lifted(module), np.int32(3)), evaluate(module, np.int32(3)))


def test_a_name_that_declares_another_type_stays():
    assert_rewrites(
        """
        def @main(%x: Tensor[(?), float32]) {
          let %f: fn (Tensor[(?), float32]) -> Tensor[(?), float32] =
            fn (%y: Tensor[(3), float32]) { %y };
          %f(%x)
        }
        """,
        """
        def @main(%x: Tensor[(?), float32]) {
          let %f: fn (Tensor[(?), float32]) -> Tensor[(?), float32] = @main_f;
          %f(%x)
        }
        def @main_f(%y: Tensor[(3), float32]) { %y }
        """,
    )


# --- what stays ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%x: int32) { @f(%x) }  def @f(%x: int32) { %x }",
        "def @main(%x: float32) { fn (%p: float32, Primitive=1) { exp(%p) }(%x) }",
        'def @main(%x: float32) { fn (%p: float32, Composite="a.b") { exp(%p) }(%x) }',
        'def @main(%x: float32, Compiler="other") { let %f = fn () { %x }; %f() }',
        "def @main(%x: float32, Closure=1) { fn (%p: float32) { add(%p, %x) } }",
    ],
)
def test_kernels_closures_and_functions_of_others_stay(text):
    before = parse(text)
    assert LambdaLift()(before)["main"] is before["main"]


def test_attributes_stay_with_their_function():
    after = lifted(parse("def @main(%x: int32) { fn (note=1) { %x } }"))
    assert after["main_function"].body.attrs["note"] == 1
    assert dict(after["main_function"].attrs) == {"Closure": 1}


# --- sharing -------------------------------------------------------------------------------------


def test_what_a_function_shares_with_its_surroundings_is_computed_once():
    module = parse(
        """
        def @main(%x: int32) {
          let %r = ref(0);
          %0 = { let %u = ref_write(%r, add(ref_read(%r), 1)); add(%x, ref_read(%r)) };
          let %f = fn (%y: int32) { add(%0, %y) };
          (%f(1), %f(2), %0, ref_read(%r))
        }
        """
    )
    after = lifted(module)
    assert_same_value(evaluate(after, np.int32(3)), evaluate(module, np.int32(3)))


def test_without_the_normal_form_that_is_refused():
    class Veto(PassInstrument):
        def should_run(self, mod, info):
            return info.name != "ToBasicBlockNormalForm"

    module = parse("def @main(%x: int32) { %0 = negative(%x); (fn () { %0 }, fn () { %0 }) }")
    with PassContext(instruments=[Veto()]), pytest.raises(PassError, match="share computations"):
        LambdaLift()(module)


def test_an_a_normal_form_stays_one():
    module = ToANormalForm()(
        parse(
            """
            def @main(%x: int32) {
              let %f = fn (%y: int32) -> int32 {
                if (equal(%y, %x)) { 1 } else { multiply(%y, %f(add(%y, 1))) }
              };
              %f(2)
            }
            """
        )
    )
    after = lifted(module)
    assert check_a_normal_form(after["main"])
    assert check_a_normal_form(after["main_f"].body)


# --- every program -------------------------------------------------------------------------------


@given(programs())
def test_programs_mean_the_same_as_before(program):
    module, inputs = program
    typed = InferType()(module)
    after = lifted(typed)
    for name, function in typed.functions.items():
        assert after[name].checked_type == function.checked_type
    assert_same_value(evaluate(after, *inputs), evaluate(typed, *inputs))


@given(programs(size=40))
@settings(max_examples=15)
def test_with_other_passes_it_leaves_single_operations_in_functions_of_the_module(program):
    module, inputs = program
    expand = EtaExpand(expand_constructor=True, expand_global_var=True, expand_operator=True)
    passes = [FuseOps(), expand, ToANormalForm(), LambdaLift(), DeadCodeElimination(), Inline()]
    after = Sequential(passes)(module)
    assert_generated_ok(after)
    for function in after.functions.values():
        code = function.body if function.attrs.get("Closure") else function
        assert check_a_normal_form(code)
        for e in tree.postorder(code):
            assert not isinstance(e, relay.Function) or e is code or e.attrs.get("Primitive")
    assert_same_value(evaluate(after, *inputs), evaluate(module, *inputs))


@each("path", PROGRAMS)
def test_written_programs_are_lifted(path):
    lifted(InferType()(relay.parse(path.read_text())))


def test_names_are_the_same_every_time():
    text = PROGRAMS[[p.stem for p in PROGRAMS].index("closures")].read_text()
    names = [[str(v) for v in lifted(relay.parse(text)).functions] for _ in range(2)]
    assert names[0] == names[1]


def test_programs_may_be_deep():
    limit = sys.getrecursionlimit()
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    value = x
    for _ in range(5_000):
        value = relay.nn.relu(value)
    body = relay.Function([y], relay.add(y, value))
    after = LambdaLift()(relay.IRModule.from_expr(relay.Function([x], body)))
    assert len(after["main_function"].params) == 1
    assert sys.getrecursionlimit() == limit


def test_functions_may_be_nested_deeply():
    x = relay.var("x", shape=())
    value = relay.Function([], x)
    for _ in range(300):
        value = relay.Function([], value)
    after = lifted(relay.IRModule.from_expr(relay.Function([x], value)))
    assert len(after.functions) == 302


def test_it_belongs_to_level_one():
    before = parse("def @main(%x: int32) { fn () { %x } }")
    with PassContext(opt_level=0):
        assert Sequential([LambdaLift()])(before)["main"] is before["main"]
