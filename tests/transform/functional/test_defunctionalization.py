"""Programs without function values mean what those with them mean."""

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import tree
from relay.errors import PassError, RelayError
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import Call, Constructor, Expr, Function, GlobalVar, Op
from relay.ir.types import FuncType
from relay.testing import assert_generated_ok, assert_same_value
from relay.testing.strategies import programs
from relay.transform import Defunctionalization, InferType, RemoveUnusedFunctions
from tests.programs.arguments import PROGRAMS, WITHOUT_MAIN, arguments, load
from tests.support.looping import each

HEADER = '#[version = "0.0.5"]\n'
# Python has no values for the parameters of these.
NO_ARGUMENTS = {"extern_types", "function_types", "shape_type_arguments"}


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def first_order(mod):
    """The module whose `main` has no function values, and all that it needs."""
    mod = mod.copy()
    mod["main"] = Defunctionalization(mod["main"], mod)
    after = InferType()(RemoveUnusedFunctions()(mod))
    assert_generated_ok(after)
    for function in after.functions.values():
        assert_is_first_order(function)
    return after


def assert_is_first_order(function):
    """What is called is named, and everything else is data."""
    for node in tree.postorder(function):
        if isinstance(node, Call):
            assert isinstance(node.op, GlobalVar | Op | Constructor) or "Primitive" in node.op.attrs
        if isinstance(node, Expr) and not isinstance(node, GlobalVar | Op | Constructor | Function):
            assert not any(isinstance(part, FuncType) for part in tree.postorder(node.checked_type))


def assert_rewrites(before, after):
    assert_structural_equal(first_order(parse(before)), reached(parse(after)))


def reached(mod):
    return RemoveUnusedFunctions()(mod)


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def assert_means_the_same(mod, *args):
    assert_same_value(evaluate(first_order(mod), *args), evaluate(mod, *args))


# --- form --------------------------------------------------------------------------------------


def test_functions_become_constructors_and_calls_of_them_matches():
    assert_rewrites(
        """
        def @double(%x: int32) -> int32 { multiply(%x, 2) }
        def @main(%x: int32, %c: bool) {
          let %f = if (%c) { fn (%y: int32) { add(%x, %y) } } else { @double };
          %f(1)
        }
        """,
        """
        type Function { Main_function(int32), Double }
        def @double(%x: int32) -> int32 { multiply(%x, 2) }
        def @main(%x: int32, %c: bool) -> int32 {
          let %f = if (%c) { Main_function(%x) } else { Double() };
          @apply(%f, 1)
        }
        def @main_function(%x: int32, %y: int32) -> int32 { add(%x, %y) }
        def @apply(%f: Function, %y: int32) -> int32 {
          match (%f) { Main_function(%x) => @main_function(%x, %y), Double => @double(%y) }
        }
        """,
    )


def test_functions_that_take_functions_take_data():
    after = first_order(
        parse(
            """
            def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }
            def @main(%x: int32) { @twice(fn (%y: int32) { add(%x, %y) }, %x) }
            """
        )
    )
    assert str(after["twice1"].checked_type) == "fn (Function, int32) -> int32"


def test_polymorphic_functions_get_a_copy_for_each_list_of_types():
    after = first_order(
        parse(
            """
            def @apply[A, B](%f: fn (A) -> B, %x: A) -> B { %f(%x) }
            def @main(%x: int32) {
              @apply(fn (%t: (int32, bool)) { %t.1 }, @apply(fn (%y: int32) { (%y, True) }, %x))
            }
            """
        )
    )
    functions = [d for h, d in after.type_definitions.items() if h.name_hint.startswith("Func")]
    assert len(functions) == 2
    assert all(not function.type_params for function in after.functions.values())


def test_data_types_with_functions_are_copied_for_their_arguments():
    mod = parse(
        """
        type Step[A] { Of(fn (A) -> A), Stop }
        def @main(%x: int32) {
          let %s = Of(fn (%y: int32) { add(%x, %y) });
          match (%s) { Of(%f) => %f(1), Stop => 0 }
        }
        """
    )
    after = first_order(mod)
    copy = after.type_definition("Step1")
    assert [str(ty) for ty in copy.constructors[0].inputs] == ["Function"]
    assert copy.type_vars == ()
    assert_means_the_same(mod, np.int32(3))


def test_a_type_that_no_function_has_is_no_trouble():
    assert_means_the_same(
        parse(
            """
            type Maybe { Just(fn (int32) -> int32), Not }
            def @main(%x: int32) {
              let %m = Not();
              match (%m) { Just(%f) => %f(%x), Not => %x }
            }
            """
        ),
        np.int32(3),
    )


