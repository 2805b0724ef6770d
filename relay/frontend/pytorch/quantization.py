"""Quantized tensors of torch (`torch.quint8` and the like): real numbers on a grid.

quantize_per_tensor(x, 0.1, 3, quint8)     qnn.dequantize(qnn.quantize(%x, 0.1f, 3), 0.1f, 3)

Such a tensor is the float32 tensor of the numbers that it stands for; its grid is known beside it
(`TorchScope.quantized`), and results of operators are rounded to theirs. Passes make kernels of
integers of this (`FakeQuantizationToInteger`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.scope import Grid
from relay.ir.expr import Expr, Var
from relay.ir.types import TensorType
from relay.op.qnn import op as qnn

REAL = "float32"
# integers of quantized tensors
LIMITS = {"uint8": (0, 255), "int8": (-128, 127), "int32": (-(2**31), 2**31 - 1)}

# operators of aten whose results are no quantized tensors
REALS = frozenset({"dequantize", "int_repr", "q_scale", "q_zero_point"})
# those whose results are elements of the argument, on its grid
MOVES = frozenset(
    {
        "alias", "channel_shuffle", "chunk", "clone", "contiguous", "detach", "expand",
        "expand_as", "flatten", "flip", "index_select", "max_pool1d", "max_pool2d", "max_pool3d",
        "movedim", "narrow", "permute", "pixel_shuffle", "relu", "repeat", "reshape", "select",
        "slice", "split", "split_with_sizes", "squeeze", "swapaxes", "t", "transpose",
        "unbind", "unflatten", "unsqueeze", "view", "view_as",
    }
)  # fmt: skip
# those with a range of their own: its length and its middle, in parts of it
RANGES = {"sigmoid": (1.0, 0.0), "hardsigmoid": (1.0, 0.0), "tanh": (2.0, 0.5)}


def grid_of(node: Node, data: Any) -> Grid:
    """The grid of a quantized tensor."""
    found = node.scope.quantized.get(data) if isinstance(data, Expr) else None
    if found is None:
        raise node.refused("an argument is no quantized tensor", expected="a tensor of `quint8`")
    return found


def integers(node: Node, data: Expr, grid: Grid) -> Expr:
    """Real numbers as integers of a grid."""
    scale, zero = node.scalar(grid.scale, REAL), node.scalar(grid.zero_point, "int32")
    return node.let(qnn.quantize(data, scale, zero, grid.axis, grid.dtype))


def of_integers(node: Node, data: Expr, grid: Grid) -> Expr:
    """The quantized tensor of integers."""
    scale, zero = node.scalar(grid.scale, REAL), node.scalar(grid.zero_point, "int32")
    found = node.let(qnn.dequantize(data, scale, zero, grid.axis, REAL))
    node.scope.quantized[found] = grid
    return found


def on_grid(node: Node, data: Expr, grid: Grid) -> Expr:
    """The quantized tensor of real numbers."""
    return of_integers(node, integers(node, node.as_dtype(node.let(data), REAL), grid), grid)


def real(node: Node, data: Expr) -> Expr:
    """A quantized tensor as a plain one."""
    if data not in node.scope.quantized:
        return data
    ty = node.type_of(data)
    assert isinstance(ty, TensorType)
    found = Var(node.name or "real", ty)
    node.scope.bindings.append((found, data))
    return found


def carried(node: Node, name: str, args: Sequence[Any], result: Any) -> Any:
    """The result of an operator of aten, of which some arguments are quantized."""
    given = [one for arg in args for one in (arg if isinstance(arg, list) else [arg])]
    quantized = node.scope.quantized
    grid = next(
        (quantized[one] for one in given if isinstance(one, Expr) and one in quantized), None
    )
    if grid is None or name in REALS:
        return result
    if isinstance(result, list):
        return [_carried(node, name, one, grid) for one in result]
    return _carried(node, name, result, grid)


def _carried(node: Node, name: str, result: Any, grid: Grid) -> Any:
    is_real = isinstance(result, Expr) and result not in node.scope.quantized
    if not is_real or node.dtype(result) != REAL:
        return result
    if grid.axis != -1:
        raise node.refused("a tensor with scales for each channel", hint="dequantize it first")
    if name in RANGES:
        length, middle = RANGES[name]
        low, high = LIMITS[grid.dtype]
        count = high - low + 1
        grid = Grid(length / count, low + round(middle * count), grid.dtype)
    elif name in MOVES and isinstance(result, Var):
        node.scope.quantized[result] = grid
        return result
    return on_grid(node, result, grid)
