"""Which operators make one kernel: a function's dataflow  ->  groups of operators.

    nn.conv2d -> add -> nn.relu              one group: elementwise operators follow an anchor
    exp -> negative, exp -> add              one group with both paths, when `add` takes both
    exp -> sum                               one group: a reduction takes in what it reduces
    (transpose, exp) -> concatenate          one group, the tuple inside

An operator joins its immediate post-dominator: the nearest operator that everything made of its
result goes through. All that lies on the paths between comes along, so nothing inside a group is
needed outside but the result of its last operator, its root. Whether two groups may join depends
on their kinds (`FusionKind`), and is settled in three phases over the operators in order:

    0   anchors take in the elementwise operators behind them; elementwise and broadcast operators
        join what they lead to, be it elementwise, injective, a reduction or a group with an anchor
    1   injective operators join injective ones, and so do tuples; anchors have what they need
    2   what a tuple is made of joins the injective group that has taken in the tuple

So a group has one anchor or one reduction at most. Every path from an anchor to the root is
elementwise, and a reduction is the root. An opaque operator is a group of its own.

Values flow through `let`s whose value may as well be computed where it is used, so a program in
A-normal form has the groups of its graph. They do not flow between blocks: what is in a branch, a
clause or the body of a function stays there. Every group keeps the reason why it does not reach
further.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from relay import tree
from relay.analysis.normal_forms import Blocks
from relay.analysis.purity import Purity, manages_memory
from relay.dataflow_pattern.forest import Forest
from relay.ir.expr import Call, Expr, Function, Let, Syntax, Tuple, TupleGetItem, Var
from relay.ir.scopes import Scope
from relay.ir.types import Occurs, TensorType, TupleType, Type
from relay.op.opdef import FusionKind, OpDef
from relay.transform.base import is_foreign

PRIMITIVE = "Primitive"

ELEMWISE = FusionKind.ELEMWISE
BROADCAST = FusionKind.BROADCAST
INJECTIVE = FusionKind.INJECTIVE
COMM_REDUCE = FusionKind.COMM_REDUCE
ANCHOR = FusionKind.OUT_ELEMWISE_FUSABLE
TUPLE = FusionKind.TUPLE
OPAQUE = FusionKind.OPAQUE


def is_sealed(function: Function) -> bool:
    """Whether what is inside `function` is a kernel already, or the business of others."""
    return bool(function.attrs.get(PRIMITIVE)) or is_foreign(function)


# --- the dataflow of a function ------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Node:
    """A call of an operator, a tuple of tensors, or a field of one."""

    expr: Call | Tuple | TupleGetItem
    kind: FusionKind
    # (consumer, how it uses the value)
    outputs: list[tuple[int, FusionKind]] = field(default_factory=list)
    # somebody else who needs the value, and takes no part in any kernel
    leaves_to: Syntax | None = None

    @property
    def is_operator(self) -> bool:
        return isinstance(self.expr, Call)

    @property
    def name(self) -> str:
        return name_of(self.expr)


class Dataflow(Blocks):
    """The operators of a function, numbered so that every one comes after what it is made of."""

    def __init__(self, root: Function) -> None:
        self._sealed: set[Scope] = set()
        super().__init__(root)
        self._function = root
        self.nodes: list[Node] = []
        self._number: dict[int, int] = {}
        order = list(tree.postorder(root))
        self._lets = {e.variable: e for e in order if isinstance(e, Let)}
        self._bound: dict[Var, int | None] = {}
        for e in order:
            if (kind := self._kind(e)) is not None:
                assert isinstance(e, Call | Tuple | TupleGetItem)
                self._number[id(e)] = len(self.nodes)
                self.nodes.append(Node(e, kind))
            for part, edge in self._uses_in(e, kind):
                self._connect(e, part, edge)

    def number(self, e: Syntax) -> int | None:
        """The node whose value `e` is: itself, or what a variable is bound to."""
        return self._through(e) if isinstance(e, Var) else self._number.get(id(e))

    def opened(self, owner: Syntax, field: str) -> Scope:
        scope = super().opened(owner, field)
        sealed = isinstance(owner, Function) and is_sealed(owner)
        if sealed or scope.parent in self._sealed:
            self._sealed.add(scope)
        return scope

    def _through(self, variable: Var) -> int | None:
        """The node that a variable is bound to by a `let` that is no obstacle."""
        passed: list[Var] = []
        found: int | None = None
        e: Syntax = variable
        while isinstance(e, Var):
            if e in self._bound:
                found = self._bound[e]
                break
            passed.append(e)
            let = self._lets.get(e)
            if let is None or not self._is_transparent(let):
                break
            e = let.value
        else:
            found = self._number.get(id(e))
        self._bound.update(dict.fromkeys(passed, found))
        return found

    def _is_transparent(self, let: Let) -> bool:
        """Whether the value may move to where it is used: neither the declared type nor the time
        of its evaluation tells anything."""
        value, declared = let.value, let.variable.type_annotation
        if not isinstance(value, Var) and id(value) not in self._number:
            return False
        if (declared is not None and declared != value.ty) or not self._may_move:
            return False
        return isinstance(value, Var) or self._purity.is_pure(value)

    @cached_property
    def _may_move(self) -> bool:
        return not manages_memory(self._function)

    @cached_property
    def _purity(self) -> Purity:
        return Purity(self._function)

    def _kind(self, e: Syntax) -> FusionKind | None:
        """How `e` takes part in kernels; None when it does not."""
        if self.home(e) in self._sealed:
            return None
        match e:
            case Call(op=OpDef() as op):
                if op.on_values or op.has_attr("TNonComputational"):
                    return None
                if not all(_is_for_kernels(part) for part in (e, *e.args)):
                    return None
                # a shape that depends on values must be known before the kernel is entered
                settled = not op.stateful and op.runtime_shape is None
                return op.fusion if settled else OPAQUE
            case Tuple():
                return TUPLE if _is_for_kernels(e) else None
            case TupleGetItem():
                return INJECTIVE if _is_for_kernels(e.tuple_value) else None
        return None

    def _uses_in(
        self, e: Syntax, kind: FusionKind | None
    ) -> Iterator[tuple[Syntax, FusionKind | None]]:
        """What `e` uses, and how; None is any other way than in a kernel."""
        children = tree.children(e)
        match e:
            case Call() if kind is not None:
                for arg in e.args:
                    yield arg, ELEMWISE if kind is BROADCAST and _has_same_shape(e, arg) else kind
            case Tuple() | TupleGetItem() if kind is not None:
                yield from ((part, INJECTIVE) for part in children)
            case Let():
                if self._through(e.variable) is None:
                    yield e.value, None
                yield e.body, None
            case _:
                yield from ((part, None) for part in children)

    def _connect(self, user: Syntax, part: Syntax, edge: FusionKind | None) -> None:
        if (number := self.number(part)) is None:
            return
        node = self.nodes[number]
        if edge is not None and self.home(user) is self.home(node.expr):
            node.outputs.append((self._number[id(user)], edge))
        else:
            node.leaves_to = user


def _is_for_kernels(e: Expr) -> bool:
    """Whether the value is made of tensors only."""
    ty: Type = e.checked_type
    fields = ty.fields if isinstance(ty, TupleType) else (ty,)
    return all(isinstance(f, TensorType) for f in fields)


def _has_same_shape(call: Call, arg: Expr) -> bool:
    """Whether the result has the shape of `arg` for sure; `?` may be stretched."""
    result, ty = call.checked_type, arg.checked_type
    if not isinstance(result, TensorType) or not isinstance(ty, TensorType):
        return False
    return result.shape == ty.shape and not ty.occurs & Occurs.ANY


def name_of(e: Syntax) -> str:
    """How reasons call an expression."""
    match e:
        case Call(op=OpDef(name=name)):
            return name
        case TupleGetItem(index=index):
            return f".{index}"
    return type(e).__name__


def post_dominators(nodes: list[Node]) -> list[int | None]:
    """For every node the nearest one that all paths from it go through."""
    last = len(nodes) - 1
    forest = Forest()  # node i of the graph is node last - i here: consumers come first
    for node in reversed(nodes):
        meeting: int | None = None
        if node.leaves_to is None:
            for n, (user, _) in enumerate(node.outputs):
                meeting = last - user if n == 0 else forest.meet(meeting, last - user)
        forest.add(meeting)
    return [None if parent is None else last - parent for parent in reversed(forest.parent)]


# --- groups --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    """What a group may join: the widest kinds of edges, of groups between, and of the other one."""

    edges: FusionKind
    between: FusionKind
    end: FusionKind


AFTER_ANCHOR = Rule(edges=ELEMWISE, between=BROADCAST, end=BROADCAST)
INTO_ANY = Rule(edges=COMM_REDUCE, between=INJECTIVE, end=ANCHOR)
INTO_INJECTIVE = Rule(edges=OPAQUE, between=INJECTIVE, end=INJECTIVE)

PHASES: tuple[dict[FusionKind, Rule], ...] = (
    {ELEMWISE: INTO_ANY, BROADCAST: INTO_ANY, ANCHOR: AFTER_ANCHOR},
    {ELEMWISE: INTO_ANY, BROADCAST: INTO_ANY, INJECTIVE: INTO_INJECTIVE, TUPLE: INTO_INJECTIVE},
    dict.fromkeys((ELEMWISE, BROADCAST, INJECTIVE), INTO_INJECTIVE),
)
INTO_TUPLES = 2  # the phase in which a tuple may be what a group joins, and nothing else may


@dataclass(frozen=True, slots=True)
class Boundary:
    """Why a group ends: the edge that is not crossed, and the rule that forbids it."""

    producer: str
    consumer: str
    rule: str

    def __str__(self) -> str:
        return f"{self.producer} -> {self.consumer}: {self.rule}"


class Groups:
    """The groups of a function. `root[i]` is the last node of the group that node i is in."""

    def __init__(self, flow: Dataflow, level: int, limit: int) -> None:
        self.nodes = flow.nodes
        self._level, self._limit = level, limit
        self._parent = list(range(len(self.nodes)))
        self._kind = [node.kind for node in self.nodes]
        self._size = [int(node.is_operator) for node in self.nodes]
        self._ends = post_dominators(self.nodes)
        # where a node that is no root leads to inside its group, and whether elementwise
        self._step: dict[int, tuple[int, bool]] = {}
        self._boundary: dict[int, Boundary] = {}
        for phase, rules in enumerate(PHASES if level > 0 else ()):
            for i in range(len(self.nodes)):
                if self._parent[i] == i and self._kind[i] in rules:
                    self._try(i, phase, rules[self._kind[i]])
        self.root = [self._find(i) for i in range(len(self.nodes))]
        self._free_projections(flow)

    def operators(self, root: int) -> int:
        """How many operators the group of that root has."""
        return self._size[root]

    def boundary(self, root: int) -> Boundary:
        """Why the group of that root does not reach further."""
        return self._boundary.get(root) or self._without_trying(root)

    def _find(self, i: int) -> int:
        parent = self._parent
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    def _free_projections(self, flow: Dataflow) -> None:
        """A field of a tuple that comes from outside of the group is outside as well: then what
        comes in is a tensor, and the rest of the tuple does not have to live as long."""
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
        found = self._between(i, end, rule)
        if isinstance(found, Boundary):
            self._boundary[i] = found
        else:
            self._boundary.pop(i, None)
            self._join(found, end)

    def _between(self, start: int, end: int, rule: Rule) -> list[int] | Boundary:
        """The nodes on all paths from `start` to `end`, without `end`; or what is in the way.

        The search stops when it has seen more than a group may have, so it takes no longer than
        that for every node.
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
                if self._kind[group] is ANCHOR:
                    self._kind[target] = ANCHOR
            self._step.setdefault(i, (end, elementwise))

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
            return Boundary(node.name, name_of(node.leaves_to), LEAVES)
        if not node.outputs:
            return Boundary(node.name, "nothing", "nobody needs the value")
        consumer = self.nodes[node.outputs[-1][0] if end is None else end]
        if node.kind in (COMM_REDUCE, OPAQUE):
            why = REFUSES[node.kind]
        elif end is None:
            why = "its consumers do not meet in one operator"
        elif not self._level:
            why = "nothing is fused at level 0"
        else:
            why = REFUSES[consumer.kind]
        return Boundary(node.name, consumer.name, why)


LEAVES = "the value is needed by what is no operator, or in another block"
AT_MOST = "a kernel has at most {} operators"
ONE_ANCHOR = "a kernel has at most one anchor"
BEHIND_ANCHOR = "an anchor is followed by elementwise operators only"
REFUSES = {
    COMM_REDUCE: "a reduction takes in elementwise operators only, and is the last of its kernel",
    ANCHOR: "a kernel with an anchor takes in elementwise operators only, and none before it",
    TUPLE: "a tuple that no operator takes in is outside of all kernels",
    OPAQUE: "an opaque operator is a kernel of its own",
}
