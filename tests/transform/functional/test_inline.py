"""Functions marked `Inline` are put where they are called."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import relay
from relay.errors import EvaluationError
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_generated_ok, assert_same_value
from relay.testing.strategies import programs
from relay.transform import InferType, Inline, PassContext, Sequential
from tests.support.looping import each
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'
PROGRAMS = sorted(Path(__file__).parents[2].joinpath("programs").glob("*.relay"))


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def inlined(mod):
    after = Inline()(mod)
    assert_generated_ok(after)
    assert_structural_equal(Inline()(after), after)
    return after


def assert_rewrites(before, after):
    assert_structural_equal(inlined(parse(before)), parse(after))


def assert_stays(text):
    before = parse(text)
    assert_structural_equal(inlined(before), before)


def marked(mod):
    """The module with every function but main to be inlined."""
    result = mod.copy()
    for name, function in mod.functions.items():
        if name.name_hint != "main":
            result[name] = function.with_attr("Inline", 1)
    return InferType()(result)


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


# --- calls ---------------------------------------------------------------------------------------


def test_the_body_stands_where_the_call_stood():
    assert_rewrites(
        """
        def @f(%x: int32, %y: int32, Inline=1) { subtract(%x, %y) }
        def @main(%a: int32) { @f(%a, 1) }
        """,
        "def @main(%a: int32) { subtract(%a, 1) }",
    )


def test_arguments_are_evaluated_once_and_before():
    assert_rewrites(
        """
        def @f(%x: int32, %y: int32, Inline=1) { add(%y, %y) }
        def @main(%a: int32) { @f(negative(%a), abs(%a)) }
        """,
        """
        def @main(%a: int32) {
          let %x = negative(%a);
          let %y = abs(%a);
          add(%y, %y)
        }
        """,
    )


def test_effects_keep_their_order_and_number():
    module = parse(
        """
        def @add(%r: ref(int32), %x: int32) -> int32 {
          let %u = ref_write(%r, add(multiply(ref_read(%r), 10), %x));
          ref_read(%r)
        }
        def @f(%x: int32, %y: int32, %r: ref(int32)) {
          let %a = @add(%r, 5);
          (%y, %a, @add(%r, 6), fn () { add(%x, %y) }())
        }
        def @cell() { ref(0) }
        def @main() {
          let %r = @cell();
          let %s = @cell();
          let %t = @f(@add(%r, 1), @add(%r, 2), %r);
          (%t, ref_read(%r), ref_read(%s))
        }
        """
    )
    after = inlined(marked(module))
    assert [str(name) for name in after.functions] == ["@main"]
    assert_same_value(evaluate(after), evaluate(module))


def test_every_call_has_a_copy_of_its_own():
    assert_rewrites(
        """
        def @f(%x: int32, Inline=1) { let %y = negative(%x); (%y, ref(1)) }
        def @main(%a: int32, %b: int32) { (@f(%a), @f(%b)) }
        """,
        """
        def @main(%a: int32, %b: int32) {
          ({ let %y = negative(%a); (%y, ref(1)) }, { let %y = negative(%b); (%y, ref(1)) })
        }
        """,
    )


def test_a_call_that_is_shared_is_evaluated_once_still():
    assert_rewrites(
        """
        def @f(%x: int32, Inline=1) { negative(%x) }
        def @main(%a: int32) { %0 = @f(%a); (%0, %0) }
        """,
        "def @main(%a: int32) { %0 = negative(%a); (%0, %0) }",
    )


def test_several_levels_of_functions():
    assert_rewrites(
        """
        def @f(%x: int32, Inline=1) { @g(@g(%x)) }
        def @main(%a: int32) { @f(%a) }
        def @g(%x: int32, Inline=1) { add(%x, @h()) }
        def @h(Inline=1) { 7 }
        """,
        "def @main(%a: int32) { let %x = add(%a, 7); add(%x, 7) }",
    )


def test_a_function_that_calls_others_is_inlined_as_well():
    assert_rewrites(
        """
        def @f(%x: int32, Inline=1) { @g(%x) }
        def @main(%a: int32) { @f(%a) }
        def @g(%x: int32) { negative(%x) }
        """,
        "def @main(%a: int32) { @g(%a) }  def @g(%x: int32) { negative(%x) }",
    )


def test_a_function_that_is_a_value_becomes_one():
    assert_rewrites(
        """
        def @f(%x: int32, Inline=1) { negative(%x) }
        def @apply(%g: fn (int32) -> int32) { %g(1) }
        def @main() { @apply(@f) }
        """,
        """
        def @apply(%g: fn (int32) -> int32) { %g(1) }
        def @main() { @apply(fn (%x: int32, Inline=1) { negative(%x) }) }
        """,
    )


# --- types ---------------------------------------------------------------------------------------


def test_type_parameters_get_the_types_of_the_call():
    assert_rewrites(
        """
        def @f[A, n](%x: A, %y: Tensor[(n), float32], Inline=1) {
          let %g = fn (%z: A) -> (A, Tensor[(n), float32]) { (%z, %y) };
          %g(%x)
        }
        def @main(%a: Tensor[(3), float32]) { @f(True, %a) }
        """,
        """
        def @main(%a: Tensor[(3), float32]) {
          let %g = fn (%z: bool) -> (bool, Tensor[(3), float32]) { (%z, %a) };
          %g(True)
        }
        """,
    )


def test_what_a_parameter_declares_is_kept():
    assert_rewrites(
        """
        def @f(%x: Tensor[(3), float32], Inline=1) { exp(%x) }
        def @main(%a: Tensor[(?), float32]) { @f(%a) }
        """,
        """
        def @main(%a: Tensor[(?), float32]) { let %x: Tensor[(3), float32] = %a; exp(%x) }
        """,
    )


def test_what_a_result_declares_is_kept():
    assert_rewrites(
        """
        def @f(%x: Tensor[(3), float32], Inline=1) -> Tensor[(?), float32] { exp(%x) }
        def @main(%a: Tensor[(3), float32]) { @f(%a) }
        """,
        """
        def @main(%a: Tensor[(3), float32]) {
          let %result: Tensor[(?), float32] = exp(%a);
          %result
        }
        """,
    )


def test_dimensions_that_have_to_be_the_same_are_still_compared():
    module = parse(
        """
        def @f[n](%x: Tensor[(n), float32], %y: Tensor[(n), float32], Inline=1) { (%x, %y) }
        def @main(%a: Tensor[(?), float32], %b: Tensor[(?), float32]) { @f(%a, %b) }
        """
    )
    after = inlined(module)
    assert [str(name) for name in after.functions] == ["@main"]
    two, three = np.ones(2, "float32"), np.ones(3, "float32")
    assert_same_value(evaluate(after, two, two), evaluate(module, two, two))
    with pytest.raises(EvaluationError):
        evaluate(after, two, three)


def test_a_type_parameter_with_two_meanings():
    a = relay.TypeVar("A")
    x, y = relay.Var("x", a), relay.Var("y", a)
    inner = relay.Function([y], y, a, [a])
    f = relay.Function([x], relay.Tuple([x, relay.Call(inner, [relay.const(1)])]), None, [a])
    module = relay.IRModule({"f": f.with_attr("Inline", 1)})
    module["main"] = relay.Function([], relay.GlobalVar("f")(relay.const(2.0)))
    assert_same_value(evaluate(inlined(module)), evaluate(module))


# --- what stays ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "def @f(%x: int32) { %x }  def @main(%a: int32) { @f(%a) }",
        "def @f(%x: int32, Inline=0) { %x }  def @main(%a: int32) { @f(%a) }",
        "def @f(%x: int32, Inline=1) -> int32 { @f(%x) }  def @main(%a: int32) { @f(%a) }",
        """
        def @f(%x: int32, Inline=1) -> int32 { @g(%x) }
        def @g(%x: int32, Inline=1) -> int32 { @f(%x) }
        def @main(%a: int32) { @f(%a) }
        """,
        "def @main(%a: int32, Inline=1) { negative(%a) }",
        """
        def @f(%x: int32, Inline=1) { %x }
        def @main(%a: int32, Compiler="other") { @f(%a) }
        """,
    ],
)
def test_unmarked_recursive_and_foreign_functions_stay(text):
    assert_stays(text)


def test_entry_functions_are_not_removed():
    assert_rewrites(
        """
        def @f(%x: int32, Inline=1) { @g(%x) }
        def @g(%x: int32, Inline=1) { negative(%x) }
        def @main(%a: int32) { @g(%a) }
        """,
        """
        def @f(%x: int32, Inline=1) { negative(%x) }
        def @main(%a: int32) { negative(%a) }
        """,
    )


def test_functions_that_are_compiled_as_a_whole_stay_whole():
    assert_rewrites(
        """
        def @f(%x: float32, Inline=1, Compiler="other") { exp(%x) }
        def @main(%a: float32) { @f(sqrt(%a)) }
        """,
        """
        def @main(%a: float32) {
          fn (%x: float32, Inline=1, Compiler="other") -> float32 { exp(%x) }(sqrt(%a))
        }
        """,
    )


# --- every program -------------------------------------------------------------------------------


@given(programs(functions=5))
def test_programs_mean_the_same_as_before(program):
    module, inputs = program
    typed = marked(module)
    after = inlined(typed)
    assert after["main"].checked_type == typed["main"].checked_type
    assert_same_value(evaluate(after, *inputs), evaluate(typed, *inputs))


@each("path", PROGRAMS)
def test_written_programs_may_be_inlined(path):
    assert_generated_ok(Inline()(marked(relay.parse(path.read_text()))))


def test_chains_of_functions_may_be_long():
    functions = {}
    for i in range(1_000):
        x = relay.var("x", shape=())
        body = relay.GlobalVar(f"f{i + 1}")(relay.exp(x)) if i < 999 else x
        functions[f"f{i}"] = relay.Function([x], body, x.type_annotation).with_attr("Inline", 1)
    y = relay.var("y", shape=())
    functions["main"] = relay.Function([y], relay.GlobalVar("f990")(y))
    after = Inline()(relay.IRModule(functions))
    assert relay.testing.count_ops(after["main"])["exp"] == 9


def test_programs_may_be_deep():
    x, y = relay.var("x", shape=()), relay.var("y", shape=())
    value, again = x, y
    for _ in range(deep(5_000)):
        value = relay.exp(value)
    f = relay.GlobalVar("f")
    for _ in range(2):
        again = f(again)
    module = relay.IRModule({f: relay.Function([x], value).with_attr("Inline", 1)})
    module["main"] = relay.Function([y], again)
    assert relay.testing.count_ops(Inline()(module)["main"])["exp"] == 2 * deep(5_000)


def test_it_belongs_to_level_one():
    before = parse("def @f(%x: int32, Inline=1) { %x }  def @main(%a: int32) { @f(%a) }")
    with PassContext(opt_level=0):
        assert Sequential([Inline()])(before)["main"] is before["main"]
