"""The program in a `.pt2` file, checked before torch's own reader gets it.

What torch would evaluate, look up or write into code that it generates is checked here: names are
identifiers, expressions for sizes are of a strict grammar, and operators are those that there are
converters of, or that are made of others. What importing does not need is left out: example inputs,
guards, the places of calls in modules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from relay.frontend.common import converters as common
from relay.frontend.pytorch.converters import COMPLEX, find
from relay.frontend.pytorch.pt2 import expressions
from relay.frontend.pytorch.pt2.archive import (
    FILE_NAME,
    MOST,
    Archive,
    element_type,
    held,
    opened,
    refused,
)

IDENTIFIER = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]*")
# names of values and of graphs, which become names in code that torch generates
_NAMES = frozenset({"name", "as_name"})
_NAMED = frozenset(
    {
        "tensor_values",
        "sym_int_values",
        "sym_bool_values",
        "sym_float_values",
        "as_string_to_argument",
    }
)
# what is read by pickle, or is no tensor
_REFUSED = frozenset({"as_custom_obj", "as_operator", "custom_obj", "token", "as_opaque"})
_PYTHON = re.compile(
    r"_operator\.(add|sub|mul|floordiv|mod|neg|pow|truediv|eq|ne|lt|le|gt|ge|and_|or_|not_|getitem)"
    r"|math\.(ceil|floor|trunc|sqrt)"
    r"|torch\.(sym_max|sym_min|sym_float|sym_int|sym_not|sym_ite|_sym_sqrt)"
)
_OPERATOR = re.compile(
    r"torch\.ops\.(?P<space>[a-z][a-z0-9_]*)\.(?P<name>\w+)(\.(?P<overload>\w+))?", re.A | re.I
)
_PLACE = re.compile(r'^\s*(File "[^"\n\r]*", line \d+)', re.MULTILINE)
_CONTAINERS = {None, "builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict"}


def load(path: str | Path, tables: Sequence[common.Converters]) -> ExportedProgram:
    """The program in a file."""
    from torch._export.serde import schema, serialize

    archive = opened(Path(path))
    with archive.file:
        model = _model(archive)
        document = checked(archive.json(f"models/{model}.json"), tables)
        tensors = held(archive, model)
    weights, constants = {**tensors.weights}, {**tensors.constants}
    try:
        _match(document, weights, constants)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        text = "the file does not say what the inputs of its graph are"
        raise refused(text, found=f"{type(error).__name__}: {error}"[:200]) from error
    reader: Callable[..., Any] = serialize._dict_to_dataclass
    try:
        found = reader(schema.ExportedProgram, document)
        program = serialize.ExportedProgramDeserializer().deserialize(found, weights, constants)
    except Exception as error:  # whatever torch says of a program that is not one
        text = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        raise refused("torch cannot read the program", found=text) from error
    assert isinstance(program, ExportedProgram)
    return program


def _model(archive: Archive) -> str:
    """The name of the one program in a file."""
    files = [one for one in archive.names("models") if one.endswith(".json")]
    names = [one.removesuffix(".json") for one in files]
    if len(names) != 1 or not FILE_NAME.fullmatch(names[0]):
        found = ", ".join(names)[:200] or "none"
        raise refused("the file has not one program", "one file under `models`", found)
    return names[0]


def checked(document: Any, tables: Sequence[common.Converters]) -> dict[str, Any]:
    """A program as JSON, without what is not needed; an error for what could do harm."""
    graph_module = document.get("graph_module") if isinstance(document, dict) else None
    if not isinstance(graph_module, dict):
        raise refused("the file has no graph")
    for key, value in _entries(document):
        _check(key, value, tables)
    entries = graph_module.get("module_call_graph")
    whole = (
        [one for one in entries if isinstance(one, dict) and one.get("fqn") == ""]
        if isinstance(entries, list)
        else []
    )
    for one in whole[:1]:
        _check_call(one.get("signature"))
    graph_module["module_call_graph"] = whole[:1]
    graph_module["metadata"] = {}
    graph_module["treespec_namedtuple_fields"] = {}
    document["guards_code"] = []
    document["verifiers"] = ["TRAINING"]
    return document  # type: ignore[no-any-return]


def _entries(document: Any) -> Iterator[tuple[str, Any]]:
    """All keys of a document with their values."""
    waiting: list[tuple[str, Any]] = [("", document)]
    while waiting:
        key, value = waiting.pop()
        yield key, value
        if isinstance(value, dict):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += [("", one) for one in value]


def _check(key: str, value: Any, tables: Sequence[common.Converters]) -> None:
    """Check one entry, and leave out of it what is not needed."""
    if type(value) is int and abs(value) > MOST * 2:
        raise refused("the file has a number that is too large", found=str(value)[:40])
    if key in _REFUSED:
        text = f"the program has a value of kind `{key}`, which only a pickle can hold"
        raise refused(text, "tensors and numbers")
    if key == "expr_str":
        expressions.check(value)
    elif key in _NAMES and value not in ("", None):
        _check_name(value)
    elif key in _NAMED and isinstance(value, dict):
        for one in value:
            _check_name(one)
    elif key == "target":
        _check_operator(value, tables)
    elif key == "dtype" or key == "as_scalar_type":
        element_type(value)
    elif key in ("device", "as_device") and value is not None:
        kind = value.get("type") if isinstance(value, dict) else value
        if kind not in ("cpu", "meta"):
            hint = "move the program to the CPU before it is saved"
            raise refused("the program is for another device", "cpu", str(kind)[:40], hint)
    elif key == "metadata" and isinstance(value, dict):
        trace = value.get("stack_trace")
        value.clear()
        if isinstance(trace, str):
            value["stack_trace"] = "\n".join(_PLACE.findall(trace))
    elif key == "range_constraints":
        for one in value if isinstance(value, dict) else [""]:
            if not expressions.SYMBOL.fullmatch(one):
                raise refused("the file has a range of what is no size", found=str(one)[:40])


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not IDENTIFIER.fullmatch(name):
        raise refused("the file has a name that is no identifier", found=str(name)[:80])


def _check_operator(target: Any, tables: Sequence[common.Converters]) -> None:
    """Refuse to look up what is no operator on tensors and sizes."""
    if isinstance(target, str) and _PYTHON.fullmatch(target):
        return
    match = _OPERATOR.fullmatch(target) if isinstance(target, str) else None
    if match is None:
        raise refused("the program calls what is no operator", found=str(target)[:80])
    space, name, overload = match["space"], match["name"], match["overload"] or ""
    if any(find(tables, one, name, overload) for one in (space, f"{COMPLEX}{space}")):
        return
    if space == "aten" and not name.startswith("__") and _is_composite(name, overload):
        return
    text = f"the model has what cannot be translated: operator `{space}.{name}.{overload}`"
    hint = "operators of your own: from_pytorch(path, operators=[table])"
    raise refused(text.removesuffix("."), hint=hint)


def _is_composite(name: str, overload: str) -> bool:
    """Whether an operator is made of others, and takes no name of a file."""
    try:
        found = getattr(getattr(torch.ops.aten, name), overload or "default")
        is_python = isinstance(found, torch._ops.OpOverload) and found._can_decompose()
    except (AttributeError, RuntimeError):  # torch does not know it
        return False
    return is_python and not any("file" in one.name for one in found._schema.arguments)


def _check_call(signature: Any) -> None:
    """Check the structures of inputs and outputs: containers of Python only."""
    import json

    if signature is None:
        return
    names = signature.get("forward_arg_names") if isinstance(signature, dict) else ()
    for one in names or ():
        _check_name(one)
    for key in ("in_spec", "out_spec"):
        text = signature.get(key)
        try:
            spec = json.loads(text) if isinstance(text, str) and text else None
        except (ValueError, RecursionError) as error:
            raise refused(f"`{key}` is no structure", found=str(error)) from error
        for inner, kind in _entries(spec):
            if inner == "type" and kind not in _CONTAINERS:
                expected = "tuples, lists and dictionaries"
                raise refused("the model takes or gives other containers", expected, str(kind)[:80])


def _match(
    document: dict[str, Any], weights: dict[str, torch.Tensor], constants: dict[str, torch.Tensor]
) -> None:
    """Mark parameters; refuse a graph that declares weights of other types than they have."""
    graph = document["graph_module"].get("graph", {})
    values = graph.get("tensor_values", {})
    for spec in document["graph_module"].get("signature", {}).get("input_specs", []):
        ((kind, body),) = spec.items()
        name = next((body[key] for key in body if key.endswith("_name")), None)
        if name is None:
            continue
        tensors = weights if name in weights else constants
        if name not in tensors:
            raise refused(f"the file has no data of `{name}`")
        declared = values.get(body["arg"]["name"], {})
        sizes = [one.get("as_int") for one in declared.get("sizes", [])]
        own = tensors[name]
        if sizes != [*own.shape] or element_type(declared.get("dtype")) != own.dtype:
            expected, found = f"{tuple(sizes)}", f"{tuple(own.shape)}, {own.dtype}"
            raise refused(f"the graph declares `{name}` otherwise", expected, found)
        if kind == "parameter":
            tensors[name] = torch.nn.Parameter(own, requires_grad=False)
