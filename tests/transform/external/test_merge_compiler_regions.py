"""Regions of the same compiler become one, unless it would need its own result."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relay
from relay.analysis import AnnotatedRegionSet
from relay.op.annotation import compiler_begin, compiler_end
from relay.testing import assert_same_value
from relay.transform import InferType, MergeCompilerRegions, PartitionGraph


def taken(op, *args, compiler="c"):
    """A call as AnnotateTarget leaves it."""
    begun = [compiler_begin(arg, compiler=compiler) for arg in args]
    return compiler_end(op(*begun), compiler=compiler)


def module_of(body, *params):
    return InferType()(relay.IRModule.from_expr(relay.Function(params, body)))


def regions(mod):
    return len(AnnotatedRegionSet(mod["main"], compiler_begin, compiler_end))


def foreign(mod):
    return [f for f in mod.functions.values() if f.attrs.get("Compiler")]


X = relay.var("x", shape=(4,))


def test_a_chain_is_one_region():
    body = X
    for _ in range(5):
        body = taken(relay.nn.relu, body)
    after = MergeCompilerRegions()(module_of(body, X))
    assert regions(after) == 1
    assert len(foreign(PartitionGraph()(after))) == 1


def test_a_detour_through_our_code_keeps_two_apart():
    first = taken(relay.nn.relu, X)
    after = MergeCompilerRegions()(module_of(taken(relay.add, first, relay.exp(first)), X))
    assert regions(after) == 2
    assert len(foreign(PartitionGraph()(after))) == 2


def test_a_detour_that_shows_later_is_seen():
    # a region that grew after somebody else began to need it
    first = taken(relay.nn.relu, X)
    ours = relay.exp(first)
    other = taken(relay.negative, ours, compiler="d")
    grown = taken(relay.add, first, taken(relay.nn.relu, X))
    body = taken(relay.add, grown, taken(relay.sqrt, other, compiler="d"))
    after = MergeCompilerRegions()(module_of(body, X))
    divided = PartitionGraph()(after)
    assert sum(f.attrs["Compiler"] == "c" for f in foreign(divided)) == 2


def test_compilers_and_branches_keep_regions_apart():
    body = taken(relay.exp, taken(relay.nn.relu, X, compiler="d"))
    assert regions(MergeCompilerRegions()(module_of(body, X))) == 2
    mod = module_of(body, X)
    assert MergeCompilerRegions()(mod)["main"] is mod["main"]
    flag = relay.var("flag", shape=(), dtype="bool")
    first = taken(relay.nn.relu, X)
    body = relay.add(relay.If(flag, taken(relay.exp, first), X), first)
    assert regions(MergeCompilerRegions()(module_of(body, flag, X))) == 2


@st.composite
def graphs(draw):
    """Random graphs of our operators and those of two compilers."""
    values = [X]
    for _ in range(draw(st.integers(1, 14))):
        picked = [values[draw(st.integers(max(0, len(values) - 5), len(values) - 1))] for _ in "ab"]
        who = draw(st.sampled_from(["c", "c", "d", ""]))
        values.append(taken(relay.add, *picked, compiler=who) if who else relay.subtract(*picked))
    return module_of(relay.Tuple(values[-2:]), X)


@settings(max_examples=40)
@given(graphs())
def test_no_region_is_lost_and_the_meaning_stays(mod):
    after = MergeCompilerRegions()(mod)
    divided = PartitionGraph()(after)
    assert len(foreign(divided)) == regions(after) <= regions(mod)
    value = np.array([1, -2, 3, 4], "float32")
    found, expected = (relay.create_executor("debug", m).evaluate()(value) for m in (divided, mod))
    assert_same_value(found, expected)


@pytest.mark.parametrize("length", [3000])
def test_a_long_chain_takes_linear_time(length):
    body = X
    for _ in range(length):
        body = taken(relay.nn.relu, body)
    assert regions(MergeCompilerRegions()(module_of(body, X))) == 1
