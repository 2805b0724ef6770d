"""Saved models: a folder with graphs, signatures and variables.

Which variable has which data is said by the graph itself, where it would restore them: an
assignment of an output of `RestoreV2`, whose constants are keys. These nodes are read, never run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from relay.errors import FrontendError, did_you_mean
from relay.frontend.common.naming import quoted
from relay.frontend.tensorflow.bundle import Bundle, read_bundle
from relay.frontend.tensorflow.messages import (
    ARGUMENT,
    Functions,
    GraphInfo,
    NodeInfo,
    Reference,
    Signature,
    functions_of,
    graph_of,
    reference_of,
    signatures_of,
    tags_of,
)
from relay.frontend.tensorflow.wire import Message, broken
from relay.immutable import frozen

FILE = "saved_model.pb"
CALLS = ("PartitionedCall", "StatefulPartitionedCall")
HANDLES = ("VarHandleOp", "VariableV2", "Variable")
_SAME = ("Identity", "Cast", "Reshape")
MOST_STEPS = 1 << 20
DEEPEST = 32
USUAL = "serving_default"


@frozen
class SavedModel:
    """A graph of a saved model, one of its signatures, and where data of variables is."""

    graph: GraphInfo
    functions: Functions
    signature: Signature
    keys: Mapping[str, str]  # of the data of variables, by their names
    bundle: Bundle | None

    def variable(self, name: str) -> np.ndarray | None:
        """The value of a variable."""
        key = self.keys.get(name)
        return None if key is None or self.bundle is None else self.bundle.tensor(key)


def is_saved_model(path: Path) -> bool:
    return path.is_dir() and (path / FILE).is_file()


def saved_model_of(
    root: Message, folder: Path | None, signature: str | None, tags: Sequence[str] | None
) -> SavedModel:
    """A signature of a saved model, the default one if no other is asked for."""
    meta = _meta(root.messages(2), tags)
    graph_message = meta.message(2)
    if graph_message is None:
        raise broken("it has no graph")
    signatures = signatures_of(meta)
    chosen = _chosen(signatures, signature)
    graph, functions = graph_of(graph_message), functions_of(graph_message)
    prefix = None if folder is None else folder / "variables" / "variables"
    bundle = None
    if prefix is not None and Path(f"{prefix}.index").is_file():
        bundle = read_bundle(prefix)
    keys = dict(_keys(graph, functions)) if bundle is not None else {}
    return SavedModel(graph, functions, chosen, keys, bundle)


def _meta(found: Sequence[Message], tags: Sequence[str] | None) -> Message:
    """The graph with these tags; without tags, that for serving."""
    if not found:
        raise broken("it has no graph")
    wanted = {"serve"} if tags is None else set(tags)
    for one in found:
        if set(tags_of(one)) == wanted:
            return one
    if tags is None and len(found) == 1:
        return found[0]
    known = "; ".join(", ".join(tags_of(one)) for one in found)
    raise FrontendError.of(
        "the saved model has no graph with these tags", None, known, ", ".join(wanted)
    )


def _chosen(signatures: Mapping[str, Signature], name: str | None) -> Signature:
    offered = {one: found for one, found in signatures.items() if not one.startswith("__")}
    if name is None:
        if USUAL in offered:
            return offered[USUAL]
        if len(offered) == 1:
            return next(iter(offered.values()))
    found = signatures.get(name or USUAL)
    if found is None:
        expected = ", ".join(map(quoted, sorted(offered))) or "signatures, and there are none"
        hint = did_you_mean(name or "", offered) or "choose one with `signature`"
        message = f"the saved model has no signature {quoted(name or USUAL)}"
        raise FrontendError.of(message, None, expected, hint=hint)
    return found


# --- which variable has which data


@frozen
class _Place:
    """A graph or a function at one place of a model, and what its arguments are outside."""

    graph: GraphInfo
    around: _Place | None
    arguments: Mapping[str, Reference]

    def origin(self, reference: Reference) -> tuple[_Place, NodeInfo, int]:
        """The node that a value comes from, through identities and arguments."""
        place = self
        for _ in range(MOST_STEPS):
            node = place.graph.node(reference[0])
            if node.op == ARGUMENT and place.around is not None:
                reference, place = place.arguments[node.name], place.around
            elif node.op in _SAME and node.inputs:
                reference = node.inputs[0]
            else:
                return place, node, reference[1]
        raise broken("nodes of the graph depend on themselves")


def _keys(graph: GraphInfo, functions: Functions) -> Iterator[tuple[str, str]]:
    """Names of variables, and the keys of their data."""
    steps = 0
    places = [(_Place(graph, None, {}), 0)]
    while places:
        place, depth = places.pop()
        for node in place.graph.nodes.values():
            steps += 1
            if steps > MOST_STEPS:
                raise FrontendError.of("the saved model restores its variables in too many steps")
            if node.op in ("AssignVariableOp", "Assign") and len(node.inputs) > 1:
                pair = _assigned(place, node)
                if pair is not None:
                    yield pair
            elif node.op in CALLS and depth < DEEPEST and _restores(place, node, functions):
                inner = functions.find(str(node.attribute("f", "")))
                given = dict(zip(inner.arguments, node.inputs, strict=False))
                places.append((_Place(inner, place, given), depth + 1))


def _restores(place: _Place, node: NodeInfo, functions: Functions) -> bool:
    """Whether a call may restore variables: the functions that do have a file name as input."""
    name = str(node.attribute("f", ""))
    if name not in functions.messages:
        return False
    return "restore" in name or place.around is not None


def _assigned(place: _Place, node: NodeInfo) -> tuple[str, str] | None:
    _, source, number = place.origin(node.inputs[1])
    if source.op != "RestoreV2" or len(source.inputs) < 2:
        return None
    _, handle, _ = place.origin(node.inputs[0])
    if handle.op not in HANDLES:
        return None
    _, keys, _ = place.origin(source.inputs[1])
    tensor = keys.attributes.get("value")
    message = None if tensor is None else tensor.message(8)
    texts = [] if message is None else message.texts(8)
    if number >= len(texts):
        return None
    return variable_name(handle), texts[number]


def variable_name(node: NodeInfo) -> str:
    """The name of the variable of a handle."""
    return str(node.attribute("shared_name", "")) or node.name


__all__ = ["SavedModel", "is_saved_model", "reference_of", "saved_model_of", "variable_name"]
