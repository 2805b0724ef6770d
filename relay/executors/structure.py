"""The structure of nested Python data around tensors: description, flattening, rebuilding.

    Structure of {"ids": tensor, "more": [tensor, None]}
        dict "ids" "more" | tensor | list of 2 | tensor | fixed None

A structure is a list of its nodes, each before its parts. It is data: text in JSON, without the
classes it names, which need not be there. A record of a class that this process does not know is
rebuilt as a `Record`, a dictionary with attributes.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from relay import nd
from relay.errors import EvaluationError, RelayError
from relay.immutable import frozen

TENSOR: Final = "tensor"
VALUE: Final = "value"  # any value of Relay, as Python has it
FIXED: Final = "fixed"
NUMBERS: Final = {"bool": bool, "int": int, "float": float, "complex": complex}
COMPLEX: Final = {"complex64": "float32", "complex128": "float64"}
LEAVES: Final = frozenset({TENSOR, VALUE, *NUMBERS, *COMPLEX})
SEQUENCES: Final = {"list": list, "tuple": tuple, "deque": deque}
MAPPINGS: Final = {"dict": dict, "ordered": OrderedDict}
RECORD: Final = "record"
REGISTERED: Final = "registered"
KINDS: Final = frozenset({*LEAVES, FIXED, *SEQUENCES, *MAPPINGS, RECORD, REGISTERED})


@frozen
class Node:
    """A node: its kind, and the names of its parts (numbers, in a sequence).

    record       an instance of the class `type`, of a dataclass or a named tuple, by its fields
    registered   of a class that torch knows to take apart (`torch.utils._pytree`), with its context
    fixed        `value`, which is not an argument or a result: None, and numbers

    An argument that is a number may have to be `value`.
    """

    kind: str
    keys: tuple[Any, ...] = ()
    type: str = ""
    value: Any = None

    def to_json(self) -> Any:
        """Text, a list or a mapping."""
        if self == Node(self.kind):
            return self.kind
        return [self.kind, list(self.keys), self.type, self.value]

    @staticmethod
    def of_json(found: Any) -> Node:
        """The inverse of `to_json`, of data that may be anything."""
        match found:
            case str(kind) if kind in KINDS:
                return Node(kind)
            case [str(kind), list(keys), str(type), value] if kind in KINDS:
                if all(isinstance(key, str | int | float | bool | None) for key in keys):
                    return Node(kind, tuple(keys), type, value)
        raise RelayError(f"no node of a structure: {found!r}")


class Record(dict[str, Any]):
    """The fields of a class that this process does not know, in order and as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the result has no field {name!r}") from None


