"""A call of a torch operator as its converter sees it.

    @table("celu")
    def celu(node, self, alpha=1.0):
        scaled = node.let(self / node.number(alpha, self))
        …

Arguments are those of the schema: tensors are variables of known type or constants, sizes are ints
or dimensions (`Dim`), or scalars where the program computes them; `None`, strings, bools and lists
are Python's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from relay import op
from relay.frontend.common.builder import Builder, int64
from relay.frontend.pytorch.scope import TorchScope
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.dims import Dim, Symbol
from relay.ir.expr import Expr, Tuple, const
from relay.ir.types import TensorType, Type

# a size: known, a function of the sizes of inputs, or computed by the program (an integer scalar)
Size: TypeAlias = "Dim | Expr"
Number: TypeAlias = "bool | int | float | Symbol | Expr"


@frozen
class Node(Builder):
    """One call of an operator while it is converted."""

    scope: TorchScope
    name: str = ""  # of the call in its graph
    # the type torch found for the result, where it is one tensor
    declared: TensorType | None = None
    overload: str = ""
    # how many results torch found, where they are a list
    results: int | None = None
    # whether the first operand lies in memory row by row, and alone
    by_rows: bool = True

    give_sizes = "export the model with fixed sizes for this axis"

    def let(self, value: Expr, name: str = "", declared: Type | None = None) -> Expr:
        """A variable bound to a value, so that its type is known; constants are folded.

        `declared` is a type that says more than inference finds; it is checked at run time.
        """
        return self.scope.bind(value, name or self.name or self.operator, self.span, declared)

    # --- numbers and sizes

    def scalar(self, value: Number, dtype: str) -> Expr:
        """A number as a scalar tensor of an element type."""
        if isinstance(value, Expr):
            return self.as_dtype(value, dtype)
        if isinstance(value, Symbol):
            return self.as_dtype(self.extent(value), dtype)
        return self.let(const(value, dtype))

    def tensor(self, value: Number) -> Expr:
        """A number as a scalar of the element type that it has in torch; tensors as they are."""
        if isinstance(value, Expr):
            return value
        whole = isinstance(value, int | Symbol)
        dtype = "bool" if isinstance(value, bool) else "int64" if whole else "float32"
        return self.scalar(value, dtype)

    def number(self, value: Any, like: Expr) -> Expr:
        """A number as a scalar of the element type of a tensor."""
        return self.scalar(value, self.dtype(like))

    def extent(self, dim: Dim) -> Expr:
        """A dimension as an int64 scalar, computed from the shapes of the inputs."""
        if isinstance(dim, int):
            return self.let(int64(dim))
        if (found := self.scope.extent(dim)) is not None:
            return found
        made = self._computed(dim)
        self.scope.extents[dim] = made
        return made

    def _computed(self, dim: Symbol) -> Expr:
        if dim in self.scope.sources:
            return self.size(*self.scope.sources[dim])
        if isinstance(dim, dims.DimCall):
            args = [self.extent(one) for one in dim.args]
            functions = {"min": op.minimum, "max": op.maximum, "//": op.floor_divide}
            found = args[0]
            for one in args[1:]:
                found = self.let(functions[dim.function](found, one))
            return found
        if isinstance(dim, dims.DimExpr):
            return self._sum(dim)
        raise self.refused("a size is that of no input", found=str(dim))

    def _sum(self, dim: dims.DimExpr) -> Expr:
        total: Expr | None = None
        for factors, count in dim.terms.items():
            term: Expr = int64(count)
            for symbol, power in factors:
                for _ in range(power):
                    term = self.let(op.multiply(term, self.extent(symbol)))
            total = term if total is None else self.let(op.add(total, term))
        return self.let(int64(0)) if total is None else total

    def known(self, size: Size) -> Dim:
        """A size as a dimension; unknown where the program computes it."""
        if not isinstance(size, Expr):
            return size
        found = self.constant(size)
        return dims.ANY if found is None else int(found.item())

    def sizes(self, values: Sequence[Size]) -> Expr:
        """Sizes as an int64 vector."""
        if not values:
            return op.zeros((0,), "int64")
        return self.let(op.stack(Tuple(tuple(self.scalar(one, "int64") for one in values)), 0))

    def dimension(self, data: Expr, axis: int) -> Size:
        """The extent of an axis as a number, a dimension, or where it is unknown a scalar."""
        found = self.shape(data)[axis]
        return self.size(data, axis) if isinstance(found, dims.Any) else found

    def extents_of(self, data: Expr) -> list[Size]:
        """The extents of all axes, as `dimension` gives them."""
        return [self.dimension(data, axis) for axis in range(self.rank(data))]

    # --- axes

    def axis(self, data: Expr, axis: int) -> int:
        """An axis of a tensor, counted from the front; a scalar counts as a vector of one."""
        return self.axis_of(axis, max(self.rank(data), 1), "`dim`")

    def axes(self, data: Expr, axes: Sequence[int] | int | None) -> list[int]:
        """Axes of a tensor, counted from the front; none given means all."""
        rank = self.rank(data)
        if isinstance(axes, int):
            axes = [axes]
        if not axes:
            return [*range(rank)]
        if rank == 0:
            self.axes_of(axes, 1)
            return []
        return self.axes_of(axes, rank, distinct=True)
