"""Polymorphic functions are copied for the types they are used at."""

from pathlib import Path

import pytest
from hypothesis import given, settings

import relay
from relay import tree
from relay.errors import LowerError
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import Constructor
from relay.ir.types import TypeKind
from relay.ir.variables import all_type_vars
from relay.testing import assert_generated_ok, assert_same_value
from relay.testing.strategies import programs
from relay.transform import EtaExpand, InferType, Monomorphize, RemoveUnusedFunctions
from tests.support.looping import each

HEADER = '#[version = "0.0.5"]\n'
PROGRAMS = sorted(Path(__file__).parents[2].joinpath("programs").glob("*.relay"))


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def copies(mod):
    after = Monomorphize()(mod)
    assert_generated_ok(after)
    for function in after.functions.values():
        for e in tree.postorder(function):
            kinds = {v.kind for v in all_type_vars(e.ty)} if getattr(e, "ty", None) else set()
            assert isinstance(e, Constructor) or kinds <= {TypeKind.ShapeVar}
    again = Monomorphize()(after)
    assert all(again[name] is function for name, function in after.functions.items())
    return after


def assert_rewrites(before, after):
    assert_structural_equal(copies(parse(before)), parse(after))


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


# --- calls ---------------------------------------------------------------------------------------


def test_there_is_a_copy_for_each_list_of_types():
    assert_rewrites(
        """
        def @pair[A, B](%x: A, %y: B) -> (A, B) { (%x, %y) }
        def @main() { (@pair(1, 2f), @pair(True, 1), @pair(3, 4f)) }
        """,
        """
        def @main() { (@pair_int32_float32(1, 2f), @pair_bool_int32(True, 1),
                       @pair_int32_float32(3, 4f)) }
        def @pair_int32_float32(%x: int32, %y: float32) -> (int32, float32) { (%x, %y) }
        def @pair_bool_int32(%x: bool, %y: int32) -> (bool, int32) { (%x, %y) }
        """,
    )


def test_copies_use_copies():
    assert_rewrites(
        """
        type List[A] { Cons(A, List[A]), Nil }
        def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
          match (%l) { Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)), Nil => Nil }
        }
        def @each[A](%l: List[A]) -> List[(A, A)] { @map(fn (%x: A) { (%x, %x) }, %l) }
        def @main(%l: List[int32]) { @each(%l) }
        """,
        """
        type List[A] { Cons(A, List[A]), Nil }
        def @main(%l: List[int32]) { @each_int32(%l) }
        def @each_int32(%l: List[int32]) -> List[(int32, int32)] {
          @map_int32_tuple_int32_int32(@each_function_int32, %l)
        }
        def @each_function_int32(%x: int32) { (%x, %x) }
        def @map_int32_tuple_int32_int32(
          %f: fn (int32) -> (int32, int32),
          %l: List[int32]
        ) -> List[(int32, int32)] {
          match (%l) {
            Cons(%h, %t) => Cons(%f(%h), @map_int32_tuple_int32_int32(%f, %t)),
            Nil => Nil,
          }
        }
        """,
    )


def test_a_function_may_call_itself_at_other_types_that_come_back():
    assert_rewrites(
        """
        def @f[A, B](%x: A, %y: B, %n: int32) -> int32 {
          if (%n == 0) { 0 } else { @f(%y, %x, %n - 1) }
        }
        def @main() { @f(1, 1f, 3) }
        """,
        """
        def @main() { @f_int32_float32(1, 1f, 3) }
        def @f_int32_float32(%x: int32, %y: float32, %n: int32) -> int32 {
          if (%n == 0) { 0 } else { @f_float32_int32(%y, %x, %n - 1) }
        }
        def @f_float32_int32(%x: float32, %y: int32, %n: int32) -> int32 {
          if (%n == 0) { 0 } else { @f_int32_float32(%y, %x, %n - 1) }
        }
        """,
    )


