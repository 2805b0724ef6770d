"""Dynamic dimensions: named sizes, and arithmetic on them.

    n = Size("n")
    (n + 7) // 8                                    a dimension, as in types
    operations((n + 7) // 8)                        n; 7; add 0, 1; 8; floordiv 2, 3
    to_te((n + 7) // 8, variables)                  the same as an expression of a kernel

Sizes are compared by name, so that records with them (`relay.lower.dynamic`) can be serialized.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

from relay import te, tree
from relay.errors import LowerError
from relay.extents import EXPECTED, is_size
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.dims import Dim, DimCall, DimExpr, Symbol
from relay.te.expr import INDEX, Binary, binary, fold
from relay.tree import Steps


@frozen
class Size(Symbol):
    """A size by its name."""

    name: str

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name


@frozen
class Operation:
    """One operation of a dimension; operands are the numbers of earlier operations.

    `op` is `constant` or `size` (with `value`), or `add`, `mul`, `floordiv`, `min`, `max`.
    """

    op: str
    operands: tuple[int, ...] = ()
    value: int | str = 0


def operations(*wanted: Dim) -> tuple[list[Operation], list[int]]:
    """The operations that compute dimensions, without duplicates, and the number of each result."""
    steps: list[Operation] = []
    numbers: dict[Any, int] = {}

    def emit(key: Any, operation: Operation) -> int:
        if key not in numbers:
            numbers[key] = len(steps)
            steps.append(operation)
        return numbers[key]

    def constant(value: int) -> int:
        return emit(("constant", value), Operation("constant", value=int(value)))

    def combined(op: str, left: int, right: int) -> int:
        return emit((op, left, right), Operation(op, (left, right)))

    def walk(dim: Dim) -> Steps[int]:
        if isinstance(dim, int):
            return constant(dim)
        if isinstance(dim, Size):
            return emit(("size", dim.name), Operation("size", value=dim.name))
        if isinstance(dim, DimCall):
            op = "floordiv" if dim.function == "//" else dim.function
            args: list[int] = yield tree.gather(map(walk, dim.args))
            return reduce(partial(combined, op), args)
        if not isinstance(dim, DimExpr):
            raise TypeError(f"`{dim}` is no dimension over sizes")
        total = -1
        for monomial, coefficient in _ordered(dim):
            product = -1
            for atom, power in monomial:
                factor = yield walk(atom)
                for _ in range(power):
                    product = factor if product < 0 else combined("mul", product, factor)
            if product < 0:
                product = constant(coefficient)
            elif coefficient != 1:
                product = combined("mul", product, constant(coefficient))
            total = product if total < 0 else combined("add", total, product)
        return total

    found = [tree.run(walk(dim)) for dim in wanted]
    return steps, found


def _ordered(dim: DimExpr) -> list[tuple[list[tuple[Symbol, int]], int]]:
    """The terms of a polynomial, ordered by name, the constant last."""
    terms = [
        (sorted(monomial, key=lambda part: (str(part[0]), part[1])), coefficient)
        for monomial, coefficient in dim.terms.items()
    ]
    return sorted(terms, key=lambda term: (not term[0], [(str(a), p) for a, p in term[0]]))


def from_operations(steps: Sequence[Operation]) -> list[Dim]:
    """The dimension of each operation."""
    made: list[Dim] = []
    for step in steps:
        if step.op == "constant":
            assert isinstance(step.value, int)
            made.append(step.value)
        elif step.op == "size":
            made.append(Size(str(step.value)))
        else:
            left, right = (made[operand] for operand in step.operands)
            made.append(_FUNCTIONS[step.op](left, right))
    return made


_FUNCTIONS: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "add": dims.add,
    "sub": dims.subtract,
    "mul": dims.multiply,
    "floordiv": dims.floor_divide,
    "mod": dims.remainder,
    "min": dims.minimum,
    "max": dims.maximum,
}


def evaluate(dim: Dim, values: Mapping[str, int]) -> int:
    """The value of a dimension; division by zero is zero, as in kernels."""
    steps, (result,) = operations(dim)
    made: list[int] = []
    for step in steps:
        if step.op == "constant":
            made.append(int(step.value))
        elif step.op == "size":
            made.append(values[str(step.value)])
        else:
            left, right = (made[operand] for operand in step.operands)
            made.append(fold(step.op, left, right, INDEX))
    return made[result]


def sizes_in(wanted: Iterable[Dim]) -> set[str]:
    """The names of the sizes in dimensions."""
    return {atom.name for dim in wanted for atom in dims.atoms(dim) if isinstance(atom, Size)}


# --- in kernels ---------------------------------------------------------------------------------


def to_te(dim: Dim, variables: Mapping[str, te.Expr]) -> te.Expr:
    """The dimension as an expression of a kernel; `variables` are the sizes by name."""
    steps, (result,) = operations(dim)
    made: list[te.Expr] = []
    for step in steps:
        if step.op == "constant":
            if not is_size(int(step.value)):
                raise LowerError.of(f"a size would be {step.value}", expected=EXPECTED)
            made.append(te.index(int(step.value)))
        elif step.op == "size":
            made.append(variables[str(step.value)])
        else:
            left, right = (made[operand] for operand in step.operands)
            made.append(binary(step.op, left, right))
    return made[result]


def from_te(expr: te.Expr, leaf: Callable[[te.Expr], Dim | None]) -> Dim | None:
    """An expression of a kernel as a dimension, None if it is none; `leaf` converts variables and
    elements."""

    def walk(part: te.Expr) -> Steps[Dim | None]:
        if isinstance(part, te.Const):
            return int(part.value)
        if isinstance(part, Binary) and part.op in _FUNCTIONS:
            left = yield walk(part.left)
            right = yield walk(part.right)
            if left is None or right is None or (right == 0 and part.op in ("floordiv", "mod")):
                return None
            return _FUNCTIONS[part.op](left, right)
        return leaf(part)

    found = tree.run(walk(expr))
    return None if isinstance(found, dims.Any) else found
