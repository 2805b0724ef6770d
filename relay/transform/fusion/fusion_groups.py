"""Fusion groups: a function's dataflow  ->  groups of operators, one per kernel.

    nn.conv2d -> add -> nn.relu              one group: elementwise operators follow an anchor
    exp -> negative, exp -> add              one group with both paths, when `add` takes both
    exp -> sum                               one group: a reduction takes in its input
    (transpose, exp) -> concatenate          one group, the tuple inside

An operator joins its immediate post-dominator: the nearest operator on all paths from its result.
Everything on the paths between joins too, so only the result of the last operator of a group, its
root, is used outside. Whether two groups may join depends on their kinds (`FusionKind`), and is
decided in phases over the operators in order:

    0   anchors take in the elementwise operators after them; elementwise and broadcast operators
        join their consumer, be it elementwise, injective, a reduction or a group with an anchor
    1   injective operators join injective ones, and so do tuples; anchors are complete
    2   the fields of a tuple join the injective group that has taken in the tuple
    3   reductions, and their inputs, join their consumers, row by row; and once more, because a
        larger group may make another reduction profitable

So a group has one anchor or reductions, but not both. Every path from an anchor to the root is
elementwise. The reductions of a group have the same rows (`fusion_rows`), and a group with several
passes over them is cheaper than its parts (`fusion_cost`). An opaque operator is a group of its
own. Operators on constants alone (`relay.analysis.precompute`) are not fused with others: they are
computed once.

Every group records the reason why it does not reach further.
"""

from __future__ import annotations

from relay.immutable import frozen
from relay.ir.expr import Call, Clause, Expr, Function, If, Let, TupleGetItem
from relay.op.opdef import FusionKind
from relay.transform.fusion.fusion_cost import Cost, cost_of, refusal
from relay.transform.fusion.fusion_dataflow import Dataflow, Node, name_of, post_dominators
from relay.transform.fusion.fusion_rows import Clash, lay_out

ELEMWISE = FusionKind.ELEMWISE
BROADCAST = FusionKind.BROADCAST
INJECTIVE = FusionKind.INJECTIVE
COMM_REDUCE = FusionKind.COMM_REDUCE
ANCHOR = FusionKind.OUT_ELEMWISE_FUSABLE
TUPLE = FusionKind.TUPLE
OPAQUE = FusionKind.OPAQUE


@frozen
class Rule:
    """What a group may join: the most general kinds of edges, of groups between, and of the end."""

    edges: FusionKind
    between: FusionKind
    end: FusionKind


AFTER_ANCHOR = Rule(edges=ELEMWISE, between=BROADCAST, end=BROADCAST)
INTO_ANY = Rule(edges=COMM_REDUCE, between=INJECTIVE, end=ANCHOR)
INTO_INJECTIVE = Rule(edges=OPAQUE, between=INJECTIVE, end=INJECTIVE)
IN_ROWS = Rule(edges=COMM_REDUCE, between=COMM_REDUCE, end=COMM_REDUCE)

PHASES: tuple[dict[FusionKind, Rule], ...] = (
    {ELEMWISE: INTO_ANY, BROADCAST: INTO_ANY, ANCHOR: AFTER_ANCHOR},
    {ELEMWISE: INTO_ANY, BROADCAST: INTO_ANY, INJECTIVE: INTO_INJECTIVE, TUPLE: INTO_INJECTIVE},
    dict.fromkeys((ELEMWISE, BROADCAST, INJECTIVE), INTO_INJECTIVE),
    *[dict.fromkeys((ELEMWISE, BROADCAST, COMM_REDUCE), IN_ROWS)] * 2,
)
MOST_PASSES = 8  # of the reductions of one group over rows; more would compile slowly
INTO_TUPLES = 2  # the phase in which groups join tuples, and nothing else


@frozen
class Boundary:
    """Why a group ends: an edge, and the rule that forbids fusing across it."""

    producer: str
    consumer: str
    rule: str

    def __str__(self) -> str:
        return f"{self.producer} -> {self.consumer}: {self.rule}"


