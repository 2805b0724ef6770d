"""Storage and the tensors in it, as programs use them that manage memory themselves."""

import numpy as np
import pytest

import relay
from relay.check.infer import infer_expr, infer_module
from relay.errors import EvaluationError, RelayError, TypeCheckError
from relay.interpreter.evaluate import evaluate
from relay.ir.compare import assert_structural_equal
from relay.nd import Storage
from relay.op import memory, vm
from relay.op.memory import STORAGE

INT8 = relay.TensorType((2,), "int8")
FLOAT = relay.TensorType((3,), "float32")


def lets(*bindings, result):
    """`let` for each (variable, value)."""
    for variable, value in reversed(bindings):
        result = relay.Let(variable, value, result)
    return result


def storage_module(function):
    module = relay.IRModule.from_expr(function)
    module.import_from_std("core.rly")
    return infer_module(module)


def doubled_in_place():
    """Writes x + x into memory, and then the double of that over it."""
    x = relay.var("x", shape=(4,), dtype="float32")
    a = relay.var("a", shape=(4,), dtype="float32")
    double, storage, out = relay.var("double"), relay.var("storage"), relay.var("out")
    body = lets(
        (double, relay.Function([a], relay.add(a, a)).with_attr("Primitive", 1)),
        (storage, memory.alloc_storage(32, 64, "cpu", shape=[4])),
        (out, memory.alloc_tensor(storage, 16, [4])),
        (relay.var("_"), vm.invoke_tvm_op(double, [x], [out])),
        (relay.var("_"), vm.invoke_tvm_op(double, [out], [out])),
        (relay.var("_"), memory.kill(storage)),
        result=out,
    )
    return relay.Function([x], body)


def test_a_program_writes_its_results_where_it_says():
    module = storage_module(doubled_in_place())
    assert module["main"].ret_type == relay.TensorType((4,), "float32")
    run = relay.create_executor("debug", mod=module).evaluate()
    assert run(np.arange(4, dtype="float32")).numpy().tolist() == [0, 4, 8, 12]


def test_such_a_program_has_a_text():
    module = storage_module(doubled_in_place())
    assert_structural_equal(relay.parse(module.astext()), module)


def test_every_evaluation_has_its_own_storage():
    function = relay.Function([], memory.alloc_storage(8, 8))
    first, second = evaluate(relay.Call(function, [])), evaluate(relay.Call(function, []))
    assert isinstance(first, Storage) and first.size == 8
    assert first is not second
    assert repr(first) == "Storage(8, device=cpu(0))"


def test_two_tensors_in_one_place_are_the_same_memory():
    storage = relay.var("storage")
    whole, part = relay.var("whole"), relay.var("part")
    ones = relay.Function([], relay.const(np.ones(2), "float32"))
    program = lets(
        (storage, memory.alloc_storage(16, 8)),
        (whole, memory.alloc_tensor(storage, 0, [4])),
        (part, memory.alloc_tensor(storage, 4, [2])),
        (relay.var("_"), vm.invoke_tvm_op(ones, [], [part])),
        result=whole,
    )
    assert evaluate(program).numpy().tolist() == [0, 1, 1, 0]


def test_a_shape_may_be_computed():
    storage, n = relay.var("storage"), relay.var("n", shape=(2,), dtype="int64")
    tensor = memory.alloc_tensor(storage, 0, n, "int8", assert_shape=[relay.Any(), 3])
    program = relay.Let(storage, memory.alloc_storage(64, 8), tensor)
    ty = infer_expr(relay.Function([n], program)).ret_type
    assert str(ty) == "Tensor[(?, 3), int8]"
    found = evaluate(program, bindings={n: np.array([2, 3])})
    assert found.shape == (2, 3) and found.dtype == "int8"
    free = relay.Let(storage, memory.alloc_storage(64, 8), memory.alloc_tensor(storage, 0, n))
    assert str(infer_expr(relay.Function([n], free)).ret_type) == "Tensor[(?, ?), float32]"