def test_names_of_the_module_are_not_taken_twice():
    assert_rewrites(
        """
        def @id[A](%x: A) -> A { %x }
        def @id_int32() -> int32 { 1 }
        def @main() { (@id(1), @id_int32(), @id((1, 2))) }
        """,
        """
        def @main() { (@id_int321(1), @id_int32(), @id_tuple_int32_int32((1, 2))) }
        def @id_int32() -> int32 { 1 }
        def @id_int321(%x: int32) -> int32 { %x }
        def @id_tuple_int32_int32(%x: (int32, int32)) -> (int32, int32) { %x }
        """,
    )


@pytest.mark.parametrize(
    ("ty", "name"),
    [
        ("()", "unit"),
        ("Tensor[(2, 3), int8]", "int8_2x3"),
        ("Tensor[(?), int8]", "int8_any"),
        ("ref(bool)", "ref_bool"),
        ("fn (int32) -> bool", "fn_int32_bool"),
        ("Box[Box[int32]]", "Box_Box_int32"),
    ],
)
def test_copies_are_called_after_their_types(ty, name):
    types = "type Box[A] { Box(A) } def @id[A](%x: A) -> A { %x }"
    mod = parse(f"{types} def @main(%x: {ty}) {{ @id(%x) }}")
    assert [v.name_hint for v in copies(mod).functions] == ["main", f"id_{name}"]


def test_names_stay_short():
    fields = ", ".join(["Tensor[(1, 2, 3, 4), float32]"] * 40)
    mod = parse(f"def @id[A](%x: A) -> A {{ %x }} def @main(%x: ({fields})) {{ @id(%x) }}")
    assert max(len(v.name_hint) for v in copies(mod).functions) <= 60


# --- functions as values -------------------------------------------------------------------------


def test_a_function_as_a_value_is_the_copy_for_its_types_there():
    assert_rewrites(
        """
        def @id[A](%x: A) -> A { %x }
        def @apply[A, B](%f: fn (A) -> B, %x: A) -> B { %f(%x) }
        def @main(%c: bool) {
          let %f: fn (int32) -> int32 = if (%c) { @id } else { fn (%x: int32) { %x } };
          (@apply(@id, 1f), %f(2), (fn (%g: fn (bool) -> bool) { %g })(@id))
        }
        """,
        """
        def @main(%c: bool) {
          let %f: fn (int32) -> int32 = if (%c) { @id_int32 } else { @main_function };
          (@apply_float32_float32(@id_float32, 1f), %f(2), @main_function_1(@id_bool))
        }
        def @main_function(%x: int32) { %x }
        def @main_function_1(%g: fn (bool) -> bool) { %g }
        def @id_int32(%x: int32) -> int32 { %x }
        def @id_float32(%x: float32) -> float32 { %x }
        def @apply_float32_float32(%f: fn (float32) -> float32, %x: float32) -> float32 { %f(%x) }
        def @id_bool(%x: bool) -> bool { %x }
        """,
    )


def test_a_local_function_is_copied_like_others():
    assert_rewrites(
        "def @main() { let %f = fn [A](%x: A) -> A { %x }; let %g = %f; (%f(1), %g(2f)) }",
        """
        def @main() { (@main_f_int32(1), @main_f_float32(2f)) }
        def @main_f_int32(%x: int32) -> int32 { %x }
        def @main_f_float32(%x: float32) -> float32 { %x }
        """,
    )


def test_a_closure_is_made_once_for_each_list_of_types():
    assert_rewrites(
        """
        def @main(%x: int32) {
          let %f = fn [A](%y: A) -> (A, int32) { (%y, %x) };
          let %g = %f;
          (%f(1), %g(2f), %f(3))
        }
        """,
        """
        def @main(%x: int32) {
          let %f = @main_f_int32(%x);
          let %f1 = @main_f_float32(%x);
          (%f(1), %f1(2f), %f(3))
        }
        def @main_f_int32(%x: int32, Closure=1) { fn (%y: int32) { (%y, %x) } }
        def @main_f_float32(%x: int32, Closure=1) { fn (%y: float32) { (%y, %x) } }
        """,
    )


