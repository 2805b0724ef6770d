"""Who calls whom."""

import pytest

import relay
from relay.analysis import CallGraph


def calls(**callees):
    """A module whose functions call those named, in a tuple."""
    module = relay.IRModule()
    for name, called in callees.items():
        module[name] = relay.Function([], relay.Tuple([relay.GlobalVar(c)() for c in called]))
    return module


def names(variables):
    return sorted(v.name_hint for v in variables)


def test_references_and_calls_are_counted_by_place():
    graph = CallGraph(calls(g0=[], g1=["g0"], main=["g0", "g1", "g0"]))
    assert [graph.ref_count(n) for n in ("g0", "g1", "main")] == [3, 1, 0]
    assert [graph.global_call_count(n) for n in ("g0", "g1", "main")] == [0, 1, 3]
    assert names(graph.callees("main")) == ["g0", "g1"]


def test_a_shared_call_is_one_place():
    call = relay.GlobalVar("f")()
    module = calls(f=[])
    module["main"] = relay.Function([], relay.Tuple([call, call]))
    assert CallGraph(module).ref_count("f") == 1


def test_a_function_passed_as_a_value_is_referred_to():
    module = calls(f=[])
    x = relay.var("x")
    module["main"] = relay.Function([x], relay.Tuple([x, relay.GlobalVar("f")]))
    module["alias"] = relay.Function([], relay.GlobalVar("f"))
    assert CallGraph(module).ref_count(relay.GlobalVar("f")) == 2


def test_recursion_is_found_directly_and_through_others():
    graph = CallGraph(calls(a=["a"], b=["c"], c=["b", "d"], d=[], main=["a"]))
    assert [n for n in ("a", "b", "c", "d", "main") if graph.is_recursive(n)] == ["a", "b", "c"]


def test_components_come_after_what_they_call():
    graph = CallGraph(calls(main=["b", "a"], a=["a"], b=["c"], c=["b", "d"], d=[]))
    groups = [names(group) for group in graph.components()]
    assert sorted(groups) == [["a"], ["b", "c"], ["d"], ["main"]]
    assert groups.index(["d"]) < groups.index(["b", "c"]) < groups.index(["main"])
    assert groups[-1] == ["main"]


def test_reachable_functions():
    graph = CallGraph(calls(main=["b"], a=["main"], b=["c"], c=["b", "unknown"]))
    assert names(graph.reachable(["main"])) == ["b", "c", "main"]
    assert names(graph.reachable([relay.GlobalVar("a")])) == ["a", "b", "c", "main"]


def test_the_text_shows_references_and_calls():
    module = calls(f=[], main=["f", "f"])
    graph = CallGraph(module)
    assert graph.module is module
    assert "#refs = 2" in graph.print_var("f")
    assert graph.print_var("main") == "Call graph node: main, #refs = 0\n  calls f 2 times\n"
    assert str(graph).index("main") < str(graph).index("node: f")


def test_an_unknown_function_is_an_error_with_a_hint():
    with pytest.raises(relay.RelayError, match="did you mean `main`"):
        CallGraph(calls(main=[])).ref_count("mein")


def test_long_chains_of_calls():
    count = 5_000
    links = {f"f{i}": [f"f{i + 1}"] for i in range(count)}
    graph = CallGraph(calls(**links, **{f"f{count}": []}))
    assert len(graph.components()) == count + 1
    assert len(graph.reachable(["f0"])) == count + 1
