"""Graphs as files have them: nodes, functions, signatures.

The numbers are those of the fields in TensorFlow's public `.proto` files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted
from relay.frontend.tensorflow.outputs import OUTPUTS
from relay.frontend.tensorflow.types import Shape, shape_of, tensor_of, type_name
from relay.frontend.tensorflow.wire import Message, broken, missing
from relay.immutable import frozen

MOST_NODES = 1 << 20  # of a graph
Reference = tuple[str, int]  # an output of a node
ARGUMENT = "_Arg"  # the operator of the arguments of functions


@frozen
class NodeInfo:
    """A node: an operator, the outputs it reads, the nodes that run before it, attributes."""

    name: str
    op: str
    inputs: tuple[Reference, ...]
    controls: tuple[str, ...]
    attributes: Mapping[str, Message]

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute as a value of Python."""
        found = self.attributes.get(name)
        return default if found is None else attribute_of(found, default)


@frozen
class GraphInfo:
    """A graph, or a function: arguments are nodes, too."""

    name: str
    nodes: Mapping[str, NodeInfo]
    arguments: Sequence[str] = ()
    results: Sequence[Reference] = ()
    effects: Sequence[str] = ()  # nodes that run for what they do

    def node(self, name: str) -> NodeInfo:
        found = self.nodes.get(name)
        if found is None:
            raise missing("node", name)
        return found


@dataclass
class Functions:
    """The functions of a model, read when they are called."""

    messages: Mapping[str, Message]
    known: dict[str, GraphInfo] = field(default_factory=dict)

    def find(self, name: str) -> GraphInfo:
        if name not in self.known:
            if name not in self.messages:
                raise missing("function", name)
            self.known[name] = function_of(self.messages[name], name)
        return self.known[name]


def attribute_of(message: Message, default: Any = None) -> Any:
    """The value of an attribute: text, a number, a name of a type, a shape, an array, the name of
    a function, or a list."""
    if message.has(2):
        return message.text(2)
    if message.has(3):
        return message.integer(3)
    if message.has(4):
        return message.real(4)
    if message.has(5):
        return bool(message.integer(5))
    if message.has(6):
        return type_name(message.integer(6))
    if message.has(7):
        return shape_of(message.message(7))
    if (tensor := message.message(8)) is not None:
        return tensor_of(tensor)
    if (function := message.message(10)) is not None:
        return function.text(1)
    if (listed := message.message(1)) is not None:
        return _list_of(listed)
    return default


def _list_of(message: Message) -> list[Any]:
    if message.has(2):
        return message.texts(2)
    if message.has(3):
        return message.integers(3)
    if message.has(4):
        return [float(one) for one in message.numbers(4, "<f4")]
    if message.has(5):
        return [bool(one) for one in message.integers(5)]
    if message.has(6):
        return [type_name(one) for one in message.integers(6)]
    if message.has(7):
        return [shape_of(one) for one in message.messages(7)]
    if message.has(9):
        return [one.text(1) for one in message.messages(9)]
    return []


# --- graphs


def graph_of(message: Message, name: str = "") -> GraphInfo:
    """The graph of a `GraphDef`."""
    return GraphInfo(name, nodes_of(message.messages(1), _plain))


def functions_of(message: Message) -> Functions:
    """The functions of a `GraphDef`."""
    library = message.message(2)
    found: dict[str, Message] = {}
    for one in library.messages(1) if library is not None else ():
        signature = one.message(1)
        if signature is not None:
            found[signature.text(1)] = one
    return Functions(found)


def nodes_of(messages: Sequence[Message], read: Any) -> dict[str, NodeInfo]:
    """Nodes by name; `read` makes a reference of a text."""
    if len(messages) > MOST_NODES:
        raise FrontendError.of(f"the graph has more than {MOST_NODES} nodes")
    found: dict[str, NodeInfo] = {}
    texts: dict[str, list[str]] = {}
    for one in messages:
        name, inputs = one.text(1), one.texts(3)
        if name in found:
            raise broken(f"two nodes are called {quoted(name)}")
        controls = tuple(text[1:] for text in inputs if text.startswith("^"))
        texts[name] = [text for text in inputs if not text.startswith("^")]
        found[name] = NodeInfo(name, one.text(2), (), controls, one.entries(5))
    for name, node in found.items():
        inputs_of = tuple(read(text, found) for text in texts[name])
        found[name] = NodeInfo(name, node.op, inputs_of, node.controls, node.attributes)
    return found


