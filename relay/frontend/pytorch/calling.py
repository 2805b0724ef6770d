"""How an exported model is called, as a `Convention`: names, nested data, constants, defaults."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import is_dataclass
from inspect import Parameter, Signature
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ConstantArgument,
    InputKind,
    OutputKind,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
)

from relay.errors import FrontendError
from relay.executors.convention import Argument, Convention
from relay.executors.structure import FIXED, TENSOR, Node, Structure, type_name

BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
NUMBERS = {SymIntArgument: "int", SymFloatArgument: "float", SymBoolArgument: "bool"}


def convention_of(program: ExportedProgram, forward: Signature | None = None) -> Convention:
    """The calling convention of a program; `forward` is the signature of its model, if known."""
    spec = program.call_spec.in_spec
    assert spec is not None
    positional, named = spec.children()
    leaves = iter(_inputs(program))
    by_place = [structure_of(part, leaves) for part in positional.children()]
    by_name = [structure_of(part, leaves) for part in named.children()]
    keys = list(map(str, named.context))
    if forward is None:
        names = _names(program, len(by_place))
        pairs = zip(names, by_place, strict=True)
        arguments = [Argument(name, one, place) for place, (name, one) in enumerate(pairs)]
        arguments += [Argument(name, one) for name, one in zip(keys, by_name, strict=True)]
    else:
        arguments = _arguments(forward, by_place, dict(zip(keys, by_name, strict=True)))
    results = program.call_spec.out_spec
    assert results is not None
    return Convention(tuple(arguments), structure_of(results, iter(_outputs(program))))


def _names(program: ExportedProgram, count: int) -> list[str]:
    """The names of the arguments by position."""
    graph = program.module_call_graph
    found = graph[0].signature.forward_arg_names if graph and graph[0].signature else None
    return list(found[:count]) if found else [f"input_{place}" for place in range(count)]


def _arguments(
    forward: Signature, by_place: Sequence[Structure], by_name: dict[str, Structure]
) -> list[Argument]:
    """The arguments that were given, in order, and then those that were left out."""
    params = list(forward.parameters.values())
    places = [one for one in params if one.kind in BY_PLACE]
    given: list[Argument] = []
    for place, structure in enumerate(by_place):
        if place < len(places):
            param = places[place]
            is_named = param.kind is not Parameter.POSITIONAL_ONLY
            given.append(Argument(param.name, structure, place, is_named, _default(param)))
        else:
            rest = next(one.name for one in params if one.kind is Parameter.VAR_POSITIONAL)
            name = f"{rest}[{place - len(places)}]"
            given.append(Argument(name, structure, place, by_name=False))
    left = places[len(by_place) :]
    known = {param.name: param for param in params}
    # those behind one that cannot be given are given by name
    reach = [param.name for param in left]
    for number, param in enumerate(left):
        if param.name not in by_name and _default(param) is None:
            reach = reach[:number]
            break

    def place_of(name: str) -> int | None:
        return len(by_place) + reach.index(name) if name in reach else None

    for name, structure in by_name.items():
        found = _default(known[name]) if name in known else None
        given.append(Argument(name, structure, place_of(name), True, found))
    optional = [*left, *(one for one in params if one.kind is Parameter.KEYWORD_ONLY)]
    for param in optional:
        default = _default(param)
        if param.name not in by_name and default is not None:
            fixed = Structure((Node(FIXED, value=default[0]),))
            given.append(Argument(param.name, fixed, place_of(param.name), True, default))
    return given


def _default(param: Parameter) -> tuple[Any] | None:
    """The default of a parameter, if there is one that JSON has."""
    if isinstance(param.default, bool | int | float | str | None):
        return (param.default,)
    return None


# --- leaves --------------------------------------------------------------------------------------


def _inputs(program: ExportedProgram) -> Iterator[Node]:
    calls = [call for call in program.graph.nodes if call.op == "placeholder"]
    for call, spec in zip(calls, program.graph_signature.input_specs, strict=True):
        if spec.kind is not InputKind.USER_INPUT:
            continue
        if isinstance(spec.arg, ConstantArgument):
            yield _constant(spec.arg.value, f"input `{call.name}`")
        else:
            yield _leaf(spec.arg, call.meta.get("val"))


def _outputs(program: ExportedProgram) -> Iterator[Node]:
    given = program.graph.output_node().args[0]
    assert isinstance(given, tuple | list)
    for value, spec in zip(given, program.graph_signature.output_specs, strict=True):
        if spec.kind is not OutputKind.USER_OUTPUT:
            continue
        if isinstance(spec.arg, ConstantArgument):
            yield _constant(spec.arg.value, "a result")
        else:
            yield _leaf(spec.arg, getattr(value, "meta", {}).get("val"))


def _leaf(argument: Any, value: Any) -> Node:
    if isinstance(value, torch.Tensor) and value.dtype.is_complex:
        return Node(str(value.dtype).removeprefix("torch."))
    return Node(NUMBERS.get(type(argument), TENSOR))


def _constant(value: Any, what: str) -> Node:
    if isinstance(value, bool | int | float | str | None):
        return Node(FIXED, value=value)
    raise FrontendError.of(
        f"{what} is a {type(value).__name__}",
        expected="tensors, numbers, strings, None, and lists, tuples and dicts of them",
    )


# --- nested data ---------------------------------------------------------------------------------


def structure_of(spec: Any, leaves: Iterable[Node]) -> Structure:
    """The structure of a `TreeSpec` of torch, with these leaves."""
    following = iter(leaves)
    nodes: list[Node] = []
    pending = [spec]
    while pending:
        one = pending.pop()
        if isinstance(one, Node):
            nodes.append(one)
        elif one.is_leaf():
            nodes.append(next(following))
        else:
            node, missing = _node(one)
            nodes.append(node)
            none = [Node(FIXED)] * missing
            pending += reversed([*one.children(), *none])
    return Structure(tuple(nodes))


def _node(spec: Any) -> tuple[Node, int]:
    """The node of a `TreeSpec`, and how many of its last parts are None."""
    kind, context, count = spec.type, spec.context, len(spec.children())
    sequences = {tuple: "tuple", list: "list", deque: "deque"}
    if kind in sequences:
        return Node(sequences[kind], tuple(range(count))), 0
    if kind is namedtuple:
        return Node("record", tuple(context._fields), type_name(context)), 0
    if kind in (dict, OrderedDict, defaultdict):
        keys = context[1] if kind is defaultdict else context
        if not all(isinstance(key, bool | int | float | str | None) for key in keys):
            raise FrontendError.of(
                "the keys of a dict of the model are neither strings nor numbers",
                found=", ".join(sorted({type(key).__name__ for key in keys})),
            )
        return Node("ordered" if kind is OrderedDict else "dict", tuple(keys)), 0
    name = type_name(kind)
    if is_dataclass(kind):
        match context:
            case [[*names], [*empty]] if len(names) == count:
                return Node("record", (*names, *empty), name), len(empty)
            case [*names] if len(names) == count and all(isinstance(one, str) for one in names):
                return Node("record", tuple(names), name), 0
    try:
        plain = json.loads(json.dumps(context))
    except (TypeError, ValueError):
        plain = None
    if plain != context:
        raise FrontendError.of(
            f"the model takes or gives a {kind.__name__}, which is not described by plain data",
            hint="register it with torch.utils._pytree.register_dataclass",
        )
    return Node("registered", tuple(range(count)), name, plain), 0