def test_a_closure_as_a_value_is_made_for_its_types_there():
    assert_rewrites(
        """
        def @apply[A, B](%f: fn (A) -> B, %x: A) -> B { %f(%x) }
        def @main(%x: int32) {
          let %f = fn [A](%y: A) -> int32 { %x };
          @apply(%f, True)
        }
        """,
        """
        def @main(%x: int32) { let %f = @main_f_bool(%x); @apply_bool_int32(%f, True) }
        def @main_f_bool(%x: int32, Closure=1) { fn (%y: bool) -> int32 { %x } }
        def @apply_bool_int32(%f: fn (bool) -> int32, %x: bool) -> int32 { %f(%x) }
        """,
    )


def test_a_closure_that_calls_itself_at_other_types_makes_those():
    mod = parse(
        """
        def @main(%x: int32) {
          let %f: fn [A, B](A, B, int32) -> int32 = fn [A, B](%a: A, %b: B, %n: int32) -> int32 {
            if (%n == 0) { %x } else { 1 + %f(%b, %a, %n - 1) }
          };
          %f(1, 1f, 5)
        }
        """
    )
    after = copies(mod)
    assert [v.name_hint for v in after.functions] == [
        "main",
        "main_f_int32_float32",
        "main_f_float32_int32",
    ]
    assert evaluate(after, 7).numpy() == 12


# --- polymorphic parameters ----------------------------------------------------------------------


def test_a_polymorphic_parameter_is_the_function_that_is_given():
    assert_rewrites(
        """
        def @both(%f: fn [A](A) -> A, %n: int32) -> (int32, float32) {
          if (%n == 0) { (%f(1), %f(2f)) } else { @both(%f, %n - 1) }
        }
        def @id[A](%x: A) -> A { %x }
        def @main(%n: int32) { @both(@id, %n) }
        """,
        """
        def @main(%n: int32) { @both_id(%n) }
        def @both_id(%n: int32) -> (int32, float32) {
          if (%n == 0) { (@id_int32(1), @id_float32(2f)) } else { @both_id(%n - 1) }
        }
        def @id_int32(%x: int32) -> int32 { %x }
        def @id_float32(%x: float32) -> float32 { %x }
        """,
    )


def test_a_closure_makes_the_polymorphic_closures_it_remembers_again():
    mod = parse(
        """
        def @main(%x: int32, %y: float32) {
          let %f = fn [A](%a: A) -> (A, int32) { (%a, %x) };
          let %g = fn [A](%a: A) -> ((A, int32), float32) { (%f(%a), %y) };
          let %h = fn (%z: int8) { (%f(%z), %g(%z), %g(%x)) };
          %h(3i8)
        }
        """
    )
    after = copies(mod)
    assert [p.name_hint for p in after["main_h_main_f_main_g"].params] == ["x", "x", "y", "x"]
    assert_same_value(evaluate(after, 1, 2.0), evaluate(mod, 1, 2.0))


# --- dimensions ----------------------------------------------------------------------------------


def test_a_function_of_any_size_stays_one_function():
    text = """
        def @double[n: Shape](%x: Tensor[(n), float32]) { add(%x, %x) }
        def @main[m: Shape](%x: Tensor[(3), float32], %y: Tensor[(m), float32]) {
          (@double(%x), @double(%y))
        }
    """
    assert_rewrites(text, text)


