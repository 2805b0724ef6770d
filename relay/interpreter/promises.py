"""Run-time type checks: does a value have its static type?

Inference accepts what it cannot disprove. `?` is an unknown dimension, `n` one that is the same
everywhere in a function; whether the extents agree is checked at run time.

    fn [n](%x: Tensor[(n, 3), float32], %y: Tensor[(n + 1), float32])

Called with a (2, 3) and a (4,), the error is that `%y` should have extent n + 1 = 3 and has 4.

Data types are checked by name, functions only for being one. Fields are checked where they are
stored and read, so that a loop over a list does not check the whole list in every iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from relay import dtypes, nd
from relay.errors import AnySpan, EvaluationError
from relay.immutable import frozen
from relay.interpreter.values import ConstructorValue, RefValue, TupleValue, Value, describe
from relay.ir import dims
from relay.ir.dims import Dim, Symbol
from relay.ir.expr import Var
from relay.ir.types import FuncType, RefType, TensorType, TupleType, Type, TypeCall
from relay.nd import NDArray, Storage
from relay.op.memory import STORAGE

# The extents of named dynamic dimensions.
Extents = Mapping[Symbol, int]


def bind_extents(
    params: Sequence[Var], args: Sequence[Value], known: Extents, callee: str, span: AnySpan | None
) -> Extents:
    """Check the arguments of a call; returns `known` with the extents that they determine."""
    dynamic: list[_Axis] = []
    for param, arg in zip(params, args, strict=True):
        if param.type_annotation is not None and not _fits(arg, param.type_annotation):
            name = f"parameter `%{param.name_hint}` of {callee}"
            dynamic += _compare(arg, param.type_annotation, name, span or param.span)
    return _solve(dynamic, known) if dynamic else known


def check(value: Value, ty: Type, known: Extents, name: str, span: AnySpan | None) -> None:
    """Raise if `value` is not of type `ty`; dimensions that are not `known` may be anything."""
    if not _fits(value, ty):
        for axis in _compare(value, ty, name, span):
            if isinstance(wanted := axis.wanted(known), int) and wanted != axis.extent:
                axis.fail(wanted)


def _fits(value: Value, ty: Type) -> bool:
    """The fast path: a tensor of exactly that type."""
    if type(ty) is not TensorType or type(value) is not NDArray:
        return False
    return value.dtype == ty.dtype and value.shape == ty.shape


@frozen
class _Axis:
    """An axis of a tensor with a named dynamic dimension, whose extent is to be compared."""

    dim: Dim
    extent: int
    index: int
    tensor: NDArray
    ty: TensorType
    name: str
    span: AnySpan | None

    def wanted(self, known: Extents) -> Dim:
        """The dimension with known extents substituted."""
        try:
            return dims.substitute(self.dim, lambda symbol: known.get(symbol, symbol))
        except ZeroDivisionError:
            self.fail(self.dim)

    def fail(self, wanted: Dim) -> NoReturn:
        equal = "" if wanted == self.dim else f" = {wanted}"
        _fail(
            f"{self.name} has the wrong extent in dimension {self.index}",
            self.span,
            f"{self.dim}{equal}, in {self.ty}",
            f"{self.extent}, in {describe(self.tensor)}",
        )


def _compare(value: Value, ty: Type, name: str, span: AnySpan | None) -> Iterable[_Axis]:
    """Raise if `value` cannot have type `ty`; the axes with dynamic dimensions are returned."""
    dynamic: list[_Axis] = []
    pending: list[tuple[Value, Type]] = [(value, ty)]
    while pending:
        part, expected = pending.pop()
        match expected, part:
            case TensorType(), NDArray():
                dynamic += _compare_tensor(part, expected, name, span)
            case TupleType(), TupleValue() if len(expected.fields) == len(part.fields):
                pending.extend(zip(part.fields, expected.fields, strict=True))
            case RefType(), RefValue():
                pending.append((part.value, expected.value))
            case TypeCall(), ConstructorValue() if part.constructor.belong_to == expected.func:
                pass
            case TypeCall(), Storage() if expected == STORAGE:
                pass
            case FuncType(), _ if _is_function(part):
                pass
            case ((TensorType() | TupleType() | RefType() | TypeCall() | FuncType()), _):
                whole = "" if part is value else "a part of "
                _fail(f"{whole}{name} has the wrong type", span, str(expected), describe(part))
    return dynamic


def _is_function(value: Value) -> bool:
    return not isinstance(value, NDArray | Storage | TupleValue | ConstructorValue | RefValue)


def _compare_tensor(
    tensor: NDArray, ty: TensorType, name: str, span: AnySpan | None
) -> Iterable[_Axis]:
    if tensor.array.dtype != dtypes.to_numpy(ty.dtype):
        hint = nd.conversion(tensor, ty.dtype)
        _fail(f"{name} has the wrong element type", span, str(ty), describe(tensor), hint)
    if len(tensor.shape) != len(ty.shape):
        _fail(f"{name} has the wrong rank", span, str(ty), describe(tensor))
    for index, (dim, extent) in enumerate(zip(ty.shape, tensor.shape, strict=True)):
        axis = _Axis(dim, extent, index, tensor, ty, name, span)
        if isinstance(dim, int):
            if dim != extent:
                axis.fail(dim)
        elif not isinstance(dim, dims.Any):
            yield axis


def _solve(axes: list[_Axis], known: Extents) -> Extents:
    """Solve for the extents of named dimensions, and compare those that are known.

    An axis determines a name when that is the only unknown one in it: `n + 1` with extent 4 means n
    is 3. Iterates to a fixed point, since one solution may enable another.
    """
    known = dict(known)
    while axes:
        undecided = []
        for axis in axes:
            wanted = axis.wanted(known)
            if isinstance(wanted, int):
                if wanted != axis.extent:
                    axis.fail(wanted)
            elif (unknown := _only_symbol(wanted)) is not None:
                symbol, factor, rest = unknown
                known[symbol], remainder = divmod(axis.extent - rest, factor)
                if remainder or known[symbol] < 0:
                    axis.fail(axis.dim)
            else:
                undecided.append(axis)
        if len(undecided) == len(axes):
            break
        axes = undecided
    return known


def _only_symbol(dim: Dim) -> tuple[Symbol, int, int] | None:
    """(n, c, r) when `dim` is c * n + r with a symbol n and numbers c and r."""
    symbols = set(dims.atoms(dim))
    if len(symbols) == 1:
        (symbol,) = symbols
        match dims.linear_in(dim, symbol):
            case factor, int() as rest:
                return symbol, factor, rest
    return None


def _fail(
    message: str, span: AnySpan | None, expected: str, found: str, hint: str | None = None
) -> NoReturn:
    raise EvaluationError.of(message, span, expected, found, hint)
