"""well_formed answers yes or no (what is wrong is tested with relay.check.wellformed)."""

import relay
from relay.analysis import well_formed


def test_each_variable_is_bound_once():
    x = relay.var("x")
    let = relay.Let(x, relay.const(10), x)
    assert well_formed(x) and well_formed(let)
    assert not well_formed(relay.Let(x, relay.const(10), let))


def test_modules_have_closed_functions():
    x = relay.var("x")
    assert well_formed(relay.IRModule.from_expr(x))
    assert not well_formed(relay.IRModule({"main": relay.Function([], x)}))
