"""What other compilers take is annotated."""

import numpy as np
import pytest

import relay
from relay import tree
from relay.dataflow_pattern import is_op, wildcard
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.op.annotation import compiler_begin, compiler_end
from relay.testing import assert_same_value
from relay.transform import AnnotateTarget, InferType, MergeComposite, PartitionGraph


def begin(e, compiler="c"):
    return compiler_begin(e, compiler=compiler)


def end(e, compiler="c"):
    return compiler_end(e, compiler=compiler)


def module_of(body, *params):
    return InferType()(relay.IRModule.from_expr(relay.Function(params, body)))


def composites(mod, *names, compiler="c"):
    table = [(f"{compiler}.{name}", is_op(name)(*[wildcard()] * count)) for name, count in names]
    return MergeComposite(table)(mod)


def count(mod, op):
    nodes = [node for f in mod.functions.values() for node in tree.postorder(f)]
    return sum(isinstance(node, relay.Call) and node.op is op for node in nodes)


def test_operators_whose_attribute_says_so(monkeypatch):
    for name in ("exp", "add"):
        op = relay.op.get(name)
        monkeypatch.setitem(
            op.extras, "target.c", (10, lambda call: call.checked_type.shape[0] == 4)
        )
    x = relay.var("x", shape=(4,))
    mod = module_of(relay.exp(relay.negative(relay.add(x, x))), x)
    expected = end(relay.exp(begin(relay.negative(end(relay.add(begin(x), begin(x)))))))
    after = AnnotateTarget("c")(mod)
    assert_structural_equal(after["main"], module_of(expected, x)["main"])
    assert_structural_equal(AnnotateTarget("c")(after)["main"], after["main"])
    y = relay.var("y", shape=(3,))
    other = module_of(relay.exp(y), y)
    assert AnnotateTarget("c")(other)["main"] is other["main"]


def test_composite_functions_go_to_the_first_compiler_that_takes_them():
    x = relay.var("x", shape=(4,))
    mod = composites(module_of(relay.exp(relay.nn.relu(x)), x), ("exp", 1), compiler="d")
    mod = composites(mod, ("nn.relu", 1))
    assert count(AnnotateTarget(["d", "c"])(mod), compiler_end) == 2
    assert count(AnnotateTarget(["c"])(mod), compiler_end) == 1
    assert AnnotateTarget(["nobody"])(mod)["main"] is mod["main"]


def test_tuples_enter_and_leave_field_by_field():
    x = relay.var("x", shape=(4, 2))
    parts = relay.split(x, 2, axis=1)
    mod = module_of(relay.concatenate([parts[1], parts[0]], axis=1), x)
    after = AnnotateTarget("c")(composites(mod, ("split", 1), ("concatenate", 1)))
    assert (count(after, compiler_end), count(after, compiler_begin)) == (4, 5)
    value = np.arange(8, dtype="float32").reshape(4, 2)
    whole = PartitionGraph()(after)
    for one in (after, whole):
        found, expected = (relay.create_executor("debug", m).evaluate()(value) for m in (one, mod))
        assert_same_value(found, expected)


def test_unknown_sizes_are_not_taken():
    x = relay.var("x", shape=(relay.Any(),))
    mod = composites(module_of(relay.exp(x), x), ("exp", 1))
    assert AnnotateTarget("c")(mod)["main"] is mod["main"]


def test_names_are_needed():
    with pytest.raises(PassError, match="names of compilers are needed"):
        AnnotateTarget([3])
