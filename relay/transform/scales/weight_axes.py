"""Products with a weight: which of its axes are input channels, and which are output channels.

nn.conv2d(%x * %s, %w)  ->  nn.conv2d(%x, %w * expand_dims(%s, axis=1, num_newaxis=2))
nn.conv2d(%x, %w) * %s  ->  nn.conv2d(%x, %w * expand_dims(%s, axis=1, num_newaxis=3))

Here a weight is a matrix, ignoring its other axes: rows are numbered through all groups, columns
within a group. The rows of a convolution are output channels, those of a transposed convolution
input channels. With several groups a scale along the columns differs for each group of rows.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from relay.analysis.value_flow import Flow, static_shape, tensor_type
from relay.immutable import frozen
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType
from relay.op.building.layouts import Layout, parse_layout
from relay.op.opdef import OpDef
from relay.op.tensor.binary import multiply
from relay.op.tensor.extend import repeat
from relay.op.tensor.rearrange import transpose
from relay.transform.scales.scales import Scale, shaped

CONVOLUTIONS = frozenset({"nn.conv1d", "nn.conv2d", "nn.conv3d"})
TRANSPOSED = frozenset({"nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose"})


@frozen
class Side:
    """Input or output channels: axes of data or result, and a letter of the weight layout."""

    axes: tuple[int, ...]
    letter: str


@frozen
class Product:
    """A call that is linear in its argument `data` and in its argument `weight`."""

    data: int
    weight: int
    entering: Side
    leaving: Side
    rows: str
    columns: str
    groups: int
    layout: Layout  # of the weight: rows, columns and other axes
    shape: tuple[int, ...]  # of the weight

    def extent(self, letter: str) -> int:
        return prod(self.shape[axis] for axis in self.layout.places(letter))

    def channels(self, side: Side) -> int:
        found = self.extent(side.letter)
        return found * self.groups if side.letter == self.columns else found

    def scaled(self, weight: Expr, scale: Scale, side: Side) -> Expr:
        """The weight multiplied by a scale of the channels of that side."""
        if not scale.axes:
            return multiply(weight, scale.value)
        rows, columns = self.extent(self.rows), self.extent(self.columns)
        factors = shaped(scale.value, scale.extents, (self.channels(side),))
        if side.letter == self.rows:
            return multiply(weight, self._laid_out(factors, rows, 1))
        if self.groups == 1:
            return multiply(weight, self._laid_out(factors, 1, columns))
        factors = shaped(factors, (self.channels(side),), _matrix_shape(self.groups, columns))
        if rows != self.groups:
            factors = repeat(factors, rows // self.groups, axis=0)
        return multiply(weight, self._laid_out(factors, rows, columns))

    def _laid_out(self, factors: Expr, rows: int, columns: int) -> Expr:
        """Factors for that many rows and columns, in a shape that broadcasts to the weight."""
        moving: list[tuple[int, int]] = []  # (axis of the weight, extent), in the order of factors
        for letter, extent in ((self.rows, rows), (self.columns, columns)):
            if extent > 1:
                moving += [(axis, self.shape[axis]) for axis in self.layout.places(letter)]
        given = _matrix_shape(rows, columns)
        order = sorted(range(len(moving)), key=lambda i: moving[i][0])
        if order != list(range(len(moving))):
            cut = tuple(extent for _, extent in moving)
            factors = transpose(shaped(factors, given, cut), axes=order)
            given = tuple(cut[i] for i in order)
        first = min((axis for axis, _ in moving), default=len(self.shape) - 1)
        target = [1] * (len(self.shape) - first)
        for axis, extent in moving:
            target[axis - first] = extent
        return shaped(factors, given, target)


def _matrix_shape(rows: int, columns: int) -> tuple[int, ...]:
    """(rows, columns), without an extent of 1."""
    return (rows, columns) if rows > 1 and columns > 1 else (max(rows, columns),)


def is_own_weight(weight: Expr, flow: Flow) -> bool:
    """Whether a weight is fixed and has no other use: a shared one would be stored twice."""
    return flow.is_fixed(weight) and len(flow.users(weight)) == 1


def products(call: Call) -> tuple[Product, ...]:
    """`call` as a product; of batches of matrices either one may be the weight."""
    ty = tensor_type(call)
    if ty is None or not isinstance(call.op, OpDef):
        return ()
    if any(isinstance(arg.ty, TensorType) and arg.ty.dtype != ty.dtype for arg in call.args):
        return ()
    name, attrs = call.op.name, call.attrs
    if name in CONVOLUTIONS or name in TRANSPOSED:
        found = _convolution(call, attrs, transposed=name in TRANSPOSED)
        return () if found is None else (found,)
    rank = _rank(call.args[0]) if call.args else 0
    if name == "nn.dense":
        return _matrix(call, rank - 1, "OI")
    if name == "nn.matmul":
        known: Any = attrs
        if known.transpose_a:
            return ()
        return _matrix(call, rank - 1, "OI" if known.transpose_b else "IO")
    if name == "nn.batch_matmul":
        return _batch(call, attrs)
    return ()


def _rank(e: Expr) -> int:
    ty = tensor_type(e)
    return 0 if ty is None else len(ty.shape)


def _matrix(call: Call, last: int, letters: str) -> tuple[Product, ...]:
    shape, layout = static_shape(call.args[1]), parse_layout(letters)
    if shape is None or last < 0 or layout is None:
        return ()
    entering, leaving = Side((last,), "I"), Side((last,), "O")
    return (Product(0, 1, entering, leaving, "O", "I", 1, layout, shape),)


def _batch(call: Call, attrs: Any) -> tuple[Product, ...]:
    """(b, m, k) x (b, k, n): the columns of the second matrices come out, or the rows of the first;
    what goes in is what they have in common."""
    left = ("BIO", 1) if attrs.transpose_a else ("BOI", 2)
    right = ("BOI", 2) if attrs.transpose_b else ("BIO", 1)
    found = []
    for weight, (letters, _), (_, common), out in ((1, right, left, 2), (0, left, right, 1)):
        shape, layout = static_shape(call.args[weight]), parse_layout(letters)
        if shape is not None and layout is not None:
            sides = Side((common,), "I"), Side((out,), "O")
            found.append(Product(1 - weight, weight, *sides, "O", "I", 1, layout, shape))
    return tuple(found)


def _convolution(call: Call, attrs: Any, transposed: bool) -> Product | None:
    data = parse_layout(attrs.data_layout)
    result = parse_layout(attrs.out_layout or attrs.data_layout)
    kernel = parse_layout(attrs.kernel_layout)
    shape, inputs = static_shape(call.args[1]), tensor_type(call.args[0])
    if data is None or result is None or kernel is None or shape is None or inputs is None:
        return None
    entering = Side(tuple(data.places("C")), "I")
    leaving = Side(tuple(result.places("C")), "O")
    if transposed:
        return Product(0, 1, entering, leaving, "I", "O", attrs.groups, kernel, shape)
    found = Product(0, 1, entering, leaving, "O", "I", attrs.groups, kernel, shape)
    if attrs.groups == 1 or found.extent("I") == 1:
        return found
    channels = [inputs.shape[axis] for axis in data.places("C")]
    if not all(isinstance(extent, int) for extent in channels):
        return None
    if prod(channels) == attrs.groups == found.extent("O"):
        # a depthwise weight written (channels, multiplier, …): each row is a group, what comes out
        # are its columns
        entering, leaving = replace(entering, letter="O"), replace(leaving, letter="I")
        return replace(found, entering=entering, leaving=leaving)
    return found
