"""Scalars: every operation agrees with what tensor expressions mean, on every element type."""

import numpy as np
import pytest

import relay
from relay import dtypes
from relay.program.scalars import OPERATIONS, result_type
from relay.te import evaluate, expr
from relay.te.compute import compute, placeholder
from relay.vm.scalars import from_memory, from_number, operation, to_memory
from tests.support.looping import each

VALUES = [0, 1, 2, 3, 7, 0.5, -1, -3, 100, 1e9]


def tensor_expression(op, operands, dtype):
    if op in expr.BINARY:
        return expr.Binary(operands[0].dtype, op, *operands)
    if op in expr.COMPARE:
        return expr.Compare("bool", op, *operands)
    if op in expr.UNARY:
        return expr.Unary(operands[0].dtype, op, *operands)
    if op in ("cast", "bitcast"):
        return {"cast": expr.Cast, "bitcast": expr.Bitcast}[op](dtype, *operands)
    if op == "select":
        return expr.Select(dtype, *operands)
    return expr.call(op, *operands)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "uint8"])
@each("op", sorted(OPERATIONS))
def test_operations_agree_with_tensor_expressions(op, dtype):
    kinds = [dtype] * OPERATIONS[op]
    if op == "select":
        kinds[0] = "bool"
    wanted = {"cast": "int8", "bitcast": dtype}.get(op, dtype)
    result = result_type(op, kinds, wanted)
    if result is None:
        return
    compute_scalar = operation(op, kinds, result)
    inputs = [placeholder((), kind, f"x{i}") for i, kind in enumerate(kinds)]
    body = tensor_expression(op, [one[()] for one in inputs], result)
    output = compute((), lambda: body)
    for first in VALUES:
        numbers = [first, *reversed(VALUES)][: len(kinds)]
        with np.errstate(all="ignore"):
            stored = [
                np.asarray(n)
                .astype("int64" if isinstance(n, int) else "float64")
                .astype(dtypes.to_numpy(kind))
                for n, kind in zip(numbers, kinds, strict=True)
            ]
            made = compute_scalar(*map(from_memory, stored, kinds))
        (found,) = evaluate.evaluate([output], dict(zip(inputs, stored, strict=True)))
        as_numbers = [one.astype("float64") for one in (to_memory(made, result), found)]
        np.testing.assert_array_equal(*as_numbers)


def test_numbers_of_a_program_are_rounded_to_their_type():
    assert from_number(0.1, "float32") == np.float32(0.1)
    assert from_number(True, "bool") == np.True_
    assert from_number(2**64 - 1, "uint64") == 2**64 - 1
    assert from_number(float("nan"), "float16") != from_number(float("nan"), "float16")
    assert type(from_number(1, "int4")) is np.int8
    assert relay.nd.NDArray(to_memory(from_number(-3, "int4"), "int4")).dtype == "int4"


def test_narrow_floats_are_rounded_when_they_are_written():
    add = operation("add", ["float16", "float16"], "float16")
    assert add(np.float32(2048), np.float32(1)) == 2048
