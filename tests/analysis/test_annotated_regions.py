"""Regions between annotations are found."""

import relay
from relay.analysis import AnnotatedRegionSet
from relay.op.annotation import compiler_begin, compiler_end


def begin(e, compiler="c"):
    return compiler_begin(e, compiler=compiler)


def end(e, compiler="c"):
    return compiler_end(e, compiler=compiler)


def regions_of(expr):
    return AnnotatedRegionSet(
        expr, relay.op.get("annotation.compiler_begin"), relay.op.get("annotation.compiler_end")
    )


def assert_region(regions, target, args, nodes, rets):
    region = regions.get_region(args[0])
    assert region.target == target
    assert region.is_consistent
    assert set(region.args) == set(args)
    assert set(region.nodes) == set(nodes)
    assert set(region.rets) == set(rets)


def test_a_diamond_has_a_region_on_every_side():
    data = relay.var("data", shape=(10, 10))
    begin_1 = begin(data)
    first = relay.abs(begin_1)
    end_1, end_2 = end(first), end(first)
    begin_2 = begin(end_1)
    left = relay.nn.relu(begin_2)
    end_3 = end(left)
    begin_other = begin(end_2, "other")
    right = relay.tanh(begin_other)
    end_other = end(right, "other")
    begin_3, begin_4 = begin(end_3), begin(end_other)
    last = relay.add(begin_3, begin_4)
    end_4 = end(last)
    regions = regions_of(relay.Function([data], end_4))
    assert len(regions) == 4
    assert_region(regions, "c", [begin_1], [begin_1, first, end_1, end_2], [end_1, end_2])
    assert_region(regions, "c", [begin_2], [begin_2, left, end_3], [end_3])
    assert_region(regions, "other", [begin_other], [begin_other, right, end_other], [end_other])
    assert_region(regions, "c", [begin_3, begin_4], [begin_3, begin_4, last, end_4], [end_4])
    assert [region.id for region in regions] == [0, 1, 2, 3]
    assert regions.get_region(data) is None


def test_ends_that_share_a_beginning_are_of_one_region():
    x = relay.var("x", shape=(2,))
    start = begin(x)
    one, two = relay.exp(start), relay.sqrt(start)
    ends = end(one), end(two)
    regions = regions_of(relay.Tuple(ends))
    assert len(regions) == 1
    assert_region(regions, "c", [start], [start, one, two, *ends], ends)


def test_what_a_called_function_is_made_of_is_its_own_matter():
    x, p = relay.var("x", shape=(2,)), relay.var("p", shape=(2,))
    start = begin(x)
    call = relay.Function([p], relay.exp(p), attrs={"Composite": "c.exp"})(start)
    stop = end(call)
    regions = regions_of(stop)
    assert_region(regions, "c", [start], [start, call, stop], [stop])


def test_annotations_that_name_different_compilers_do_not_fit():
    x = relay.var("x", shape=(2,))
    (region,) = regions_of(end(relay.exp(begin(x, "a")), "b"))
    assert region.target == "b"
    assert not region.is_consistent


def test_a_program_without_annotations_has_no_regions():
    assert len(regions_of(relay.exp(relay.var("x")))) == 0


def test_long_regions_are_found():
    x = relay.var("x", shape=(2,))
    body = start = begin(x)
    for _ in range(10_000):
        body = relay.exp(body)
    (region,) = regions_of(end(body))
    assert len(region.nodes) == 10_002
    assert region.args == (start,)
