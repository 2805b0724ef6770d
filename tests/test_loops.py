"""while_loop gives a function that takes the loop variables and returns them as a tuple."""

import numpy as np
import pytest

import relay
from relay.errors import RelayError
from relay.loops import while_loop


def summing():
    i, x = relay.var("i", "int32"), relay.var("x", shape=(2,))
    return while_loop(
        lambda i, x: relay.less(i, relay.const(4)),
        [i, x],
        lambda i, x: [i + relay.const(1), x + x],
    )


def test_the_loop_runs_until_the_condition_fails():
    start = relay.var("start", "int32")
    data = relay.var("data", shape=(2,))
    main = relay.Function([start, data], summing()(start, data))
    run = relay.create_executor("debug", relay.IRModule.from_expr(main)).evaluate()
    i, x = run(np.int32(1), np.ones(2, "float32"))
    assert i.numpy() == 4
    assert x.numpy().tolist() == [8, 8]
    i, x = run(np.int32(7), np.ones(2, "float32"))
    assert i.numpy() == 7
    assert x.numpy().tolist() == [1, 1]


def test_the_loop_is_a_function_of_its_variables():
    loop = summing()
    assert isinstance(loop, relay.Let)
    assert loop.body is loop.variable
    assert [p.name_hint for p in loop.value.params] == ["i", "x"]
    assert loop.value.ret_type == relay.TupleType(
        [relay.scalar_type("int32"), relay.TensorType((2,))]
    )
    assert isinstance(loop.value.body, relay.If)


def test_initial_values_may_stand_for_the_variables():
    loop = while_loop(
        lambda i: relay.less(i, relay.const(3)),
        [relay.const(0)],
        lambda i: i + relay.const(1),
    )
    assert loop.value.params[0].type_annotation == relay.scalar_type("int32")
    main = relay.Function([], loop(relay.const(0)))
    result = relay.create_executor("debug", relay.IRModule.from_expr(main)).evaluate()()
    assert result[0].numpy() == 3


def test_unannotated_variables_are_inferred():
    i = relay.var("i")
    loop = while_loop(lambda i: relay.less(i, relay.const(3)), [i], lambda i: [i + relay.const(1)])
    assert loop.value.ret_type is None
    main = relay.Function([], loop(relay.const(0)))
    result = relay.create_executor("debug", relay.IRModule.from_expr(main)).evaluate()()
    assert result[0].numpy() == 3


def test_as_many_bodies_as_variables():
    i = relay.var("i", "int32")
    with pytest.raises(RelayError, match="each of the 1 loop variables, found 2"):
        while_loop(lambda i: relay.const(True), [i], lambda i: [i, i])
