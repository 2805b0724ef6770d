"""A program as a graph of boxes in boxes: operators, inside of fused groups, functions, branches.

    graph = graph_of(module)
    graph.nodes[3]         Node(3, "nn.relu", "op", parent=1, type="Tensor[(8), float32]", …)
    graph.edges[0]         Edge(2, 3, "Tensor[(8), float32]")

An expression is in the box of its home (`relay.ir.scopes`), so what two branches share stands
outside of both. Constants and weights are no nodes: they belong to what reads them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from relay import tree
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.module import IRModule
from relay.ir.scopes import Scopes

OUTSIDE = -1  # the parent of what is in no box
NODE = "relay_viz_node_"  # begins names that stand for nodes, and is in no program


@dataclass(slots=True)
class Node:
    """An expression, or a box with others inside."""

    number: int
    label: str
    kind: str  # op, call, parameter, tuple, field, reference, data, fused, function, if, branch, …
    parent: int
    type: str = ""
    expr: ir.Syntax | None = None
    text: str = ""
    reads: list[str] = field(default_factory=list)  # constants and weights
    is_box: bool = False


@frozen
class Edge:
    """A value that goes from one node to another."""

    source: int
    target: int
    type: str


@dataclass
class Graph:
    """Nodes in an order of evaluation, and edges."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def add(self, label: str, kind: str, parent: int = OUTSIDE, **fields: object) -> Node:
        """A new node."""
        node = Node(len(self.nodes), label, kind, parent, **fields)  # type: ignore[arg-type]
        self.nodes.append(node)
        return node

    def children(self) -> dict[int, list[int]]:
        """The nodes directly inside of each box, and of `OUTSIDE`."""
        found: dict[int, list[int]] = {OUTSIDE: []}
        for node in self.nodes:
            found.setdefault(node.parent, []).append(node.number)
        return found


def graph_of(program: IRModule | ir.Expr, weights: Collection[str] = ()) -> Graph:
    """The graph of all functions of a module, or of an expression. Parameters of `main` that are
    `weights` are no nodes."""
    graph = Graph()
    if isinstance(program, IRModule):
        functions = [(name.name_hint, f) for name, f in program.functions.items()]
        for name, function in functions:
            if isinstance(function, ir.Function):
                _Builder(graph, function, weights if name == "main" else ()).build(f"@{name}")
    else:
        _Builder(graph, program, ()).build("")
    return _in_order(graph)


class _Builder:
    """Adds one expression to a graph, outer boxes before what is in them."""

    def __init__(self, graph: Graph, root: ir.Expr, weights: Collection[str]) -> None:
        self.graph = graph
        self.root = root
        self.weights = weights
        self.scopes = Scopes(root)
        self.boxes: dict[int, int] = {id(self.scopes.root): OUTSIDE}
        self.nodes: dict[int, Node] = {}  # by the identity of expressions
        self.bound: dict[int, ir.Syntax] = {}  # variables, and what stands for others

    def build(self, name: str) -> None:
        parts = list(tree.postorder(self.root))
        for part in parts:
            self._bind(part)
        for part in reversed(parts):
            self._add(part, name if part is self.root else "")
        for part in parts:
            self._connect(part)

    def _bind(self, part: ir.Syntax) -> None:
        """Records the values of variables."""
        match part:
            case ir.Let(variable=variable, value=value):
                self.bound[id(variable)] = value
            case ir.Call(op=ir.Function() as function, args=args) if self._is_fused(part):
                self.bound.update((id(p), a) for p, a in zip(function.params, args, strict=True))

    def _is_fused(self, call: ir.Syntax) -> bool:
        """A call that is one box with its function."""
        if not isinstance(call, ir.Call) or not isinstance(call.op, ir.Function):
            return False
        return "Primitive" in call.op.attrs and self.scopes.uses(call.op) == 1

    def _add(self, part: ir.Syntax, name: str) -> None:
        """The node of a part, if it has one, and the boxes that it opens."""
        here = self.boxes.get(id(self.scopes.home(part)), OUTSIDE)
        match part:
            case ir.Let():
                self._open(part, "body", here)
            case ir.Function():
                if id(part) in self.nodes:  # the box of a fused call
                    box = self.nodes[id(part)].number
                else:
                    box = self._node(part, name or "fn", "function", here, is_box=True).number
                self._open(part, "body", box)
            case ir.If():
                box = self._node(part, "if", "if", here, is_box=True).number
                for place, label in (("false_branch", "else"), ("true_branch", "then")):
                    inner = self.graph.add(label, "branch", box, is_box=True).number
                    self._open(part, place, inner)
            case ir.Match(clauses=clauses):
                box = self._node(part, "match", "match", here, is_box=True).number
                for clause in reversed(clauses):
                    inner = self.graph.add(str(clause.lhs), "branch", box, is_box=True).number
                    self._open(clause, "rhs", inner)
                    for pattern in tree.postorder(clause.lhs):
                        if isinstance(pattern, ir.PatternVar):
                            self.bound[id(pattern.var)] = part
            case ir.Call() if self._is_fused(part):
                assert isinstance(part.op, ir.Function)
                label = " ".join(_operators(part.op)) or "copy"
                node = self._node(part, label, "fused", here, is_box=True)
                self.nodes[id(part.op)] = node
            case ir.Call(op=ir.Op(name=label)):
                self._node(part, label, "op", here)
            case ir.Call(op=ir.Constructor(name_hint=label)):
                self._node(part, label, "data", here)
            case ir.Call(op=ir.GlobalVar(name_hint=label)):
                self._node(part, f"@{label}", "call", here)
            case ir.Call():
                self._node(part, "call", "call", here)
            case ir.Tuple():
                self._node(part, "tuple", "tuple", here)
            case ir.TupleGetItem(index=index):
                self._node(part, f".{index}", "field", here)
            case ir.RefCreate() | ir.RefRead() | ir.RefWrite():
                self._node(part, type(part).__name__, "reference", here)
            case ir.Var() if id(part) not in self.bound and part.name_hint not in self.weights:
                self._node(part, f"%{part.name_hint}", "parameter", here)

    def _node(
        self, part: ir.Expr, label: str, kind: str, parent: int, *, is_box: bool = False
    ) -> Node:
        type_text = "" if part.ty is None else str(part.ty)
        node = self.graph.add(label, kind, parent, type=type_text, expr=part, is_box=is_box)
        self.nodes[id(part)] = node
        return node

    def _open(self, owner: ir.Syntax, place: str, box: int) -> None:
        self.boxes[id(self.scopes.opened(owner, place))] = box

    def _connect(self, part: ir.Syntax) -> None:
        """The edges into a node, and its text."""
        node = self.nodes.get(id(part))
        if node is None or node.expr is not part or node.kind == "fused":
            return  # what is in a fused group reads the arguments
        used: Iterable[ir.Syntax]
        match part:
            case ir.Function():
                return
            case ir.If(cond=cond):
                used = (cond,)
            case ir.Match(data=data):
                used = (data,)
            case ir.Call(op=op, args=args):
                used = args if isinstance(op, ir.Function) else (op, *args)
            case _:
                used = tree.children(part)
        for one in used:
            source = self._value(one)
            maker = self.nodes.get(id(source))
            if maker is not None:
                self.graph.edges.append(Edge(maker.number, node.number, maker.type))
            elif isinstance(source, ir.Constant):
                node.reads.append(f"constant {source.ty or source.data!r}")
            elif isinstance(source, ir.Var):
                node.reads.append(f"%{source.name_hint}: {source.ty or '?'}")
        node.text = self._text(part)

    def _value(self, e: ir.Syntax) -> ir.Syntax:
        """The expression that makes a value: what a variable is bound to, the result of a let."""
        while True:
            if isinstance(e, ir.Let):
                e = e.body
            elif id(e) in self.bound and id(e) not in self.nodes:
                e = self.bound[id(e)]
            else:
                return e

    def _text(self, part: ir.Syntax) -> str:
        """One node as Relay, with numbers of other nodes for its operands."""
        if not isinstance(part, ir.Call | ir.Tuple | ir.TupleGetItem) or self._is_fused(part):
            return ""

        names: dict[str, ir.Var] = {}  # two variables of one name would be printed as two

        def operand(e: ir.Expr) -> ir.Expr:
            if isinstance(e, ir.Op | ir.GlobalVar | ir.Constructor | ir.Var | ir.Constant):
                return e
            maker = self.nodes.get(id(self._value(e)))
            name = "unknown" if maker is None else f"{NODE}{maker.number}_"
            return names.setdefault(name, ir.Var(name))

        made = [operand(child) for child in tree.children(part)]
        lines = tree.rebuild(part, made).astext(show_meta_data=False).splitlines()
        return "\n".join(line for line in lines if not line.startswith(("#[", "free_var ")))