def _plain(text: str, _: Mapping[str, NodeInfo] | None = None) -> Reference:
    """`name` or `name:2`"""
    name, colon, number = text.rpartition(":")
    if not colon:
        return text, 0
    if not number.isdecimal() or len(number) > 6:
        raise broken(f"there is no output {quoted(text)}")
    return name, int(number)


def reference_of(text: str) -> Reference:
    """An output by its name, from outside of a graph."""
    return _plain(text)


# --- functions


def function_of(message: Message, name: str) -> GraphInfo:
    """The graph of a `FunctionDef`; outputs of nodes are `node:output:number`."""
    signature = message.message(1)
    assert signature is not None  # it has been found by its name
    details = {one.integer(1): one.message(2) for one in message.messages(7)}
    nodes: dict[str, NodeInfo] = {}
    arguments = []
    for place, one in enumerate(signature.messages(2)):
        given = details.get(place)
        attributes = {} if given is None else given.entries(1)
        attributes = {**attributes, "T": _type_attribute(one)}
        argument = one.text(1)
        arguments.append(argument)
        nodes[argument] = NodeInfo(argument, ARGUMENT, (), (), attributes)

    def read(text: str, among: Mapping[str, NodeInfo]) -> Reference:
        return _inside(text, among, nodes)

    inner = nodes_of(message.messages(3), read)
    if taken := nodes.keys() & inner.keys():
        raise broken(f"two nodes are called {quoted(min(taken))}")
    results = message.mapping(4)
    order = [one.text(1) for one in signature.messages(3)]
    whole = {**nodes, **inner}
    found = []
    for result in order:
        if result not in results:
            raise missing("result", result)
        found.append(_inside(results[result], inner, nodes))
    effects = tuple(message.mapping(6).values())
    return GraphInfo(name, whole, tuple(arguments), tuple(found), effects)


def _type_attribute(argument: Message) -> Message:
    """The element type of an argument as an attribute."""
    code = argument.integer(3)
    return Message(bytes((6 << 3, code & 127)) if code < 128 else b"", argument.budget)


def _inside(
    text: str, nodes: Mapping[str, NodeInfo], arguments: Mapping[str, NodeInfo]
) -> Reference:
    """A reference inside of a function: an argument, or `node:output:number`."""
    name, _, rest = text.partition(":")
    if not rest:
        return name, 0
    output, _, number = rest.partition(":")
    place = int(number) if number.isdecimal() and len(number) < 7 else 0
    node = nodes.get(name) or arguments.get(name)
    if node is None:
        raise missing("node", name)
    names = OUTPUTS.get(node.op, ())
    if output in names:
        return name, names.index(output) + place
    return name, place


# --- saved models


@frozen
class TensorName:
    """An input or a result of a signature."""

    reference: Reference
    dtype: str
    shape: Shape | None


@frozen
class Signature:
    """What a saved model offers: inputs and results by name."""

    inputs: Mapping[str, TensorName]
    outputs: Mapping[str, TensorName]


def signatures_of(meta: Message) -> dict[str, Signature]:
    """The signatures of a graph of a saved model."""
    found = {}
    for name, one in meta.entries(5).items():
        inputs, outputs = (dict(_tensors(one.entries(number))) for number in (1, 2))
        found[name] = Signature(inputs, outputs)
    return found


def _tensors(given: Mapping[str, Message]) -> Iterator[tuple[str, TensorName]]:
    for name in sorted(given):
        one = given[name]
        if not one.has(1):
            raise FrontendError.of(f"{quoted(name)} of a signature is no dense tensor")
        shape = shape_of(one.message(3)) if one.has(3) else None
        yield name, TensorName(_plain(one.text(1)), type_name(one.integer(2)), shape)


def tags_of(meta: Message) -> list[str]:
    info = meta.message(1)
    return [] if info is None else info.texts(4)
