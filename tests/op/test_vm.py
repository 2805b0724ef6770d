"""Lowered programs: calls of functions by operators, shapes at run time."""

import numpy as np
import pytest

import relay
from relay.check.infer import infer_expr
from relay.errors import EvaluationError, TypeCheckError
from relay.interpreter.evaluate import evaluate
from relay.op import memory, vm
from relay.op.opdef import get
from tests.support.sampling import deep

DEEP = deep(20_000)


def double():
    x = relay.var("x", shape=(2,), dtype="float32")
    return relay.Function([x], relay.add(x, x))


def pair():
    x = relay.var("x", shape=(2,), dtype="float32")
    return relay.Function([x], relay.Tuple([x, relay.Tuple([relay.sum(x), x])]))


ONES = relay.const(np.ones(2), "float32")


def test_a_lowered_call_is_a_call():
    call = vm.call_lowered(double(), [ONES], metadata={"hash": "abc"})
    assert infer_expr(call).checked_type == relay.TensorType((2,), "float32")
    assert evaluate(call).numpy().tolist() == [2, 2]
    assert call.attrs.metadata["hash"] == "abc"


def test_a_lowered_call_reads_back():
    call = vm.call_lowered(double(), [relay.var("y", shape=(2,))], metadata={"hash": "abc"})
    module = relay.IRModule.from_expr(call)
    text = module.astext()
    assert 'metadata={"hash": "abc"}' in text
    assert relay.parse(text).astext() == relay.transform.InferType()(module).astext()


def test_operators_and_constructors_can_be_called_too():
    assert evaluate(vm.call_lowered(get("add"), [ONES, ONES])).numpy().tolist() == [2, 2]
    prelude = relay.Prelude()
    some = vm.call_lowered(prelude.some, [ONES])
    assert evaluate(some, prelude.mod).constructor.name_hint == "Some"


def test_lowered_calls_may_be_as_deep_as_others():
    # @f(n) = if n == 0 then 0 else call_lowered(@f, (n - 1,)) + 1
    n, f = relay.var("n", shape=(), dtype="int32"), relay.GlobalVar("f")
    zero, one = relay.const(0), relay.const(1)
    rest = vm.call_lowered(f, [relay.subtract(n, one)])
    body = relay.If(relay.equal(n, zero), zero, relay.add(rest, one))
    integer = relay.scalar_type("int32")
    module = relay.IRModule({f: relay.Function([n], body, integer)})
    assert evaluate(relay.Call(f, [relay.const(DEEP)]), module).item() == DEEP


def test_results_in_nested_tuples_are_written_one_after_the_other():
    storage = relay.var("storage")
    outs = [relay.var(name) for name in "abc"]
    written = vm.invoke_tvm_op(pair(), relay.Tuple([ONES]), relay.Tuple(outs))
    body = relay.Let(relay.var("_"), written, relay.Tuple(outs))
    for out, offset, shape in zip(outs, (0, 8, 16), ([2], [], [2]), strict=True):
        body = relay.Let(out, memory.alloc_tensor(storage, offset, shape), body)
    program = relay.Let(storage, memory.alloc_storage(24, 8), body)
    assert infer_expr(program).checked_type.fields[1] == relay.TensorType((), "float32")
    assert [part.numpy().tolist() for part in evaluate(program)] == [[1, 1], 2, [1, 1]]


def test_outputs_must_lie_in_a_storage():
    with pytest.raises(EvaluationError, match="does not lie in a storage"):
        evaluate(vm.invoke_tvm_op(double(), relay.Tuple([ONES]), relay.Tuple([ONES])))


def test_outputs_must_have_the_shape_of_the_results():
    storage = relay.var("storage")
    out = memory.alloc_tensor(storage, 0, [3])
    call = vm.invoke_tvm_op(double(), relay.Tuple([ONES]), relay.Tuple([out]))
    program = relay.Let(storage, memory.alloc_storage(24, 8), call)
    with pytest.raises(TypeCheckError, match="type mismatch"):
        infer_expr(program)
    with pytest.raises(EvaluationError, match="cannot be written"):
        evaluate(program)
    with pytest.raises(EvaluationError, match="there are 0 outputs for 1 results"):
        evaluate(vm.invoke_tvm_op(double(), relay.Tuple([ONES]), relay.Tuple([])))


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeCheckError, match="argument `func` cannot be called"):
        infer_expr(vm.call_lowered(ONES, [ONES]))
    with pytest.raises(TypeCheckError, match="type mismatch"):
        infer_expr(vm.call_lowered(double(), [relay.const(1)]))
    with pytest.raises(TypeCheckError, match="the result cannot be written"):
        infer_expr(vm.invoke_tvm_op(relay.Function([], double()), relay.Tuple([]), relay.Tuple([])))
    with pytest.raises(EvaluationError, match="this cannot be called"):
        evaluate(vm.call_lowered(ONES, [ONES]))


def test_the_arguments_get_their_types_from_the_function():
    x = relay.var("x")
    function = infer_expr(relay.Function([x], vm.call_lowered(double(), [x])))
    assert function.params[0].checked_type == relay.TensorType((2,), "float32")


def test_a_reshaped_tensor_is_the_same_memory():
    storage, out, view = relay.var("storage"), relay.var("out"), relay.var("view")
    shape = relay.const([2, 1], "int64")
    body = relay.Let(
        relay.var("_"), vm.invoke_tvm_op(double(), relay.Tuple([ONES]), relay.Tuple([out])), view
    )
    body = relay.Let(view, vm.reshape_tensor(out, shape, (2, 1)), body)
    body = relay.Let(out, memory.alloc_tensor(storage, 0, [2]), body)
    program = relay.Let(storage, memory.alloc_storage(8, 8), body)
    assert evaluate(program).numpy().tolist() == [[2], [2]]


def test_a_new_shape_may_be_known_in_part():
    x, shape = relay.var("x", shape=(6,)), relay.var("shape", shape=(2,), dtype="int64")
    call = vm.reshape_tensor(x, shape, [relay.Any(), 3])
    assert str(infer_expr(call).checked_type) == "Tensor[(?, 3), float32]"
    with pytest.raises(TypeCheckError, match="numbers of elements differ"):
        infer_expr(vm.reshape_tensor(x, shape, [2, 2]))
    with pytest.raises(TypeCheckError, match="`newshape` does not fit"):
        infer_expr(vm.reshape_tensor(x, shape, [-2, 3]))


@pytest.mark.parametrize("extents", [[3, 3], [3, 2], [-2, -3]])
def test_a_new_shape_that_does_not_fit_is_refused_in_a_run(extents):
    x, shape = relay.const(np.ones(6), "float32"), relay.const(extents, "int64")
    with pytest.raises(EvaluationError, match="the new shape does not fit"):
        evaluate(vm.reshape_tensor(x, shape, [-1, 3]))


def test_the_extents_of_a_tensor_are_int64():
    x = relay.var("x", shape=(2, 3))
    assert infer_expr(vm.shape_of(x)).checked_type == relay.TensorType((2,), "int64")
