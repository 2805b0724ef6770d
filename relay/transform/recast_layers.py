"""Other element types for single layers (`recast`):

recast(f, "int8", "int32"):
nn.conv2d(%x, %w)
->
cast(nn.conv2d(cast(%x, "int8"), cast(%w, "int8"), out_dtype="int32"), "float32")

It converts and does not scale, so what comes out is for measuring how fast a network would be at
those types; `ToMixedPrecision` and quantization keep the numbers right.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from relay import dtypes, tree
from relay.check.infer import infer_expr
from relay.errors import PassError
from relay.ir.expr import Call, Expr, Op, Syntax, get_op
from relay.ir.types import TensorType
from relay.op.convert import cast

__all__ = ["recast"]


def recast(
    expr: Expr,
    dtype: str,
    out_dtype: str,
    ops: Sequence[str | Op] | None = None,
    skip_layers: Iterable[int] | None = None,
) -> Expr:
    """`expr` with the calls of `ops` (`nn.conv2d` unless told otherwise) at other element types.

    Arguments are converted to `dtype`, the operator gives `out_dtype`, and that is converted back.
    `skip_layers` are left alone: numbers of such calls in the order of evaluation, from 0, or from
    the end when they are negative.
    """
    narrow, wide = dtypes.canonical(dtype), dtypes.canonical(out_dtype)
    wanted = {get_op(op).name if isinstance(op, str) else op.name for op in ops or ("nn.conv2d",)}
    typed = infer_expr(expr)
    layers = [e for e in tree.postorder(typed) if _is_call_of(e, wanted)]
    skipped = {_layer(number, len(layers)) for number in skip_layers or ()}
    chosen = {id(e) for i, e in enumerate(layers) if i not in skipped}
    if not chosen:
        return expr

    def converted(arg: Expr, before: Expr) -> Expr:
        ty = before.checked_type
        is_other = isinstance(ty, TensorType) and ty.dtype != narrow
        return cast(arg, dtype=narrow) if is_other else arg

    def visit(before: Any, after: Any) -> Syntax:
        if id(before) not in chosen:
            return after  # type: ignore[no-any-return]
        attrs: Any = after.attrs
        if attrs is None or "out_dtype" not in attrs:
            raise PassError(f"`{after.op.name}` has no `out_dtype`, so it gives what it takes")
        args = tuple(map(converted, after.args, before.args))
        call = tree.replace(after, args=args, attrs=dataclasses.replace(attrs, out_dtype=wide))
        ty = before.checked_type
        is_same = isinstance(ty, TensorType) and ty.dtype == wide
        return call if is_same else cast(call, dtype=ty.dtype)

    root: Syntax = typed
    result = tree.transform(root, visit)
    assert isinstance(result, Expr)
    return infer_expr(result)


def _is_call_of(e: Syntax, names: set[str]) -> bool:
    return isinstance(e, Call) and isinstance(e.op, Op) and e.op.name in names


def _layer(number: int, count: int) -> int:
    if not -count <= number < count:
        raise PassError(f"there is no layer {number} to skip: there are {count}")
    return number % count
