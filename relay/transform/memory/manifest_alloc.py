"""Make the memory of kernel results explicit; kernels write into it:

let %y = fn (%p0: Tensor[(4), float32], Primitive=1) { exp(%p0) }(%x); %y
->
let %shape = %c; let %size = 16i64; let %alignment = 64i64; let %offset = 0i64;
let %storage = memory.alloc_storage(%size, %shape, %alignment);
let %y = memory.alloc_tensor(%storage, %offset, %shape, const_shape=[4]);
let %kernel = fn (%p0: Tensor[(4), float32], Primitive=1) { exp(%p0) };
let %ins = (%x,); let %outs = (%y,); let %done = vm.invoke_tvm_op(%kernel, %ins, %outs);
%y

for %x: Tensor[(4), float32]

Every result has a storage of its own, which is written once; numbers and tuples are bound to names
too, so that the program stays in A-normal form. A dynamic result size is computed by another
kernel, from the extents of the arguments (`shape_functions`). A kernel whose result size depends on
values stays as it is.

Programs are fused, and in A-normal form. ManifestLifetimes decides where storages are freed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from relay import dtypes, tree
from relay.analysis.normal_forms import is_kernel
from relay.arena import ALIGNMENT
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Function, Let, Syntax, Tuple, TupleGetItem, Var, const
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType, Type
from relay.op.memory import ALLOC_TENSOR, alloc_storage, flatten_tuple_type, to_tuple_type
from relay.op.vm import invoke_tvm_op, shape_of
from relay.transform.base import FunctionPass
from relay.transform.context import PassContext
from relay.transform.memory.shape_functions import ShapeFunction, is_dynamic_shape, shape_function


@frozen
class ManifestAlloc(FunctionPass):
    """Allocates storages for the results of kernels."""

    required = ("InferType", "ToANormalForm")

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        if "Storage" not in {name.name_hint for name in module.type_definitions}:
            module.import_from_std("core.rly")
        return super().transform_module(module, context)

    def rewrite(self, function: Function) -> Function:
        if is_kernel(function):
            return function

        def visit(_: Syntax, after: Syntax) -> Syntax:
            if isinstance(after, Let) and isinstance(call := after.value, Call):
                return _allocated(after, call)
            return after

        inside = tree.postorder(function, lambda node: not _is_kernel(node))
        kernels = {node: node for node in inside if _is_kernel(node)}
        return tree.transform(function, visit, kernels)


def _is_kernel(node: Syntax) -> bool:
    return isinstance(node, Expr) and is_kernel(node)


def _allocated(let: Let, call: Call) -> Expr:
    """A binding of a kernel call with explicit allocation, where that is possible."""
    kernel = call.op
    if not isinstance(kernel, Function) or not is_kernel(kernel) or kernel.type_params:
        return let
    result = kernel.body.checked_type
    if not _is_tensors(result):
        return let
    types = flatten_tuple_type(result)
    sizes = None
    if any(map(is_dynamic_shape, types)) and (sizes := shape_function(kernel)) is None:
        return let
    block = _Block()
    shapes = iter(block.shapes(sizes, call.args, types) if sizes else ())
    # a single result keeps the variable of the let
    name = let.variable if isinstance(result, TensorType) else None
    outs = []
    for ty in types:
        shape, size = next(shapes) if is_dynamic_shape(ty) else block.known(ty)
        outs.append(block.tensor(ty, shape, size, name))
    block.invoke(kernel, call.args, outs)
    if name is None:
        block.bindings.append((let.variable, to_tuple_type(result, outs)))
    return block.before(let.body)


def _is_tensors(ty: Type) -> bool:
    """Whether a type is made of tensors and tuples alone, the latter not nested."""
    fields = ty.fields if isinstance(ty, TupleType) else (ty,)
    return all(isinstance(part, TensorType) for part in fields)


@dataclass
class _Block:
    """A sequence of bindings."""

    bindings: list[tuple[Var, Expr]] = field(default_factory=list)

    def bind(self, name: str, value: Expr, ty: Type | None = None) -> Var:
        self.bindings.append((Var(name, ty), value))
        return self.bindings[-1][0]

    def numbers(self, name: str, values: Any) -> Var:
        return self.bind(name, const(np.asarray(values, "int64"), "int64"))

    def before(self, body: Expr) -> Expr:
        for variable, value in reversed(self.bindings):
            body = Let(variable, value, body)
        return body

    # --- allocation

    def known(self, ty: TensorType) -> tuple[Var, Var]:
        """The extents and the number of bytes of a tensor."""
        extents = [extent for extent in ty.shape if isinstance(extent, int)]
        size = prod(extents) * dtypes.to_numpy(ty.dtype).itemsize
        return self.numbers("shape", np.array(extents, "int64")), self.numbers("size", size)

    def tensor(self, ty: TensorType, shape: Var, size: Var, name: Var | None = None) -> Var:
        """A tensor in its own storage."""
        alignment, offset = self.numbers("alignment", ALIGNMENT), self.numbers("offset", 0)
        storage = self.bind(
            "storage", alloc_storage(size, alignment, dtype_hint=ty.dtype, shape=shape)
        )
        known = [extent if isinstance(extent, int) else None for extent in ty.shape]
        which = "assert_shape" if is_dynamic_shape(ty) else "const_shape"
        made = ALLOC_TENSOR(storage, offset, shape, dtype=ty.dtype, **{which: known})
        self.bindings.append((name or Var("tensor", ty), made))
        return self.bindings[-1][0]

    def invoke(self, kernel: Function, args: Sequence[Expr], outs: Sequence[Expr]) -> None:
        name = self.bind("kernel", kernel)
        ins, out = self.bind("ins", Tuple(tuple(args))), self.bind("outs", Tuple(tuple(outs)))
        self.bind("done", invoke_tvm_op(name, ins, out))

    def shapes(
        self, sizes: ShapeFunction, args: Sequence[Expr], types: Sequence[TensorType]
    ) -> list[tuple[Var, Var]]:
        """The extents and the numbers of bytes of the tensors with dynamic shapes."""
        given = []
        for index, number in sizes.arguments:
            tensor = args[index]
            if number is not None:
                tensor = self.bind("field", TupleGetItem(tensor, number))
            given.append(self.bind("extents", shape_of(tensor)))
        written = []
        for ty in types:
            if is_dynamic_shape(ty):
                parts = (TensorType((len(ty.shape),), "int64"), TensorType((), "int64"))
                shape, size = (self.tensor(part, *self.known(part)) for part in parts)
                written.append((shape, size))
        self.invoke(sizes.function, given, [part for pair in written for part in pair])
        return written
