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
from functools import partial
from typing import Any, Final

import numpy as np

from relay import dtypes
from relay.errors import Diagnostic, EvaluationError
from relay.executors.arrays import address, plain
from relay.interpreter.values import ConstructorValue, RefValue, TupleValue
from relay.ir.adt import TypeData
from relay.ir.expr import Constructor as ConstructorNode
from relay.ir.types import GlobalTypeVar
from relay.lower.kernel import TensorSpec
from relay.native import layout
from relay.nd import NDArray
from relay.program.llvm.words import arrange, is_object
from relay.program.program import (
    DataSpec,
    DataType,
    ReferenceSpec,
    ScalarSpec,
    Spec,
    unflatten,
)
from relay.tree import Steps, run


@dataclass(frozen=True)
class Style:
    """What values become."""

    tensor: Callable[[np.ndarray], Any]
    scalar: Callable[[np.ndarray], Any]
    collect: Callable[[Sequence[Any]], Any]  # tuples
    classes: Mapping[str, type] | None = None  # of constructors; None: as the interpreter has them

    @property
    def is_python(self) -> bool:
        """Whether lists and options are Python's."""
        return self.classes is not None


VALUES: Final = Style(NDArray, NDArray, TupleValue)


def python_style(
    classes: Mapping[str, type] | None = None,
    tensor: Callable[[np.ndarray], Any] = plain,
    scalar: Callable[[np.ndarray], Any] = np.ndarray.item,
) -> Style:
    """Python's own data; `classes` are those of constructors, by name."""
    return Style(tensor, scalar, tuple, classes or {})


@dataclass(frozen=True)
class Exported:
    """What an export has written: entries, and the elements of small tensors."""

    words: Sequence[int]
    elements: np.ndarray


@dataclass(eq=False)
class _Case:
    """A constructor: its parts in memory, and how a value is built."""

    name: str
    fields: tuple[Any, ...]
    objects: tuple[Spec, ...]  # the types of the object words
    positions: tuple[int, ...]  # of every place: its word
    scalars: dict[int, Callable[[int], np.ndarray]]  # by place
    is_flat: bool
    node: ConstructorNode
    words: int


@dataclass(eq=False)
class _Kind:
    """A data type."""

    cases: list[_Case]
    is_list: bool = False
    is_option: bool = False


@dataclass(eq=False)
class Writers:
    """Makes values of the results of a program. `free` gives a block back to the runtime."""

    types: Mapping[str, DataType]
    free: Callable[[int], None]
    _kinds: dict[str, _Kind] = field(default_factory=dict)

    def kind(self, name: str) -> _Kind:
        found = self._kinds.get(name)
        if found is None:
            found = self._kinds[name] = _kind(self.types[name])
        return found

    def values(
        self,
        exported: Exported,
        roots: Sequence[tuple[int, Spec]],
        style: Style = VALUES,
        known: Mapping[int, RefValue] | None = None,
    ) -> list[Any]:
        """The values of some words. `known` are cells there are already, by word."""
        return _Reading(self, exported, style, known or {}).read(roots)


