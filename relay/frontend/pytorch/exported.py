"""An exported program of torch as a module of Relay.

    ep = torch.export.export(model, inputs).run_decompositions({})
    mod, params = from_exported(ep)

Its graph is a chain of calls of operators, which are converted one by one into a chain of `let`s.
Parameters and buffers become parameters of `main`, integers constants; the sizes that inputs leave
open become shape variables.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from inspect import Signature
from typing import Any

import numpy as np
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.fx import GraphModule
from torch.fx import Node as Call

from relay import op
from relay.check.infer import infer_expr, infer_module
from relay.errors import VALUE, DiagnosticError, FrontendError
from relay.frontend.common import converters as common
from relay.frontend.common.scope import type_of
from relay.frontend.pytorch.calling import convention_of
from relay.frontend.pytorch.converters import COMPLEX, DROPPED, built_in, find, parts_of
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.scope import Complex, TorchScope
from relay.frontend.pytorch.sizes import Sizes
from relay.frontend.pytorch.spans import span_of
from relay.frontend.pytorch.survey import graphs_of, is_supported, survey
from relay.frontend.pytorch.types import COMPLEX as COMPLEX_TYPES
from relay.frontend.pytorch.types import element_type, tensor_type
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.dims import Symbol
from relay.ir.expr import Constant, Expr, Function, Tuple, TupleGetItem, Var, const
from relay.ir.function_attrs import CONVENTION, STATE
from relay.ir.module import IRModule
from relay.ir.types import TensorType, TupleType
from relay.nd import NDArray, from_torch
from relay.prelude import Prelude
from relay.transform.functional.remove_unused_functions import RemoveUnusedFunctions

Tables = Sequence[common.Converters]


@frozen
class Subgraph:
    """A graph inside a graph: a branch or the body of a loop."""

    graph: GraphModule
    importer: GraphImporter

    def inline(self, scope: TorchScope, inputs: Sequence[Any]) -> list[Any]:
        """The outputs of the graph for these inputs, whose `let`s become part of `scope`."""
        inner = scope.inner()
        names = [call.name for call in self.graph.graph.nodes if call.op == "placeholder"]
        inner.names.update(zip(names, inputs, strict=True))
        inner.extents = scope.extents
        results = self.importer.add(self.graph, inner)
        scope.bindings += inner.bindings
        return results


@frozen
class GraphImporter:
    """Converts the calls of graphs."""

    sizes: Sizes
    tables: Tables

    def add(self, graph: GraphModule, scope: TorchScope) -> list[Any]:
        """Convert a graph whose inputs are in the scope; its outputs."""
        results: Any = ()
        for call in graph.graph.nodes:
            match call.op:
                case "call_function":
                    scope.names[call.name] = self.converted(call, scope)
                case "get_attr":
                    scope.names[call.name] = self.attribute(graph, call)
                case "output":
                    results = self.value(call.args[0], scope)
        return scope.asserted([*results] if isinstance(results, list | tuple) else [results])

    def attribute(self, graph: GraphModule, call: Call) -> Any:
        """What a graph holds by name: a graph inside it, or a constant tensor."""
        found: Any = graph
        for name in str(call.target).split("."):
            found = getattr(found, name)
        return Subgraph(found, self) if isinstance(found, GraphModule) else constant(found)

    def value(self, argument: Any, scope: TorchScope) -> Any:
        """An argument of a call: a value by its name, or what stands there, lists included."""
        if isinstance(argument, Call):
            return scope.lookup(argument.name)
        if isinstance(argument, list | tuple):
            return [self.value(one, scope) for one in argument]
        if isinstance(argument, torch.dtype):
            return argument if argument in COMPLEX_TYPES else element_type(argument)
        if isinstance(argument, torch.SymInt):
            return self.sizes.dim(argument)
        return argument

    def converted(self, call: Call, scope: TorchScope) -> Any:
        """The result of a call: a value, or a list of several."""
        if call.target is operator.getitem:
            whole, place = (self.value(one, scope) for one in call.args)
            return whole[place]
        found = call.meta.get("val")
        if isinstance(found, torch.SymInt):
            size = self.sizes.dim(found)
            if size is not None:
                return size
        target: Any = call.target
        namespace, name, overload = parts_of(target)
        declared = tensor_type(found, self.sizes) if isinstance(found, torch.Tensor) else None
        span = span_of(call)
        results = len(found) if isinstance(found, list | tuple) else None
        parts = (call.name, declared, overload, results, lies_by_rows(call))
        node = Node(f"{namespace}.{name}", span, scope, *parts)
        args = [self.value(one, scope) for one in call.args]
        named = {
            key: self.value(one, scope) for key, one in call.kwargs.items() if key not in DROPPED
        }
        if any(map(has_complex, (*args, *named.values()))):
            namespace = f"{COMPLEX}{namespace}"
        converter = find(self.tables, namespace, name, overload)
        if converter is None:
            raise node.refused("it takes no complex numbers", hint="view them as pairs of floats")
        try:
            return self.bound(node, converter(node, *args, **named))
        except FrontendError:
            raise
        except DiagnosticError as error:
            first = error.diagnostics[0]
            more = (first.expected, first.found, first.hint)
            raise node.refused(first.message, *more) from error

    def bound(self, node: Node, result: Any) -> Any:
        """Variables bound to what a converter gives, of the type that torch declares."""
        if isinstance(result, Complex):
            return Complex(self.declared(node, result.pairs))
        if isinstance(result, list | tuple):
            return [self.several(node, one) for one in result]
        return self.declared(node, result) if isinstance(result, Expr) else result

    def several(self, node: Node, result: Any) -> Any:
        """One of several results."""
        if isinstance(result, Complex):
            return Complex(node.let(result.pairs))
        return node.let(result) if isinstance(result, Expr) else result

    def declared(self, node: Node, result: Expr) -> Expr:
        """A variable of the type that torch declares: what inference does not know is checked at
        run time."""
        value, wanted = node.let(result), node.declared
        found = type_of(value)
        if isinstance(found, TupleType):
            fields = [TupleGetItem(value, place) for place in range(len(found.fields))]
            return [node.let(field) for field in fields]  # type: ignore[return-value]
        if wanted is None or not isinstance(found, TensorType) or found == wanted:
            return value
        if found.dtype != wanted.dtype or len(found.shape) != len(wanted.shape):
            text = "the converter gives another type than torch"
            raise node.refused(text, str(wanted), str(found))
        pairs = zip(found.shape, wanted.shape, strict=True)
        shape = tuple(own if isinstance(other, dims.Any) else other for own, other in pairs)
        return value if shape == found.shape else node.declare(value, shape, found.dtype)


def lies_by_rows(call: Call) -> bool:
    """Whether the first operand of a call lies in memory row by row, and alone."""
    first = call.args[0] if call.args else None
    value = first.meta.get("val") if isinstance(first, Call) else None
    if not isinstance(value, torch.Tensor) or not str(call.target).startswith("aten.as_strided"):
        return True  # nothing else depends on it
    return bool(value.is_contiguous() and value.storage_offset() == 0)


def has_complex(value: Any) -> bool:
    """Whether a value is complex, or a list with such a value."""
    if isinstance(value, list):
        return any(map(has_complex, value))
    return isinstance(value, Complex | complex)


def constant(tensor: torch.Tensor) -> Expr | Complex:
    """A tensor as a constant."""
    is_complex = tensor.dtype in COMPLEX_TYPES
    plain = torch.view_as_real(tensor.resolve_conj()) if is_complex else tensor
    found = infer_expr(Constant(array_of(plain)))
    return Complex(found) if is_complex else found


def array_of(tensor: torch.Tensor) -> NDArray:
    """A copy of a tensor: the model may change later."""
    return NDArray(np.array(from_torch(tensor.detach().cpu()), order="C"))


def from_exported(
    program: ExportedProgram, operators: Tables = (), forward: Signature | None = None
) -> tuple[IRModule, dict[str, NDArray]]:
    """The module of an exported program, and its parameters by the names that the model has;
    `forward` is the signature of the model."""
    tables = (*operators, *built_in())
    program = decomposed(program, tables)
    survey(program.graph_module, tables)
    module = Prelude().mod
    sizes = Sizes()
    scope = TorchScope(module)
    inputs, params = _inputs(program, sizes, scope)
    _check_ranges(program, sizes, scope)
    results = GraphImporter(sizes, tables).add(program.graph_module, scope)
    outputs, state = _outputs(program, results, scope)
    body = outputs[0] if len(outputs) == 1 else Tuple(tuple(outputs))
    if state:
        body = Tuple((body, *state.values()))
    variables = tuple(sizes.variables.values())
    main = Function(tuple(inputs), scope.closed(body), type_params=variables)
    attrs: dict[str, Any] = {STATE: list(state)} if state else {}
    attrs[CONVENTION] = convention_of(program, forward).to_text()
    module["main"] = main.with_attr(attrs)
    return infer_module(RemoveUnusedFunctions()(module)), params


def decomposed(program: ExportedProgram, tables: Tables) -> ExportedProgram:
    """The program without writes to tensors, and with what has no converter in terms of others
    where torch knows how."""
    if not is_functional(program):
        program = program.run_decompositions({})
    known: set[Any] = set()
    while True:
        targets = {
            call.target
            for graph in graphs_of(program.graph_module)
            for call in graph.graph.nodes
            if call.op == "call_function" and not is_supported(call, tables)
        }
        rules = torch.export.default_decompositions()
        left = {target: rules[target] for target in targets - known if target in rules}
        if not left:
            return program
        known |= set(left)
        program = program.run_decompositions(left)


def is_functional(program: ExportedProgram) -> bool:
    """Whether torch has decomposed a program before: nothing in it writes to tensors then."""
    return program.dialect == "ATEN" and not any(
        isinstance(call.target, torch._ops.OpOverload) and call.target._schema.is_mutable
        for graph in graphs_of(program.graph_module)
        for call in graph.graph.nodes
    )


def _inputs(
    program: ExportedProgram, sizes: Sizes, scope: TorchScope
) -> tuple[list[Var], dict[str, NDArray]]:
    """The parameters of `main`, weights after the model's inputs, and the values of weights."""
    calls = [call for call in program.graph.nodes if call.op == "placeholder"]
    written = set(program.graph_signature.buffers_to_mutate.values())
    inputs: list[Var] = []
    weights: list[Var] = []
    params: dict[str, NDArray] = {}
    for call, spec in zip(calls, program.graph_signature.input_specs, strict=True):
        found = call.meta.get("val")
        match spec.kind:
            case InputKind.PARAMETER | InputKind.BUFFER | InputKind.CONSTANT_TENSOR:
                name = str(spec.target)
                tensor = _held(program, name, persistent=spec.persistent is not False)
                if not (spec.kind is InputKind.PARAMETER or name in written or _is_weight(tensor)):
                    scope.names[call.name] = constant(tensor)
                    continue
                params[name] = array_of(tensor)
                variable = Var(name, TensorType(params[name].shape, params[name].dtype))
                weights.append(variable)
                scope.names[call.name] = variable
            case InputKind.USER_INPUT if isinstance(found, torch.Tensor):
                inputs.append(take_input(call.name, found, sizes, scope))
            case InputKind.USER_INPUT:
                scope.names[call.name] = found  # a constant of the program
            case _:
                text = f"the program has an input of kind {spec.kind.name.lower()}"
                raise FrontendError.of(text, expected="tensors, parameters and buffers")
    return [*inputs, *weights], params


