"""Structural equality and hash, up to the names of variables and with sharing respected.

Both come from one canonical form: the sequence of a program's nodes in post-order, where each entry
holds the node's kind, its own data, and the positions of its children in the sequence. Variables
are numbered in order of appearance, so names do not matter; a shared computation is one entry, so
sharing does; `()` computes nothing, so sharing it does not. Two programs are equal when their
sequences are, and the first entries that differ are reported. Floats among attributes may differ by
rounding (`NEAR`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Final

import numpy as np

from relay import nd, tree
from relay.immutable import frozen
from relay.ir import dims
from relay.ir import expr as ir
from relay.ir.adt import TypeData
from relay.ir.attrs import Attrs, DictAttrs
from relay.ir.dims import Dim
from relay.ir.module import IRModule
from relay.ir.types import FuncType, Occurs, TensorType, Type, TypeVar, substitute
from relay.ir.variables import binders

# Floats among attributes that differ by less count as equal.
NEAR: Final = 1e-9

Comparable = IRModule | ir.Syntax | Type | nd.NDArray | Attrs | DictAttrs


@frozen
class CanonicalEntry:
    """One node of the canonical sequence; `key` is compared, the rest explains a difference."""

    key: tuple[Any, ...]  # of a computation: (class, (name, value) of its data…, its children)
    node: Any
    where: str


class _Canonical:
    """Walks a program in post-order and numbers its nodes and variables."""

    def __init__(self, map_free_vars: bool) -> None:
        self.map_free_vars = map_free_vars
        self.positions: dict[int, int] = {}
        self.count = 0
        self.atoms: dict[int, tuple[Any, ...]] = {}  # the result of `atom`, by identity
        self.variables = 0
        self.type_variables: dict[TypeVar, TypeVar] = {}
        self.bound: set[ir.Var] = set()

    def entries(self, item: Comparable, where: str) -> Iterator[CanonicalEntry]:
        match item:
            case IRModule():
                yield from self.module(item)
            case TypeData():
                yield CanonicalEntry(self.definition_key(item), item, where)
            case Type():
                yield CanonicalEntry((self.type_key(item),), item, where)
            case ir.Syntax():
                yield from self.program(item, where)
            case _:
                yield CanonicalEntry((data_key(item),), item, where)

    def module(self, module: IRModule) -> Iterator[CanonicalEntry]:
        definitions = sorted(module.type_definitions.values(), key=lambda t: t.header.name_hint)
        for definition in definitions:
            name = definition.header.name_hint
            key = _Canonical(self.map_free_vars).definition_key(definition)
            yield CanonicalEntry(key, definition, f"type {name}")
        for var, function in module.functions_items():
            yield CanonicalEntry(("def", var.name_hint), var, f"@{var.name_hint}")
            # functions are closed: sharing a node between two of them has no meaning
            yield from _Canonical(self.map_free_vars).program(function, f"@{var.name_hint}")
        yield CanonicalEntry(("attributes", data_key(module.attrs)), module.attrs, "the module")

    def definition_key(self, definition: TypeData) -> tuple[Any, ...]:
        params = tuple(map(self.bind_type, definition.type_vars))
        constructors = tuple(
            (c.name_hint, tuple(self.type_key(t) for t in c.inputs))
            for c in definition.constructors
        )
        return ("type", definition.header.name_hint, definition.extern, params, constructors)

    def program(self, root: ir.Syntax, where: str) -> Iterator[CanonicalEntry]:
        for node in tree.postorder(root):
            self.bound.update(binders(node))
            if isinstance(node, ir.Function):
                # parameters are numbered in their own order, before types mention them
                for param in node.type_params:
                    self.bind_type(param)
        syntax: dict[tuple[Any, ...], int] = {}
        for node in tree.postorder(root):
            if ir.is_atom(node):
                continue
            below = tuple(self.reference(child) for child in tree.children(node))
            key = (type(node).__name__, *self.own_data(node), below)
            if isinstance(node, ir.Pattern | ir.Clause) or (
                isinstance(node, ir.Tuple) and not node.fields
            ):
                # they compute nothing, so sharing makes no difference
                if key in syntax:
                    self.positions[id(node)] = syntax[key]
                    continue
                syntax[key] = self.count
            self.positions[id(node)] = self.count
            self.count += 1
            yield CanonicalEntry(key, node, where)
        yield CanonicalEntry(("result", self.reference(root)), root, where)

    def reference(self, node: ir.Syntax) -> Any:
        """How a parent names a child: atoms by what they are, computations by their position."""
        if not ir.is_atom(node):
            return self.positions[id(node)]
        if (known := self.atoms.get(id(node))) is None:
            known = self.atoms[id(node)] = self.atom(node)
        return known

    def atom(self, node: ir.Syntax) -> tuple[Any, ...]:
        match node:
            case ir.Var():
                if node not in self.bound and not self.map_free_vars:
                    return ("free variable", node.name_hint, id(node))
                self.variables += 1
                return ("variable", self.variables, self.type_key(node.type_annotation))
            case ir.GlobalVar():
                return ("global", node.name_hint)
            case ir.Op():
                return ("operator", node.name)
            case ir.Constructor():
                return ("constructor", node.name_hint, node.belong_to.name_hint)
            case ir.Constant():
                return ("constant", *data_key(node.data))
        raise AssertionError(f"{type(node).__name__} is no atom")

    def own_data(self, node: ir.Syntax) -> tuple[tuple[str, Any], ...]:
        """What a node holds besides its children."""
        match node:
            case ir.Call():
                type_args = tuple(map(self.type_key, node.type_args))
                return (("attributes", data_key(node.attrs)), ("type arguments", type_args))
            case ir.Function():
                return (
                    ("number of parameters", len(node.params)),
                    ("type parameters", tuple(map(self.type_key, node.type_params))),
                    ("result type", self.type_key(node.ret_type)),
                    ("attributes", data_key(node.attrs)),
                )
            case ir.TupleGetItem():
                return (("index", node.index),)
            case ir.Match():
                return (("completeness", node.complete),)
        return ()

    def type_key(self, ty: Type | Dim | None) -> Any:
        if not isinstance(ty, Type):  # nothing, or a dimension given as a type argument
            return ty if ty is None else dims.substitute(ty, self.canonical_variable)
        if not ty.occurs & Occurs.VARIABLE:
            return ty
        return substitute(ty, {v: self.canonical_variable(v) for v in _free_variables(ty)})

    def bind_type(self, variable: TypeVar) -> TypeVar:
        """The canonical variable for a type variable that the program binds."""
        if variable not in self.type_variables:
            self.type_variables[variable] = _numbered(len(self.type_variables), variable)
        return self.type_variables[variable]

    def canonical_variable(self, leaf: Any) -> Any:
        if self.map_free_vars and isinstance(leaf, TypeVar):
            return self.bind_type(leaf)
        return self.type_variables.get(leaf, leaf)


def _free_variables(ty: Type) -> list[TypeVar]:
    """The variables of `ty` that no function type in it binds, in the order they appear."""
    found: dict[TypeVar, None] = {}
    scopes: list[tuple[int, frozenset[Any]]] = [(0, frozenset())]  # (number, what is bound there)
    entered = 0
    seen: set[tuple[int, int]] = set()
    pending: list[Type | None] = [ty]
    while pending:
        current = pending.pop()
        if current is None:  # the end of a function type with parameters
            scopes.pop()
            continue
        scope, bound = scopes[-1]
        if not current.occurs & Occurs.VARIABLE or (id(current), scope) in seen:
            continue
        seen.add((id(current), scope))
        match current:
            case TypeVar():
                found.update({current: None} if current not in bound else {})
            case TensorType(shape=shape):
                # the order of the terms of a dimension depends on identities; names do not
                atoms = [a for d in shape for a in sorted(dims.atoms(d), key=str)]
                found.update((a, None) for a in atoms if isinstance(a, TypeVar) and a not in bound)
            case _:
                if isinstance(current, FuncType) and current.type_params:
                    entered += 1
                    scopes.append((entered, bound | set(current.type_params)))
                    pending.append(None)
                pending.extend(reversed(tree.children(current)))
    return list(found)


class _NumberedTypeVar(TypeVar):
    """The n-th type variable of a program: equal to the n-th of another."""

    __slots__ = ()

    def __post_init__(self) -> None:
        self._summarize((TypeVar, self.name_hint), Occurs.VARIABLE)

    def form_hash(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NumberedTypeVar) and other.name_hint == self.name_hint

    def __hash__(self) -> int:
        return hash(self.name_hint)


def _numbered(number: int, like: TypeVar) -> TypeVar:
    return _NumberedTypeVar(f"{number}:{like.kind.name}", like.kind)


def data_key(value: Any) -> Any:
    """Tensors and attributes as something that compares by value: by the bits of floats, so that
    NaN equals NaN and 0 differs from -0, and with 1, 1.0 and True all different."""
    match value:
        case nd.NDArray():
            data = np.ascontiguousarray(value.array).reshape(-1).view(np.uint8)
            return (value.dtype, value.shape, hashlib.sha256(data.data).hexdigest())
        case Attrs():
            return (type(value).__name__, *((k, data_key(v)) for k, v in value.items()))
        case DictAttrs():
            return ("DictAttrs", *((k, data_key(value[k])) for k in sorted(value)))
        case float():
            return ("float", value.hex())
        case bool():
            return ("bool", value)
        case tuple():
            return tuple(map(data_key, value))
    return value


def first_difference(a: Comparable, b: Comparable, map_free_vars: bool = False) -> str | None:
    """A description of the first difference between `a` and `b`; None when they are equal."""
    if type(a) is not type(b) and not (isinstance(a, Type) and isinstance(b, Type)):
        return f"{type(a).__name__} differs from {type(b).__name__}:\n  {a!r}\n  {b!r}"
    if isinstance(a, IRModule) and isinstance(b, IRModule):
        ours, theirs = _contents(a), _contents(b)
        for name in sorted(ours ^ theirs):
            return f"only the {'left' if name in ours else 'right'} module has {name}"
    left = _Canonical(map_free_vars).entries(a, "")
    right = _Canonical(map_free_vars).entries(b, "")
    for x, y in zip_longest(left, right):
        if x is not None and y is not None and _same(x.key, y.key):
            continue
        place = next((f" in {e.where}" for e in (x, y) if e and e.where), "")
        return f"{_explain(x, y)}{place}:\n  left:  {_brief(x)}\n  right: {_brief(y)}"
    return None


def _same(mine: Any, other: Any) -> bool:
    """Whether two keys are equal, up to rounding of floats: see `data_key`."""
    if mine == other:
        return True
    pending = [(mine, other)]
    while pending:
        a, b = pending.pop()
        if a == b:
            continue
        if type(a) is not tuple or type(b) is not tuple or len(a) != len(b):
            return False
        if a[:1] == b[:1] == ("float",) and len(a) == 2 and isinstance(a[1], str):
            if not abs(float.fromhex(a[1]) - float.fromhex(b[1])) < NEAR:
                return False
        else:
            pending.extend(zip(a, b, strict=True))
    return True


def _contents(module: IRModule) -> set[str]:
    functions = {f"function @{name.name_hint}" for name in module.functions}
    return functions | {f"type {name.name_hint}" for name in module.type_definitions}


def _explain(x: CanonicalEntry | None, y: CanonicalEntry | None) -> str:
    if x is None or y is None:
        return "one side ends before the other"
    if x.key[0] != y.key[0]:
        return f"{x.key[0]} differs from {y.key[0]}"
    if not isinstance(x.node, ir.Syntax) or x.key[0] == "result":
        return f"{type(x.node).__name__} differs"
    what = _name(x.node)
    *data, below = x.key[1:]
    *other_data, beside = y.key[1:]
    if isinstance(x.node, ir.Call) and below[0] != beside[0]:
        return f"calls of {_reference(below[0])} and {_reference(beside[0])}"
    for (name, mine), (_, other) in zip(data, other_data, strict=True):
        if not _same(mine, other):
            return f"different {name} in {what}"
    if len(below) != len(beside):
        return f"{what} has {len(below)} parts on one side and {len(beside)} on the other"
    index = next(
        i for i, (mine, other) in enumerate(zip(below, beside, strict=True)) if mine != other
    )
    part = f"argument {index - 1}" if isinstance(x.node, ir.Call) else f"part {index}"
    return f"{part} of {what} differs: {_contrast(below[index], beside[index])}"


def _contrast(mine: Any, other: Any) -> str:
    """How two references to children differ."""
    if isinstance(mine, int) and isinstance(other, int):
        return "it is another computation, or one that is shared in another way"
    if isinstance(mine, int) or isinstance(other, int) or mine[0] != other[0]:
        return f"{_reference(mine)} and {_reference(other)}"
    match mine[0]:
        case "variable":
            return "another variable" if mine[1] != other[1] else "a variable of another type"
        case "free variable":
            return "another free variable (map_free_vars=True takes them as they come)"
        case "constant":
            for what, a, b in zip(("element types", "shapes"), mine[1:], other[1:], strict=False):
                if a != b:
                    return f"constants of {what} {a} and {b}"
            return "constants of different values"
    return f"{_reference(mine)} and {_reference(other)}"


def _reference(reference: Any) -> str:
    if isinstance(reference, int):
        return "a computation"
    kind, *rest = reference
    named = kind in ("operator", "global", "constructor", "free variable")
    return f"{kind} `{rest[0]}`" if named else f"a {kind}"


def _name(node: ir.Syntax) -> str:
    if not isinstance(node, ir.Call):
        return f"a {type(node).__name__}"
    op = node.op
    return (
        f"a call to `{op.name}`"
        if isinstance(op, ir.Op | ir.GlobalVar | ir.Constructor)
        else "a call"
    )


def _brief(entry: CanonicalEntry | None) -> str:
    if entry is None:
        return "(nothing)"
    lines = [line for line in repr(entry.node).splitlines() if not line.startswith("#[")]
    lines = [line for line in lines if line.strip()]
    return lines[-1].strip()[:200] if lines else type(entry.node).__name__


def structural_equal(a: Comparable, b: Comparable, map_free_vars: bool = False) -> bool:
    """Whether `a` and `b` are the same program up to names; free variables must be the same
    objects unless `map_free_vars`."""
    return a is b or first_difference(a, b, map_free_vars) is None


def assert_structural_equal(a: Comparable, b: Comparable, map_free_vars: bool = False) -> None:
    """Raise ValueError naming the first difference."""
    if a is not b and (difference := first_difference(a, b, map_free_vars)) is not None:
        raise ValueError(f"not structurally equal: {difference}")


def structural_hash(item: Comparable, map_free_vars: bool = False) -> int:
    """Equal for structurally equal items, within one process; not for attributes that differ by
    rounding."""
    canonical = _Canonical(map_free_vars)
    return hash(tuple(entry.key for entry in canonical.entries(item, "")))