def _operators(function: ir.Function) -> list[str]:
    """The operators of a fused function, in order."""
    calls = (e for e in tree.postorder(function.body) if isinstance(e, ir.Call))
    return [call.op.name.removeprefix("nn.") for call in calls if isinstance(call.op, ir.Op)]


def _in_order(graph: Graph) -> Graph:
    """The same graph with nodes numbered so that what is used comes before what uses it, and boxes
    before what is in them."""
    ranks = _ranks(graph)
    order = sorted(range(len(graph.nodes)), key=ranks.__getitem__)
    numbers = {old: new for new, old in enumerate(order)}
    numbers[OUTSIDE] = OUTSIDE
    made = Graph([graph.nodes[old] for old in order])
    for node in made.nodes:
        node.number, node.parent = numbers[node.number], numbers[node.parent]
        node.text = _renumbered(node.text, numbers)
    made.edges = [Edge(numbers[e.source], numbers[e.target], e.type) for e in graph.edges]
    return made


def _renumbered(text: str, numbers: dict[int, int]) -> str:
    """`%n12` for the node that had another number before."""
    if NODE not in text:
        return text
    return re.sub(rf"%{NODE}(\d+)_", lambda m: f"%n{numbers[int(m[1])]}", text)


def _ranks(graph: Graph) -> list[int]:
    """Places in an order of evaluation: a depth-first walk from the sinks, box by box."""
    above = {node.number: node.parent for node in graph.nodes}

    def chain(number: int) -> list[int]:
        found = []
        while number != OUTSIDE:
            found.append(number)
            number = above[number]
        return found[::-1]

    sources: dict[int, list[int]] = {node.number: [] for node in graph.nodes}
    for edge in graph.edges:
        source, target = chain(edge.source), chain(edge.target)
        shared = 0
        while shared < min(len(source), len(target)) - 1 and source[shared] == target[shared]:
            shared += 1
        if source[shared] != target[shared]:
            sources[target[shared]].append(source[shared])
    inside = graph.children()
    ranks = [0] * len(graph.nodes)
    seen: set[int] = set()
    place = 0
    pending: list[tuple[int, bool]] = [(n, False) for n in reversed(inside[OUTSIDE])]
    while pending:
        number, ready = pending.pop()
        if ready:
            ranks[number] = place
            place += 1
            pending += [(inner, False) for inner in inside.get(number, ())]
        elif number not in seen:
            seen.add(number)
            pending.append((number, True))
            pending += [(one, False) for one in reversed(sources[number])]
    return ranks
