"""Functions are written where constructors, global functions and operators stood for them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import tree
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_generated_ok, assert_same_value
from relay.testing.strategies import programs
from relay.transform import EtaExpand, InferType, PassContext, Sequential
from tests.support.looping import each

HEADER = '#[version = "0.0.5"]\n'
PROGRAMS = sorted(Path(__file__).parents[2].joinpath("programs").glob("*.relay"))
LIST = "type List[A] { Cons(A, List[A]), Nil }\n"
APPLY = "def @apply[A, B](%f: fn (A) -> B, %x: A) -> B { %f(%x) }\n"
ALL = EtaExpand(expand_constructor=True, expand_global_var=True, expand_operator=True)


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def expanded(mod, opt_pass=ALL):
    after = opt_pass(mod)
    assert_generated_ok(after)
    again = opt_pass(after)
    assert all(again[name] is function for name, function in after.functions.items())
    return after


def assert_rewrites(before, after, **options):
    assert_structural_equal(expanded(parse(before), EtaExpand(**options)), parse(after))


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def function_values(function):
    """The constructors, global functions and operators that are neither called nor matched."""
    for node in tree.postorder(function):
        for index, part in enumerate(tree.children(node)):
            called = isinstance(node, relay.Call) and index == 0
            if (
                isinstance(part, relay.Constructor | relay.GlobalVar | relay.ir.expr.Op)
                and not called
                and not isinstance(node, relay.PatternConstructor)
            ):
                yield part


def test_a_constructor_becomes_a_function():
    assert_rewrites(
        LIST + "def @main[A]() -> fn (A, List[A]) -> List[A] { Cons }",
        LIST
        + """
        def @main[A]() -> fn (A, List[A]) -> List[A] {
          fn [B](%x: B, %xs: List[B]) -> List[B] { Cons(%x, %xs) }
        }
        """,
        expand_constructor=True,
    )


def test_a_global_function_becomes_a_function():
    assert_rewrites(
        "def @aux(%x: Tensor[(), int32]) { %x }  def @main() { @aux }",
        "def @aux(%x: Tensor[(), int32]) { %x }  def @main() { fn (%y: int32) { @aux(%y) } }",
        expand_global_var=True,
    )


def test_polymorphic_ones_as_well():
    assert_rewrites(
        APPLY + "def @id[A](%x: A) -> A { %x }  def @main() { (@apply(@id, 1), @apply(@id, 2f)) }",
        APPLY
        + """
        def @id[A](%x: A) -> A { %x }
        def @main() {
          (@apply(fn [A](%x: A) -> A { @id(%x) }, 1), @apply(fn [A](%x: A) -> A { @id(%x) }, 2f))
        }
        """,
        expand_global_var=True,
    )


def test_an_operator_becomes_a_function():
    assert_rewrites(
        APPLY
        + "def @main(%x: Tensor[(3), float32]) { let %f = add; (@apply(exp, %x), %f(%x, 1f)) }",
        APPLY
        + """
        def @main(%x: Tensor[(3), float32]) {
          let %f = fn (%a, %b) { add(%a, %b) };
          (@apply(fn (%a) { exp(%a) }, %x), %f(%x, 1f))
        }
        """,
        expand_operator=True,
    )


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, ["Cons", "@copy", "exp"]),
        ({"expand_constructor": True}, ["@copy", "exp"]),
        ({"expand_global_var": True}, ["Cons", "exp"]),
        ({"expand_operator": True}, ["Cons", "@copy"]),
    ],
)
def test_only_what_is_asked_for_is_expanded(options, kept):
    module = parse(
        LIST
        + """
        def @copy(%x: float32) { %x }
        def @main() { (Cons, @copy, fn (%x: float32) { let %f = exp; %f(%x) }) }
        """
    )
    after = expanded(module, EtaExpand(**options))
    assert sorted(map(str, function_values(after["main"]))) == sorted(kept)


def test_what_is_called_and_what_is_matched_stays():
    before = parse(
        LIST
        + """
        def @length[A](%xs: List[A]) -> int32 {
          match (%xs) { Cons(_, %rest) => add(1, @length(%rest)), Nil => 0 }
        }
        def @main() { @length(Cons(1, Nil)) }
        """
    )
    after = ALL(before)
    assert all(after[name] is function for name, function in before.functions.items())


def test_functions_of_others_are_left_alone():
    before = parse('def @f(%x: int32) { %x }  def @main(Compiler="other") { @f }')
    assert ALL(before)["main"] is before["main"]


def test_a_function_may_stand_for_itself():
    module = parse(
        APPLY
        + """
        def @main(%n: int32) -> int32 {
          if (equal(%n, 0)) { 0 } else { add(%n, @apply(@main, subtract(%n, 1))) }
        }
        """
    )
    assert int(evaluate(expanded(module), np.int32(4)).numpy()) == 10


@given(programs())
def test_programs_mean_the_same_as_before(program):
    module, inputs = program
    typed = InferType()(module)
    after = expanded(typed)
    for name, function in typed.functions.items():
        assert after[name].checked_type == function.checked_type
    assert_same_value(evaluate(after, *inputs), evaluate(typed, *inputs))


@each("path", PROGRAMS)
def test_written_programs_have_no_other_function_values_then(path):
    after = expanded(InferType()(relay.parse(path.read_text())))
    for function in after.functions.values():
        assert function.attrs.get("Compiler") or not list(function_values(function))


def test_programs_may_be_deep():
    f, x = relay.GlobalVar("f"), relay.var("x", shape=())
    y, g = relay.var("y", shape=()), relay.var("g")
    value = y
    for _ in range(5_000):
        value = relay.exp(value)
    body = relay.Let(g, f, relay.Call(g, [value]))
    module = relay.IRModule({f: relay.Function([x], x)})
    module["main"] = relay.Function([y], body)
    assert isinstance(ALL(module)["main"].body.value, relay.Function)


def test_it_belongs_to_level_one():
    before = parse("def @f(%x: int32) { %x }  def @main() { @f }")
    with PassContext(opt_level=0):
        assert Sequential([ALL])(before)["main"] is before["main"]
