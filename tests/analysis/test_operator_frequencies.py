"""How often which operator is called."""

import relay
from relay.analysis import list_op_freqs


def test_calls_are_counted_by_operator_over_all_functions():
    x, y = relay.var("x", shape=()), relay.var("y", shape=())
    z = relay.add(x, x)
    module = relay.IRModule.from_expr(relay.multiply(z, relay.add(z, z)))
    module["other"] = relay.Function([y], relay.add(y, y))
    assert list_op_freqs(module) == {"add": 3, "multiply": 1}
