"""Bindings that nobody uses, and nobody would notice, are dropped."""

import pytest
from hypothesis import given

import relay
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_generated_ok, assert_same_value
from relay.testing.strategies import programs
from relay.transform import DeadCodeElimination, InferType, PassContext, Sequential
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'
T = "Tensor[(3), float32]"


def parse(source):
    return InferType()(relay.parse(HEADER + source))


def assert_rewrites(before, after, **options):
    result = DeadCodeElimination(**options)(parse(before))
    assert_structural_equal(result, parse(after))
    assert_structural_equal(DeadCodeElimination(**options)(result), result)


def assert_stays(source, **options):
    before = parse(source)
    after = DeadCodeElimination(**options)(before)
    for name, function in before.functions.items():
        assert after[name] is function


# --- what goes -----------------------------------------------------------------------------------


def test_an_unused_binding_goes_and_with_it_what_only_it_used():
    assert_rewrites(
        f"def @main(%x: {T}) {{ let %a = exp(%x); let %b = sqrt(%a); nn.relu(%x) }}",
        f"def @main(%x: {T}) {{ nn.relu(%x) }}",
    )


def test_bindings_that_are_used_stay():
    assert_stays(f"def @main(%x: {T}) {{ let %a = exp(%x); let %b = sqrt(%a); %b }}")


def test_it_looks_into_functions_branches_clauses_and_values():
    assert_rewrites(
        f"""
        type List[A] {{ Cons(A, List[A]), Nil }}
        def @main(%x: {T}, %c: bool, %l: List[{T}]) {{
          let %f = fn (%y: {T}) {{ let %a = exp(%y); %y }};
          let %b = if (%c) {{ let %d = exp(%x); %x }} else {{ %f(%x) }};
          match (%l) {{
            Cons(%h, _) => {{ let %e = exp(%h); %h }},
            Nil => add({{ let %g = %b; %x }}, %b),
          }}
        }}
        """,
        f"""
        type List[A] {{ Cons(A, List[A]), Nil }}
        def @main(%x: {T}, %c: bool, %l: List[{T}]) {{
          let %f = fn (%y: {T}) {{ %y }};
          let %b = if (%c) {{ %x }} else {{ %f(%x) }};
          match (%l) {{ Cons(%h, _) => %h, Nil => add(%x, %b) }}
        }}
        """,
    )


def test_functions_that_only_call_themselves_go():
    assert_rewrites(
        """
        def @main(%n: int32) {
          let %f = fn (%i: int32) -> int32 { if (%i == 0) { 0 } else { %f(%i - 1) } };
          %n
        }
        """,
        "def @main(%n: int32) { %n }",
    )


def test_a_call_that_may_never_end_or_fail_goes():
    assert_rewrites(
        """
        def @main(%n: int32) {
          let %a = @loop(%n);
          let %b = match? (Cons(%n, Nil)) { Nil => 1 };
          %n
        }
        def @loop(%n: int32) -> int32 { @loop(%n) }
        type List[A] { Cons(A, List[A]), Nil }
        """,
        """
        def @main(%n: int32) { %n }
        def @loop(%n: int32) -> int32 { @loop(%n) }
        type List[A] { Cons(A, List[A]), Nil }
        """,
    )


# --- effects -------------------------------------------------------------------------------------


def test_writes_stay_and_unused_cells_and_reads_go():
    assert_rewrites(
        f"""
        def @main(%x: {T}, %r: ref({T})) {{
          let %cell = ref(%x);
          let %read = exp(ref_read(%r));
          let %write = ref_write(%r, %x);
          ref_read(%r)
        }}
        """,
        f"""
        def @main(%x: {T}, %r: ref({T})) {{
          let %write = ref_write(%r, %x);
          ref_read(%r)
        }}
        """,
    )


def test_a_shared_read_stays_where_it_is_first_needed():
    assert_stays(f"""
        def @main(%x: {T}, %r: ref({T})) {{
          %0 = ref_read(%r);
          let %first = exp(%0);
          let %write = ref_write(%r, %x);
          %0
        }}
    """)


def test_calls_of_functions_with_effects_stay_also_inside_these():
    assert_stays(f"""
        def @main(%x: {T}, %r: ref({T})) {{ let %a = @store(%x, %r); %x }}
        def @store(%x: {T}, %r: ref({T})) -> {T} {{
          let %w = ref_write(%r, %x);
          let %again = @store(%x, %r);
          %x
        }}
    """)


def test_calls_of_functions_that_nobody_knows_stay():
    assert_stays(f"def @main(%x: {T}, %f: fn ({T}) -> {T}) {{ let %a = %f(%x); %x }}")


def test_operators_with_effects_stay():
    assert_stays(f"def @main(%x: {T}) {{ let %a = nn.dropout(%x); %x }}")


def test_effects_can_be_ignored():
    assert_rewrites(
        f"""
        def @main(%x: {T}, %r: ref({T})) {{
          let %w = ref_write(%r, %x);
          let %a = nn.dropout(%x);
          %x
        }}
        """,
        f"def @main(%x: {T}, %r: ref({T})) {{ %x }}",
        ignore_impurity=True,
    )


# --- bindings that are used once -----------------------------------------------------------------


def test_what_is_used_once_moves_there():
    assert_rewrites(
        f"def @main(%x: {T}) {{ let %a = exp(%x); let %b = sqrt(%a); add(%b, %x) }}",
        f"def @main(%x: {T}) {{ add(sqrt(exp(%x)), %x) }}",
        inline_once=True,
    )


