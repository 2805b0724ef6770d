"""Programs that are evaluated as far as they are known."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import relay
from relay import tree
from relay.interpreter.values import ConstructorValue, to_value
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import Call, Function, If, Match, Op, RefCreate, RefRead, RefWrite
from relay.ir.types import TensorType
from relay.testing import Seeded, assert_same_value, random_inputs
from relay.transform import DeadCodeElimination, PartialEvaluate, RemoveUnusedFunctions
from relay.transform.gradients.differentiate import gradient
from tests.support.looping import each
from tests.transform.gradients.random_programs import random_program
from tests.transform.rewriting import assert_rewrites, assert_stays
from tests.transform.rewriting import parse as given

POW = """def @pow(%x: float32, %n: int32) -> float32 {
  if (%n == 0) { 1f } else { %x * @pow(%x, %n - 1) }
}"""
LISTS = """type List[A] { Cons(A, List[A]), Nil }
def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)), Nil => Nil }
}
def @fold[A, B](%f: fn (B, A) -> B, %b: B, %l: List[A]) -> B {
  match (%l) { Cons(%h, %t) => @fold(%f, %f(%b, %h), %t), Nil => %b }
}"""


def parse(text: str) -> relay.IRModule:
    return relay.transform.InferType()(relay.parse(f'#[version = "0.0.5"]\n{text}'))


def evaluated(text: str, fuel: int = 500) -> relay.IRModule:
    """The program afterwards, which means the same."""
    module = parse(text)
    result = RemoveUnusedFunctions()(PartialEvaluate(fuel)(module))
    types = [param.checked_type for param in module["main"].params]
    if all(isinstance(ty, TensorType) for ty in types):
        inputs = random_inputs(module, Seeded(1))
    else:
        inputs = [0.5 if isinstance(ty, TensorType) else a_list(module) for ty in types]
    found, wanted = (
        relay.create_executor("debug", one).evaluate()(*inputs) for one in (result, module)
    )
    assert_same_value(found, wanted)
    return result


def a_list(module: relay.IRModule) -> ConstructorValue:
    cons, nil = module.type_definition("List").constructors
    made = ConstructorValue(nil.tag, (), nil)
    for number in (3.0, 2.0, 0.5):
        made = ConstructorValue(cons.tag, (to_value(number), made), cons)
    return made


def assert_becomes(body: str, wanted: str, params: str) -> None:
    """For programs that are given functions or references."""
    module, after = (relay.transform.InferType()(given(one, params)) for one in (body, wanted))
    assert_structural_equal(PartialEvaluate()(module)["main"], after["main"])


def census(module: relay.IRModule) -> Counter[str]:
    """How many nodes of each class there are, and how many calls of each operator."""
    nodes = [n for f in module.functions.values() for n in tree.postorder(f)]
    calls = [n.op.name for n in nodes if isinstance(n, Call) and isinstance(n.op, Op)]
    return Counter([type(n).__name__ for n in nodes] + calls)


# --- what the pass is for --------------------------------------------------------------------


def test_a_power_with_a_known_exponent_is_multiplications() -> None:
    found = evaluated(f"{POW} def @main(%x: float32) {{ @pow(%x, 5) }}")
    assert census(found)["multiply"] == 5
    assert census(found)["If"] == 0
    assert len(found.functions) == 1


def test_a_power_with_an_unknown_exponent_stays_a_call() -> None:
    text = f"{POW} def @main(%x: float32, %n: int32) -> float32 {{ @pow(%x, %n) }}"
    found = PartialEvaluate()(parse(text))
    assert census(found)["Call"] == census(parse(text))["Call"]


def test_closures_are_applied_and_references_are_followed() -> None:
    assert_rewrites(
        PartialEvaluate(),
        """let %r = ref(%x); let %f = fn (%z: Tensor[(2, 3), float32]) {
             ref_write(%r, multiply(ref_read(%r), %z)) };
           let %a = %f(%y); let %b = %f(%y); ref_read(%r)""",
        "let %a = multiply(%x, %y); let %b = multiply(%a, %y); %b",
    )


def test_a_reference_written_in_branches_becomes_a_result_of_them() -> None:
    assert_rewrites(
        PartialEvaluate(),
        """let %r = ref(%x);
           let %a = if (%c) { ref_write(%r, exp(%x)) } else { ref_write(%r, %y) };
           sqrt(ref_read(%r))""",
        "let %a = if (%c) { let %e = exp(%x); %e } else { %y }; let %s = sqrt(%a); %s",
    )


def test_tuples_and_data_are_known_by_their_fields() -> None:
    assert_rewrites(
        PartialEvaluate(),
        """match ((Some(%x), (%y, None))) {
             (Some(%a), (%b, Some(%d))) => exp(%d), (Some(%a), (%b, _)) => add(%a, %b), _ => %y
           }""",
        "let %s = add(%x, %y); %s",
        before="type Maybe[A] { Some(A), None }",
    )


def test_shapes_are_known() -> None:
    assert_rewrites(
        PartialEvaluate(),
        "let %s = shape_of(%x); if (equal(take(%s, 1), 3)) { exp(%x) } else { %y }",
        "let %e = exp(%x); %e",
    )


def test_what_is_not_known_stays() -> None:
    assert_stays(
        PartialEvaluate(),
        "let %a = exp(%x); let %b = if (%c) { %a } else { let %e = sqrt(%y); %e }; %b",
    )


def test_results_are_in_a_normal_form() -> None:
    found = evaluated(f"{LISTS} def @main(%x: float32) {{ @map(sin, Cons(%x, Nil)) }}")
    assert relay.analysis.check_a_normal_form(found["main"])


def test_a_shared_value_is_computed_once() -> None:
    text = """def @twice(%f: fn (float32) -> float32, %x: float32) { let %y = %f(%x); %y + %y }
    def @main(%x: float32) { @twice(fn (%z: float32) { exp(sin(%z)) }, %x) }"""
    found = census(evaluated(text))
    assert (found["exp"], found["sin"], found["add"]) == (1, 1, 1)


# --- functions that stay ---------------------------------------------------------------------


def test_a_copy_is_made_for_a_known_function() -> None:
    text = f"""{LISTS}
    def @main(%x: float32, %l: List[float32]) {{ @map(fn (%y: float32) {{ %x * %y }}, %l) }}"""
    found = evaluated(text)
    assert sorted(name.name_hint for name in found.functions) == ["main", "map_x"]
    assert census(found)["Function"] == 2


def test_calls_with_the_same_function_share_a_copy() -> None:
    text = f"""{LISTS}
    def @add(%a: float32, %b: float32) {{ %a + %b }}
    def @main(%l: List[float32], %m: List[float32]) {{
      @fold(@add, 0f, %l) * @fold(@add, 1f, %m)
    }}"""
    assert sorted(name.name_hint for name in evaluated(text).functions) == ["fold_add", "main"]


def test_known_elements_of_a_list_are_unfolded() -> None:
    text = f"""{LISTS}
    def @main(%x: float32, %l: List[float32]) {{ @map(exp, Cons(%x, Cons(%x, %l))) }}"""
    found = census(evaluated(text))
    assert (found["exp"], found["Match"]) == (3, 1)


def test_a_loop_whose_counter_alone_is_known_stays_a_loop() -> None:
    text = """def @loop(%i: int32, %n: int32, %x: float32) -> float32 {
      if (%i < %n) { @loop(%i + 1, %n, %x * 0.5f) } else { %x }
    }
    def @main(%n: int32, %x: float32) { @loop(0, %n, %x) }"""
    found = PartialEvaluate()(parse(text))
    assert census(found)["If"] == 1


# --- effects ---------------------------------------------------------------------------------


def test_an_unknown_function_may_write_to_what_it_can_reach() -> None:
    assert_becomes(
        """let %r = ref(%x); let %s = ref(%y); let %u = %g(%r);
           add(ref_read(%r), ref_read(%s))""",
        "let %r = ref(%x); let %u = %g(%r); let %v = ref_read(%r); let %a = add(%v, %y); %a",
        params="%x: float32, %y: float32, %g: fn (ref(float32)) -> ()",
    )


def test_what_was_written_before_a_reference_escapes_is_written() -> None:
    assert_becomes(
        """let %r = ref(%x); let %u = ref_write(%r, exp(ref_read(%r))); let %v = %g(%r);
           ref_read(%r)""",
        """let %r = ref(%x); let %e = exp(%x); let %s = ref_write(%r, %e); let %v = %g(%r);
           let %w = ref_read(%r); %w""",
        params="%x: float32, %g: fn (ref(float32)) -> ()",
    )


def test_writes_to_references_of_others_stay_in_order() -> None:
    assert_stays(
        PartialEvaluate(),
        """let %a = ref_write(%r, %x); let %b = ref_write(%s, %y); let %d = ref_read(%r);
           let %e = ref_write(%r, %d); %d""",
        params="%x: float32, %y: float32, %r: ref(float32), %s: ref(float32)",
    )


def test_references_that_a_program_is_given_may_be_the_same() -> None:
    module = parse("""def @main(%x: float32, %y: float32) {
      let %r = ref(%x);
      let %f = fn (%a: ref(float32), %b: ref(float32)) {
        let %u = ref_write(%a, 1f); let %v = ref_write(%b, 2f); ref_read(%a)
      };
      %f(%r, %r)
    }""")
    after = PartialEvaluate()(module)
    assert float(relay.create_executor("debug", after).evaluate()(3.0, 4.0)) == 2


# --- termination -----------------------------------------------------------------------------

ENDLESS = {
    "a call of itself": "def @main(%x: float32) -> float32 { @main(%x) }",
    "ever other arguments": """def @f(%n: int32) -> int32 { @f(%n + 1) }
        def @main() -> int32 { @f(0) }""",
    "two functions": """def @f(%n: int32) -> int32 { @g(%n + 1) }
        def @g(%n: int32) -> int32 { @f(%n * 2) } def @main() -> int32 { @f(0) }""",
    "two calls": """def @f(%n: int32) -> int32 { @f(%n + 1) + @f(%n + 2) }
        def @main() -> int32 { @f(0) }""",
    "a local function": """def @main(%x: int32) -> int32 {
        let %f = fn (%n: int32) -> int32 { %f(%n + 1) }; %f(%x) }""",
    "through a reference": """def @main(%x: int32) -> int32 {
        let %r = ref(fn (%n: int32) -> int32 { %n });
        let %f = fn (%n: int32) -> int32 { let %g = ref_read(%r); %g(%n) };
        let %u = ref_write(%r, %f); %f(%x) }""",
    "larger and larger functions": """
        def @f(%g: fn (int32) -> int32, %n: int32) -> int32 {
          @f(fn (%m: int32) -> int32 { %g(%g(%m)) }, %n)
        }
        def @main(%n: int32) -> int32 { @f(fn (%m: int32) -> int32 { %m + 1 }, %n) }""",
    "larger and larger functions, perhaps": """
        def @f(%g: fn (int32) -> int32, %n: int32) -> int32 {
          if (%n == 0) { %g(%n) } else { @f(fn (%m: int32) -> int32 { %g(%g(%m)) }, %n) }
        }
        def @main(%n: int32) -> int32 { @f(fn (%m: int32) -> int32 { %m + 1 }, %n) }""",
    "larger and larger data": """
        type List[A] { Cons(A, List[A]), Nil }
        def @f(%l: List[int32]) -> int32 { @f(Cons(1, %l)) }
        def @main() -> int32 { @f(Nil) }""",
    "through data": """
        type D { Fold(fn (D) -> int32) }
        def @apply(%d: D) -> int32 { match (%d) { Fold(%f) => %f(%d) } }
        def @main() -> int32 { @apply(Fold(@apply)) }""",
    "in both branches": """def @f(%c: bool, %n: int32) -> int32 {
          if (%c) { @f(%c, %n - 1) + @f(%c, %n - 2) } else { @f(%c, %n - 1) }
        }
        def @main(%c: bool) -> int32 { @f(%c, 1000) }""",
    "a call of all": "\n".join(
        f"def @f{i}(%n: int32) -> int32 {{ if (%n > {i}) {{ "
        + " + ".join(f"@f{j}(%n + {j})" for j in range(6))
        + " } else { 0 } }"
        for i in range(6)
    )
    + "def @main(%n: int32) -> int32 { @f0(%n) }",
}


@each("name", ENDLESS)
def test_programs_that_never_end_are_evaluated_in_the_end(name: str) -> None:
    module = parse(ENDLESS[name])
    after = PartialEvaluate()(module)
    assert_structural_equal(after["main"].checked_type, module["main"].checked_type)
    before, now = (sum(census(one).values()) for one in (module, after))
    assert now < 20 * before + 100


def test_a_residual_program_is_right_where_fuel_ran_out() -> None:
    text = f"{POW} def @main(%x: float32) {{ @pow(%x, 7) * @pow(%x, 3) }}"
    for fuel in range(1, 20, 3):
        evaluated(text, fuel)


def test_many_calls_of_calls_do_not_explode() -> None:
    functions = [
        f"def @f{i}(%x: float32) -> float32 {{ @f{i + 1}(%x) + @f{i + 1}(%x + 1f) }}"
        for i in range(30)
    ]
    text = "\n".join([*functions, "def @f30(%x: float32) -> float32 { %x }"])
    after = PartialEvaluate(20)(parse(f"{text} def @main(%x: float32) {{ @f0(%x) }}"))
    assert sum(census(after).values()) < 20_000


# --- a program that interprets programs ------------------------------------------------------

INTERPRETER = """
type List[A] { Cons(A, List[A]), Nil }
type Term {
  Number(float32), Name(int32), Sum(Term, Term), Product(Term, Term), Bind(Term, Term),
  Positive(Term, Term, Term)
}
def @lookup(%n: int32, %known: List[float32]) -> float32 {
  match? (%known) { Cons(%v, %rest) => if (%n == 0) { %v } else { @lookup(%n - 1, %rest) } }
}
def @value(%t: Term, %known: List[float32]) -> float32 {
  match (%t) {
    Number(%c) => %c,
    Name(%n) => @lookup(%n, %known),
    Sum(%a, %b) => @value(%a, %known) + @value(%b, %known),
    Product(%a, %b) => @value(%a, %known) * @value(%b, %known),
    Bind(%a, %b) => @value(%b, Cons(@value(%a, %known), %known)),
    Positive(%c, %a, %b) =>
      if (@value(%c, %known) > 0f) { @value(%a, %known) } else { @value(%b, %known) },
  }
}"""


def test_an_interpreter_with_a_known_program_is_compiled() -> None:
    """The first Futamura projection: of the interpreter nothing is left."""
    program = """Bind(Sum(Name(0), Number(1f)),
      Positive(Name(1), Product(Name(0), Name(0)), Sum(Name(0), Product(Name(1), Number(2f)))))"""
    found = evaluated(
        f"{INTERPRETER} def @main(%x: float32) {{ @value({program}, Cons(%x, Nil)) }}"
    )
    assert len(found.functions) == 1
    counts = census(found)
    assert counts["Match"] == 0
    assert (counts["If"], counts["add"], counts["multiply"]) == (1, 2, 2)


# --- gradients -------------------------------------------------------------------------------

FIRST_ORDER = """def @main(%x: Tensor[(2, 3), float64], %w: Tensor[(4, 3), float64]) {
  let %h = tanh(nn.dense(%x, %w)); let %s = split(%h, indices_or_sections=2, axis=1);
  mean(multiply(%s.0, exp(%s.1)))
}"""


def test_the_gradient_of_dataflow_code_is_dataflow_code() -> None:
    module = parse(FIRST_ORDER)
    made = module.copy()
    made["main"] = gradient(module["main"], made)
    assert census(made)["RefCreate"] > 0
    after = DeadCodeElimination()(PartialEvaluate()(made))
    nodes = list(tree.postorder(after["main"]))
    kinds = RefCreate | RefRead | RefWrite | If | Match
    assert not any(isinstance(node, kinds) for node in nodes)
    assert sum(isinstance(node, Function) for node in nodes) == 1
    assert len(after.functions) == 1
    first = module.copy()
    first["main"] = gradient(module["main"], first, mode="first_order")
    x, w = np.linspace(-1, 1, 6).reshape(2, 3), np.linspace(-2, 1, 12).reshape(4, 3)
    found, wanted = (relay.create_executor("debug", one).evaluate()(x, w) for one in (after, first))
    assert_same_value(found, wanted, rtol=1e-12)


def check_gradients(seeds: range) -> None:
    for seed in seeds:
        module = relay.fromtext(random_program(seed))
        module["main"] = gradient(module["main"], module)
        after = PartialEvaluate()(module)
        x, y = np.array(0.7), np.array(-0.4)
        found, wanted = (
            relay.create_executor("debug", one).evaluate()(x, y) for one in (after, module)
        )
        assert_same_value(found, wanted, rtol=1e-12)


def test_gradients_of_random_programs_mean_the_same() -> None:
    check_gradients(range(3))


@pytest.mark.full
def test_gradients_of_many_random_programs_mean_the_same() -> None:
    check_gradients(range(200))


# --- size ------------------------------------------------------------------------------------


def chain(length: int) -> relay.IRModule:
    x = relay.var("x", "float64")
    scope = relay.ScopeBuilder()
    value: relay.Expr = x
    for number in range(length):
        value = scope.let(f"v{number}", relay.negative(value))
    scope.ret(value)
    return relay.IRModule.from_expr(relay.Function([x], scope.get()))


@pytest.mark.full
def test_chains_of_any_length_and_their_gradients_are_evaluated() -> None:
    module = chain(100_000)
    module["main"] = gradient(module["main"], module)
    # the gradient is a number, and known
    assert census(PartialEvaluate()(module))["negative"] == 100_000
