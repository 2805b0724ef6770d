"""Narrow floats where they are as good, wide ones where they are not."""

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import tree
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import Call, Constant, Function, Tuple, TupleGetItem, Var, op_names
from relay.ir.types import TupleType
from relay.nd import Weight
from relay.op.facts import Precision
from relay.op.opdef import get, register_op_attr, temporary_operators
from relay.testing import (
    assert_generated_ok,
    assert_same_value,
    count_ops,
    dcgan,
    dqn,
    gru,
    lstm,
    mlp,
    mobilenet,
    resnet,
    squeezenet,
    transformer,
)
from relay.testing.strategies import programs
from relay.transform import InferType, PassContext, ToMixedPrecision
from relay.transform.precision.to_mixed_precision import (
    ATTRIBUTE,
    KEEP_RESULTS,
    MIXED_PRECISION_ALWAYS,
    MIXED_PRECISION_FOLLOW,
    MIXED_PRECISION_NEVER,
)
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'
# How far results may be from those of float32, relative to the largest of them. A dozen layers of
# rounding to 11 bits, or to 8; what the networks below come to is about a tenth of it.
TOLERANCE = {"float16": 1e-2, "bfloat16": 8e-2}


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def mixed(mod, *options, keep=False):
    with PassContext(config={KEEP_RESULTS: keep}):
        after = ToMixedPrecision(*options)(mod)
    assert_generated_ok(after)
    return after


def assert_rewrites(before, after, *options, keep=False):
    assert_structural_equal(mixed(parse(before), *options, keep=keep), parse(after))


def assert_stays(text):
    before = parse(text)
    after = ToMixedPrecision()(before)
    assert all(after[name] is function for name, function in before.functions.items())


def evaluate(mod, *args, **keywords):
    return relay.create_executor("debug", mod).evaluate()(*args, **keywords)


# --- the three kinds ---------------------------------------------------------------------------


def test_products_are_narrow_and_summed_wide():
    assert_rewrites(
        """def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
          nn.softmax(nn.relu(nn.dense(%x, %w)))
        }""",
        """def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
          %0 = cast(%x, dtype="float16");
          %1 = cast(%w, dtype="float16");
          %2 = cast(nn.dense(%0, %1, out_dtype="float32"), dtype="float16");
          nn.softmax(cast(nn.relu(%2), dtype="float32"))
        }""",
    )


def test_bfloat16_is_the_other_narrow_type():
    assert_rewrites(
        "def @main(%x: Tensor[(2, 2), float32]) { nn.dense(%x, %x) }",
        """def @main(%x: Tensor[(2, 2), float32]) {
          %0 = cast(%x, dtype="bfloat16");
          cast(nn.dense(%0, %0, out_dtype="float32"), dtype="bfloat16")
        }""",
        "bfloat16",
    )


def test_a_value_is_converted_once_and_what_was_wide_is_used_so():
    assert_rewrites(
        """def @main(%x: Tensor[(2, 2), float32]) {
          %0 = nn.dense(%x, %x);
          (exp(%0), log(%0), exp(%x), nn.relu(%0))
        }""",
        """def @main(%x: Tensor[(2, 2), float32]) {
          %0 = cast(%x, dtype="float16");
          %1 = nn.dense(%0, %0, out_dtype="float32");
          (exp(%1), log(%1), exp(%x), nn.relu(cast(%1, dtype="float16")))
        }""",
    )


def test_those_that_follow_take_constants_and_parameters_along_but_no_wide_results():
    assert_rewrites(
        """def @main(%x: Tensor[(2, 2), float32], %y: Tensor[(2, 2), float32]) {
          %0 = nn.dense(%x, %x);
          (add(multiply(%0, 2f), %y), add(%0, exp(%y)))
        }""",
        """def @main(%x: Tensor[(2, 2), float32], %y: Tensor[(2, 2), float32]) {
          %0 = cast(%x, dtype="float16");
          %1 = nn.dense(%0, %0, out_dtype="float32");
          %2 = multiply(cast(%1, dtype="float16"), cast(2f, dtype="float16"));
          (add(%2, cast(%y, dtype="float16")), add(%1, exp(%y)))
        }""",
    )


def test_what_is_computed_from_constants_alone_is_free():
    after = mixed(
        parse(
            """def @main(%x: Tensor[(2, 2), float32]) {
              add(nn.dense(%x, %x), exp(add(ones(shape=[2], dtype="float32"), 1f)))
            }"""
        )
    )
    assert str(after["main"].checked_type.ret_type) == "Tensor[(2, 2), float16]"


