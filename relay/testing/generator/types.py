"""Random types and data type definitions, and matching of types.

Unknown dimensions (`?`) are hidden symbols in the generator, so that equal extents are known to be
equal; `shown` turns them into `?` where a type is written into the program.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from relay import tree
from relay.immutable import frozen
from relay.ir import dims, types
from relay.ir.adt import TypeData
from relay.ir.dims import ANY, Dim
from relay.ir.expr import Constructor
from relay.testing.generator.choices import Choices, chance, pick, several, weighted
from relay.testing.generator.features import Features

INT32: Final = types.TensorType((), "int32")
MAX_RANK: Final = 3
MAX_EXTENT: Final = 3


@frozen
class Vocabulary:
    """The type variables, dimensions and data types in scope."""

    features: Features
    definitions: tuple[TypeData, ...] = ()
    type_vars: tuple[types.TypeVar, ...] = ()
    symbols: tuple[types.TypeVar, ...] = ()  # dimensions, hidden ones included
    hidden: frozenset[types.TypeVar] = frozenset()
    largest: int = MAX_EXTENT  # upper bound of a symbol

    def with_variables(
        self,
        type_vars: Sequence[types.TypeVar],
        symbols: Sequence[types.TypeVar],
        hidden: Collection[types.TypeVar] = (),
    ) -> Vocabulary:
        return replace(
            self,
            type_vars=(*self.type_vars, *type_vars),
            symbols=(*self.symbols, *symbols),
            hidden=self.hidden | frozenset(hidden),
        )

    def extent(self, dim: Dim) -> int:
        """An upper bound of `dim`."""
        found = dims.substitute(dim, lambda _: self.largest)
        assert isinstance(found, int)
        return found

    def shown(self, ty: types.Type) -> types.Type:
        """`ty` with hidden symbols as `?`."""
        return types.substitute(ty, dict.fromkeys(self.hidden, ANY))

    def shown_dim(self, dim: Dim) -> Dim:
        return dims.substitute(dim, lambda s: ANY if s in self.hidden else s)

    def definition(self, ty: types.TypeCall) -> TypeData:
        return next(d for d in self.definitions if d.header == ty.func)

    def fields(self, constructor: Constructor, ty: types.TypeCall) -> tuple[types.Type, ...]:
        """The types of a constructor's fields in a value of type `ty`."""
        bindings = dict(zip(self.definition(ty).type_vars, ty.args, strict=True))
        return tuple(types.substitute(t, bindings) for t in constructor.inputs)


# --- random types ------------------------------------------------------------------------------


def random_dim(choices: Choices, words: Vocabulary) -> Dim:
    """A small constant, a symbol, or arithmetic with one."""
    if not words.symbols or not chance(choices, 30):
        return choices.integer(1, MAX_EXTENT)
    symbol = pick(choices, words.symbols)
    return weighted(
        choices,
        [
            (6, symbol),
            (1, dims.add(symbol, 1)),
            (1, dims.multiply(symbol, 2)),
            (1, dims.add(symbol, pick(choices, words.symbols))),
        ],
    )


def random_tensor(choices: Choices, words: Vocabulary) -> types.TensorType:
    """A tensor of up to `MAX_RANK` axes."""
    rank = weighted(choices, [(3, 0), (3, 1), (3, 2), (1, MAX_RANK)])
    shape = tuple(random_dim(choices, words) for _ in range(rank))
    return types.TensorType(shape, pick(choices, words.features.dtypes))


def random_type(
    choices: Choices, words: Vocabulary, depth: int = 2, *, data_only: bool = False
) -> types.Type:
    """Any type; with `data_only` one without functions, references and type variables."""

    def part() -> types.Type:
        return random_type(choices, words, depth - 1, data_only=data_only)

    options = [(6, "tensor")]
    if words.type_vars and not data_only:
        options.append((4, "variable"))
    if depth > 0:
        options.append((2, "tuple"))
        definitions = [d for d in words.definitions if not data_only or is_data(d, words)]
        if definitions:
            options.append((3, "data"))
        if not data_only and words.features.closures:
            options.append((1, "function"))
        if not data_only and words.features.references:
            options.append((1, "reference"))
    match weighted(choices, options):
        case "variable":
            return pick(choices, words.type_vars)
        case "tuple":
            return types.TupleType(tuple(several(choices, part, 1, 3)))
        case "data":
            definition = pick(choices, definitions)
            return types.TypeCall(definition.header, tuple(part() for _ in definition.type_vars))
        case "function":
            return types.FuncType(tuple(several(choices, part, 1, 2)), part())
        case "reference":
            return types.RefType(part())
    return random_tensor(choices, words)


# --- data type definitions ---------------------------------------------------------------------


def chain() -> TypeData:
    """`type Chain[A] { Empty, Link(A, Chain[A]) }`: a list."""
    header, a = types.GlobalTypeVar("Chain"), types.TypeVar("A")
    empty = Constructor("Empty", (), header)
    return TypeData(header, (a,), (empty, Constructor("Link", (a, header(a)), header)))


def maybe() -> TypeData:
    """`type Maybe[A] { Nothing, Just(A) }`"""
    header, a = types.GlobalTypeVar("Maybe"), types.TypeVar("A")
    return TypeData(
        header, (a,), (Constructor("Nothing", (), header), Constructor("Just", (a,), header))
    )


