"""Native code as an executor, held against the interpreter."""

import numpy as np
import pytest

import relay
from relay.errors import EvaluationError, RelayError
from relay.interpreter.values import ConstructorValue, RefValue, TupleValue, show
from relay.testing import tree_lstm
from tests.executors.test_vm import HEAD, PROGRAMS, X


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree_with_the_interpreter(name):
    text, args = PROGRAMS[name]
    mod = relay.fromtext(HEAD + text)
    found = relay.create_executor("aot", mod).evaluate()(*args)
    wanted = relay.create_executor("debug", mod).evaluate()(*args)
    assert type(found) is type(wanted)
    assert show(found) == show(wanted)


def test_results_are_values_of_the_interpreter():
    mod = relay.fromtext(
        HEAD
        + """
        type Bag[A] { More(A, Bag[A]), Empty, }
        def @main(%n: int32) { (More(%n, Empty), ref(%n), (if (%n < 1) { 1f } else { 2f },)) }
        """
    )
    bag, cell, (number,) = relay.create_executor("aot", mod).evaluate()(3)
    assert isinstance(bag, ConstructorValue)
    assert bag.constructor.name_hint == "More"
    assert isinstance(cell, RefValue)
    assert number.item() == 2


def test_straight_line_code_gives_values_too():
    mod = relay.fromtext(
        HEAD + "def @main(%p: (Tensor[(3), float32], Tensor[(3), float32])) { (%p.0 + %p.1, ()) }"
    )
    found = relay.create_executor("aot", mod).evaluate()((X, X))
    assert isinstance(found, TupleValue)
    np.testing.assert_array_equal(found[0].numpy(), 2 * X)


def test_other_functions_and_expressions_are_evaluated():
    mod = relay.fromtext(
        HEAD
        + """
        def @main(%n: int32) -> int32 { if (%n < 1) { 0 } else { 2 + @main(%n - 1) } }
        def @twice(%n: int32) -> int32 { @main(%n) + @main(%n) }
        """
    )
    executor = relay.create_executor("aot", mod)
    assert executor.evaluate(relay.GlobalVar("twice"))(3).item() == 12
    assert executor.evaluate(relay.GlobalVar("main")(relay.const(4))).item() == 8


def test_params_are_weights_that_a_call_may_change():
    mod, params = tree_lstm.get_workload(6, 3)
    weights = {name: data.numpy() for name, data in params.items()}
    main = relay.create_executor("aot", mod, params=weights).evaluate()
    wanted = relay.create_executor("debug", mod, params=weights).evaluate()
    tree = tree_of(mod)
    for changed in ({}, {"bias": weights["bias"] + 1}, {}):
        for found, expected in zip(main(tree, **changed), wanted(tree, **changed), strict=True):
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)


def tree_of(mod):
    """A tree with two leaves, as the interpreter has it."""
    prelude = relay.prelude.Prelude(mod)
    value = relay.const(np.linspace(-1, 1, 6, dtype="float32").reshape(1, 6))
    leaf = prelude.rose(value, prelude.nil())
    below = prelude.cons(leaf, prelude.cons(leaf, prelude.nil()))
    return relay.create_executor("debug", prelude.mod).evaluate(prelude.rose(value, below))


def test_what_is_wrong_is_explained():
    mod = relay.fromtext(HEAD + PROGRAMS["a loop"][0])
    main = relay.create_executor("aot", mod).evaluate()
    with pytest.raises(EvaluationError, match="too many"):
        main(1, X, X)
    with pytest.raises(EvaluationError):
        main(1, X[:2])
    with pytest.raises(RelayError, match="native code runs on the CPU"):
        relay.create_executor("aot", mod, relay.nd.Device("cuda")).evaluate()
