"""Parameters that are always the same constant are that constant."""

import numpy as np
from hypothesis import given, settings

import relay
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import Constant, bind
from relay.nd import Weight
from relay.testing import assert_generated_ok, assert_same_value
from relay.testing.strategies import programs
from relay.transform import BindConstantArguments, InferType, LambdaLift

HEADER = '#[version = "0.0.5"]\n'
WEIGHT = Weight("w", np.arange(3, dtype="float32"))


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def weighted(text):
    """The program with the last parameter of main as a weight, a new node for every use."""
    mod = relay.parse(HEADER + text)
    main = mod["main"]
    mod["main"] = bind(main, {main.params[-1]: Constant(WEIGHT)})
    return InferType()(mod)


def bound(mod):
    after = BindConstantArguments()(mod)
    assert_generated_ok(after)
    again = BindConstantArguments()(after)
    assert all(again[name] is function for name, function in after.functions.items())
    return after


def assert_stays(mod):
    after = BindConstantArguments()(mod)
    assert all(after[name] is function for name, function in mod.functions.items())


def parameters(mod, name):
    return [param.name_hint for param in mod[name].params]


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def test_a_constant_goes_where_it_is_used():
    mod = parse(
        """
        def @f(%x: int32, %y: int32) { subtract(%x, %y) }
        def @main(%a: int32) { @f(%a, 1) }
        """
    )
    assert_structural_equal(
        bound(mod),
        parse("def @f(%x: int32) { subtract(%x, 1) } def @main(%a: int32) { @f(%a) }"),
    )


def test_a_recursive_function_hands_it_on():
    mod = weighted(
        """
        def @loop(%n: int32, %x: Tensor[(3), float32], %w: Tensor[(3), float32])
            -> Tensor[(3), float32] {
          if (%n == 0) { %x } else { let %again = %w; @loop(%n - 1, add(%x, %w), %again) }
        }
        def @main(%n: int32, %w: Tensor[(3), float32]) {
          @loop(%n, @other(%w), %w)
        }
        def @other(%w: Tensor[(3), float32]) { negative(%w) }
        """
    )
    after = bound(mod)
    assert parameters(after, "loop") == ["n", "x"]
    assert parameters(after, "other") == []
    assert_same_value(evaluate(after, 4), evaluate(mod, 4))


def test_functions_that_call_each_other_hand_it_on():
    after = bound(
        parse(
            """
            def @f(%n: int32, %c: int32) -> int32 { if (%n == 0) { %c } else { @g(%c, %n - 1) } }
            def @g(%c: int32, %n: int32) -> int32 { @f(%n, %c) }
            def @main(%n: int32) { let %c = 7; @f(%n, %c) }
            """
        )
    )
    assert parameters(after, "f") == parameters(after, "g") == ["n"]


def twice(a, b):
    """A function that is called with two constants."""
    mod = relay.parse(
        HEADER
        + """
        def @f(%x: Tensor[(3), float32]) { %x }
        def @main(%a: Tensor[(3), float32], %b: Tensor[(3), float32]) { (@f(%a), @f(%b)) }
        """
    )
    mod["main"] = bind(mod["main"], dict(zip(mod["main"].params, (a, b), strict=True)))
    return InferType()(mod)


def test_constants_of_one_tensor_are_the_same_and_equal_ones_are_not():
    one, other = (Constant(np.arange(3, dtype="float32")) for _ in range(2))
    assert parameters(bound(twice(one, Constant(one.data))), "f") == []
    assert parameters(bound(twice(one, other)), "f") == ["x"]


def test_weights_of_one_name_are_the_same():
    again = Constant(Weight("w", WEIGHT.array.copy()))
    other = Constant(Weight("v", WEIGHT.array))
    assert parameters(bound(twice(Constant(WEIGHT), again)), "f") == []
    assert parameters(bound(twice(Constant(WEIGHT), other)), "f") == ["x"]


def test_a_constant_is_nothing_to_remember():
    mod = LambdaLift()(
        parse(
            """
            def @apply(%f: fn (int32) -> int32) -> int32 { %f(1) }
            def @main(%x: int32) {
              let %c = 5;
              let %f = fn (%y: int32) { %y + %c };
              let %g = fn (%y: int32) { %y + %c + %x };
              (@apply(%f), @apply(%g))
            }
            """
        )
    )
    assert_structural_equal(
        bound(mod),
        parse(
            """
            def @apply(%f: fn (int32) -> int32) -> int32 { %f(1) }
            def @main(%x: int32) {
              let %c = 5;
              let %f = @main_f;
              let %g = @main_g(%x);
              (@apply(%f), @apply(%g))
            }
            def @main_f(%y: int32) { %y + 5 }
            def @main_g(%x: int32, Closure=1) -> fn (int32) -> int32 {
              fn (%y: int32) { %y + 5 + %x }
            }
            """
        ),
    )


def test_another_constant_or_value_keeps_the_parameter():
    assert_stays(
        parse(
            """
            def @f(%x: int32) { %x }
            def @g(%x: int32, %n: int32) -> int32 {
              if (%n == 0) { %x } else { @g(%x + 1, %n - 1) }
            }
            def @main(%a: int32) { (@f(1), @f(2), @g(1, %a)) }
            """
        )
    )


def test_the_parameters_of_values_entries_and_foreign_functions_stay():
    assert_stays(
        parse(
            """
            def @f(%x: int32) { %x }
            def @theirs(%x: int32, Compiler="theirs") { @g(%x) }
            def @g(%x: int32) { %x }
            def @main(%a: int32) { (@f(1), @f, @theirs(1), @g(1)) }
            """
        )
    )


def test_a_constant_of_another_type_than_the_parameter_stays():
    mod = relay.parse(
        HEADER
        + """
        def @f(%x: Tensor[(?), float32]) { %x }
        def @main(%w: Tensor[(3), float32]) { @f(%w) }
        """
    )
    mod["main"] = bind(mod["main"], {mod["main"].params[0]: Constant(WEIGHT)})
    assert_stays(InferType()(mod))


@settings(deadline=None)
@given(programs())
def test_programs_compute_the_same(program):
    mod, inputs = program
    after = bound(LambdaLift()(mod))
    try:
        expected = evaluate(mod, *inputs)
    except relay.RelayError:
        return
    assert_same_value(evaluate(after, *inputs), expected)
