"""Decode the words that a native program returns (`relay.native.exchange`): the general case.

First every entry gets its type, from the types of the results downwards; then, children first, its
value. Python lists are built on demand, because most lists of a program are the tail of another.
Recursion is bounded by the nesting of types.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from ctypes import memmove
from typing import Any

import numpy as np

from relay.errors import EvaluationError
from relay.executors.arrays import address
from relay.interpreter.values import ConstructorValue, RefValue
from relay.native import layout
from relay.native.export import CHAIN
from relay.program.program import unflatten
from relay.target.llvm.executable.block import Block
from relay.target.llvm.executable.kinds import (
    Case,
    CellKind,
    DataKind,
    Kind,
    ScalarKind,
    TensorKind,
)
from relay.target.llvm.executable.style import Style, collect
from relay.tree import Steps, run

Free = Callable[[int], None]  # returns a block to the runtime


def copied(place: int, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """A copy of the elements at an address."""
    made = np.empty(shape, dtype)
    if made.nbytes:
        memmove(address(made), place, made.nbytes)
    return made


class Decoder:
    """Decodes one export: its words, and the elements of small tensors."""

    def __init__(self, words: np.ndarray, elements: np.ndarray, style: Style, free: Free) -> None:
        self.numbers = words
        self.words: list[int] = words.tolist()
        self.elements = elements
        self.style = style
        self.free = free
        self.lists = style.classes is not None
        self.offsets: list[int] = []  # of entries
        self.starts: list[int] = []  # index of the first object of each entry
        self.blocks: dict[int, Block] = {}  # by offset
        self.kinds: list[Kind | None] = []  # of the first object of each entry
        self.made: list[Any] = []  # of every object

    def values(self, roots: Sequence[tuple[int, Kind]], known: Mapping[int, RefValue]) -> list[Any]:
        """The values of some words. `known` are existing cells, by word."""
        self._find_entries(len(roots))
        self._find_kinds(roots)
        words, made = self.words, self.made
        cells = []
        for index, offset, kind in zip(self.starts, self.offsets, self.kinds, strict=True):
            if type(kind) is DataKind:
                if self.lists and kind.is_list:
                    continue
                if words[offset] == CHAIN:
                    self._chain(index, offset, kind)
                else:
                    case = kind.cases[words[offset + 1]]
                    row = words[offset + 4 : offset + 4 + words[offset + 3]]
                    made[index] = self._build(kind, case, self._fields(row, case))
            elif type(kind) is TensorKind:
                made[index] = self.style.tensor(self._tensor(offset, kind.dtype))
            elif type(kind) is CellKind:
                cell = known.get(2 * index) or RefValue(None)  # type: ignore[arg-type]
                made[index] = cell
                cells.append((cell, words[offset + 4 : offset + 4 + words[offset + 2]], kind))
            else:
                raise EvaluationError.of(
                    "the result holds a function, which cannot leave a compiled program",
                    expected="tensors and data",
                )
        for cell, row, kind in cells:
            parts = self._parts(row, kind.contents, kind.positions)
            cell.value = collect(unflatten(kind.structure, parts), self.style)
        return [self._word(word, kind) for word, kind in roots]

    # --- entries and their kinds

    def _find_entries(self, roots: int) -> None:
        """Find all entries, and own exported memory before anything can fail."""
        words = self.words
        offset, end, index = roots, len(words), 0
        while offset < end:
            self.offsets.append(offset)
            self.starts.append(index)
            kind = words[offset]
            index += 1
            if kind == layout.DATA:
                offset += 4 + words[offset + 3]
            elif kind == layout.TENSOR:
                if words[offset + 4] > layout.EXTERNAL:
                    self.blocks[offset] = Block(words[offset + 4], self.free)
                offset += 5 + words[offset + 1]
            elif kind == CHAIN:
                count = words[offset + 4]
                index += count - 1
                offset += 6 + count * (words[offset + 3] - 1)
            elif kind == layout.REFERENCE:
                offset += 4 + words[offset + 2]
            else:
                offset += 1
        self.made = [None] * index

    def _entry(self, index: int) -> int:
        """The entry of an object."""
        if len(self.starts) == len(self.made):
            return index
        return bisect_right(self.starts, index) - 1

    def _find_kinds(self, roots: Sequence[tuple[int, Kind]]) -> None:
        words, offsets, starts = self.words, self.offsets, self.starts
        found = self.kinds = [None] * len(offsets)
        pending = [(word >> 1, kind) for word, kind in roots if not word & 1]
        while pending:
            index, kind = pending.pop()
            entry = self._entry(index)
            if found[entry] is not None or starts[entry] != index:
                continue  # the kinds in a chain follow from its first object
            found[entry] = kind
            first = offsets[entry] + 4
            if type(kind) is CellKind:
                inside = [part for part in kind.contents if type(part) is not ScalarKind]
            elif type(kind) is not DataKind:
                continue
            elif words[first - 4] != CHAIN:
                inside = kind.cases[words[first - 3]].objects
            else:
                pending += self._find_in_chain(first - 4, kind)
                continue
            for position, part in enumerate(inside, first):
                if not words[position] & 1:
                    pending.append((words[position] >> 1, part))

    def _find_in_chain(self, offset: int, kind: Kind) -> list[tuple[int, Kind]]:
        """The objects that a chain refers to, and their kinds."""
        words = self.words
        tag, objects, length, count, end = words[offset + 1 : offset + 6]
        found = []
        if objects > 1 or _next(kind, tag) is not kind:
            for number in range(count):
                assert isinstance(kind, DataKind)
                row = offset + 6 + number * (length - 1)
                for position, part in enumerate(kind.cases[tag].objects[:-1], row):
                    if not words[position] & 1:
                        found.append((words[position] >> 1, part))
                kind = _next(kind, tag)
        if not end & 1:
            found.append((end >> 1, kind))
        return found

    # --- one object

    def _word(self, word: int, kind: Kind) -> Any:
        """The value of an object word whose entry is decoded."""
        if not word & 1:
            made = self.made[word >> 1]
            if made is None and type(kind) is DataKind and self.lists and kind.is_list:
                made = self.made[word >> 1] = self._list(word, kind)
            return made
        assert isinstance(kind, DataKind)
        return [] if self.lists and kind.is_list else self._build(kind, kind.cases[word >> 1], ())

    def _parts(
        self, row: Sequence[int], kinds: Sequence[Kind], positions: Sequence[int]
    ) -> list[Any]:
        """The values of fields, in the order of the kinds."""
        scalar = self.style.scalars.one
        return [
            scalar(kind.decode(row[position]), kind.dtype)
            if type(kind) is ScalarKind
            else self._word(row[position], kind)
            for kind, position in zip(kinds, positions, strict=True)
        ]

    def _fields(self, row: Sequence[int], case: Case) -> Sequence[Any]:
        parts = self._parts(row, case.kinds, case.positions)
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

    def _tensor(self, offset: int, dtype: np.dtype) -> np.ndarray:
        words = self.words
        _, rank, place, _, owner = words[offset : offset + 5]
        shape = tuple(words[offset + 5 : offset + 5 + rank])
        if owner == layout.INLINE:
            return np.ndarray(shape, dtype, self.elements, place).copy()
        block = self.blocks.get(offset)
        return copied(place, shape, dtype) if block is None else block.array(place, shape, dtype)

    # --- chains

    def _chain(self, index: int, offset: int, kind: Kind) -> None:
        """Decode the objects of a chain, from the last one."""
        words, made = self.words, self.made
        tag, objects, length, count, end = words[offset + 1 : offset + 6]
        kinds = [kind]
        for _ in range(count):
            kinds.append(_next(kinds[-1], tag))
        word = end
        for number in reversed(range(count)):
            one = kinds[number]
            assert isinstance(one, DataKind)
            if not (self.lists and one.is_list):
                case = one.cases[tag]
                first = offset + 6 + number * (length - 1)
                row = words[first : first + length - 1]
                row.insert(objects - 1, word)
                made[index + number] = self._build(one, case, self._fields(row, case))
            word = 2 * (index + number)

    def _list(self, word: int, kind: DataKind) -> list[Any]:
        words = self.words
        values: list[Any] = []
        while not word & 1:
            index = word >> 1
            entry = self._entry(index)
            offset = self.offsets[entry]
            cons = kind.cases[words[offset + 1]]
            if words[offset] == CHAIN:
                before = index - self.starts[entry]
                width, count = words[offset + 3] - 1, words[offset + 4]
                first = offset + 6 + before * width
                values += self._elements(cons, cons.chain_places, first, count - before, width)
                word = words[offset + 5]
            else:
                width = words[offset + 3]
                values += self._elements(cons, cons.positions[:-1], offset + 4, 1, width)
                word = words[offset + 4 + cons.rest]
        return values

    def _elements(
        self, cons: Case, places: Sequence[int], first: int, count: int, width: int
    ) -> list[Any]:
        """The elements in `count` rows of words; `places` are the words of an element in a row."""
        end = first + count * width
        columns: list[list[Any]] = []
        for kind, place in zip(cons.kinds, places, strict=False):
            if type(kind) is ScalarKind:
                column = kind.column(self.numbers, first + place, count, width)
                columns.append(self.style.scalars.many(column))
            else:
                rows = self.words[first + place : end : width]
                columns.append([self._word(word, kind) for word in rows])
        return elements_of(cons, columns, count, self.style)


def _next(kind: Kind, tag: int) -> Kind:
    """The kind of the next object of a chain."""
    assert isinstance(kind, DataKind)
    return kind.cases[tag].objects[-1]


def elements_of(cons: Case, columns: Sequence[list[Any]], count: int, style: Style) -> list[Any]:
    """The elements of a list, from columns of their fields."""
    if cons.is_flat:
        return columns[0]
    parts = iter(columns)

    def build(structure: Any) -> Steps[list[Any]]:
        if not isinstance(structure, tuple):
            return next(parts)
        inside = []
        for each in structure:
            inside.append((yield build(each)))
        rows = zip(*inside, strict=True) if inside else [()] * count
        return [style.collect(row) for row in rows]

    return run(build(cons.constructor.fields[0]))
