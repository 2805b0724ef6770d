"""Operators that only scripts have: sizes, conversions of numbers, and of tensors."""

from __future__ import annotations

from typing import Any

import torch

from relay import dtypes, op
from relay.errors import FrontendError
from relay.frontend.common.builder import int64
from relay.frontend.common.stacking import concatenated, dynamic_along
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.promotion import cast
from relay.frontend.pytorch.scope import Complex
from relay.frontend.pytorch.script import containers
from relay.frontend.pytorch.script.calls import (
    DTYPES,
    element_type,
    number_of,
    operator,
    plain,
)
from relay.frontend.pytorch.script.coding import (
    a_number,
    builder,
    content,
    is_number,
    new,
    new_tensor,
    numbered,
    tensor,
)
from relay.frontend.pytorch.script.converter import Converter, Handlers
from relay.frontend.pytorch.script.forms import LIST, NumberForm, TensorForm, number_type
from relay.frontend.pytorch.script.graph import Call
from relay.frontend.pytorch.script.numbers import of_element, on_numbers
from relay.frontend.pytorch.script.path import Path
from relay.frontend.pytorch.script.values import (
    Chain,
    DictCell,
    Held,
    ListCell,
    Number,
    TensorCell,
    Text,
)
from relay.frontend.pytorch.types import QUANTIZED
from relay.ir import dims
from relay.ir.dims import Symbol
from relay.ir.expr import Call as Applied
from relay.ir.expr import Expr, Function, If, Let, Var
from relay.ir.types import TensorType, TypeCall

table = Handlers()

CPU = torch.device("cpu")
END = 2**63 - 1  # behind the last element


def node_of(path: Path, call: Call) -> Node:
    return builder(path, call.operator, call.span, (call.results or ("value",))[0])


def real(path: Path, call: Call, value: Any) -> Expr:
    """The expression of a tensor, of complex numbers their parts."""
    found = tensor(path, value, call.span)
    return found.pairs if isinstance(found, Complex) else found


def extent(path: Path, call: Call, data: Expr, axis: int) -> Any:
    """The extent of an axis: known, a dimension, or computed."""
    found = node_of(path, call).dimension(data, axis)
    return a_number(path, found) if isinstance(found, Expr) else found


# --- sizes and types


@table("aten::size")
def size(converter: Converter, path: Path, call: Call, value: Any, axis: Any = None) -> Any:
    if isinstance(held := path.get(value), Held) and axis is None:
        return containers.a_list(path, ())
    del held
    found = tensor(path, value, call.span)
    data = real(path, call, value)
    rank = len(node_of(path, call).shape(data)) - isinstance(found, Complex)
    if axis is None:
        return containers.a_list(path, [extent(path, call, data, at) for at in range(rank)])
    if not isinstance(axis, int):
        sizes = containers.a_list(path, [extent(path, call, data, at) for at in range(rank)])
        return containers.get_item(converter, path, call, sizes, axis)
    return extent(path, call, data, node_of(path, call).axis_of(axis, rank, "`dim`"))


@table("aten::dim")
def dim(converter: Converter, path: Path, call: Call, value: Any) -> Any:
    found = tensor(path, value, call.span)
    return node_of(path, call).rank(real(path, call, value)) - isinstance(found, Complex)


@table("aten::numel")
def numel(converter: Converter, path: Path, call: Call, value: Any) -> Any:
    data = real(path, call, value)
    rank = node_of(path, call).rank(data) - isinstance(tensor(path, value, call.span), Complex)
    found: Any = 1
    for at in range(rank):
        found = on_numbers(converter, path, call, "mul", found, extent(path, call, data, at))
    return found


@table("aten::len")
def length(converter: Converter, path: Path, call: Call, value: Any) -> Any:
    match value:
        case TensorCell():
            return size(converter, path, call, value, 0)
        case ListCell() | DictCell():
            return containers.length(path, call, value)
        case str() | tuple():
            return len(value)
    raise FrontendError.of("the length of such a value is not known", call.span)


