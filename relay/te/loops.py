"""The loop language: statements of a kernel.

    parallel for i in 16:
      stack sum: float32[]
      sum[] = 0
      for k in 64:
        sum[] = sum[] + x[i, k]
      y[i] = sum[]

Statements store scalars into buffers; expressions (`relay.te.expr`) read buffers and, before
lowering, tensors. A schedule produces statements; operators that are not tensor expressions are
written with a `Builder`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import ClassVar

from relay import tree
from relay.errors import RelayError
from relay.te.expr import INDEX, Expr, Scalar, Source, Var, as_expr, index
from relay.tree import Node, node


class MemoryScope(Enum):
    """Where a buffer lives."""

    GLOBAL = "global"  # given to the kernel
    WORKSPACE = "workspace"  # in the kernel's workspace: once, or once per worker in parallel loops
    STACK = "stack"  # small and of constant size
    REGISTER = "register"  # every index is constant once loops are unrolled


@node
class Buffer(Source):
    """Memory for a dense row-major tensor."""

    scope: MemoryScope = MemoryScope.GLOBAL


class StatementFamily(Node):
    """The family of statements."""

    __slots__ = ()


@node
class Statement(StatementFamily):
    """A step of a kernel."""

    family: ClassVar[type[Node]]

    def __repr__(self) -> str:
        from relay.te.text import statement_text  # the printer imports the nodes

        return statement_text(self)


Statement.family = StatementFamily


class Kind(Enum):
    """How a loop runs."""

    SERIAL = "for"
    PARALLEL = "parallel for"  # iterations spread over threads
    ALTERNATING = "alternating parallel for"  # parallel, in reverse order every other run
    VECTOR = "vector for"  # all iterations at once, in vector lanes
    UNROLLED = "unrolled for"  # one copy of the body per iteration

    @property
    def is_parallel(self) -> bool:
        """Whether iterations are spread over threads."""
        return self in (Kind.PARALLEL, Kind.ALTERNATING)


@node
class For(Statement):
    """`body` for every value of `var` from 0 to `extent`, exclusive."""

    var: Var
    extent: Expr
    body: Statement
    kind: Kind = Kind.SERIAL


@node
class While(Statement):
    """`body` while the condition holds."""

    condition: Expr
    body: Statement


@node
class Store(Statement):
    """`buffer[indices] = value`; `streaming` bypasses the caches."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    streaming: bool = False


@node
class If(Statement):
    """With `guard`, the condition keeps a stage within its tensor: the body may run regardless, if
    it accesses nothing out of range."""

    condition: Expr
    then: Statement
    otherwise: Statement | None = None
    guard: bool = False


@node
class Let(Statement):
    """`value` under a name, computed once."""

    var: Var
    value: Expr
    body: Statement


@node
class Allocate(Statement):
    """An uninitialized buffer, alive during `body`."""

    buffer: Buffer
    body: Statement


@node
class Block(Statement):
    """A sequence of statements."""

    steps: tuple[Statement, ...]


