"""Graphs of ATen that `torch.compile` makes, as modules of Relay.

Sizes that are open are arguments of such a graph (`SymInt`). One that is also the extent of an axis
of a tensor is read there; any other is an int64 scalar. What is refused runs in PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule
from torch.fx import Node as Call

from relay.check.infer import infer_module
from relay.errors import FrontendError
from relay.executors.convention import Argument, Convention
from relay.executors.structure import FIXED, TENSOR, Node, Structure
from relay.frontend.pytorch.converters import built_in, find, parts_of
from relay.frontend.pytorch.drawing import native_dropout
from relay.frontend.pytorch.exported import GraphImporter, take_input
from relay.frontend.pytorch.node import Node as Converting
from relay.frontend.pytorch.scope import Complex, TorchScope
from relay.frontend.pytorch.sizes import Sizes
from relay.frontend.pytorch.spans import span_of
from relay.frontend.pytorch.survey import survey
from relay.immutable import frozen
from relay.ir.dims import Symbol
from relay.ir.expr import Expr, Function, Tuple, Var
from relay.ir.function_attrs import CONVENTION
from relay.ir.module import IRModule
from relay.ir.types import TensorType
from relay.prelude import Prelude
from relay.transform.functional.remove_unused_functions import RemoveUnusedFunctions


@frozen
class Imported:
    """A module, and which arguments of its graph are those of `main`, in order."""

    module: IRModule
    taken: tuple[int, ...]
    names: tuple[str, ...]  # of the parameters


def from_graph(graph: GraphModule) -> Imported:
    """The module of a functional graph of ATen."""
    tables = built_in()
    _refuse(graph)
    survey(graph, tables)
    module = Prelude().mod
    sizes = Sizes()
    scope = TorchScope(module)
    calls = [call for call in graph.graph.nodes if call.op == "placeholder"]
    inputs: dict[int, Var] = {}
    for number, call in enumerate(calls):
        if isinstance(found := call.meta.get("val"), torch.Tensor):
            inputs[number] = take_input(call.name, found, sizes, scope)
    for number, call in enumerate(calls):
        found = call.meta.get("val")
        if number in inputs:
            continue
        if not isinstance(found, torch.SymInt):
            scope.names[call.name] = found
        elif (dim := sizes.dim(found)) is not None:
            scope.names[call.name] = dim
        else:
            inputs[number] = Var(call.name, TensorType((), "int64"))
            scope.names[call.name] = inputs[number]
    inputs = dict(sorted(inputs.items()))
    results = GraphImporter(sizes, tables).add(graph, scope)
    outputs: list[Expr] = []
    leaves: list[Node] = []
    for value, call in zip(results, _given(graph), strict=True):
        outputs += _output(value, scope, leaves, call)
    body = outputs[0] if len(outputs) == 1 else Tuple(tuple(outputs))
    main = Function(
        tuple(inputs.values()), scope.closed(body), type_params=tuple(sizes.variables.values())
    )
    arguments = [
        Argument(variable.name_hint, Structure((_kind(calls[number]),)), place)
        for place, (number, variable) in enumerate(inputs.items())
    ]
    result = Structure((Node("list", tuple(range(len(leaves)))), *leaves))
    convention = Convention(tuple(arguments), result)
    module["main"] = main.with_attr(CONVENTION, convention.to_text())
    names = tuple(variable.name_hint for variable in inputs.values())
    return Imported(infer_module(RemoveUnusedFunctions()(module)), tuple(inputs), names)


def decompositions() -> dict[Any, Any]:
    """Torch's decompositions of the operators that have no converter, and ours of dropout."""
    from torch._decomp import core_aten_decompositions, decomposition_table

    attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    known = {**core_aten_decompositions(), attention: decomposition_table[attention]}
    tables = built_in()
    left = {op: made for op, made in known.items() if find(tables, *parts_of(op)) is None}
    return {**left, torch.ops.aten.native_dropout.default: native_dropout}


def _refuse(graph: GraphModule) -> None:
    """Refuse what does not belong into a compiled graph."""
    for call in graph.graph.nodes:
        found = call.meta.get("val")
        for value in found if isinstance(found, list | tuple) else [found]:
            if isinstance(value, torch.Tensor) and value.device.type != "cpu":
                raise FrontendError.of(
                    "a tensor is not in the memory of the CPU",
                    span_of(call) if call.op == "call_function" else None,
                    found=f"`{call.name}` on {value.device}",
                )
        if torch.Tag.nondeterministic_seeded in getattr(call.target, "tags", ()) and _draws(call):
            raise FrontendError.of(
                f"`{call.target}` draws random numbers",
                span_of(call),
                expected="arguments that are known before the graph runs: its numbers are those of "
                "torch's generator",
            )


def _draws(call: Call) -> bool:
    """Whether it draws random numbers: attention without dropout does not."""
    target: Any = call.target
    schema = target._schema.arguments
    given = {argument.name: argument.default_value for argument in schema}
    given.update(zip((argument.name for argument in schema), call.args, strict=False))
    given.update(call.kwargs)
    return given.get("dropout_p") != 0


def _given(graph: GraphModule) -> Sequence[Any]:
    """What the graph gives: calls, and constants."""
    found = graph.graph.output_node().args[0]
    return list(found) if isinstance(found, list | tuple) else [found]


def _kind(call: Call) -> Node:
    value = call.meta.get("val")
    if isinstance(value, torch.Tensor) and value.dtype.is_complex:
        return Node(str(value.dtype).removeprefix("torch."))
    return Node(TENSOR)


def _output(value: Any, scope: TorchScope, leaves: list[Node], call: Any) -> list[Expr]:
    """The expressions of a result, none for a constant; its node is added to `leaves`."""
    if isinstance(value, Complex):
        leaves.append(_kind(call))
        return [value.pairs]
    if isinstance(value, Expr):
        is_size = isinstance(call.meta.get("val"), torch.SymInt)
        leaves.append(Node("int" if is_size else TENSOR))
        return [value]
    if isinstance(value, Symbol):
        leaves.append(Node("int"))
        return [Converting("a result", span_of(None), scope, "size").extent(value)]
    if not isinstance(value, bool | int | float | str | None):
        raise FrontendError.of(f"a result is a {type(value).__name__}")
    leaves.append(Node(FIXED, value=value))
    return []
