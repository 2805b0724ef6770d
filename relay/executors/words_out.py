"""The words a native program gives (`relay.native.exchange`), as values.

As the interpreter has them (`VALUES`): tuples, data, cells and tensors. Or as Python has them
(`python_style`): lists and tuples, None or what is in an Option, instances of classes, numbers.

What the words mean is said by the types of the program, from the results on downwards; so first
every entry gets its type, then, children first, its value. Nothing recurses.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from relay import dtypes
from relay.errors import Diagnostic, EvaluationError
from relay.executors.arrays import address, plain
from relay.executors.block import Block
from relay.interpreter.values import ConstructorValue, RefValue, TupleValue
from relay.ir.adt import TypeData
from relay.ir.expr import Constructor as ConstructorNode
from relay.ir.types import GlobalTypeVar
from relay.lower.kernel import TensorSpec
from relay.native import layout
from relay.nd import NDArray
from relay.program.llvm.words import arrange, is_object
from relay.program.program import (
    Constructor,
    DataSpec,
    DataType,
    ReferenceSpec,
    ScalarSpec,
    Spec,
    unflatten,
)
from relay.tree import Steps, run

Number = bool | int | float


class Style(NamedTuple):
    """What values become."""

    tensor: Callable[[np.ndarray], Any]
    scalar: Callable[[Number, np.dtype], Any]
    collect: Callable[[Sequence[Any]], Any]  # tuples
    classes: Mapping[str, type] | None = None  # of constructors; None: as the interpreter has them


def as_tensors(tensor: Callable[[np.ndarray], Any]) -> Callable[[Number, np.dtype], Any]:
    """Scalars as what `tensor` makes of tensors without dimensions."""

    def scalar(number: Number, dtype: np.dtype) -> Any:
        return tensor(np.array(number, dtype))

    return scalar


def _number(number: Number, dtype: np.dtype) -> Number:
    return number


VALUES: Final = Style(NDArray, as_tensors(NDArray), TupleValue)


def python_style(
    classes: Mapping[str, type] | None = None,
    tensor: Callable[[np.ndarray], Any] = plain,
    scalar: Callable[[Number, np.dtype], Any] = _number,
) -> Style:
    """Python's own data; `classes` are those of constructors, by name."""
    return Style(tensor, scalar, tuple, classes or {})


class Exported(NamedTuple):
    """What an export has written: entries, and the elements of small tensors."""

    words: tuple[int, ...]
    elements: np.ndarray

    @classmethod
    def at(cls, words: int, words_bytes: int, elements: int, elements_bytes: int) -> Exported:
        """What lies there, copied."""
        copy = np.empty(elements_bytes, np.uint8)
        if elements_bytes:
            ctypes.memmove(address(copy), elements, elements_bytes)
        listed = struct.unpack(f"{words_bytes // 8}q", ctypes.string_at(words, words_bytes))
        return cls(listed, copy)


# --- types --------------------------------------------------------------------------------------


@dataclass(eq=False)
class TensorKind:
    """Tensors of an element type."""

    dtype: np.dtype


@dataclass(eq=False)
class ScalarKind:
    """Scalars: `decode` takes the low bytes of a word."""

    dtype: np.dtype
    decode: Callable[[int], Number]


@dataclass(eq=False)
class CellKind:
    """Cells, with the kinds of their contents, and the words those are in."""

    contents: list[Kind] = field(default_factory=list)
    positions: tuple[int, ...] = ()


@dataclass(eq=False)
class FunctionKind:
    """Functions, which cannot leave a program."""


@dataclass(eq=False)
class DataKind:
    """A data type; the kinds of fields are filled in later, because types mention each other."""

    cases: list[Case] = field(default_factory=list)
    is_list: bool = False
    is_option: bool = False


Kind = TensorKind | ScalarKind | CellKind | DataKind | FunctionKind


@dataclass(eq=False)
class Case:
    """A constructor."""

    constructor: Constructor
    node: ConstructorNode
    positions: tuple[int, ...]  # of every place: the word it is in
    is_flat: bool  # no field is a tuple
    kinds: list[Kind] = field(default_factory=list)  # of every place
    objects: list[Kind] = field(default_factory=list)  # of every object word

    @property
    def rest(self) -> int:
        """The word with the rest of a list."""
        return self.positions[-1]


