"""Functions that take functions are copied for those they are given."""

from hypothesis import given, settings

import relay
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_generated_ok, assert_same_value
from relay.testing.strategies import programs
from relay.transform import (
    DeadCodeElimination,
    EtaExpand,
    InferType,
    LambdaLift,
    Monomorphize,
    RemoveUnusedFunctions,
    SpecializeCalls,
)

HEADER = '#[version = "0.0.5"]\n'
LIST = "type List[A] { Cons(A, List[A]), Nil }\n"
MAP = """
    def @map(%f: fn (int32) -> int32, %xs: List[int32]) -> List[int32] {
      match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil }
    }
"""


def parse(text):
    return LambdaLift()(InferType()(relay.parse(HEADER + text)))


def specialized(mod):
    after = SpecializeCalls()(mod)
    assert_generated_ok(after)
    assert_structural_equal(SpecializeCalls()(after), after)
    return after


def swept(mod):
    return RemoveUnusedFunctions()(DeadCodeElimination()(mod))


def assert_rewrites(before, after):
    found = specialized(swept(parse(before)))
    assert_structural_equal(swept(found), swept(parse(after)))


def assert_stays(text):
    before = parse(text)
    after = SpecializeCalls()(before)
    assert all(after[name] is function for name, function in before.functions.items())


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


# --- functions of the module ---------------------------------------------------------------------


def test_a_loop_over_a_known_function_calls_it():
    assert_rewrites(
        LIST
        + MAP
        + """
        def @negate(%x: int32) { negative(%x) }
        def @main(%xs: List[int32]) { @map(@negate, @map(@negate, %xs)) }
        """,
        LIST
        + """
        def @negate(%x: int32) { negative(%x) }
        def @map_negate(%xs: List[int32]) -> List[int32] {
          match (%xs) { Cons(%x, %rest) => Cons(@negate(%x), @map_negate(%rest)), Nil => Nil }
        }
        def @main(%xs: List[int32]) { @map_negate(@map_negate(%xs)) }
        """,
    )


def test_other_names_for_a_function_are_known():
    assert_rewrites(
        """
        def @f(%x: int32) { negative(%x) }
        def @main(%x: int32) { let %g = @f; let %h = %g; %h(%x) }
        """,
        """
        def @f(%x: int32) { negative(%x) }
        def @main(%x: int32) { @f(%x) }
        """,
    )


def test_functions_that_call_each_other_follow_along():
    assert_rewrites(
        """
        def @even(%f: fn () -> bool, %n: int32) -> bool {
          if (%n == 0) { %f() } else { @odd(%n - 1, %f) }
        }
        def @odd(%n: int32, %f: fn () -> bool) -> bool {
          if (%n == 0) { False } else { @even(%f, %n - 1) }
        }
        def @yes() { True }
        def @main(%n: int32) { @even(@yes, %n) }
        """,
        """
        def @even_yes(%n: int32) -> bool {
          if (%n == 0) { @yes() } else { @odd_yes(%n - 1) }
        }
        def @odd_yes(%n: int32) -> bool {
          if (%n == 0) { False } else { @even_yes(%n - 1) }
        }
        def @yes() { True }
        def @main(%n: int32) { @even_yes(%n) }
        """,
    )


# --- closures ------------------------------------------------------------------------------------


def test_what_a_closure_remembers_is_handed_over():
    assert_rewrites(
        LIST
        + MAP
        + """
        def @main(%xs: List[int32], %y: int32) {
          let %f = fn (%x: int32) { add(%x, %y) };
          (%f(1), @map(%f, %xs))
        }
        """,
        LIST
        + """
        def @main(%xs: List[int32], %y: int32) {
          (@main_f_direct(%y, 1), @map_main_f(%y, %xs))
        }
        def @main_f_direct(%y: int32, %x: int32) { add(%x, %y) }
        def @map_main_f(%y: int32, %xs: List[int32]) -> List[int32] {
          match (%xs) {
            Cons(%x, %rest) => Cons(@main_f_direct(%y, %x), @map_main_f(%y, %rest)),
            Nil => Nil,
          }
        }
        """,
    )


def test_a_local_loop_is_a_function_of_what_it_remembers():
    assert_rewrites(
        """
        def @main(%x: int32, %n: int32) -> int32 {
          let %loop = fn (%i: int32) -> int32 {
            if (%i == 0) { %x } else { add(%i, %loop(%i - 1)) }
          };
          %loop(%n)
        }
        """,
        """
        def @main(%x: int32, %n: int32) -> int32 { @main_loop_direct(%x, %n) }
        def @main_loop_direct(%x: int32, %i: int32) -> int32 {
          if (%i == 0) { %x } else { add(%i, @main_loop_direct(%x, %i - 1)) }
        }
        """,
    )


def test_a_closure_over_known_functions_is_a_function():
    assert_rewrites(
        """
        def @f(%x: int32) { negative(%x) }
        def @main(%c: bool) {
          let %g = @f;
          let %h = fn (%x: int32) -> int32 { %g(%g(%x)) };
          if (%c) { %h } else { @f }
        }
        """,
        """
        def @f(%x: int32) { negative(%x) }
        def @main_h_f(%x: int32) -> int32 { @f(@f(%x)) }
        def @main(%c: bool) { let %h = @main_h_f; if (%c) { %h } else { @f } }
        """,
    )


