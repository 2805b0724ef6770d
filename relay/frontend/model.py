"""What can be compiled, as a module: modules, expressions, Python functions, ONNX models."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from relay.errors import RelayError
from relay.ir.expr import Expr
from relay.ir.module import HasModule, IRModule

if TYPE_CHECKING:
    from onnx import ModelProto

# A path, bytes or a ModelProto is an ONNX model.
Model: TypeAlias = "IRModule | Expr | HasModule | str | os.PathLike[str] | bytes | ModelProto"


def as_module(model: Model) -> tuple[IRModule, Mapping[str, Any]]:
    """The module of a model, which may be changed, and the weights that come with it, by name."""
    if isinstance(model, HasModule):
        model = model.__relay_module__()
    if isinstance(model, IRModule):
        if "main" not in model:
            raise RelayError("the module has no function `@main` to compile")
        return model.copy(), {}
    if isinstance(model, Expr):
        return IRModule.from_expr(model), {}
    if isinstance(model, str | bytes | os.PathLike) or type(model).__name__ == "ModelProto":
        from relay.frontend import from_onnx  # needs packages that other models do not

        try:
            return from_onnx(model, freeze_params=None)  # type: ignore[no-any-return]
        except RelayError:  # the model may use a weight where a constant is needed
            return from_onnx(model)  # type: ignore[no-any-return]
    raise RelayError(
        f"cannot compile a {type(model).__name__}; give a relay.IRModule, a relay.Function or "
        "another expression, or a model of ONNX: its path, its bytes or an onnx.ModelProto"
    )