@table("prim::dtype")
def dtype_of(converter: Converter, path: Path, call: Call, value: Any) -> Any:
    found = tensor(path, value, call.span)
    data = real(path, call, value)
    name = node_of(path, call).dtype(data)
    if (grid := path.scope.quantized.get(data)) is not None:
        name = next(str(one) for one, dtype in QUANTIZED.items() if dtype == grid.dtype)[6:]
    if isinstance(found, Complex):
        name = "complex128" if name == "float64" else "complex64"
    return number_of(name)


@table("prim::device", "aten::device", "prim::layout")
def device(converter: Converter, path: Path, call: Call, *_: Any) -> Any:
    return 0 if call.kind == "prim::layout" else CPU


_FALSE = (
    "prim::is_cuda", "prim::is_sparse", "prim::is_meta", "prim::is_mkldnn",
    "prim::is_xpu", "prim::is_mps",
    "prim::is_vulkan", "prim::is_ipu", "prim::is_nested", "aten::is_autocast_enabled",
    "aten::is_autocast_cpu_enabled", "aten::_is_tracing", "aten::is_inference", "prim::is_maia",
    "prim::is_hpu", "prim::is_mtia", "prim::is_sparse_csr", "aten::cudnn_is_acceptable",
    "prim::isQScheme", "prim::is_mkldnn",
)  # fmt: skip


@table(*_FALSE)
def no(converter: Converter, path: Path, call: Call, *_: Any) -> Any:
    return False


@table("prim::is_quantized")
def is_quantized(converter: Converter, path: Path, call: Call, value: Any) -> Any:
    return real(path, call, value) in path.scope.quantized


# gradients count as wanted: what torch computes without them in other ways is the same
@table(
    "aten::is_contiguous", "prim::is_cpu", "aten::is_scripting", "aten::is_grad_enabled",
    "prim::requires_grad",
)  # fmt: skip
def yes(converter: Converter, path: Path, call: Call, *_: Any) -> Any:
    return True


@table("aten::is_floating_point", "aten::is_complex", "aten::is_signed")
def is_kind(converter: Converter, path: Path, call: Call, value: Any) -> Any:
    found = tensor(path, value, call.span)
    if call.kind == "aten::is_complex":
        return isinstance(found, Complex)
    if isinstance(found, Complex):
        return call.kind == "aten::is_signed"
    name = node_of(path, call).dtype(found)
    if call.kind == "aten::is_floating_point":
        return dtypes.is_float(name)
    return name != "bool" and not name.startswith("uint")


@table("prim::type")
def kind_of_device(converter: Converter, path: Path, call: Call, value: Any) -> Any:
    return value.type if isinstance(value, torch.device) else str(value)


@table("prim::shape")
def shape(converter: Converter, path: Path, call: Call, value: Any) -> Any:
    return size(converter, path, call, value)


# --- numbers of tensors, tensors of numbers


_TO_NUMBER = {
    "aten::Int": "int64", "aten::Float": "float64", "aten::Bool": "bool",
    "aten::IntImplicit": "int64", "aten::FloatImplicit": "float64",
}  # fmt: skip


@table(*_TO_NUMBER, "aten::item", "aten::ScalarImplicit")
def to_number(converter: Converter, path: Path, call: Call, value: Any) -> Any:
    wanted = _TO_NUMBER.get(call.kind)
    if isinstance(value, Text | str):
        if isinstance(value, Text):
            raise FrontendError.of("a string is computed by the run", call.span)
        return {"int64": int, "float64": float, "bool": bool}[str(wanted)](value)
    if isinstance(value, TensorCell):
        held = path.get(value)
        value = held.number if isinstance(held, Held) else _item(path, call, value)
    return value if wanted is None else of_element(converter, path, call, value, wanted)


def _item(path: Path, call: Call, value: TensorCell) -> Any:
    """The number that a tensor of one element holds."""
    node = node_of(path, call)
    found = tensor(path, value, call.span)
    if isinstance(found, Complex):
        raise node.refused("complex numbers are no numbers of the program")
    for axis, one in enumerate(node.shape(found)):
        if isinstance(one, int) and one != 1:
            raise node.refused("a tensor of one element is needed", "1", str(node.type_of(found)))
        if not isinstance(one, int):
            count = node.size(found, axis)
            message = "a tensor of one element is needed"
            found = node.checked(found, op.equal(count, int64(1)), message, "1", "{}", count)
    plain_one = node.let(op.reshape(found, ()))
    dtype = node.dtype(plain_one)
    wide = "bool" if dtype == "bool" else "float64" if dtypes.is_float(dtype) else "int64"
    return a_number(path, node.as_dtype(plain_one, wide))


