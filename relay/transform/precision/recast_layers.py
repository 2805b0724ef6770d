"""Change the element types of single layers (`recast`):

recast(f, "int8", "int32"):
nn.conv2d(%x, %w)
->
cast(nn.conv2d(cast(%x, "int8"), cast(%w, "int8"), out_dtype="int32"), "float32")

The result of an operator without `out_dtype` has the type of its arguments:

recast(f, "float16", "float16", ops=["add"]):
add(%x, %y)  ->  cast(add(cast(%x, "float16"), cast(%y, "float16")), "float32")

It converts without scales, so the result is for measuring speed only; `ToMixedPrecision` and
quantization preserve values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from relay import dtypes, tree
from relay.check.infer import infer_expr, infer_module
from relay.errors import PassError
from relay.ir.expr import Call, Expr, Function, Op, Syntax, Tuple, TupleGetItem, Var, get_op
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType, Type
from relay.op.tensor.convert import cast

__all__ = ["recast"]


def recast(
    expr: Expr | IRModule,
    dtype: str,
    out_dtype: str,
    ops: Sequence[str | Op] | None = None,
    skip_layers: Iterable[int] | None = None,
) -> Expr | IRModule:
    """`expr` with the calls of `ops` (default: `nn.conv2d`) in other element types; of a module,
    its `main`.

    Arguments are converted to `dtype`; the operator returns `out_dtype`, which is converted back.
    Integer arguments beside floats are indices or sizes, and stay. `skip_layers` are the indices of
    calls to leave alone, in evaluation order; negative ones count from the end.
    """
    if isinstance(expr, IRModule):
        after = recast(expr["main"], dtype, out_dtype, ops, skip_layers)
        assert isinstance(after, Function)
        module = expr.copy()
        module["main"] = after
        return infer_module(module)
    narrow, wide = dtypes.canonical(dtype), dtypes.canonical(out_dtype)
    wanted = {get_op(op).name if isinstance(op, str) else op.name for op in ops or ("nn.conv2d",)}
    typed = infer_expr(expr)
    layers = [e for e in tree.postorder(typed) if _is_call_of(e, wanted)]
    skipped = {_layer(number, len(layers)) for number in skip_layers or ()}
    chosen = {id(e) for i, e in enumerate(layers) if i not in skipped}
    if not chosen:
        return expr

    def visit(before: Any, after: Any) -> Syntax:
        if id(before) not in chosen:
            return after  # type: ignore[no-any-return]
        floats = _has_floats(before)

        def narrowed(ty: TensorType) -> str:
            return (
                narrow if dtypes.is_float(ty.dtype) == floats and ty.dtype != "bool" else ty.dtype
            )

        types = [_with_elements(arg.checked_type, narrowed) for arg in before.args]
        args = [
            _converted(now, was.checked_type, ty)
            for now, was, ty in zip(after.args, before.args, types, strict=True)
        ]
        attrs: Any = after.attrs
        if attrs is not None and "out_dtype" in attrs:
            attrs = dataclasses.replace(attrs, out_dtype=wide)
        # the new result type, inferred for the call alone
        alone = infer_expr(Call(after.op, tuple(Var("x", ty) for ty in types), attrs))
        call = tree.replace(after, args=tuple(args), attrs=attrs)
        return _converted(call, alone.checked_type, before.checked_type)

    root: Syntax = typed
    result = tree.transform(root, visit)
    assert isinstance(result, Expr)
    return infer_expr(result)


def _has_floats(call: Call) -> bool:
    """Whether the first tensor among the arguments has floats."""
    ty = call.args[0].checked_type if call.args else None
    first = ty.fields[0] if isinstance(ty, TupleType) and ty.fields else ty
    return isinstance(first, TensorType) and dtypes.is_float(first.dtype)


def _with_elements(ty: Type, dtype: Callable[[TensorType], str]) -> Type:
    """The type of a tensor or a tuple of tensors with other element types."""
    if isinstance(ty, TensorType):
        return TensorType(ty.shape, dtype(ty))
    if isinstance(ty, TupleType) and all(isinstance(field, TensorType) for field in ty.fields):
        return TupleType(
            tuple(TensorType(one.shape, dtype(one)) for one in ty.fields)  # type: ignore[attr-defined, arg-type]
        )
    return ty


def _converted(e: Expr, now: Type, wanted: Type) -> Expr:
    """A tensor or a tuple of tensors, converted to the element types of `wanted`."""
    if isinstance(now, TensorType) and isinstance(wanted, TensorType):
        return e if now.dtype == wanted.dtype else cast(e, dtype=wanted.dtype)
    if not isinstance(now, TupleType) or not isinstance(wanted, TupleType):
        return e
    fields: list[Expr] = [TupleGetItem(e, index) for index in range(len(now.fields))]
    if isinstance(e, Tuple):
        fields = list(e.fields)
    for index, (one, other) in enumerate(zip(now.fields, wanted.fields, strict=True)):
        if isinstance(one, TensorType) and isinstance(other, TensorType):
            changes = one.dtype != other.dtype
            fields[index] = cast(fields[index], dtype=other.dtype) if changes else fields[index]
    return Tuple(tuple(fields))


def _is_call_of(e: Syntax, names: set[str]) -> bool:
    return isinstance(e, Call) and isinstance(e.op, Op) and e.op.name in names


def _layer(number: int, count: int) -> int:
    if not -count <= number < count:
        raise PassError(f"there is no layer {number} to skip: there are {count}")
    return number % count