def take_input(name: str, tensor: torch.Tensor, sizes: Sizes, scope: TorchScope) -> Var:
    """The parameter of `main` for an input, whose sizes it declares."""
    for size in tensor.shape:
        _declare(sizes, size)
    variable = Var(name, tensor_type(tensor, sizes))
    for axis, size in enumerate(tensor.shape):
        dim = sizes.dim(size)
        if isinstance(dim, Symbol) and not isinstance(dim, dims.Any):
            scope.sources.setdefault(dim, (variable, axis))
    scope.names[name] = Complex(variable) if tensor.dtype in COMPLEX_TYPES else variable
    return variable


def _declare(sizes: Sizes, size: Any) -> None:
    if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
        sizes.declare(size.node.expr.name)


def _is_weight(tensor: torch.Tensor) -> bool:
    """Whether a buffer is a weight rather than a table of positions or a scalar."""
    return tensor.dtype.is_floating_point and tensor.dim() > 0


def _held(program: ExportedProgram, name: str, *, persistent: bool) -> torch.Tensor:
    """A tensor that the program holds."""
    held: Mapping[str, torch.Tensor] = program.state_dict if persistent else program.constants
    return held[name] if name in held else program.constants[name]


def _check_ranges(program: ExportedProgram, sizes: Sizes, scope: TorchScope) -> None:
    """Check the sizes of inputs at run time where the model was exported for some of them."""
    for symbol, bounds in program.range_constraints.items():
        if str(symbol) not in sizes.variables:
            continue  # what only a run knows may be of any size
        low, high = int(bounds.lower), bounds.upper
        if low <= 0 and not high.is_Integer:
            continue
        source, axis = scope.sources[sizes.variables[str(symbol)]]
        name = source.name_hint
        node = Node(f"input `{name}`", span_of(None), scope, name)
        found = node.size(source, axis)
        fits: Expr = op.greater_equal(found, const(low, "int64"))
        expected = f"{low} or more"
        if high.is_Integer:
            fits = op.logical_and(fits, op.less_equal(found, const(int(high), "int64")))
            expected = f"{low} to {int(high)}"
        message = f"the model was exported for other sizes of axis {axis}"
        value = scope.names[name]
        pairs = value.pairs if isinstance(value, Complex) else value
        checked = node.checked(pairs, fits, message, expected, VALUE, found)
        scope.names[name] = Complex(checked) if isinstance(value, Complex) else checked


