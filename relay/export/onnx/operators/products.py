"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from relay.export.onnx.exporters import Exporters
from relay.export.onnx.graph import Value
from relay.export.onnx.step import Step

table = Exporters()


def swapped(step: Step, matrices: Value) -> str:
    """Matrices with rows for columns."""
    rank = matrices.rank
    return step.transpose(matrices, [*range(rank - 2), rank - 1, rank - 2])


def widened(step: Step, value: Value) -> Value | str:
    """An operand in the element type of the result, in which products are added up."""
    return value if value.dtype == step.result.dtype else step.cast(value, step.result.dtype)


@table("nn.dense")
def dense(step: Step, data: Value, weight: Value) -> str:
    left = widened(step, data)
    if data.rank == 2 and step.result.dtype in ("float32", "float64", "float16", "bfloat16"):
        return step.node("Gemm", left, widened(step, weight), transB=1)
    turned = swapped(step, weight)
    if weight.dtype != step.result.dtype:
        turned = step.cast(turned, step.result.dtype)
    return step.node("MatMul", left, turned)


@table("nn.matmul", "nn.batch_matmul")
def matmul(step: Step, left: Value, right: Value) -> str:
    factors: list[Value | str] = []
    for value, is_turned in ((left, step.attrs.transpose_a), (right, step.attrs.transpose_b)):
        given: Value | str = swapped(step, value) if is_turned else value
        if value.dtype != step.result.dtype:
            given = step.cast(given, step.result.dtype)
        factors.append(given)
    return step.node("MatMul", *factors)


@table("einsum")
def einsum(step: Step, data: Sequence[Value]) -> str:
    return step.node("Einsum", *data, equation=step.attrs.equation)