class _Reading:
    """One export being read."""

    def __init__(
        self,
        writers: Writers,
        exported: Exported,
        style: Style,
        known: Mapping[int, RefValue],
    ) -> None:
        self.writers = writers
        self.words = exported.words
        self.elements = exported.elements
        self.style = style
        self.known = known

    def read(self, roots: Sequence[tuple[int, Spec]]) -> list[Any]:
        self.offsets = self._find_entries(len(roots))
        self.blocks = self._take_blocks()
        self.heads: set[int] = set()  # lists that are not only the rest of another
        self.specs = self._find_types(roots)
        self.made: list[Any] = [None] * len(self.offsets)
        cells = []
        for index, offset in enumerate(self.offsets):
            spec = self.specs[index]
            kind = self.words[offset]
            if kind == layout.TENSOR:
                assert isinstance(spec, TensorSpec)
                self.made[index] = self.style.tensor(self._tensor(index, offset, spec))
            elif kind == layout.DATA:
                assert isinstance(spec, DataSpec)
                self.made[index] = self._data(index, offset, self.writers.kind(spec.name))
            elif kind == layout.REFERENCE:
                self.made[index] = self.known.get(2 * index) or RefValue(None)  # type: ignore[arg-type]
                cells.append((index, offset))
            else:
                raise EvaluationError(
                    Diagnostic(
                        "the result holds a function, which cannot leave a compiled program",
                        expected="tensors and data",
                    )
                )
        for index, offset in cells:
            spec = self.specs[index]
            assert isinstance(spec, ReferenceSpec)
            parts = self._parts(offset + 4, spec.contents)
            self.made[index].value = parts[0] if len(parts) == 1 else self.style.collect(parts)
        return [self._word(word, spec) for word, spec in roots]

    # --- looking ahead

    def _find_entries(self, roots: int) -> list[int]:
        """Where each begins."""
        words = self.words
        offsets = []
        offset = roots
        end = len(words)
        while offset < end:
            offsets.append(offset)
            kind = words[offset]
            if kind == layout.TENSOR:
                offset += 5 + words[offset + 1]
            elif kind == layout.DATA:
                offset += 4 + words[offset + 3]
            elif kind == layout.REFERENCE:
                offset += 4 + words[offset + 2]
            else:
                offset += 1
        return offsets

    def _take_blocks(self) -> dict[int, _Block]:
        """The memory that is ours now, before anything can fail."""
        words = self.words
        return {
            offset: _Block(words[offset + 4], self.writers.free)
            for offset in self.offsets
            if words[offset] == layout.TENSOR and words[offset + 4] > layout.EXTERNAL
        }

    def _find_types(self, roots: Sequence[tuple[int, Spec]]) -> list[Spec | None]:
        words, offsets = self.words, self.offsets
        found: list[Spec | None] = [None] * len(offsets)
        python = self.style.is_python
        pending = [(word >> 1, spec) for word, spec in roots if not word & 1 and is_object(spec)]
        if python:
            self.heads.update(index for index, _ in pending)
        while pending:
            index, spec = pending.pop()
            if found[index] is not None:
                continue
            found[index] = spec
            offset = offsets[index]
            if isinstance(spec, DataSpec) and words[offset] == layout.DATA:
                kind = self.writers.kind(spec.name)
                case = kind.cases[words[offset + 1]]
                inside: Sequence[Spec] = case.objects
            elif isinstance(spec, ReferenceSpec) and words[offset] == layout.REFERENCE:
                kind = None
                inside = [part for part in spec.contents if is_object(part)]
            else:
                continue
            first = offset + 4
            for position, part in enumerate(inside):
                word = words[first + position]
                if not word & 1:
                    pending.append((word >> 1, part))
                    is_rest = kind is not None and kind.is_list and part == spec
                    if python and not is_rest:
                        self.heads.add(word >> 1)
        return found

    # --- values

    def _word(self, word: int, spec: Spec) -> Any:
        """The value of an object word whose entry is done."""
        if not word & 1:
            return self.made[word >> 1]
        assert isinstance(spec, DataSpec)
        kind = self.writers.kind(spec.name)
        if kind.is_list and self.style.is_python:
            return []
        return self._build(kind, kind.cases[word >> 1], ())

    def _parts(self, first: int, specs: Sequence[Spec]) -> list[Any]:
        """The values of words in the order of `specs`; object words lie first."""
        arranged = arrange(specs)
        return [
            self._word(self.words[first + position], spec)
            if is_object(spec)
            else self.style.scalar(scalar_decoder(spec)(self.words[first + position]))
            for spec, position in zip(specs, arranged.positions, strict=True)
        ]

    def _fields(self, offset: int, case: _Case) -> Sequence[Any]:
        words, made = self.words, self.made
        first = offset + 4
        fields: list[Any] = []
        for place, position in enumerate(case.positions):
            word = words[first + position]
            if place in case.scalars:
                fields.append(self.style.scalar(case.scalars[place](word)))
            elif word & 1:
                fields.append(self._word(word, case.objects[position]))
            else:
                fields.append(made[word >> 1])
        if case.is_flat:
            return fields
        return [collect(part, self.style) for part in unflatten(case.fields, fields)]

    def _data(self, index: int, offset: int, kind: _Kind) -> Any:
        if kind.is_list and self.style.is_python:
            return self._list(offset, kind) if index in self.heads else None
        case = kind.cases[self.words[offset + 1]]
        return self._build(kind, case, self._fields(offset, case))

    def _build(self, kind: _Kind, case: _Case, fields: Sequence[Any]) -> Any:
        classes = self.style.classes
        if classes is None:
            return ConstructorValue(case.node.tag, fields, case.node)
        if kind.is_option:
            return fields[0] if fields else None
        cls = classes.get(case.name)
        return ConstructorValue(case.node.tag, fields, case.node) if cls is None else cls(*fields)

    def _list(self, offset: int, kind: _Kind) -> list[Any]:
        cons = next(case for case in kind.cases if case.words)
        rest = cons.positions[-1]
        values = []
        while True:
            values.append(self._fields(offset, cons)[0])
            word = self.words[offset + 4 + rest]
            if word & 1:
                return values
            offset = self.offsets[word >> 1]

    def _tensor(self, index: int, offset: int, spec: TensorSpec) -> np.ndarray:
        words = self.words
        rank = words[offset + 1]
        shape = tuple(words[offset + 5 : offset + 5 + rank])
        dtype = dtypes.to_numpy(spec.dtype)
        if words[offset + 4] == layout.INLINE and words[offset + 3]:
            return np.ndarray(shape, dtype, self.elements, words[offset + 2])  # type: ignore[call-overload,no-any-return]
        block = self.blocks.get(offset)
        if block is not None:
            return block.array(words[offset + 2], shape, dtype)
        made = np.empty(shape, dtype)
        if made.nbytes:
            ctypes.memmove(address(made), words[offset + 2], made.nbytes)
        return made


