"""Infer the type of every expression:  fn (%x: float32) { add(%x, %x) }  ->  … /* ty=float32 */

The rules and the solver are in `relay.check`.
"""

from __future__ import annotations

from relay.check.infer import infer_local, infer_module
from relay.immutable import frozen
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.ir.types import Type
from relay.transform.base import ModulePass
from relay.transform.context import PassContext

__all__ = ["InferType", "InferTypeLocal"]


@frozen
class InferType(ModulePass):
    """Infers the types of all functions; those whose types still hold are kept as they are."""

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        return infer_module(module)


def InferTypeLocal(expr: Expr) -> Type:
    """The type of one expression whose parts are typed; `expr.checked_type` is set as well."""
    return infer_local(expr)
