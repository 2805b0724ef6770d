"""Index maps: new positions of elements as arithmetic on their indices.

    i, j -> i // 4, j, i % 4        rows in blocks of 4, the position inside a block last

Expressions are in postfix order (`i 4 //`) and evaluated over arrays of positions, and over ranges,
which give the shape of the result.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TypeVar

import numpy as np

from relay import te
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.dims import Dim

T = TypeVar("T")

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|(//|[-+*%(),]))")
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}

Postfix = tuple[int | str, ...]  # numbers, names, and operators after their two operands


@frozen
class IndexMap:
    """Names for the axes of a tensor, and the position along each axis of the result."""

    inputs: tuple[str, ...]
    outputs: tuple[Postfix, ...]

    def shape(self, extents: Sequence[Dim]) -> list[Dim] | None:
        """The extents of the result; None where a position may be negative or unbounded."""
        ranges: dict[str, Range | None] = {
            name: (0, extent) for name, extent in zip(self.inputs, extents, strict=True)
        }
        shape: list[Dim] = []
        for output in self.outputs:
            found = _evaluate(output, ranges, lambda number: (number, number + 1), _RANGES)
            if found is None or dims.sign_of(found[0]) == -1:
                return None
            shape.append(dims.maximum(found[1], 0))
        return shape

    def positions(self, extents: Sequence[int]) -> tuple[np.ndarray, ...]:
        """The positions of the elements along each axis of the result, as arrays of the old
        shape."""
        places = dict(zip(self.inputs, np.indices(tuple(extents), sparse=True), strict=True))
        return tuple(_evaluate(output, places, np.asarray, _NUMBERS) for output in self.outputs)

    def place(self, indices: Sequence[te.Expr]) -> tuple[te.Expr, ...]:
        """The new position of the element at these indices."""
        names = dict(zip(self.inputs, indices, strict=True))
        return tuple(_evaluate(output, names, te.index, _SCALARS) for output in self.outputs)


@cache
def parse_index_map(text: str) -> IndexMap | None:
    """Parse an index map; None if it is malformed."""
    before, arrow, after = text.partition("->")
    names = [name.strip() for name in before.strip().removeprefix("(").removesuffix(")").split(",")]
    inputs = tuple(name for name in names if name)
    outputs = _postfix(after)
    if not arrow or outputs is None or len(set(inputs)) < len(inputs):
        return None
    used = {token for output in outputs for token in output if isinstance(token, str)}
    if not used - _PRECEDENCE.keys() <= set(inputs) or not all(n.isidentifier() for n in inputs):
        return None
    return IndexMap(inputs, tuple(outputs))


def _postfix(text: str) -> list[Postfix] | None:
    """The comma-separated expressions in postfix order."""
    tokens = _tokens(text)
    if tokens is None:
        return None
    if len(tokens) > 1 and tokens[0] == "(" and _closing(tokens) == len(tokens) - 1:
        tokens = tokens[1:-1]
    outputs: list[list[int | str]] = [[]]
    pending: list[str] = []
    operand = True  # whether an operand comes next
    for token in [*tokens, ","]:
        if token == "(" and operand:
            pending.append("(")
        elif (isinstance(token, int) or token.isidentifier()) and operand:
            outputs[-1].append(token)
            operand = False
        elif token == ")" and not operand:
            while pending and pending[-1] != "(":
                outputs[-1].append(pending.pop())
            if not pending:
                return None
            pending.pop()
        elif token in _PRECEDENCE and not operand:
            rank = _PRECEDENCE[str(token)]
            while pending and _PRECEDENCE.get(pending[-1], 0) >= rank:
                outputs[-1].append(pending.pop())
            pending.append(str(token))
            operand = True
        elif token == "," and not operand and "(" not in pending:
            outputs[-1].extend(reversed(pending))
            pending.clear()
            outputs.append([])
            operand = True
        else:
            return None
    return [tuple(output) for output in outputs[:-1]]


def _tokens(text: str) -> list[int | str] | None:
    found: list[int | str] = []
    text, position = text.rstrip(), 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            return None
        found.append(int(token[1]) if token[1] else token[2] or token[3])
        position = token.end()
    return found


def _closing(tokens: list[int | str]) -> int:
    """The position of the matching closing parenthesis."""
    depth = 0
    for position, token in enumerate(tokens):
        depth += {"(": 1, ")": -1}.get(str(token), 0)
        if depth == 0:
            return position
    return -1


def _evaluate(
    output: Postfix,
    names: Mapping[str, T],
    number: Callable[[int], T],
    operators: Mapping[str, Callable[[T, T], T]],
) -> T:
    stack: list[T] = []
    for token in output:
        if isinstance(token, int):
            stack.append(number(token))
        elif token in operators:
            right = stack.pop()
            stack.append(operators[token](stack.pop(), right))
        else:
            stack.append(names[token])
    return stack.pop()


_NUMBERS: dict[str, Callable[..., np.ndarray]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "//": np.floor_divide,
    "%": np.mod,
}

_SCALARS: dict[str, Callable[[te.Expr, te.Expr], te.Expr]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}

# --- ranges ------------------------------------------------------------------------------------

Range = tuple[Dim, Dim]  # (lowest, highest + 1)


def _sum(a: Range | None, b: Range | None) -> Range | None:
    if a is None or b is None:
        return None
    return dims.add(a[0], b[0]), dims.subtract(dims.add(a[1], b[1]), 1)


def _difference(a: Range | None, b: Range | None) -> Range | None:
    if a is None or b is None:
        return None
    return dims.add(dims.subtract(a[0], b[1]), 1), dims.subtract(a[1], b[0])


def _product(a: Range | None, b: Range | None) -> Range | None:
    if a is None or b is None or dims.sign_of(a[0]) == -1 or dims.sign_of(b[0]) == -1:
        return None
    greatest = dims.multiply(dims.subtract(a[1], 1), dims.subtract(b[1], 1))
    return dims.multiply(a[0], b[0]), dims.add(greatest, 1)


def _divisor(b: Range | None) -> int | None:
    """The positive constant that a range is, if it is one."""
    if b is None or not isinstance(b[0], int) or b[0] <= 0 or dims.subtract(b[1], b[0]) != 1:
        return None
    return b[0]


def _quotient(a: Range | None, b: Range | None) -> Range | None:
    divisor = _divisor(b)
    if a is None or divisor is None:
        return None
    last = dims.floor_divide(dims.subtract(a[1], 1), divisor)
    return dims.floor_divide(a[0], divisor), dims.add(last, 1)


def _remainder(a: Range | None, b: Range | None) -> Range | None:
    divisor = _divisor(b)
    if a is None or divisor is None:
        return None
    return 0, dims.minimum(a[1], divisor) if a[0] == 0 else divisor


_RANGES: dict[str, Callable[[Range | None, Range | None], Range | None]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "//": _quotient,
    "%": _remainder,
}
