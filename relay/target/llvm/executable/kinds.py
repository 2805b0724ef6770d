"""The types of results, with everything that decoding needs to know about them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from relay import dtypes
from relay.ir.adt import TypeData
from relay.ir.expr import Constructor as ConstructorNode
from relay.ir.types import GlobalTypeVar
from relay.lower.kernel import TensorSpec
from relay.program import program as isa
from relay.target.llvm.executable.style import Number
from relay.target.llvm.program.words import arrange, is_object

Unpack = Callable[..., tuple[int, ...]]  # words of a buffer, from a byte offset


@dataclass(eq=False)
class TensorKind:
    """Tensors of an element type and a rank: `entry` reads the words of one from a buffer."""

    dtype: np.dtype
    entry: Unpack
    words: int  # of an entry


@dataclass(eq=False)
class ScalarKind:
    """Scalars, in the low bytes of words."""

    dtype: np.dtype
    decode: Callable[[int], Number]

    def __post_init__(self) -> None:
        self._is_bool = self.dtype.kind == "b"
        self._stored = np.dtype(np.uint8) if self._is_bool else self.dtype
        self._step = 8 // self.dtype.itemsize
        none = np.empty(0, np.int64)
        self._last = (none, none.view(self._stored))  # a cached view of the last words

    def column(self, words: np.ndarray, first: int, count: int, width: int) -> np.ndarray:
        """The scalars in `count` words, `width` words apart, without a copy."""
        known, stored = self._last
        if known is not words:
            stored = words.view(self._stored)
            self._last = (words, stored)
        step = self._step
        found = stored[first * step : (first + count * width) * step : width * step]
        return np.not_equal(found, 0) if self._is_bool else found  # any nonzero byte is true


@dataclass(eq=False)
class CellKind:
    """Cells, with the kinds and words of their contents."""

    structure: Any  # of the contents
    positions: tuple[int, ...]
    contents: list[Kind] = field(default_factory=list)


@dataclass(eq=False)
class FunctionKind:
    """Functions, which cannot be exported."""


@dataclass(eq=False)
class DataKind:
    """A data type; the kinds of fields are filled in later, because types may be recursive."""

    cases: list[Case] = field(default_factory=list)
    is_list: bool = False
    is_option: bool = False

    @cached_property
    def cons(self) -> Case:
        """The constructor of nonempty lists."""
        first, second = self.cases
        return first if first.kinds else second


Kind = TensorKind | ScalarKind | CellKind | DataKind | FunctionKind


@dataclass(eq=False)
class Case:
    """A constructor."""

    constructor: isa.Constructor
    node: ConstructorNode
    positions: tuple[int, ...]  # of the word of every field
    is_flat: bool  # no field is a tuple
    kinds: list[Kind] = field(default_factory=list)  # of every field
    objects: list[Kind] = field(default_factory=list)  # of every object word

    @property
    def rest(self) -> int:
        """The word with the tail of a list."""
        return self.positions[-1]

    @cached_property
    def chain_places(self) -> tuple[int, ...]:
        """The words of an element in a row of a chain, which has no word for the tail."""
        return tuple(place - (place > self.rest) for place in self.positions[:-1])


class Kinds:
    """The kinds of the types of a program."""

    def __init__(self, types: Mapping[str, isa.DataType]) -> None:
        self.types = types
        self._kinds: dict[isa.Spec, Kind] = {}
        self._incomplete: list[tuple[Case, isa.Constructor]] = []

    def __getitem__(self, spec: isa.Spec) -> Kind:
        found = self._kinds.get(spec) or self._make(spec)
        while self._incomplete:
            case, constructor = self._incomplete.pop()
            places = constructor.places
            case.kinds += [self._kinds.get(part) or self._make(part) for part in places]
            pairs = zip(places, case.kinds, strict=True)
            case.objects += [kind for spec, kind in pairs if is_object(spec)]
        return found

    def _make(self, spec: isa.Spec) -> Kind:
        made: Kind
        match spec:
            case TensorSpec():
                words = 5 + len(spec.shape)
                entry = struct.Struct(f"{words}q").unpack_from
                made = TensorKind(dtypes.to_numpy(spec.dtype), entry, words)
            case isa.ScalarSpec():
                made = ScalarKind(dtypes.to_numpy(spec.dtype), decoder(spec.dtype))
            case isa.DataSpec():
                made = self._data(self.types[spec.name])
            case isa.ReferenceSpec():
                made = CellKind(spec.held, arrange(spec.contents).positions)
                self._kinds[spec] = made
                made.contents += [self[part] for part in spec.contents]
            case _:
                made = FunctionKind()
        self._kinds[spec] = made
        return made

    def _data(self, kind: isa.DataType) -> DataKind:
        base = kind.name.partition("[")[0]
        header = GlobalTypeVar(base)
        made = DataKind()
        for one in kind.constructors:
            node = ConstructorNode(one.name, (), header)
            flat = not any(isinstance(part, tuple) for part in one.fields)
            made.cases.append(Case(one, node, arrange(one.places).positions, flat))
            self._incomplete.append((made.cases[-1], one))
        TypeData(header, (), tuple(case.node for case in made.cases))  # sets their tags
        made.is_list, made.is_option = kind.is_list, kind.is_option
        return made


def decoder(dtype: str) -> Callable[[int], Number]:
    """Decodes the low bytes of a word; the others are undefined."""
    stored = dtypes.to_numpy(dtype)
    bits = 8 * stored.itemsize
    mask = (1 << bits) - 1
    if dtype == "bool":
        return lambda word: bool(word & mask)
    if dtypes.is_integer(dtype):
        half = 0 if dtype.startswith("u") else 1 << (bits - 1)
        return lambda word: ((word + half) & mask) - half
    form = {"float16": "e", "float32": "f", "float64": "d"}.get(dtype)
    pack = struct.Struct({1: "B", 2: "H", 4: "I", 8: "Q"}[stored.itemsize]).pack
    if form is None:  # `struct` has no code for it
        return lambda word: float(np.frombuffer(pack(word & mask), stored)[0])
    unpack = struct.Struct(form).unpack
    return lambda word: unpack(pack(word & mask))[0]
