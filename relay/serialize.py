"""Serialization of programs as JSON: any node, without inferred types.

    {"format": "relay", "version": 1,
     "nodes": [
      {"node": "TensorType", "shape": [2], "dtype": "int8"},
      {"node": "Var", "name_hint": "x", "type_annotation": {"ref": 0}},
      {"node": "Op", "name": "nn.relu"},
      {"node": "Call", "op": {"ref": 2}, "args": [{"ref": 1}]}
     ],
     "root": {"ref": 3}}

Every node is one entry and refers only to entries before it. So sharing is kept exactly, nesting is
unlimited, and reading is one loop. The fields of an entry are those of the node's class, and are
checked against their declared types on reading; defaults are left out.

Checked types are not stored; annotations are. Operators are stored by name, and attributes with the
name of an operator that has such attributes. Tensors are base64 of their elements, little endian.
Reading builds nodes and nothing else: no text runs any code.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from functools import cache
from math import isfinite
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from relay import nd
from relay.errors import OperatorError, RelayError, SequentialSpan, SourceName, Span
from relay.ir import dims, expr, types
from relay.ir.adt import TypeData
from relay.ir.attrs import Attrs, DictAttrs
from relay.ir.expr import Function, GlobalVar, Op
from relay.ir.module import IRModule
from relay.op.opdef import OpDef
from relay.safetensors import array_from_bytes, array_to_bytes, load_param_dict, save_param_dict
from relay.tree import Node

__all__ = ["load_json", "load_param_dict", "save_json", "save_param_dict"]

FORMAT: Final = "relay"
VERSION: Final = 1
# Attributes and dimensions are small; larger ones are an attack, not a program.
MAX_NESTING: Final = 64
MAX_WEIGHT: Final = 10_000

_SCALARS: Final = frozenset((bool, int, str, float, type(None)))
Storable = IRModule | Node | nd.NDArray | Attrs | DictAttrs | dims.Symbol

# The classes that are stored as their fields.
_PLAIN: Final[dict[str, type]] = {
    cls.__name__: cls
    for cls in (
        expr.Var,
        expr.GlobalVar,
        expr.Constant,
        expr.Constructor,
        expr.Function,
        expr.Call,
        expr.Let,
        expr.If,
        expr.Tuple,
        expr.TupleGetItem,
        expr.RefCreate,
        expr.RefRead,
        expr.RefWrite,
        expr.Match,
        expr.Clause,
        expr.PatternWildcard,
        expr.PatternVar,
        expr.PatternConstructor,
        expr.PatternTuple,
        types.TypeVar,
        types.IncompleteType,
        types.GlobalTypeVar,
        types.TensorType,
        types.TupleType,
        types.FuncType,
        types.RefType,
        types.TypeCall,
        TypeData,
        SourceName,
        Span,
        SequentialSpan,
    )
}


def save_json(node: Storable) -> str:
    """`node` as text that `load_json` reads. Checked types are left out: infer them again."""
    writer = _Writer()
    writer.add(node)
    head = f'"format": "{FORMAT}", "version": {VERSION}'
    # one entry per line; the replaced text cannot occur in a string, where quotes are escaped
    nodes = _dumps(writer.entries)[1:-1].replace('}, {"node": ', '},\n{"node": ')
    return f'{{{head},\n"nodes": [\n{nodes}\n],\n"root": {_dumps(writer.encode(node))}}}\n'


def load_json(text: str | bytes) -> Any:
    """The node that `save_json` wrote; a RelayError says what is wrong with another text."""
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except (ValueError, TypeError, RecursionError) as error:
        raise RelayError(f"cannot load a program: the text is not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise RelayError("cannot load a program: the JSON was not written by relay.save_json")
    if document.get("version") != VERSION:
        raise RelayError(
            f"cannot load a program: its format has version {_brief(document.get('version'))}, "
            f"this Relay reads version {VERSION}"
        )
    entries = document.get("nodes")
    if not isinstance(entries, list):
        raise RelayError('cannot load a program: "nodes" must be a list')
    reader = _Reader()
    for entry in entries:
        reader.add(entry)
    return reader.decode(document.get("root"))


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


_dumps: Final = json.JSONEncoder(separators=(", ", ": "), allow_nan=False).encode


# --- types of fields ---------------------------------------------------------------------------


class _Field:
    """A field of a class: its default and what it accepts."""

    __slots__ = ("accepts", "default", "expected", "is_kind", "name")

    def __init__(self, name: str, hint: Any, default: Any) -> None:
        self.name = name
        self.default = default
        self.is_kind = hint is types.TypeKind
        self.accepts: Callable[[Any], bool] = _accepts(hint)
        self.expected = _in_words(hint)


@cache
def _fields(cls: Any) -> tuple[_Field, ...]:
    hints = get_type_hints(cls)
    found = []
    for f in fields(cls):
        if f.init:
            default = f.default if f.default_factory is MISSING else f.default_factory()
            found.append(_Field(f.name, hints[f.name], default))
    return tuple(found)


def _accepts(hint: Any) -> Callable[[Any], bool]:
    """Whether a value is of the type `hint`, for the hints that occur in nodes."""
    if get_origin(hint) in (Union, UnionType):
        options = [_accepts(option) for option in get_args(hint)]
        return lambda value: any(accepts(value) for accepts in options)
    if get_origin(hint) is tuple:
        item = _accepts(get_args(hint)[0])
        return lambda value: type(value) is tuple and all(map(item, value))
    if hint in (int, bool, str):
        return lambda value: type(value) is hint
    return lambda value: isinstance(value, hint)


def _in_words(hint: Any) -> str:
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_in_words(option) for option in get_args(hint))
    if get_origin(hint) is tuple:
        return f"a list of {_in_words(get_args(hint)[0])}"
    return "nothing" if hint is type(None) else str(hint.__name__)


# --- writing -----------------------------------------------------------------------------------


class _Writer:
    """Gives every node an entry, in post-order."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.numbers: dict[int, int] = {}

    def add(self, root: Any) -> None:
        stack: list[tuple[Any, dict[str, Any] | None]] = [(n, None) for n in self.missing([root])]
        while stack:
            node, described = stack.pop()
            if id(node) in self.numbers:
                continue
            if described is None:
                described = _describe(node)
                if below := self.missing(described.values()):
                    stack.append((node, described))
                    stack.extend((n, None) for n in reversed(below))
                    continue
            entry: dict[str, Any] = {"node": "Op" if isinstance(node, Op) else type(node).__name__}
            for name, value in described.items():
                entry[name] = self.encode(value)
            self.numbers[id(node)] = len(self.entries)
            self.entries.append(entry)

    def missing(self, values: Iterable[Any]) -> list[Any]:
        """The nodes among `values`, and in them, that have no entry yet."""
        found: list[Any] = []
        for value in values:
            if isinstance(value, Node):
                found.append(value)
            elif type(value) not in _SCALARS:
                found.extend(_nodes_in(value))
        return [node for node in found if id(node) not in self.numbers]

    def encode(self, value: Any) -> Any:
        """A field as JSON. Tuples and attributes stay in place, nodes become references."""
        if isinstance(value, Node):
            return {"ref": self.numbers[id(value)]}
        if type(value) is tuple:
            return [self.encode(v) for v in value]
        if type(value) is float:
            return value if isfinite(value) else {"float": str(value)}
        if type(value) in _SCALARS:
            return value
        if isinstance(value, types.TypeKind):
            return value.name
        if isinstance(value, Attrs):
            cls: Any = type(value)
            return {"operator": _operator_with(cls), "attrs": self._encode_all(value)}
        if isinstance(value, Mapping):
            return {"dict": self._encode_all(value)}
        return {"ref": self.numbers[id(value)]}

    def _encode_all(self, items: Attrs | Mapping[str, Any]) -> dict[str, Any]:
        return {key: self.encode(value) for key, value in items.items()}


