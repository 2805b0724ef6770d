"""What depends on constants only is computed at compile time."""

import numpy as np
import pytest
from hypothesis import given

import relay
from relay.analysis.precompute import SMALL
from relay.ir.compare import assert_structural_equal
from relay.op.opdef import define
from relay.testing import assert_generated_ok, assert_same_value, count_ops
from relay.testing.strategies import programs
from relay.transform import FoldConstant, FoldConstantExpr, InferType, PassContext, Sequential
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'
T = "Tensor[(3), float32]"


def parse(source):
    return InferType()(relay.parse(HEADER + source))


def assert_folds(before, after, **options):
    result = FoldConstant(**options)(parse(before))
    assert_structural_equal(result, parse(after))
    assert_structural_equal(FoldConstant(**options)(result), result)


def assert_stays(source, **options):
    before = parse(source)
    assert FoldConstant(**options)(before)["main"] is before["main"]


def folded(expr, **options):
    """What is left of an expression that becomes main."""
    return FoldConstant(**options)(relay.IRModule.from_expr(expr))["main"].body


# --- operators -----------------------------------------------------------------------------------


def test_calls_on_constants_are_evaluated():
    assert_folds(
        f"def @main(%x: {T}) {{ add(%x, multiply(2f, 3f)) }}",
        f"def @main(%x: {T}) {{ add(%x, 6f) }}",
    )


def test_what_depends_on_a_variable_stays():
    assert_stays(f"def @main(%x: {T}) {{ add(add(%x, 1f), 2f) }}")


def test_it_looks_into_functions_branches_and_clauses():
    assert_folds(
        """
        type Option[A] { Some(A), None }
        def @main(%x: float32, %c: bool, %o: Option[float32]) {
          let %f = fn (%y: float32) { add(%y, add(1f, 2f)) };
          let %a = if (%c) { %f(%x) } else { add(2f, 2f) };
          match (%o) { Some(%y) => multiply(%y, add(3f, 2f)), None => %a }
        }
        """,
        """
        type Option[A] { Some(A), None }
        def @main(%x: float32, %c: bool, %o: Option[float32]) {
          let %f = fn (%y: float32) { add(%y, 3f) };
          let %a = if (%c) { %f(%x) } else { 4f };
          match (%o) { Some(%y) => multiply(%y, 5f), None => %a }
        }
        """,
    )


def test_an_operator_with_several_results_becomes_a_tuple_of_constants():
    data = relay.const(np.arange(6, dtype="float32"))
    whole = folded(relay.split(data, 2).astuple())
    assert [part.data.numpy().tolist() for part in whole.fields] == [[0, 1, 2], [3, 4, 5]]
    assert folded(relay.split(data, 2)[1]).data.numpy().tolist() == [3, 4, 5]
    joined = folded(relay.concatenate([data, relay.const(np.ones(2, "float32"))], 0))
    assert joined.data.numpy().tolist() == [0, 1, 2, 3, 4, 5, 1, 1]


def test_the_results_are_laid_out_in_rows():
    data = relay.const(np.arange(6, dtype="float32").reshape(2, 3))
    assert folded(relay.transpose(data)).data.array.flags.c_contiguous


def test_a_shared_computation_becomes_one_constant():
    total = relay.add(relay.const(1.0), relay.const(2.0))
    x = relay.var("x", "float32")
    body = folded(relay.Tuple([relay.add(x, total), relay.multiply(x, total)]))
    assert body.fields[0].args[1] is body.fields[1].args[1]


def test_a_call_that_fails_is_left_to_the_run():
    """Three elements have no shape of 8 by 8; only a run that gets there is wrong."""
    data, shape = relay.const(np.arange(3)), relay.const(np.array([4, 4]))
    stays = folded(relay.reshape(data, relay.add(shape, shape)))
    assert stays.op.name == "dyn.reshape"
    assert isinstance(stays.args[1], relay.Constant)


def test_an_attempt_that_fails_in_whatever_way_is_dropped():
    def fails(*_, **__):
        raise ZeroDivisionError

    with relay.op.opdef.temporary_operators():
        for hooks in ({"reference": fails}, {"reference": np.abs, "runtime_shape": fails}):
            name = f"test.fails_{len(hooks)}"
            op = define(
                name,
                doc="Raises what no operator should.",
                arguments=[("data", "the input")],
                relation=lambda site: relay.TensorType((relay.Any(),), "int64"),
                **hooks,
            )
            assert folded(op(relay.const(np.arange(3)))).op.name == name
            x = relay.var("x", shape=(2, relay.Any()))
            stays = folded(relay.Function([x], op(relay.shape_of(x, "int64"))))
            assert stays.op.name == name


# --- what is known besides tensors ---------------------------------------------------------------