@node
class Prefetch(Statement):
    """A hint: the element will be read soon. It may be out of range."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    level: int = 3  # 3: into the nearest cache; 2, 1: further out


@node
class Fail(Statement):
    """End the kernel: an index is out of range for an axis of that extent. Its results are
    undefined. An `optional` one exists in checked mode only."""

    index: Expr
    extent: Expr
    what: str  # the index, in words
    optional: bool = False


def block(steps: Sequence[Statement]) -> Statement:
    """A sequence, flattened; a single statement stands for itself."""
    flat: list[Statement] = []
    for step in steps:
        flat.extend(step.steps if isinstance(step, Block) else (step,))
    return flat[0] if len(flat) == 1 else Block(tuple(flat))


def map_expressions(
    statement: Statement,
    change: Callable[[Expr], Expr],
    buffers: Mapping[int, Buffer] | None = None,
) -> Statement:
    """Change every expression, and replace the buffers stored to (by id)."""
    others = buffers or {}

    def step(before: Statement, after: Statement) -> Statement:
        match after:
            case For():
                return For(after.var, change(after.extent), after.body, after.kind)
            case While():
                return While(change(after.condition), after.body)
            case If():
                return If(change(after.condition), after.then, after.otherwise, after.guard)
            case Let():
                return Let(after.var, change(after.value), after.body)
            case Allocate():
                return Allocate(others.get(id(after.buffer), after.buffer), after.body)
            case Store() | Prefetch():
                buffer = others.get(id(after.buffer), after.buffer)
                indices = tuple(map(change, after.indices))
                if isinstance(after, Prefetch):
                    return Prefetch(buffer, indices, after.level)
                return Store(buffer, indices, change(after.value), after.streaming)
            case Fail():
                return Fail(change(after.index), change(after.extent), after.what, after.optional)
            case _:
                return after

    return tree.transform(statement, step)


def serial(statement: Statement) -> Statement:
    """The statement with parallel loops made serial."""
    return _plain(statement, Kind.PARALLEL, Kind.ALTERNATING)


def rolled(statement: Statement) -> Statement:
    """The statement with unrolled loops made serial."""
    return _plain(statement, Kind.UNROLLED)


def unchecked(statement: Statement) -> Statement:
    """The statement without the checks of checked mode."""
    if not any(isinstance(part, Fail) and part.optional for part in tree.postorder(statement)):
        return statement

    def step(before: Statement, after: Statement) -> Statement:
        match after:
            case If(then=Fail(optional=True), otherwise=None):
                return Block(())
            case Block():
                return block([part for part in after.steps if part != Block(())])
        return after

    return tree.transform(statement, step)


def _plain(statement: Statement, *kinds: Kind) -> Statement:
    def step(before: Statement, after: Statement) -> Statement:
        if isinstance(after, For) and after.kind in kinds:
            return For(after.var, after.extent, after.body)
        return after

    return tree.transform(statement, step)


class Builder:
    """Builds statements in program order.

    def cumulative_sum(b, out):
        total = b.local("float32")
        b.store(total, (), 0.0)
        with b.loop(n) as i:
            b.store(total, (), total[()] + x[i])
            b.store(out, (i,), total[()])
    """

    def __init__(self) -> None:
        self._open: list[list[Statement]] = [[]]
        # buffers and names live until the end of their block
        self._pending: list[list[tuple[int, Buffer | tuple[Var, Expr]]]] = [[]]

    def _add(self, statement: Statement) -> None:
        self._open[-1].append(statement)

    def _begin(self) -> None:
        self._open.append([])
        self._pending.append([])

    def _end(self) -> Statement:
        steps, made = self._open.pop(), self._pending.pop()
        for position, what in reversed(made):
            body = block(steps[position:])
            wrapped: Statement = (
                Allocate(what, body) if isinstance(what, Buffer) else Let(*what, body)
            )
            steps[position:] = [wrapped]
        return block(steps)

    def store(self, buffer: Buffer, indices: Scalar | tuple[Scalar, ...], value: Scalar) -> None:
        """`buffer[indices] = value`"""
        each = indices if isinstance(indices, tuple) else (indices,)
        if len(each) != buffer.rank:
            raise RelayError(f"`{buffer.name}` has {buffer.rank} axes, found {len(each)} indices")
        self._add(Store(buffer, tuple(map(index, each)), as_expr(value, buffer.dtype)))

    def fail(self, position: Expr, extent: Scalar, what: str) -> None:
        """End the kernel: an index is out of range for an axis of that extent."""
        self._add(Fail(position, index(extent), what))

    def expect(self, inside: Expr, position: Expr, extent: Scalar, what: str) -> None:
        """In checked mode, end the kernel if an index is not in range."""
        self._add(If(~inside, Fail(position, index(extent), what, optional=True)))

    def local(self, dtype: str, shape: Sequence[Scalar] = (), name: str = "local") -> Buffer:
        """A buffer until the end of the block: scalars on the stack, arrays in the workspace."""
        scope = MemoryScope.WORKSPACE if shape else MemoryScope.STACK
        buffer = Buffer(name, tuple(map(index, shape)), dtype, scope)
        self._pending[-1].append((len(self._open[-1]), buffer))
        return buffer

    def variable(self, dtype: str, value: Scalar, name: str = "v") -> Buffer:
        """A mutable scalar: read it as `v[()]`, set it with `store(v, (), …)`."""
        buffer = self.local(dtype, (), name)
        self.store(buffer, (), value)
        return buffer

    def let(self, value: Expr, name: str = "t") -> Var:
        """A name for a value, computed once, here."""
        var = Var(value.dtype, name)
        self._pending[-1].append((len(self._open[-1]), (var, value)))
        return var

    @contextmanager
    def loop(self, extent: Scalar, name: str = "i", kind: Kind = Kind.SERIAL) -> Iterator[Var]:
        """A loop from 0 to `extent`, exclusive."""
        var = Var(INDEX, name)
        self._begin()
        yield var
        self._add(For(var, index(extent), self._end(), kind))

    @contextmanager
    def while_(self, condition: Expr) -> Iterator[None]:
        self._begin()
        yield
        self._add(While(condition, self._end()))

    @contextmanager
    def if_(self, condition: Expr) -> Iterator[None]:
        self._begin()
        yield
        self._add(If(condition, self._end()))

    @contextmanager
    def else_(self) -> Iterator[None]:
        """The else branch of the preceding `if_`."""
        last = self._open[-1].pop() if self._open[-1] else None
        if not isinstance(last, If) or last.otherwise is not None:
            raise RelayError("`else_` comes right after an `if_`")
        self._begin()
        yield
        self._add(If(last.condition, last.then, self._end()))

    def finish(self) -> Statement:
        """The built statement."""
        if len(self._open) != 1:
            raise RelayError("a block of the loop builder is still open")
        return self._end()
