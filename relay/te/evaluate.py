"""A slow, plain evaluator: what tensors and loops mean, to hold kernels against.

    evaluate([y], {x: array})     the elements of tensors, from what they are computed from
    run(loops, {buffer: array})   carries out statements; buffers are filled in place

Every index is checked. A read outside of its tensor is an error only where its value is used:
`select` does not look at the other side. Iterations of a parallel loop run in a shuffled order, and
memory nobody has written holds nonsense, so that loops which rely on either are found out.

Tensors are evaluated over all elements at once, loops one scalar after the other; the meaning of
single operations is in `relay.te.arithmetic`.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from relay import dtypes, tree
from relay.errors import RelayError
from relay.te import arithmetic
from relay.te.compute import Computation, Placeholder, Procedure, Tensor
from relay.te.expr import (
    Axis,
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Read,
    Reduce,
    Select,
    Source,
    Unary,
    Var,
    fold,
    width,
)
from relay.te.loops import (
    Allocate,
    Block,
    For,
    If,
    Kind,
    Let,
    Prefetch,
    Statement,
    Store,
    While,
)

Array = arithmetic.Array
_Key = TypeVar("_Key")

# elements of a grid evaluated at once; larger ones are cut along their first axis
_GRID = 1 << 22


@dataclass(frozen=True)
class Outside:
    """An index that is out of range; it stands where the value would."""

    source: str
    axis: int
    index: int
    extent: int

    def error(self) -> RelayError:
        return RelayError(
            f"index {self.index} is out of range for axis {self.axis} of `{self.source}`, "
            f"which has {self.extent} elements"
        )


def evaluate(
    outputs: Sequence[Tensor],
    inputs: Mapping[Tensor, np.ndarray],
    sizes: Mapping[Var, int] = {},
) -> list[np.ndarray]:
    """The elements of `outputs`; sizes known at run time only are read off the inputs' shapes."""
    known = dict(sizes)
    for tensor, array in inputs.items():
        if array.ndim == tensor.rank:
            for size, extent in zip(tensor.shape, array.shape, strict=True):
                if isinstance(size, Var):
                    known.setdefault(size, extent)
    arrays: dict[Source, np.ndarray] = {}
    for tensor, array in inputs.items():
        _expect(tensor, array, known)
        arrays[tensor] = array
    with np.errstate(all="ignore"):
        for op, tensors in _in_order(outputs, arrays):
            for tensor, array in zip(tensors, _results(op, tensors, arrays, known), strict=True):
                arrays[tensor] = array
    return [arrays[tensor] for tensor in outputs]


def run(
    statement: Statement,
    buffers: Mapping[_Key, np.ndarray],
    sizes: Mapping[Var, int] = {},
) -> None:
    """Carry out a statement over buffers (and tensors), which are filled in place."""
    machine = _Machine(dict(buffers), sizes)  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        machine.run(statement)


def _expect(source: Source, array: np.ndarray, sizes: Mapping[Var, int]) -> None:
    shape = _shape(source.shape, sizes)
    if array.shape != shape or array.dtype != dtypes.to_numpy(source.dtype):
        raise RelayError(
            f"`{source.name}` is {source.dtype}{list(shape)}, "
            f"found {array.dtype.name}{list(array.shape)}"
        )


def _shape(sizes: Iterable[Expr], known: Mapping[Var, int]) -> tuple[int, ...]:
    grid = _Grid({}, {var: np.asarray(value, np.int64) for var, value in known.items()})
    return tuple(int(grid.value(size)) for size in sizes)


