"""The cost model of fusion: memory traffic and computation of a kernel.

    time = CALL + max(BYTE * bytes, steps)

in steps, each one arithmetic operation on one element, vectorized. Bytes are those of the inputs,
each once, and of the result. Steps count every evaluation of an element: a cheap value is
recomputed where it is read, an expensive one is stored for its row
(`relay.target.llvm.schedules.choose`).

Operators are fused when the fused kernel is not slower than separate ones:

    %0 = exp(%x); divide(%0, sum(%0, axis=[1], keepdims=True))        (128, 1024), float32
      ->   apart: exp moves 1 MB, sum 0.5 MB, divide 1 MB; as one kernel: 1 MB

Values that are read several times must still be in the cache: a kernel with several passes over its
rows has rows of at most `CACHE` bytes. Few rows leave threads idle: then there is at most `SERIAL`
work. Rows that are strided in memory, such as columns of a matrix, are read and written in pieces,
which is slower than sequential access.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relay import dtypes
from relay.immutable import frozen
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType, TupleType
from relay.op.facts import EXPENSIVE
from relay.op.opdef import OpDef
from relay.transform.fusion.fusion_dataflow import Dataflow, Node
from relay.transform.fusion.fusion_rows import Rows

CALL = 8192  # steps of a kernel call
BYTE = 4  # steps per byte of memory traffic
CACHE = 512 << 10  # bytes of the private cache of a core
SERIAL = 1 << 18  # steps that take less time than waking threads
FEW_ROWS = 8  # too few for all threads
TILE = 64  # strided rows that are computed together
STRIDED = 1.6  # relative cost of a byte of strided rows
UNKNOWN = 1024  # the assumed extent of a dynamic dimension


@frozen
class Cost:
    """The cost of one kernel."""

    bytes: int  # memory traffic
    steps: int
    kept: int  # bytes of values stored between passes over a row
    reduces: bool
    strided: bool = False  # in several passes over strided rows

    @property
    def time(self) -> int:
        bytes = int(self.bytes * STRIDED) if self.strided else self.bytes
        return CALL + max(BYTE * bytes, self.steps)


def cost_of(flow: Dataflow, members: Sequence[int], rows: Rows | None = None) -> Cost:
    """The cost of a kernel with these nodes, the last of which is its result."""
    inside = set(members)
    root = members[-1]
    given: dict[int, int] = {}
    readers: dict[int, list[int]] = {i: [] for i in members}
    for i in members:
        for arg in _arguments(flow.nodes[i].expr):
            number = flow.number(arg)
            if number is not None and number in inside:
                readers[number].append(i)
            else:
                given[id(arg) if number is None else number] = bytes_of(arg)
    points = {i: _points(flow.nodes[i]) for i in members}
    kept, work = _kept(flow, members, readers, points)
    # where each value is computed: once, or inlined in its readers
    computed: dict[int, set[int]] = {}
    steps = 0
    for i in reversed(members):
        own = i == root or i in kept
        computed[i] = {i} if own else set().union(*(computed[reader] for reader in readers[i]))
        steps += work[i] * sum(points[place] for place in computed[i])
    held = sum(bytes_of(flow.nodes[i].expr) for i in kept if i != root)
    moved = sum(given.values()) + bytes_of(flow.nodes[root].expr)
    strided = rows is not None and rows.crosswise and rows.passes > 1
    reduces = any(flow.nodes[i].reduction is not None for i in members)
    return Cost(moved, steps, held, reduces, strided)


def _kept(
    flow: Dataflow,
    members: Sequence[int],
    readers: dict[int, list[int]],
    points: dict[int, int],
) -> tuple[set[int], dict[int, int]]:
    """The values that are stored instead of inlined, and the steps of every operator."""
    kept: set[int] = set()
    work: dict[int, int] = {}
    inlined: dict[int, int] = {}  # steps of an inlined element
    for i in members:
        expr = flow.nodes[i].expr
        work[i] = steps_of(expr)
        inlined[i] = work[i] + sum(
            inlined[n]
            for arg in _arguments(expr)
            if (n := flow.number(arg)) is not None and n in inlined and n not in kept
        )
        uses = sum(points[reader] for reader in readers[i])
        if flow.nodes[i].reduction is not None or (
            inlined[i] >= EXPENSIVE and 2 * uses > 3 * elements_of(expr)
        ):
            kept.add(i)
    return kept, work


def refusal(rows: Rows, parts: Sequence[Cost], joined: Cost) -> str | None:
    """Why separate kernels are better than one over those rows; None if they are not."""
    if rows.passes > 1 and (why := _too_large(rows, parts, joined)):
        return why
    return _too_slow(parts, joined)


def _too_large(rows: Rows, parts: Sequence[Cost], joined: Cost) -> str | None:
    count = _extent(rows.extents)
    turn = min(TILE, count) if rows.crosswise else 1
    row = (joined.bytes + joined.kept) * turn // max(1, count)
    if row > CACHE:
        what = f"{turn} rows that are read together have" if turn > 1 else "a row has"
        return f"{what} {row} bytes, and {CACHE} stay in the cache for the next pass"
    # a separate kernel without reductions is parallel over elements
    shared = joined.steps - sum(part.steps for part in parts if part.reduces)
    if count < FEW_ROWS and shared > SERIAL:
        return f"threads share out rows, and {count} are too few for {shared} steps"
    return None


def _too_slow(parts: Sequence[Cost], joined: Cost) -> str | None:
    apart = sum(part.time for part in parts)
    if joined.time <= apart:
        return None
    bytes_apart, steps_apart = sum(p.bytes for p in parts), sum(p.steps for p in parts)
    return (
        f"one kernel would take {joined.time} steps, those apart take {apart}: it moves "
        f"{joined.bytes} bytes instead of {bytes_apart}, and computes {joined.steps} steps instead "
        f"of {steps_apart}"
    )


def elements_of(expr: Expr) -> int:
    """The number of elements of a value; dynamic dimensions count as large."""
    return sum(_extent(ty.shape) for ty in _tensors(expr))


def bytes_of(expr: Expr) -> int:
    """The number of bytes of a value."""
    return sum(_extent(ty.shape) * dtypes.to_numpy(ty.dtype).itemsize for ty in _tensors(expr))


def steps_of(expr: Expr) -> int:
    """The steps per element."""
    return expr.op.cost if isinstance(expr, Call) and isinstance(expr.op, OpDef) else 0


def _points(node: Node) -> int:
    """The number of elements that an operator visits."""
    if node.reduction is not None and isinstance(node.expr, Call):
        return elements_of(node.expr.args[0])
    return elements_of(node.expr)


def _arguments(expr: Expr) -> Sequence[Expr]:
    return expr.args if isinstance(expr, Call) else ()


def _tensors(expr: Expr) -> list[TensorType]:
    ty = expr.checked_type
    fields = ty.fields if isinstance(ty, TupleType) else (ty,)
    return [field for field in fields if isinstance(field, TensorType)]


def _extent(shape: Sequence[object]) -> int:
    return prod(n if isinstance(n, int) else UNKNOWN for n in shape)