def _nodes_in(value: Any, depth: int = 0) -> Iterator[Any]:
    """The nodes in a field, in order."""
    if isinstance(value, Node):
        yield value
        return
    if type(value) in _SCALARS:
        return
    if depth > MAX_NESTING:
        raise RelayError(f"cannot store attributes that nest deeper than {MAX_NESTING}")
    if type(value) is tuple:
        for item in value:
            yield from _nodes_in(item, depth + 1)
    elif isinstance(value, Attrs | Mapping):
        for _, item in value.items():
            yield from _nodes_in(item, depth + 1)
    elif not isinstance(value, types.TypeKind):
        yield value


def _describe(node: Any) -> dict[str, Any]:
    """The fields of an entry."""
    match node:
        case Op():
            return {"name": node.name}
        case IRModule():
            return {
                "type_definitions": tuple(node.type_definitions.values()),
                "names": tuple(node.functions),
                "functions": tuple(node.functions.values()),
                "attrs": node.attrs,
                "source_map": node.source_map,
            }
        case nd.NDArray():
            return {
                "dtype": node.dtype,
                "shape": node.shape,
                "device": (node.device.kind, node.device.index),
                "data": base64.b64encode(array_to_bytes(node.array)).decode(),
            }
        case dims.Any():
            return {}
        case dims.DimExpr():
            return {"terms": tuple((c, *_ordered(m)) for m, c in node.terms.items())}
        case dims.DimCall():
            return {"function": node.function, "args": node.args}
        case types.TypeRelation():
            raise RelayError(
                "cannot store a type relation: it is a Python function; "
                "store the operator it belongs to"
            )
    cls: Any = type(node)
    if cls is not _PLAIN.get(cls.__name__):
        raise RelayError(
            f"cannot store a {cls.__name__}: it is neither plain data nor a node of Relay"
        )
    described = {}
    for f in _fields(cls):
        value = getattr(node, f.name)
        if value is not f.default and (isinstance(value, Node) or value != f.default):
            described[f.name] = value
    if isinstance(node, expr.Constructor) and node.tag != -1:
        described["tag"] = node.tag
    return described


