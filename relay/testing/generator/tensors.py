"""Random operator calls with a result of a given tensor type.

A rule works backwards, from the type of the result to the types of the operands. Elements are
integers of bounded magnitude (`Built.bound`), so that results are exact and independent of the
order of evaluation; only elements of type `SMOOTH` need not be integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt
from typing import Any, NamedTuple, Protocol

from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, Tuple, TupleGetItem, const, get_op
from relay.ir.types import TensorType
from relay.op.opdef import OpDef
from relay.testing.generator.choices import Choices, chance, pick
from relay.testing.generator.features import BOUND, EXACT_UP_TO, SMOOTH
from relay.testing.generator.types import MAX_EXTENT, MAX_RANK, Vocabulary, random_dim


class Built(NamedTuple):
    """A tensor expression, and a bound of the magnitude of its elements."""

    expr: Expr
    bound: int


class Operand(Protocol):
    """Makes a tensor expression with elements of bounded magnitude."""

    def __call__(self, ty: TensorType, at_most: int) -> Built: ...


def call(name: str, *args: Expr, **attributes: Any) -> Call:
    """A call of an operator."""
    op = get_op(name)
    assert isinstance(op, OpDef)
    return Call(op, args, op.make_attrs(attributes))


def clipped(built: Built, ty: TensorType, at_most: int) -> Built:
    """`built`, clipped to that magnitude."""
    if built.bound <= at_most or ty.dtype == "bool":
        return built
    lowest = 0 if is_unsigned(ty.dtype) else -at_most
    return Built(call("clip", built.expr, a_min=float(lowest), a_max=float(at_most)), at_most)


def is_unsigned(dtype: str) -> bool:
    return dtype.startswith("uint")


Rule = Callable[[], Built]


class TensorRules:
    """The rules that make a tensor of type `goal`; `operand` makes their operands."""

    def __init__(
        self, choices: Choices, words: Vocabulary, operand: Operand, goal: TensorType
    ) -> None:
        self.choices = choices
        self.words = words
        self.operand = operand
        self.goal = goal
        self.shape = goal.shape
        self.rank = len(goal.shape)
        self.limit = EXACT_UP_TO[goal.dtype]

    def all(self) -> list[Rule]:
        """The rules that can make the goal, simple ones first."""
        found: list[Rule] = []
        if self.goal.dtype == "bool":
            found += [self.comparison, self.logical, self.logical_not]
        else:
            found += [self.unary, self.binary, self.binary, self.product]
        if self.goal.dtype == SMOOTH and self.words.features.smooth:
            found += [self.smooth, self.smooth, self.quotient]
        found += [self.where, self.like, self.squeeze]
        if self._castable():
            found.append(self.cast)
        if self.rank < MAX_RANK:
            found.append(self.reduce)
        if self.rank:
            found += [self.take, self.reverse]
        if self.rank > 1:
            found.append(self.transpose)
        if self.goal.dtype == "int32":
            found.append(self.position)
        if any(self._sums(d) for d in self.shape):
            found.append(self.concatenate)
        if any(self._factors(d) for d in self.shape):
            found += [self.merge, self.repeat]
        if self._splits():
            found.append(self.split_axis)
        if self._axes_of(1):
            found.append(self.expand)
        if self._fixed_axes():
            found += [self.stack, self.slice, self.split]
        if self.rank and all(isinstance(d, int) for d in self.shape):
            found.append(self.broadcast_to)
        if self.rank and self.goal.dtype != "bool":
            found.append(self.bias)
        if self.rank in (2, 3) and self.goal.dtype not in ("bool", "int8", "uint8"):
            found.append(self.matmul)
        return found

    # --- shared by the rules

    def of(self, shape: Sequence[Dim], dtype: str | None = None) -> TensorType:
        return TensorType(tuple(shape), dtype or self.goal.dtype)

    def same(self, at_most: int | None = None) -> Built:
        """An operand of the goal's type."""
        return self.operand(self.goal, self.limit if at_most is None else at_most)

    def with_axis(self, axis: int, *extents: Dim) -> tuple[Dim, ...]:
        """The goal's shape with `extents` instead of axis `axis`."""
        return (*self.shape[:axis], *extents, *self.shape[axis + 1 :])

    def axis(self) -> int:
        return self.choices.integer(0, self.rank - 1)

    def spelled(self, axis: int, rank: int) -> int:
        """`axis`, counted from the front or from the back."""
        return axis - rank if chance(self.choices, 30) else axis

    def _axes_of(self, extent: int) -> list[int]:
        return [i for i, d in enumerate(self.shape) if d == extent]

    def _fixed_axes(self) -> list[int]:
        """Axes with a small constant extent."""
        return [i for i, d in enumerate(self.shape) if isinstance(d, int) and d <= MAX_EXTENT]

    def _broadcast(self, count: int) -> list[tuple[Dim, ...]]:
        """Shapes that broadcast to the goal's."""
        shapes: list[list[Dim]] = [[] for _ in range(count)]
        for dim in self.shape:
            stretched = self.choices.integer(0, 3 * count - 1) - 2 * count
            for i, shape in enumerate(shapes):
                shape.append(1 if i == stretched else dim)
        for shape in shapes:
            while shape and shape[0] == 1 and self.shape[-len(shape)] != 1:
                del shape[0]
        return [tuple(shape) for shape in shapes]

    # --- elementwise

    def unary(self) -> Built:
        names = ["nn.relu", "abs", "negative", "copy", "sign"]
        name = pick(self.choices, [names[0]] if is_unsigned(self.goal.dtype) else names)
        value = self.same()
        return Built(call(name, value.expr), value.bound)

    def binary(self) -> Built:
        names = ["add", "maximum", "minimum", "subtract"]
        name = pick(self.choices, names[:3] if is_unsigned(self.goal.dtype) else names)
        left, right = (
            self.operand(self.of(shape), self.limit // 2) for shape in self._broadcast(2)
        )
        extremum = name in ("maximum", "minimum")
        bound = max(left.bound, right.bound) if extremum else left.bound + right.bound
        return Built(call(name, left.expr, right.expr), bound)

    def product(self) -> Built:
        left, right = (
            self.operand(self.of(shape), isqrt(self.limit)) for shape in self._broadcast(2)
        )
        return Built(call("multiply", left.expr, right.expr), left.bound * right.bound)

    def smooth(self) -> Built:
        name = pick(self.choices, ["tanh", "sigmoid", "sin", "cos", "exp", "nn.softmax"])
        if name == "exp":
            return Built(call(name, self.same(2).expr), 8)
        if name == "nn.softmax" and not self.rank:
            name = "tanh"
        return Built(call(name, self.same().expr), 1)

    def quotient(self) -> Built:
        value = self.same()
        divisor = const(self.choices.integer(2, 4), SMOOTH)
        return Built(call("divide", value.expr, divisor), value.bound)

    def where(self) -> Built:
        condition, left, right = self._broadcast(3)
        test = self.operand(self.of(condition, "bool"), 1)
        one, other = (self.operand(self.of(shape), self.limit) for shape in (left, right))
        return Built(call("where", test.expr, one.expr, other.expr), max(one.bound, other.bound))

    def like(self) -> Built:
        name = pick(self.choices, ["zeros_like", "ones_like"])
        return Built(call(name, self.same().expr), 1)

    def comparison(self) -> Built:
        names = ["less", "equal", "greater", "less_equal", "greater_equal", "not_equal"]
        name = pick(self.choices, names)
        dtype = pick(self.choices, self.words.features.exact or ("int32",))
        left, right = (
            self.operand(self.of(shape, dtype), EXACT_UP_TO[dtype]) for shape in self._broadcast(2)
        )
        return Built(call(name, left.expr, right.expr), 1)

    def logical(self) -> Built:
        name = pick(self.choices, ["logical_and", "logical_or", "logical_xor"])
        left, right = (self.operand(self.of(shape), 1) for shape in self._broadcast(2))
        return Built(call(name, left.expr, right.expr), 1)

    def logical_not(self) -> Built:
        return Built(call("logical_not", self.same().expr), 1)

    def _castable(self) -> list[str]:
        """Element types that can be cast to the goal's without loss."""
        features = self.words.features
        found = [d for d in features.exact if not is_unsigned(self.goal.dtype) or is_unsigned(d)]
        if "bool" in features.dtypes:
            found.append("bool")
        return [d for d in found if d != self.goal.dtype]

    def cast(self) -> Built:
        dtype = pick(self.choices, self._castable())
        at_most = min(EXACT_UP_TO[dtype], self.limit) if self.goal.dtype != "bool" else BOUND
        value = self.operand(self.of(self.shape, dtype), at_most)
        bound = 1 if "bool" in (dtype, self.goal.dtype) else value.bound
        return Built(call("cast", value.expr, dtype=self.goal.dtype), bound)

    # --- shapes

    def transpose(self) -> Built:
        if chance(self.choices, 30):
            value = self.operand(self.of(self.shape[::-1]), self.limit)
            return Built(call("transpose", value.expr, axes=None), value.bound)
        axes = list(range(self.rank))
        for i in range(self.rank - 1, 0, -1):
            j = self.choices.integer(0, i)
            axes[i], axes[j] = axes[j], axes[i]
        source: list[Dim] = [0] * self.rank
        for position, axis in enumerate(axes):
            source[axis] = self.shape[position]
        value = self.operand(self.of(source), self.limit)
        spelled = [self.spelled(axis, self.rank) for axis in axes]
        return Built(call("transpose", value.expr, axes=spelled), value.bound)

    def expand(self) -> Built:
        axis = pick(self.choices, self._axes_of(1))
        value = self.operand(self.of(self.with_axis(axis)), self.limit)
        spelled = self.spelled(axis, self.rank)
        return Built(call("expand_dims", value.expr, axis=spelled), value.bound)

    def squeeze(self) -> Built:
        axis = self.choices.integer(0, self.rank)
        source = (*self.shape[:axis], 1, *self.shape[axis:])
        value = self.operand(self.of(source), self.limit)
        spelled = self.spelled(axis, self.rank + 1)
        return Built(call("squeeze", value.expr, axis=(spelled,)), value.bound)

    def broadcast_to(self) -> Built:
        source = self._broadcast(2)[0]
        value = self.operand(self.of(source), self.limit)
        return Built(call("broadcast_to", value.expr, shape=self.shape), value.bound)

    @staticmethod
    def _factors(dim: Dim) -> list[tuple[Dim, Dim]]:
        """Factorizations of `dim` into a constant above 1 and the rest."""
        found: list[tuple[Dim, Dim]] = []
        for factor in (2, 3):
            rest = dims.exact_quotient(dim, factor)
            if rest is not None and rest != 0 and dim != factor:
                found += [(factor, rest), (rest, factor)]
        return found

    def merge(self) -> Built:
        """Two axes become one: (2, n) -> (2 * n,)"""
        axis = pick(self.choices, [i for i, d in enumerate(self.shape) if self._factors(d)])
        source = self.with_axis(axis, *pick(self.choices, self._factors(self.shape[axis])))
        codes = [-3 if i == axis else 0 for i in range(self.rank)]
        value = self.operand(self.of(source), self.limit)
        return Built(call("reshape", value.expr, newshape=codes), value.bound)

    def _splits(self) -> list[int]:
        return [
            i
            for i in range(self.rank - 1)
            if isinstance(self.shape[i], int) or isinstance(self.shape[i + 1], int)
        ]

    def split_axis(self) -> Built:
        """One axis becomes two: (2 * n,) -> (2, n)"""
        axis = pick(self.choices, self._splits())
        first, second = self.shape[axis], self.shape[axis + 1]
        whole = dims.multiply(first, second)
        source = (*self.shape[:axis], whole, *self.shape[axis + 2 :])
        parts = (first, -1) if isinstance(first, int) else (-1, second)
        codes = [*(0,) * axis, -4, *parts, -2]
        value = self.operand(self.of(source), self.limit)
        return Built(call("reshape", value.expr, newshape=codes), value.bound)

    def reverse(self) -> Built:
        value = self.same()
        axis = self.spelled(self.axis(), self.rank)
        return Built(call("reverse", value.expr, axis=axis), value.bound)

    @staticmethod
    def _sums(dim: Dim) -> list[tuple[Dim, Dim]]:
        """Decompositions of `dim` into a sum of two positive dimensions."""
        if isinstance(dim, int):
            return [(i, dim - i) for i in range(1, dim)]
        if not isinstance(dim, dims.DimExpr):
            return []
        found: list[tuple[Dim, Dim]] = []
        for monomial, coefficient in dim.terms.items():
            one = dims.add(dims.DimExpr({monomial: 1}), 0)
            rest = dims.subtract(dim, one)
            if coefficient > 0 and rest != 0:
                found.append((one, rest))
        return found

    def concatenate(self) -> Built:
        axis = pick(self.choices, [i for i, d in enumerate(self.shape) if self._sums(d)])
        extents = pick(self.choices, self._sums(self.shape[axis]))
        parts = [self.operand(self.of(self.with_axis(axis, e)), self.limit) for e in extents]
        whole = Tuple(tuple(part.expr for part in parts))
        spelled = self.spelled(axis, self.rank)
        made = call("concatenate", whole, axis=spelled)
        return Built(made, max(part.bound for part in parts))

    def stack(self) -> Built:
        axis = pick(self.choices, self._fixed_axes())
        count = self.shape[axis]
        assert isinstance(count, int)
        parts = [self.operand(self.of(self.with_axis(axis)), self.limit) for _ in range(count)]
        whole = Tuple(tuple(part.expr for part in parts))
        made = call("stack", whole, axis=self.spelled(axis, self.rank))
        return Built(made, max(part.bound for part in parts))

    def split(self) -> Built:
        """One of the parts of a split."""
        axis = pick(self.choices, self._fixed_axes())
        extent, sections = self.shape[axis], self.choices.integer(2, 3)
        source = self.with_axis(axis, dims.multiply(extent, sections))
        value = self.operand(self.of(source), self.limit)
        cuts: Any = sections
        if chance(self.choices, 30):
            assert isinstance(extent, int)
            cuts = tuple(extent * i for i in range(1, sections))
        parts = call("split", value.expr, indices_or_sections=cuts, axis=axis)
        index = self.choices.integer(0, sections - 1)
        return Built(TupleGetItem(parts, index), value.bound)

    def slice(self) -> Built:
        axis = pick(self.choices, self._fixed_axes())
        extent = self.shape[axis]
        assert isinstance(extent, int)
        before, stride = self.choices.integer(0, 1), self.choices.integer(1, 2)
        end = before + (extent - 1) * stride + 1
        source = self.with_axis(axis, end + self.choices.integer(0, 1))
        value = self.operand(self.of(source), self.limit)
        bounds = {"begin": (before,), "end": (end,), "strides": (stride,), "axes": (axis,)}
        return Built(call("strided_slice", value.expr, **bounds), value.bound)

    def take(self) -> Built:
        """take: any index of a constant extent, index 0 of a dynamic one."""
        axis = self.axis()
        extent = self.shape[axis]
        if isinstance(extent, int):
            source = random_dim(self.choices, self.words)
            last = source - 1 if isinstance(source, int) else 0
            positions = [self.choices.integer(0, last) for _ in range(extent)]
            indices: Expr = const(positions, "int32")
            shape = self.with_axis(axis, source)
        else:
            zeros = self.operand(TensorType((extent,), "int32"), BOUND)
            indices = call("zeros_like", zeros.expr)
            shape = self.with_axis(axis, random_dim(self.choices, self.words))
        value = self.operand(self.of(shape), self.limit)
        return Built(call("take", value.expr, indices, axis=axis), value.bound)

    def repeat(self) -> Built:
        axis = pick(self.choices, [i for i, d in enumerate(self.shape) if self._factors(d)])
        count, rest = self._factors(self.shape[axis])[0]
        value = self.operand(self.of(self.with_axis(axis, rest)), self.limit)
        if chance(self.choices, 50):
            reps = tuple(count if i == axis else 1 for i in range(self.rank))
            return Built(call("tile", value.expr, reps=reps), value.bound)
        return Built(call("repeat", value.expr, repeats=count, axis=axis), value.bound)

    # --- reductions

    def _longer(self) -> tuple[tuple[Dim, ...], int, Dim]:
        """The goal's shape with one more axis, the axis, and its extent."""
        axis = self.choices.integer(0, self.rank)
        extent = random_dim(self.choices, self.words)
        return (*self.shape[:axis], extent, *self.shape[axis:]), axis, extent

    def reduce(self) -> Built:
        source, axis, extent = self._longer()
        if self.goal.dtype == "bool":
            names = ["all", "any", "max", "min"]
        else:
            names = ["sum", "max", "min"]
            if self.goal.dtype == SMOOTH and self.words.features.smooth:
                names.append("mean")
        name = pick(self.choices, names)
        factor = self.words.extent(extent) if name == "sum" else 1
        keepdims = axis < self.rank and self.shape[axis] == 1 and chance(self.choices, 50)
        if keepdims:
            source = self.with_axis(axis, extent)
        value = self.operand(self.of(source), max(1, self.limit // factor))
        axes: Any = (self.spelled(axis, len(source)),)
        exclude = len(source) > 1 and chance(self.choices, 20)
        if exclude:
            axes = tuple(i for i in range(len(source)) if i != axis)
        elif len(source) == 1 and chance(self.choices, 30):
            axes = None
        made = call(name, value.expr, axis=axes, keepdims=keepdims, exclude=exclude)
        return Built(made, value.bound * factor)

    def position(self) -> Built:
        if self.rank >= MAX_RANK or not self.words.features.exact:
            return self.unary()
        source, axis, extent = self._longer()
        name = pick(self.choices, ["argmax", "argmin"])
        dtype = pick(self.choices, self.words.features.exact)
        value = self.operand(self.of(source, dtype), BOUND)
        return Built(call(name, value.expr, axis=(axis,)), self.words.extent(extent))

    def bias(self) -> Built:
        axis = self.axis()
        value = self.same(self.limit // 2)
        bias = self.operand(self.of((self.shape[axis],)), self.limit // 2)
        made = call("nn.bias_add", value.expr, bias.expr, axis=self.spelled(axis, self.rank))
        return Built(made, value.bound + bias.bound)

    def matmul(self) -> Built:
        """(…, m, k) x (…, k, n) -> (…, m, n), with either given transposed"""
        *batch, rows, columns = self.shape
        inner = random_dim(self.choices, self.words)
        transposed = {"transpose_a": False, "transpose_b": True}
        name = pick(self.choices, ["nn.dense", "nn.matmul"])
        if batch:
            name = "nn.batch_matmul"
        if name != "nn.dense":
            transposed = {key: chance(self.choices, 50) for key in transposed}
        left, right = (rows, inner), (inner, columns)
        left = left[::-1] if transposed["transpose_a"] else left
        right = right[::-1] if transposed["transpose_b"] else right
        at_most = max(1, isqrt(self.limit // self.words.extent(inner)))
        a = self.operand(self.of((*batch, *left)), at_most)
        b = self.operand(self.of((*batch, *right)), at_most)
        attributes = {} if name == "nn.dense" else transposed
        bound = a.bound * b.bound * self.words.extent(inner)
        return Built(call(name, a.expr, b.expr, **attributes), bound)