def test_bindings_of_constants_go():
    assert_folds(
        f"def @main(%x: {T}) {{ let %a = add(1f, 2f); let %b = add(%a, %a); add(%x, %b) }}",
        f"def @main(%x: {T}) {{ add(%x, 6f) }}",
    )


def test_projections_of_known_tuples_are_fields():
    assert_folds(
        f"""
        def @main(%x: {T}) {{
          let %t = (add(1f, 1f), (%x, 3f));
          (%t.0, (1f, (2f, 3f)).1.0, (%x, 1f).0)
        }}
        """,
        f"def @main(%x: {T}) {{ let %t = (2f, (%x, 3f)); (2f, 2f, %x) }}",
    )


def test_the_other_fields_are_evaluated_when_that_does_something():
    assert_stays(f"def @main(%x: {T}, %r: ref({T})) {{ (%x, ref_write(%r, %x)).0 }}")
    assert_stays(f"def @main(%x: {T}, %f: fn ({T}) -> {T}) {{ (%x, %f(%x)).0 }}")


def test_a_known_condition_decides():
    assert_folds(
        f"def @main(%x: {T}) {{ if (less(1f, 2f)) {{ exp(%x) }} else {{ %x }} }}",
        f"def @main(%x: {T}) {{ exp(%x) }}",
    )
    assert_folds(
        f"def @main(%x: {T}) {{ let %c = False; if (%c) {{ exp(%x) }} else {{ add(%x, 1f) }} }}",
        f"def @main(%x: {T}) {{ add(%x, 1f) }}",
    )


def test_a_match_on_known_data_is_the_clause_that_fits():
    lists = "type List[A] { Cons(A, List[A]), Nil }\n"
    assert_folds(
        lists
        + """
        def @main(%x: int32) {
          match (Cons(1, Cons(2, Nil))) {
            Cons(%a, Cons(%b, _)) => add(%x, add(%a, %b)),
            Cons(%c, _) => %c,
            Nil => %x,
          }
        }
        """,
        lists + "def @main(%x: int32) { add(%x, 3) }",
    )


def test_parts_of_known_data_that_are_used_as_such_are_bound():
    lists = "type List[A] { Cons(A, List[A]), Nil }\n"
    assert_folds(
        lists
        + """
        def @main(%f: fn (List[int32]) -> int32) {
          let %l = Cons(1, Cons(2, Nil));
          match (%l) { Cons(%h, %t) => add(%h, %f(%t)), Nil => 0 }
        }
        """,
        lists
        + """
        def @main(%f: fn (List[int32]) -> int32) {
          let %l = Cons(1, Cons(2, Nil));
          let %t: List[int32] = Cons(2, Nil);
          add(1, %f(%t))
        }
        """,
    )


def test_a_match_that_fails_is_left_to_the_run():
    assert_stays("""
        type List[A] { Cons(A, List[A]), Nil }
        def @main(%x: int32) { match? (Cons(1, Nil)) { Nil => %x } }
    """)


def test_primitive_functions_are_evaluated_and_others_are_not():
    assert_folds(
        "def @main() { fn (%x: float32, Primitive=1) { sqrt(add(%x, %x)) }(2f) }",
        "def @main() { 2f }",
    )
    assert_stays("def @main() { fn (%x: float32) { sqrt(%x) }(4f) }")


def test_primitive_functions_keep_what_is_in_them():
    assert_stays("def @main(%y: float32) { fn (%x: float32, Primitive=1) { %x * (2f + 3f) }(%y) }")


def test_variables_of_dropped_bindings_are_replaced_in_functions_of_others_too():
    assert_folds(
        """
        def @main(%y: float32) {
          let %a = 2f + 3f;
          fn (%x: float32, Composite="c") { %x * (%a + 1f) }(%y)
        }
        """,
        'def @main(%y: float32) { fn (%x: float32, Composite="c") { %x * (5f + 1f) }(%y) }',
    )


# --- shapes --------------------------------------------------------------------------------------


def test_the_shape_of_a_static_type_is_known_without_the_tensor():
    x = relay.var("x", shape=(2, 3, 5))
    shape = folded(relay.shape_of(relay.exp(x), "int64"))
    assert (shape.data.numpy().tolist(), shape.data.dtype) == ([2, 3, 5], "int64")
    assert folded(relay.ndarray_size(x)).data.item() == 30
    assert folded(relay.take(relay.shape_of(x), relay.const(1))).data.item() == 3


def test_the_shape_of_a_tensor_too_large_to_have_is_known():
    x = relay.var("x", shape=(2**20, 2**20), dtype="int8")
    assert folded(relay.shape_of(x, "int64")).data.numpy().tolist() == [2**20, 2**20]
    huge = relay.var("x", shape=(2**31, 2**31, 2**31))
    assert folded(relay.shape_of(huge, "int64")).data.numpy().tolist() == [2**31] * 3
    assert isinstance(folded(relay.shape_of(huge, "int32")), relay.Call)  # it does not fit
    assert isinstance(folded(relay.ndarray_size(huge, "int64")), relay.Call)


