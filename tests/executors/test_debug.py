"""The interpreter as an executor, and with it what every executor accepts."""

import numpy as np
import pytest
import torch

import relay
from relay.errors import EvaluationError, RelayError, TypeCheckError
from relay.executors import KINDS
from relay.interpreter.values import TupleValue

F32 = relay.TensorType((2,), "float32")


def subtract_module():
    x, y = relay.var("x", F32), relay.var("y", F32)
    return relay.IRModule({"main": relay.Function([x, y], x - y)})


A = np.array([5, 7], "float32")
B = np.array([1, 2], "float32")


def test_without_an_expression_it_is_main():
    main = relay.create_executor("debug", subtract_module()).evaluate()
    np.testing.assert_array_equal(main(A, B).numpy(), A - B)


def test_a_global_variable_is_the_function_of_that_name():
    module = subtract_module()
    x = relay.var("x", F32)
    module["double"] = relay.Function([x], x + x)
    double = relay.create_executor(mod=module).evaluate(relay.GlobalVar("double"))
    np.testing.assert_array_equal(double(A).numpy(), 2 * A)


def test_a_function_becomes_a_python_function_that_sees_the_module():
    module = subtract_module()
    x = relay.var("x", F32)
    swap = relay.Function([x], module.get_global_var("main")(relay.const(B), x))
    np.testing.assert_array_equal(
        relay.create_executor("debug", module).evaluate(swap)(A).numpy(), B - A
    )
    assert "main_0" not in module


def test_any_other_expression_becomes_its_value():
    executor = relay.create_executor("debug")
    assert executor.evaluate(relay.const(1) + relay.const(2)).item() == 3
    pair = executor.evaluate(relay.Tuple([relay.const(1), relay.const(2.5)]))
    assert isinstance(pair, TupleValue)
    assert [v.item() for v in pair] == [1, 2.5]


def test_a_value_that_is_a_function_can_be_called():
    x, f = relay.var("x", F32), relay.var("f")
    expr = relay.Let(f, relay.Function([x], x + x), f)
    closure = relay.create_executor().evaluate(expr)
    np.testing.assert_array_equal(closure(A).numpy(), 2 * A)


def test_arguments_may_be_named():
    main = relay.create_executor("debug", subtract_module()).evaluate()
    np.testing.assert_array_equal(main(y=A, x=B).numpy(), B - A)
    np.testing.assert_array_equal(main(A, y=B).numpy(), A - B)


@pytest.mark.parametrize(
    "argument", [A, relay.nd.array(A), relay.const(A), torch.tensor([5.0, 7.0])]
)
def test_arguments_may_be_numpy_ndarray_constant_or_torch(argument):
    main = relay.create_executor("debug", subtract_module()).evaluate()
    np.testing.assert_array_equal(main(argument, B).numpy(), A - B)


def test_python_numbers_and_tuples_take_the_types_of_the_parameters():
    pair = relay.var("pair", relay.TupleType([relay.scalar_type("float64")] * 2))
    add = relay.Function([pair], relay.add(pair[0], pair[1]))
    result = relay.create_executor().evaluate(add)((1, 2.5))
    assert (result.dtype, result.item()) == ("float64", 3.5)


def test_params_fill_parameters_by_name():
    main = relay.create_executor("debug", subtract_module(), params={"y": B}).evaluate()
    np.testing.assert_array_equal(main(A).numpy(), A - B)
    np.testing.assert_array_equal(main(A, y=A).numpy(), A - A)


def test_binds_give_values_to_variables():
    x, y = relay.var("x", F32), relay.var("y")
    executor = relay.create_executor()
    np.testing.assert_array_equal(executor.evaluate(x - y, {x: A, y: B}).numpy(), A - B)
    partly = executor.evaluate(relay.Function([x], x - y), {y: B})
    np.testing.assert_array_equal(partly(A).numpy(), A - B)
    np.testing.assert_array_equal(
        executor.evaluate(relay.Function([x], x - y), {x: A, y: B})().numpy(), A - B
    )


def test_binds_give_values_to_the_parameters_of_main():
    module = subtract_module()
    x, _ = module["main"].params
    main = relay.create_executor("debug", module).evaluate(binds={x: B})
    np.testing.assert_array_equal(main(A).numpy(), B - A)


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((A,), {}, "no argument for `%y` in a call of `@main`"),
        ((A, A, A), {}, "too many arguments in a call of `@main`"),
        ((A,), {"x": A}, "two arguments for parameter `%x`"),
        ((A, A), {"why": A}, "no parameter is named `%why`"),
        ((A, A[:1]), {}, "parameter `%y` of `@main` has the wrong extent in dimension 0"),
        ((A, 1.0), {}, "parameter `%y` of `@main` has the wrong rank"),
    ],
)
def test_wrong_arguments_are_explained(args, named, message):
    main = relay.create_executor("debug", subtract_module()).evaluate()
    with pytest.raises(EvaluationError, match=message):
        main(*args, **named)


def test_two_parameters_of_one_name_need_positions():
    x, other = relay.var("x", F32), relay.var("x", F32)
    f = relay.create_executor().evaluate(relay.Function([x, other], x - other))
    np.testing.assert_array_equal(f(A, B).numpy(), A - B)
    with pytest.raises(EvaluationError, match="2 parameters are named `%x`"):
        f(x=A)


def test_a_free_variable_without_a_value_is_an_error():
    with pytest.raises(EvaluationError, match="variable `%x` has no value"):
        relay.create_executor().evaluate(relay.var("x", F32))


def test_the_program_is_checked_before_it_runs():
    x, y = relay.var("x", F32), relay.var("y", shape=(3,))
    with pytest.raises(TypeCheckError):
        relay.create_executor().evaluate(relay.Function([x, y], x + y))


def test_a_module_without_main_says_so():
    with pytest.raises(RelayError, match="no function `@main`"):
        relay.create_executor().evaluate()


def test_kinds_that_do_not_exist_are_refused_with_those_that_do():
    with pytest.raises(RelayError, match="no executor 'warp'; there is aot, debug, graph, vm"):
        relay.create_executor("warp")
    assert "debug" in KINDS


def test_only_a_module_and_the_cpu_are_accepted():
    with pytest.raises(RelayError, match=r"runs a relay\.IRModule, found Constant"):
        relay.create_executor("debug", relay.const(1))
    elsewhere = relay.create_executor("debug", device=relay.nd.Device("cuda"))
    with pytest.raises(RelayError, match="runs on the CPU"):
        elsewhere.evaluate(relay.const(1))
    assert relay.create_executor("debug", device=relay.cpu(0)).evaluate(relay.const(1)).item() == 1


def test_a_loaded_function_shows_its_parameters():
    main = relay.create_executor("debug", subtract_module()).evaluate()
    assert repr(main) == "<Relay function @main(x, y)>"
