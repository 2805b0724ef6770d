"""Programs drawn by a parser and a plotter of one's own, or by those here.

    from relay.viz import DotPlotter, RelayVisualizer

    RelayVisualizer(mod, plotter=DotPlotter()).render("model.dot")
    RelayVisualizer(mod).render()                                   text, printed

A parser says what node and what edges an expression is; a plotter takes the nodes and edges of
each function, and writes a picture.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from relay import tree
from relay.errors import RelayError
from relay.files import as_path, replacing
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.module import IRModule
from relay.viz import pictures
from relay.viz.graph import Edge, Graph, graph_of


@frozen
class VizNode:
    """A node: its identity, its name, and details."""

    identity: str
    type_name: str
    detail: str


@frozen
class VizEdge:
    """An edge between two nodes."""

    start: str
    end: str


Found = tuple["VizNode | None", Sequence[VizEdge]]


class VizParser(ABC):
    """Turns an expression into a node and the edges into it."""

    @abstractmethod
    def get_node_edges(
        self,
        node: ir.Expr,
        relay_param: Mapping[str, Any],
        node_to_id: Mapping[ir.Expr, str],
    ) -> Found:
        """The node of an expression, or None if it has none, and edges by identities."""


class DefaultVizParser(VizParser):
    """Every expression but operators is a node; edges come from its parts."""

    def get_node_edges(
        self,
        node: ir.Expr,
        relay_param: Mapping[str, Any],
        node_to_id: Mapping[ir.Expr, str],
    ) -> Found:
        if isinstance(node, ir.Op | ir.GlobalVar | ir.Constructor | ir.Function):
            return None, ()
        own = node_to_id[node]
        parts = [
            child
            for child in tree.children(node)
            if child in node_to_id
            and not isinstance(child, ir.Op | ir.GlobalVar | ir.Constructor | ir.Function)
        ]
        edges = [VizEdge(node_to_id[part], own) for part in parts]
        kind = "" if node.ty is None else str(node.ty)
        return VizNode(own, self.name_of(node, relay_param), kind), edges

    def name_of(self, node: ir.Expr, relay_param: Mapping[str, Any]) -> str:
        """The name of a node."""
        match node:
            case ir.Var(name_hint=name):
                return f"Parameter %{name}" if name in relay_param else f"Var %{name}"
            case ir.Call(op=ir.Op(name=name)):
                return name
            case ir.Call(op=ir.GlobalVar(name_hint=name)):
                return f"@{name}"
            case ir.TupleGetItem(index=index):
                return f"TupleGetItem {index}"
        return type(node).__name__


TermVizParser = DotVizParser = DefaultVizParser


class VizGraph(ABC):
    """The picture of one function, node by node."""

    @abstractmethod
    def node(self, viz_node: VizNode) -> None:
        """Add a node."""

    @abstractmethod
    def edge(self, viz_edge: VizEdge) -> None:
        """Add an edge; its ends are added before or after it."""


class Plotter(ABC):
    """Writes the pictures of functions."""

    @abstractmethod
    def create_graph(self, name: str) -> VizGraph:
        """The empty picture of a function."""

    @abstractmethod
    def render(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write all pictures."""


class PlottedGraph(VizGraph):
    """A function as a box of a graph."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.box = graph.add(f"@{name}", "function", is_box=True).number
        self.numbers: dict[str, int] = {}
        self.later: list[VizEdge] = []

    def node(self, viz_node: VizNode) -> None:
        made = self.graph.add(viz_node.type_name, "op", self.box, type=viz_node.detail)
        self.numbers[viz_node.identity] = made.number

    def edge(self, viz_edge: VizEdge) -> None:
        self.later.append(viz_edge)

    def finish(self) -> None:
        """Add the edges whose ends both exist."""
        for edge in self.later:
            start, end = self.numbers.get(edge.start), self.numbers.get(edge.end)
            if start is not None and end is not None:
                self.graph.edges.append(Edge(start, end, self.graph.nodes[start].type))
        self.later = []


class PicturePlotter(Plotter):
    """One picture with a box for each function."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.functions: list[PlottedGraph] = []

    def create_graph(self, name: str) -> PlottedGraph:
        self.functions.append(PlottedGraph(self.graph, name))
        return self.functions[-1]

    def finished(self) -> Graph:
        """The whole graph."""
        for function in self.functions:
            function.finish()
        return self.graph


class TermPlotter(PicturePlotter):
    """Text, printed or written."""

    def render(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Print the picture, or write it to a file."""
        text = pictures.text(self.finished())
        if filename is None:
            print(text)
        else:
            _write(filename, text.encode())


class DotPlotter(PicturePlotter):
    """A file for Graphviz, or a picture: `.dot`, `.svg` or `.png`, by the name of the file."""

    def render(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the picture, by default to `relay.dot`."""
        draw(self.finished(), "relay.dot" if filename is None else filename)


class RelayVisualizer:
    """Draws a module. Without a parser, groups, functions and branches are boxes; with one, its
    nodes are drawn as they are."""

    def __init__(
        self,
        relay_mod: IRModule,
        relay_param: Mapping[str, Any] | None = None,
        plotter: Plotter | None = None,
        parser: VizParser | None = None,
    ) -> None:
        if not isinstance(relay_mod, IRModule):
            raise RelayError(f"a visualizer takes an IRModule, found {type(relay_mod).__name__}")
        self.plotter = TermPlotter() if plotter is None else plotter
        weights = dict(relay_param or {})
        if parser is None and isinstance(self.plotter, PicturePlotter):
            self.plotter.graph = graph_of(relay_mod, weights)
            return
        parser = DefaultVizParser() if parser is None else parser
        for name, function in relay_mod.functions.items():
            root: ir.Expr = function
            parts = [e for e in tree.postorder(root) if isinstance(e, ir.Expr)]
            identities: dict[ir.Expr, str] = {e: str(number) for number, e in enumerate(parts)}
            graph = self.plotter.create_graph(name.name_hint)
            for part in parts:
                node, edges = parser.get_node_edges(part, weights, identities)
                if node is not None:
                    graph.node(node)
                for edge in edges:
                    graph.edge(edge)

    def render(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the picture, or print it."""
        self.plotter.render(filename)


def draw(graph: Graph, filename: str | os.PathLike[str]) -> None:
    """Write a graph in the format of the file's suffix."""
    kind = as_path(filename).suffix.lower()
    if kind in (".dot", ".gv"):
        data = pictures.dot(graph).encode()
    elif kind == ".svg":
        data = pictures.svg(graph).encode()
    elif kind == ".png":
        data = pictures.png(graph)
    elif kind == ".txt":
        data = pictures.text(graph).encode()
    else:
        raise RelayError(f"a picture ends in .dot, .svg, .png or .txt, found `{filename}`")
    _write(filename, data)


def _write(filename: str | os.PathLike[str], data: bytes) -> None:
    with replacing(filename, "the picture") as unfinished:
        unfinished.write_bytes(data)