def test_an_unknown_extent_is_not_known():
    assert_stays("def @main(%x: Tensor[(?, 3), float32]) { shape_of(%x) }")
    assert_stays("def @main[n](%x: Tensor[(n, 3), float32]) { shape_of(%x) }")


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("take(shape_of(%x), 1)", "3"),
        ("multiply(take(shape_of(%x), 2), 5)", "20"),
        ("let %s = shape_of(%x); let %d = take(%s, 1); add(%d, 1)", "let %s = shape_of(%x); 4"),
        ("prod(strided_slice(shape_of(%x), begin=[1], end=[3]))", "12"),
        ('cast(take(shape_of(%x), 1), dtype="int64")', "3i64"),
        ("%0 = shape_of(%x); subtract(take(%0, 0), take(%0, 0))", "0"),
        (
            "take(concatenate((expand_dims(take(shape_of(%x), 0), axis=0), "
            "strided_slice(shape_of(%x), begin=[1], end=[2]))), 1)",
            "3",
        ),
    ],
)
def test_known_extents_among_unknown_ones_are_computed_with(body, wanted):
    params = "%x: Tensor[(n, 3, 4), float32]"
    assert_folds(f"def @main[n]({params}) {{ {body} }}", f"def @main[n]({params}) {{ {wanted} }}")


@pytest.mark.parametrize(
    "body",
    [
        "take(shape_of(%x), 0)",
        "%0 = shape_of(%x); subtract(take(%0, 0), take(%0, 0))",  # of two `?` nothing is known
        "ndarray_size(%x)",
        "prod(shape_of(%x))",
        "divide(take(shape_of(%x), 0), 2)",
    ],
)
def test_what_depends_on_unknown_ones_stays(body):
    assert_stays(f"def @main(%x: Tensor[(?, 3, 4), float32]) {{ {body} }}")


def test_shapes_are_known_in_branches_clauses_recursive_functions_and_closures():
    source = """
        type List[A] {{ Cons(A, List[A]), Nil }}
        def @loop(%i: int32, %x: Tensor[(?, 3), float32]) -> int32 {{
          if (less(%i, {0})) {{ @loop(add(%i, {1}), %x) }} else {{ {2} }}
        }}
        def @main(%x: Tensor[(?, 3), float32], %l: List[int32], %c: bool) {{
          let %f = fn (%n: int32) -> int32 {{
            if (%c) {{ multiply(%n, {3}) }} else {{ %f(add(%n, {4})) }}
          }};
          match (%l) {{
            Cons(%h, _) => add(%h, {5}),
            Nil => add(%f({6}), @loop({7}, %x)),
          }}
        }}
    """
    three = "take(shape_of(%x), 1)"
    long = [three, "multiply(2, 3)", f"add({three}, 1)", three, "add(2, 3)"]
    long += [f"multiply({three}, {three})", three, f"subtract({three}, 3)"]
    assert_folds(source.format(*long), source.format(*["3", "6", "4", "3", "5", "9", "3", "0"]))


def test_the_tensor_is_evaluated_when_that_does_something():
    assert_stays(f"def @main(%x: {T}, %f: fn ({T}) -> {T}) {{ shape_of(%f(%x)) }}")


def test_a_type_that_others_rely_on_stays():
    """Folding finds the extents of these tensors, which nothing but `?` fits all of."""
    source = """
        type List[A] { Cons(A, List[A]), Nil }
        def @main(%c: bool) {
          let %r = ref(arange(0f, 2f, 1f, dtype="float32"));
          let %w = ref_write(%r, arange(0f, 3f, 1f, dtype="float32"));
          let %b = if (%c) { arange(0f, 4f, 1f, dtype="float32") }
                   else { negative(arange(0f, 5f, 1f, dtype="float32")) };
          let %l = Cons(arange(0f, 6f, 1f, dtype="float32"),
                        Cons(arange(0f, 7f, 1f, dtype="float32"), Nil));
          match (%l) { Cons(%h, _) => (ref_read(%r), %b, %h), Nil => (%b, %b, %b) }
        }
    """
    before = parse(source)
    after = FoldConstant()(before)
    assert "arange" not in after.astext(show_meta_data=False)
    assert after["main"].checked_type == before["main"].checked_type
    for c in (True, False):
        run = [relay.create_executor("debug", m).evaluate()(c) for m in (after, before)]
        assert_same_value(*run)
    assert_structural_equal(FoldConstant()(after), after)


def test_operators_see_what_was_found():
    x = relay.var("x", shape=(3,))
    body = folded(relay.add(x, relay.arange(relay.const(0.0), relay.const(3.0), relay.const(1.0))))
    assert body.checked_type == relay.TensorType((3,))