def test_what_was_asserted_of_a_shape_is_checked_in_a_run():
    storage, n = relay.var("storage"), relay.var("n", shape=(1,), dtype="int64")
    tensor = memory.alloc_tensor(storage, 0, n, assert_shape=[3])
    program = relay.Let(storage, memory.alloc_storage(64, 8), tensor)
    run = relay.create_executor("debug", mod=storage_module(relay.Function([n], program)))
    assert run.evaluate()(np.array([3])).shape == (3,)
    with pytest.raises(EvaluationError, match="wrong extent in dimension 0"):
        run.evaluate()(np.array([2]))


def test_a_tensor_must_lie_in_its_storage():
    storage = relay.var("storage")
    outside = memory.alloc_tensor(storage, 8, [3])
    with pytest.raises(EvaluationError, match="bytes 8 to 20 do not lie in a storage of 16 bytes"):
        evaluate(relay.Let(storage, memory.alloc_storage(16, 8), outside))
    with pytest.raises(EvaluationError, match="a storage cannot have -1 bytes"):
        evaluate(memory.alloc_storage(-1, 8))


def test_nothing_can_be_laid_out_in_a_storage_that_was_given_back():
    storage = relay.var("storage")
    program = lets(
        (storage, memory.alloc_storage(16, 8)),
        (relay.var("_"), memory.kill(storage)),
        result=memory.alloc_tensor(storage, 0, [2]),
    )
    with pytest.raises(EvaluationError, match="was given back"):
        evaluate(program)


def test_the_end_of_anything_is_nothing():
    x = relay.var("x", shape=(2,), dtype="float32")
    for value in (relay.const(1), relay.Function([x], x), relay.Tuple([])):
        assert len(evaluate(memory.kill(value))) == 0
    assert infer_expr(memory.kill(x)).checked_type == relay.TupleType([])


def test_an_unknown_storage_gets_its_type_from_its_use():
    storage = relay.var("storage")
    function = relay.Function([storage], memory.alloc_tensor(storage, 0, [2]))
    assert infer_expr(function).params[0].checked_type == STORAGE


def test_what_is_no_storage_is_refused():
    x = relay.var("x", shape=(2,), dtype="float32")
    with pytest.raises(TypeCheckError, match="argument `storage` is no storage"):
        infer_expr(memory.alloc_tensor(x, 0, [2]))
    with pytest.raises(TypeCheckError, match="wrong element type"):
        infer_expr(memory.alloc_storage(x, 8))
    with pytest.raises(TypeCheckError, match="rank of the tensor is not known"):
        shape = relay.var("shape", shape=(relay.Any(),), dtype="int64")
        infer_expr(memory.alloc_tensor(memory.alloc_storage(8, 8), 0, shape))
    with pytest.raises(TypeCheckError, match="ranks"):
        shape = relay.var("shape", shape=(2,), dtype="int64")
        infer_expr(memory.alloc_tensor(memory.alloc_storage(8, 8), 0, shape, assert_shape=[1]))


def test_tuples_are_rows_of_tensors():
    ty = relay.TupleType([FLOAT, relay.TupleType([INT8, relay.TupleType([])]), FLOAT])
    assert memory.flatten_tuple_type(ty) == [FLOAT, INT8, FLOAT]
    x = relay.var("x", ty)
    parts = memory.from_tuple_type(ty, x)
    values = (np.zeros(3, "float32"), (np.ones(2, "int8"), ()), np.ones(3, "float32"))
    found = [evaluate(part, bindings={x: values}).numpy().sum() for part in parts]
    assert found == [0, 2, 3]
    assert infer_expr(memory.to_tuple_type(ty, parts)).checked_type == ty
    with pytest.raises(RelayError, match="is made of 3 tensors, found 2"):
        memory.to_tuple_type(ty, parts[:2])
    with pytest.raises(RelayError, match="only tensors and tuples"):
        memory.flatten_tuple_type(relay.FuncType([ty], ty))


def test_tuples_may_be_deep():
    ty, value = FLOAT, relay.const(np.ones(3), "float32")
    for _ in range(10_000):
        ty = relay.TupleType([ty])
    assert memory.flatten_tuple_type(ty) == [FLOAT]
    assert len(memory.from_tuple_type(ty, relay.var("x", ty))) == 1
    assert isinstance(memory.to_tuple_type(ty, [value]), relay.Tuple)
