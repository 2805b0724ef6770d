"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from relay.export.onnx.exporters import Exporters
from relay.export.onnx.graph import Value
from relay.export.onnx.step import Step

table = Exporters()


def swapped(step: Step, matrices: Value) -> str:
    """Matrices transposed."""
    rank = matrices.rank
    return step.transpose(matrices, [*range(rank - 2), rank - 1, rank - 2])


def factor(step: Step, value: Value, is_transposed: bool) -> str:
    """An operand in the element type of the result, in which products are summed."""
    return step.as_result(swapped(step, value) if is_transposed else value.name, value.dtype)


@table("nn.dense")
def dense(step: Step, data: Value, weight: Value) -> str:
    left = factor(step, data, False)
    if data.rank == 2 and step.result.dtype in ("float32", "float64", "float16", "bfloat16"):
        return step.node("Gemm", left, factor(step, weight, False), transB=1)
    return step.node("MatMul", left, factor(step, weight, True))


@table("nn.matmul", "nn.batch_matmul")
def matmul(step: Step, left: Value, right: Value) -> str:
    operands = ((left, step.attrs.transpose_a), (right, step.attrs.transpose_b))
    return step.node("MatMul", *(factor(step, *operand) for operand in operands))


@table("einsum")
def einsum(step: Step, data: Sequence[Value]) -> str:
    return step.node("Einsum", *data, equation=step.attrs.equation)