def test_without_a_product_nothing_changes():
    assert_stays("def @main(%x: Tensor[(2, 2), float32]) { nn.relu(add(%x, 1f)) }")
    assert_stays("def @main(%x: Tensor[(2, 2), float64]) { nn.dense(%x, %x) }")
    assert_stays("def @main(%x: Tensor[(2, 2), float16]) { nn.dense(%x, %x) }")
    assert_stays('def @main(%x: Tensor[(2, 2), int8]) { nn.dense(%x, %x, out_dtype="int32") }')


def test_a_mask_that_float16_cannot_hold_stays_wide():
    text = "def @main(%x: Tensor[(2, 2), float32]) { nn.relu(add(nn.dense(%x, %x), -1e9f)) }"
    assert str(mixed(parse(text))["main"].checked_type.ret_type) == "Tensor[(2, 2), float32]"
    narrow = mixed(parse(text), "bfloat16")["main"]
    assert str(narrow.checked_type.ret_type) == "Tensor[(2, 2), bfloat16]"


def test_the_value_of_a_weight_is_not_looked_at():
    x = relay.var("x", shape=(2, 2))
    weight = Constant(Weight("w", np.full((2, 2), 1e9, "float32")))
    after = mixed(relay.IRModule.from_expr(Function([x], relay.nn.dense(x, weight))))
    assert count_ops(after["main"])["cast"] == 3


# --- through the language ----------------------------------------------------------------------


def test_lets_and_tuples_hold_narrow_values():
    assert_rewrites(
        """def @main(%x: Tensor[(2, 2), float32]) {
          let %a = nn.dense(%x, %x);
          let %b = %a;
          let %t = (%b, %x);
          nn.relu(%t.0)
        }""",
        """def @main(%x: Tensor[(2, 2), float32]) {
          %0 = cast(%x, dtype="float16");
          let %a = cast(nn.dense(%0, %0, out_dtype="float32"), dtype="float16");
          let %b = %a;
          let %t = (%b, %x);
          nn.relu(%t.0)
        }""",
    )


def test_branches_and_clauses_are_narrow_where_all_are():
    assert_rewrites(
        """
        type Way { Left, Right }
        def @main(%x: Tensor[(2, 2), float32], %c: bool, %w: Way) {
          %0 = nn.dense(%x, %x);
          %1 = if (%c) { nn.relu(%0) } else { %0 };
          match (%w) { Left => tanh(%1), Right => exp(%x) }
        }
        """,
        """
        type Way { Left, Right }
        def @main(%x: Tensor[(2, 2), float32], %c: bool, %w: Way) {
          %0 = cast(%x, dtype="float16");
          %1 = cast(nn.dense(%0, %0, out_dtype="float32"), dtype="float16");
          %2 = if (%c) { nn.relu(%1) } else { %1 };
          match (%w) { Left => cast(tanh(%2), dtype="float32"), Right => exp(%x) }
        }
        """,
    )


def test_a_constant_goes_the_way_of_the_others():
    assert_rewrites(
        """def @main(%x: Tensor[(2, 2), float32], %c: bool) {
          if (%c) { nn.dense(%x, %x) } else { zeros(shape=[2, 2], dtype="float32") }
        }""",
        """def @main(%x: Tensor[(2, 2), float32], %c: bool) {
          if (%c) {
            %0 = cast(%x, dtype="float16");
            cast(nn.dense(%0, %0, out_dtype="float32"), dtype="float16")
          } else {
            cast(zeros(shape=[2, 2], dtype="float32"), dtype="float16")
          }
        }""",
    )


def test_functions_data_and_references_keep_their_types():
    mod = parse(
        """
        type Box { Of(Tensor[(2, 2), float32]) }
        def @f(%x: Tensor[(2, 2), float32]) -> Tensor[(2, 2), float32] { nn.dense(%x, %x) }
        def @main(%x: Tensor[(2, 2), float32]) {
          let %g = fn (%y: Tensor[(2, 2), float32]) { nn.relu(@f(%y)) };
          let %b = Of(nn.dense(%x, %x));
          let %r = ref(nn.dense(%x, %x));
          let %u = ref_write(%r, nn.dense(%g(nn.dense(%x, %x)), %x));
          match (%b) { Of(%z) => (nn.relu(%z), ref_read(%r)) }
        }
        """
    )
    after = mixed(mod)
    assert after["f"].checked_type == mod["f"].checked_type
    assert after["main"].checked_type == mod["main"].checked_type
    inner = [n for n in tree.postorder(after["main"]) if isinstance(n, Function)]
    assert all("16" not in str(function.checked_type) for function in inner)
    x = np.array([[1, 2], [3, -4]], "float32")
    assert_same_value(evaluate(after, x), evaluate(mod, x), rtol=1e-2)


