"""Decodes the results of a function of a native program from the words in its context.

Tensors, and lists of scalars or tensors, are decoded in one pass, because their entries are in the
order of the results; other types by `decode.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Any, Final

import numpy as np

from relay.executors.arrays import plain
from relay.interpreter.values import RefValue
from relay.native import layout
from relay.native.call import ProgramContext
from relay.native.export import CHAIN
from relay.program.program import DataType, Spec, flatten, unflatten
from relay.target.llvm.executable.block import Block
from relay.target.llvm.executable.decode import Decoder, Free, copied, elements_of
from relay.target.llvm.executable.kinds import (
    Case,
    DataKind,
    Kind,
    Kinds,
    ScalarKind,
    TensorKind,
    Unpack,
)
from relay.target.llvm.executable.style import Style, collect

# A cell of the caller, its index in the message, and its type.
Cell = tuple[RefValue, int, Spec]

_CHAIN: Final[Unpack] = Struct("6q").unpack_from
_ONLY_CHAIN: Final[Unpack] = Struct("7q").unpack_from  # after the word that refers to it


class Results:
    """The results of a function, whose types are `structure`."""

    def __init__(self, types: Mapping[str, DataType], structure: Any, free: Free) -> None:
        self.structure = structure
        self.free = free
        self.kinds = Kinds(types)
        self.parts = [self.kinds[spec] for spec in flatten(structure)]
        self.objects = [part for part in self.parts if type(part) is not ScalarKind]
        self._has_scalars = len(self.objects) < len(self.parts)
        self._is_tuple = isinstance(structure, tuple)
        self._is_flat = self._is_tuple and not any(isinstance(one, tuple) for one in structure)
        self._only_tensors = all(type(part) is TensorKind for part in self.objects)
        self._simple = all(map(_is_simple, self.objects))
        # of a single list: its constructor; of scalars also their kind and word
        self._only_list: Case | None = None
        self._only_numbers: tuple[ScalarKind, int] | None = None
        if self._simple and len(self.objects) == 1:
            (only,) = self.objects
            self._only_list = cons = only.cons if isinstance(only, DataKind) else None
            if cons is not None and cons.is_flat and isinstance(cons.kinds[0], ScalarKind):
                self._only_numbers = cons.kinds[0], cons.chain_places[0]
        # the words of an export of only tensors
        self._tensor_words = -1
        self._places: list[tuple[np.dtype, int, int, slice]] = []
        if self._only_tensors:
            at = len(self.objects)
            for kind in self.objects:
                assert isinstance(kind, TensorKind)
                self._places.append((kind.dtype, at + 2, at + 4, slice(at + 5, at + kind.words)))
                at += kind.words
            self._tensor_words = at
            self._entries: Unpack = Struct(f"{at}q").unpack_from

    def read(
        self, context: ProgramContext, words: Sequence[int], cells: Sequence[Cell], style: Style
    ) -> Any:
        """The results of the last call in the context, whose scalars are in `words`."""
        parts = self._values(context, cells, style) if self.objects or cells else []
        if self._has_scalars:
            found = iter(parts)
            parts = [
                style.scalars.one(kind.decode(word), kind.dtype)
                if type(kind) is ScalarKind
                else next(found)
                for kind, word in zip(self.parts, words, strict=False)
            ]
        if not self._is_tuple:
            return parts[0]
        if self._is_flat:
            return style.collect(parts)
        return collect(unflatten(self.structure, parts), style)

    def _values(self, context: ProgramContext, cells: Sequence[Cell], style: Style) -> list[Any]:
        words, used, elements = context.export()
        if not cells:
            if used == self._tensor_words:
                return self._tensors(words, elements, style)
            if self._only_tensors or (self._simple and style.classes is not None):
                if self._only_list is not None:
                    root, entry, _, objects, width, count, _ = _ONLY_CHAIN(words)
                    if root == 0 and entry == CHAIN and objects == 1:  # of scalars
                        if self._only_numbers is not None:
                            kind, place = self._only_numbers
                            return [
                                style.scalars.many(kind.column(words, 7 + place, count, width - 1))
                            ]
                        rows = words, 7, count, width - 1
                        places = self._only_list.chain_places
                        return [_elements(self._only_list, places, rows, (), style)]
                return _simple(words, elements, self.objects, style, self.free)
        objects = len(self.objects)
        roots = words[: objects + len(cells)].tolist()
        kinds = [*self.objects, *(self.kinds[spec] for _, _, spec in cells)]
        known = {word: cell for word, (cell, _, _) in zip(roots[objects:], cells, strict=True)}
        pairs = list(zip(roots, kinds, strict=True))
        return Decoder(words[:used], elements, style, self.free).values(pairs, known)[:objects]

    def _tensors(self, words: np.ndarray, elements: np.ndarray, style: Style) -> list[Any]:
        """Decode consecutive entries of tensors, none of which is shared."""
        found = self._entries(words)
        arrays = []
        for dtype, place, owner, dims in self._places:
            if found[owner] == layout.INLINE:
                arrays.append(np.ndarray(found[dims], dtype, elements, found[place]).copy())
            else:
                where = found[place], found[dims], dtype
                arrays.append(_large(found[owner], *where, self.free))
        tensor = style.tensor
        return arrays if tensor is plain else [tensor(array) for array in arrays]


def _is_simple(kind: Kind) -> bool:
    """Whether a kind is a tensor, or a list of tensors or scalars."""
    if type(kind) is not DataKind or not kind.is_list:
        return type(kind) is TensorKind
    cons = kind.cons
    inside = cons.kinds[:-1]
    if not inside:  # empty tuples, in rows without words
        return False
    return all(type(part) is ScalarKind for part in inside) or (
        cons.is_flat and type(inside[0]) is TensorKind
    )


# A chain of list cells as rows of words: the index of the first cell, the words of an element in a
# row, the start of the rows, their number, the words per row, and the word of the tail.
_Chain = tuple[int, Sequence[int], int, int, int, int]

# Rows of words: all words, the start of the rows, their number, and the words per row.
_Rows = tuple[np.ndarray, int, int, int]


def _simple(
    words: np.ndarray, elements: np.ndarray, kinds: Sequence[Kind], style: Style, free: Free
) -> list[Any]:
    """Decode an export of tensors, and lists of tensors or scalars."""
    roots = words[: len(kinds)].tolist()
    offset = len(roots)  # in words
    made: list[Any] = []  # of every object: the array of a tensor, None for list cells
    chains: list[_Chain] = []
    # all arrays first: exported memory is owned before anything can fail
    for word, kind in zip(roots, kinds, strict=True):
        if word & 1 or word >> 1 < len(made):
            continue
        if type(kind) is TensorKind:
            made.append(_array(kind.entry(words, 8 * offset), kind.dtype, elements, free))
            offset += kind.words
            continue
        assert isinstance(kind, DataKind)
        cons = kind.cons
        element = cons.kinds[0]
        for _ in range((word >> 1) - len(made)):
            assert isinstance(element, TensorKind)
            made.append(_array(element.entry(words, 8 * offset), element.dtype, elements, free))
            offset += element.words
        start = len(made)
        entry, _, _, width, count, end = _CHAIN(words, 8 * offset)
        if entry == CHAIN:
            chains.append((start, cons.chain_places, offset + 6, count, width - 1, end))
            made += [None] * count
            offset += 6 + count * (width - 1)
        else:  # a single cell, with the tail among its words
            end = int(words[offset + 4 + cons.rest])
            chains.append((start, cons.positions[:-1], offset + 4, 1, width, end))
            made.append(None)
            offset += 4 + width
    tensor = style.tensor
    return [
        _list(word, kind.cons, words, made, chains, style)
        if type(kind) is DataKind
        else tensor(made[word >> 1])
        for word, kind in zip(roots, kinds, strict=True)
    ]


def _array(entry: tuple[int, ...], dtype: np.dtype, elements: np.ndarray, free: Free) -> np.ndarray:
    owner = entry[4]
    if owner == layout.INLINE:
        return np.ndarray(entry[5:], dtype, elements, entry[2]).copy()
    return _large(owner, entry[2], entry[5:], dtype, free)


def _large(
    owner: int, place: int, shape: tuple[int, ...], dtype: np.dtype, free: Free
) -> np.ndarray:
    if owner == layout.EXTERNAL:
        return copied(place, shape, dtype)
    return Block(owner, free).array(place, shape, dtype)


def _list(
    word: int,
    cons: Case,
    words: np.ndarray,
    made: Sequence[Any],
    chains: Sequence[_Chain],
    style: Style,
) -> list[Any]:
    values: list[Any] = []
    while not word & 1:
        index = word >> 1
        number = len(chains) - 1
        while chains[number][0] > index:
            number -= 1
        start, places, first, count, width, word = chains[number]
        before = index - start
        rows = words, first + before * width, count - before, width
        found = _elements(cons, places, rows, made, style)
        values = values + found if values else found
    return values


def _elements(
    cons: Case, places: Sequence[int], rows: _Rows, made: Sequence[Any], style: Style
) -> list[Any]:
    """The elements of a list from the rows of its cells."""
    if cons.is_flat:
        return _column(cons.kinds[0], places[0], rows, made, style)
    pairs = zip(cons.kinds, places, strict=False)
    columns = [_column(kind, place, rows, made, style) for kind, place in pairs]
    return elements_of(cons, columns, rows[2], style)


def _column(kind: Kind, place: int, rows: _Rows, made: Sequence[Any], style: Style) -> list[Any]:
    """The values in one word of each row."""
    words, first, count, width = rows
    if type(kind) is ScalarKind:
        return style.scalars.many(kind.column(words, first + place, count, width))
    indices = words[first + place : first + count * width : width].tolist()
    arrays = [made[word >> 1] for word in indices]
    return arrays if style.tensor is plain else [*map(style.tensor, arrays)]
