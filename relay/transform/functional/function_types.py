"""The function types of a program, and the data types that replace them.

    fn (int32) -> int32                       ->  Function          a data type for function values
    type Step[A] { Of(fn (A) -> A), Stop }    ->  Step at each A    which has them in its definition

Types are partitioned into classes with one data type each. Two types are in one class if they are
equal, or differ only in dimensions of which one is not a number, because a value of one type may
then be used as one of the other. A data type is the same in all functions, so where the types of a
class differ in a dimension, or have a variable, it has `?`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

from relay import tree
from relay.errors import PassError
from relay.ir.adt import TypeData
from relay.ir.dims import ANY
from relay.ir.expr import Constructor, Var
from relay.ir.module import IRModule
from relay.ir.types import FuncType, GlobalTypeVar, Occurs, TensorType, Type, TypeCall, substitute
from relay.tree import Steps

# More instances of one data type with functions are an endless recursion.
MAX_INSTANCES = 200


def with_functions(definitions: Iterable[TypeData]) -> list[TypeData]:
    """The data types that contain functions, directly or through other data types."""
    users: dict[str, list[TypeData]] = {}
    pending: list[TypeData] = []
    for definition in definitions:
        for part in _parts(definition):
            if isinstance(part, FuncType):
                pending.append(definition)
            elif isinstance(part, GlobalTypeVar):
                users.setdefault(part.name_hint, []).append(definition)
    found: dict[str, TypeData] = {}
    while pending:
        definition = pending.pop()
        name = definition.header.name_hint
        if name not in found:
            found[name] = definition
            pending.extend(users.get(name, ()))
    return list(found.values())


def _parts(definition: TypeData) -> Iterator[Type]:
    for constructor in definition.constructors:
        for ty in constructor.inputs:
            yield from tree.postorder(ty)


class FunctionTypes:
    """The classes of function types, and of data types with functions, among the given types."""

    def __init__(self, module: IRModule, types: Iterable[Type]) -> None:
        definitions = module.type_definitions.values()
        self.definitions = {d.header.name_hint: d for d in with_functions(definitions)}
        self._instances: dict[str, int] = {}
        self._parent: dict[Type, Type] = {}  # union-find: types of one class have one root
        self._collect(types)
        self._join_what_mixes()
        self.members: dict[Type, list[Type]] = {}
        for ty in self._parent:
            self.members.setdefault(self.class_of(ty), []).append(ty)
        self._headers: dict[Type, GlobalTypeVar] = {}
        self._known: dict[Type, Type] = {}
        self._signatures: dict[Type, FuncType] = {}

    def is_replaced(self, ty: Type) -> bool:
        """Whether another data type replaces `ty`."""
        match ty:
            case FuncType():
                return True
            case TypeCall(func=GlobalTypeVar(name_hint=name)):
                return name in self.definitions
        return False

    def occur_in(self, ty: Type) -> bool:
        """Whether a part of `ty` is replaced."""
        return any(map(self.is_replaced, tree.postorder(ty)))

    def name(self, of_class: Type, header: GlobalTypeVar) -> None:
        """Set the name of the data type of a class."""
        self._headers[of_class] = header

    def header(self, of_class: Type) -> GlobalTypeVar:
        return self._headers[of_class]

    # --- classes

    def class_of(self, ty: Type) -> Type:
        """The representative of the class of `ty`."""
        root = ty
        while self._parent[root] is not root:
            root = self._parent[root]
        while ty is not root:
            self._parent[ty], ty = root, self._parent[ty]
        return root

    def _collect(self, types: Iterable[Type]) -> None:
        pending = list(types)
        seen: set[Type] = set()
        while pending:
            ty = pending.pop()
            if ty in seen:
                continue
            seen.add(ty)
            for part in tree.postorder(ty):
                if self.is_replaced(part) and part not in self._parent:
                    self._parent[part] = part
                    if isinstance(part, TypeCall):
                        self._count(part)
                        pending.extend(field for c in self.fields(part) for field in c)

    def _count(self, ty: TypeCall) -> None:
        name = _name_of(ty)
        self._instances[name] = self._instances.get(name, 0) + 1
        if self._instances[name] > MAX_INSTANCES:
            raise PassError(
                f"data type `{name}` holds functions and is made of itself at larger and larger "
                "types, so there is no end to the data types that would take its place"
            )

    def fields(self, ty: TypeCall) -> list[tuple[Type, ...]]:
        """The fields of each constructor of a data type at its arguments."""
        definition = self.definitions[_name_of(ty)]
        given = dict(zip(definition.type_vars, ty.args, strict=True))
        return [tuple(substitute(f, given) for f in c.inputs) for c in definition.constructors]

    def _join_what_mixes(self) -> None:
        alike: dict[Type, list[Type]] = {}
        for ty in self._parent:
            alike.setdefault(_without_dimensions(ty), []).append(ty)
        for types in alike.values():
            if any(ty.occurs for ty in types):
                for other in types[1:]:
                    self._join(types[0], other)

    def _join(self, one: Type, other: Type) -> None:
        """Merge the classes of two types that differ in dimensions alone, and of their parts."""
        pending = [(one, other)]
        while pending:
            a, b = pending.pop()
            if a is b:
                continue
            if not self.is_replaced(a):
                pending.extend(zip(tree.children(a), tree.children(b), strict=True))
                continue
            mine, theirs = self.class_of(a), self.class_of(b)
            if mine is theirs:
                continue
            self._parent[theirs] = mine
            if isinstance(a, FuncType) and isinstance(b, FuncType):
                pending.extend(zip(a.arg_types, b.arg_types, strict=True))
                pending.append((a.ret_type, b.ret_type))
            elif isinstance(a, TypeCall) and isinstance(b, TypeCall):
                pending.extend(zip(a.args, b.args, strict=True))
                for ours, others in zip(self.fields(a), self.fields(b), strict=True):
                    pending.extend(zip(ours, others, strict=True))

    # --- converted types

    def converted(self, ty: Type) -> Type:
        """`ty` without functions."""
        if ty not in self._known:
            self._known[ty] = tree.transform(ty, self._visit)
        return self._known[ty]

    def _visit(self, before: Type, after: Type) -> Type:
        if self.is_replaced(before):
            return TypeCall(self._headers[self.class_of(before)], ())
        return after

    def closed(self, ty: Type) -> Type:
        """`ty` without functions, and with `?` for named dimensions."""
        return _erased(self.converted(ty))

    def signature(self, of_class: Type) -> FuncType:
        """The converted type of all functions of a class."""
        if of_class not in self._signatures:
            members = [m for m in self.members[of_class] if isinstance(m, FuncType)]
            args = zip(*(m.arg_types for m in members), strict=True)
            result = self._common(m.ret_type for m in members)
            self._signatures[of_class] = FuncType(tuple(map(self._common, args)), result)
        return self._signatures[of_class]

    def instance(self, of_class: Type) -> list[tuple[Constructor, tuple[Type, ...]]]:
        """The constructors of a class of data types, and their converted fields."""
        members = [m for m in self.members[of_class] if isinstance(m, TypeCall)]
        constructors = self.definitions[_name_of(members[0])].constructors
        fields = zip(*map(self.fields, members), strict=True)  # of each constructor, per member
        return [
            (constructor, tuple(map(self._common, zip(*of_members, strict=True))))
            for constructor, of_members in zip(constructors, fields, strict=True)
        ]

    def _common(self, types: Iterable[Type]) -> Type:
        return reduce(_common, map(self.closed, types))


def with_annotation(variable: Var, before: Type, after: Type) -> Var:
    """The variable itself, or a copy annotated with `after` where the type has changed."""
    return variable if after is before else tree.replace(variable, type_annotation=after)


def _name_of(ty: TypeCall) -> str:
    assert isinstance(ty.func, GlobalTypeVar)
    return ty.func.name_hint


def _without_dimensions(ty: Type) -> Type:
    """`ty` with `?` for all dimensions."""

    def visit(_: Type, after: Type) -> Type:
        if isinstance(after, TensorType):
            return TensorType((ANY,) * len(after.shape), after.dtype)
        return FuncType(after.arg_types, after.ret_type) if isinstance(after, FuncType) else after

    return tree.transform(ty, visit)


def _erased(ty: Type) -> Type:
    if not ty.occurs & Occurs.VARIABLE:
        return ty

    def visit(_: Type, after: Type) -> Type:
        if not isinstance(after, TensorType) or not after.occurs:
            return after
        return TensorType(tuple(d if isinstance(d, int) else ANY for d in after.shape), after.dtype)

    return tree.transform(ty, visit)


def _common(one: Type, other: Type) -> Type:
    """The common supertype of two types that differ in dimensions alone."""

    def visit(a: Type, b: Type) -> Steps[Type]:
        if isinstance(a, TensorType) and isinstance(b, TensorType):
            pairs = zip(a.shape, b.shape, strict=True)
            return TensorType(tuple(m if m == n else ANY for m, n in pairs), a.dtype)
        parts: list[Type] = yield tree.gather(
            visit(mine, theirs)
            for mine, theirs in zip(tree.children(a), tree.children(b), strict=True)
        )
        return tree.rebuild(a, parts)

    return one if one == other else tree.run(visit(one, other))