def test_what_was_there_stays_and_new_names_are_new():
    mod = parse(
        """
        type Function { Apply }
        def @apply(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%x) }
        def @main(%x: int32) { @apply(fn (%y: int32) { add(%x, %y) }, %x) }
        """
    )
    before = dict(mod.functions)
    result = Defunctionalization(mod["main"], mod)
    assert all(mod[name] is function for name, function in before.items())
    mod["main"] = result
    assert evaluate(mod, np.int32(3)).numpy() == 6


def test_a_program_without_function_values_stays_as_it_is():
    mod = parse(
        """
        def @f(%x: int32) -> int32 { if (less(%x, 1)) { %x } else { @f(subtract(%x, 2)) } }
        def @main(%x: int32) { @f(%x) }
        """
    )
    after = Defunctionalization(mod["main"], mod)
    assert_structural_equal(after, mod["main"])
    assert {name.name_hint for name in mod.functions} == {"f", "main"}


def test_functions_of_a_module_other_than_main_are_entries_as_well():
    mod = parse("def @f(%x: int32) { let %g = fn (%y: int32) { add(%x, %y) }; (%g(1), %g(2)) }")
    mod["f"] = Defunctionalization(mod["f"], mod)
    assert_is_first_order(mod["f"])
    alone = parse("def @main(%x: int32) { let %g = fn () { %x }; %g() }")["main"]
    target = relay.IRModule()
    assert_is_first_order(Defunctionalization(alone, target))
    assert "apply" in target


# --- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%f: fn (int32) -> int32) { %f(1) }",
        "def @main(%x: int32) { fn () { %x } }",
        "type Held { Of(fn () -> int32) }  def @main(%h: Held) { 1 }",
    ],
)
def test_functions_from_outside_are_refused(text):
    mod = parse(text)
    with pytest.raises(PassError, match="has functions in its own type"):
        Defunctionalization(mod["main"], mod)


def test_a_data_type_without_end_is_refused():
    mod = parse(
        """
        type Nest[A] { Deeper(fn (A) -> A, Nest[(A, A)]), Last }
        def @main(%x: int32) {
          let %n: Nest[int32] = Last();
          match (%n) { Deeper(%f, _) => %f(%x), Last => %x }
        }
        """
    )
    with pytest.raises(RelayError, match="at larger and larger types"):
        Defunctionalization(mod["main"], mod)


def test_only_functions_are_taken():
    with pytest.raises(PassError, match=r"a relay\.Function is to be made first order"):
        Defunctionalization(relay.const(1), relay.IRModule())


# --- meaning -----------------------------------------------------------------------------------


def test_dimensions_that_are_no_numbers_are_found_at_run_time():
    mod = parse(
        """
        def @main[n: Shape](%x: Tensor[(n), float32], %y: Tensor[(4), float32], %c: bool) {
          let %f = fn (%a: Tensor[(n), float32]) { add(%x, %a) };
          let %g = fn (%a: Tensor[(4), float32]) { multiply(%y, %a) };
          let %h = if (%c) { %f } else { fn (%a: Tensor[(n), float32]) { %a } };
          (%h(%x), %g(%y))
        }
        """
    )
    x, y = np.arange(3, dtype="float32"), np.ones(4, "float32")
    assert_means_the_same(mod, x, y, True)
    after = first_order(mod)
    assert after["main"].checked_type == mod["main"].checked_type


@each("name", sorted(PROGRAMS.keys() - NO_ARGUMENTS - WITHOUT_MAIN))
def test_whole_programs_mean_the_same(name):
    mod = InferType()(load(name))
    if "Primitive" in mod["main"].attrs:
        assert Defunctionalization(mod["main"], mod) is mod["main"]
        return
    found = evaluate(first_order(mod), *arguments(name, mod)[0])
    assert_same_value(found, evaluate(mod, *arguments(name, mod)[0]))


@given(programs())
def test_programs_mean_the_same(program):
    mod, inputs = program
    assert_means_the_same(InferType()(mod), *inputs)


def test_the_result_compiles():
    mod = InferType()(load("closures_in_data"))
    exe = relay.compile(first_order(mod))
    args = [value.numpy() for value in arguments("closures_in_data", mod)[0]]
    for found, wanted in zip(exe(*args), evaluate(mod, *args), strict=True):
        np.testing.assert_array_equal(found, wanted.numpy())


def test_long_programs_take_no_stack():
    x = relay.var("x", shape=(), dtype="int32")
    f = relay.var("f")
    body = x
    for _ in range(2_000):
        body = Call(f, (body,))
    y = relay.var("y", shape=(), dtype="int32")
    body = relay.Let(f, Function([y], relay.op.add(y, x)), body)
    mod = InferType()(relay.IRModule.from_expr(Function([x], body)))
    assert evaluate(first_order(mod), np.int32(1)).numpy() == 2_001