def test_a_copy_for_a_type_with_dimensions_is_one_for_all_of_them():
    assert_rewrites(
        """
        def @pair[A, n: Shape](%x: A, %y: Tensor[(n), int8]) { (%x, %y) }
        def @main[a: Shape, b: Shape](
          %x: Tensor[(a, 2 * a), int8],
          %y: Tensor[(b, 3), int8],
          %z: Tensor[(b, b), int8],
          %v: Tensor[(4), int8]
        ) {
          (@pair(%x, %v), @pair(%y, %v), @pair(%z, %v))
        }
        """,
        """
        def @main[a: Shape, b: Shape](
          %x: Tensor[(a, 2 * a), int8],
          %y: Tensor[(b, 3), int8],
          %z: Tensor[(b, b), int8],
          %v: Tensor[(4), int8]
        ) {
          (
            @pair_int8_axn[a, 4](%x, %v),
            @pair_int8_bx3[b, 4](%y, %v),
            @pair_int8_bxb[b, 4](%z, %v)
          )
        }
        def @pair_int8_axn[a: Shape, n: Shape](
          %x: Tensor[(a, 2 * a), int8], %y: Tensor[(n), int8]
        ) { (%x, %y) }
        def @pair_int8_bx3[b: Shape, n: Shape](
          %x: Tensor[(b, 3), int8], %y: Tensor[(n), int8]
        ) { (%x, %y) }
        def @pair_int8_bxb[b: Shape, n: Shape](
          %x: Tensor[(b, b), int8], %y: Tensor[(n), int8]
        ) { (%x, %y) }
        """,
    )


# --- where it does not apply ---------------------------------------------------------------------


def test_a_program_without_type_parameters_stays_as_it_is():
    mod = parse("def @f(%x: int32) { %x } def @main(%x: int32) { @f(%x) }")
    after = Monomorphize()(mod)
    assert all(after[name] is function for name, function in mod.functions.items())


def test_what_is_used_at_no_type_is_gone():
    assert_rewrites(
        "def @id[A](%x: A) -> A { %x } def @main() { 1 }",
        "def @main() { 1 }",
    )


def test_types_that_grow_without_end_are_an_error():
    mod = parse(
        """
        def @f[A](%x: A, %n: int32) -> int32 { if (%n == 0) { 0 } else { @g(%x, %n - 1) } }
        def @g[A](%x: A, %n: int32) -> int32 { @f((%x, %x), %n) }
        def @main() { @f(1, 3) }
        """
    )
    with pytest.raises(LowerError) as caught:
        Monomorphize()(mod)
    assert "`@f` calls itself at larger and larger types" in str(caught.value)
    assert "int32 -> (int32, int32) -> ((int32, int32), (int32, int32)) -> …" in str(caught.value)


def test_a_polymorphic_main_is_an_error():
    with pytest.raises(LowerError, match="`@main` is polymorphic"):
        Monomorphize()(parse("def @main[A](%x: A) { %x }"))


@pytest.mark.parametrize(
    "body",
    [
        "let %f = if (%c) { @id } else { @same }; (%f(1), %f(2f))",
        "let %t = (@id, 1); (%t.0(1), %t.0(2f))",
        "(@make()(1), @make()(2f))",
        "@both(if (%c) { @id } else { @same })",
    ],
)
def test_a_polymorphic_function_that_is_not_known_is_an_error(body):
    mod = parse(
        f"""
        def @both(%f: fn [A](A) -> A) {{ (%f(1), %f(2f)) }}
        def @id[A](%x: A) -> A {{ %x }}
        def @same[A](%x: A) -> A {{ %x }}
        def @make() -> fn [A](A) -> A {{ @id }}
        def @main(%c: bool) {{ {body} }}
        """
    )
    with pytest.raises(LowerError, match="polymorphic function"):
        Monomorphize()(mod)


# --- everything ----------------------------------------------------------------------------------


def entries(path):
    mod = relay.parse(path.read_text(encoding="utf-8"))
    return RemoveUnusedFunctions()(mod) if "main" in mod else mod


@each("path", PROGRAMS)
def test_the_programs_have_no_type_parameters_left(path):
    if path.stem == "function_types":
        return  # its main is given polymorphic functions
    copies(EtaExpand(expand_constructor=True)(InferType()(entries(path))))


@settings(deadline=None)
@given(programs())
def test_programs_compute_the_same(program):
    mod, inputs = program
    after = copies(EtaExpand(expand_constructor=True)(mod))
    try:
        expected = evaluate(mod, *inputs)
    except relay.RelayError:
        return
    assert_same_value(evaluate(after, *inputs), expected)
