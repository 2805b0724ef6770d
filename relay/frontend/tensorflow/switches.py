"""Branches and loops of graphs with `Switch` and `Merge`, found before they are converted.

    Merge(f(Switch(x, p):0), g(Switch(x, p):1))               a branch on p
    Exit(Switch(Merge(Enter(x), NextIteration(y)), LoopCond(c)):0)      a loop

A node is inside of a branch if it depends on one output of a `Switch`. All `Merge`s of one
predicate that do not need each other are one branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted
from relay.frontend.tensorflow.messages import GraphInfo, NodeInfo, Reference
from relay.frontend.tensorflow.wire import broken
from relay.immutable import frozen

MERGES, SWITCHES = ("Merge", "RefMerge"), ("Switch", "RefSwitch")
ENTERS, EXITS = ("Enter", "RefEnter"), ("Exit", "RefExit")
NEXT = ("NextIteration", "RefNextIteration")
MOST_CONDITIONS = 64  # branches inside of each other

Conditions = frozenset[tuple[Reference, bool]]


@frozen
class LoopVariable:
    """A variable of a loop, by the names of its nodes."""

    begin: Reference
    merge: str
    switch: str | None
    exits: Sequence[str]
    following: Reference


@frozen
class Loop:
    """A loop: its variables, its condition, and all nodes that bring values into it."""

    variables: Sequence[LoopVariable]
    condition: Reference
    enters: Sequence[str]


@frozen
class Branch:
    """A branch: its predicate, the ends of its sides, and what these need from outside."""

    predicate: Reference
    merges: Sequence[str]
    sides: Mapping[bool, Sequence[int]]  # which input of each merge belongs to a side
    outside: Sequence[str]


class Switches:
    """The branches and loops of a graph, by their last nodes."""

    def __init__(self, graph: GraphInfo) -> None:
        self.graph = graph
        self.loops: dict[str, Loop] = {}
        self.headers: set[str] = set()  # the merges of loops
        self.loop_switches: set[str] = set()
        self._conditions: dict[str, Conditions] = {}
        self._depths: dict[str, int] = {}
        self._order: list[str] = []
        self._groups: dict[tuple[Reference, Conditions, int], list[str]] = {}
        self._sides: dict[str, tuple[Reference, dict[bool, int]]] = {}
        self._branches: dict[str, Branch] = {}

    @classmethod
    def of(cls, graph: GraphInfo) -> Switches:
        found = cls(graph)
        found._find_loops()
        found._find_branches()
        return found

    def needed(self, node: NodeInfo) -> Iterator[str]:
        """The dependencies of a loop or a branch, which is given by its last node."""
        if node.op in EXITS:
            loop = self.loop(node.name)
            yield from (self.graph.node(one).inputs[0][0] for one in loop.enters)
        elif node.name not in self.headers:
            branch = self.branch(node.name)
            yield branch.predicate[0]
            yield from branch.outside

    def loop(self, name: str) -> Loop:
        """The loop that ends in an `Exit`."""
        if name not in self.loops:
            raise broken(f"{quoted(name)} is the end of no loop")
        return self.loops[name]

    # --- loops

    def _find_loops(self) -> None:
        nodes = self.graph.nodes
        readers: dict[str, list[NodeInfo]] = {}
        for node in nodes.values():
            if node.op in SWITCHES or node.op in EXITS:
                for name, _ in node.inputs:
                    readers.setdefault(name, []).append(node)
        frames: dict[str, list[str]] = {}
        for node in nodes.values():
            if node.op in ENTERS and node.inputs:
                frames.setdefault(str(node.attribute("frame_name", "")), []).append(node.name)
        variables: dict[str, list[LoopVariable]] = {}
        conditions: dict[str, Reference] = {}
        for node in nodes.values():
            if node.op not in MERGES:
                continue
            inputs = [self.graph.node(name) for name, _ in node.inputs]
            turns = [one for one in inputs if one.op in NEXT]
            if not turns:
                continue
            enters = [one for one in inputs if one.op in ENTERS]
            if len(enters) != 1 or len(turns) != 1 or not turns[0].inputs:
                raise broken(f"{quoted(node.name)} is the begin of no loop")
            self.headers.add(node.name)
            frame = str(enters[0].attribute("frame_name", ""))
            switch = None
            for one in readers.get(node.name, ()):
                if one.op in SWITCHES and len(one.inputs) > 1 and self._is_of_loop(one):
                    switch = one
                    condition = self.graph.node(one.inputs[1][0])
                    conditions[frame] = condition.inputs[0]
                    self.loop_switches.add(one.name)
            exits = []
            if switch is not None:
                exits = [one.name for one in readers.get(switch.name, ()) if one.op in EXITS]
            last = None if switch is None else switch.name
            begin, following = enters[0].inputs[0], turns[0].inputs[0]
            one_variable = LoopVariable(begin, node.name, last, tuple(exits), following)
            variables.setdefault(frame, []).append(one_variable)
        for frame, found in variables.items():
            if frame not in conditions:
                raise broken(f"loop {quoted(frame)} has no condition")
            loop = Loop(tuple(found), conditions[frame], tuple(frames.get(frame, ())))
            for variable in found:
                for name in variable.exits:
                    self.loops[name] = loop

    def _is_of_loop(self, switch: NodeInfo) -> bool:
        condition = self.graph.node(switch.inputs[1][0])
        return condition.op == "LoopCond" and bool(condition.inputs)

    # --- branches

    def branch(self, name: str) -> Branch:
        """The branch that ends in a `Merge`."""
        if name not in self._branches:
            if name not in self._sides:
                raise FrontendError.of(f"node {quoted(name)} is the end of no branch")
            predicate, _ = self._sides[name]
            key = (predicate, self._conditions[name], self._depths[name])
            group = tuple(self._groups[key])
            sides = {
                side: tuple(self._sides[one][1][side] for one in group) for side in (False, True)
            }
            branch = Branch(predicate, group, sides, self._outside(predicate, group, sides))
            for one in group:
                self._branches[one] = branch
        return self._branches[name]

    def _find_branches(self) -> None:
        if not any(
            node.op in MERGES and node.name not in self.headers
            for node in self.graph.nodes.values()
        ):
            return
        for name in self._in_order():
            node = self.graph.node(name)
            found: Conditions = frozenset()
            depth = 0
            is_end = node.op in MERGES and name not in self.headers
            ways: list[Conditions] = []
            for reference in self._read(node):
                one = self._of_edge(reference)
                depth = max(depth, self._depths.get(reference[0], 0))
                ways.append(one)
                found |= one
            for control in node.controls:
                found |= self._conditions.get(control, frozenset())
                depth = max(depth, self._depths.get(control, 0))
            if is_end:
                found = self._end(node, ways)
                depth += 1
            if len(found) > MOST_CONDITIONS:
                raise FrontendError.of(f"node {quoted(name)} is inside of too many branches")
            self._conditions[name], self._depths[name] = found, depth
            if is_end and name in self._sides:
                key = (self._sides[name][0], found, depth)
                self._groups.setdefault(key, []).append(name)

    def _read(self, node: NodeInfo) -> Iterator[Reference]:
        """What a node reads, except for back edges of loops."""
        for reference in node.inputs:
            if node.name in self.headers and self.graph.node(reference[0]).op in NEXT:
                continue
            yield reference

    def _of_edge(self, reference: Reference) -> Conditions:
        """What holds where an output of a node is there."""
        name, place = reference
        found = self._conditions.get(name, frozenset())
        node = self.graph.node(name)
        if node.op in SWITCHES and name not in self.loop_switches and len(node.inputs) > 1:
            found |= {(self.predicate(node.inputs[1]), place == 1)}
        return found

    def _end(self, node: NodeInfo, ways: Sequence[Conditions]) -> Conditions:
        """What holds behind a `Merge`: what held on both sides, but for their own predicate."""
        if len(ways) != 2:
            return frozenset().union(*ways)
        first, second = ways
        both = sorted(one for one in first if (one[0], not one[1]) in second)
        only = sorted(
            [*((one, 0) for one in first - second), *((one, 1) for one in second - first)]
        )
        if both:
            (predicate, truth), place = both[0], 0
        elif only:
            (predicate, truth), place = only[0]
        else:
            return first
        sides = {truth: place, not truth: 1 - place}
        self._sides[node.name] = (predicate, sides)
        return (first | second) - {(predicate, True), (predicate, False)}

    def predicate(self, reference: Reference) -> Reference:
        """A predicate without identities."""
        seen = 0
        while (node := self.graph.node(reference[0])).op == "Identity" and node.inputs:
            reference = node.inputs[0]
            seen += 1
            if seen > len(self.graph.nodes):
                raise broken("nodes of the graph depend on themselves")
        return reference

    def _outside(
        self, predicate: Reference, merges: Sequence[str], sides: Mapping[bool, Sequence[int]]
    ) -> tuple[str, ...]:
        """The nodes outside of a branch that its sides read."""
        found: dict[str, None] = {}
        for side, places in sides.items():
            mark = (predicate, side)
            todo = [
                self.graph.node(one).inputs[place]
                for one, place in zip(merges, places, strict=True)
            ]
            seen: set[str] = set()
            while todo:
                reference = todo.pop()
                name = reference[0]
                node = self.graph.node(name)
                if name in seen:
                    continue
                seen.add(name)
                if mark in self._conditions.get(name, frozenset()):
                    todo += self._read(node)
                    todo += [(one, 0) for one in node.controls]
                elif node.op in SWITCHES and mark in self._of_edge((name, int(side))):
                    found[node.inputs[0][0]] = None
                    found[node.inputs[1][0]] = None
                else:
                    found[name] = None
        return tuple(found)

    def _in_order(self) -> list[str]:
        """All nodes, each behind what it reads."""
        nodes = self.graph.nodes
        waiting = {
            name: len({*(one for one, _ in self._read(node)), *node.controls})
            for name, node in nodes.items()
        }
        readers: dict[str, list[str]] = {}
        for name, node in nodes.items():
            for one in {*(given for given, _ in self._read(node)), *node.controls}:
                readers.setdefault(one, []).append(name)
        ready = [name for name, count in waiting.items() if not count]
        order: list[str] = []
        while ready:
            name = ready.pop()
            order.append(name)
            for one in readers.get(name, ()):
                waiting[one] -= 1
                if not waiting[one]:
                    ready.append(one)
        return order
