"""Functions that call their continuations mean what those that return mean."""

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import tree
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import Call, Function, GlobalVar, If, Let, Match
from relay.testing import assert_generated_ok, assert_same_value
from relay.testing.strategies import programs
from relay.transform import InferType, ToCPS, to_cps, un_cps
from tests.programs.arguments import PROGRAMS, WITHOUT_MAIN, arguments, load
from tests.support.looping import each

HEADER = '#[version = "0.0.5"]\n'
# Python has no values for the parameters of these.
NO_ARGUMENTS = {"extern_types", "function_types", "shape_type_arguments"}


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def converted(mod):
    after = ToCPS()(mod)
    assert_generated_ok(after)
    assert all(
        name.name_hint == "main" or passes_results_on(function)
        for name, function in after.functions.items()
    )
    return after


def passes_results_on(function):
    """Whether nothing but a call, of a continuation or with one, ends each way through."""
    ends = [function.body]
    while ends:
        e = ends.pop()
        while isinstance(e, Let):
            e = e.body
        if isinstance(e, If):
            ends += [e.true_branch, e.false_branch]
        elif isinstance(e, Match):
            ends += [clause.rhs for clause in e.clauses]
        elif not isinstance(e, Call):
            return False
    return True


def assert_rewrites(before, after):
    assert_structural_equal(converted(parse(before)), parse(after))


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def assert_means_the_same(mod, *args):
    after = converted(mod)
    assert_same_value(evaluate(after, *args), evaluate(mod, *args))


MAIN = """
def @main(%x: int32) -> int32 { @main_cps[int32](%x, fn (%result: int32) -> int32 { %result }) }
"""

# --- form --------------------------------------------------------------------------------------


def test_a_result_goes_to_the_continuation():
    assert_rewrites(
        "def @main(%x: int32) -> int32 { add(%x, 1) }",
        """
        def @main_cps[R](%x: int32, %k: fn (int32) -> R) -> R {
          let %one = 1; let %y = add(%x, %one); %k(%y)
        }
        """
        + MAIN,
    )


def test_what_follows_a_call_is_its_continuation_and_a_call_at_the_end_passes_it_on():
    assert_rewrites(
        """
        def @f(%x: int32) -> int32 { @f(negative(@f(%x))) }
        def @main(%x: int32) -> int32 { @f(%x) }
        """,
        """
        def @f_cps[R](%x: int32, %k: fn (int32) -> R) -> R {
          @f_cps[R](%x, fn (%y: int32) -> R { let %z = negative(%y); @f_cps[R](%z, %k) })
        }
        def @main_cps[R](%x: int32, %k: fn (int32) -> R) -> R { @f_cps[R](%x, %k) }
        """
        + MAIN,
    )


def test_ways_that_come_together_call_one_function():
    assert_rewrites(
        """
        def @main(%x: int32) -> int32 {
          let %y = if (less(%x, 1)) { @main(%x) } else { %x };
          negative(%y)
        }
        """,
        """
        def @main_cps[R](%x: int32, %k: fn (int32) -> R) -> R {
          let %one = 1;
          let %c = less(%x, %one);
          let %join = fn (%y: int32) -> R { let %z = negative(%y); %k(%z) };
          if (%c) { @main_cps[R](%x, %join) } else { %join(%x) }
        }
        """
        + MAIN,
    )


def test_a_branch_without_calls_stays_an_expression():
    after = converted(
        parse("def @main(%x: int32) { negative(if (less(%x, 1)) { 0 } else { add(%x, 1) }) }")
    )
    values = [n.value for n in tree.postorder(after["main_cps"]) if isinstance(n, Let)]
    assert sum(isinstance(value, If) for value in values) == 1


def test_function_values_take_continuations_and_data_types_with_functions_get_a_twin():
    after = converted(
        parse(
            """
            type Step { Of(fn (int32) -> int32), Stop }
            def @main(%x: int32) {
              let %s = Of(fn (%y: int32) { add(%x, %y) });
              match (%s) { Of(%f) => %f(1), Stop => 0 }
            }
            """
        )
    )
    twin = after.type_definition("Step_cps")
    assert [str(ty) for ty in twin.constructors[0].inputs] == ["fn (int32, fn (int32) -> R) -> R"]
    assert "Of" not in after["main_cps"].astext().replace("Of_cps", "")


def test_polymorphic_functions_stay_polymorphic():
    mod = parse(
        """
        def @id[A](%x: A) -> A { %x }
        def @main(%x: int32) { (@id(%x), @id(fn () { %x })()) }
        """
    )
    after = converted(mod)
    assert str(after["id_cps"].checked_type) == "fn [A, R](A, fn (A) -> R) -> R"
    assert_means_the_same(mod, np.int32(3))


def test_functions_that_others_compile_are_called_as_before():
    after = ToCPS()(
        parse(
            """
            def @theirs(%x: int32, Compiler="other") -> int32 { negative(%x) }
            def @main(%x: int32) { @theirs(fn (%y: int32, Primitive=1) { add(%y, 1) }(%x)) }
            """
        )
    )
    names = {n.name_hint for n in tree.postorder(after["main_cps"]) if isinstance(n, GlobalVar)}
    assert names == {"theirs"}
    assert "theirs" in after


# --- meaning -----------------------------------------------------------------------------------