class Groups:
    """The groups of a function. `root[i]` is the last node of the group that node i is in."""

    def __init__(self, flow: Dataflow, level: int, limit: int) -> None:
        self.nodes = flow.nodes
        self.flow = flow
        self._limit = limit
        self._phases = PHASES if level > 0 and flow.may_move else ()
        self._parent = list(range(len(self.nodes)))
        self._kind = [node.kind for node in self.nodes]
        self._size = [int(node.is_operator) for node in self.nodes]
        self._members = [[i] for i in range(len(self.nodes))]
        # over rows
        self._passes = [
            0 if node.reduction is None else node.reduction.passes for node in self.nodes
        ]
        self._costs: dict[tuple[int, int], Cost] = {}  # by group and size
        self._ends = post_dominators(self.nodes)
        # node -> the next one on the path to the root of its group, and whether it is elementwise
        self._step: dict[int, tuple[int, bool]] = {}
        self._boundary: dict[int, Boundary] = {}
        for phase, rules in enumerate(self._phases):
            for i in range(len(self.nodes)):
                if self._parent[i] == i and self._kind[i] in rules:
                    self._try(i, phase, rules[self._kind[i]])
        self.root = [self._find(i) for i in range(len(self.nodes))]
        self._free_projections(flow)

    def operators(self, root: int) -> int:
        """The number of operators in the group of that root."""
        return self._size[root]

    def boundary(self, root: int) -> Boundary:
        """Why the group of that root ends."""
        return self._boundary.get(root) or self._without_trying(root)

    def _find(self, i: int) -> int:
        parent = self._parent
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    def _free_projections(self, flow: Dataflow) -> None:
        """Move projections of tuples from outside the group out of it: then the argument is a
        tensor, and the rest of the tuple is dead earlier."""
        for i, node in enumerate(self.nodes):
            if isinstance(node.expr, TupleGetItem):
                origin = flow.number(node.expr.tuple_value)
                if origin is None or self.root[origin] != self.root[i]:
                    self.root[i] = i

    # --- joining

    def _try(self, i: int, phase: int, rule: Rule) -> None:
        end = self._ends[i]
        if end is None or (self.nodes[end].kind is TUPLE) != (phase == INTO_TUPLES):
            return
        if self.nodes[i].once and not self.nodes[end].once:
            self._boundary[i] = Boundary(self.nodes[i].name, self.nodes[end].name, ONCE)
            return
        found = self._between(i, end, rule)
        if isinstance(found, Boundary):
            known = self._boundary.get(i)
            # unless a reduction was the reason, the first one is kept
            if rule is not IN_ROWS or known is None or known.rule == REFUSES[COMM_REDUCE]:
                self._boundary[i] = found
            return
        joining = list(dict.fromkeys(map(self._find, (*found, end))))
        passes = sum(self._passes[group] for group in joining)
        if rule is IN_ROWS and passes == 0:
            return  # earlier phases decided
        if passes > max(MOST_PASSES, *(self._passes[group] for group in joining)):
            why = TOO_MANY_PASSES.format(MOST_PASSES)
            self._boundary[i] = Boundary(self.nodes[i].name, self.nodes[end].name, why)
            return
        if (rule is IN_ROWS or passes > 1) and (refused := self._weigh(i, end, joining)):
            self._boundary[i] = refused
            return
        self._boundary.pop(i, None)
        self._join(found, end)

    def _between(self, start: int, end: int, rule: Rule) -> list[int] | Boundary:
        """The nodes on all paths from `start` to `end`, without `end`; or the obstacle.

        The search stops at the size limit of groups, so its time per node is bounded.
        """
        nodes, target = self.nodes, self._find(end)
        if self._kind[target] > rule.end:
            return self._refusal(start, end, rule, self._kind[target])
        if rule is AFTER_ANCHOR and not self._is_elementwise_from(end):
            return self._refusal(start, end, rule, INJECTIVE)
        size = self._size[target]
        joining = {target}
        seen = {start: None}
        pending = [start]
        while pending:
            i = pending.pop()
            group = self._find(i)
            if group not in joining:
                if i != start and self._kind[group] > rule.between:
                    return self._refusal(start, i, rule, self._kind[group])
                joining.add(group)
                size += self._size[group]
                if size > self._limit:
                    return Boundary(nodes[start].name, nodes[end].name, AT_MOST.format(self._limit))
            for user, edge in nodes[i].outputs:
                if edge > rule.edges:
                    return self._refusal(i, user, rule, edge)
                if user != end and user not in seen:
                    seen[user] = None
                    pending.append(user)
        return list(seen)

    def _join(self, region: list[int], end: int) -> None:
        target = self._find(end)
        elementwise = all(e is ELEMWISE for i in region for _, e in self.nodes[i].outputs)
        for i in region:
            group = self._find(i)
            if group != target:
                self._parent[group] = target
                self._size[target] += self._size[group]
                self._passes[target] += self._passes[group]
                self._members[target] += self._members[group]
                if self._kind[group] in (ANCHOR, COMM_REDUCE):
                    self._kind[target] = self._kind[group]
            self._step.setdefault(i, (end, elementwise))

    def _weigh(self, start: int, end: int, joining: list[int]) -> Boundary | None:
        """Why separate groups with reductions are better; None if one kernel is cheaper."""
        members = sorted(i for group in joining for i in self._members[group])
        rows = lay_out(self.flow, members)
        if isinstance(rows, Clash):
            return self._clash(start, rows, set(members))
        parts = [self._cost(group) for group in joining]
        joined = cost_of(self.flow, members, rows)
        why = refusal(rows, parts, joined)
        if why is None:
            self._costs[self._find(end), len(members)] = joined
            return None
        return Boundary(self.nodes[start].name, self.nodes[end].name, why)

    def _cost(self, group: int) -> Cost:
        """The cost of a group."""
        known = (group, len(self._members[group]))
        if known not in self._costs:
            members = sorted(self._members[group])
            rows = lay_out(self.flow, members) if self._passes[group] else None
            settled = None if isinstance(rows, Clash) else rows
            self._costs[known] = cost_of(self.flow, members, settled)
        return self._costs[known]

    def _clash(self, start: int, clash: Clash, members: set[int]) -> Boundary:
        """The edge into the node that does not fit."""
        expr = self.nodes[clash.node].expr
        given = [self.flow.number(arg) for arg in expr.args] if isinstance(expr, Call) else []
        inside = [number for number in given if number is not None and number in members]
        producer = max(inside, default=start)
        return Boundary(self.nodes[producer].name, self.nodes[clash.node].name, clash.rule)

    def _is_elementwise_from(self, i: int) -> bool:
        """Whether all paths from `i` to the root of its group are elementwise."""
        while i in self._step:
            i, elementwise = self._step[i]
            if not elementwise:
                return False
        return True

    # --- reasons

    def _refusal(self, producer: int, consumer: int, rule: Rule, found: FusionKind) -> Boundary:
        if rule is not AFTER_ANCHOR or found > ANCHOR:
            why = REFUSES[found]
        else:
            why = ONE_ANCHOR if found is ANCHOR else BEHIND_ANCHOR
        return Boundary(self.nodes[producer].name, self.nodes[consumer].name, why)

    def _without_trying(self, root: int) -> Boundary:
        node, end = self.nodes[root], self._ends[root]
        if node.leaves_to is not None:
            return Boundary(node.name, name_of(node.leaves_to), self._leaving(node))
        if not node.outputs:
            return Boundary(node.name, "nothing", "the value is not used")
        consumer = self.nodes[node.outputs[-1][0] if end is None else end]
        if node.kind in (COMM_REDUCE, OPAQUE):
            why = REFUSES[node.kind]
        elif end is None:
            why = "its consumers do not meet in one operator"
        elif not self._phases:
            why = "nothing is fused here"
        else:
            why = REFUSES[consumer.kind]
        return Boundary(node.name, consumer.name, why)

    def _leaving(self, node: Node) -> str:
        """Why a value is used outside of kernels."""
        match node.leaves_to:
            case Function() | Let() | Clause():
                return RESULT
            case If(cond=cond) if cond is not node.expr:
                return RESULT
            case Expr() as user if self.flow.home(user) is not self.flow.home(node.expr):
                return ELSEWHERE
        return NO_OPERATOR


RESULT = "the value is the result of its function or branch"
ELSEWHERE = "the value is needed in another function or branch"
NO_OPERATOR = "the value is needed by what is no operator"
ONCE = "what is made of constants alone is computed once, and not in every call"
AT_MOST = "a kernel has at most {} operators"
TOO_MANY_PASSES = "the reductions of a kernel make at most {} passes over its rows"
ONE_ANCHOR = "a kernel has at most one anchor"
BEHIND_ANCHOR = "an anchor is followed by elementwise operators only"
REFUSES = {
    COMM_REDUCE: "a reduction takes in elementwise operators only",
    ANCHOR: "a kernel with an anchor takes in elementwise operators only, and none before it",
    TUPLE: "a tuple that no operator takes in is outside of all kernels",
    OPAQUE: "an opaque operator is a kernel of its own",
}
