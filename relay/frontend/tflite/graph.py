"""Subgraphs as chains of `let`s, with the operators in the order in which they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relay.check.infer import infer_expr
from relay.errors import DiagnosticError, FrontendError, SourceName, Span
from relay.frontend.common.arguments import arguments
from relay.frontend.common.converters import Converters
from relay.frontend.common.known_elements import KnownElements
from relay.frontend.common.naming import quoted
from relay.frontend.common.scope import ImportScope, type_of
from relay.frontend.tflite.converters import find
from relay.frontend.tflite.elements import note_elements
from relay.frontend.tflite.node import Node
from relay.frontend.tflite.reader import ModelInfo, OperatorInfo, SubgraphInfo, TensorInfo
from relay.frontend.tflite.sparse import dense
from relay.frontend.tflite.states import States
from relay.frontend.tflite.survey import name_of
from relay.frontend.tflite.types import array_of, element_type
from relay.ir import dims
from relay.ir.expr import Constant, Expr, TupleGetItem
from relay.ir.types import TensorType, TupleType
from relay.nd import NDArray

MOST_OPERATORS = 1 << 18  # that are converted; subgraphs may be called from several places
DEEPEST = 32  # subgraphs inside of subgraphs


@dataclass
class GraphImporter:
    """Converts the operators of subgraphs."""

    model: ModelInfo
    tables: Sequence[Converters]
    as_declared: bool  # whether tensors have the shapes that the file declares
    params: Mapping[str, Expr] = field(default_factory=dict)  # by `key`
    constants: dict[str, Expr] = field(default_factory=dict)
    converted: int = 0
    calls: list[int] = field(default_factory=list)  # subgraphs that are being converted
    states: States = field(default_factory=States)
    known: KnownElements = field(default_factory=KnownElements)

    def add(self, number: int, scope: ImportScope, inputs: Sequence[Expr]) -> list[Expr]:
        """Convert a subgraph in a scope; its outputs."""
        graph = self.subgraph(number)
        if len(inputs) != len(graph.inputs):
            message = f"subgraph {quoted(graph.name)} is called with another number of inputs"
            raise FrontendError.of(message, None, f"{len(graph.inputs)}", f"{len(inputs)}")
        if number in self.calls or len(self.calls) >= DEEPEST:
            raise FrontendError.of(f"subgraph {quoted(graph.name)} calls itself")
        self.calls.append(number)
        for tensor, value in zip(graph.inputs, inputs, strict=True):
            scope.values[key(number, tensor)] = value
        for place, one in enumerate(graph.operators):
            self._convert(number, place, one, scope)
        found = [self.value(number, tensor, scope) for tensor in graph.outputs]
        self.calls.pop()
        return found

    def subgraph(self, number: int) -> SubgraphInfo:
        """A subgraph by its number."""
        if not 0 <= number < len(self.model.subgraphs):
            message = "the model is broken: it calls a subgraph that is not there"
            expected = f"one of {len(self.model.subgraphs)}"
            raise FrontendError.of(message, None, expected, str(number))
        return self.model.subgraphs[number]

    def value(self, number: int, tensor: int, scope: ImportScope) -> Expr:
        """The value of a tensor: an input, a result, a weight or a constant."""
        name = key(number, tensor)
        found = scope.find(name) or self.params.get(name) or self.constants.get(name)
        if found is not None:
            return found
        info = self.subgraph(number).tensors[tensor]
        if info.is_variable and info.data is None:
            return self.states.of_tensor(_state(info, name), info)
        found = self.constants[name] = self._constant(info)
        return found

    def write(self, node: Node, place: int, value: Expr) -> None:
        """Write an input of an operator, which is a state: real numbers as the file keeps them."""
        tensor, info = node.info.inputs[place], node.inputs[place]
        assert info is not None
        kept = node.let(node.quantized(value, info))
        self.states.write_tensor(node, _state(info, key(self.calls[-1], tensor)), kept)

    def _constant(self, tensor: TensorInfo) -> Expr:
        if tensor.data is None and 0 not in tensor.shape:
            raise FrontendError.of(f"{quoted(tensor.name)} is made by no operator, and is no input")
        data = np.zeros(0, "uint8") if tensor.data is None else tensor.data
        if tensor.sparsity is not None:
            array = dense(tensor, tensor.sparsity, data)
        else:
            array = array_of(data, tensor.code, tensor.shape, tensor.name)
        return infer_expr(Constant(NDArray(array)))

    def _convert(self, number: int, place: int, one: OperatorInfo, scope: ImportScope) -> None:
        """Convert an operator and bind its results."""
        self.converted += 1
        if self.converted > MOST_OPERATORS:
            raise FrontendError.of(f"the model has more than {MOST_OPERATORS} operators")
        graph = self.subgraph(number)
        where = f"{self.model.origin}, operator {place} {one.name} {quoted(name_of(one, graph))}"
        span = Span(SourceName(where))
        if -1 in one.outputs:
            raise FrontendError.of("the model is broken: a result has no tensor", span)
        node = Node(
            one.name,
            span,
            scope,
            one,
            tuple(None if tensor < 0 else graph.tensors[tensor] for tensor in one.inputs),
            tuple(graph.tensors[tensor] for tensor in one.outputs),
            self,
        )
        inputs = [
            None if tensor < 0 else self.value(number, tensor, scope) for tensor in one.inputs
        ]
        results = self._results(node, inputs)
        for tensor, result in zip(one.outputs, results, strict=False):
            scope.values[key(number, tensor)] = result
        note_elements(node, inputs, results)

    def _results(self, node: Node, inputs: Sequence[Expr | None]) -> Sequence[Expr]:
        converter = find(self.tables, node.info.name, node.info.is_custom)
        assert converter is not None  # the survey has looked for it
        try:
            found = converter(node, *arguments(converter, node, inputs))
            results = self._bound(node, found)
        except FrontendError:
            raise
        except DiagnosticError as error:
            first = error.diagnostics[0]
            more = (first.expected, first.found, first.hint)
            raise node.refused(first.message, *more) from error
        if len(results) < len(node.results):
            message = "it gives fewer results than the operator has outputs"
            raise node.refused(message, str(len(results)), str(len(node.results)))
        return results

    def _bound(self, node: Node, found: Any) -> list[Expr]:
        """Variables bound to the results of a converter, of the types that the file declares."""
        if isinstance(found, Expr):
            whole = node.let(found)
            ty = type_of(whole)
            if isinstance(ty, TupleType):
                found = [TupleGetItem(whole, place) for place in range(len(ty.fields))]
            else:
                found = [whole]
        return [self._declared(node, one, place) for place, one in enumerate(found)]

    def _declared(self, node: Node, value: Expr, place: int) -> Expr:
        """A result with the shape that the file declares where inference does not know it."""
        if place >= len(node.results) or self.states.is_handle(value):
            return node.let(value)
        tensor = node.results[place]
        value = node.let(value, tensor.name)
        ty = type_of(value)
        if not isinstance(ty, TensorType):
            return value
        wanted = element_type(tensor.code, tensor.name)
        if ty.dtype != wanted:
            message = "the result has another element type than the file declares"
            raise node.refused(message, wanted, ty.dtype)
        signature = tensor.signature
        if not self.as_declared or signature is None or len(signature) != len(ty.shape):
            return value
        pairs = zip(ty.shape, signature, strict=True)
        shape = tuple(
            size if isinstance(own, dims.Any) and size >= 0 else own for own, size in pairs
        )
        return value if shape == ty.shape else node.declare(value, shape, ty.dtype)


def key(subgraph: int, tensor: int) -> str:
    """The name under which a scope has the value of a tensor: subgraphs have numbers of their
    own."""
    return f"{subgraph}:{tensor}"


def _state(tensor: TensorInfo, name: str) -> str:
    """The name of the state that a tensor is."""
    return f"{tensor.name or 'state'}#{name}"
