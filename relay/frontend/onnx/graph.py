"""Graphs as chains of `let`s, with the nodes in topological order.

A node is converted by its converter, by the model's function of that name, or by the function with
which the standard defines the operator, whose nodes are then converted in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Any

from onnx import AttributeProto, GraphProto, NodeProto, ValueInfoProto

from relay import tree
from relay.check.infer import infer_expr
from relay.errors import DiagnosticError, FrontendError, SourceName, Span
from relay.frontend.common.arguments import arguments
from relay.frontend.common.converters import Converters
from relay.frontend.common.elements import ELEMENT_TYPES, propagate
from relay.frontend.common.naming import quoted, repeated
from relay.frontend.common.scope import type_of
from relay.frontend.onnx.branches import Branch, Fork, either, types_of_both
from relay.frontend.onnx.continuations import Paths, live_values, with_forks_last
from relay.frontend.onnx.converters import DEFAULT_DOMAINS, find
from relay.frontend.onnx.functions import DEEPEST, Bodies, bound_nodes, graphs_of, too_deep
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.schema import check_node
from relay.frontend.onnx.scope import GraphScope
from relay.frontend.onnx.tensors import Files, array_of, dense
from relay.frontend.onnx.types import Dimensions, lacks_shape
from relay.frontend.onnx.versions import versions_of
from relay.immutable import frozen
from relay.ir.expr import Constant, Expr, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType, Type
from relay.nd import NDArray

Outputs = Mapping[str, int | None]  # the declared ranks of outputs, by name


@frozen
class Subgraph:
    """A graph that is an attribute of a node; it sees the names in the scope of the node."""

    graph: GraphProto
    importer: GraphImporter

    @property
    def inputs(self) -> list[str]:
        return [value.name for value in self.graph.input]

    @property
    def outputs(self) -> list[str]:
        return [value.name for value in self.graph.output]

    def types(self) -> list[Type | None]:
        """The declared types of its inputs, where there are any."""
        return [self.importer.declared_type(value) for value in self.graph.input]

    def translate(self, scope: GraphScope, inputs: Sequence[Expr]) -> tuple[GraphScope, list[Expr]]:
        """The graph converted in a scope of its own inside `scope`, and its outputs."""
        inner = scope.inner()
        inner.values.update(zip(self.inputs, inputs, strict=False))
        self.importer.deeper().add(self.graph, inner)
        return inner, [self.importer.output(name, inner) for name in self.outputs]

    def inline(self, scope: GraphScope, inputs: Sequence[Expr]) -> list[Expr]:
        """The outputs of the graph, whose `let`s become part of `scope`."""
        inner, results = self.translate(scope, inputs)
        scope.bindings += inner.bindings
        return results


@frozen
class GraphImporter:
    """Converts graphs; one per graph or function, for the operator sets it imports."""

    module: IRModule
    dimensions: Dimensions
    files: Files
    tables: Sequence[Converters]
    bodies: Bodies
    versions: Mapping[str, int]  # of the operator sets, by domain
    origin: str  # what errors call the model
    depth: int = 0
    paths: Paths | None = None  # where the graph has forked

    def deeper(self, versions: Mapping[str, int] | None = None) -> GraphImporter:
        """The importer of a graph inside this one."""
        if self.depth >= DEEPEST:
            raise too_deep()
        found = self.versions if versions is None else versions
        return replace(self, versions=found, depth=self.depth + 1)

    def declared_type(self, value: Any) -> Type | None:
        """The declared type of a value, where it has one."""
        if lacks_shape(value.type):
            return None
        return self.dimensions.type_of(value.type, quoted(value.name))

    # --- graphs

    def add(self, graph: GraphProto, scope: GraphScope) -> None:
        """Convert a graph whose inputs are in the scope."""
        weights = [one.name for one in graph.initializer]
        weights += [one.values.name for one in graph.sparse_initializer]
        if (twice := repeated(weights)) is not None:
            raise FrontendError.of(f"weight {quoted(twice)} is there twice")
        for tensor in graph.initializer:
            scope.values.setdefault(tensor.name, self.constant(array_of(tensor, self.files)))
        for sparse in graph.sparse_initializer:
            array = dense(sparse, self.files)
            scope.values.setdefault(sparse.values.name, self.constant(array))
        scope.declared = {value.name: value for value in (*graph.value_info, *graph.output)}
        self.add_nodes(graph.node, scope, {value.name: rank_of(value) for value in graph.output})

    def add_nodes(self, nodes: Iterable[NodeProto], scope: GraphScope, outputs: Outputs) -> None:
        """Convert nodes in the scope; after a fork only `outputs` have values."""
        ordered = in_order(nodes, scope)
        for node in ordered:
            for name in node.input:
                scope.readers.setdefault(name, []).append(node)
        replace(self, paths=None)._add_all(ordered, scope, outputs)

    def _add_all(self, nodes: Sequence[NodeProto], scope: GraphScope, outputs: Outputs) -> None:
        for place, node in enumerate(nodes):
            self.bodies.count()
            if (fork := self._add(node, scope)) is not None:
                wanted = {one: n for one, n in outputs.items() if scope.find(one) is None}
                rest = nodes[place if fork.again else place + 1 :]
                if self.paths is None:
                    rest = with_forks_last(rest, [names_used(one) for one in rest])
                paths = (self.paths or Paths(scope)).further()
                again = replace(self.deeper(), paths=paths)
                again._add_branches(fork, node, rest, scope, wanted)
                return

    def _add_branches(
        self,
        fork: Fork,
        node: NodeProto,
        rest: Sequence[NodeProto],
        scope: GraphScope,
        outputs: Outputs,
    ) -> None:
        """Convert the nodes after a fork in each of its branches."""
        branches: list[Branch | FrontendError] = []
        for inner, results in fork.branches:
            inner.values = dict(zip(node.output, results, strict=False))
            try:
                branches.append(self._continue(rest, (id(node), fork.again), inner, outputs))
            except FrontendError as reason:
                branches.append(reason)
        possible = [branch for branch in branches if isinstance(branch, tuple)]
        types = types_of_both(possible[0], possible[-1]) if possible else ()
        if isinstance(types, tuple):
            raise fork.reason
        span = fork.reason.diagnostics[0].span
        values = either(scope, fork.condition, branches, types, span)
        scope.values.update(zip(outputs, values, strict=True))

    def _continue(
        self, rest: Sequence[NodeProto], place: object, inner: GraphScope, outputs: Outputs
    ) -> Branch:
        """Convert the rest of the nodes on one path, or call what another path has converted."""
        paths = self.paths
        if paths is None or not paths.is_shared:
            return inner, self._outputs(rest, inner, outputs)
        used = set(outputs).union(*map(names_used, rest))
        live = live_values(inner, paths.root, used, place)
        if live.key not in paths.made:
            try:
                results = self._outputs(rest, live.scope, outputs)
                paths.made[live.key] = live.close(results, paths.root)
            except FrontendError as reason:
                paths.made[live.key] = reason
        found = paths.made[live.key]
        if isinstance(found, FrontendError):
            raise found
        return live.call(found, inner)

    def _outputs(
        self, rest: Sequence[NodeProto], scope: GraphScope, outputs: Outputs
    ) -> list[Expr]:
        self._add_all(rest, scope, outputs)
        return [self._with_rank(rank, name, scope) for name, rank in outputs.items()]

    def output(self, name: str, scope: GraphScope) -> Expr:
        """The value of an output of a graph."""
        found = scope.find(name)
        if found is None:
            raise FrontendError.of(f"output {quoted(name)} of a graph is made by no node")
        return found

    def _with_rank(self, rank: int | None, name: str, scope: GraphScope) -> Expr:
        found = self.output(name, scope)
        ty = type_of(found)
        if rank is not None and isinstance(ty, TensorType) and len(ty.shape) != rank:
            text = f"output {quoted(name)} has another number of axes than it is declared with"
            raise FrontendError.of(text, expected=str(rank), found=str(ty))
        return found

    def constant(self, array: Any) -> Constant:
        return infer_expr(Constant(NDArray(array)))

    # --- nodes

    def _add(self, proto: NodeProto, scope: GraphScope) -> Fork | None:
        """Convert a node and bind its results, unless it forks."""
        span = Span(SourceName(f"{self.origin}, {node_text(proto)}"))
        version = self.versions.get(proto.domain, self.versions.get("", 1))
        if not self.bodies.is_local(proto):
            check_node(proto, version, span)
        if (twice := repeated(one.name for one in proto.attribute)) is not None:
            raise FrontendError.of(f"attribute {quoted(twice)} is there twice", span)
        node = Node(
            proto.op_type,
            span,
            scope,
            proto.domain,
            version,
            tuple(self._input(name, scope, span) for name in proto.input),
            tuple(proto.output),
            {one.name: self._attribute(one) for one in proto.attribute},
            self,
        )
        results = self._results(node, proto)
        if isinstance(results, Fork):
            return results
        for name, value in zip(proto.output, results, strict=False):
            if name:
                scope.values[name] = value
        if any(proto.output[len(results) :]):
            message = "it gives fewer results than the node has outputs"
            raise node.refused(message, str(len(proto.output)), str(len(results)))
        self._note_elements(node)
        return None

    def _input(self, name: str, scope: GraphScope, span: Span) -> Expr | None:
        if not name:
            return None
        found = scope.find(name)
        if found is None:
            raise FrontendError.of(f"{quoted(name)} is made by no node, and is no input", span)
        return found

    def _results(self, node: Node, proto: NodeProto) -> Sequence[Expr] | Fork:
        converter = None
        if not self.bodies.is_local(proto):
            converter = find(self.tables, node.domain, node.operator, node.version)
        try:
            if converter is None:
                return self._expanded(node, proto)
            found = converter(node, *arguments(converter, node, node.inputs))
            return found if isinstance(found, Fork) else self._bound(node, found)
        except FrontendError:
            raise
        except DiagnosticError as error:
            first = error.diagnostics[0]
            more = (first.expected, first.found, first.hint)
            raise node.misfit(first.message, *more) from error

    def _bound(self, node: Node, results: Any) -> Sequence[Expr]:
        """Variables bound to the results of a converter."""
        several = results if isinstance(results, list | tuple) else [results]
        if not all(isinstance(one, Expr) for one in several):
            expected = "an expression, or a sequence with one for each output"
            given = ", ".join(type(one).__name__ for one in several)
            raise node.refused("its converter gives no expression of Relay", expected, given)
        if not isinstance(results, Expr):
            pairs = zip(results, [*node.outputs, *[""] * len(results)], strict=False)
            return [node.let(value, name) for value, name in pairs]
        whole = node.let(results)
        ty = node.type_of(whole)
        if len([*filter(None, node.outputs)]) <= 1 or not isinstance(ty, TupleType):
            return [whole]
        fields = [TupleGetItem(whole, place) for place in range(len(ty.fields))]
        return [node.let(field, name) for field, name in zip(fields, node.outputs, strict=False)]

    def _note_elements(self, node: Node) -> None:
        """Record what is known of the elements of the result."""
        if node.domain not in DEFAULT_DOMAINS or not node.outputs:
            return
        result = node.scope.values.get(node.outputs[0])
        if not isinstance(result, Var) or not isinstance(ty := result.type_annotation, TensorType):
            return
        if len(ty.shape) > 1 or ty.dtype not in ELEMENT_TYPES:
            return
        given = [None if one is None else node.scope.known(one) for one in node.inputs]
        first = node.type_of(node.inputs[0]) if node.inputs and node.inputs[0] is not None else None
        shape = first.shape if isinstance(first, TensorType) else None
        found = propagate(node.operator, given, node.attributes, shape)
        if found is not None:
            node.scope.elements[result] = found

    # --- functions

    def _expanded(self, node: Node, proto: NodeProto) -> Sequence[Expr]:
        """The outputs of the function that a node calls."""
        function = self.bodies.find(proto, node)
        if len(node.inputs) > len(function.input):
            raise node.refused(
                "there are too many inputs", f"at most {len(function.input)}", f"{len(node.inputs)}"
            )
        # a function does not see the scope of its call
        inside = GraphScope(self.module, elements=node.scope.elements)
        for name, value in zip(function.input, node.inputs, strict=False):
            if value is not None:
                inside.values[name] = value
        versions = versions_of(function.opset_import, f"function {quoted(function.name)}")
        nodes = bound_nodes(function, proto)
        self.deeper({**self.versions, **versions}).add_nodes(
            nodes, inside, dict.fromkeys(function.output)
        )
        node.scope.bindings += inside.bindings
        return [self.output(name, inside) for name in function.output]

    def _attribute(self, proto: AttributeProto) -> Any:
        if proto.ref_attr_name:
            text = f"attribute {quoted(proto.name)} is that of a function, and is in none"
            raise FrontendError.of(text, found=quoted(proto.ref_attr_name))
        if proto.type not in _ATTRIBUTES:
            text = f"attribute {quoted(proto.name)} is of a type that is not known ({proto.type})"
            raise FrontendError.of(text)
        return _ATTRIBUTES[proto.type](self, proto)


# how attributes are read, by their type
_ATTRIBUTES: Mapping[int, Callable[[GraphImporter, AttributeProto], Any]] = {
    AttributeProto.INT: lambda own, proto: proto.i,
    AttributeProto.FLOAT: lambda own, proto: proto.f,
    AttributeProto.STRING: lambda own, proto: proto.s.decode("utf-8", "replace"),
    AttributeProto.INTS: lambda own, proto: list(proto.ints),
    AttributeProto.FLOATS: lambda own, proto: list(proto.floats),
    AttributeProto.STRINGS: lambda own, proto: [
        s.decode("utf-8", "replace") for s in proto.strings
    ],
    AttributeProto.TENSOR: lambda own, proto: array_of(proto.t, own.files),
    AttributeProto.TENSORS: lambda own, proto: [array_of(t, own.files) for t in proto.tensors],
    AttributeProto.SPARSE_TENSOR: lambda own, proto: dense(proto.sparse_tensor, own.files),
    AttributeProto.GRAPH: lambda own, proto: Subgraph(proto.g, own),
    AttributeProto.GRAPHS: lambda own, proto: [Subgraph(graph, own) for graph in proto.graphs],
    AttributeProto.TYPE_PROTO: lambda own, proto: proto.tp,
}


def rank_of(value: ValueInfoProto) -> int | None:
    """The declared rank of a value."""
    if lacks_shape(value.type) or value.type.WhichOneof("value") != "tensor_type":
        return None
    return len(value.type.tensor_type.shape.dim)


def node_text(proto: NodeProto) -> str:
    """The description of a node in errors."""
    kind = f"{proto.domain}.{proto.op_type}" if proto.domain else proto.op_type
    name = proto.name or next((one for one in proto.output if one), "")
    called = quoted(kind)[1:-1]
    return f"node {quoted(name)} ({called})" if name else f"a node ({called})"


def in_order(nodes: Iterable[NodeProto], scope: GraphScope) -> list[NodeProto]:
    """Nodes in topological order; those that are sorted already keep their order."""
    waiting = list(nodes)
    makers: dict[str, int] = {}
    for place, node in enumerate(waiting):
        for name in filter(None, node.output):
            if name in makers or name in scope.values:
                raise FrontendError.of(f"{quoted(name)} is made twice, by {node_text(node)} too")
            makers[name] = place
    needs = [{makers[n] for n in names_used(node) if n in makers} for node in waiting]
    users: list[list[int]] = [[] for _ in waiting]
    for place, needed in enumerate(needs):
        for maker in needed:
            users[maker].append(place)
    missing = [len(needed) for needed in needs]
    ready = [place for place, count in enumerate(missing) if count == 0]
    heapify(ready)
    order: list[NodeProto] = []
    while ready:
        place = heappop(ready)
        order.append(waiting[place])
        for user in users[place]:
            missing[user] -= 1
            if missing[user] == 0:
                heappush(ready, user)
    if len(order) < len(waiting):
        stuck = next(node for node, count in zip(waiting, missing, strict=True) if count)
        raise FrontendError.of(f"{node_text(stuck)} needs its own result: the graph has a cycle")
    return order


def names_used(node: NodeProto) -> set[str]:
    """The names a node reads, those captured by its subgraphs included."""
    used = set(filter(None, node.input))
    for attribute in node.attribute:
        for graph in graphs_of(attribute):
            used |= tree.run(_captured_names(graph))
    return used


def _captured_names(graph: GraphProto) -> tree.Steps[set[str]]:
    """The names a graph reads that are neither its inputs nor made in it."""
    own = {value.name for value in graph.input} | {one.name for one in graph.initializer}
    own.update(one.values.name for one in graph.sparse_initializer)
    used = {value.name for value in graph.output}
    for node in graph.node:
        own.update(node.output)
        used.update(filter(None, node.input))
        for attribute in node.attribute:
            for inner in graphs_of(attribute):
                used |= yield _captured_names(inner)
    return used - own
