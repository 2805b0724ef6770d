"""Short ways to do to one expression what is done to modules."""

import numpy as np
import pytest

import relay
from relay import transform
from relay.testing import count_ops, rand, run_infer_type, run_opt_pass


def test_an_expression_gets_its_types():
    x = relay.var("x", shape=(2, 3))
    typed = run_infer_type(x + x)
    assert isinstance(typed, relay.Call)
    assert typed.checked_type == relay.TensorType((2, 3))


def test_a_function_stays_a_function():
    x = relay.var("x", shape=(2, 3))
    typed = run_infer_type(relay.Function([x], x + x))
    assert isinstance(typed, relay.Function)
    assert typed.ret_type == relay.TensorType((2, 3))


def test_a_function_with_a_symbol_of_its_own_is_found():
    x = relay.var("x", shape=(2, 3))
    function = relay.Function([x], x).with_attr("global_symbol", "mine")
    assert run_infer_type(function).attrs["global_symbol"] == "mine"


def test_the_pass_sees_a_module_with_the_prelude_on_demand():
    seen = []

    @relay.transform.module_pass(opt_level=0)
    def look(module, context):
        seen.append({v.name_hint for v in module.functions})
        return module

    run_opt_pass(relay.const(1), look)
    run_opt_pass(relay.const(1), look, import_prelude=True)
    assert seen[0] == {"main"}
    assert {"main", "map", "foldl"} <= seen[1]


def test_calls_are_counted_by_operator_and_shared_ones_once():
    x = relay.var("x", shape=(2,))
    shared = relay.nn.relu(x)
    counts = count_ops(relay.Function([x], (shared + shared) + relay.nn.relu(x)))
    assert counts == {"add": 2, "nn.relu": 2}
    assert counts["nn.dense"] == 0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "uint16", "bool"])
def test_random_tensors(dtype):
    tensor = rand(dtype, 3, 4)
    assert tensor.dtype == dtype
    assert tensor.shape == (3, 4)
    assert (tensor.numpy().astype("float64") >= 0).all()


def test_random_tensors_follow_numpys_seed():
    np.random.seed(5)
    first = rand("float32", 3).numpy()
    np.random.seed(5)
    assert (rand("float32", 3).numpy() == first).all()
    assert rand("float32").shape == ()


def test_several_passes_run_one_after_the_other():
    both = [transform.FoldConstant(), transform.ToANormalForm()]
    x = relay.var("x", shape=())
    result = run_opt_pass(x + (relay.const(1.0) + relay.const(2.0)), both)
    assert count_ops(result) == {"add": 1} and isinstance(result, relay.Let)
