"""A primitive function as tensors: what is given, what is made, and what cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from relay.check.infer import infer_expr
from relay.errors import LowerError
from relay.ir.expr import Function, Tuple, TupleGetItem, Var, const
from relay.ir.types import TensorType, TupleType
from relay.lower.to_compute import Computed, flatten, to_compute
from relay.parser import parse
from relay.te.evaluate import evaluate


def function(source: str) -> Function:
    return parse(f'#[version = "0.0.5"]\ndef @main{source}')["main"]


def computed(source: str) -> Computed:
    return to_compute(function(source))


def values(found: Computed, *arrays: np.ndarray) -> list[np.ndarray]:
    return evaluate(found.outputs, dict(zip(found.inputs, arrays, strict=True)))


ROW = np.arange(4, dtype="float32")


def test_calls_become_what_their_operators_compute() -> None:
    found = computed("(%x: Tensor[(4), float32]) { nn.relu(subtract(%x, 1.5f)) }")
    assert [x.name for x in found.inputs] == ["x"]
    assert found.operators == ("subtract", "nn.relu")
    np.testing.assert_array_equal(values(found, ROW)[0], np.maximum(ROW - 1.5, 0))


def test_what_is_shared_is_computed_once() -> None:
    found = computed("(%x: Tensor[(4), float32]) { %0 = exp(%x); add(%0, %0) }")
    assert found.operators == ("exp", "add")
    assert len(found.outputs[0].op.inputs) == 1


def test_names_stand_for_their_values() -> None:
    found = computed(
        """(%x: Tensor[(4), float32]) {
          let %y = negative(%x);
          let %z = multiply(%y, %x);
          add(%z, %y)
        }"""
    )
    np.testing.assert_array_equal(values(found, ROW)[0], -ROW * ROW - ROW)


def test_fields_of_tuples_are_counted_one_by_one() -> None:
    found = computed(
        """(%p: (Tensor[(4), float32], (Tensor[(4), float32], Tensor[(2), float32]))) {
          (%p.1.1, (add(%p.0, %p.1.0), split(%p.0, indices_or_sections=2)))
        }"""
    )
    assert [x.name for x in found.inputs] == ["p_0", "p_1_0", "p_1_1"]
    assert len(found.outputs) == 4
    two = ROW[:2]
    results = values(found, ROW, ROW * 2, two)
    for result, right in zip(results, (two, ROW * 3, ROW[:2], ROW[2:]), strict=True):
        np.testing.assert_array_equal(result, right)


def test_deep_tuples_need_no_stack() -> None:
    depth = 5000
    ty = TensorType((4,), "float32")
    nested: object = ty
    for _ in range(depth):
        nested = TupleType((nested,))
    p = Var("p", nested)
    body = p
    for _ in range(depth):
        body = TupleGetItem(body, 0)
    for _ in range(depth):
        body = Tuple((body,))
    found = to_compute(infer_expr(Function([p], body)))
    assert len(found.inputs) == len(found.outputs) == 1


def test_scalar_constants_keep_their_shape_and_type() -> None:
    x = Var("x", TensorType((2, 3), "bfloat16"))
    one = const(np.full((1, 1), 1.5), "bfloat16")
    found = to_compute(infer_expr(Function([x], Tuple((x, one)))))
    assert found.outputs[1].extents == (1, 1)
    assert found.outputs[1].dtype == "bfloat16"


def test_flatten_keeps_the_order() -> None:
    a, b, c = (computed("(%x: Tensor[(), float32]) { %x }").inputs[0] for _ in range(3))
    assert flatten((a, ((), (b,)), c)) == [a, b, c]


# --- what cannot be part of a kernel


def refused(source: str) -> str:
    with pytest.raises(LowerError) as error:
        computed(source)
    return str(error.value)


def test_sizes_are_numbers_and_the_error_says_where() -> None:
    text = refused("(%x: Tensor[(?, 4), float32]) { nn.relu(%x) }")
    assert "size `?` is known at run time only" in text
    assert "2:11" in text  # where %x stands


def test_sizes_of_results_are_numbers() -> None:
    text = refused("(%x: Tensor[(4), float32]) { argwhere(%x) }")
    assert "is known at run time only" in text
    assert "argwhere(%x)" in text


def test_operators_without_a_computation_are_named() -> None:
    text = refused("(%x: Tensor[(4), float32]) { memory.kill(%x) }")
    assert "operator `memory.kill` does not say how it is computed" in text
    assert "^^^^" in text


def test_large_constants_are_arguments() -> None:
    x = Var("x", TensorType((3,), "float32"))
    with pytest.raises(LowerError, match="only scalar constants stand in a kernel"):
        to_compute(infer_expr(Function([x], const(np.zeros(3, "float32")))))


def test_control_flow_is_not_part_of_a_kernel() -> None:
    text = refused("(%x: Tensor[(), bool]) { if (%x) { 1f } else { 2f } }")
    assert "If cannot be part of a kernel" in text


def test_functions_are_not_given_to_kernels() -> None:
    text = refused("(%f: fn (Tensor[(), float32]) -> Tensor[(), float32]) { 1f }")
    assert "parameter `%f` of a kernel is a tensor" in text


def test_a_variable_from_elsewhere_is_named() -> None:
    stranger = Var("stranger", TensorType((3,), "float32"))
    typed = infer_expr(Function([stranger], stranger))
    inner = Function([], typed.body, typed.ret_type)
    with pytest.raises(LowerError, match="variable `%stranger` has no value here"):
        to_compute(inner)
