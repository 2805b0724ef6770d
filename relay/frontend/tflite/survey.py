"""The report of all operators of a model that are not supported."""

from __future__ import annotations

from collections.abc import Sequence

from relay.frontend.common.converters import Converters
from relay.frontend.common.naming import quoted
from relay.frontend.common.unsupported import unsupported
from relay.frontend.tflite.converters import find
from relay.frontend.tflite.reader import ModelInfo, OperatorInfo, SubgraphInfo


def survey(model: ModelInfo, tables: Sequence[Converters]) -> None:
    """Refuse a model with unsupported operators: all are named, with how often and where."""
    found: dict[str, list[str]] = {}
    for graph in model.subgraphs:
        for one in graph.operators:
            if find(tables, one.name, one.is_custom) is None:
                kind = "custom operator" if one.is_custom else "operator"
                found.setdefault(f"{kind} {quoted(one.name)}", []).append(name_of(one, graph))
    if found:
        hint = "operators of your own: from_tflite(model, operators=[table])"
        raise unsupported(found, hint)


def name_of(operator: OperatorInfo, graph: SubgraphInfo) -> str:
    """The name of an operator: that of its first result."""
    return graph.tensors[operator.outputs[0]].name if operator.outputs else operator.name