class Writers:
    """Makes values of the results of a program. `free` gives a block back to the runtime."""

    def __init__(self, types: Mapping[str, DataType], free: Callable[[int], None]) -> None:
        self.types = types
        self.free = free
        self._kinds: dict[Spec, Kind] = {}
        self._incomplete: list[tuple[Case, Constructor]] = []

    def kind(self, spec: Spec) -> Kind:
        """What is known of a type before values come."""
        found = self._kinds.get(spec) or self._make(spec)
        while self._incomplete:
            case, constructor = self._incomplete.pop()
            places = constructor.places
            case.kinds += [self._kinds.get(part) or self._make(part) for part in places]
            pairs = zip(places, case.kinds, strict=True)
            case.objects += [kind for spec, kind in pairs if is_object(spec)]
        return found

    def _make(self, spec: Spec) -> Kind:
        made: Kind
        match spec:
            case TensorSpec():
                made = TensorKind(dtypes.to_numpy(spec.dtype))
            case ScalarSpec():
                made = ScalarKind(dtypes.to_numpy(spec.dtype), decoder(spec.dtype))
            case DataSpec():
                made = self._data(self.types[spec.name])
            case ReferenceSpec():
                made = CellKind([], arrange(spec.contents).positions)
                self._kinds[spec] = made
                made.contents += [self.kind(part) for part in spec.contents]
            case _:
                made = FunctionKind()
        self._kinds[spec] = made
        return made

    def _data(self, kind: DataType) -> DataKind:
        base = kind.name.partition("[")[0]
        header = GlobalTypeVar(base)
        made = DataKind()
        for one in kind.constructors:
            node = ConstructorNode(one.name, (), header)
            flat = not any(isinstance(part, tuple) for part in one.fields)
            made.cases.append(Case(one, node, arrange(one.places).positions, flat))
            self._incomplete.append((made.cases[-1], one))
        TypeData(header, (), tuple(case.node for case in made.cases))  # gives them their tags
        names = {one.name: one for one in kind.constructors}
        if base == "List" and set(names) == {"Cons", "Nil"}:
            fields = names["Cons"].fields
            made.is_list = len(fields) == 2 and fields[1] == DataSpec(kind.name)
        made.is_option = base == "Option" and set(names) == {"Some", "None"}
        return made

    def values(
        self,
        exported: Exported,
        roots: Sequence[tuple[int, Kind]],
        style: Style = VALUES,
        known: Mapping[int, RefValue] | None = None,
    ) -> list[Any]:
        """The values of some words. `known` are cells there are already, by word."""
        return _Reading(exported, style, self.free).values(roots, known or {})


# --- values -------------------------------------------------------------------------------------


