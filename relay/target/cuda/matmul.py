"""Kernels of sums of products: matrix products, and convolutions as such (implicit GEMM).

A program computes a tile of rows by columns. In a loop over the inner axes, tiles of both factors
go through the tensor cores; what reads the sums elementwise (bias, residual, activation) is
computed before the tile is stored.

A convolution is a product whose rows are the pixels of its result, and whose inner axes are those
of the window and the channels. Where a chunk of the inner axis has channels of one window position,
that position is a scalar. Whether a pixel of the window lies inside of the image is a bit per
position and row, computed before the loop: comparisons inside of it have been compiled wrongly
(Triton 3.6 for sm_90), and take longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from relay import tree
from relay.immutable import frozen
from relay.target.cuda.expressions import Value, Writer
from relay.target.cuda.launches import Launch, Work, ceil_div, power_of_two, unflatten
from relay.target.cuda.products import Product
from relay.te import expr as te
from relay.te.legalize import carrier
from relay.te.simplify import Simplifier

ROW, COLUMN, INNER = "row", "column", "inner"
_SHALLOW = 32  # the least inner positions of a tile that are worth it
_BITS = 31  # positions of a window along an axis that a mask has bits for


@frozen
class Tile:
    """The sizes of a tile, and how it is computed."""

    rows: int
    columns: int
    inner: int
    warps: int
    stages: int


def launch(work: Work) -> Launch:
    """The kernel of a nest that begins with a sum of products."""
    product = work.nest.product
    assert product is not None
    return _Matmul(work, product).launch()


def choose_tile(product: Product, multiprocessors: int) -> Tile:
    """The largest tile that still occupies all multiprocessors."""
    rows, columns, inner, batch = (
        _count(axes) for axes in (product.rows, product.columns, product.inner, product.batch)
    )
    dtype = product.dtype
    wide = dtype == "float32"
    depth = 32 if wide else 64
    sizes = [(64, 64), (64, 32), (32, 32)] if wide else [(128, 128), (128, 64), (64, 64), (64, 32)]
    least = 16
    most_rows = max(least, power_of_two(rows))
    most_columns = max(least, power_of_two(columns))
    chosen = None
    for tall, broad in sizes:
        tall, broad = min(tall, most_rows), min(broad, most_columns)
        chosen = tall, broad
        if ceil_div(rows, tall) * ceil_div(columns, broad) * batch >= multiprocessors:
            break
    assert chosen is not None
    tall, broad = chosen
    deep = max(32 if dtype == "int8" else 16, min(depth, power_of_two(inner)))
    last = _extents(product.inner)[-1]
    if last < deep and last == power_of_two(last) >= _SHALLOW and inner > last:
        deep = last  # the positions before the last axis are numbers then
    warps = 8 if tall * broad >= 128 * 128 else 4
    return Tile(tall, broad, deep, warps, 3 if ceil_div(inner, deep) < 4 or warps == 8 else 4)


class _Matmul:
    def __init__(self, work: Work, product: Product) -> None:
        self.work = work
        self.product = product
        self.rows = _count(product.rows)
        self.columns = _count(product.columns)
        self.inner = _count(product.inner)
        self.batch = _count(product.batch)
        self.tile = choose_tile(product, work.multiprocessors)
        self.parameters = work.parameters
        names = {id(tensor): f"p{i}" for i, tensor in enumerate(self.parameters)}
        self.writer = Writer({}, names)
        self.writer.wide = work.is_wide
        self.masks: dict[tuple[te.Expr, ...], te.Var] = {}
        self.values: dict[te.Var, te.Expr] = {}  # of the axes of rows, columns and batch

    def launch(self) -> Launch:
        writer, tile = self.writer, self.tile
        self.positions()
        across = [ROW, INNER], [INNER, COLUMN]
        left_in = self.windows(self.product.left)
        right_in = self.windows(self.product.right)
        sums = "tl.int32" if self.product.dtype == "int8" else "tl.float32"
        writer.line(f"total = tl.zeros([{tile.rows}, {tile.columns}], dtype={sums})")
        if self.work.dependent_launch:
            writer.line("gdc_wait()")
        chunks = ceil_div(self.inner, tile.inner)
        with writer.block(f"for chunk in tl.range(0, {chunks}, num_stages={tile.stages}):"):
            factors = [
                self.factor(factor, inside, axes, chunks)
                for factor, inside, axes in (
                    (self.product.left, left_in, across[0]),
                    (self.product.right, right_in, across[1]),
                )
            ]
            precision = ""
            if self.product.dtype == "float32":
                precision = f', input_precision="{"tf32" if self.work.tf32 else "ieee"}"'
            elif self.product.dtype == "int8":
                precision = ", out_dtype=tl.int32"  # that of the sum is not enough for Triton 3.6
            writer.line(f"total = tl.dot({', '.join(factors)}, total{precision})")
        if self.work.dependent_launch:
            writer.line("gdc_launch_dependents()")
        self.results()
        tiles = ceil_div(self.rows, tile.rows) * ceil_div(self.columns, tile.columns)
        return Launch(
            tuple(writer.lines),
            tuple(writer.helpers),
            (),
            (tiles, self.batch, 1),
            tile.warps,
            tile.stages,
            self.parameters,
        )

    # --- positions

    def positions(self) -> None:
        """The rows and columns of a program, and the values of their axes."""
        writer, tile = self.writer, self.tile
        across = ceil_div(self.columns, tile.columns)
        start = "tl.program_id(0)" + (".to(tl.int64)" if writer.wide else "")
        tall, broad = (
            (start, "0") if across == 1 else (f"{start} // {across}", f"{start} % {across}")
        )
        for axes, name, count, size, place, form in (
            (self.product.rows, ROW, self.rows, tile.rows, tall, "[:, None]"),
            (
                self.product.columns,
                COLUMN,
                self.columns,
                tile.columns,
                broad,
                "[None, :]",
            ),
        ):
            writer.line(f"{name} = ({place} * {size} + tl.arange(0, {size})){form}")
            inside = None
            if count % size:
                inside = f"{name}_in"
                writer.line(f"{inside} = {name} < {count}")
            var = te.Var(te.INDEX, name)
            writer.declare(var, Value(name, frozenset({name})), count, inside)
            self.values |= zip(axes, unflatten(var, _extents(axes)), strict=True)
        if self.batch > 1:
            var = te.Var(te.INDEX, "batch")
            writer.line("batch = tl.program_id(1)" + (".to(tl.int64)" if writer.wide else ""))
            writer.declare(var, Value("batch"), self.batch)
            axes = self.product.batch
            self.values |= zip(axes, unflatten(var, _extents(axes)), strict=True)
        for axis in self.work.nest.stages[0].computation.axes:
            self.values.setdefault(axis, te.index(0))

    def windows(self, factor: te.Expr) -> te.Expr:
        """The factor, with bits of masks for conditions on one inner axis.

        0 <= i + k - 1 < n   ->   mask >> k & 1     mask = (0 <= i - 1 < n) | (0 <= i < n) << 1 …
        """
        conditions: list[te.Expr] = []
        read = factor
        while isinstance(read, te.Select):
            conditions += _conjuncts(read.condition)
            read = read.if_true
        simplify = Simplifier()
        used = te.variables(factor)
        for var in used:
            if isinstance(var, te.Axis):
                simplify.bind(var, var.extent)
        rest: list[te.Expr] = []
        by_axis: dict[te.Axis, list[te.Expr]] = {}
        for condition in conditions:
            condition = simplify(condition)
            inner = [axis for axis in self.product.inner if axis in te.variables(condition)]
            if not inner:
                rest.append(self.outside(condition))
            elif len(inner) == 1 and int(inner[0].extent.value) <= _BITS:
                by_axis.setdefault(inner[0], []).append(condition)
            else:
                rest.append(condition)
        for axis, each in by_axis.items():
            mask = self.mask(axis, te.every(*each))
            bit = (mask >> te.cast(axis, "int32")) & 1
            rest.append(te.not_equal(bit, 0))
        condition = te.every(*rest)
        if isinstance(condition, te.Const) and condition.value:
            return read
        return te.Select(factor.dtype, condition, read, te.const(0, factor.dtype))

    def outside(self, condition: te.Expr) -> te.Expr:
        """A variable for a condition that is the same in all steps."""
        value = self.writer.value(te.substitute(condition, self.values))
        if not value.axes:
            return condition
        var = te.Var("bool", f"inside {len(self.masks)}")
        self.masks[(var, condition)] = var
        self.writer.declare(var, Value(self.writer.assign(value.text, "inside"), value.axes))
        return var

    def mask(self, axis: te.Axis, condition: te.Expr) -> te.Var:
        """A variable with a bit for each position along an inner axis."""
        bits: te.Expr = te.const(0, "int32")
        for position in range(int(axis.extent.value)):
            there = te.substitute(condition, {**self.values, axis: te.index(position)})
            zero, one = (te.const(bit, "int32") for bit in (0, 1 << position))
            bit = te.select(self.writer.simplify(there), one, zero)
            bits = bits | bit if position else bit
        var = te.Var("int32", f"mask {len(self.masks)}")
        self.masks[(axis, condition)] = var
        value = self.writer.value(bits)
        self.writer.declare(var, Value(self.writer.assign(value.text, "mask"), value.axes))
        return var

    # --- the loop

    def factor(self, factor: te.Expr, source: te.Expr, across: Sequence[str], chunks: int) -> str:
        """The tile of a factor."""
        writer, tile = self.writer, self.tile
        sizes = {ROW: tile.rows, COLUMN: tile.columns, INNER: tile.inner}
        writer.sizes = {axis: sizes[axis] for axis in across}
        places = self.inner_places("[None, :]" if across[-1] == INNER else "[:, None]", chunks)
        whole = te.substitute(source, {**self.values, **places})
        guards: tuple[te.Expr, ...] = ()
        if isinstance(whole, te.Select):
            guards, whole = (writer.simplify(whole.condition),), whole.if_true
        assert isinstance(whole, te.Read)
        value = tree.run(writer.load(whole, guards, raw=True))
        text = writer.spread(value, frozenset(across), factor.dtype)
        return writer.assign(text)

    def inner_places(self, form: str, chunks: int) -> dict[te.Var, te.Expr]:
        """The values of the inner axes in a tile whose inner positions have this form."""
        writer, size = self.writer, self.tile.inner
        chunk = te.Var(te.INDEX, "chunk")
        writer.declare(chunk, Value("chunk"), chunks)
        part = te.Var(te.INDEX, f"inner {form}")
        extents = _extents(self.product.inner)
        axis = frozenset({INNER})
        if extents[-1] % size == 0:
            writer.declare(part, Value(f"tl.arange(0, {size}){form}", axis), size)
            step = unflatten(chunk, [*extents[:-1], extents[-1] // size])
            places = [*step[:-1], step[-1] * size + part]
        else:
            name = writer.assign(f"(chunk * {size} + tl.arange(0, {size})){form}", "inner")
            inside = None
            if self.inner % size:
                inside = writer.assign(f"{name} < {self.inner}", "inner_in")
            writer.declare(part, Value(name, axis), self.inner, inside)
            places = unflatten(part, extents)
        return dict(zip(self.product.inner, places, strict=True))

    # --- after the loop

    def results(self) -> None:
        """Store the accumulators, or the epilogue computed from them."""
        writer, tile, work = self.writer, self.tile, self.work
        writer.sizes = {ROW: tile.rows, COLUMN: tile.columns}
        first = work.nest.stages[0]
        (tensor,) = first.tensors
        value = Value("total", frozenset({ROW, COLUMN}))
        total = te.Var(carrier(tensor.dtype), "total")
        writer.declare(total, value)
        own = [self.values[axis] for axis in first.computation.axes]
        if id(tensor) in work.stored:
            writer.store(tensor, own, value)

        def step(before: te.Expr, after: te.Expr) -> te.Expr:
            if isinstance(after, te.Read) and after.source is tensor:
                return te.cast(total, after.dtype)
            return te.remake(before, after)

        for stage, (rows, _) in list(zip(work.nest.stages, work.nest.axes, strict=True))[1:]:
            places: Mapping[te.Var, te.Expr] = dict(zip(rows, own, strict=True))
            for made, place in zip(stage.tensors, stage.places, strict=True):
                if id(made) in work.stored:
                    body = tree.transform(stage.computation.bodies[place], step)
                    indices = [te.substitute(axis, places) for axis in stage.computation.axes]
                    writer.store(made, indices, writer.value(te.substitute(body, places)))


def _conjuncts(condition: te.Expr) -> list[te.Expr]:
    """The parts of a conjunction."""
    found: list[te.Expr] = []
    pending = [condition]
    while pending:
        one = pending.pop()
        if isinstance(one, te.Binary) and one.op == "and" and one.dtype == "bool":
            pending += (one.right, one.left)
        else:
            found.append(one)
    return found


def _extents(axes: Sequence[te.Axis]) -> tuple[int, ...]:
    return tuple(int(axis.extent.value) for axis in axes)


def _count(axes: Sequence[te.Axis]) -> int:
    return prod(_extents(axes))