def test_a_closure_that_is_a_value_too_calls_the_same_code():
    after = specialized(
        parse(
            """
            def @main(%x: int32, %r: ref(fn (int32) -> int32)) -> int32 {
              let %f = fn (%y: int32) -> int32 { subtract(%x, %y) };
              ref_write(%r, %f);
              %f(1)
            }
            """
        )
    )
    assert_structural_equal(
        after,
        parse(
            """
            def @main(%x: int32, %r: ref(fn (int32) -> int32)) -> int32 {
              let %f = @main_f(%x);
              ref_write(%r, %f);
              @main_f_direct(%x, 1)
            }
            def @main_f(%x: int32, Closure=1) -> fn (int32) -> int32 {
              fn (%y: int32) -> int32 { @main_f_direct(%x, %y) }
            }
            def @main_f_direct(%x: int32, %y: int32) -> int32 { subtract(%x, %y) }
            """
        ),
    )


# --- dimensions ----------------------------------------------------------------------------------


def test_dimensions_become_those_of_the_function():
    assert_rewrites(
        """
        def @apply[n: Shape](
          %f: fn (Tensor[(n), int8]) -> Tensor[(n), int8], %x: Tensor[(n), int8], %i: int32
        ) -> Tensor[(n), int8] {
          if (%i == 0) { %x } else { @apply(%f, %f(%x), %i - 1) }
        }
        def @three(%x: Tensor[(3), int8]) { negative(%x) }
        def @main[m: Shape](%x: Tensor[(3), int8], %y: Tensor[(m), int8]) {
          let %f = fn (%v: Tensor[(m), int8]) { add(%v, %y) };
          (@apply(@three, %x, 2), @apply(%f, %y, 3))
        }
        """,
        """
        def @three(%x: Tensor[(3), int8]) { negative(%x) }
        def @main[m: Shape](%x: Tensor[(3), int8], %y: Tensor[(m), int8]) {
          (@apply_three(%x, 2), @apply_main_f(%y, %y, 3))
        }
        def @apply_three(%x: Tensor[(3), int8], %i: int32) -> Tensor[(3), int8] {
          if (%i == 0) { %x } else { @apply_three(@three(%x), %i - 1) }
        }
        def @main_f_direct[m: Shape](%y: Tensor[(m), int8], %v: Tensor[(m), int8]) { add(%v, %y) }
        def @apply_main_f[m: Shape](
          %y: Tensor[(m), int8], %x: Tensor[(m), int8], %i: int32
        ) -> Tensor[(m), int8] {
          if (%i == 0) { %x } else { @apply_main_f(%y, @main_f_direct(%y, %x), %i - 1) }
        }
        """,
    )


# --- where it ends -------------------------------------------------------------------------------


def test_functions_that_are_not_known_are_called_as_before():
    assert_stays(
        """
        def @apply(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%x) }
        def @main(%c: bool, %f: fn (int32) -> int32, %r: ref(fn (int32) -> int32)) {
          let %g = if (%c) { %f } else { ref_read(%r) };
          (@apply(%f, 1), @apply(%g, 2), %g(3))
        }
        """
    )


def test_a_function_that_is_given_larger_and_larger_functions_is_copied_a_few_times():
    text = """
        def @f(%g: fn (int32) -> int32, %n: int32) -> int32 {
          let %twice = fn (%x: int32) -> int32 { %g(%g(%x)) };
          if (%n == 0) { %g(1) } else { @f(%twice, %n - 1) }
        }
        def @next(%x: int32) { add(%x, 1) }
        def @main(%n: int32) { @f(@next, %n) }
    """
    mod = parse(text)
    after = SpecializeCalls()(mod)
    assert_generated_ok(after)
    assert len(after.functions) < 30
    for n in (0, 3, 9):
        assert evaluate(after, n).numpy() == 1 + 2**n


def test_where_a_dimension_would_be_checked_the_function_is_called_as_before():
    assert_stays(
        """
        def @apply(%f: fn (Tensor[(?), int8]) -> Tensor[(?), int8], %x: Tensor[(?), int8])
            -> Tensor[(?), int8] { %f(%x) }
        def @three(%x: Tensor[(3), int8]) -> Tensor[(3), int8] { %x }
        def @main(%x: Tensor[(?), int8]) { @apply(@three, %x) }
        """
    )


def test_effects_happen_in_their_order():
    mod = parse(
        LIST
        + MAP
        + """
        def @main(%xs: List[int32]) {
          let %count = ref(0);
          let %next = fn (%x: int32) -> int32 {
            let %before = ref_read(%count);
            ref_write(%count, add(%before, 1));
            add(multiply(%x, 10), %before)
          };
          (@map(%next, %xs), ref_read(%count))
        }
        """
    )
    after = specialized(mod)
    cons, nil = mod.get_constructor("Cons"), mod.get_constructor("Nil")
    xs = cons(relay.const(1), cons(relay.const(2), nil()))
    data = relay.create_executor("debug", mod).evaluate(xs)
    assert_same_value(evaluate(after, data), evaluate(mod, data))


@settings(deadline=None)
@given(programs())
def test_programs_compute_the_same(program):
    mod, inputs = program
    eta = EtaExpand(expand_constructor=True, expand_operator=True)
    after = SpecializeCalls()(Monomorphize()(eta(mod)))
    assert_generated_ok(after)
    try:
        expected = evaluate(mod, *inputs)
    except relay.RelayError:
        return
    assert_same_value(evaluate(after, *inputs), expected)
