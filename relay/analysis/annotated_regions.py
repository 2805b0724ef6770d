"""Regions of a program marked by annotations, mostly for external compilers.

    %0 = annotation.compiler_begin(%x, compiler="dnnl");
    annotation.compiler_end(nn.relu(%0), compiler="dnnl")

A region is everything that an end is computed from, up to the beginnings. Two ends whose regions
overlap belong to one region.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relay import tree
from relay.ir.expr import Call, Expr, Function, Op, Syntax, is_atom


@dataclass(frozen=True, eq=False)
class AnnotatedRegion:
    """The nodes of one region, in evaluation order.

    `args` are the beginnings among them, `rets` the ends. `target` is their attribute `compiler`;
    `is_consistent`: all have the same.
    """

    id: int
    nodes: tuple[Syntax, ...]
    args: tuple[Call, ...]
    rets: tuple[Call, ...]

    @property
    def target(self) -> str:
        return compiler_of(self.rets[0])

    @property
    def is_consistent(self) -> bool:
        return all(compiler_of(e) == self.target for e in (*self.args, *self.rets))


def compiler_of(annotation: Call) -> str:
    """The compiler that an annotation names; "" if it names none."""
    return str(getattr(annotation.attrs, "compiler", ""))


class AnnotatedRegionSet:
    """All regions of an expression, in evaluation order."""

    def __init__(self, expr: Expr, region_begin_op: Op, region_end_op: Op) -> None:
        self._expr = expr  # nodes are known by identity, so they have to stay alive
        self._begin, self._end = region_begin_op, region_end_op
        order = list(tree.postorder(expr))
        self._parents: dict[int, int] = {}  # union-find over the nodes inside regions
        for node in order:
            if self._is(node, self._end):
                self._collect(node)
        members: dict[int, list[Syntax]] = {}
        for node in order:
            if id(node) in self._parents:
                members.setdefault(self._root(id(node)), []).append(node)
        self._regions = {root: self._made(n, e) for n, (root, e) in enumerate(members.items())}

    def __len__(self) -> int:
        return len(self._regions)

    def __iter__(self) -> Iterator[AnnotatedRegion]:
        return iter(self._regions.values())

    def get_region(self, expr: Syntax) -> AnnotatedRegion | None:
        """The region that `expr` is a node of; None if it is in none."""
        return self._regions[self._root(id(expr))] if id(expr) in self._parents else None

    def _is(self, node: Syntax, op: Op) -> bool:
        return isinstance(node, Call) and node.op is op

    def _collect(self, end: Syntax) -> None:
        """Put everything that `end` is computed from into one region with it."""
        root = self._parents[id(end)] = id(end)
        pending = below(end)
        while pending:
            node = pending.pop()
            if is_atom(node) or self._is(node, self._end):
                continue
            if id(node) in self._parents:
                self._parents[self._root(id(node))] = root
                continue
            self._parents[id(node)] = root
            if not self._is(node, self._begin):
                pending.extend(below(node))

    def _root(self, key: int) -> int:
        while (parent := self._parents[key]) != key:
            self._parents[key] = key = self._parents[parent]
        return key

    def _made(self, number: int, nodes: list[Syntax]) -> AnnotatedRegion:
        calls = [node for node in nodes if isinstance(node, Call)]
        begins = tuple(call for call in calls if call.op is self._begin)
        ends = tuple(call for call in calls if call.op is self._end)
        return AnnotatedRegion(number, tuple(nodes), begins, ends)


def below(node: Syntax) -> list[Syntax]:
    """What a node is computed from, without the insides of a called function."""
    if isinstance(node, Call) and isinstance(node.op, Function):
        return list(node.args)
    return tree.children(node)
