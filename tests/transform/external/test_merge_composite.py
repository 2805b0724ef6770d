"""What looks like a pattern becomes a composite function."""

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import tree
from relay.check.wellformed import check_well_formed
from relay.dataflow_pattern import is_constant, is_op, is_tuple_get_item, wildcard
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.testing import assert_same_value, mobilenet
from relay.testing.strategies import programs
from relay.transform import InferType, InlineComposites, MergeComposite
from tests.support.sampling import deep

HEADER = '#[version = "0.0.5"]\n'
ADD_RELU = ("dnnl.add_relu", is_op("nn.relu")(is_op("add")(wildcard(), wildcard())))
CONV_BIAS = (
    "dnnl.conv_bias",
    is_op("add")(is_op("nn.conv2d")(wildcard(), wildcard()), is_constant()),
)
ADD = ("dnnl.add", is_op("add")(wildcard(), wildcard()))


def parse(text):
    return relay.parse(HEADER + text)


def merged(mod, *table):
    after = MergeComposite(table)(mod)
    check_well_formed(after)
    return after


def assert_rewrites(table, before, after):
    assert_structural_equal(merged(parse(before), *table), InferType()(parse(after)))


def composites(mod):
    return [
        node.attrs["Composite"]
        for function in mod.functions.values()
        for node in tree.postorder(function)
        if isinstance(node, relay.Function) and "Composite" in node.attrs
    ]


def evaluate(mod, *args):
    return relay.create_executor("debug", mod).evaluate()(*args)


def test_what_fits_the_pattern_becomes_a_function():
    assert_rewrites(
        [ADD_RELU],
        "def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) { nn.relu(add(%x, %y)) }",
        """
        def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) {
          fn (%a: Tensor[(4), float32], %b: Tensor[(4), float32],
              PartitionedFromPattern="add_nn.relu_", Composite="dnnl.add_relu") {
            nn.relu(add(%a, %b))
          }(%x, %y)
        }
        """,
    )


def test_what_does_not_fit_stays():
    mod = InferType()(parse("def @main(%x: Tensor[(4), float32]) { exp(add(%x, %x)) }"))
    assert merged(mod, ADD_RELU)["main"] is mod["main"]


def test_earlier_entries_come_first():
    text = """
    def @main(%x: Tensor[(4), float32]) { add(nn.relu(add(%x, %x)), %x) }
    """
    both = {"dnnl.add_relu", "dnnl.add"}
    assert set(composites(merged(parse(text), ADD_RELU, ADD))) == both
    assert composites(merged(parse(text), ADD, ADD_RELU)) == ["dnnl.add", "dnnl.add"]


def test_a_check_sees_types_and_may_refuse():
    text = "def @main(%x: Tensor[(4), float32]) { add(nn.relu(add(%x, %x)), 1f) }"
    seen = []

    def check(found):
        seen.append(found.checked_type)
        return found.args[1].checked_type.shape == ()

    # the second entry sees what the first one left, with its types
    after = merged(parse(text), ADD_RELU, ("mine.add", ADD[1], check))
    assert set(composites(after)) == {"dnnl.add_relu", "mine.add"}
    assert seen == [relay.TensorType((4,))]
    assert composites(merged(parse(text), ("mine.add", ADD[1], lambda _: False))) == []


def test_constants_that_are_asked_for_stay_inside():
    text = """
    def @main(%x: Tensor[(1, 1, 4, 4), float32], %w: Tensor[(1, 1, 3, 3), float32]) {
      add(nn.conv2d(%x, %w, channels=1, kernel_size=[3, 3]), 2f)
    }
    """
    (function,) = [
        node
        for node in tree.postorder(merged(parse(text), CONV_BIAS)["main"].body)
        if isinstance(node, relay.Function)
    ]
    assert len(function.params) == 2


def test_patterns_fit_in_branches_closures_and_lets():
    text = """
    def @main(%x: Tensor[(4), float32], %c: bool) {
      let %f = fn (%y: Tensor[(4), float32]) { nn.relu(add(%y, %x)) };
      let %z = nn.relu(add(%x, %x));
      if (%c) { nn.relu(add(%f(%z), %z)) } else { %z }
    }
    """
    before = parse(text)
    after = merged(before, ADD_RELU)
    assert composites(after) == ["dnnl.add_relu"] * 3
    for c in (True, False):
        x = np.array([-1, 2, -3, 4], "float32")
        assert_same_value(evaluate(after, x, c), evaluate(before, x, c))


def test_a_result_that_is_needed_elsewhere_is_not_hidden():
    text = """
    def @main(%x: Tensor[(4), float32]) { %0 = add(%x, %x); (nn.relu(%0), %0) }
    """
    assert composites(merged(parse(text), ADD_RELU)) == []


def test_fields_of_a_tuple_can_be_part_of_a_pattern():
    pattern = is_tuple_get_item(
        is_op("nn.batch_norm")(wildcard(), wildcard(), wildcard(), wildcard(), wildcard()), 0
    )
    mod, _ = mobilenet.get_workload()
    after = merged(mod, ("mine.norm", pattern))
    assert set(composites(after)) == {"mine.norm"}
    assert len(composites(after)) == 27


def test_symbolic_sizes_are_kept():
    text = """
    def @main[n](%x: Tensor[(n, 4), float32]) -> Tensor[(n, 4), float32] { nn.relu(add(%x, %x)) }
    """
    assert composites(merged(parse(text), ADD_RELU)) == ["dnnl.add_relu"]


def test_merging_again_changes_nothing():
    mod = merged(parse("def @main(%x: int32) { add(add(%x, 1), 2) }"), ADD)
    assert merged(mod, ADD)["main"] is mod["main"]


def test_kernels_and_functions_of_others_stay():
    mod = InferType()(
        parse(
            """
            def @main(%x: int32) { @f(%x) }
            def @f(%x: int32, Compiler="c") { add(%x, 1) }
            def @g(%x: int32, Primitive=1) { add(%x, 1) }
            """
        )
    )
    after = merged(mod, ADD)
    assert all(after[name] is mod[name] for name in ("main", "f", "g"))


def test_long_chains_are_merged():
    x = relay.var("x", shape=(2,))
    body = x
    for _ in range(deep(10_000)):
        body = relay.nn.relu(relay.add(body, x))
    after = merged(relay.IRModule.from_expr(relay.Function([x], body)), ADD_RELU)
    assert len(composites(after)) == deep(10_000)


@pytest.mark.parametrize("entry", [("a",), ("a", "b"), (ADD[1], "a"), ("a", ADD[1], 3), None])
def test_a_table_that_is_none_is_refused(entry):
    with pytest.raises(PassError, match=r"an entry of a pattern table is \(name, pattern\)"):
        MergeComposite([entry])


@given(programs())
def test_programs_mean_the_same(program):
    mod, args = program
    table = [ADD_RELU, ADD, ("mine.exp", is_op("exp")(wildcard()))]
    after = merged(mod, *table)
    assert_same_value(evaluate(after, *args), evaluate(mod, *args))
    back = InlineComposites()(after)
    check_well_formed(back)
    assert composites(back) == []
    assert_same_value(evaluate(back, *args), evaluate(mod, *args))