class _Block:
    """Memory of the runtime's that belongs to an array, and goes with it."""

    __slots__ = ("__array_interface__", "_base", "_free")

    def __init__(self, base: int, free: Callable[[int], None]) -> None:
        self._base = base
        self._free = free

    def array(self, place: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """What lies there, as an array that holds this block."""
        nbytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        self.__array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (place, False),
            "version": 3,
        }
        return np.asarray(self).view(dtype).reshape(shape)

    def __del__(self) -> None:
        self._free(self._base)


# --- what is known of types before values come --------------------------------------------------


def _kind(kind: DataType) -> _Kind:
    base = kind.name.split("[")[0]
    header = GlobalTypeVar(base)
    cases = []
    for constructor in kind.constructors:
        places = constructor.places
        arranged = arrange(places)
        cases.append(
            _Case(
                constructor.name,
                constructor.fields,
                tuple(part for part in places if is_object(part)),
                arranged.positions,
                {i: scalar_decoder(p) for i, p in enumerate(places) if isinstance(p, ScalarSpec)},
                not any(isinstance(part, tuple) for part in constructor.fields),
                ConstructorNode(constructor.name, (), header),
                arranged.words,
            )
        )
    TypeData(header, (), tuple(case.node for case in cases))  # gives them their tags
    names = {case.name: case for case in cases}
    is_list = (
        base == "List"
        and set(names) == {"Cons", "Nil"}
        and len(names["Cons"].fields) == 2
        and names["Cons"].fields[1] == DataSpec(kind.name)
    )
    return _Kind(cases, is_list, base == "Option" and set(names) == {"Some", "None"})


def scalar_decoder(spec: Spec) -> Callable[[int], np.ndarray]:
    """The number in the low bytes of a word."""
    assert isinstance(spec, ScalarSpec)
    return partial(_decode, dtypes.to_numpy(spec.dtype))


_WORD: Final = struct.Struct("<q")


def _decode(dtype: np.dtype, word: int) -> np.ndarray:
    return np.frombuffer(_WORD.pack(word), dtype, 1).reshape(()).copy()


def words_at(place: int, nbytes: int) -> Sequence[int]:
    """The words that lie there."""
    return struct.unpack(f"{nbytes // 8}q", ctypes.string_at(place, nbytes))


def bytes_at(place: int, nbytes: int) -> np.ndarray:
    """A copy of the bytes that lie there."""
    made = np.empty(nbytes, np.uint8)
    if nbytes:
        ctypes.memmove(address(made), place, nbytes)
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
