"""What is computed twice is computed once."""

import numpy as np
import pytest
from hypothesis import given

import relay
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_generated_ok, assert_same_value, count_ops
from relay.testing.strategies import programs
from relay.transform import EliminateCommonSubexpr, InferType, PassContext, Sequential
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'
T = "Tensor[(3), float32]"


def parse(source):
    return InferType()(relay.parse(HEADER + source))


def assert_rewrites(before, after, **options):
    result = EliminateCommonSubexpr(**options)(parse(before))
    assert_structural_equal(result, parse(after))
    assert_structural_equal(EliminateCommonSubexpr(**options)(result), result)


def assert_stays(source, **options):
    before = parse(source)
    assert EliminateCommonSubexpr(**options)(before)["main"] is before["main"]


# --- what is the same ----------------------------------------------------------------------------


def test_equal_calls_become_one():
    assert_rewrites(
        f"def @main(%x: {T}) {{ add(exp(%x), exp(%x)) }}",
        f"def @main(%x: {T}) {{ %0 = exp(%x); add(%0, %0) }}",
    )


def test_what_is_made_of_the_same_is_the_same():
    assert_rewrites(
        f"def @main(%x: {T}) {{ (sqrt(add(exp(%x), 1f)), sqrt(add(exp(%x), 1f))) }}",
        f"def @main(%x: {T}) {{ %0 = sqrt(add(exp(%x), 1f)); (%0, %0) }}",
    )


def test_projections_and_tuples_are_the_same_as_well():
    assert_rewrites(
        f"""
        def @main(%x: {T}) {{
          %0 = split(concatenate((%x, %x)), indices_or_sections=2);
          %1 = split(concatenate((%x, %x)), indices_or_sections=2);
          (add(%0.0, %1.0), %1.1)
        }}
        """,
        f"""
        def @main(%x: {T}) {{
          %0 = split(concatenate((%x, %x)), indices_or_sections=2);
          %1 = %0.0;
          (add(%1, %1), %0.1)
        }}
        """,
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("exp(%x)", "sqrt(%x)"),
        ("exp(%x)", "exp(%y)"),
        ("subtract(%x, %y)", "subtract(%y, %x)"),
        ("nn.softmax(%x)", "nn.softmax(%x, axis=0)"),
        ("nn.leaky_relu(%x, alpha=0.0)", "nn.leaky_relu(%x, alpha=-0.0)"),
        ("add(%x, 1f)", "add(%x, 2f)"),
        ("add(%x, 0f)", "add(%x, -0f)"),
        ("split(%x, indices_or_sections=3).0", "split(%y, indices_or_sections=3).0"),
    ],
)
def test_what_differs_in_anything_is_not_the_same(one, other):
    assert_stays(f"def @main(%x: {T}, %y: {T}) {{ ({one}, {other}) }}")


def test_constants_are_compared_by_their_bits():
    x = relay.var("x", shape=(64,))
    one = np.arange(64, dtype="float32")
    other = one.copy()
    other[33] += 1  # not among the elements that are looked at first
    body = [relay.add(x, relay.const(value)) for value in (one, one.copy(), other)]
    module = relay.IRModule.from_expr(relay.Function([x], relay.Tuple(body)))
    result = EliminateCommonSubexpr()(module)["main"].body.fields
    assert result[0] is result[1]
    assert result[0].args[1].data.numpy().tolist() == one.tolist()
    assert result[2].args[1].data.numpy().tolist() == other.tolist()


def test_a_call_may_be_vetoed():
    source = f"def @main(%x: {T}) {{ (exp(%x), exp(%x), sqrt(%x), sqrt(%x)) }}"

    def skip(e):
        return isinstance(e, relay.Call) and e.op.name == "exp"

    result = EliminateCommonSubexpr(fskip=skip)(parse(source))
    assert count_ops(result["main"]) == {"exp": 2, "sqrt": 1}


# --- names ---------------------------------------------------------------------------------------


def test_a_second_name_for_the_same_goes():
    assert_rewrites(
        f"""
        def @main(%x: {T}) {{
          let %a = exp(%x);
          let %b = exp(%x);
          let %c = sqrt(%a);
          let %d = sqrt(%b);
          subtract(%c, %d)
        }}
        """,
        f"def @main(%x: {T}) {{ let %a = exp(%x); let %c = sqrt(%a); subtract(%c, %c) }}",
    )


def test_a_variable_is_the_same_as_its_value():
    assert_rewrites(
        f"def @main(%x: {T}) {{ let %a = %x; let %b = %a; (exp(%a), exp(%b), exp(%x)) }}",
        f"def @main(%x: {T}) {{ let %a = %x; let %b = %a; %0 = exp(%a); (%0, %0, %0) }}",
    )


def test_a_name_is_used_only_where_it_is_known():
    assert_rewrites(
        f"def @main(%x: {T}) {{ add({{ let %a = exp(%x); %a }}, exp(%x)) }}",
        f"def @main(%x: {T}) {{ %0 = exp(%x); add({{ let %a = %0; %a }}, %0) }}",
    )


