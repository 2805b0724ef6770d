"""Operators on values: references, attributes, tuples, failures."""

import numpy as np
import pytest

import relay
from relay.errors import EvaluationError, SourceName, Span
from relay.interpreter.evaluate import evaluate
from relay.interpreter.operators import operate
from relay.interpreter.values import TupleValue, describe, to_value
from relay.ir.expr import get_op
from relay.op.opdef import OpDef

SPAN = Span(SourceName("here.relay", "%x + %y"), 1, 1, 1, 8)


def test_a_failure_in_the_reference_names_the_operator_and_the_place():
    def fails(data):
        raise ValueError("not today")

    op = OpDef("moody", arguments=(("data", ""),), reference=fails)
    with pytest.raises(EvaluationError, match="`moody` failed: not today") as caught:
        evaluate(relay.Call(op, [relay.const(1.0)], span=SPAN))
    assert "here.relay:1:1" in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)


def test_arguments_that_do_not_fit_are_refused_by_the_relation():
    x, y = relay.const(np.ones(2)), relay.const(np.ones(3))
    with pytest.raises(EvaluationError, match="operands do not broadcast") as caught:
        evaluate(relay.Call(get_op("add"), [x, y], span=SPAN))
    assert "here.relay:1:1" in str(caught.value)
    assert caught.value.diagnostics[0].expected


def test_what_inference_assumed_about_unknown_extents_is_checked():
    x = relay.var("x", relay.TensorType((relay.Any(),)))
    y = relay.var("y", relay.TensorType((3,)))
    run = relay.create_executor("debug").evaluate(relay.Function([x, y], relay.add(x, y)))
    np.testing.assert_array_equal(run(np.ones(3, "float32"), np.ones(3, "float32")).numpy(), 2)
    with pytest.raises(EvaluationError, match="broadcast"):
        run(np.ones(2, "float32"), np.ones(3, "float32"))


def test_attributes_reach_the_reference():
    x = np.arange(6.0).reshape(2, 3)
    result = evaluate(get_op("sum")(relay.const(x, "float64"), axis=1))
    np.testing.assert_array_equal(result.numpy(), x.sum(1))


def test_an_operator_used_as_a_value_has_its_default_attributes():
    x = np.arange(6.0).reshape(2, 3)
    assert operate(get_op("sum"), [to_value(x)], None, None).item() == 15.0


def test_tuples_go_in_and_come_out_as_tuples_of_arrays():
    swap = OpDef(
        "swap",
        arguments=(("pair", ""),),
        reference=lambda pair: (pair[1], pair[0]),
    )
    result = operate(swap, [TupleValue([to_value(1), to_value(2)])], None, None)
    assert [v.item() for v in result] == [2, 1]


def test_an_operator_without_a_reference_says_so():
    with pytest.raises(EvaluationError, match="`dark` cannot be evaluated"):
        operate(OpDef("dark", arguments=(("x", ""),)), [to_value(1)], None, None)


def test_results_cannot_be_changed_through_an_alias_of_the_argument():
    view = OpDef("view", arguments=(("data", ""),), reference=lambda data: data)
    result = evaluate(view(relay.const([1.0, 2.0])))
    with pytest.raises(ValueError, match="read-only"):
        result.array[0] = 5.0


def on_values(name, reference, *arguments):
    return OpDef(
        name,
        arguments=tuple((argument, "") for argument in arguments),
        reference=reference,
        on_values=True,
    )


def test_an_operator_on_values_may_call_functions_any_number_of_times():
    def repeat(function, value, times):
        for _ in range(int(times)):
            value = yield function, [value]
        return value, times

    x = relay.var("x", shape=(), dtype="int32")
    double = relay.Function([x], relay.add(x, x))
    op = on_values("repeat", repeat, "function", "value", "times")
    result = evaluate(op(double, relay.const(1), relay.const(10)))
    assert [part.item() for part in result] == [1024, 10]
    assert evaluate(op(double, relay.const(1), relay.const(0)))[0].item() == 1


def test_what_goes_wrong_in_an_operator_on_values_names_it():
    def before(value):
        raise ValueError("at once")

    def after(value):
        yield value, []
        raise ValueError("later")

    unit = relay.Function([], relay.Tuple([]))
    for reference, message in ((before, "at once"), (after, "later")):
        op = on_values("broken", reference, "value")
        with pytest.raises(EvaluationError, match=f"`broken` failed: {message}"):
            evaluate(op(unit))
    with pytest.raises(EvaluationError, match="this cannot be called"):
        evaluate(on_values("broken", after, "value")(relay.const(1)))


def test_a_storage_shows_what_it_is():
    storage = relay.nd.Storage(16)
    assert describe(to_value(storage)) == "a storage of 16 bytes"
    assert repr(TupleValue([storage])) == "(<a storage of 16 bytes>,)"
