"""What a match covers, and which matches can be had together."""

import relay
from relay import nn
from relay.dataflow_pattern import FunctionPattern, is_op, wildcard
from relay.dataflow_pattern.graph import NumberedGraph
from relay.dataflow_pattern.matcher import Matcher
from relay.dataflow_pattern.prepare import prepare
from relay.dataflow_pattern.regions import Claims, find_regions

X, Y = relay.var("x"), relay.var("y")
RELU = is_op("nn.relu")(wildcard())
RELUS = is_op("nn.relu")(is_op("nn.relu")(wildcard()))


def find(pattern, program, claims=None, graph=None):
    graph = graph or NumberedGraph(program)
    found = find_regions(
        graph, Matcher(prepare(pattern), program, graph=graph), claims or Claims(graph)
    )
    return graph, list(found)


def inside(graph, region):
    return {id(graph.nodes[i]) for i in region.inside}


def ids(*exprs):
    return {id(e) for e in exprs}


def test_a_match_covers_what_the_pattern_describes():
    relu = nn.relu(X)
    product = relu * (X + Y)
    graph, (region,) = find(is_op("multiply")(RELU, wildcard()), product)
    assert inside(graph, region) == ids(product, relu)


def test_a_match_by_a_leaf_covers_the_leaf():
    program = nn.relu(X)
    graph, regions = find(wildcard(), program)
    assert inside(graph, regions[0]) == ids(program)


def test_products_bracketed_otherwise_are_covered_too():
    a, b, c = wildcard(), wildcard(), wildcard()
    quotient = X / Y
    program = X * quotient
    graph, (region,) = find((a * b) / c, program)
    assert inside(graph, region) == ids(program, quotient)


def test_a_function_is_looked_at_and_not_taken():
    f = relay.Function([X], nn.relu(X))
    graph, (region,) = find(FunctionPattern(None, RELU)(wildcard()), f(Y))
    assert inside(graph, region) == ids(graph.root)
    assert graph.number_of(f.body) in region.read
    graph, (region,) = find(FunctionPattern(None, RELU), f)
    assert inside(graph, region) == ids(f)
    assert graph.number_of(f.body) in region.read


def test_matches_are_found_from_the_outside_inwards():
    chain = [nn.relu(X)]
    for _ in range(4):
        chain.append(nn.relu(chain[-1]))
    graph, regions = find(RELUS, chain[-1])
    assert [graph.nodes[r.root] for r in regions] == chain[:0:-1]


def test_claimed_matches_do_not_overlap():
    program = nn.relu(nn.relu(nn.relu(X)))
    graph = NumberedGraph(program)
    claims = Claims(graph)
    matcher = Matcher(prepare(RELUS), program, graph=graph)
    taken = [region for region in find_regions(graph, matcher, claims) if claims.claim(region)]
    assert [graph.nodes[r.root] for r in taken] == [program]
    _, (inner,) = find(RELU, program, claims, graph)
    assert graph.nodes[inner.root] is program.args[0].args[0]


def test_a_match_inside_a_function_and_one_that_reads_it_exclude_each_other():
    f = relay.Function([X], nn.relu(X))
    program = f(Y)
    graph = NumberedGraph(program)
    (_, (body,)), (_, (call,)) = (
        find(pattern, program, graph=graph)
        for pattern in (RELU, FunctionPattern(None, RELU)(wildcard()))
    )
    for first, second in ((body, call), (call, body)):
        claims = Claims(graph)
        assert claims.claim(first)
        assert not claims.claim(second)


def test_what_escapes_is_not_claimed_unless_it_may_stay():
    inner = nn.relu(X)
    program = relay.Tuple([nn.relu(inner), inner])
    graph, (region,) = find(RELUS, program)
    assert not Claims(graph).claim(region)
    assert Claims(graph).claim(region, keep_shared=True)
