"""An interpreter of loops: the semantics of statements.

    run(statement, {buffer: array})     fills the buffers in place

Every index is checked; a read out of range is an error only if its value is used: `select` ignores
the other side. Parallel loops run in random order, and uninitialized memory holds garbage, to
expose loops that rely on either.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from relay import dtypes, tree
from relay.errors import RelayError
from relay.immutable import frozen
from relay.te import arithmetic, loops
from relay.te import expr as te
from relay.te.arithmetic import Array, apply


def run(
    statement: loops.Statement,
    buffers: Mapping[loops.Buffer, np.ndarray] | Mapping[te.Source, np.ndarray],
    sizes: Mapping[te.Var, int] = {},
) -> None:
    """Run a statement over buffers (and tensors), which are filled in place."""
    arrays: dict[te.Source, np.ndarray] = dict(buffers.items())
    with np.errstate(all="ignore"):
        _Machine(arrays, sizes).run(statement)


@frozen
class Outside:
    """An out-of-range read, in place of its value."""

    source: str
    axis: int
    index: int
    extent: int

    def error(self) -> RelayError:
        return RelayError(
            f"index {self.index} is out of range for axis {self.axis} of `{self.source}`, "
            f"which has {self.extent} elements"
        )


def uninitialized(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Uninitialized memory."""
    strange = (
        float("nan") if dtypes.is_float(dtype) else 0x5A5A5A5A5A5A5A5A & (1 << te.width(dtype)) - 1
    )
    return np.full(shape, strange).astype(dtypes.to_numpy(dtype))


def array_of(arrays: Mapping[te.Source, np.ndarray], source: te.Source) -> np.ndarray:
    if source not in arrays:
        raise RelayError(f"`{source.name}` has no value here")
    return arrays[source]


