"""Primitive functions -> tensor expressions, by the definitions of their operators.

fn (%x, %w, Primitive=1) { nn.relu(nn.dense(%x, %w)) }
  ->   d[i, j] = sum(x[i, k] * w[j, k] for k);  y[i, j] = max(d[i, j], 0)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from relay import te, tree
from relay.errors import LowerError
from relay.extents import has_room, too_large
from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Call, Constant, Expr, Function, Let, Tuple, TupleGetItem, Var
from relay.ir.types import TensorType, TupleType, Type
from relay.op.opdef import OpDef
from relay.tree import Steps

# A tensor, or nested tuples of tensors.
Value = te.Tensor | tuple[Any, ...]


@frozen
class Computed:
    """A function as tensor expressions, with flattened inputs and outputs."""

    inputs: tuple[te.Tensor, ...]
    outputs: tuple[te.Tensor, ...]
    operators: tuple[str, ...]


class Shapes:
    """The shapes of a function; here all sizes are known."""

    def type_of(self, param: Var) -> Type:
        """The type of a parameter."""
        return param.checked_type

    def extent(self, dim: Dim, expr: Expr) -> te.Expr:
        """A dimension as an expression of a kernel."""
        if not isinstance(dim, int):
            raise error_at(expr, f"size `{dim}` is known at run time only")
        return te.index(dim)

    def result(self, call: Call, op: OpDef, args: Sequence[Value]) -> Type:
        """The result type of a call."""
        return call.checked_type

    def started(self, inputs: Sequence[te.Tensor]) -> None:
        """Called with the flattened parameters before the body is visited."""


NUMBERS: Final = Shapes()


def to_compute(function: Function, shapes: Shapes = NUMBERS) -> Computed:
    """The tensors of a typed first-order function."""
    values: dict[Expr, Value] = {}
    inputs: list[te.Tensor] = []
    operators: list[str] = []
    for param in function.params:
        given = shapes.type_of(param)
        require_room(given, param)
        values[param] = tree.run(_placeholders(given, param.name_hint, param, inputs, shapes))
    shapes.started(inputs)
    body, lets = function.body, []
    while isinstance(body, Let):
        lets.append((body.var, body.value))
        body = body.body
    for var, bound in lets:
        _expression(bound, values, operators, shapes)
        values[var] = values[bound]
    _expression(body, values, operators, shapes)
    return Computed(tuple(inputs), tuple(flatten(values[body])), tuple(operators))


def _expression(
    root: Expr, values: dict[Expr, Value], operators: list[str], shapes: Shapes
) -> None:
    def enter(expr: Expr) -> bool:
        return expr not in values and not isinstance(expr, OpDef)

    for expr in tree.postorder(root, enter):
        if expr in values or isinstance(expr, OpDef):
            continue
        match expr:
            case Call(op=OpDef() as op):
                operators.append(op.name)
                values[expr] = _call(expr, op, [values[arg] for arg in expr.args], shapes)
            case Tuple():
                values[expr] = tuple(values[part] for part in expr.fields)
            case TupleGetItem():
                whole = values[expr.tuple_value]
                assert isinstance(whole, tuple)
                values[expr] = whole[expr.index]
            case Constant():
                values[expr] = _constant(expr)
            case Var():
                raise error_at(expr, f"variable `%{expr.name_hint}` has no value here")
            case _:
                raise error_at(expr, f"{type(expr).__name__} cannot be part of a kernel")


def calls_of(function: Function) -> list[Call]:
    """The operator calls of a function, in the order of `to_compute`."""
    found: dict[Expr, None] = {}
    body = function.body
    roots: list[Expr] = []
    while isinstance(body, Let):
        roots.append(body.value)
        body = body.body
    for root in (*roots, body):
        for expr in tree.postorder(root, lambda e: e not in found and not isinstance(e, OpDef)):
            if isinstance(expr, Call) and isinstance(expr.op, OpDef):
                found[expr] = None
    return [expr for expr in found if isinstance(expr, Call)]


def _call(expr: Call, op: OpDef, args: Sequence[Value], shapes: Shapes) -> Value:
    if op.compute is None:
        raise error_at(expr, f"operator `{op.name}` does not say how it is computed")
    made = shapes.result(expr, op, args)
    require_room(made, expr)
    out = tree.run(_specs(made, expr, shapes))
    return op.compute(*args, out=out, **keywords(expr, op))


def require_room(ty: Type, expr: Expr) -> None:
    """Refuse tensors so large that indices would overflow, even if they are never stored."""
    for part in tree.postorder(ty):
        if isinstance(part, TensorType) and not part.occurs:
            shape = part.concrete_shape
            if not has_room(shape, part.dtype):
                raise LowerError(too_large(shape, part.dtype, expr.span))


def keywords(expr: Call, op: OpDef) -> Mapping[str, Any]:
    """The attributes of a call, by name."""
    attrs = op.make_attrs({}) if expr.attrs is None else expr.attrs
    return {} if attrs is None else dict(attrs.items())


def _specs(ty: Type, expr: Expr, shapes: Shapes) -> Steps[Any]:
    """The shape and element type of a result, in nested tuples."""
    if isinstance(ty, TensorType):
        return te.Spec(tuple(shapes.extent(dim, expr) for dim in ty.shape), ty.dtype)
    assert isinstance(ty, TupleType)
    return tuple((yield tree.gather(_specs(field, expr, shapes) for field in ty.fields)))


def _placeholders(
    ty: Type, name: str, param: Var, inputs: list[te.Tensor], shapes: Shapes
) -> Steps[Value]:
    """The tensors of a parameter, which are also appended to `inputs`."""
    if isinstance(ty, TensorType):
        extents = [shapes.extent(dim, param) for dim in ty.shape]
        inputs.append(te.placeholder(extents, ty.dtype, name))
        return inputs[-1]
    if not isinstance(ty, TupleType):
        raise error_at(param, f"parameter `%{name}` of a kernel is a tensor, found {ty}")
    fields = (
        _placeholders(field, f"{name}_{i}", param, inputs, shapes)
        for i, field in enumerate(ty.fields)
    )
    return tuple((yield tree.gather(fields)))


def _constant(expr: Constant) -> te.Tensor:
    array = expr.data.array
    if array.size != 1:
        raise error_at(expr, "only scalar constants stand in a kernel; give others as arguments")
    value = te.const(array.item(), expr.data.dtype)
    return te.compute(array.shape, lambda *_: value, "constant")


def flatten(value: Value) -> list[te.Tensor]:
    """The flattened tensors of a value."""
    found: list[te.Tensor] = []
    pending: list[Value] = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, tuple):
            pending += reversed(part)
        else:
            found.append(part)
    return found


def error_at(expr: Expr, message: str) -> LowerError:
    """An error at the source location of an expression."""
    return LowerError.of(message, expr.span)
