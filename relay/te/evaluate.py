"""A reference evaluator of tensors: the oracle of kernels.

    evaluate([y], {x: array})     the values of tensors
    run(loops, {buffer: array})   runs statements (`relay.te.execute`)

All elements of a tensor are evaluated at once, with the operations of `relay.te.arithmetic`. A read
out of range is an error only if its value is used: `select` ignores the other side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from relay import dtypes, tree
from relay.errors import RelayError
from relay.te import arithmetic
from relay.te.arithmetic import Array, apply
from relay.te.compute import Computation, Placeholder, Procedure, Tensor
from relay.te.execute import Outside, array_of, run, uninitialized
from relay.te.expr import Axis, Expr, Read, Reduce, Select, Source, Var

__all__ = ["evaluate", "run"]

# elements evaluated at once; larger tensors are split along their first axis
_GRID = 1 << 22


def evaluate(
    outputs: Sequence[Tensor],
    inputs: Mapping[Tensor, np.ndarray],
    sizes: Mapping[Var, int] = {},
) -> list[np.ndarray]:
    """The values of `outputs`; dynamic sizes are taken from the shapes of the inputs."""
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


def _in_order(
    outputs: Sequence[Tensor], known: Mapping[Source, np.ndarray]
) -> list[tuple[Computation | Procedure, list[Tensor]]]:
    """The required operations in topological order, each with its required results."""
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
        buffer: uninitialized(_shape(buffer.shape, sizes), buffer.dtype) for buffer in op.outputs
    }
    run(op.body, {**arrays, **filled}, sizes)
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
    """Evaluates expressions for all values of their variables, as broadcasting arrays."""

    def __init__(
        self, arrays: Mapping[Source, np.ndarray], variables: Mapping[Var, np.ndarray]
    ) -> None:
        self._arrays = arrays
        self._values: dict[int, Array] = {}
        # 1 + the position in `_found` where a value was read out of range, elsewhere 0
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
        """Bind the axes to the dimensions of `shape`, then of `reduced`."""
        rank = len(shape) + len(reduced)
        for i, (axis, extent) in enumerate(zip((*axes, *over), shape + reduced, strict=True)):
            span = np.arange(extent, dtype=np.int64)
            if i == 0 and shape:
                span = span[start : start + rows]
            along = [1] * rank
            along[i] = len(span)
            self._set(axis, span.reshape(along))

    def value(self, expr: Expr) -> Array:
        """The value; an error if an element was read out of range."""
        self._visit(expr)
        marks = self._marks.get(id(expr))
        if marks is not None and np.any(marks):
            raise self._found[int(marks.flat[np.flatnonzero(marks)[0]]) - 1].error()
        return self._values[id(expr)]

    def reduction(
        self, reduce: Reduce, shape: tuple[int, ...], reduced: tuple[int, ...]
    ) -> tuple[Array, ...]:
        """The results of the reduction, by pairwise combination."""
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
        array = array_of(self._arrays, read.source)
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
