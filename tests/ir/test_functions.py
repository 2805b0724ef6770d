"""Functions are rewritten as a whole."""

import relay
from relay import tree
from relay.ir.functions import transformed

FUNCTION = relay.parse_expr("fn (%x: float32) { exp(exp(%x)) }")


def test_a_function_stays_one():
    def visit(_, after):
        is_exp = isinstance(after, relay.Call) and after.op.name == "exp"
        return tree.replace(after, op=relay.op.get("sqrt")) if is_exp else after

    result = transformed(FUNCTION, visit)
    assert isinstance(result, relay.Function)
    assert "sqrt" in str(result) and "exp" not in str(result)
    assert transformed(FUNCTION, lambda _, after: after) is FUNCTION


def test_what_is_given_is_not_entered():
    inner = FUNCTION.body.args[0]
    result = transformed(FUNCTION, lambda _, after: after, {inner: FUNCTION.params[0]})
    assert result.body.args[0] is FUNCTION.params[0]
