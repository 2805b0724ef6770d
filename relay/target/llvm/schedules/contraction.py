"""Sums of products (contractions): register tiles of results, with packed panels of one factor.

    c[i, j] = sum(a[i, k] * b[k, j] for k); y[i, j] = relu(c[i, j] + bias[j])
      ->   parallel for a panel of columns:
             pack the panel of b                          (weights are packed before)
             for a few rows:
               acc[6, 64] in registers
               for k: acc[i, j] += a[i, k] * panel[k, j]
               y = relu(acc + bias)

Matrix products, batched or not, and convolutions in all layouts have this form. Axes of the result
belong to one factor (rows or columns) or to both (batches). Vectors run along columns: the
innermost axis of the result, if its factor can be loaded or packed in vectors; otherwise the
innermost axis of the other factor, and results are scattered.

With dot-product instructions (`integers`), the last reduction axis is the steps of one instruction,
which are innermost in panels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from math import prod

from relay import dtypes, tree
from relay.immutable import frozen
from relay.target.llvm.schedules import PARALLEL_WORK
from relay.target.llvm.schedules.elementwise import elementwise
from relay.target.llvm.schedules.hoist import constants_only
from relay.target.llvm.schedules.plan import RULES, Plan, tiles
from relay.target.llvm.schedules.tile import Tile, Window, tile_for
from relay.target.llvm.target import LLVMTarget
from relay.te import access, schedule
from relay.te.expr import Axis, Binary, Cast, Const, Expr, Read, Var, variables
from relay.te.instruction import DOT2, Instruction
from relay.te.loops import MemoryScope
from relay.te.reduction import SUM
from relay.te.schedule import Schedule, facts
from relay.te.schedule.loops import is_multiple
from relay.te.simplify import Simplifier

DEPTH = 4  # unrolled steps of the reduction
_WINDOW = 9  # taps of a window, of all its axes, that are unrolled
_TAPS = 8  # taps that LLVM unrolls completely
_PLAIN_DEPTH = 1  # where LLVM would add several first, and spill registers
_ENOUGH = 8  # iterations of a parallel loop that keep threads busy
_SHORT = 12  # a shorter last row axis is fused with the one before
_PANEL = 3 << 18  # bytes of a panel that stay in the L2 cache
_STAYS = 1 << 18  # bytes that stay in the L2 cache until they are read again
_TALL = 10  # rows of a tile of two vectors


@frozen
class Form:
    """The axes of a sum of products, by the factors they index."""

    batch: tuple[Axis, ...]  # both
    rows: tuple[Axis, ...]  # the left factor only
    columns: tuple[Axis, ...]  # the right factor only
    reduced: tuple[Axis, ...]
    left: Expr
    right: Expr
    instruction: Instruction | None = None  # for all steps of the last axis of `reduced`

    def held(self, factor: Expr) -> Expr:
        """A factor as it is packed: dot-product instructions widen it themselves."""
        if self.instruction is None or not isinstance(factor, Cast):
            return factor
        return factor.operand


def recognize(s: Schedule, name: str, constants: set[int]) -> Form | None:
    """The form of a stage that is a sum of products, or None."""
    op = s[name].computation
    reduction = op.reduction
    if reduction is None or reduction.combiner is not SUM or len(reduction.values) != 1:
        return None
    value = reduction.values[0]
    if not (isinstance(value, Binary) and value.op == "mul"):
        return None
    left, right = value.left, value.right
    if not (_varies(left, op.reduction_axes) and _varies(right, op.reduction_axes)):
        return None
    in_left, in_right = variables(left), variables(right)
    batch = tuple(axis for axis in op.axes if axis in in_left and axis in in_right)
    only_left = tuple(a for a in op.axes if a in in_left and a not in in_right)
    only_right = tuple(a for a in op.axes if a in in_right and a not in in_left)
    if len(batch) + len(only_left) + len(only_right) < len(op.axes):
        return None
    if not only_left or not only_right:
        return None
    instruction = s[name].loops[-1].instruction
    form = Form(batch, only_left, only_right, op.reduction_axes, left, right, instruction)
    if instruction is not None:
        return form  # with its factors in order
    if not _tiles_pay(form, constants):
        return None
    return form if _vectorize_right(form, op.axes, constants) else _swapped(form)


def _size(axes: Iterable[Axis]) -> int:
    """The number of iterations of some axes."""
    return prod(facts.extents(axis.extent for axis in axes))


def _swapped(form: Form) -> Form:
    return Form(form.batch, form.columns, form.rows, form.reduced, form.right, form.left)


def _varies(factor: Expr, axes: tuple[Axis, ...]) -> bool:
    return bool(variables(factor) & set(axes)) and any(
        isinstance(part, Read) for part in tree.postorder(factor)
    )


def _tiles_pay(form: Form, constants: set[int]) -> bool:
    """Whether tiles pay: elements of both factors are used several times, or it is the product of a
    vector and a constant matrix, which is packed.
    """
    rows = _size(form.rows)
    columns = _size(form.columns)
    depth = _size(form.reduced)
    if depth < 4 or max(rows, columns) < 4:
        return False
    matrix = form.right if rows < columns else form.left
    least = min(rows, columns)
    return least >= 2 or (least == 1 and is_constant(matrix, constants))


def _vectorize_right(form: Form, axes: tuple[Axis, ...], constants: set[int]) -> bool:
    """Whether vectors should run along the axes of the right factor."""
    last = axes[-1]
    if last in form.batch:
        return True
    inner_is_right = last in form.columns
    inner, other = (form.right, form.left) if inner_is_right else (form.left, form.right)
    if is_constant(inner, constants):
        return inner_is_right
    # packing would copy the windows of an image many times: rather vectors of the other factor, and
    # scattered results, unless there are more of these than copies
    spread_out = (
        isinstance(uncast(other), Read)
        and _copies(inner, form, axes) > 2
        and _size(form.reduced) > _size(form.rows if inner_is_right else form.columns)
    )
    return not inner_is_right if spread_out else inner_is_right


def is_constant(factor: Expr, constants: set[int]) -> bool:
    """Whether a factor is constant."""
    return all(
        id(part.source) in constants for part in tree.postorder(factor) if isinstance(part, Read)
    )


def _copies(factor: Expr, form: Form, axes: tuple[Axis, ...]) -> float:
    """How often packing would copy an element of a factor."""
    used = variables(factor)
    panel = _size(axis for axis in (*axes, *form.reduced) if axis in used)
    held = max(
        prod(facts.extents(part.source.shape))
        for part in tree.postorder(factor)
        if isinstance(part, Read)
    )
    return panel / max(1, held)


def uncast(expr: Expr) -> Expr:
    """The operand of casts."""
    while isinstance(expr, Cast):
        expr = expr.operand
    return expr


def _narrowed(tile: Tile, form: Form, rows: int) -> Tile:
    """Every tile of rows reads a whole panel, which should stay in the L2 cache: a deep reduction
    gets narrow panels and taller tiles."""
    depth = _size(form.reduced)
    panel = depth * tile.columns * dtypes.to_numpy(form.held(form.right).dtype).itemsize
    every_row = _size(form.rows)
    if panel <= _PANEL or tile.vectors < 4 or every_row <= tile.rows:
        return tile
    return Tile(-(-rows // -(-rows // _TALL)), tile.vectors // 2, tile.lanes)


def _lines_outside(form: Form, lines: Sequence[Axis]) -> bool:
    """Whether the loop over lines of rows is outside that over panels: where panels stay in the L2
    cache and rows do not, rows are read from memory once."""
    if not all(isinstance(axis.extent, Const) for axis in (*lines, *form.columns, *form.reduced)):
        return False
    if _size(lines) < _ENOUGH:
        return False
    panels = _size((*form.columns, *form.reduced))
    panels *= dtypes.to_numpy(form.held(form.right).dtype).itemsize
    passing = max(
        prod(facts.extents(part.source.shape)) * dtypes.to_numpy(part.dtype).itemsize
        for part in tree.postorder(form.left)
        if isinstance(part, Read)
    )
    return panels <= _STAYS < passing


def _window(form: Form, row_group: Sequence[Axis]) -> Window | None:
    """The window in which consecutive rows overlap at the innermost reduction axis."""
    row, tap = row_group[-1], form.reduced[-1]
    if form.instruction is not None or len(row_group) > 1 or not isinstance(tap.extent, Const):
        return None
    simplify = Simplifier()
    for axis in (*form.batch, *form.rows, *form.reduced):
        simplify.bind(axis, axis.extent)
    taps = min(int(tap.extent.value), _TAPS)
    for part in tree.postorder(form.left):
        if isinstance(part, Read):
            step, apart = (access.stride(part, axis, simplify) for axis in (row, tap))
            if step and apart and step < taps * apart:
                return Window(taps, step, apart)
    return None


def matching_loops(s: Schedule, root: str, name: str) -> tuple[Schedule, list[str]] | None:
    """The loops of `root` at which the axes of `name` are read; None if they do not match.

    Where `root` reads at (i // k, i % k), as after a reshape, its loop is split in two.
    """
    made = {id(tensor) for tensor in s[name].tensors}
    for _ in range(len(s[name].computation.axes) + 1):
        stage = s[root]
        places = [read.indices for read in facts.reads(stage) if id(read.source) in made]
        if not places or any(place != places[0] for place in places):
            return None
        simplify = facts.simplifier(stage)
        found = [simplify(place) for place in places[0]]
        by_var: dict[Var, str] = {loop.var: loop.name for loop in stage.loops}
        names = [by_var.get(place, "") if isinstance(place, Var) else "" for place in found]
        if all(names):
            if len(set(names)) == len(names) == len(stage.loops):
                return s, names
            return None
        divided = _divided_loop(found, by_var)
        if divided is None or not is_multiple(stage.loop(divided[0]).extent, divided[1]):
            return None
        s = schedule.split(s, root, divided[0], divided[1])
    return None


def _divided_loop(places: Sequence[Expr], by_var: dict[Var, str]) -> tuple[str, int] | None:
    for place in places:
        if (
            isinstance(place, Binary)
            and place.op == "floordiv"
            and isinstance(place.left, Var)
            and isinstance(place.right, Const)
        ):
            return by_var[place.left], int(place.right.value)
    return None


def _tile(s: Schedule, name: str, form: Form, target: LLVMTarget) -> Tile:
    """The tile that the rules choose for a sum of products."""
    row_group, _ = _row_group(form)
    column_group, _ = grouped_columns(form, s[name].computation.axes)
    rows = _size(row_group)
    tile = tile_for(
        rows,
        _size(column_group),
        s[name].tensors[0].dtype,
        target,
        window=_window(form, row_group),
        known=all(isinstance(axis.extent, Const) for axis in column_group),
        blocked=len(column_group) > 1,
    )
    return _narrowed(tile, form, rows)


def _part(s: Schedule, root: str, loops: Sequence[str], split: Collection[str]) -> int:
    """The iterations of loops of the root if one of them was `split` off, because the sum is read
    at (i // k, i % k); 0 if none was, or it is not known how many there are."""
    found = [s[root].loop(name) for name in loops]
    known = all(isinstance(loop.extent, Const) for loop in found)
    return prod(loop.count for loop in found) if known and {*loops} & {*split} else 0


def _dividing(tile: Tile, rows: int, columns: int, target: LLVMTarget) -> Tile:
    """A tile that ends where so many rows and columns do, if these are not 0: beyond them there are
    other groups, and the sums of these would be computed as well."""
    if (rows % tile.rows or columns % tile.columns) == 0:
        return tile
    lanes, vectors, height = tile.lanes, tile.vectors, tile.rows
    if columns:
        while columns % lanes:
            lanes //= 2
        vectors = max(count for count in range(1, 5) if columns // lanes % count == 0)
        height = max(1, min(height, (target.vector_registers - vectors - 1) // vectors))
    if rows:
        height = max(count for count in range(1, height + 1) if rows % count == 0)
    return Tile(height, vectors, lanes)


def plans(s: Schedule, name: str, form: Form, target: LLVMTarget) -> Iterator[Plan]:
    """Other schedules for a sum of products that may be faster."""
    row_group, far_rows = _row_group(form)
    column_group, _ = grouped_columns(form, s[name].computation.axes)
    sizes = _size(row_group), _size(column_group)
    for rows, vectors in tiles(_tile(s, name, form, target), *sizes, target):
        yield Plan(rows, vectors)
    if far_rows:
        yield from (Plan(lines="in"), Plan(lines="out"))


def contraction(
    s: Schedule,
    root: str,
    name: str,
    form: Form,
    loops: Sequence[str],
    target: LLVMTarget,
    constants: set[int],
    *,
    split: Collection[str] = (),
    threads: bool = True,
    plan: Plan = RULES,
) -> Schedule:
    """Schedule `root`, which reads the sum of products `name` at its own `loops`, some of which
    were `split` off for that."""
    axes = s[name].computation.axes
    loop_of = dict(zip(axes, loops, strict=True))
    row_group, far_rows = _row_group(form)
    column_group, far_columns = grouped_columns(form, axes)
    outer = (*form.batch, *far_columns, *far_rows)
    rows = _size(row_group)
    tile = plan.tile(_tile(s, name, form, target), rows, _size(column_group))
    tile = _dividing(
        tile,
        _part(s, root, [loop_of[axis] for axis in row_group], split),
        _part(s, root, [loop_of[axis] for axis in column_group], split),
        target,
    )
    work = facts.points(s[name])
    s = schedule.reindex(s, name, [*((axis,) for axis in outer), row_group, column_group])
    # the loops of the root in the same order, with groups fused
    s = schedule.reorder(s, root, *(loop_of[axis] for axis in (*outer, *row_group, *column_group)))
    s, row = _fused(s, root, [loop_of[axis] for axis in row_group])
    s, column = _fused(s, root, [loop_of[axis] for axis in column_group])
    s, panel = pack_factor(s, name, len(form.batch) + len(far_columns), len(outer), form, tile)
    s = schedule.split(s, root, column, tile.columns, ("panel", "c"))
    s = schedule.split(s, root, row, tile.rows, ("tile", "r"))
    before = [loop_of[axis] for axis in (*form.batch, *far_columns)]
    between = [loop_of[axis] for axis in far_rows]
    ready = constants_only(s, panel, constants)
    by_lines = ready and _lines_outside(form, far_rows)
    if plan.lines and between:
        by_lines = ready and plan.lines == "out"
    middle = [*between, "panel"] if by_lines else ["panel", *between]
    s = schedule.reorder(s, root, *before, *middle, "tile", "r", "c")
    s = vectors(s, root, "c", tile)
    s = schedule.unroll(s, root, "r")
    panels = prod(facts.extents(s[root].loop(one).extent for one in (*before, "panel")))
    at_panel = not ready and panels >= _ENOUGH
    level = "panel"
    if threads and work >= PARALLEL_WORK:
        # alternating directions reuse what is still in the cache from the last call
        once = ready and rows <= tile.rows and not between
        if by_lines:
            s, level = _parallelize_until(s, root, between[-1])
        else:
            s, level = _parallelize(s, root, panels, between, alternating=once)
    order = [loop.name for loop in s[root].loops]
    # (tiles are outside of panels if they are parallel)
    s = schedule.compute_at(s, name, root, order[order.index("r") - 1], padded=True)
    plain = form.instruction is DOT2 and not target.has_vnni
    s = micro_kernel(s, name, tile, form.instruction, _PLAIN_DEPTH if plain else DEPTH)
    if at_panel:
        s = schedule.compute_at(s, panel, root, level)
    return elementwise(s, panel, target, threads=threads and not at_panel)


def _parallelize(
    s: Schedule, root: str, panels: int, between: Sequence[str], *, alternating: bool
) -> tuple[Schedule, str]:
    """Threads over panels or, if there are few, over rows too, or over tiles, if those are more.

    Tiles stay a separate loop, so that the last, smaller one can be peeled.
    """
    far = prod(facts.extents(s[root].loop(one).extent for one in between))
    if panels * far < min(_ENOUGH, facts.count(s[root].loop("tile"))):
        loops = [loop.name for loop in s[root].loops if loop.name != "tile"]
        return schedule.parallel(schedule.reorder(s, root, "tile", *loops), root, "tile"), "tile"
    level = between[-1] if between and panels < _ENOUGH else "panel"
    outside = [loop.name for loop in s[root].loops[: s[root].position(level) + 1]]
    later = [one for one in outside if not isinstance(s[root].loop(one).extent, Const)]
    if later and len(outside) > 1:
        return _parallelize_one(s, root, outside, later)
    return _parallelize_until(s, root, level, alternating=alternating)


def _parallelize_until(
    s: Schedule, root: str, level: str, *, alternating: bool = False
) -> tuple[Schedule, str]:
    """Fuse and parallelize the loops up to `level`; returns its new name."""
    while s[root].loops[0].name != level:
        first, second = s[root].loops[:2]
        name = f"{first.name}.{second.name}"
        s = schedule.fuse(s, root, first.name, second.name, name)
        level = name if second.name == level else level
    return schedule.parallel(s, root, level, alternating=alternating), level


def _parallelize_one(
    s: Schedule, root: str, outside: Sequence[str], later: Sequence[str]
) -> tuple[Schedule, str]:
    """Parallelize one of several loops, some of dynamic extent: fused, they would need divisions,
    and the last tile could not be peeled."""
    first = outside[0]
    if first not in later and facts.count(s[root].loop(first)) < _ENOUGH:
        first = later[0]
    order = [first, *(one for one in outside if one != first)]
    return schedule.parallel(schedule.reorder(s, root, *order), root, first), order[-1]


def _row_group(form: Form) -> tuple[tuple[Axis, ...], tuple[Axis, ...]]:
    """The row axes that are fused for tiles, and those outside."""
    group = [form.rows[-1]]
    rest = list(form.rows[:-1])
    while rest and _size(group) < _SHORT:
        group.insert(0, rest.pop())
    return tuple(group), tuple(rest)


def grouped_columns(
    form: Form, axes: tuple[Axis, ...]
) -> tuple[tuple[Axis, ...], tuple[Axis, ...]]:
    """The column axes that are consecutive in the result, and those outside."""
    group = [form.columns[-1]]
    rest = list(form.columns[:-1])
    position = axes.index(group[0])
    while rest:
        before = rest[-1]
        between = axes[axes.index(before) + 1 : position]
        blocked = group[0] is axes[-1] and _is_block(group[0])
        if any(_size([axis]) > 1 for axis in between) and not blocked:
            break
        group.insert(0, rest.pop())
        position = axes.index(before)
    return tuple(group), tuple(rest)


def _is_block(axis: Axis) -> bool:
    """Whether an axis is the block of a blocked layout."""
    return isinstance(axis.extent, Const) and int(axis.extent.value) in (4, 8, 16, 32, 64)


def _fused(s: Schedule, root: str, names: list[str]) -> tuple[Schedule, str]:
    name = names[0]
    for other in names[1:]:
        s = schedule.fuse(s, root, name, other)
        name = f"{name}.{other}"
    return s, name


def pack_factor(
    s: Schedule, name: str, shared: int, outer: int, form: Form, tile: Tile
) -> tuple[Schedule, str]:
    """Pack the right factor in panels of as many columns as a tile.

    `shared` is the number of outer axes that may index it.
    """
    op = s[name].computation
    reduction = op.reduction
    assert reduction is not None
    value = reduction.values[0]
    assert isinstance(value, Binary)
    part = form.held(value.right if op.axes[-1] in variables(value.right) else value.left)
    used = variables(part)
    own = [axis for axis in op.axes[:shared] if axis in used]
    depth = [axis for axis in reduction.axes if axis in used]
    over = [*own, *depth, op.axes[-1]]
    whole, panel = f"{name}.factor", f"{name}.panel"
    s = schedule.extract(s, name, part, over, whole)
    factor = s[whole].tensors[0]
    last = len(over) - 1
    inner = last if form.instruction is None else last - 1  # its steps come last
    order = (*range(len(own)), last, *range(len(own), inner), last + 1, *range(inner, last))
    s = schedule.pack(s, name, factor, panel, [(last, tile.columns)], order)
    return schedule.inline(s, whole), panel


def vectors(s: Schedule, stage: str, loop: str, tile: Tile) -> Schedule:
    if tile.vectors == 1:
        return schedule.vectorize(s, stage, loop)
    s = schedule.split(s, stage, loop, tile.lanes, ("cv", "cl"))
    return schedule.unroll(schedule.vectorize(s, stage, "cl"), stage, "cv")


def micro_kernel(
    s: Schedule, name: str, tile: Tile, instruction: Instruction | None, most: int
) -> Schedule:
    """The tile in registers, inside the reduction, whose innermost axis is partly unrolled."""
    spatial = [loop for loop in s[name].loops if not loop.reduces]
    reducing = [loop.name for loop in s[name].loops if loop.reduces]
    steps = [reducing.pop()] if instruction is not None else []
    for loop in spatial[:-1]:
        s = schedule.unroll(s, name, loop.name)
    s = vectors(s, name, spatial[-1].name, tile)
    columns = ["cv", "cl"] if tile.vectors > 1 else [spatial[-1].name]
    last = _innermost_nontrivial(s, name, reducing)
    depth = s[name].loop(reducing[last])
    if isinstance(depth.extent, Const) and depth.count <= most:
        s = schedule.unroll(s, name, depth.name)
        if last > 0:
            s = _unroll_window(s, name, reducing[last - 1], depth.count)
    else:
        s = schedule.split(s, name, depth.name, most, ("ko", "ki"))
        s = schedule.unroll(s, name, "ki")
        reducing[last : last + 1] = ["ko", "ki"]
    s = schedule.reorder(
        s, name, *reducing, *(loop.name for loop in spatial[:-1]), *columns, *steps
    )
    if instruction is not None:
        s = schedule.tensorize(s, name, steps[0], instruction)
    return schedule.set_scope(s, name, MemoryScope.REGISTER)


def _unroll_window(s: Schedule, name: str, outer: str, taps: int) -> Schedule:
    """Unroll another loop around one of `taps` iterations, if both together are short."""
    loop = s[name].loop(outer)
    few = isinstance(loop.extent, Const) and loop.count * taps <= _WINDOW
    return schedule.unroll(s, name, outer) if few else s


def _innermost_nontrivial(s: Schedule, name: str, loops: Sequence[str]) -> int:
    """The position of the innermost of `loops` with more than one iteration, unlike those of 1 x 1
    windows."""
    for place in range(len(loops) - 1, 0, -1):
        loop = s[name].loop(loops[place])
        if not (isinstance(loop.extent, Const) and loop.count == 1):
            return place
    return 0