def test_recursion_through_main_keeps_its_type():
    mod = parse(
        """
        def @main(%x: Tensor[(2, 2), float32], %n: int32) -> Tensor[(2, 2), float32] {
          if (less(%n, 1)) { %x } else { @main(nn.dense(%x, %x), subtract(%n, 1)) }
        }
        """
    )
    assert mixed(mod)["main"].checked_type == mod["main"].checked_type


def test_a_tuple_is_converted_field_by_field():
    after = mixed(
        parse(
            """
            def @f(%t: (Tensor[(2, 2), float32], int32)) -> int32 { %t.1 }
            def @main(%x: Tensor[(2, 2), float32]) {
              let %t = (nn.dense(%x, %x), 1);
              @f(%t)
            }
            """
        )
    )
    assert count_ops(after["main"]) == {"cast": 3, "nn.dense": 1}


def test_symbolic_and_declared_dimensions_stay():
    assert_rewrites(
        """def @main[n: Shape](%x: Tensor[(n, 4), float32], %w: Tensor[(4, 4), float32]) {
          let %a: Tensor[(?, 4), float32] = nn.dense(%x, %w);
          nn.relu(%a)
        }""",
        """def @main[n: Shape](%x: Tensor[(n, 4), float32], %w: Tensor[(4, 4), float32]) {
          %0 = nn.dense(cast(%x, dtype="float16"), cast(%w, dtype="float16"), out_dtype="float32");
          let %a: Tensor[(?, 4), float16] = cast(%0, dtype="float16");
          nn.relu(%a)
        }""",
    )


def test_functions_of_others_are_left_alone():
    assert_stays("def @main(%x: Tensor[(2, 2), float32], SkipOptimization=1) { nn.dense(%x, %x) }")
    assert_stays(
        """def @main(%x: Tensor[(2, 2), float32]) {
          fn (%y: Tensor[(2, 2), float32], Primitive=1) { nn.dense(%y, %y) }(%x)
        }"""
    )


# --- options -----------------------------------------------------------------------------------


def test_results_can_keep_their_types():
    assert_rewrites(
        "def @main(%x: Tensor[(2, 2), float32]) { nn.relu(nn.dense(%x, %x)) }",
        """def @main(%x: Tensor[(2, 2), float32]) {
          %0 = cast(%x, dtype="float16");
          %1 = cast(nn.dense(%0, %0, out_dtype="float32"), dtype="float16");
          cast(nn.relu(%1), dtype="float32")
        }""",
        keep=True,
    )


def test_options_are_checked():
    with pytest.raises(PassError, match="one of float16, bfloat16, found 'int8'"):
        ToMixedPrecision("int8")
    with pytest.raises(PassError, match="missing_op_mode is 0"):
        ToMixedPrecision(missing_op_mode=3)


def narrowed(e, ty):
    if isinstance(ty, TupleType):
        parts = enumerate(ty.fields)
        return Tuple(tuple(narrowed(TupleGetItem(e, i), part) for i, part in parts))
    return relay.op.copy(e) if ty.dtype == "float32" else e


def test_every_operator_has_a_type_with_narrow_arguments():
    tried = set()
    with temporary_operators():
        register_op_attr("copy", ATTRIBUTE, MIXED_PRECISION_ALWAYS)
        for op in map(get, op_names()):
            for sample in op.samples[: 4 * (op.precision is not Precision.NEVER)]:
                params = [Var(f"x{i}", ty) for i, ty in enumerate(sample.types())]
                args = tuple(narrowed(p, p.type_annotation) for p in params)
                call = Call(op, args, op.make_attrs(dict(sample.attrs)))
                after = ToMixedPrecision()(relay.IRModule.from_expr(Function(params, call)))
                assert_generated_ok(after)
                if "float16" in str(after["main"].checked_type):
                    tried.add(op.name)
    assert len(tried) > 90


@pytest.fixture
def unlisted():
    """An operator nobody knows anything about."""
    with temporary_operators():
        op = relay.op.opdef.register("test.unlisted")
        op.set_num_inputs(1)
        op.add_type_rel("Identity")
        yield op


def calling(op):
    x = relay.var("x", shape=(2, 2))
    return relay.IRModule.from_expr(Function([x], Call(op, (relay.nn.dense(x, x),))))


def test_an_operator_of_no_known_kind_is_an_error_a_warning_or_neither(unlisted):
    with pytest.raises(PassError, match=r"nothing is known about `test\.unlisted`"):
        ToMixedPrecision(missing_op_mode=0)(calling(unlisted))
    with pytest.warns(UserWarning, match=r"`test\.unlisted` with float16.*wide floats are used"):
        ToMixedPrecision()(calling(unlisted))
    after = mixed(calling(unlisted), "float16", 2)
    assert str(after["main"].checked_type.ret_type) == "Tensor[(2, 2), float32]"


