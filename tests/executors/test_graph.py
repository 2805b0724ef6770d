"""Compiled programs behind the interface of every executor: they agree with the interpreter."""

import numpy as np
import pytest

import relay
from relay.errors import DiagnosticError, RelayError
from relay.interpreter.values import TupleValue

HEAD = '#[version = "0.0.5"]\n'
F32 = relay.TensorType((2,), "float32")
A = np.array([5, 7], "float32")
B = np.array([1, 2], "float32")


def subtract_module():
    x, y = relay.var("x", F32), relay.var("y", F32)
    return relay.IRModule({"main": relay.Function([x, y], x - y)})


def test_main_is_a_python_function():
    main = relay.create_executor("graph", subtract_module()).evaluate()
    np.testing.assert_array_equal(main(A, B).numpy(), A - B)
    np.testing.assert_array_equal(main(A, y=B).numpy(), A - B)


def test_other_functions_and_expressions_are_evaluated():
    module = subtract_module()
    x = relay.var("x", F32)
    module["double"] = relay.Function([x], x + x)
    executor = relay.create_executor("graph", module)
    np.testing.assert_array_equal(executor.evaluate(relay.GlobalVar("double"))(A).numpy(), 2 * A)
    assert executor.evaluate(relay.const(1) + relay.const(2)).item() == 3
    y = relay.var("y", F32)
    assert executor.evaluate(relay.sum(y), {y: A}).item() == 12


def test_tuples_are_values():
    module = relay.parse(
        HEAD
        + """
        def @main(%p: (Tensor[(2), float32], (Tensor[(2), float32],))) {
          (%p.0 + %p.1.0, (%p.0,), ())
        }
        """
    )
    main = relay.create_executor("graph", module).evaluate()
    total, (first,), unit = main((A, (B,)))
    assert isinstance(main((A, (B,))), TupleValue)
    np.testing.assert_array_equal(total.numpy(), A + B)
    np.testing.assert_array_equal(first.numpy(), A)
    assert len(unit) == 0
    with pytest.raises(RelayError, match="is a tuple"):
        main(A)
    with pytest.raises(RelayError, match="is a tuple"):
        main((A, B))


def test_params_are_weights_that_a_call_may_change():
    main = relay.create_executor("graph", subtract_module(), params={"y": B}).evaluate()
    np.testing.assert_array_equal(main(A).numpy(), A - B)
    np.testing.assert_array_equal(main(A, y=A).numpy(), A - A)
    np.testing.assert_array_equal(main(A).numpy(), A - B)


def test_wrong_arguments_are_explained():
    main = relay.create_executor("graph", subtract_module()).evaluate()
    for args in ((A,), (A, B, B), (A, B[:1]), (A, B.astype("int32"))):
        with pytest.raises(RelayError):
            main(*args)


def test_what_is_not_straight_line_is_refused():
    module = relay.parse(HEAD + "def @main(%x: bool) { if (%x) { 1f } else { 2f } }")
    with pytest.raises(DiagnosticError, match="an `if`"):
        relay.create_executor("graph", module).evaluate()
    with pytest.raises(RelayError, match="runs on the CPU"):
        relay.create_executor("graph", subtract_module(), relay.nd.Device("cuda")).evaluate()
