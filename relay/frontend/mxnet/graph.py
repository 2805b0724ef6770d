"""Graphs as chains of `let`s, with the nodes in the order in which they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

from relay.errors import DiagnosticError, FrontendError, SourceName, Span
from relay.frontend.common.arguments import arguments
from relay.frontend.common.converters import Converters
from relay.frontend.common.naming import quoted
from relay.frontend.common.scope import ImportScope, type_of
from relay.frontend.mxnet.converters import find
from relay.frontend.mxnet.node import Node
from relay.frontend.mxnet.symbol import GraphInfo, NodeInfo, broken
from relay.ir.expr import Expr, TupleGetItem, TupleWrapper
from relay.ir.types import TupleType

MOST_CONVERTED = 1 << 18


@dataclass
class Importer:
    """Converts the nodes of graphs."""

    tables: Sequence[Converters]
    converted: int = 0

    def graph(
        self, graph: GraphInfo, scope: ImportScope, variables: Mapping[int, Expr | None]
    ) -> list[Expr]:
        """The outputs of a graph for values of its variables, by the number of their node."""
        found: list[Sequence[Expr | None]] = []
        for number, one in enumerate(graph.nodes):
            if one.is_variable:
                found.append([variables.get(number)])
                continue
            inputs = [_result(found, graph, place) for place in one.inputs]
            missing = [
                graph.nodes[place[0]]
                for place, value in zip(one.inputs, inputs, strict=True)
                if value is None
            ]
            found.append(self._convert(one, scope, inputs, missing))
        outputs = []
        for place in graph.heads:
            value = _result(found, graph, place)
            if value is None:
                raise no_value(graph.nodes[place[0]])
            outputs.append(value)
        return outputs

    def _convert(
        self,
        info: NodeInfo,
        scope: ImportScope,
        inputs: Sequence[Expr | None],
        missing: Sequence[NodeInfo],
    ) -> list[Expr]:
        """Convert a node; `missing` are its input variables without a value."""
        self.converted += 1
        if self.converted > MOST_CONVERTED:
            raise FrontendError.of(f"the model has more than {MOST_CONVERTED} nodes")
        span = Span(SourceName(f"{info.operator} {quoted(info.name)}"))
        node = Node(info.operator, span, scope, info, self)
        converter = find(self.tables, info.operator)
        if converter is None:
            raise node.refused("there is no such operator")  # the survey looks at all graphs
        takes_any = any(
            one.kind is Parameter.VAR_POSITIONAL for one in signature(converter).parameters.values()
        )
        try:
            given = arguments(converter, node, inputs)
        except FrontendError:
            if missing:
                raise no_value(missing[0]) from None
            raise
        if missing and takes_any:
            raise no_value(missing[0])
        try:
            return _bound(node, converter(node, *given))
        except FrontendError:
            raise
        except DiagnosticError as error:
            first = error.diagnostics[0]
            more = (first.expected, first.found, first.hint)
            raise node.refused(first.message, *more) from error


def no_value(info: NodeInfo) -> FrontendError:
    """The error about a variable without a shape and without a value."""
    message = f"variable {quoted(info.name)} has neither a shape nor a value"
    hint = f'give it: shape={{"{info.name[:40]}": …}}, or the file of parameters'
    return FrontendError.of(message, hint=hint)


def _result(
    found: Sequence[Sequence[Expr | None]], graph: GraphInfo, place: tuple[int, int]
) -> Expr | None:
    number, result = place
    if result >= len(found[number]):
        raise broken("a node has fewer results than are read", graph.nodes[number].name)
    return found[number][result]


def _bound(node: Node, found: Any) -> list[Expr]:
    """Variables bound to the results of a converter."""
    if isinstance(found, TupleWrapper):
        found = found.astuple()
    if isinstance(found, Expr):
        whole = node.let(found, node.info.name)
        ty = type_of(whole)
        if not isinstance(ty, TupleType):
            return [whole]
        found = [TupleGetItem(whole, place) for place in range(len(ty.fields))]
    return [node.let(one) for one in found]