@table("prim::NumToTensor", "aten::scalar_tensor", "aten::as_tensor", "aten::tensor")
def to_tensor(
    converter: Converter, path: Path, call: Call, value: Any, dtype: Any = None, *_: Any
) -> Any:
    if isinstance(value, TensorCell):
        return value if dtype is None else to(converter, path, call, value, dtype, False, False)
    if call.kind == "prim::NumToTensor" and (isinstance(value, Number) or number_type(value)):
        return (
            path.new(TensorCell(), Held(value))
            if not isinstance(value, float)
            else _of_number(path, call, value, None)
        )
    if is_number(value):
        return _of_number(path, call, value, dtype)
    return _of_list(path, call, value, dtype)


def _of_number(path: Path, call: Call, value: Any, dtype: Any) -> Any:
    node = node_of(path, call)
    kind = value.dtype if isinstance(value, Number) else number_type(value)
    plain_type = "float32" if kind == "float64" else str(kind)
    if call.kind == "prim::NumToTensor":
        plain_type = str(kind)
    wanted = plain_type if dtype is None else element_type(dtype, call)
    found = cast(node, numbered(path, value, call.span), wanted)
    if found in path.scope.numbers:
        found = node.let(op.reshape(found, ()))
    return new_tensor(path, found)


def _of_list(path: Path, call: Call, value: Any, dtype: Any) -> Any:
    node = node_of(path, call)
    shape_, flat = _flattened(path, call, value)
    if all(not isinstance(one, Number | Symbol) for one in flat):
        held = torch.tensor(flat).reshape(shape_)
        if dtype is not None:
            held = held.to(getattr(torch, DTYPES[dtype]))
        elif held.dtype == torch.float64:
            held = held.float()
        from relay.frontend.pytorch.exported import constant

        return new_tensor(path, constant(held))
    kinds = [one.dtype if isinstance(one, Number) else str(number_type(one)) for one in flat]
    wide = max(kinds, key=("bool", "int64", "float64").index)
    narrow = "float32" if wide == "float64" else wide
    wanted = narrow if dtype is None else element_type(dtype, call)
    parts = [cast(node, numbered(path, one, call.span), wanted) for one in flat]
    whole = node.let(op.stack(parts, 0))
    return new_tensor(path, node.let(op.reshape(whole, shape_)))