def test_a_name_that_declares_another_type_stays():
    assert_rewrites(
        """
        def @main(%x: Tensor[(3), float32]) {
          let %a = exp(%x);
          let %b: Tensor[(?), float32] = exp(%x);
          (%a, %b)
        }
        """,
        """
        def @main(%x: Tensor[(3), float32]) {
          let %a = exp(%x);
          let %b: Tensor[(?), float32] = %a;
          (%a, %b)
        }
        """,
    )


# --- scopes --------------------------------------------------------------------------------------


def test_branches_clauses_and_functions_use_what_is_computed_around_them():
    assert_rewrites(
        f"""
        type Option[A] {{ Some(A), None }}
        def @main(%x: {T}, %c: bool, %o: Option[{T}]) {{
          let %a = exp(%x);
          let %f = fn (%y: {T}) {{ add(%y, exp(%x)) }};
          let %b = if (%c) {{ exp(%x) }} else {{ %f(%a) }};
          match (%o) {{ Some(%y) => add(exp(%x), %y), None => %b }}
        }}
        """,
        f"""
        type Option[A] {{ Some(A), None }}
        def @main(%x: {T}, %c: bool, %o: Option[{T}]) {{
          let %a = exp(%x);
          let %f = fn (%y: {T}) {{ add(%y, %a) }};
          let %b = if (%c) {{ %a }} else {{ %f(%a) }};
          match (%o) {{ Some(%y) => add(%a, %y), None => %b }}
        }}
        """,
    )


def test_also_when_what_is_around_comes_later_in_the_text():
    assert_rewrites(
        f"def @main(%x: {T}, %c: bool) {{ add(if (%c) {{ exp(%x) }} else {{ %x }}, exp(%x)) }}",
        f"""
        def @main(%x: {T}, %c: bool) {{
          %0 = exp(%x);
          add(if (%c) {{ %0 }} else {{ %x }}, %0)
        }}
        """,
    )


def test_two_branches_share_nothing():
    assert_stays(
        f"def @main(%x: {T}, %c: bool) {{ if (%c) {{ exp(%x) }} else {{ sqrt(exp(%x)) }} }}"
    )


def test_two_functions_share_nothing():
    assert_stays(f"def @main(%x: {T}) {{ (fn () {{ exp(%x) }}, fn () {{ exp(%x) }}) }}")


# --- effects -------------------------------------------------------------------------------------


def test_references_and_calls_of_functions_are_never_the_same():
    assert_stays(f"""
        def @main(%x: {T}, %r: ref({T}), %f: fn ({T}) -> {T}) {{
          let %a = ref_read(%r);
          let %v = ref_write(%r, %x);
          let %w = ref_write(%r, %x);
          let %b = ref_read(%r);
          (exp(%a), exp(%b), ref(%x), ref(%x), %f(%x), %f(%x))
        }}
    """)


def test_operators_with_effects_are_never_the_same():
    assert_stays(f"def @main(%x: {T}) {{ (nn.dropout(%x), nn.dropout(%x)) }}")


def test_annotations_mark_places():
    assert_stays(
        f"def @main(%x: {T}) {{ (annotation.stop_fusion(%x), annotation.stop_fusion(%x)) }}"
    )


def test_computations_on_storage_have_their_place():
    assert_stays(f"""
        def @main(%x: {T}) {{
          let %a = exp(%x);
          let %k = memory.kill(%x);
          (%a, exp(%x))
        }}
    """)


# --- every program -------------------------------------------------------------------------------


@given(programs(size=40))
def test_results_stay(program):
    module, inputs = program
    after = EliminateCommonSubexpr()(module)
    assert_generated_ok(after)
    run = [relay.create_executor("debug", m).evaluate()(*inputs) for m in (after, module)]
    assert_same_value(*run)
    assert_structural_equal(EliminateCommonSubexpr()(after), after)


@pytest.mark.parametrize(
    "depth", [deep(20_000), pytest.param(deep(100_000), marks=pytest.mark.full)]
)
def test_programs_may_be_deep(depth):
    x = relay.var("x", shape=(3,))
    one = other = x
    for _ in range(depth // 2):
        one, other = relay.nn.relu(one), relay.nn.relu(other)
    module = relay.IRModule.from_expr(relay.Function([x], relay.add(one, other)))
    assert count_ops(EliminateCommonSubexpr()(module)["main"])["nn.relu"] == depth // 2


def test_deeply_nested_branches_take_linear_time():
    x, c = relay.var("x", shape=(3,)), relay.var("c", "bool")
    body = x
    for _ in range(5_000):
        body = relay.If(c, relay.exp(x), body)
    module = InferType()(relay.IRModule.from_expr(relay.Function([x, c], body)))
    assert EliminateCommonSubexpr()(module)["main"] is module["main"]


def test_it_belongs_to_level_three():
    before = parse(f"def @main(%x: {T}) {{ add(exp(%x), exp(%x)) }}")
    passes = Sequential([EliminateCommonSubexpr()])
    with PassContext(opt_level=2):
        assert count_ops(passes(before)["main"])["exp"] == 2
    with PassContext(opt_level=3):
        assert count_ops(passes(before)["main"])["exp"] == 1
