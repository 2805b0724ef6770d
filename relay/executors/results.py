"""What a function of a native program gives, made of the words it has left in a context.

Mostly that is a few tensors, and lists of numbers or of tensors. Then no entry is looked at twice:
they are in the order of the results, and the types say which comes next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from relay.executors.arrays import plain
from relay.executors.block import Block
from relay.executors.kinds import Case, DataKind, Kind, Kinds, ScalarKind, TensorKind
from relay.executors.style import Style, collect
from relay.executors.words_out import Free, Reading, copied, elements_of
from relay.interpreter.values import RefValue
from relay.native import layout
from relay.native.call import ProgramContext
from relay.native.exchange import CHAIN
from relay.program.program import DataType, Spec, flatten, unflatten

# A cell of the caller's, the number it went in as, and its type.
Cell = tuple[RefValue, int, Spec]


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

    def read(
        self, context: ProgramContext, words: Sequence[int], cells: Sequence[Cell], style: Style
    ) -> Any:
        """The value of what the last call in the context has left there, and in `words`."""
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
        words, elements = context.export()
        lists = style.classes is not None
        if not cells and (self._only_tensors or (lists and self._simple)):
            return _simple(words, elements, self.objects, style, self.free)
        objects = len(self.objects)
        roots = words[: objects + len(cells)].tolist()
        kinds = [*self.objects, *(self.kinds[spec] for _, _, spec in cells)]
        known = {word: cell for word, (cell, _, _) in zip(roots[objects:], cells, strict=True)}
        pairs = list(zip(roots, kinds, strict=True))
        return Reading(words, elements, style, self.free).values(pairs, known)[:objects]


def _is_simple(kind: Kind) -> bool:
    """Tensors, and lists of them or of scalars."""
    if type(kind) is not DataKind or not kind.is_list:
        return type(kind) is TensorKind
    cons = _cons(kind)
    inside = cons.kinds[:-1]
    return all(type(part) is ScalarKind for part in inside) or (
        cons.is_flat and type(inside[0]) is TensorKind
    )


class _Chain(NamedTuple):
    """Cells of a list, as rows of words."""

    start: int  # the number of the first
    cons: Case
    places: Sequence[int]  # in a row, of the parts of an element
    first: int  # where the rows begin
    cells: int
    width: int  # words of a row
    end: int  # the word for the rest of the last one


def _simple(
    words: np.ndarray, elements: np.ndarray, kinds: Sequence[Kind], style: Style, free: Free
) -> list[Any]:
    """The values of an export of tensors, and lists of them or of scalars."""
    roots = words[: len(kinds)].tolist()
    offset = len(roots)  # in words, as all of these
    made: list[Any] = []  # of every object: the array of a tensor, nothing of a cell
    chains: list[_Chain] = []
    # all arrays first: the memory that is ours now is held before anything can fail
    for word, kind in zip(roots, kinds, strict=True):
        if word & 1 or word >> 1 < len(made):
            continue
        if type(kind) is TensorKind:
            made.append(_array(kind.entry(words, 8 * offset), kind.dtype, elements, free))
            offset += kind.words
            continue
        assert isinstance(kind, DataKind)
        while words[offset] == layout.TENSOR:
            element = _cons(kind).kinds[0]
            assert isinstance(element, TensorKind)
            made.append(_array(element.entry(words, 8 * offset), element.dtype, elements, free))
            offset += element.words
        chain = _chain(words, offset, len(made), kind)
        chains.append(chain)
        made += [None] * chain.cells
        offset = chain.first + chain.cells * chain.width
    tensor = style.tensor
    return [
        tensor(made[word >> 1])
        if type(kind) is TensorKind
        else _list(word, words, made, chains, style)
        for word, kind in zip(roots, kinds, strict=True)
    ]


def _array(entry: tuple[int, ...], dtype: np.dtype, elements: np.ndarray, free: Free) -> np.ndarray:
    place, owner, shape = entry[2], entry[4], entry[5:]
    if owner == layout.INLINE:
        return np.ndarray(shape, dtype, elements, place).copy()
    if owner == layout.EXTERNAL:
        return copied(place, shape, dtype)
    return Block(owner, free).array(place, shape, dtype)


def _cons(kind: DataKind) -> Case:
    first, second = kind.cases
    return first if first.kinds else second


def _chain(words: np.ndarray, at: int, start: int, kind: DataKind) -> _Chain:
    cons = _cons(kind)
    if words[at] == CHAIN:
        length, count, end = words[at + 3 : at + 6].tolist()
        return _Chain(start, cons, cons.chain_places, at + 6, count, length - 1, end)
    # one cell: the word for the rest is among the others
    first, width = at + 4, int(words[at + 3])
    places = cons.positions[:-1]
    return _Chain(start, cons, places, first, 1, width, int(words[first + cons.rest]))


def _list(
    word: int, words: np.ndarray, made: Sequence[Any], chains: Sequence[_Chain], style: Style
) -> list[Any]:
    values: list[Any] = []
    while not word & 1:
        index = word >> 1
        chain = next(one for one in reversed(chains) if one.start <= index)
        _, cons, places, first, count, width, word = chain
        rows = words[first + (index - chain.start) * width : first + count * width]
        columns: list[list[Any]] = []
        for kind, place in zip(cons.kinds, places, strict=False):
            if type(kind) is ScalarKind:
                columns.append(style.scalars.many(kind.column(rows, place, width)))
            else:
                arrays = [made[one >> 1] for one in rows[place::width].tolist()]
                columns.append(arrays if style.tensor is plain else [*map(style.tensor, arrays)])
        found = elements_of(cons, columns, count - (index - chain.start), style)
        values = values + found if values else found
    return values
