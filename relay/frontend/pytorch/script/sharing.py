"""Tensors that share memory: views, and operators that change a tensor in place.

    y = x[:, 0]; y += 1       x is what it was, with the new elements of y at their positions
    x.zero_()                 y is made again from the new x, where it is used

Where a value may be a view or not, as of `reshape` or of two branches, a change of one of them
makes the other one unknown: its next use is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from relay import op
from relay.errors import FrontendError
from relay.frontend.common.builder import int64, static
from relay.frontend.pytorch.promotion import cast
from relay.frontend.pytorch.quantization import on_grid
from relay.frontend.pytorch.scope import Complex
from relay.frontend.pytorch.script.coding import (
    Shared,
    builder,
    content,
    new,
    shared_of,
    spoil,
    tensor,
)
from relay.frontend.pytorch.script.graph import Call, Schema
from relay.frontend.pytorch.script.path import Path
from relay.frontend.pytorch.script.values import Cell, ListCell, TensorCell, View
from relay.ir.expr import Expr

if TYPE_CHECKING:
    from relay.frontend.pytorch.node import Node
    from relay.frontend.pytorch.script.converter import Converter

# results share the memory of the first argument
VIEWS = frozenset(
    {
        "adjoint", "alias", "as_strided", "chunk", "detach", "diagonal", "expand", "expand_as",
        "mT", "mH", "matrix_H", "movedim", "moveaxis", "narrow", "numpy_T", "permute", "select",
        "slice", "split", "split_with_sizes", "squeeze", "swapaxes", "swapdims", "t",
        "tensor_split", "transpose", "unbind", "unflatten", "unfold", "unsqueeze", "view",
        "view_as", "hsplit", "vsplit", "dsplit",
    }
)  # fmt: skip
REPEATING = frozenset({"expand", "expand_as", "as_strided", "unfold"})
# results may be an argument, or share its memory, which torch does not declare
UNDECLARED = frozenset(
    {"atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "meshgrid", "sum_to_size"}
)
RESHAPING = frozenset({"view", "view_as", "unsqueeze", "squeeze", "unflatten"})


def wrapped(
    converter: Converter, path: Path, call: Call, schema: Schema, values: Sequence[Any], result: Any
) -> Any:
    """The result of an operator, which may share memory with its first argument."""
    from relay.frontend.pytorch.script.calls import as_values
    from relay.frontend.pytorch.script.containers import a_list

    base = values[0] if values else None
    if schema.name.partition("::")[2] in UNDECLARED:
        found = as_values(path, call, result)
        return _entangled(path, found, shared_of(path, values))
    if not (converter.model.writes and schema.shares and isinstance(base, TensorCell)):
        return as_values(path, call, result)
    name = schema.name.partition("::")[2]
    if name not in VIEWS or isinstance(result, Complex):
        found = as_values(path, call, result)
        if isinstance(found, TensorCell):
            return new(path, TensorCell(base.origins), path.get(found))
        return found
    if isinstance(result, list):
        made = [
            _view(converter, path, call, schema, values, one, place)
            for place, one in enumerate(result)
        ]
        return a_list(path, made)
    return _view(converter, path, call, schema, values, result, None)


def _entangled(path: Path, found: Any, shared: Shared) -> Any:
    """A tensor, or a list of them, that may share memory with others."""
    if isinstance(found, TensorCell):
        return new(path, TensorCell(shared.parts), path.get(found))
    return new(path, ListCell(), tuple(_entangled(path, one, shared) for one in path.get(found)))


def _view(
    converter: Converter,
    path: Path,
    call: Call,
    schema: Schema,
    values: Sequence[Any],
    result: Expr,
    place: int | None,
) -> TensorCell:
    from relay.frontend.pytorch.script.calls import applied

    base: TensorCell = values[0]
    name = schema.name.partition("::")[2]
    held = [*values]
    others = {
        at: _frozen(path, value, call)
        for at, value in enumerate(held)
        if at and isinstance(value, Cell)
    }

    def make(there: Path, whole: Any) -> Any:
        found = applied(converter, there, call, schema, name, held, {0: whole, **others})
        return found if place is None else found[place]

    cell = TensorCell(base.origins)
    whole = tensor(path, base, call.span)
    new(path, cell, View(base, make, partial(_put, converter, call, name, held, make)))
    path.views[cell] = (whole, result)
    return cell


def _frozen(path: Path, value: Any, call: Call) -> Any:
    from relay.frontend.pytorch.script.calls import plain

    return plain(path, value, call)


def _put(
    converter: Converter,
    call: Call,
    name: str,
    values: Sequence[Any],
    make: Callable[[Path, Any], Any],
    path: Path,
    whole: Expr,
    part: Expr,
) -> Expr:
    """A tensor with new elements in the place of a view of it."""
    node = builder(path, call.operator, call.span)
    if name in REPEATING:
        hint = "make a copy with `.clone()` first"
        raise node.refused("elements of a view that may repeat are changed in place", hint=hint)
    if name in RESHAPING:
        return _reshaped(node, part, whole)
    if name in ("detach", "alias"):
        return part
    if name in ("transpose", "swapaxes", "swapdims"):
        return node.let(op.transpose(part, _swapped(node.rank(whole), *values[1:3])))
    if name in ("t", "numpy_T"):
        return node.let(op.transpose(part))
    return _scattered(node, whole, make(path, _positions(node, whole)), part)


def _swapped(rank: int, one: int, other: int) -> list[int]:
    order = [*range(rank)]
    order[one], order[other] = order[other], order[one]
    return order


def _reshaped(node: Node, value: Expr, like: Expr) -> Expr:
    """A tensor in the shape of another one with as many elements."""
    shape = node.shape(like)
    if (numbers := static(shape)) is not None:
        return node.let(op.reshape(value, numbers))
    sizes = node.sizes([node.size(like, axis) for axis in range(len(shape))])
    return node.declare(op.dyn.reshape(value, sizes), shape, node.dtype(value))


def _positions(node: Node, whole: Expr) -> Expr:
    """The positions of the elements of a tensor, in its shape."""
    numbers = static(node.shape(whole))
    if numbers is not None:
        count: Expr = int64(prod(numbers))
    else:
        count = int64(1)
        for axis in range(node.rank(whole)):
            count = node.let(op.multiply(count, node.size(whole, axis)))
    return _reshaped(node, node.let(op.arange(count, dtype="int64")), whole)


def _scattered(node: Node, whole: Expr, positions: Expr, part: Expr) -> Expr:
    flat, at, values = (node.let(op.reshape(one, (-1,))) for one in (whole, positions, part))
    return _reshaped(node, node.let(op.scatter_elements(flat, at, values, 0)), whole)


# --- changes in place


def in_place(
    converter: Converter, path: Path, call: Call, schema: Schema, values: Sequence[Any]
) -> Any:
    """Convert an operator that changes its first argument, which is its result."""
    from relay.frontend.pytorch.script.calls import applied

    full = schema.name.partition("::")[2]
    target = values[0]
    node = builder(path, f"aten.{full}", call.span, (call.results or ("value",))[0])
    is_first = schema.arguments[0].name == schema.writes
    if not is_first or not full.endswith("_") or not isinstance(target, TensorCell):
        raise node.refused("results in memory that is given (`out=`) are not supported")
    name = full[:-1]
    before = tensor(path, target, call.span)
    if isinstance(before, Complex):
        raise node.refused("complex numbers are changed in place")
    match name:
        case "zero":
            result: Any = node.scalar(0, node.dtype(before))
        case "fill" | "copy":
            given = values[1]
            result = tensor(path, given, call.span) if isinstance(given, TensorCell) else given
            if not isinstance(given, TensorCell):
                from relay.frontend.pytorch.script.calls import plain

                result = node.scalar(plain(path, given, call), node.dtype(before))
        case "requires_grad" | "detach":
            return target
        case _:
            result = applied(converter, path, call, schema, name, values)
    if isinstance(result, Complex):
        raise node.refused("a real tensor is changed to complex numbers")
    change(path, target, like(node, result, before), call)
    return target


def _on_grid(path: Path, value: Expr, whole: Expr, call: Call) -> Expr:
    """New elements of a tensor on its grid, if it is a quantized one."""
    grid = path.scope.quantized.get(whole)
    if grid is None or value in path.scope.quantized:
        return value
    return on_grid(builder(path, call.operator, call.span), value, grid)


def like(node: Node, value: Expr, other: Expr) -> Expr:
    """A value in the shape and element type of a tensor that it is assigned to."""
    value = cast(node, value, node.dtype(other))
    if node.shape(value) == node.shape(other):
        return value
    spare = node.rank(value) - node.rank(other)
    if spare > 0:
        value = node.let(op.squeeze(value, tuple(range(spare))))
    if (numbers := static(node.shape(other))) is not None:
        return node.let(op.broadcast_to(value, numbers))
    sizes = node.sizes([node.size(other, axis) for axis in range(node.rank(other))])
    return node.declare(op.dyn.broadcast_to(value, sizes), node.shape(other), node.dtype(other))


def change(path: Path, cell: TensorCell, value: Expr, call: Call) -> None:
    """Give a tensor new elements; the tensor it is a view of gets them too."""
    held = content(path, cell, call.span)
    before = tensor(path, cell, call.span)
    assert isinstance(before, Expr)
    value = _on_grid(path, value, before, call)
    while isinstance(held, View):
        whole = tensor(path, held.base, call.span)
        if isinstance(whole, Complex):
            raise FrontendError.of("complex numbers are changed in place", call.span)
        value = _on_grid(path, held.put(path, whole, value), whole, call)
        cell = held.base
        held = content(path, cell, call.span)
    spoil(path, cell, _Derived(path, cell))
    path.put(cell, value)


class _Derived:
    """The views of a tensor, which are made again when it changes."""

    def __init__(self, path: Path, root: Cell) -> None:
        self.path, self.root = path, root

    def __contains__(self, cell: object) -> bool:
        held = self.path.get(cell) if self.path.has(cell) else None
        while isinstance(held, View):
            if held.base is self.root:
                return True
            held = self.path.get(held.base)
        return False
