"""Specialize a module for several input sizes, and select among them at run time:

FlexibleShapeDispatch([1, 8]):
def @main(%x: Tensor[(1, 3), float32]) { nn.relu(%x) }
->
def @main_1(%x: Tensor[(1, 3), float32]) { nn.relu(%x) }
def @main_8(%x: Tensor[(8, 3), float32]) { nn.relu(%x) }
def @main(%x: Tensor[(?, 3), float32]) -> Tensor[(?, 3), float32] {
  let %size = take(shape_of(%x, dtype="int64"), 0, axis=0);
  if (equal(%size, 1i64)) { let %a = @main_1(%x); %a } else { let %b = @main_8(%x); %b }
}

The sizes are the `buckets`. Another size fails in the last one, which checks its input. With
`auto_pad` an input is padded with `pad_value` to the next bucket; and with `affects_output` the
results, which have the size of the inputs, are sliced to it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import tree
from relay.check.infer import infer_module
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.copying import copied
from relay.ir.dims import ANY
from relay.ir.module import IRModule
from relay.ir.names import UniqueNames
from relay.ir.types import TensorType, TupleType, Type
from relay.op.nn.pad import pad
from relay.op.tensor.binary import equal, less_equal, maximum, multiply, subtract
from relay.op.tensor.indexing import take
from relay.op.tensor.reshape import reshape
from relay.op.tensor.shape import shape_of
from relay.op.tensor.slicing import strided_slice
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.simplify.change_batch import resized, with_types
from relay.tree import Steps


@frozen
class FlexibleShapeDispatch(ModulePass):
    """Replaces `main` by a function that dispatches on the size of its inputs.

    `axis` is the dimension that varies, in the inputs `input_indices` (by default the first, since
    the others are mostly weights) and in the results. `buckets` are the specialized sizes.
    """

    required = ("InferType",)
    buckets: Sequence[int]
    axis: int = 0
    auto_pad: bool = False
    pad_value: float = 0
    input_indices: Sequence[int] | None = None
    affects_output: bool = True

    def __post_init__(self) -> None:
        sizes = sorted(set(self.buckets))
        if not sizes or not all(isinstance(size, int) and size > 0 for size in sizes):
            raise PassError(f"buckets are sizes, and there is at least one, found {self.buckets!r}")
        object.__setattr__(self, "buckets", tuple(sizes))
        if self.input_indices is not None:
            object.__setattr__(self, "input_indices", tuple(self.input_indices))

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        if "main" not in module:
            raise PassError("there is no `@main` whose inputs could have several sizes")
        main: ir.Function = module["main"]
        varying = self._varying(main)
        names = UniqueNames({name.name_hint for name in module.functions})
        made: dict[int, str] = {}
        for size in self.buckets:
            types = {param: resized(param, self.axis, size) for param in varying}
            made[size] = names.fresh(f"main_{size}")
            module[made[size]] = copied(with_types(main, types))
        module = infer_module(module)
        module["main"] = self._dispatching(main, varying, made, module)
        return infer_module(module)

    def _varying(self, main: ir.Function) -> list[ir.Var]:
        indices = (0,) if self.input_indices is None else self.input_indices
        if not indices or not all(0 <= i < len(main.params) for i in indices):
            raise PassError(
                f"input_indices name parameters of `@main`, which has {len(main.params)}, "
                f"found {list(indices)}"
            )
        return [main.params[i] for i in indices]

    def _dispatching(
        self, main: ir.Function, varying: list[ir.Var], made: dict[int, str], module: IRModule
    ) -> ir.Function:
        params = []
        for param in main.params:
            ty: Any = param.checked_type
            ty = resized(param, self.axis, ANY) if param in varying else ty
            params.append(ir.Var(param.name_hint, ty, span=param.span))
        first = params[main.params.index(varying[0])]
        size = ir.Var("size")
        result = self._result_type(made, module)
        body: ir.Expr | None = None
        for bucket, name in reversed(made.items()):
            is_varying = [param in varying for param in main.params]
            branch = self._branch(bucket, ir.GlobalVar(name), params, is_varying, size, result)
            compare = less_equal if self.auto_pad else equal
            test = compare(size, ir.const(bucket, "int64"))
            body = branch if body is None else ir.If(test, branch, body)
        assert body is not None
        extent = take(shape_of(first, dtype="int64"), ir.const(self._axis_of(first)), axis=0)
        return tree.replace(
            main, params=tuple(params), body=ir.Let(size, extent, body), ret_type=result
        )

    def _axis_of(self, param: ir.Var) -> int:
        assert isinstance(param.type_annotation, TensorType)
        return self.axis % len(param.type_annotation.shape)

    def _result_type(self, made: dict[int, str], module: IRModule) -> Type:
        """The common type of the results of all buckets; dynamic where they are cut."""
        types = [module[name].checked_type.ret_type for name in made.values()]
        result: Type = types[0]
        for other in types[1:]:
            result = tree.run(_common(result, other))
        if self.auto_pad and self.affects_output:
            result = tree.run(self._with_dynamic_axis(result))
        return result

    def _with_dynamic_axis(self, ty: Type) -> Steps[Type]:
        if isinstance(ty, TensorType) and self._has_axis(ty):
            shape = list(ty.shape)
            shape[self.axis] = ANY
            return TensorType(tuple(shape), ty.dtype)
        if not isinstance(ty, TupleType):
            return ty
        return TupleType(tuple((yield tree.gather(map(self._with_dynamic_axis, ty.fields)))))

    def _has_axis(self, ty: TensorType) -> bool:
        return -len(ty.shape) <= self.axis < len(ty.shape)

    def _branch(
        self,
        bucket: int,
        callee: ir.GlobalVar,
        params: list[ir.Var],
        is_varying: list[bool],
        size: ir.Var,
        result: Type,
    ) -> ir.Expr:
        """The call of the function for one bucket."""
        args: list[ir.Expr] = []
        for param, varies in zip(params, is_varying, strict=True):
            args.append(self._padded(param, bucket, size) if varies and self.auto_pad else param)
        value: ir.Expr = ir.Call(callee, tuple(args))
        if self.auto_pad and self.affects_output:
            whole = ir.Var("whole")
            value = ir.Let(whole, value, tree.run(self._cut(whole, result, size)))
        return ir.ascribed(value, result)

    def _padded(self, param: ir.Var, bucket: int, size: ir.Var) -> ir.Expr:
        ty = param.type_annotation
        assert isinstance(ty, TensorType)
        axis = self._axis_of(param)
        # whether to pad before and after each axis
        places = [[0, int(i == axis)] for i in range(len(ty.shape))]
        # an input that is too large is refused by the called function
        missing = maximum(subtract(ir.const(bucket, "int64"), size), ir.const(0, "int64"))
        width = multiply(ir.const(places, "int64"), missing)
        return pad(param, width, ir.const(self.pad_value, ty.dtype))

    def _cut(self, e: ir.Expr, ty: Type, size: ir.Var) -> Steps[ir.Expr]:
        if isinstance(ty, TensorType) and self._has_axis(ty):
            axis = self.axis % len(ty.shape)
            end = reshape(size, newshape=(1,))
            return strided_slice(
                e, ir.const([0], "int64"), end, ir.const([1], "int64"), axes=[axis]
            )
        if not isinstance(ty, TupleType):
            return e
        parts: list[ir.Expr] = yield tree.gather(
            self._cut(ir.TupleGetItem(e, i), part, size) for i, part in enumerate(ty.fields)
        )
        return ir.Tuple(tuple(parts))


def _common(one: Type, other: Type) -> Steps[Type]:
    """The common type of the results of two buckets."""
    if isinstance(one, TensorType) and isinstance(other, TensorType):
        pairs = zip(one.shape, other.shape, strict=True)
        return TensorType(tuple(a if a == b else ANY for a, b in pairs), one.dtype)
    if not isinstance(one, TupleType) or not isinstance(other, TupleType):
        return one
    return TupleType(tuple((yield tree.gather(map(_common, one.fields, other.fields)))))
