"""Graphs as chains of `let`s: what results need is converted, in an order in which it can run.

Functions are converted where they are called. Branches and loops of graphs with `Switch` and
`Merge` are contexts of their own inside of their graph, which see what is known around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from relay.errors import DiagnosticError, FrontendError, SourceName, Span
from relay.frontend.common.arguments import arguments
from relay.frontend.common.converters import Converter, Converters
from relay.frontend.common.known_elements import KnownElements
from relay.frontend.common.naming import quoted
from relay.frontend.common.scope import ImportScope, type_of
from relay.frontend.tensorflow.converters import find
from relay.frontend.tensorflow.elements import note_elements
from relay.frontend.tensorflow.messages import Functions, GraphInfo, NodeInfo, Reference
from relay.frontend.tensorflow.node import Node
from relay.frontend.tensorflow.states import States
from relay.frontend.tensorflow.survey import LEFT_OUT
from relay.frontend.tensorflow.switches import Switches
from relay.frontend.tensorflow.values import KINDS, Value, Variable
from relay.frontend.tensorflow.wire import broken
from relay.ir.expr import Expr, TupleGetItem
from relay.ir.types import TupleType

MOST_NODES = 1 << 18  # that are converted; functions may be called from several places
DEEPEST = 32  # functions, branches and loops inside of each other


@dataclass
class Context:
    """A graph, or a branch or a loop of it, while it is converted."""

    graph: GraphInfo
    scope: ImportScope
    prefix: str  # of the names of its nodes in errors and in the scope
    around: Context | None = None  # of the same graph
    values: dict[str, Sequence[Value]] = field(default_factory=dict)
    taken: Mapping[Reference, bool] = field(default_factory=dict)  # conditions of branches

    def find(self, name: str) -> Sequence[Value] | None:
        """The values of a converted node, in this context or an enclosing one."""
        context: Context | None = self
        while context is not None:
            if (found := context.values.get(name)) is not None:
                return found
            context = context.around
        return None

    def value(self, reference: Reference) -> Value:
        """An output of a node that has been converted."""
        name, place = reference
        found = self.find(name)
        if found is None or place >= len(found):
            raise broken(f"node {quoted(name)} has no output {place}")
        return found[place]

    def inner(self, scope: ImportScope, taken: Mapping[Reference, bool] | None = None) -> Context:
        """A branch or a loop of the same graph."""
        both = {**self.taken, **(taken or {})}
        return Context(self.graph, scope, self.prefix, self, {}, both)


@dataclass
class GraphImporter:
    """Converts the nodes of graphs."""

    origin: str
    functions: Functions
    tables: Sequence[Converters]
    states: States
    weights: dict[str, Expr] = field(default_factory=dict)  # constants that are parameters
    known: KnownElements = field(default_factory=KnownElements)
    converted: int = 0
    depth: int = 0
    calls: list[str] = field(default_factory=list)  # functions that are being converted
    _switches: dict[str, Switches] = field(default_factory=dict)

    def run(
        self, context: Context, results: Sequence[Reference], effects: Iterable[str] = ()
    ) -> list[Value]:
        """Convert the nodes that results and side effects need; returns the results."""
        self._enter(f"{context.prefix}{results[0][0] if results else ''}")
        self.evaluate(context, [*effects, *(name for name, _ in results)])
        self.depth -= 1
        return [context.value(one) for one in results]

    def _enter(self, what: str) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise FrontendError.of(f"{quoted(what)} is inside of too many calls, branches or loops")

    def call(self, node: Node, name: str, inputs: Sequence[Value], scope: ImportScope) -> list[Any]:
        """Convert a function where it is called; its results."""
        function = self.functions.find(name)
        if name in self.calls:
            raise node.refused(f"function {quoted(name)} calls itself")
        if len(inputs) != len(function.arguments):
            text = f"function {quoted(name)} has other arguments"
            raise node.refused(text, str(len(function.arguments)), str(len(inputs)))
        prefix = f"{node.context.prefix}{node.info.name}/"
        context = Context(function, scope, f"{prefix}{self.converted}/" if prefix else "")
        for argument, value in zip(function.arguments, inputs, strict=True):
            self.enter_values(context, argument, [value])
        self.calls.append(name)
        found = self.run(context, function.results, function.effects)
        self.calls.pop()
        return found

    def enter_values(self, context: Context, name: str, values: Sequence[Value]) -> None:
        """Record the values of a node."""
        context.values[name] = values
        for place, value in enumerate(values):
            if isinstance(value, Expr):
                context.scope.values[f"{context.prefix}{name}:{place}"] = value

    def switches(self, graph: GraphInfo) -> Switches:
        """The branches and loops of a graph with `Switch` and `Merge`."""
        if graph.name not in self._switches:
            self._switches[graph.name] = Switches.of(graph)
        return self._switches[graph.name]

    # --- nodes, in an order in which they can run

    def evaluate(self, context: Context, names: Iterable[str]) -> None:
        """Convert nodes after their dependencies."""
        todo = [(name, False) for name in reversed(list(names))]
        path: set[str] = set()
        while todo:
            name, is_ready = todo.pop()
            if context.find(name) is not None:
                path.discard(name)
                continue
            if is_ready:
                path.discard(name)
                self._convert(context, context.graph.node(name))
                continue
            if name in path:
                raise broken(f"node {quoted(name)} depends on itself")
            path.add(name)
            todo.append((name, True))
            needed = [*self._needed(context, context.graph.node(name))]
            todo += [(one, False) for one in reversed(needed) if context.find(one) is None]

    def _needed(self, context: Context, node: NodeInfo) -> Iterator[str]:
        """The nodes that run before a node."""
        if node.op in LEFT_OUT:
            return
        if node.op in ("Exit", "RefExit", "Merge", "RefMerge"):
            yield from self.switches(context.graph).needed(node)
            return
        yield from node.controls
        yield from (name for name, _ in node.inputs)

    def _convert(self, context: Context, info: NodeInfo) -> None:
        """Convert a node and bind its results."""
        if context.find(info.name) is not None:  # another node of its loop or branch had it made
            return
        self.converted += 1
        if self.converted > MOST_NODES:
            raise FrontendError.of(f"the model has more than {MOST_NODES} nodes")
        span = Span(SourceName(f"{self.origin}, node {quoted(info.name)} ({info.op})"))
        node = Node(info.op, span, context.scope, info, self, context)
        if info.op in LEFT_OUT:
            self.enter_values(context, info.name, [])
            return
        converter = find(self.tables, info.op)
        if converter is None:  # the survey has looked for it, but in graphs that are not run
            raise node.refused("there is no converter")
        merges = info.op in ("Exit", "RefExit", "Merge", "RefMerge")
        inputs = [] if merges else [context.value(one) for one in info.inputs]
        try:
            given = self._given(node, converter, inputs)
            results = self._bound(node, converter(node, *given))
        except FrontendError:
            raise
        except DiagnosticError as error:
            first = error.diagnostics[0]
            more = (first.expected, first.found, first.hint)
            raise node.refused(first.message, *more) from error
        if info.name not in context.values:
            self.enter_values(context, info.name, results)
            note_elements(node, inputs, results)

    def _given(self, node: Node, converter: Converter, inputs: Sequence[Value]) -> Sequence[Any]:
        """The inputs of a node as its converter takes them."""
        given = arguments(converter, node, inputs)  # type: ignore[arg-type]
        kinds = [*signature(converter).parameters.values()][1:]
        found: list[Any] = []
        for place, value in enumerate(given):
            kind = kinds[min(place, len(kinds) - 1)] if kinds else None
            text = "" if kind is None else str(kind.annotation)
            if value is None or isinstance(value, Expr) or _takes(text, value):
                found.append(value)
            elif isinstance(value, Variable) and value.is_reference:
                found.append(self.states.read(node, value))
            else:
                raise node.refused(f"input {place} is {KINDS[type(value)]}", "a tensor")
        return found

    def _bound(self, node: Node, found: Any) -> list[Value]:
        """Variables bound to the results of a converter."""
        if isinstance(found, Expr):
            whole = node.let(found, node.info.name)
            ty = type_of(whole)
            if isinstance(ty, TupleType):
                return [node.let(TupleGetItem(whole, one)) for one in range(len(ty.fields))]
            return [whole]
        if not isinstance(found, list | tuple):
            return [found]
        return [node.let(one, node.info.name) if isinstance(one, Expr) else one for one in found]


def _takes(annotation: str, value: Value) -> bool:
    """Whether a parameter of a converter takes a value that is no tensor."""
    return "Value" in annotation or type(value).__name__ in annotation