@pytest.mark.parametrize(
    ("said", "result"),
    [
        (MIXED_PRECISION_ALWAYS, "float16"),
        ([MIXED_PRECISION_FOLLOW, "float16", "float16"], "float16"),
        ([MIXED_PRECISION_FOLLOW, "float16", "float32"], "float32"),
        ([MIXED_PRECISION_NEVER], "float32"),
    ],
)
def test_an_operator_speaks_for_itself(unlisted, said, result):
    register_op_attr("test.unlisted", ATTRIBUTE, lambda call, narrow: said)
    after = mixed(calling(unlisted), "float16", 0)
    assert str(after["main"].checked_type.ret_type) == f"Tensor[(2, 2), {result}]"


def test_what_it_says_is_checked(unlisted):
    register_op_attr("test.unlisted", ATTRIBUTE, lambda call, narrow: [7, narrow, narrow])
    with pytest.raises(PassError, match=r"of `test\.unlisted` gives \[kind, type to sum with"):
        ToMixedPrecision()(calling(unlisted))


# --- meaning -----------------------------------------------------------------------------------

ZOO = {
    "mlp": lambda: mlp.get_workload(2),
    "dqn": lambda: dqn.get_workload(1),
    "resnet": lambda: resnet.get_workload(1, 10, 18, (3, 32, 32)),
    "mobilenet": lambda: mobilenet.get_workload(1, 10, (3, 32, 32)),
    "squeezenet": lambda: squeezenet.get_workload(1, 10, "1.1", (3, 64, 64)),
    "dcgan": lambda: dcgan.get_workload(1, ngf=8),
    "lstm": lambda: lstm.get_workload(3, 16),
    "gru": lambda: gru.get_workload(8, 8),
    "transformer": lambda: transformer.get_workload(1, 2, 32, 4, 8, 50, True),
}


def network(name):
    """A network of the zoo and random arguments."""
    mod, params = ZOO[name]()
    mod = InferType()(mod)
    generator = np.random.default_rng(0)
    given = dict(params)
    for param in mod["main"].params:
        if param.name_hint not in given:
            ty = param.checked_type
            shape = [extent if isinstance(extent, int) else 5 for extent in ty.shape]
            drawn = generator.uniform(-1, 1, shape) if "float" in ty.dtype else np.ones(shape)
            given[param.name_hint] = drawn.astype(ty.dtype)
    return mod, given


def parts(value):
    if isinstance(value, np.ndarray):
        return [value]
    if hasattr(value, "numpy"):
        return [value.numpy()]
    return [leaf for part in value for leaf in parts(part)]


def assert_near(found, wanted, tolerance):
    for mine, theirs in zip(parts(found), parts(wanted), strict=True):
        theirs = theirs.astype(np.float64)
        assert np.max(np.abs(mine - theirs)) <= tolerance * np.max(np.abs(theirs))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", ZOO)
def test_networks_give_nearly_the_same(name, dtype):
    mod, given = network(name)
    after = mixed(mod, dtype, 0)
    calls = count_ops(after["main"])
    assert calls["cast"] or name == "gru"  # which has its products in another function
    assert_near(evaluate(after, **given), evaluate(mod, **given), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_network_compiles(dtype):
    mod, given = network("mlp")
    params = {name: value for name, value in given.items() if name != "data"}
    exe = relay.compile(ToMixedPrecision(dtype)(mod), params)
    assert_near(exe(given["data"]), evaluate(mod, **given), TOLERANCE[dtype])


@given(programs(dtypes=("float32", "int32", "bool", "float64")))
def test_programs_mean_the_same(program):
    # numbers in them are small integers, which float16 holds
    mod, inputs = program
    mod = InferType()(mod)
    assert_same_value(evaluate(mixed(mod, keep=True), *inputs), evaluate(mod, *inputs))


def test_long_chains_take_no_stack():
    x = relay.var("x", shape=(2, 2))
    e = relay.nn.dense(x, x)
    for _ in range(deep(10_000)):
        e = relay.nn.relu(e)
    after = ToMixedPrecision()(relay.IRModule.from_expr(Function([x], e)))
    assert str(after["main"].checked_type.ret_type) == "Tensor[(2, 2), float16]"


def test_a_second_time_nothing_changes():
    mod, _ = network("mlp")
    once = ToMixedPrecision()(mod)
    assert ToMixedPrecision()(once)["main"] is once["main"]
