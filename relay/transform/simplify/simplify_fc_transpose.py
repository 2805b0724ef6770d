"""Replace the transpose of a weight by a parameter that is given transposed:

SimplifyFCTranspose(["w"]):
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(8, 4), float32]) {
  nn.dense(%x, transpose(%w, axes=[1, 0]))
}
->
def @main(%x: Tensor[(1, 8), float32], %w.T: Tensor[(4, 8), float32]) { nn.dense(%x, %w.T) }

`relay.data_dep_optimization.simplify_fc_transpose.convert` transposes the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay import tree
from relay.analysis.fc_transpose import transposed_weight
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Var
from relay.ir.module import IRModule
from relay.ir.types import TensorType
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.memory.weight_parameters import with_other_weights


@frozen
class SimplifyFCTranspose(ModulePass):
    """`nn.dense` with the transpose of a parameter of one of the names takes it transposed."""

    opt_level = 4
    required = ("DeadCodeElimination", "InferType")
    target_weight_name: Sequence[str]

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        names = [str(name) for name in self.target_weight_name]
        return with_other_weights(module, names, _transposed, _simplified)


def _transposed(weight: Var) -> tuple[Var, ...]:
    ty = weight.checked_type
    assert isinstance(ty, TensorType)
    ty = TensorType(tuple(reversed(ty.shape)), ty.dtype)
    return (Var(f"{weight.name_hint}.T", ty, span=weight.span),)


def _simplified(before: Call, after: Call, new: Mapping[Var, tuple[Var, ...]]) -> Expr | None:
    weight = transposed_weight(before)
    if weight is None or weight not in new:
        return None
    return tree.replace(after, args=(after.args[0], *new[weight]))