def test_effects_keep_their_order():
    assert_means_the_same(
        parse(
            """
            def @bump(%r: ref(int32), %by: int32) -> int32 {
              let %old = ref_read(%r);
              let %done = ref_write(%r, add(%old, %by));
              %old
            }
            def @main(%x: int32) {
              let %r = ref(%x);
              (@bump(%r, 1), @bump(%r, 10), @bump(%r, @bump(%r, 100)), ref_read(%r))
            }
            """
        ),
        np.int32(5),
    )


def test_operators_constructors_and_functions_of_the_module_are_values():
    mod = InferType()(
        relay.parse(
            HEADER
            + """
            type Box { Of(int32) }
            def @twice(%x: int32) -> int32 { multiply(%x, 2) }
            def @apply[A](%f: fn (int32) -> A, %x: int32) -> A { %f(%x) }
            def @main(%x: int32) { (@apply(@twice, %x), @apply(Of, %x), @apply(negative, %x)) }
            """
        )
    )
    assert_means_the_same(mod, np.int32(4))


def test_deep_recursion_and_long_programs_take_no_stack():
    x = relay.var("x", shape=(), dtype="int32")
    body = x
    for _ in range(2_000):
        body = Call(GlobalVar("f"), (body,))
    y = relay.var("y", shape=(), dtype="int32")
    f = Function([y], relay.op.add(y, relay.const(1)), relay.scalar_type("int32"))
    mod = relay.IRModule({"f": f, "main": Function([x], body)})
    assert evaluate(ToCPS()(mod), np.int32(1)).numpy() == 2_001


@each("name", sorted(PROGRAMS.keys() - NO_ARGUMENTS))
def test_whole_programs_mean_the_same(name):
    mod = InferType()(load(name))
    after = converted(mod)
    if name not in WITHOUT_MAIN:
        found = evaluate(after, *arguments(name, mod)[0])
        assert_same_value(found, evaluate(mod, *arguments(name, mod)[0]))


@given(programs())
def test_programs_mean_the_same(program):
    mod, inputs = program
    assert_means_the_same(InferType()(mod), *inputs)


def test_the_result_compiles():
    mod = InferType()(load("closures_in_data"))
    exe = relay.compile(converted(mod))
    args = [value.numpy() for value in arguments("closures_in_data", mod)[0]]
    for found, wanted in zip(exe(*args), evaluate(mod, *args), strict=True):
        np.testing.assert_array_equal(found, wanted.numpy())


# --- one function, and back --------------------------------------------------------------------


def test_one_function_and_those_it_calls():
    mod = parse(
        """
        def @f(%x: int32) -> int32 { negative(%x) }
        def @other(%x: int32) -> int32 { %x }
        def @main(%x: int32) -> int32 { add(@f(%x), 1) }
        """
    )
    made = to_cps(mod["main"], mod)
    assert str(made.checked_type) == "fn [R](int32, fn (int32) -> R) -> R"
    assert {name.name_hint for name in mod.functions} == {"f", "other", "main", "f_cps"}
    mod["main"] = un_cps(made)
    mod = InferType()(mod)
    assert str(mod["main"].checked_type) == "fn (int32) -> int32"
    assert evaluate(mod, np.int32(3)).numpy() == -2


def test_any_continuation_will_do():
    made = to_cps(parse("def @main(%x: int32) { add(%x, 1) }")["main"])
    x = relay.var("x", shape=(), dtype="int32")
    y = relay.var("y", shape=(), dtype="int32")
    pair = Function([y], relay.Tuple([y, y]))
    mod = relay.IRModule.from_expr(Function([x], Call(made, (x, pair))))
    assert [int(part.numpy()) for part in evaluate(mod, np.int32(1))] == [2, 2]


def test_a_function_that_gives_functions_comes_back_as_well():
    mod = parse("def @main(%x: int32) { fn (%y: int32) { add(%x, %y) } }")
    direct = InferType()(relay.IRModule.from_expr(un_cps(to_cps(mod["main"]))))["main"]
    result = direct.checked_type.ret_type
    assert str(result) == "fn (int32, fn (int32) -> ()) -> ()"


def test_polymorphic_functions_come_back_with_their_own_type_parameters():
    mod = parse("def @pair[A](%x: A) -> (A, A) { (%x, %x) }")
    direct = InferType()(relay.IRModule({"pair": un_cps(to_cps(mod["pair"], mod))}))["pair"]
    assert str(direct.checked_type) == "fn [A](A) -> (A, A)"


@pytest.mark.parametrize(
    "text",
    [
        "def @f(%x: int32) -> int32 { %x }",
        "def @f() -> int32 { 1 }",
        "def @f(%k: fn (int32) -> int32) -> int32 { %k(1) }",
        "def @f[R](%k: fn (int32, int32) -> R) -> R { %k(1, 2) }",
    ],
)
def test_what_has_no_continuation_cannot_lose_it(text):
    with pytest.raises(PassError, match="takes no continuation"):
        un_cps(parse(text)["f"])


def test_only_functions_get_continuations():
    with pytest.raises(PassError, match=r"relay\.Function, found Constant"):
        to_cps(relay.const(1))
    with pytest.raises(PassError, match="compiled as a whole"):
        to_cps(parse("def @main(%x: int32, Primitive=1) { negative(%x) }")["main"])
