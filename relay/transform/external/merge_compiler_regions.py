"""Merge annotated regions of the same compiler that follow each other:

def @main(%x: Tensor[(4), float32]) {
  %0 = annotation.compiler_begin(%x, compiler="dnnl");
  %1 = annotation.compiler_end(nn.relu(%0), compiler="dnnl");
  %2 = annotation.compiler_begin(%1, compiler="dnnl");
  annotation.compiler_end(exp(%2), compiler="dnnl")
}
->
def @main(%x: Tensor[(4), float32]) {
  %0 = annotation.compiler_begin(%x, compiler="dnnl");
  annotation.compiler_end(exp(nn.relu(%0)), compiler="dnnl")
}

Two regions stay apart where the one, as a single call, would need a result of the other that
depends on its own: where a path between them leads through something else.
"""

from __future__ import annotations

from relay import tree
from relay.analysis.annotated_regions import AnnotatedRegionSet, compiler_of
from relay.immutable import frozen
from relay.ir.expr import Call, Function, Op, Syntax
from relay.ir.function_attrs import is_sealed
from relay.ir.scopes import Scopes
from relay.op.annotation import compiler_begin, compiler_end
from relay.transform.base import FunctionPass


@frozen
class MergeCompilerRegions(FunctionPass):
    """Removes the annotations between regions that can be one."""

    required = ("InferType",)

    def rewrite(self, function: Function) -> Function:
        if is_sealed(function):
            return function
        borders = [
            node
            for node in tree.postorder(function)
            if isinstance(node, Call) and node.op is compiler_begin
            if _is(node.args[0], compiler_end)
        ]
        if not borders:
            return function
        units = _Units(function)
        for node in borders:
            units.merge(node)
        inner = {id(node) for node in borders if units.is_inside(node)}

        def joined(before: Syntax, after: Syntax) -> Syntax:
            if id(before) in inner:
                assert isinstance(after, Call) and isinstance(after.args[0], Call)
                return after.args[0].args[0]
            return after

        return tree.transform(function, joined) if inner else function


def _is(node: Syntax, op: Op) -> bool:
    return isinstance(node, Call) and node.op is op


class _Units:
    """What is computed as one: a region, or a node outside of all regions."""

    def __init__(self, function: Function) -> None:
        regions = AnnotatedRegionSet(function, compiler_begin, compiler_end)
        self._scopes = Scopes(function)
        self._order = list(tree.postorder(function))  # nodes are known by identity
        self._root: dict[int, int] = {}
        for region in regions:
            self._root.update((id(node), id(region.nodes[0])) for node in region.nodes)
        self._needs: dict[int, set[int]] = {}
        self._span: dict[int, tuple[int, int]] = {}  # first and last place in evaluation order
        for place, node in enumerate(self._order):
            own = self._root.setdefault(id(node), id(node))
            first, _ = self._span.get(own, (place, place))
            self._span[own] = first, place
            needs = self._needs.setdefault(own, set())
            needs.update(self._root[id(child)] for child in tree.children(node))
            needs.discard(own)

    def merge(self, begin: Call) -> None:
        """Make the regions on the two sides one, if they can be."""
        end = begin.args[0]
        assert isinstance(end, Call)
        if compiler_of(begin) != compiler_of(end):
            return
        if self._scopes.home(begin) is not self._scopes.home(end):
            return
        later, earlier = self._find(id(begin)), self._find(id(end))
        if later == earlier or self._is_detour(later, earlier):
            return
        self._root[later] = earlier
        self._needs[earlier] |= self._needs.pop(later)
        first, last = zip(self._span[earlier], self._span.pop(later), strict=True)
        self._span[earlier] = min(first), max(last)

    def is_inside(self, begin: Call) -> bool:
        """Whether both sides are one region."""
        return self._find(id(begin)) == self._find(id(begin.args[0]))

    def _is_detour(self, later: int, earlier: int) -> bool:
        """Whether something between the two needs the earlier one, or the other way around."""
        return any(
            self._reaches(start, goal) for start, goal in ((later, earlier), (earlier, later))
        )

    def _reaches(self, start: int, goal: int) -> bool:
        """Whether `start` needs `goal` through something else."""
        pending = [one for one in self._of(start) if one != goal]
        seen = {start, *pending}
        begin = self._span[goal][0]
        while pending:
            for one in self._of(pending.pop()):
                if one == goal:
                    return True
                if one not in seen and self._span[one][1] >= begin:
                    seen.add(one)
                    pending.append(one)
        return False

    def _of(self, unit: int) -> set[int]:
        """The units that one needs."""
        found = {self._find(one) for one in self._needs[unit]}
        found.discard(unit)
        self._needs[unit] = found
        return found

    def _find(self, key: int) -> int:
        while (parent := self._root[key]) != key:
            self._root[key] = key = self._root[parent]
        return key