def _flattened(path: Path, call: Call, value: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested lists of numbers, and the numbers."""
    shape_: list[int] = []
    level = [value]
    while level and isinstance(level[0], ListCell):
        held = [content(path, one, call.span) for one in level]
        if any(isinstance(one, Chain) for one in held):
            raise FrontendError.of("a list of unknown length becomes a tensor", call.span)
        shape_.append(len(held[0]))
        level = [one for some in held for one in some]
    return tuple(shape_), level


@table("prim::tolist")
def to_list(converter: Converter, path: Path, call: Call, value: Any, rank: Any, kind: Any) -> Any:
    node = node_of(path, call)
    data = real(path, call, value)
    if rank == 0:
        return _item(path, call, value)
    if rank != 1 or node.rank(data) != 1:
        raise node.refused("`tolist` of more than one axis", "a tensor of one axis")
    count = node.shape(data)[0]
    if isinstance(count, int):
        parts = [node.let(op.take(data, int64(at), axis=0)) for at in range(count)]
        return containers.a_list(path, [a_number(path, _wide(node, one)) for one in parts])
    return _listed(path, call, data)


def _wide(node: Node, value: Expr) -> Expr:
    dtype = node.dtype(value)
    return node.as_dtype(
        value, "bool" if dtype == "bool" else "float64" if dtypes.is_float(dtype) else "int64"
    )


def _listed(path: Path, call: Call, data: Expr) -> Any:
    """The numbers of a vector of unknown length as a list."""
    node = node_of(path, call)
    wide = _wide(node, data)
    ty = TensorType((), node.dtype(wide))
    lists = TypeCall(LIST, (ty,))
    count = node.size(wide, 0)
    number, so_far, again = Var("turn", TensorType((), "int64")), Var("list", lists), Var("loop")
    cons, nil = (path.scope.module.get_constructor(name) for name in ("Cons", "Nil"))
    longer = Applied(cons, (op.take(wide, number, axis=0, mode="clip"), so_far))
    body = If(op.less(number, count), Applied(again, (number + int64(1), longer)), so_far)
    function = Function((number, so_far), body, lists)
    empty = path.typed(Applied(nil, ()), lists, "empty")
    made = Let(again, function, Applied(again, (int64(0), empty)))
    return new(
        path, ListCell(), Chain(path.typed(made, lists, "list"), count, NumberForm(ty.dtype))
    )


# --- conversions of tensors


@table("aten::to")
def to(converter: Converter, path: Path, call: Call, value: Any, *given: Any) -> Any:
    arguments = converter.schema(call).arguments if call.kind == "aten::to" else ()
    names = [one.name for one in arguments[1:]] or ["dtype", "non_blocking", "copy"]
    named = dict(zip(names, given, strict=False))
    data = tensor(path, value, call.span)
    node = node_of(path, call)
    wanted = named.get("dtype")
    if isinstance(named.get("other"), TensorCell):
        other = tensor(path, named["other"], call.span)
        wanted = None
        if not isinstance(other, Complex) and not isinstance(data, Complex):
            wanted = number_of(node.dtype(other))
    if wanted is None or wanted == _number_of(node, data):
        if named.get("memory_format") is not None:
            return new_tensor(path, data, value.origins)  # or a copy
        return new_tensor(path, data) if named.get("copy") else value
    dtype = element_type(wanted, call)
    if isinstance(data, Complex) or not isinstance(dtype, str):
        return new_tensor(path, _to_complex(node, data, dtype))
    return new_tensor(path, cast(node, data, dtype))


def _number_of(node: Node, data: Any) -> int:
    if isinstance(data, Complex):
        return number_of("complex128" if node.dtype(data.pairs) == "float64" else "complex64")
    return number_of(node.dtype(data))


def _to_complex(node: Node, data: Any, dtype: Any) -> Any:
    if isinstance(dtype, str):
        raise node.refused("complex numbers become real ones", hint="take `.real` of them")
    part = "float64" if dtype == torch.complex128 else "float32"
    if isinstance(data, Complex):
        return Complex(node.as_dtype(data.pairs, part))
    plain_one = node.as_dtype(data, part)
    return Complex(node.let(op.stack([plain_one, node.let(op.zeros_like(plain_one))], -1)))


@table("aten::cpu", "aten::cuda", "prim::data", "aten::detach",
       "aten::requires_grad_", "aten::pin_memory", "aten::resolve_conj", "aten::alias")  # fmt: skip
def as_it_is(converter: Converter, path: Path, call: Call, value: Any, *_: Any) -> Any:
    return value


@table("aten::contiguous")
def contiguous(converter: Converter, path: Path, call: Call, value: Any, *_: Any) -> Any:
    return new_tensor(path, tensor(path, value, call.span), value.origins)  # or a copy


@table("aten::dropout", "aten::feature_dropout", "aten::alpha_dropout")
def dropout(converter: Converter, path: Path, call: Call, value: Any, p: Any, train: Any) -> Any:
    return operator(converter, path, call, value, p, train) if train is not False else value


@table("aten::type_as")
def type_as(converter: Converter, path: Path, call: Call, value: Any, other: Any) -> Any:
    node = node_of(path, call)
    return to(converter, path, call, value, _number_of(node, tensor(path, other, call.span)), False)


@table("aten::clone")
def clone(converter: Converter, path: Path, call: Call, value: Any, *_: Any) -> Any:
    return new_tensor(path, tensor(path, value, call.span))


@table("aten::slice")
def sliced(converter: Converter, path: Path, call: Call, value: Any, *given: Any) -> Any:
    if not isinstance(value, TensorCell) or not isinstance(given[-1], Number):
        return operator(converter, path, call, value, *given)
    axis, start, end, step = given
    node = node_of(path, call)
    data = real(path, call, value)
    fits = op.greater(step.value, int64(0))
    positive = node.checked(step.value, fits, "the step of a slice is not positive")
    first = 0 if start is None else plain(path, start, call)
    last = END if end is None else plain(path, end, call)
    begin, stop, every = (node.sizes([one]) for one in (first, last, positive))
    found = op.strided_slice(data, begin, stop, every, axes=(node.axis(data, axis),))
    return new_tensor(path, node.let(found), value.origins)


# --- lists of tensors


@table("aten::cat", "aten::concat", "aten::concatenate", "aten::stack")
def concatenate(converter: Converter, path: Path, call: Call, cell: Any, *rest: Any) -> Any:
    held = content(path, cell, call.span) if isinstance(cell, ListCell) else ()
    if not isinstance(held, Chain):
        return operator(converter, path, call, cell, *rest)
    node = node_of(path, call)
    form = held.form
    if not isinstance(form, TensorForm) or form.pairs:
        expected = "tensors of one element type, with the same number of axes"
        raise node.refused("elements of the list are of several kinds", expected, str(form))
    axis = rest[0] if rest else 0
    fresh = call.kind == "aten::stack"
    element = form.type
    rank = len(element.shape) + fresh
    axis = node.axis_of(axis, rank, "`dim`")
    if fresh:
        element = TensorType((*element.shape[:axis], 1, *element.shape[axis:]), element.dtype)
    wanted = dynamic_along(element, axis)
    one = Var("one", form.type)
    value: Expr = op.expand_dims(one, axis) if fresh else one
    bound = Var("part", wanted)
    function = Function((one,), Let(bound, value, bound), wanted)
    prelude = path.scope.module.get_global_var
    parts = TypeCall(LIST, (wanted,))
    mapped = path.typed(Applied(prelude("map"), (function, held.elements)), parts, "parts")
    forward = path.typed(Applied(prelude("rev"), (mapped,)), parts, "forward")
    no_shape = tuple(0 if at == axis else one for at, one in enumerate(element.shape))
    empty = path.typed(node.zeros(no_shape, element.dtype), wanted, "empty")
    whole = concatenated(path.scope.module, forward, wanted, axis, empty)
    known = [dims.ANY if at == axis else one for at, one in enumerate(element.shape)]
    result = path.typed(path.typed(whole, wanted, "whole"), TensorType(tuple(known), element.dtype))
    return new_tensor(path, result)


@table("aten::unbind")
def unbind(converter: Converter, path: Path, call: Call, value: Any, axis: Any = 0) -> Any:
    node = node_of(path, call)
    data = tensor(path, value, call.span)
    if isinstance(data, Complex) or isinstance(node.shape(data)[axis], int):
        return operator(converter, path, call, value, axis)
    rank = node.rank(data)
    axis = node.axis_of(axis, rank, "`dim`")
    ty = node.tensor_type(data)
    part = TensorType((*ty.shape[:axis], *ty.shape[axis + 1 :]), ty.dtype)
    lists = TypeCall(LIST, (part,))
    count = node.size(data, axis)
    number, so_far, again = Var("turn", TensorType((), "int64")), Var("list", lists), Var("loop")
    cons, nil = (path.scope.module.get_constructor(name) for name in ("Cons", "Nil"))
    one = Var("part", part)
    step = Let(
        one,
        op.take(data, number, axis=axis, mode="clip"),
        Applied(again, (number + int64(1), Applied(cons, (one, so_far)))),
    )
    function = Function((number, so_far), If(op.less(number, count), step, so_far), lists)
    empty = path.typed(Applied(nil, ()), lists, "empty")
    made = Let(again, function, Applied(again, (int64(0), empty)))
    chain = Chain(path.typed(made, lists, "list"), count, TensorForm(part))
    return new(path, ListCell(holds=value.origins), chain)