@frozen
class Structure:
    """Nodes, each before its parts."""

    nodes: tuple[Node, ...]

    @property
    def leaves(self) -> list[Node]:
        """The nodes that are arguments or results, in order."""
        return [node for node in self.nodes if node.kind in LEAVES]

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor and nothing else."""
        return self.nodes == (Node(TENSOR),)

    @property
    def is_fixed(self) -> bool:
        """Whether it has no leaves."""
        return not self.leaves

    def take_apart(self, data: Any, name: str) -> list[Any]:
        """The leaves of `data`, which must have this structure; `name` is for errors."""
        leaves: list[Any] = []
        pending: list[tuple[Any, Any]] = [(data, name)]
        for node in self.nodes:
            given, place = pending.pop()
            kind = node.kind
            if kind == TENSOR or kind in NUMBERS:
                if given is None:
                    raise _unlike(place, "a tensor", given)
                if node.value is not None and not _is(given, node.value):
                    raise _unlike(place, f"{node.value!r}, as when it was compiled", given)
                leaves.append(given)
            elif kind == VALUE:
                leaves.append(given)
            elif kind in COMPLEX:
                leaves.append(as_pairs(given, kind, place))
            elif kind == FIXED:
                if not _is(given, node.value):
                    raise _unlike(place, f"{node.value!r}, as when it was compiled", given)
            else:
                parts = _parts(node, given, place)
                steps = [(place, node, key) for key in node.keys]
                pending += reversed(list(zip(parts, steps, strict=True)))
        return leaves

    def put_together(self, leaves: Sequence[Any]) -> Any:
        """Data of this structure."""
        left = list(leaves)
        made: list[Any] = []
        for node in reversed(self.nodes):
            if node.kind in LEAVES:
                made.append(_leaf(node, left.pop()))
            elif node.kind == FIXED:
                made.append(node.value)
            else:
                made.append(_composed(node, [made.pop() for _ in node.keys]))
        return made.pop()

    def to_json(self) -> list[Any]:
        return [node.to_json() for node in self.nodes]

    @staticmethod
    def of_json(found: Any) -> Structure:
        """The inverse of `to_json`; other data is refused."""
        if not isinstance(found, list):
            raise RelayError("a structure is a list of nodes")
        made = Structure(tuple(map(Node.of_json, found)))
        missing = 1  # nodes
        for number, node in enumerate(made.nodes, 1):
            missing += len(node.keys) - 1
            if missing == 0 and number < len(made.nodes):
                break
        else:
            number = 0
        if missing != 0 or number:
            raise RelayError("a structure lacks nodes, or has too many")
        return made

    def __str__(self) -> str:
        return " ".join(node.kind for node in self.nodes)


# --- taking apart --------------------------------------------------------------------------------


def _parts(node: Node, data: Any, place: Position) -> list[Any]:
    """The parts of `data`, in the order of the keys."""
    if node.kind in SEQUENCES:
        if isinstance(data, list | tuple | deque) and len(data) == len(node.keys):
            return list(data)
        raise _unlike(place, f"a {node.kind} of {len(node.keys)}", data)
    if node.kind in MAPPINGS:
        if isinstance(data, Mapping) and data.keys() == set(node.keys):
            return [data[key] for key in node.keys]
        raise _unlike(place, f"a dict of {', '.join(map(repr, node.keys))}", data)
    if node.kind == REGISTERED:
        return _registered_parts(node, data, place)
    is_mapping = isinstance(data, Mapping) and not dataclasses.is_dataclass(data)
    of = data if is_mapping else {key: getattr(data, key) for key in _fields(data)}
    lacking = [key for key in node.keys if key not in of]
    more = [key for key in of if key not in node.keys and of[key] is not None]
    if lacking or more:
        raise _unlike(place, f"a {_short(node.type)} of {', '.join(map(str, node.keys))}", data)
    return [of[key] for key in node.keys]


def _fields(data: Any) -> Iterable[str]:
    if dataclasses.is_dataclass(data):
        return [field.name for field in dataclasses.fields(data)]
    found = getattr(data, "_fields", ())  # of a named tuple
    return found if isinstance(found, tuple) else ()


def _registered_parts(node: Node, data: Any, place: Position) -> list[Any]:
    known = _registry().get(type(data))
    if known is None or type_name(type(data)) != node.type:
        raise _unlike(place, f"a {_short(node.type)}", data)
    parts, _ = known.flatten_fn(data)
    if len(parts) != len(node.keys):
        raise _unlike(place, f"a {_short(node.type)} of {len(node.keys)} parts", data)
    return list(parts)


def _is(given: Any, wanted: Any) -> bool:
    """Whether two constants are the same: True is not 1."""
    return given is wanted or (type(given) is type(wanted) and bool(given == wanted))


# Where data is: a name, or the place of what it is a part of, with the node and the key there.
Position = str | tuple[Any, Node, Any]


def _place_text(place: Position) -> str:
    steps = []
    while isinstance(place, tuple):
        place, node, key = place
        steps.append(f".{key}" if node.kind == RECORD else f"[{key!r}]")
    return "".join([place, *reversed(steps)])


def _unlike(place: Position, expected: str, data: Any) -> EvaluationError:
    found: str
    if isinstance(data, bool | int | float | str | None):
        found = repr(data)
    elif isinstance(data, Mapping):
        found = f"a {type(data).__name__} of {', '.join(map(repr, data)) or 'nothing'}"
    elif isinstance(data, list | tuple):
        found = f"a {type(data).__name__} of {len(data)}"
    else:
        found = f"a {type(data).__name__}"
    message = f"`{_place_text(place)}` is something else"
    return EvaluationError.of(message, expected=expected, found=found)


def as_pairs(data: Any, kind: str, place: Position) -> Any:
    """Complex numbers as pairs of floats, without a copy where they are dense."""
    if nd.is_torch(data):
        torch = sys.modules["torch"]
        if str(data.dtype) == f"torch.{kind}":
            return torch.view_as_real(data.detach().resolve_conj())
        raise _unlike(place, f"a tensor of {kind}", data)
    try:
        array = np.asarray(data, kind) if isinstance(data, complex) else np.asarray(data)
    except (TypeError, ValueError):
        raise _unlike(place, f"a tensor of {kind}", data) from None
    if array.dtype.name != kind:
        raise _unlike(place, f"a tensor of {kind}", data)
    dense = np.ascontiguousarray(array.astype(kind, copy=False)).reshape(array.shape)
    return dense.view(COMPLEX[kind]).reshape(*array.shape, 2)


# --- putting together ----------------------------------------------------------------------------


def _leaf(node: Node, value: Any) -> Any:
    if node.kind in NUMBERS:
        return NUMBERS[node.kind](value.item())
    if node.kind not in COMPLEX:
        return value
    if nd.is_torch(value):
        return sys.modules["torch"].view_as_complex(value)
    array = nd.as_numpy(value)
    made = array.view(node.kind).reshape(array.shape[:-1])
    return nd.NDArray(made) if isinstance(value, nd.NDArray) else made


def _composed(node: Node, parts: list[Any]) -> Any:
    if node.kind in SEQUENCES:
        return SEQUENCES[node.kind](parts)
    named = dict(zip(node.keys, parts, strict=True))
    if node.kind in MAPPINGS:
        return MAPPINGS[node.kind](named)
    cls = _known_class(node.type)
    if node.kind == REGISTERED:
        known = None if cls is None else _registry().get(cls)
        return Record(named) if known is None else known.unflatten_fn(parts, node.value)
    if cls is not None and dataclasses.is_dataclass(cls):
        if set(named) <= {field.name for field in dataclasses.fields(cls) if field.init}:
            return cls(**named)
    elif cls is not None and getattr(cls, "_fields", None) == node.keys and issubclass(cls, tuple):
        return cls(*parts)
    return Record(named)


def type_name(cls: type) -> str:
    """A class by name: `package.module:Class`."""
    return f"{cls.__module__}:{cls.__qualname__}"


def _known_class(name: str) -> type | None:
    """The class of that name, if its module is loaded; nothing is imported."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None


def _registry() -> Mapping[Any, Any]:
    """The classes that torch knows to take apart."""
    pytree = sys.modules.get("torch.utils._pytree")
    return {} if pytree is None else pytree.SUPPORTED_NODES


def _short(name: str) -> str:
    return name.rpartition(":")[2].rpartition(".")[2]