def test_what_is_used_twice_stays():
    assert_stays(f"def @main(%x: {T}) {{ let %a = exp(%x); add(%a, %a) }}", inline_once=True)


def test_an_unused_use_is_none():
    assert_rewrites(
        f"def @main(%x: {T}) {{ let %a = exp(%x); let %b = sqrt(%a); add(%a, %x) }}",
        f"def @main(%x: {T}) {{ add(exp(%x), %x) }}",
        inline_once=True,
    )


def test_nothing_moves_into_functions_branches_and_clauses():
    assert_stays(
        f"""
        type Option[A] {{ Some(A), None }}
        def @main(%x: {T}, %c: bool, %o: Option[{T}]) {{
          let %a = exp(%x);
          let %b = sqrt(%x);
          let %d = negative(%x);
          let %e = tanh(%x);
          let %f = fn (%y: {T}) {{ add(%y, %a) }};
          let %g = fn () {{ %e }};
          let %h = if (%c) {{ add(%x, %b) }} else {{ %f(%x) }};
          let %i = match (%o) {{ Some(%y) => add(%y, %d), None => %g() }};
          (%f, %g, %h, %i, %h, %i)
        }}
        """,
        inline_once=True,
    )


def test_a_condition_belongs_to_the_block_around():
    assert_rewrites(
        "def @main(%x: float32) { let %c = less(%x, 1f); if (%c) { %x } else { exp(%x) } }",
        "def @main(%x: float32) { if (less(%x, 1f)) { %x } else { exp(%x) } }",
        inline_once=True,
    )


def test_what_a_function_shares_with_its_surroundings_is_evaluated_there():
    """The use of `%a` is in an expression that the function and its caller share."""
    assert_rewrites(
        f"""
        def @main(%x: {T}) {{
          let %a = exp(%x);
          %0 = sqrt(%a);
          let %f = fn () {{ add(%0, %x) }};
          (%f, %f(), %0)
        }}
        """,
        f"""
        def @main(%x: {T}) {{
          %0 = sqrt(exp(%x));
          let %f = fn () {{ add(%0, %x) }};
          (%f, %f(), %0)
        }}
        """,
        inline_once=True,
    )


def test_what_reads_or_writes_does_not_move_but_to_the_end():
    assert_stays(
        f"""
        def @main(%x: {T}, %r: ref({T})) {{
          let %a = ref_read(%r);
          let %w = ref_write(%r, %x);
          exp(%a)
        }}
        """,
        inline_once=True,
    )
    assert_rewrites(
        f"def @main(%r: ref({T})) {{ let %a = ref_read(%r); %a }}",
        f"def @main(%r: ref({T})) {{ ref_read(%r) }}",
        inline_once=True,
    )


def test_a_binding_that_declares_another_type_stays():
    source = """
        def @main(%x: Tensor[(3), float32]) {
          let %a: Tensor[(?), float32] = exp(%x);
          sqrt(%a)
        }
    """
    assert_stays(source, inline_once=True)


def test_functions_move_too_unless_they_call_themselves():
    assert_rewrites(
        f"def @main(%x: {T}) {{ let %f = fn (%y: {T}) {{ exp(%y) }}; %f(%x) }}",
        f"def @main(%x: {T}) {{ fn (%y: {T}) {{ exp(%y) }}(%x) }}",
        inline_once=True,
    )
    assert_stays(
        """
        def @main(%n: int32) {
          let %f = fn (%i: int32) -> int32 { if (%i == 0) { 0 } else { %f(%i - 1) } };
          %f(%n)
        }
        """,
        inline_once=True,
    )


def test_computations_on_storage_have_their_place():
    source = """
        def @main(%x: Tensor[(3), float32]) {
          let %a = exp(%x);
          let %k = memory.kill(%x);
          sqrt(%a)
        }
    """
    assert_stays(source, inline_once=True)


# --- every program -------------------------------------------------------------------------------


@pytest.mark.parametrize("inline_once", [False, True])
@given(program=programs(size=40))
def test_results_stay(program, inline_once):
    module, inputs = program
    after = DeadCodeElimination(inline_once=inline_once)(module)
    assert_generated_ok(after)
    run = [relay.create_executor("debug", m).evaluate()(*inputs) for m in (after, module)]
    assert_same_value(*run)
    assert_structural_equal(DeadCodeElimination(inline_once=inline_once)(after), after)


@pytest.mark.parametrize(
    "depth", [deep(20_000), pytest.param(deep(100_000), marks=pytest.mark.full)]
)
def test_programs_may_be_deep(depth):
    """Half of the bindings are used once, the other half only by each other."""
    x = relay.var("x", shape=(3,))
    names = [relay.var(f"v{i}") for i in range(depth)]
    body = names[depth // 2 - 1]
    for i in reversed(range(depth)):
        body = relay.Let(names[i], relay.nn.relu(names[i - 1] if i else x), body)
    module = relay.IRModule.from_expr(relay.Function([x], body))
    result = DeadCodeElimination(inline_once=True)(module)["main"]
    assert relay.testing.count_ops(result) == {"nn.relu": depth // 2}
    assert isinstance(result.body, relay.Call)


def test_it_belongs_to_level_one():
    before = parse(f"def @main(%x: {T}) {{ let %a = exp(%x); %x }}")
    passes = Sequential([DeadCodeElimination()])
    with PassContext(opt_level=0):
        assert isinstance(passes(before)["main"].body, relay.Let)
    with PassContext(opt_level=1):
        assert isinstance(passes(before)["main"].body, relay.Var)


def test_functions_of_others_stay():
    assert_stays(f'def @main(%x: {T}, Compiler="other") {{ let %a = exp(%x); %x }}')
