"""Which operators are called: how often, how many in a row, and who compiles them."""

import pytest

import relay
from relay.analysis import analyze_operations_distribution, count_layers, list_op_freqs
from relay.errors import SourceName


def test_calls_are_counted_by_operator_over_all_functions():
    x, y = relay.var("x", shape=()), relay.var("y", shape=())
    z = relay.add(x, x)
    module = relay.IRModule.from_expr(relay.multiply(z, relay.add(z, z)))
    module["other"] = relay.Function([y], relay.add(y, y))
    assert list_op_freqs(module) == {"add": 3, "multiply": 1}


def test_layers_are_the_longest_path():
    x = relay.var("x", shape=())
    y = relay.add(relay.add(x, x), relay.multiply(relay.add(x, x), x))
    assert count_layers(y, ["add"]) == 2
    assert count_layers(y, ["add", "multiply"]) == 3
    assert count_layers(y, []) == 0
    assert count_layers(relay.IRModule.from_expr(y), ["add"]) == 2


def test_layers_go_through_lets_tuples_branches_and_fused_functions():
    x, v, p = (relay.var(n, shape=()) for n in "xvp")
    fused = relay.Function([p], relay.add(relay.add(p, p), p), attrs={"Primitive": 1})
    body = relay.Tuple([relay.If(v, relay.add(v, v), v), fused(v)])
    assert count_layers(relay.Let(v, relay.add(x, x), body), ["add"]) == 3


def test_two_names_for_one_value_are_equally_deep():
    x, a, b = (relay.var(n, shape=()) for n in "xab")
    value = relay.add(x, x)
    for last in (a, b):
        program = relay.Let(a, value, relay.Let(b, value, relay.add(last, x)))
        assert count_layers(program, ["add"]) == 2


def test_unknown_operators_are_an_error():
    with pytest.raises(relay.RelayError, match="did you mean"):
        count_layers(relay.var("x"), ["multipy"])


def test_the_distribution_tells_compiler_and_composite_of_each_call():
    def call(op, name, *args):
        made = op(*args)
        span = relay.Span(SourceName(name))
        return relay.Call(made.op, made.args, made.attrs, span=span)

    p, x, y = (relay.var(n, shape=()) for n in "pxy")
    inner = call(relay.add, "second", call(relay.add, "first", p, p), p)
    composite = relay.Function([p], inner, attrs={"Composite": "vendor.twice"})
    module = relay.IRModule()
    module["offloaded"] = relay.Function([x], composite(x), attrs={"Compiler": "vendor"})
    module["main"] = relay.Function([y], call(relay.multiply, "third", y, y))
    found = analyze_operations_distribution(module)
    assert found["first"][:2] == found["second"][:2] == ["vendor", "vendor.twice"]
    assert found["first"][2] == found["second"][2] != found["third"][2]
    assert found["third"][:2] == ["generic", "generic"]