def _nonsense(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """What memory holds before it is written."""
    strange = (
        float("nan") if dtypes.is_float(dtype) else 0x5A5A5A5A5A5A5A5A & (1 << width(dtype)) - 1
    )
    return np.full(shape, strange).astype(dtypes.to_numpy(dtype))


# --- tensors


def _in_order(
    outputs: Sequence[Tensor], known: Mapping[Source, np.ndarray]
) -> list[tuple[Computation | Procedure, list[Tensor]]]:
    """Every operation that is needed, after those it reads from, with the results asked for."""
    wanted: dict[int, tuple[Computation | Procedure, dict[Tensor, None]]] = {}
    order: list[int] = []
    pending: list[tuple[Tensor, bool]] = [(tensor, False) for tensor in reversed(outputs)]
    while pending:
        tensor, ready = pending.pop()
        op = tensor.op
        if tensor in known:
            continue
        if isinstance(op, Placeholder):
            raise RelayError(f"`{tensor.name}` has no value")
        if ready:
            order.append(id(op))
        elif id(op) in wanted:
            wanted[id(op)][1][tensor] = None
        else:
            wanted[id(op)] = op, {tensor: None}
            pending.append((tensor, True))
            pending.extend((source, False) for source in reversed(op.inputs))
    return [(wanted[key][0], list(wanted[key][1])) for key in order]


def _results(
    op: Computation | Procedure,
    tensors: list[Tensor],
    arrays: Mapping[Source, np.ndarray],
    sizes: Mapping[Var, int],
) -> list[np.ndarray]:
    if isinstance(op, Computation):
        return _computed(op, tensors, arrays, sizes)
    filled: dict[Source, np.ndarray] = {
        buffer: _nonsense(_shape(buffer.shape, sizes), buffer.dtype) for buffer in op.outputs
    }
    _Machine({**arrays, **filled}, sizes).run(op.body)
    return [filled[op.outputs[tensor.position]] for tensor in tensors]


def _computed(
    op: Computation,
    tensors: list[Tensor],
    arrays: Mapping[Source, np.ndarray],
    sizes: Mapping[Var, int],
) -> list[np.ndarray]:
    shape = _shape((axis.extent for axis in op.axes), sizes)
    over = op.reduction.axes if op.reduction is not None else ()
    reduced = _shape((axis.extent for axis in over), sizes)
    results = [np.empty(shape, dtypes.to_numpy(tensor.dtype)) for tensor in tensors]
    if 0 in shape:
        return results
    per_row = int(np.prod(shape[1:] + reduced, dtype=object))
    rows = max(1, _GRID // max(1, per_row)) if shape else 1
    for start in range(0, shape[0] if shape else 1, rows):
        part = (slice(start, start + rows),) if shape else ()
        grid = _Grid(arrays, {var: np.asarray(size, np.int64) for var, size in sizes.items()})
        grid.span(op.axes, shape, over, reduced, start, rows)
        inside = results[0][part].shape
        for tensor, result in zip(tensors, results, strict=True):
            if op.reduction is not None:
                value = grid.reduction(op.reduction, inside, reduced)[tensor.position]
            else:
                value = grid.value(op.bodies[tensor.position])
            result[part] = arithmetic.store(np.broadcast_to(value, inside), tensor.dtype)
    return results


class _Grid:
    """Expressions for all values of their variables at once, in arrays that broadcast."""

    def __init__(
        self, arrays: Mapping[Source, np.ndarray], variables: Mapping[Var, np.ndarray]
    ) -> None:
        self._arrays = arrays
        self._values: dict[int, Array] = {}
        # where a value came from outside: 1 + the position in `_found`, elsewhere 0
        self._marks: dict[int, Array] = {}
        self._found: list[Outside] = []
        self._keep: list[Expr] = []
        for var, value in variables.items():
            self._set(var, value)

    def _set(self, expr: Expr, value: Array) -> None:
        self._keep.append(expr)  # ids are only unique while their objects live
        self._values[id(expr)] = value

    def span(
        self,
        axes: Sequence[Axis],
        shape: tuple[int, ...],
        over: Sequence[Axis],
        reduced: tuple[int, ...],
        start: int,
        rows: int,
    ) -> None:
        """Let the axes run: along the dimensions of `shape`, those of `reduced` after them."""
        rank = len(shape) + len(reduced)
        for i, (axis, extent) in enumerate(zip((*axes, *over), shape + reduced, strict=True)):
            span = np.arange(extent, dtype=np.int64)
            if i == 0 and shape:
                span = span[start : start + rows]
            along = [1] * rank
            along[i] = len(span)
            # a computation that reduces has the further dimensions; they fall away at the end
            self._set(axis, span.reshape(along))

    def value(self, expr: Expr) -> Array:
        """The value; an error where an element of it was read out of range."""
        self._visit(expr)
        marks = self._marks.get(id(expr))
        if marks is not None and np.any(marks):
            raise self._found[int(marks.flat[np.flatnonzero(marks)[0]]) - 1].error()
        return self._values[id(expr)]

    def reduction(
        self, reduce: Reduce, shape: tuple[int, ...], reduced: tuple[int, ...]
    ) -> tuple[Array, ...]:
        """All values of the reduction: neighbours are combined until one is left."""
        kinds = tuple(value.dtype for value in reduce.values)
        identity = [self.value(unit) for unit in reduce.combiner.identity(kinds)]
        count = int(np.prod(reduced, dtype=np.int64))
        if count == 0:
            return tuple(identity)
        values = [
            np.broadcast_to(self.value(value), shape + reduced).reshape(*shape, count)
            for value in reduce.values
        ]
        left = tuple(Var(kind, "left") for kind in kinds)
        right = tuple(Var(kind, "right") for kind in kinds)
        combined = reduce.combiner.combine(left, right)
        while count > 1:
            if count % 2:
                values = [
                    np.concatenate((value, np.full((*shape, 1), unit, value.dtype)), axis=-1)
                    for value, unit in zip(values, identity, strict=True)
                ]
            pairs = _Grid(
                self._arrays,
                {
                    **{var: value[..., 0::2] for var, value in zip(left, values, strict=True)},
                    **{var: value[..., 1::2] for var, value in zip(right, values, strict=True)},
                },
            )
            count = (count + 1) // 2
            values = [np.broadcast_to(pairs.value(each), (*shape, count)) for each in combined]
        return tuple(value[..., 0] for value in values)

    def _visit(self, expr: Expr) -> None:
        for part in tree.postorder(expr, enter=lambda node: id(node) not in self._values):
            if id(part) in self._values:
                continue
            below = tree.children(part)
            operands = [self._values[id(child)] for child in below]
            marks = [self._marks.get(id(child)) for child in below]
            match part:
                case Select():
                    self._set(part, np.where(*operands))
                    if any(mark is not None for mark in marks):
                        condition, if_true, if_false = (
                            0 if mark is None else mark for mark in marks
                        )
                        chosen = np.where(operands[0], if_true, if_false)
                        self._marks[id(part)] = np.maximum(condition, chosen)
                    continue
                case Read():
                    value, outside = self._read(part, operands)
                    marks.append(outside)
                case _:
                    value = apply(part, operands)
            self._set(part, value)
            for mark in marks:
                if mark is not None:
                    before = self._marks.get(id(part), 0)
                    self._marks[id(part)] = np.maximum(before, mark)

    def _read(self, read: Read, indices: list[Array]) -> tuple[Array, Array | None]:
        array = _array(self._arrays, read.source)
        clamped: list[Array] = []
        marks: Array | None = None
        for axis, (position, extent) in enumerate(zip(indices, array.shape, strict=True)):
            wrong = (position < 0) | (position >= extent)
            clamped.append(np.where(wrong, 0, position))
            if np.any(wrong):
                first = int(np.asarray(position).flat[np.flatnonzero(wrong)[0]])
                self._found.append(Outside(read.source.name, axis, first, extent))
                marks = np.maximum(0 if marks is None else marks, wrong * len(self._found))
        if marks is not None and array.size == 0:
            return np.zeros(np.shape(marks), arithmetic.carrier(read.dtype)), marks
        return arithmetic.load(array[tuple(clamped)], read.dtype), marks


def _array(arrays: Mapping[Source, np.ndarray], source: Source) -> np.ndarray:
    if source not in arrays:
        raise RelayError(f"`{source.name}` has no value here")
    return arrays[source]


def apply(expr: Expr, operands: list[Array]) -> Array:
    """What a node makes of the values of its operands."""
    match expr:
        case Const():
            return np.asarray(expr.value).astype(arithmetic.carrier(expr.dtype))
        case Binary():
            return arithmetic.binary(expr.op, operands[0], operands[1], expr.dtype)
        case Compare():
            return arithmetic.COMPARE[expr.op](operands[0], operands[1])
        case Unary():
            return arithmetic.unary(expr.op, operands[0], expr.dtype)
        case Cast():
            return arithmetic.cast(operands[0], expr.operand.dtype, expr.dtype)
        case Bitcast():
            return arithmetic.bitcast(operands[0], expr.operand.dtype, expr.dtype)
        case Call():
            return arithmetic.call(expr.function, operands, expr.args[0].dtype)
        case Var():
            raise RelayError(f"`{expr.name}` has no value here")
    raise RelayError(f"`{expr!r}` is no scalar by itself")


# --- loops


class _Machine:
    """Statements, flattened into steps: each does its work and says which step comes next.

    Values live in slots, one for every distinct expression: integers as Python's, floats as NumPy
    scalars, so that a step costs a fraction of a microsecond.
    """

    def __init__(self, arrays: dict[Source, np.ndarray], sizes: Mapping[Var, int]) -> None:
        self._arrays = arrays
        self._sizes = sizes
        self._slots: list[Any] = []
        self._slot_of: dict[int, int] = {}
        self._steps: list[Callable[[int], int]] = []
        self._shuffle = random.Random(0)
        self._keep: list[Expr] = []
        for var, value in sizes.items():
            self._slots[self._slot(var)] = value

    def run(self, statement: Statement) -> None:
        self._flatten(statement)
        steps, position, end = self._steps, 0, len(self._steps)
        while position < end:
            position = steps[position](position)

    def _slot(self, expr: Expr) -> int:
        if id(expr) not in self._slot_of:
            self._keep.append(expr)  # ids are only unique while their objects live
            self._slot_of[id(expr)] = len(self._slots)
            self._slots.append(None)
        return self._slot_of[id(expr)]

    def _flatten(self, statement: Statement) -> None:
        """Append the steps of a statement. Pending are statements, and what comes after them."""
        pending: list[Statement | Callable[[], None]] = [statement]
        while pending:
            current = pending.pop()
            match current:
                case Block():
                    pending.extend(reversed(current.steps))
                case Store():
                    self._store(current)
                case Let():
                    self._let(current)
                    pending.append(current.body)
                case Allocate():
                    self._allocate(current)
                    pending.append(current.body)
                case For():
                    pending += [self._loop(current), current.body]
                case While():
                    pending += [self._while(current), current.body]
                case If(otherwise=None):
                    pending += [self._if(current), current.then]
                case If():
                    past = _Label()
                    otherwise = self._if(current, past)
                    assert current.otherwise is not None
                    pending += [partial(self._place, past), current.otherwise]
                    pending += [otherwise, current.then]
                case Prefetch():
                    pass
                case Statement():
                    raise RelayError(f"{type(current).__name__} is not a statement")
                case _:
                    current()

    def _place(self, label: _Label) -> None:
        label.position = len(self._steps)

    def _store(self, statement: Store) -> None:
        buffer, dtype = statement.buffer, statement.buffer.dtype
        indices = [self._scalar(each) for each in statement.indices]
        value = self._scalar(statement.value)
        arrays, storage = self._arrays, dtypes.to_numpy(dtype).type

        def step(position: int) -> int:
            array = _array(arrays, buffer)
            at = tuple(each() for each in indices)
            if (outside := _outside(buffer, at, array.shape)) is not None:
                raise outside.error()
            array[at] = storage(value())
            return position + 1

        self._steps.append(step)

    def _let(self, statement: Let) -> None:
        value, slot, slots = self._scalar(statement.value), self._slot(statement.var), self._slots

        def step(position: int) -> int:
            slots[slot] = value()
            return position + 1

        self._steps.append(step)

    def _allocate(self, statement: Allocate) -> None:
        buffer, arrays = statement.buffer, self._arrays
        sizes = [self._scalar(size) for size in buffer.shape]

        def step(position: int) -> int:
            arrays[buffer] = _nonsense(tuple(size() for size in sizes), buffer.dtype)
            return position + 1

        self._steps.append(step)

    def _loop(self, statement: For) -> Callable[[], None]:
        extent, slot, slots = self._scalar(statement.extent), self._slot(statement.var), self._slots
        remaining: list[Iterable[int]] = []
        past = _Label()

        def begin(position: int) -> int:
            order = list(range(extent()))
            if statement.kind is Kind.PARALLEL:
                self._shuffle.shuffle(order)
            remaining.append(iter(order))
            return position + 1

        def next_iteration(position: int) -> int:
            for value in remaining[-1]:
                slots[slot] = value
                return position + 1
            remaining.pop()
            return past.position

        self._steps += [begin, next_iteration]
        return partial(self._again, len(self._steps) - 1, past)

    def _while(self, statement: While) -> Callable[[], None]:
        past = _Label()
        head = len(self._steps)
        self._branch(statement.condition, past)
        return partial(self._again, head, past)

    def _again(self, head: int, past: _Label) -> None:
        """Close a loop: back to its head, which leaves it for what comes after."""
        self._steps.append(lambda _: head)
        self._place(past)

    def _if(self, statement: If, past: _Label | None = None) -> Callable[[], None]:
        otherwise = _Label()
        self._branch(statement.condition, otherwise)

        def close() -> None:
            if past is not None:
                self._steps.append(lambda _: past.position)
            self._place(otherwise)

        return close

    def _branch(self, condition: Expr, otherwise: _Label) -> None:
        holds = self._scalar(condition)
        self._steps.append(lambda at: at + 1 if holds() else otherwise.position)

    # --- scalars

    def _scalar(self, expr: Expr) -> Callable[[], Any]:
        """A function that works the expression out, from what the slots and buffers hold then."""
        steps: list[Callable[[], None]] = []
        for part in tree.postorder(expr):
            slot = self._slot(part)
            if isinstance(part, Const):
                self._slots[slot] = _plain(apply(part, []), part.dtype)
            elif isinstance(part, Var):
                if part in self._sizes:
                    self._slots[slot] = self._sizes[part]
            else:
                below = [self._slot(child) for child in tree.children(part)]
                steps.append(self._step(part, slot, below))
        slots, root = self._slots, self._slot(expr)

        def value() -> Any:
            for step in steps:
                step()
            result = slots[root]
            if type(result) is Outside:
                raise result.error()
            return result

        return value

    def _step(self, expr: Expr, slot: int, below: list[int]) -> Callable[[], None]:
        slots = self._slots
        if isinstance(expr, Select):
            condition, if_true, if_false = below

            def select() -> None:
                chosen = slots[condition]
                if type(chosen) is not Outside:
                    chosen = slots[if_true] if chosen else slots[if_false]
                slots[slot] = chosen

            return select
        function = self._function(expr)

        def step() -> None:
            operands = [slots[each] for each in below]
            for operand in operands:
                if type(operand) is Outside:
                    slots[slot] = operand
                    return
            slots[slot] = function(*operands)

        return step

    def _function(self, expr: Expr) -> Callable[..., Any]:
        match expr:
            case Read():
                return partial(_read, self._arrays, expr.source)
            case Binary() if not dtypes.is_float(expr.dtype):
                dtype, op = expr.dtype, expr.op
                return lambda a, b: _wrapped(fold(op, a, b, dtype), dtype)
            case Binary(op="add" | "sub" | "mul" as op):
                return _OPERATORS[op]
            case Compare():
                return _OPERATORS[expr.op]
            case Reduce():
                raise RelayError(f"loops hold no reductions, found `{expr!r}`")
        kinds = [child.dtype for child in tree.children(expr)]

        def general(*operands: Any) -> Any:
            arrays = [
                np.asarray(operand).astype(arithmetic.carrier(kind))
                for operand, kind in zip(operands, kinds, strict=True)
            ]
            return _plain(apply(expr, arrays), expr.dtype)

        return general


@dataclass
class _Label:
    """A place in the steps, known once they are written."""

    position: int = -1


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def _plain(value: Array, dtype: str) -> Any:
    """The form a scalar has in a slot."""
    return value[()] if dtypes.is_float(dtype) else value.item()


def _wrapped(value: int, dtype: str) -> int:
    bits = width(dtype)
    if bits == 1:
        return bool(value & 1)
    low = value & (1 << bits) - 1
    return low - (1 << bits) if dtype in dtypes.SIGNED and low >> bits - 1 else low


def _outside(source: Source, indices: tuple[int, ...], shape: tuple[int, ...]) -> Outside | None:
    for axis, (index, extent) in enumerate(zip(indices, shape, strict=True)):
        if not 0 <= index < extent:
            return Outside(source.name, axis, index, extent)
    return None


def _read(arrays: Mapping[Source, np.ndarray], source: Source, *indices: int) -> Any:
    array = _array(arrays, source)
    if (outside := _outside(source, indices, array.shape)) is not None:
        return outside
    return _plain(arithmetic.load(array[indices], source.dtype), source.dtype)