class _Machine:
    """Statements compiled to a list of steps, each of which returns the position of the next.

    Values live in slots, one per distinct expression: Python integers and NumPy float scalars.
    """

    def __init__(self, arrays: dict[te.Source, np.ndarray], sizes: Mapping[te.Var, int]) -> None:
        self._arrays = arrays
        self._sizes = sizes
        self._slots: list[Any] = []
        self._slot_of: dict[int, int] = {}
        self._steps: list[Callable[[int], int]] = []
        self._shuffle = random.Random(0)
        self._keep: list[te.Expr] = []
        for var, value in sizes.items():
            self._slots[self._slot(var)] = value

    def run(self, statement: loops.Statement) -> None:
        self._flatten(statement)
        steps, position, end = self._steps, 0, len(self._steps)
        while position < end:
            position = steps[position](position)

    def _slot(self, expr: te.Expr) -> int:
        if id(expr) not in self._slot_of:
            self._keep.append(expr)  # ids are only unique while their objects live
            self._slot_of[id(expr)] = len(self._slots)
            self._slots.append(None)
        return self._slot_of[id(expr)]

    def _flatten(self, statement: loops.Statement) -> None:
        """Append the steps of a statement; callables on the stack close blocks."""
        pending: list[loops.Statement | Callable[[], None]] = [statement]
        while pending:
            current = pending.pop()
            match current:
                case loops.Block():
                    pending.extend(reversed(current.steps))
                case loops.Store():
                    self._store(current)
                case loops.Let():
                    self._let(current)
                    pending.append(current.body)
                case loops.Allocate():
                    self._allocate(current)
                    pending.append(current.body)
                case loops.For():
                    pending += [self._loop(current), current.body]
                case loops.While():
                    pending += [self._while(current), current.body]
                case loops.If(otherwise=None):
                    pending += [self._if(current), current.then]
                case loops.If():
                    past = _Label()
                    otherwise = self._if(current, past)
                    assert current.otherwise is not None
                    pending += [partial(self._place, past), current.otherwise]
                    pending += [otherwise, current.then]
                case loops.Prefetch() | loops.Fail(optional=True):
                    pass
                case loops.Fail():
                    self._fail(current)
                case loops.Statement():
                    raise RelayError(f"{type(current).__name__} is not a statement")
                case _:
                    current()

    def _fail(self, statement: loops.Fail) -> None:
        index, extent = self._scalar(statement.index), self._scalar(statement.extent)

        def step(position: int) -> int:
            raise RelayError(f"{statement.what} is out of range: {index()} of {extent()}")

        self._steps.append(step)

    def _place(self, label: _Label) -> None:
        label.position = len(self._steps)

    def _store(self, statement: loops.Store) -> None:
        buffer, dtype = statement.buffer, statement.buffer.dtype
        indices = [self._scalar(each) for each in statement.indices]
        value = self._scalar(statement.value)
        arrays, storage = self._arrays, dtypes.to_numpy(dtype).type

        def step(position: int) -> int:
            array = array_of(arrays, buffer)
            at = tuple(each() for each in indices)
            if (outside := _outside(buffer, at, array.shape)) is not None:
                raise outside.error()
            array[at] = storage(value())
            return position + 1

        self._steps.append(step)

    def _let(self, statement: loops.Let) -> None:
        value, slot, slots = self._scalar(statement.value), self._slot(statement.var), self._slots

        def step(position: int) -> int:
            slots[slot] = value()
            return position + 1

        self._steps.append(step)

    def _allocate(self, statement: loops.Allocate) -> None:
        buffer, arrays = statement.buffer, self._arrays
        sizes = [self._scalar(size) for size in buffer.shape]

        def step(position: int) -> int:
            arrays[buffer] = uninitialized(tuple(size() for size in sizes), buffer.dtype)
            return position + 1

        self._steps.append(step)

    def _loop(self, statement: loops.For) -> Callable[[], None]:
        extent, slot, slots = self._scalar(statement.extent), self._slot(statement.var), self._slots
        remaining: list[Iterable[int]] = []
        past = _Label()

        def begin(position: int) -> int:
            order = list(range(extent()))
            if statement.kind.is_parallel:
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

    def _while(self, statement: loops.While) -> Callable[[], None]:
        past = _Label()
        head = len(self._steps)
        self._branch(statement.condition, past)
        return partial(self._again, head, past)

    def _again(self, head: int, past: _Label) -> None:
        """Close a loop: jump back to its head."""
        self._steps.append(lambda _: head)
        self._place(past)

    def _if(self, statement: loops.If, past: _Label | None = None) -> Callable[[], None]:
        otherwise = _Label()
        self._branch(statement.condition, otherwise)

        def close() -> None:
            if past is not None:
                self._steps.append(lambda _: past.position)
            self._place(otherwise)

        return close

    def _branch(self, condition: te.Expr, otherwise: _Label) -> None:
        holds = self._scalar(condition)
        self._steps.append(lambda at: at + 1 if holds() else otherwise.position)

    # --- scalars

    def _scalar(self, expr: te.Expr) -> Callable[[], Any]:
        """A function that evaluates the expression."""
        steps: list[Callable[[], None]] = []
        for part in tree.postorder(expr):
            slot = self._slot(part)
            if isinstance(part, te.Const):
                self._slots[slot] = _plain(apply(part, []), part.dtype)
            elif isinstance(part, te.Var):
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

    def _step(self, expr: te.Expr, slot: int, below: list[int]) -> Callable[[], None]:
        slots = self._slots
        if isinstance(expr, te.Select):
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

    def _function(self, expr: te.Expr) -> Callable[..., Any]:
        match expr:
            case te.Read():
                return partial(_read, self._arrays, expr.source)
            case te.Binary() if not dtypes.is_float(expr.dtype):
                dtype, op = expr.dtype, expr.op
                return lambda a, b: _wrapped(te.fold(op, a, b, dtype), dtype)
            case te.Binary(op="add" | "sub" | "mul" as op):
                return _OPERATORS[op]
            case te.Compare():
                return _OPERATORS[expr.op]
            case te.Reduce():
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
    """A position in the steps, set later."""

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
    """A scalar as held in a slot."""
    return value[()] if dtypes.is_float(dtype) else value.item()


def _wrapped(value: int, dtype: str) -> int:
    bits = te.width(dtype)
    if bits == 1:
        return bool(value & 1)
    low = value & (1 << bits) - 1
    return low - (1 << bits) if dtype in dtypes.SIGNED and low >> bits - 1 else low


def _outside(source: te.Source, indices: tuple[int, ...], shape: tuple[int, ...]) -> Outside | None:
    for axis, (index, extent) in enumerate(zip(indices, shape, strict=True)):
        if not 0 <= index < extent:
            return Outside(source.name, axis, index, extent)
    return None


def _read(arrays: Mapping[te.Source, np.ndarray], source: te.Source, *indices: int) -> Any:
    array = array_of(arrays, source)
    if (outside := _outside(source, indices, array.shape)) is not None:
        return outside
    return _plain(arithmetic.load(array[indices], source.dtype), source.dtype)
