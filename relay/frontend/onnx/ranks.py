"""The expected rank of a value of dynamic rank: Reshape to a shape of dynamic length.

    y is declared with three axes, as an output or in `value_info`      3
    Transpose(y, perm=[2, 0, 1])                                        3
    z = Relu(y + bias), and z is declared with three axes               3, if bias has fewer

Declarations of the value, and of what is computed from it, are trusted, and checked at run time.
"""

from __future__ import annotations

from onnx import NodeProto, helper

from relay.frontend.common.scope import type_of
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.scope import GraphScope
from relay.frontend.onnx.types import lacks_shape
from relay.ir.types import TensorType

# the result has the rank of the first input
LIKE_FIRST = frozenset(
    {
        "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BatchNormalization", "Cast",
        "CastLike", "Ceil", "Celu", "Clip", "Cos", "Cosh", "CumSum", "Dropout", "Elu", "Erf", "Exp",
        "Floor", "Gelu", "HardSigmoid", "HardSwish", "Hardmax", "Identity", "InstanceNormalization",
        "IsInf", "IsNaN", "LRN", "LayerNormalization", "LeakyRelu", "Log", "LogSoftmax",
        "LpNormalization", "Mish", "Neg", "Not", "Pad", "Reciprocal", "Relu", "Round", "Selu",
        "Sigmoid", "Sign", "Sin", "Sinh", "Slice", "Softmax", "Softplus", "Softsign", "Sqrt", "Tan",
        "Tanh", "ThresholdedRelu", "Tile", "Transpose", "Trilu",
    }
)  # fmt: skip
# the result has the largest rank of the inputs
BROADCAST = frozenset(
    {
        "Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater",
        "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "Pow",
        "Sub", "Sum", "Where", "Xor",
    }
)  # fmt: skip
# all inputs have the same rank
ALIKE = frozenset({"Concat", "Conv", "ConvTranspose"})
# the rank of the first input
FIXED = {"GRU": 3, "Gemm": 2, "LSTM": 3, "RNN": 3}

MOST_NAMES = 100  # visited per value


def expected_rank(node: Node) -> int | None:
    """The rank of the first output of a node, by declarations of the graph, if there are any."""
    scope = node.scope
    # names, and the largest rank of what they were broadcast with, which says nothing of theirs
    pending = [(node.outputs[0], -1)]
    for name, others in pending:
        found = [_declared(scope, name)]
        for reader in scope.readers_of(name):
            found.append(_needed(scope, reader, name))
            if len(pending) < MOST_NAMES and reader.output:
                pending += _made(scope, reader, name, others)
        known = [rank for rank in found if rank is not None and rank > others]
        if known:
            return known[0]
    return None


def _declared(scope: GraphScope, name: str) -> int | None:
    declaration = scope.declaration(name)
    if (
        declaration is None
        or lacks_shape(declaration.type)
        or declaration.type.WhichOneof("value") != "tensor_type"
    ):
        return None
    return len(declaration.type.tensor_type.shape.dim)


def _rank(scope: GraphScope, name: str) -> int | None:
    """The known rank of a value."""
    value = scope.find(name)
    ty = None if value is None else type_of(value)
    return len(ty.shape) if isinstance(ty, TensorType) else _declared(scope, name)


def _needed(scope: GraphScope, reader: NodeProto, name: str) -> int | None:
    """The rank that a node requires of an input."""
    if reader.op_type in ALIKE:
        others = [_rank(scope, one) for one in reader.input[:2] if one != name]
        return next((one for one in others if one is not None), None)
    if reader.input[0] != name:
        return None
    if reader.op_type == "Transpose":
        order = next((one for one in reader.attribute if one.name == "perm"), None)
        return None if order is None else len(helper.get_attribute_value(order))
    return FIXED.get(reader.op_type)


def _made(scope: GraphScope, reader: NodeProto, name: str, others: int) -> list[tuple[str, int]]:
    """The result of a node, where its rank tells that of an input."""
    is_first = reader.input[0] == name
    if reader.op_type == "Concat" or (reader.op_type in LIKE_FIRST and is_first):
        return [(reader.output[0], others)]
    if reader.op_type not in BROADCAST:
        return []
    ranks = [_rank(scope, one) for one in reader.input if one != name]
    known = [one for one in ranks if one is not None]
    return [(reader.output[0], max([others, *known]))] if len(known) == len(ranks) else []