# --- what is left alone --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "nn.dropout(1f).0",
        "annotation.stop_fusion(1f)",
        "on_device(1f)",
        "ref(1f)",
        "ref_read(ref(1f))",
        "random.threefry_split(meta[relay.Constant][0])",
        'qnn.quantize(1f, 0.5f, 0, out_dtype="int8")',
    ],
)
def test_effects_places_random_and_quantized_numbers_are_left_alone(body):
    key = relay.random.threefry_key(0)
    module = relay.parse(
        HEADER + f"def @main() {{ {body} }}", init_meta_table={"relay.Constant": [key]}
    )
    assert FoldConstant()(module)["main"] is module["main"]


def test_quantized_numbers_are_folded_on_demand():
    source = 'def @main() { qnn.quantize(1f, 0.5f, 0, out_dtype="int8") }'
    result = FoldConstant(fold_qnn=True)(parse(source))["main"].body
    assert (result.data.item(), result.data.dtype) == (2, "int8")


def test_calls_of_functions_are_not_evaluated():
    assert_stays("def @main() { @f(1f) } def @f(%x: float32) -> float32 { @f(%x) }")


def test_an_operator_without_a_reference_stays():
    with relay.op.opdef.temporary_operators():
        op = relay.op.register("test.nothing")
        op.set_num_inputs(1)
        assert isinstance(folded(op(relay.const(1.0))), relay.Call)


# --- growth --------------------------------------------------------------------------------------


def test_a_large_tensor_made_of_little_is_made_in_every_run():
    count = SMALL // 4
    assert isinstance(folded(relay.zeros((count,), "float32")), relay.Constant)
    assert isinstance(folded(relay.zeros((count + 1,), "float32")), relay.Call)
    assert isinstance(folded(relay.broadcast_to(relay.const(1.0), (count, 2))), relay.Call)
    assert isinstance(
        folded(
            relay.one_hot(
                relay.const(np.arange(1000)),
                relay.const(1.0),
                relay.const(0.0),
                1000,
                -1,
                "float32",
            )
        ),
        relay.Call,
    )


def test_weights_are_converted_and_laid_out():
    weights = relay.const(np.ones((128, 256), "int8"))
    body = folded(relay.transpose(relay.cast(weights, "float32")))
    assert body.data.shape == (256, 128)
    assert body.data.dtype == "float32"


def test_a_chain_that_doubles_in_each_step_ends():
    data = relay.const(np.ones(SMALL // 4, "float32"))
    for _ in range(40):
        data = relay.concatenate([data, data], 0)
    result = folded(data)
    sizes = [e.data.array.nbytes for e in relay.tree.postorder(result) if hasattr(e, "data")]
    assert max(sizes) == 8 * SMALL
    assert count_ops(result) == {"concatenate": 37}


def test_the_size_is_known_before_anything_is_computed():
    """2 ** 50 bytes could not be had at all."""
    shape = relay.const(np.array([2**25, 2**25]), "int64")
    stays = folded(relay.zeros(relay.add(shape, shape), "int8"))
    assert stays.op.name == "dyn.zeros"


# --- expressions, levels, every program ----------------------------------------------------------


def test_an_expression_alone_can_be_folded():
    x = relay.var("x", "float32")
    one = relay.const(1.0)
    result = FoldConstantExpr(relay.add(x, relay.add(one, one)), relay.IRModule())
    assert_structural_equal(result, relay.add(x, relay.const(2.0)))


def test_it_belongs_to_level_two():
    before = parse("def @main() { 1f + 2f }")
    passes = Sequential([FoldConstant()])
    with PassContext(opt_level=1):
        assert isinstance(passes(before)["main"].body, relay.Call)
    with PassContext(opt_level=2):
        assert isinstance(passes(before)["main"].body, relay.Constant)


@given(programs(size=40))
def test_results_stay(program):
    module, inputs = program
    after = FoldConstant()(module)
    assert_generated_ok(after)
    run = [relay.create_executor("debug", m).evaluate()(*inputs) for m in (after, module)]
    assert_same_value(*run)


@pytest.mark.parametrize(
    "depth", [deep(20_000), pytest.param(deep(100_000), marks=pytest.mark.full)]
)
def test_programs_may_be_deep(depth):
    """Half of the depth is known and in lets, the other half is not."""
    x, one = relay.var("x", "float32"), relay.const(1.0)
    names = [relay.var(f"v{i}") for i in range(depth // 2)]
    body = relay.add(x, names[-1])
    for _ in range(depth // 2):
        body = relay.nn.relu(body)
    for i in reversed(range(depth // 2)):
        body = relay.Let(names[i], relay.nn.relu(names[i - 1] if i else one), body)
    assert count_ops(folded(body)) == {"add": 1, "nn.relu": depth // 2}
