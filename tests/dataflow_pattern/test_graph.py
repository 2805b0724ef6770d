"""A program as a numbered graph."""

import relay
from relay import nn
from relay.dataflow_pattern.graph import NumberedGraph

X, Y = relay.var("x"), relay.var("y")


def test_parts_are_numbered_before_wholes_and_the_program_comes_last():
    shared = nn.relu(X)
    program = shared + shared
    graph = NumberedGraph(program)
    assert graph.nodes[-1] is program
    assert len(graph.nodes) == 5  # add, nn.relu, %x, and the two calls
    for i, children in enumerate(graph.children):
        assert all(child < i for child in children)
    assert graph.users[graph.number_of(shared)] == [graph.number_of(program)] * 2
    assert shared in graph
    assert nn.relu(X) not in graph


def test_nodes_are_found_by_operator_and_by_class():
    program = relay.Tuple([nn.relu(X), nn.relu(Y), X + Y, relay.GlobalVar("f")(X)])
    graph = NumberedGraph(program)

    def found(heads):
        return [type(graph.nodes[i]).__name__ for i in graph.with_head(heads)]

    assert found({"nn.relu"}) == ["Call", "Call"]
    assert found({"nn.relu", "add"}) == ["Call"] * 3
    assert found({relay.Call}) == ["Call"] * 4
    assert found({relay.Tuple, relay.Var}) == ["Var", "Var", "Tuple"]
    assert found({"tanh"}) == []
    assert len(found(None)) == len(graph.nodes)


def test_an_end_dominates_what_only_it_depends_on():
    a = nn.relu(X)
    b, c = relay.tanh(a), nn.relu(a)
    end = b + c
    escaping = relay.Tuple([end, c])
    graph = NumberedGraph(escaping)
    number = graph.number_of
    assert graph.dominates(number(end), number(b))
    assert not graph.dominates(number(end), number(c))
    assert not graph.dominates(number(end), number(a))
    assert graph.dominates(number(escaping), number(a))
    assert graph.dominates(number(a), number(a))
    assert not graph.dominates(number(b), number(end))


def test_what_partitioning_made_is_settled():
    p = relay.var("p")
    inner = nn.relu(p)
    made = relay.Function([p], inner).with_attr("PartitionedFromPattern", "nn.relu_")
    other = relay.Function([Y], nn.relu(Y))
    graph = NumberedGraph(relay.Tuple([made(X), other(X)]))
    assert graph.number_of(inner) in graph.settled
    assert graph.number_of(made) in graph.settled
    assert graph.number_of(other) not in graph.settled
    assert graph.number_of(other.body) not in graph.settled


def test_match_clauses_are_part_of_the_graph():
    mod = relay.IRModule()
    relay.Prelude(mod)
    for function in mod.functions.values():
        graph = NumberedGraph(function)
        assert graph.nodes[-1] is function
        assert all(graph.dominates(len(graph.nodes) - 1, i) for i in range(len(graph.nodes)))
