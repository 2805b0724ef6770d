"""The virtual machine as an executor, held against the interpreter."""

import numpy as np
import pytest

import relay
from relay.errors import EvaluationError
from relay.interpreter.values import show

HEAD = '#[version = "0.0.5"]\n'
X = np.linspace(-1, 1, 3, dtype="float32")

PROGRAMS = {
    "a loop": (
        """
        def @main(%n: int32, %x: Tensor[(3), float32]) -> Tensor[(3), float32] {
          if (equal(%n, 0)) { %x } else { @main(subtract(%n, 1), multiply(add(%x, 1f), 0.5f)) }
        }
        """,
        (5, X),
    ),
    "a list": (
        """
        type Bag[A] { More(A, Bag[A]), Empty, }
        def @count(%n: int32) -> Bag[(int32, Tensor[(3), float32])] {
          if (equal(%n, 0)) { Empty } else {
            More((%n, multiply(cast(%n, dtype="float32"), ones(shape=[3], dtype="float32"))),
                 @count(subtract(%n, 1)))
          }
        }
        def @total(%b: Bag[(int32, Tensor[(3), float32])]) -> Tensor[(3), float32] {
          match (%b) {
            More((_, %t), %rest) => { add(%t, @total(%rest)) },
            Empty => { zeros(shape=[3], dtype="float32") },
          }
        }
        def @main(%n: int32) { (@total(@count(%n)), @count(2)) }
        """,
        (4,),
    ),
    "closures and cells": (
        """
        def @main(%x: Tensor[(3), float32]) {
          let %r = ref(%x);
          let %f = fn (%y: Tensor[(3), float32]) { let %u = ref_write(%r, %y); add(%x, %y) };
          let %a = %f(multiply(%x, 2f));
          (%a, ref_read(%r))
        }
        """,
        (X,),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree_with_the_interpreter(name):
    text, args = PROGRAMS[name]
    mod = relay.fromtext(HEAD + text)
    found = relay.create_executor("vm", mod).evaluate()(*args)
    wanted = relay.create_executor("debug", mod).evaluate()(*args)
    assert show(found) == show(wanted)


def test_expressions_may_call_main():
    mod = relay.fromtext(HEAD + PROGRAMS["a loop"][0])
    x = relay.var("x", shape=(3,))
    call = relay.Call(mod.get_global_var("main"), (relay.const(2), x))
    function = relay.Function((x,), relay.add(call, call))
    found = relay.create_executor("vm", mod).evaluate(function)(X)
    wanted = relay.create_executor("debug", mod).evaluate(function)(X)
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_params_become_weights_and_can_be_named_in_a_call():
    mod = relay.fromtext(
        HEAD + "def @main(%x: Tensor[(3), float32], %w: Tensor[(3), float32]) { multiply(%x, %w) }"
    )
    w = np.array([1, 2, 3], "float32")
    f = relay.create_executor("vm", mod, params={"w": w}).evaluate()
    np.testing.assert_array_equal(f(X).numpy(), X * w)
    np.testing.assert_array_equal(f(X, w=2 * w).numpy(), 2 * X * w)
    np.testing.assert_array_equal(f(X).numpy(), X * w)


def test_a_match_that_fails_says_where():
    mod = relay.fromtext(
        HEAD
        + """
        type Two { One, Other, }
        def @pick(%n: int32) -> Two { if (equal(%n, 0)) { One } else { Other } }
        def @main(%n: int32) -> int32 { match? (@pick(%n)) { One => { 1 }, } }
        """
    )
    f = relay.create_executor("vm", mod).evaluate()
    assert f(0).item() == 1
    with pytest.raises(EvaluationError):
        f(1)