class _Reading:
    """One export being read."""

    def __init__(self, exported: Exported, style: Style, free: Callable[[int], None]) -> None:
        self.words, self.elements = exported
        self.style = style
        self.free = free
        self.lists = style.classes is not None
        self.offsets: list[int] = []  # where each entry begins
        self.blocks: dict[int, Block] = {}  # by offset
        self.kinds: list[Kind | None] = []
        self.heads: set[int] = set()  # lists that are not only the rest of another
        self.made: list[Any] = []

    def values(self, roots: Sequence[tuple[int, Kind]], known: Mapping[int, RefValue]) -> list[Any]:
        self._find_entries(len(roots))
        self._find_kinds(roots)
        words, made = self.words, self.made
        cells = []
        for index, offset in enumerate(self.offsets):
            kind = self.kinds[index]
            if type(kind) is DataKind:
                if not (self.lists and kind.is_list):
                    case = kind.cases[words[offset + 1]]
                    made.append(self._build(kind, case, self._fields(offset + 4, case)))
                else:
                    made.append(self._list(offset, kind) if index in self.heads else None)
            elif type(kind) is TensorKind:
                made.append(self.style.tensor(self._tensor(offset, kind.dtype)))
            elif type(kind) is CellKind:
                made.append(known.get(2 * index) or RefValue(None))  # type: ignore[arg-type]
                cells.append((made[-1], offset + 4, kind))
            else:
                raise EvaluationError(
                    Diagnostic(
                        "the result holds a function, which cannot leave a compiled program",
                        expected="tensors and data",
                    )
                )
        for cell, first, kind in cells:
            parts = self._parts(first, kind.contents, kind.positions)
            cell.value = parts[0] if len(parts) == 1 else self.style.collect(parts)
        return [self._word(word, kind) for word, kind in roots]

    # --- looking ahead

    def _find_entries(self, roots: int) -> None:
        """Where each begins; and the memory that is ours now, before anything can fail."""
        words, offsets = self.words, self.offsets
        offset = roots
        end = len(words)
        while offset < end:
            offsets.append(offset)
            kind = words[offset]
            if kind == layout.DATA:
                offset += 4 + words[offset + 3]
            elif kind == layout.TENSOR:
                if words[offset + 4] > layout.EXTERNAL:
                    self.blocks[offset] = Block(words[offset + 4], self.free)
                offset += 5 + words[offset + 1]
            elif kind == layout.REFERENCE:
                offset += 4 + words[offset + 2]
            else:
                offset += 1

    def _find_kinds(self, roots: Sequence[tuple[int, Kind]]) -> None:
        words, offsets = self.words, self.offsets
        found = self.kinds = [None] * len(offsets)
        pending = [(word >> 1, kind) for word, kind in roots if not word & 1]
        self.heads.update(index for index, _ in pending)
        while pending:
            index, kind = pending.pop()
            if found[index] is not None:
                continue
            found[index] = kind
            first = offsets[index] + 4
            if type(kind) is DataKind:
                inside = kind.cases[words[first - 3]].objects
            elif type(kind) is CellKind:
                inside = [part for part in kind.contents if type(part) is not ScalarKind]
            else:
                continue
            for position, part in enumerate(inside, first):
                word = words[position]
                if not word & 1:
                    pending.append((word >> 1, part))
                    if part is not kind or type(kind) is not DataKind or not kind.is_list:
                        self.heads.add(word >> 1)

    # --- one entry

    def _word(self, word: int, kind: Kind) -> Any:
        """The value of an object word whose entry is done."""
        if not word & 1:
            return self.made[word >> 1]
        assert isinstance(kind, DataKind)
        return [] if self.lists and kind.is_list else self._build(kind, kind.cases[word >> 1], ())

    def _parts(self, first: int, kinds: Sequence[Kind], positions: Sequence[int]) -> list[Any]:
        """The values of words, in the order of the kinds."""
        words, made = self.words, self.made
        parts = []
        for kind, position in zip(kinds, positions, strict=True):
            word = words[first + position]
            if type(kind) is ScalarKind:
                parts.append(self.style.scalar(kind.decode(word), kind.dtype))
            elif word & 1:
                parts.append(self._word(word, kind))
            else:
                parts.append(made[word >> 1])
        return parts

    def _fields(self, first: int, case: Case) -> Sequence[Any]:
        parts = self._parts(first, case.kinds, case.positions)
        if case.is_flat:
            return parts
        nested = unflatten(case.constructor.fields, parts)
        return [collect(part, self.style) for part in nested]

    def _build(self, kind: DataKind, case: Case, fields: Sequence[Any]) -> Any:
        if self.style.classes is not None:
            if kind.is_option:
                return fields[0] if fields else None
            cls = self.style.classes.get(case.constructor.name)
            if cls is not None:
                return cls(*fields)
        return ConstructorValue(case.node.tag, fields, case.node)

    def _list(self, offset: int, kind: DataKind) -> list[Any]:
        words, offsets, made = self.words, self.offsets, self.made
        cons = kind.cases[words[offset + 1]]
        rest = 4 + cons.rest
        element, place = cons.kinds[0], 4 + cons.positions[0]
        values = []
        while True:
            if not cons.is_flat:
                values.append(self._fields(offset + 4, cons)[0])
            elif type(element) is ScalarKind:
                number = element.decode(words[offset + place])
                values.append(self.style.scalar(number, element.dtype))
            elif (word := words[offset + place]) & 1:
                values.append(self._word(word, element))
            else:
                values.append(made[word >> 1])
            word = words[offset + rest]
            if word & 1:
                return values
            offset = offsets[word >> 1]

    def _tensor(self, offset: int, dtype: np.dtype) -> np.ndarray:
        words = self.words
        shape = words[offset + 5 : offset + 5 + words[offset + 1]]
        if words[offset + 4] == layout.INLINE and words[offset + 3]:
            return np.ndarray(shape, dtype, self.elements, words[offset + 2])
        block = self.blocks.get(offset)
        if block is not None:
            return block.array(words[offset + 2], shape, dtype)
        made = np.empty(shape, dtype)
        if made.nbytes:
            ctypes.memmove(address(made), words[offset + 2], made.nbytes)
        return made


def collect(nested: Any, style: Style) -> Any:
    """Values in Python's tuples, as the style has tuples."""
    if not isinstance(nested, tuple) or style.collect is tuple:
        return nested

    def build(part: Any) -> Steps[Any]:
        if not isinstance(part, tuple):
            return part
        fields = []
        for each in part:
            fields.append((yield build(each)))
        return style.collect(fields)

    return run(build(nested))


# --- scalars ------------------------------------------------------------------------------------


def decoder(dtype: str) -> Callable[[int], Number]:
    """The number in the low bytes of a word; what the others hold is not defined."""
    stored = dtypes.to_numpy(dtype)
    bits = 8 * stored.itemsize
    mask = (1 << bits) - 1
    if dtype in ("bool", "uint1"):
        return lambda word: bool(word & mask) if dtype == "bool" else int(bool(word & mask))
    if dtypes.is_integer(dtype):
        half = 0 if dtype.startswith("u") else 1 << (bits - 1)
        return lambda word: ((word + half) & mask) - half
    form = {"float16": "e", "float32": "f", "float64": "d"}.get(dtype)
    pack = struct.Struct({1: "B", 2: "H", 4: "I", 8: "Q"}[stored.itemsize]).pack
    if form is None:  # `struct` has no code for it
        return lambda word: float(np.frombuffer(pack(word & mask), stored)[0])
    unpack = struct.Struct(form).unpack
    return lambda word: unpack(pack(word & mask))[0]
