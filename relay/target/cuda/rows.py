"""Kernels of a nest of rows: elementwise results, reductions, and both (softmax, normalization).

A program computes a tile: some rows, and all columns of these, in chunks if they are many. What
has no columns is a vector along the rows. A window of few elements is a vector along the rows as
well, with one step per element.

    y[i] = sum(x[i, k])     ->   t = tl.load(x + rows[:, None] * n + columns[None, :])
                                 tl.store(y + rows, tl.sum(t, axis=1))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from relay import tree
from relay.immutable import frozen
from relay.target.cuda.expressions import TYPES, Value, Writer
from relay.target.cuda.launches import Launch, Work, ceil_div, power_of_two, unflatten
from relay.te import access
from relay.te import expr as te
from relay.te.legalize import carrier
from relay.te.reduction import SUM
from relay.te.schedule import Stage, facts
from relay.te.simplify import Simplifier

ROW, COLUMN = "row", "column"
_UNROLLED = 32  # elements of a window that are written out
_TILE = 4096  # elements of a tile
_VECTOR = 1024  # elements of a vector along the rows
_SUMS = frozenset({"float32", "float64", "int32", "int64"})


@frozen
class Tile:
    """The sizes of a tile: `columns` is 1 where programs are vectors along the rows."""

    rows: int
    columns: int
    warps: int

    @property
    def is_vector(self) -> bool:
        return self.columns == 1


def launch(work: Work) -> Launch:
    """The kernel of a nest without sums of products."""
    tile = _tile(work)
    return _Rows(work, tile).launch()


def _tile(work: Work) -> Tile:
    nest = work.nest
    rows = prod(nest.rows)
    widest = max(_count(columns) for _, columns in nest.axes)
    if widest <= 1 or _as_vector(work, rows, widest):
        spread = power_of_two(ceil_div(rows, work.multiprocessors))
        size = min(power_of_two(rows), max(128, min(_VECTOR, spread)))
        return Tile(size, 1, max(1, min(4, size // 256)))
    columns = min(power_of_two(widest), _TILE)
    most = max(1, min(_TILE // columns, power_of_two(ceil_div(rows, work.multiprocessors))))
    tall = min(power_of_two(rows), most)
    return Tile(tall, columns, max(1, min(8, tall * columns // 512)))


def _as_vector(work: Work, rows: int, widest: int) -> bool:
    """Whether reductions run step by step in programs that are vectors along the rows."""
    nest = work.nest
    for stage, (_, columns) in zip(nest.stages, nest.axes, strict=True):
        if columns and not stage.is_reduction:
            return False
    if widest <= _UNROLLED:
        return True
    first = nest.stages[0]
    return rows >= 512 and not _along_columns(first)


def _along_columns(stage: Stage) -> bool:
    """Whether a reduction reads contiguous memory along its last axis."""
    op = stage.computation
    last = op.reduction_axes[-1]
    simplify = Simplifier()
    for axis in (*op.axes, *op.reduction_axes):
        simplify.bind(axis, axis.extent)
    return any(
        access.stride(read, last, simplify) == 1
        for body in facts.bodies(stage)
        for read in te.reads(body)
    )


class _Rows:
    def __init__(self, work: Work, tile: Tile) -> None:
        self.work = work
        self.tile = tile
        self.count = prod(work.nest.rows)
        self.parameters = work.parameters
        names = {id(tensor): f"p{i}" for i, tensor in enumerate(self.parameters)}
        sizes = {ROW: tile.rows} if tile.is_vector else {ROW: tile.rows, COLUMN: tile.columns}
        self.writer = Writer(sizes, names)
        self.writer.wide = work.is_wide
        self.row = te.Var(te.INDEX, "row")
        self.columns: dict[tuple[int, ...], te.Var] = {}
        self.results: dict[int, te.Var] = {}  # reductions, by the identity of their tensors
        self.combiners: dict[str, str] = {}

    def launch(self) -> Launch:
        writer, tile = self.writer, self.tile
        if self.work.dependent_launch:
            writer.line("gdc_wait()")
        start = "tl.program_id(0)" + (".to(tl.int64)" if writer.wide else "")
        whole = self.count % tile.rows == 0
        places = f"{start} * {tile.rows} + tl.arange(0, {tile.rows})"
        writer.line(f"row = {places}" if tile.is_vector else f"row = ({places})[:, None]")
        if not whole:
            writer.line(f"row_in = row < {self.count}")
        writer.declare(
            self.row, Value("row", frozenset({ROW})), self.count, None if whole else "row_in"
        )
        for stage, (rows, columns) in zip(self.work.nest.stages, self.work.nest.axes, strict=True):
            places_of_rows = unflatten(self.row, self.work.nest.rows)
            values: dict[te.Var, te.Expr] = dict(zip(rows, places_of_rows, strict=True))
            if stage.is_reduction:
                self.reduction(stage, values, columns)
            else:
                self.elementwise(stage, values, columns)
        if self.work.dependent_launch:
            writer.line("gdc_launch_dependents()")
        return Launch(
            tuple(writer.lines),
            tuple(writer.helpers),
            tuple(self.combiners.values()),
            (ceil_div(self.count, tile.rows), 1, 1),
            tile.warps,
            3,
            self.parameters,
        )

    # --- stages

    def elementwise(
        self, stage: Stage, values: dict[te.Var, te.Expr], columns: Sequence[te.Axis]
    ) -> None:
        op = stage.computation

        def store() -> None:
            for tensor, place in zip(stage.tensors, stage.places, strict=True):
                if id(tensor) in self.work.stored:
                    value = self.writer.value(self.over(op.bodies[place], values))
                    indices = [te.substitute(axis, values) for axis in op.axes]
                    self.writer.store(tensor, indices, value)

        if not columns:
            store()
            return
        chunks = ceil_div(_count(columns), self.tile.columns)
        if chunks == 1:
            values.update(self.whole_columns(columns))
            store()
            return
        with self.chunk(columns, chunks) as more:
            values.update(more)
            store()

    def reduction(
        self, stage: Stage, values: dict[te.Var, te.Expr], columns: Sequence[te.Axis]
    ) -> None:
        op = stage.computation
        reduction = op.reduction
        assert reduction is not None
        count = _count(columns)
        if self.tile.is_vector:
            found = self.step_by_step(reduction, values, columns)
        elif count <= self.tile.columns:
            values = {**values, **self.whole_columns(columns)}
            found = self.reduced(reduction, self.terms(reduction, values, columns))
        else:
            found = self.in_chunks(reduction, values, columns)
        for tensor, place in zip(stage.tensors, stage.places, strict=True):
            var = te.Var(carrier(tensor.dtype), f"result {len(self.results)}")
            self.writer.declare(var, found[place])
            self.results[id(tensor)] = var
            if id(tensor) in self.work.stored:
                indices = [te.substitute(axis, values) for axis in op.axes]
                self.writer.store(tensor, indices, found[place])

    def step_by_step(
        self,
        reduction: te.Reduce,
        values: Mapping[te.Var, te.Expr],
        columns: Sequence[te.Axis],
    ) -> list[Value]:
        """A reduction in programs that are vectors along the rows."""
        writer, count = self.writer, _count(columns)
        extents = _extents(columns)
        total: list[Value] | None = None
        if not count:
            kinds = tuple(value.dtype for value in reduction.values)
            return [writer.value(one) for one in reduction.combiner.identity(kinds)]
        if count <= _UNROLLED:
            for step in range(count):
                places = unflatten(te.index(step), extents)
                more = dict(values) | dict(zip(columns, places, strict=True))
                terms = self.each(reduction, more)
                total = terms if total is None else self.combined(reduction, total, terms)
            assert total is not None
            return total
        totals = self.start(reduction)
        step_var = self.column(columns)
        name = writer.name("k")
        with writer.block(f"for {name} in range(0, {count}):"):
            writer.declare(step_var, Value(name), count)
            places = unflatten(step_var, extents)
            terms = self.each(reduction, dict(values) | dict(zip(columns, places, strict=True)))
            for kept, new in zip(totals, self.combined(reduction, totals, terms), strict=True):
                writer.line(f"{kept.text} = {new.text}")
        return totals

    def in_chunks(
        self,
        reduction: te.Reduce,
        values: Mapping[te.Var, te.Expr],
        columns: Sequence[te.Axis],
    ) -> list[Value]:
        """A reduction of more columns than a tile has."""
        totals = self.start(reduction)
        with self.chunk(columns, ceil_div(_count(columns), self.tile.columns)) as more:
            terms = self.terms(reduction, {**values, **more}, columns)
            for kept, new in zip(totals, self.combined(reduction, totals, terms), strict=True):
                self.writer.line(f"{kept.text} = {new.text}")
        return self.reduced(reduction, totals)

    # --- columns

    def column(self, columns: Sequence[te.Axis]) -> te.Var:
        """The variable of all columns of these extents."""
        extents = _extents(columns)
        made = te.Var(te.INDEX, f"column {len(self.columns)}")
        return self.columns.setdefault(extents, made)

    def whole_columns(self, columns: Sequence[te.Axis]) -> dict[te.Var, te.Expr]:
        """The values of column axes where a tile has all columns."""
        var = self.column(columns)
        if var.name not in self.writer.variables:
            self.declare_columns(var, f"tl.arange(0, {self.tile.columns})", _count(columns), True)
        places = unflatten(var, _extents(columns))
        return dict(zip(columns, places, strict=True))

    def chunk(self, columns: Sequence[te.Axis], chunks: int) -> _Chunk:
        """A loop over chunks of columns; its context gives the values of their axes."""
        return _Chunk(self, columns, chunks)

    def declare_columns(self, var: te.Var, places: str, count: int, once: bool) -> None:
        writer = self.writer
        name = writer.assign(f"({places})[None, :]", "column")
        inside = None
        if count % self.tile.columns:
            inside = writer.assign(f"{name} < {count}", "column_in")
        writer.declare(var, Value(name, frozenset({COLUMN})), count, inside)

    # --- values of reductions

    def over(self, body: te.Expr, values: Mapping[te.Var, te.Expr]) -> te.Expr:
        """An expression over the variables of tiles, with variables for reductions."""

        def step(before: te.Expr, after: te.Expr) -> te.Expr:
            if isinstance(after, te.Read) and id(after.source) in self.results:
                var = self.results[id(after.source)]
                return te.cast(var, after.dtype) if var.dtype != after.dtype else var
            return te.remake(before, after)

        return te.substitute(tree.transform(body, step), values)

    def each(self, reduction: te.Reduce, values: Mapping[te.Var, te.Expr]) -> list[Value]:
        """The operands of the reduction."""
        return [self.writer.value(self.over(value, values)) for value in reduction.values]

    def terms(
        self,
        reduction: te.Reduce,
        values: Mapping[te.Var, te.Expr],
        columns: Sequence[te.Axis],
    ) -> list[Value]:
        """What is reduced, as whole tiles with the identity where there is no column."""
        kinds = tuple(value.dtype for value in reduction.values)
        inside = self.writer.variables[self.column(columns).name].inside
        both = frozenset({ROW, COLUMN})
        found = []
        identities = reduction.combiner.identity(kinds)
        for value, kind, identity in zip(
            self.each(reduction, values), kinds, identities, strict=True
        ):
            if inside is not None:
                other = self.writer.value(identity).text
                axes = value.axes | {COLUMN}
                text = f"tl.where({inside}, {value.text}, {other})"
                value = Value(self.writer.assign(text), axes)
            text = self.writer.spread(value, both, carrier(kind))
            found.append(Value(self.writer.assign(text), both))
        return found

    def start(self, reduction: te.Reduce) -> list[Value]:
        """Tiles of the identity, in names that are assigned to again."""
        kinds = tuple(value.dtype for value in reduction.values)
        axes = frozenset(self.writer.sizes)
        made = []
        for kind, identity in zip(kinds, reduction.combiner.identity(kinds), strict=True):
            text = self.writer.value(identity).text
            tile = f"tl.full({self.writer.shape(axes)}, {text}, {TYPES[carrier(kind)]})"
            made.append(Value(self.writer.assign(tile, "total"), axes))
        return made

    def combined(
        self, reduction: te.Reduce, left: Sequence[Value], right: Sequence[Value]
    ) -> list[Value]:
        """Two sets of values combined elementwise."""
        sides = []
        for side, values in (("left", left), ("right", right)):
            made = []
            for number, (value, term) in enumerate(zip(values, reduction.values, strict=True)):
                var = te.Var(term.dtype, f"{side} {number} {self.writer.name()}")
                self.writer.declare(var, value)
                made.append(var)
            sides.append(tuple(made))
        return [self.writer.value(one) for one in reduction.combiner.combine(*sides)]

    def reduced(self, reduction: te.Reduce, terms: Sequence[Value]) -> list[Value]:
        """Tiles reduced along their columns."""
        kind = carrier(reduction.values[0].dtype)
        rows = frozenset({ROW})
        if reduction.combiner is SUM and kind in _SUMS:
            text = f"tl.sum({terms[0].text}, axis=1, keep_dims=True)"
            return [Value(self.writer.assign(text), rows)]
        combine = self.combiner(reduction)
        given = ", ".join(term.text for term in terms)
        one = len(terms) == 1
        names = [self.writer.name() for _ in terms]
        source = given if one else f"({given})"
        call = f"tl.reduce({source}, 1, {combine}, keep_dims=True)"
        self.writer.line(f"{', '.join(names)} = {call}")
        return [Value(name, rows) for name in names]

    def combiner(self, reduction: te.Reduce) -> str:
        """The name of the function that combines values."""
        kinds = [value.dtype for value in reduction.values]
        name = "_".join(["combine", reduction.combiner.name, *kinds])
        if name in self.combiners:
            return name
        writer = Writer({}, {})
        sides = []
        for side in "ab":
            made = []
            for number, kind in enumerate(kinds):
                var = te.Var(kind, f"{side}{number}")
                writer.declare(var, Value(var.name))
                made.append(var)
            sides.append(tuple(made))
        results = [writer.value(one).text for one in reduction.combiner.combine(*sides)]
        parameters = ", ".join(var.name for side in sides for var in side)
        lines = [f"def {name}({parameters}):", *writer.lines]
        lines.append(f"    return {', '.join(results)}")
        self.writer.helpers |= writer.helpers
        self.combiners[name] = "@triton.jit\n" + "\n".join(lines) + "\n"
        return name


class _Chunk:
    """The context of a loop over chunks of columns."""

    def __init__(self, rows: _Rows, columns: Sequence[te.Axis], chunks: int) -> None:
        self.rows = rows
        self.columns = columns
        writer = rows.writer
        self.name = writer.name("chunk")
        self.block = writer.block(f"for {self.name} in range(0, {chunks}):")

    def __enter__(self) -> dict[te.Var, te.Expr]:
        self.block.__enter__()
        rows = self.rows
        size = rows.tile.columns
        var = rows.column(self.columns)
        places = f"{self.name} * {size} + tl.arange(0, {size})"
        rows.declare_columns(var, places, _count(self.columns), False)
        return dict(zip(self.columns, unflatten(var, _extents(self.columns)), strict=True))

    def __exit__(self, *failure: object) -> None:
        self.block.__exit__(None, None, None)


def _extents(axes: Sequence[te.Axis]) -> tuple[int, ...]:
    return tuple(int(axis.extent.value) for axis in axes)


def _count(axes: Sequence[te.Axis]) -> int:
    return prod(_extents(axes))