def _outputs(
    program: ExportedProgram, results: Sequence[Any], scope: TorchScope
) -> tuple[list[Expr], dict[str, Expr]]:
    """The results of the model, and the new values of the buffers that it writes."""
    found: list[Expr] = []
    state: dict[str, Expr] = {}
    for value, spec in zip(results, program.graph_signature.output_specs, strict=True):
        given = value.pairs if isinstance(value, Complex) else value
        match spec.kind:
            case OutputKind.USER_OUTPUT if isinstance(given, Expr):
                found.append(given)
            case OutputKind.USER_OUTPUT if isinstance(spec.arg, ConstantArgument):
                pass  # a constant of the program
            case OutputKind.USER_OUTPUT:  # a size, or another number
                node = Node("a result", span_of(None), scope, spec.arg.name)
                found.append(node.extent(given) if isinstance(given, Symbol) else const(given))
            case OutputKind.BUFFER_MUTATION:
                state[str(spec.target)] = given
            case OutputKind.USER_INPUT_MUTATION:
                text = f"the model writes its input `{spec.target}`"
                hint = "clone it in the model: x = x.clone()"
                raise FrontendError.of(text, expected="inputs that are only read", hint=hint)
            case _:
                text = f"the program has an output of kind {spec.kind.name.lower()}"
                raise FrontendError.of(text, expected="tensors and buffers")
    return found, state