def _ordered(monomial: dims.Monomial) -> list[tuple[dims.Symbol, int]]:
    """The factors of a product by name, so that the same program has the same text."""
    return sorted(monomial, key=lambda factor: dims.render(factor[0]))


@cache
def _operator_with(attrs: Any) -> str:
    """An operator that has attributes of this class, which is used to find the class on reading."""
    for name in expr.op_names():
        op = expr.get_op(name)
        if isinstance(op, OpDef) and op.attrs is attrs:
            return name
    raise RelayError(
        f"cannot store attributes of class {attrs.__name__}: no operator has them, "
        "so they could not be found again"
    )


# --- reading -----------------------------------------------------------------------------------


class _Reader:
    """Makes nodes from entries, in order."""

    def __init__(self) -> None:
        self.made: list[Any] = []
        self.kind: str | None = None  # of the current entry
        self.weights: dict[int, int] = {}  # of dimensions: their size when written out

    def add(self, entry: Any) -> None:
        self.kind = None
        kind = entry.get("node") if isinstance(entry, dict) else None
        if not isinstance(kind, str):
            raise self.error('expected an object with a "node"', entry)
        self.kind = kind
        given = {k: self.decode(v) for k, v in entry.items() if k != "node"}
        make = _Reader.plain if kind in _PLAIN else _SPECIAL.get(kind)
        if make is None:
            raise self.error("unknown kind of node", kind)
        try:
            self.made.append(make(self, kind, given))
        except OperatorError:
            raise
        except RelayError as error:
            if str(error).startswith(_PREFIX):
                raise
            raise RelayError(f"{_PREFIX}{self.where}: {error}") from None

    @property
    def where(self) -> str:
        return f"entry {len(self.made)}" + (f" ({_brief(self.kind)})" if self.kind else "")

    def error(self, message: str, found: Any) -> RelayError:
        return RelayError(f"{_PREFIX}{self.where}: {message}, found {_brief(found)}")

    def decode(self, value: Any, depth: int = 0) -> Any:
        if value is None or isinstance(value, bool | int | str | float):
            return value
        if depth > MAX_NESTING:
            raise self.error(f"values nest deeper than {MAX_NESTING}", value)
        if isinstance(value, list):
            return tuple(self.decode(v, depth + 1) for v in value)
        if len(value) == 1 and type(number := value.get("ref")) is int:
            if not 0 <= number < len(self.made):
                raise self.error("a reference must be to an earlier entry", number)
            return self.made[number]
        match value:
            case {"float": "nan" | "inf" | "-inf" as name, **rest} if not rest:
                return float(name)
            case {"dict": dict(items), **rest} if not rest:
                return DictAttrs({k: self.decode(v, depth + 1) for k, v in items.items()})
            case {"operator": str(name), "attrs": dict(items), **rest} if not rest:
                return self.attributes(
                    name, {k: self.decode(v, depth + 1) for k, v in items.items()}
                )
        raise self.error("not a value", value)

    def attributes(self, name: str, items: dict[str, Any]) -> Attrs | None:
        op = expr.get_op(name)
        if not isinstance(op, OpDef):
            raise self.error("an operator without attributes", name)
        try:
            return op.make_attrs(items)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise self.error(f"wrong attributes for `{name}` ({error})", items) from None

    # --- one method per kind of entry

    def plain(self, kind: str, given: dict[str, Any]) -> Any:
        cls = _PLAIN[kind]
        tag = given.pop("tag", -1) if cls is expr.Constructor else -1
        values = {}
        for f in _fields(cls):
            if f.name not in given:
                if f.default is MISSING:
                    raise self.error(f"the field `{f.name}` is missing", given)
                continue
            value = given.pop(f.name)
            if f.is_kind:
                value = types.TypeKind.__members__.get(value) if isinstance(value, str) else None
            if not f.accepts(value):
                raise self.error(f"the field `{f.name}` must be {f.expected}", value)
            values[f.name] = value
        self.nothing_left(given)
        made = cls(**values)
        if isinstance(made, expr.Constructor):
            if type(tag) is not int or not -1 <= tag < 2**31:
                raise self.error("the field `tag` must be a constructor's tag", tag)
            object.__setattr__(made, "tag", tag)
        return made

    def operator(self, kind: str, given: dict[str, Any]) -> Op:
        (name,) = self.take(given, name=str)
        return expr.get_op(name)

    def tensor(self, kind: str, given: dict[str, Any]) -> nd.NDArray:
        dtype, shape, device, data = self.take(
            given, dtype=str, shape=tuple, device=tuple, data=str
        )
        match device:
            case (str(place), int(index)):
                pass
            case _:
                raise self.error("the field `device` must be a kind and an index", device)
        try:
            raw = base64.b64decode(data, validate=True)
        except ValueError as error:
            raise self.error(f"the data of the tensor is not base64 ({error})", data) from None
        return nd.NDArray(array_from_bytes(raw, dtype, shape), nd.Device(place, index))

    def any_dim(self, kind: str, given: dict[str, Any]) -> dims.Any:
        self.nothing_left(given)
        return dims.Any()

    def polynomial(self, kind: str, given: dict[str, Any]) -> dims.Dim:
        (terms,) = self.take(given, terms=tuple)
        made: dict[dims.Monomial, int] = {}
        weight = len(terms)
        for term in terms:
            match term:
                case (int(coefficient), *factors) if _are_powers(factors):
                    weight += sum(self.weight(atom) * power for atom, power in factors)
                    self.check_weight(weight)
                    made[frozenset(factors)] = coefficient
                case _:
                    raise self.error("a term must be a coefficient and powers of variables", term)
        # the addition brings it to canonical form
        return self.weighing(dims.add(dims.DimExpr(made), 0), weight)

    def dim_call(self, kind: str, given: dict[str, Any]) -> dims.Dim:
        function, args = self.take(given, function=str, args=tuple)
        is_dim = _accepts(dims.Dim)
        if not 2 <= len(args) <= dims.MAX_TERMS or not all(map(is_dim, args)):
            raise self.error("the field `args` must be dimensions", args)
        weight = sum(map(self.weight, args))
        self.check_weight(weight)
        match function:
            case "//" if len(args) == 2 and args[1] != 0:
                return self.weighing(dims.floor_divide(*args), weight)
            case "min" | "max":
                extremum = dims.minimum if function == "min" else dims.maximum
                result: dims.Dim = args[0]
                for other in args[1:]:
                    result = extremum(result, other)
                return self.weighing(result, weight)
        raise self.error("no such function of dimensions", (function, args))

    def weight(self, dim: dims.Dim) -> int:
        return self.weights.get(id(dim), 1)

    def weighing(self, dim: dims.Dim, weight: int) -> dims.Dim:
        if isinstance(dim, dims.Symbol):
            self.weights[id(dim)] = weight
        return dim

    def check_weight(self, weight: int) -> None:
        """Limit the size of dimensions: comparing and printing them expands shared parts."""
        if weight > MAX_WEIGHT:
            raise self.error(f"a dimension of more than {MAX_WEIGHT} parts", weight)

    def module(self, kind: str, given: dict[str, Any]) -> IRModule:
        definitions, names, functions, attrs, sources = self.take(
            given,
            type_definitions=tuple,
            names=tuple,
            functions=tuple,
            attrs=DictAttrs,
            source_map=DictAttrs,
        )
        if not all(isinstance(d, TypeData) for d in definitions):
            raise self.error("the field `type_definitions` must be a list of TypeData", definitions)
        if not all(isinstance(n, GlobalVar) for n in names) or len(set(names)) != len(names):
            raise self.error("the field `names` must be different global variables", names)
        if not all(isinstance(f, Function) for f in functions) or len(functions) != len(names):
            raise self.error("the field `functions` must be a function for every name", functions)
        if not all(isinstance(s, SourceName) for s in sources.values()):
            raise self.error("the field `source_map` must hold sources", sources)
        if len({d.header for d in definitions}) != len(definitions):
            raise self.error("a data type is defined twice", definitions)
        made = IRModule(
            dict(zip(names, functions, strict=True)), {d.header: d for d in definitions}, attrs
        )
        made.source_map = dict(sources)
        return made

    def take(self, given: dict[str, Any], **wanted: type) -> list[Any]:
        """The wanted fields; an error if one is missing, of another type, or if there are more."""
        found = []
        for name, kind in wanted.items():
            value = given.pop(name, None)
            if type(value) is not kind:
                raise self.error(f"the field `{name}` must be {kind.__name__}", value)
            found.append(value)
        self.nothing_left(given)
        return found

    def nothing_left(self, given: dict[str, Any]) -> None:
        if given:
            raise self.error("there is no such field", next(iter(given)))


_PREFIX: Final = "cannot load a program: "
_SPECIAL: Final[dict[str, Callable[[_Reader, str, dict[str, Any]], Any]]] = {
    "Op": _Reader.operator,
    "NDArray": _Reader.tensor,
    "Any": _Reader.any_dim,
    "DimExpr": _Reader.polynomial,
    "DimCall": _Reader.dim_call,
    "IRModule": _Reader.module,
}


def _are_powers(factors: list[Any]) -> bool:
    """Whether these are (atom, positive power) of different atoms."""
    atoms = set()
    for factor in factors:
        match factor:
            case (types.TypeVar() | types.IncompleteType() | dims.DimCall() as atom, int(power)):
                if isinstance(power, bool) or power < 1 or atom in atoms:
                    return False
                atoms.add(atom)
            case _:
                return False
    return True


def _brief(value: object) -> str:
    """`value` in an error message, which must not fail itself."""
    if isinstance(value, str | int | float | None):
        text = repr(value)
    else:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:80] + "…"