def bush() -> TypeData:
    """`type Bush[A] { Tip, Fork(Bush[A], A, Bush[A]) }`: a tree."""
    header, a = types.GlobalTypeVar("Bush"), types.TypeVar("A")
    fork = Constructor("Fork", (header(a), a, header(a)), header)
    return TypeData(header, (a,), (Constructor("Tip", (), header), fork))


def random_definitions(choices: Choices, features: Features) -> tuple[TypeData, ...]:
    """Some common data types, and some random ones."""
    if not features.adts:
        return ()
    found = [make() for make in (maybe, chain, bush) if chance(choices, 60)]

    def another() -> None:
        words = Vocabulary(features, tuple(found))
        found.append(_random_definition(choices, words, f"T{len(found)}"))

    several(choices, another, 0, 2)
    return tuple(found)


def _random_definition(choices: Choices, words: Vocabulary, name: str) -> TypeData:
    """The first constructor does not mention the type itself, so every type has values."""
    header = types.GlobalTypeVar(name)
    params = tuple(types.TypeVar(n) for n in "AB"[: choices.integer(0, 2)])
    whole = header(*params)
    fields = words.with_variables(params, ())
    constructors: list[Constructor] = []

    def field() -> types.Type:
        if constructors and chance(choices, 30):
            around = [d.header(whole) for d in words.definitions if len(d.type_vars) == 1]
            return pick(choices, [whole, whole, *around])
        ty = random_type(choices, fields, 1)
        # a reference in a value would let effects escape
        return INT32 if has_reference(ty) else ty

    def constructor() -> None:
        inputs = tuple(several(choices, field, 0, 2))
        constructors.append(Constructor(f"{name}{'abc'[len(constructors)]}", inputs, header))

    several(choices, constructor, 1, 3)
    return TypeData(header, params, tuple(constructors))


# --- predicates on types ---------------------------------------------------------------------


def has_reference(ty: types.Type) -> bool:
    return any(isinstance(part, types.RefType) for part in tree.postorder(ty))


def is_recursive(definition: TypeData) -> bool:
    """Whether a constructor takes values of the type itself."""
    return any(recursive_fields(c) for c in definition.constructors)


def recursive_fields(constructor: Constructor) -> list[int]:
    """The positions of the fields that are of the constructor's own type."""
    own = constructor.belong_to
    return [
        i
        for i, t in enumerate(constructor.inputs)
        if isinstance(t, types.TypeCall) and t.func == own
    ]


def is_data(definition: TypeData, words: Vocabulary) -> bool:
    """Whether values of the type contain no functions, so that they can be compared."""
    for constructor in definition.constructors:
        for ty in constructor.inputs:
            for part in tree.postorder(ty):
                if isinstance(part, types.FuncType):
                    return False
                if not isinstance(part, types.TypeCall) or part.func == definition.header:
                    continue
                # definitions mention only themselves and earlier ones, so this terminates
                if not is_data(words.definition(part), words):
                    return False
    return True


def is_bounded(ty: types.Type, words: Vocabulary) -> bool:
    """Whether the values of `ty` have bounded size: no recursive data types or closures."""
    pending = [ty]
    while pending:
        for part in tree.postorder(pending.pop()):
            if isinstance(part, types.FuncType):
                return False
            if isinstance(part, types.TypeCall):
                definition = words.definition(part)
                inputs = [t for c in definition.constructors for t in c.inputs]
                if any(_mentions(t, definition) for t in inputs):
                    return False
                # definitions mention only themselves and earlier ones, so this terminates
                pending.extend(inputs)
    return True


def _mentions(ty: types.Type, definition: TypeData) -> bool:
    return any(
        isinstance(part, types.TypeCall) and part.func == definition.header
        for part in tree.postorder(ty)
    )


def needs_annotation(ty: types.Type) -> bool:
    """Whether the type of a value may be ambiguous, as that of an empty list."""
    return any(isinstance(part, types.TypeCall) and part.args for part in tree.postorder(ty))


# --- matching ----------------------------------------------------------------------------------


def match_types(
    pattern: types.Type, target: types.Type, variables: Collection[types.TypeVar]
) -> Mapping[types.TypeVar, types.Type | Dim] | None:
    """A substitution of `variables` that makes `pattern` equal to `target`, or None."""
    found: dict[types.TypeVar, types.Type | Dim] = {}
    pending = [(pattern, target)]
    while pending:
        left, right = pending.pop()
        if isinstance(left, types.TypeVar) and left in variables:
            if found.setdefault(left, right) != right:
                return None
        elif type(left) is not type(right):
            return None
        elif isinstance(left, types.TensorType) and isinstance(right, types.TensorType):
            if left.dtype != right.dtype or len(left.shape) != len(right.shape):
                return None
            for wanted, dim in zip(left.shape, right.shape, strict=True):
                if isinstance(wanted, types.TypeVar) and wanted in variables:
                    found.setdefault(wanted, dim)
        elif isinstance(left, types.TypeCall) and left.func != right.func:  # type: ignore[attr-defined]
            return None
        else:
            below, beside = tree.children(left), tree.children(right)
            if len(below) != len(beside):
                return None
            pending.extend(zip(below, beside, strict=True))
    # arithmetic dimensions are compared after substitution
    return found if types.substitute(pattern, found) == target else None
