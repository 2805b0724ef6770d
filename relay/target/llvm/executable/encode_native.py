"""Encode plain Python arguments in native code (`relay.native.python_values`).

    plan = reading_plan(structures, readers)         once per function; None if not supported
    reading = Reading(plan, request, words)          the memory of one call at a time
    status = reading.read(args)                      the arguments, a tuple
    …
    reading.end()                                    after HOLDS, when the call is over

Native code gives up at any uncommon value, and then the readers of `encode.py` read all arguments.
The plan learns from them the constructors of classes.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
import threading
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from inspect import getattr_static
from types import MemberDescriptorType
from typing import Any, Final, NamedTuple

import numpy as np

from relay import dtypes
from relay.lower.kernel import TensorSpec
from relay.native import finalizer
from relay.native import python_values as native
from relay.native.call import program_runtime
from relay.program.program import DataSpec, ScalarSpec, Spec, flatten
from relay.target.llvm.executable.encode import Case, Classes, Readers
from relay.target.llvm.executable.encode_leaves import UNKNOWN, integer_range

_SPARE_CLASSES: Final = 8  # entries for classes, in addition to two per constructor


@cache
def python_table() -> array[int] | None:
    """The table of Python functions and objects; None if the object layout is unknown."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    if ctypes.sizeof(ctypes.c_void_p) != 8 or not all(map(_is_as_expected, _samples())):
        return None
    functions = [
        ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        for name in native.API
    ]
    objects = {
        "list": list,
        "tuple": tuple,
        "int": int,
        "float": float,
        "ndarray": np.ndarray,
        "None": None,
        "True": True,
        "False": False,
    }
    return array("q", [*functions, *(id(objects[name]) for name in native.OBJECTS)])


def _samples() -> list[np.ndarray]:
    grid = np.zeros((2, 3), np.int8)
    unaligned = np.zeros(9, np.int8)[1:].view(np.float32)
    return [np.zeros(3), grid, grid[1:], grid.T, grid[:, ::2], np.zeros(()), unaligned]


def _is_as_expected(sample: np.ndarray) -> bool:
    """Whether an array has the memory layout that native code expects."""
    place = id(sample)

    def word(offset: int) -> int:
        return ctypes.c_int64.from_address(place + offset).value

    def half(offset: int) -> int:
        return ctypes.c_int32.from_address(place + offset).value

    if word(native.OBJECT_TYPE) != id(np.ndarray) or word(native.ARRAY_DTYPE) != id(sample.dtype):
        return False
    if word(native.ARRAY_DATA) != sample.__array_interface__["data"][0]:
        return False
    if half(native.ARRAY_RANK) != sample.ndim:
        return False
    plain = half(native.ARRAY_FLAGS) & native.ARRAY_PLAIN == native.ARRAY_PLAIN
    if plain != (sample.flags.c_contiguous and sample.flags.aligned):
        return False
    sizes = (ctypes.c_int64 * sample.ndim).from_address(word(native.ARRAY_SIZES) or place)
    return tuple(sizes) == sample.shape


# --- the plan -----------------------------------------------------------------------------------


class _Record(NamedTuple):
    """The index of a record of a plan."""

    number: int


class _ClassTable(NamedTuple):
    """The class table of a data type in a plan."""

    record: _Record  # of the data type
    classes: _Record
    words: int  # per class
    most: int  # classes
    takes_others: bool  # also classes without a constructor
    cases: Mapping[str, _Record]


@dataclass(eq=False)
class Plan:
    """The plan for reading the arguments of a function in native code."""

    readers: Readers
    words: array[int]
    root: int  # offset of a record
    arguments: int  # number of their words
    symbols: int  # number of dynamic sizes
    offsets: Sequence[int]  # of records
    kinds: Mapping[DataSpec, _ClassTable]
    _known: dict[DataSpec, int] = field(default_factory=dict)  # number of classes that were added
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _kept: list[Any] = field(default_factory=list)  # objects whose addresses are in the plan

    def learn(self) -> None:
        """Add the classes that the readers have seen."""
        for spec, kind in self.kinds.items():
            classes = self.readers.classes[spec]
            if self._known.get(spec, 0) == len(classes):
                continue
            with self._lock:
                found = [*classes]
                for cls in found[self._known.get(spec, 0) :]:
                    self._add(cls, classes, kind)
                self._known[spec] = len(found)

    def _add(self, cls: type, classes: Classes, kind: _ClassTable) -> None:
        at = self.offsets[kind.record.number] // 8
        count = self.words[at + 3]
        found = classes[cls]
        case: Case | None = None if found is None else found[0]
        names = () if case is None else cls.__match_args__  # type: ignore[attr-defined]
        if case is None and not kind.takes_others:
            return
        if count == kind.most or not _is_plain(cls, names):
            return
        names = [sys.intern(name) for name in names]
        self._kept += (cls, *names)
        place = self.offsets[kind.classes.number] // 8 + count * kind.words
        self.words[place] = id(cls)
        self.words[place + 1] = 0 if case is None else self.offsets[kind.cases[case.name].number]
        for position, name in enumerate(names, place + 2):
            self.words[position] = id(name)
        self.words[at + 3] = count + 1


def _is_plain(cls: type, names: Sequence[str]) -> bool:
    """Whether getting a field of an instance runs no user code."""
    usual = (object.__getattribute__, tuple.__getattribute__)
    if getattr_static(cls, "__getattribute__") not in usual or hasattr(cls, "__getattr__"):
        return not names
    for name in names:
        if type(name) is not str:
            return False
        found = getattr_static(cls, name, None)
        if not isinstance(found, _DATA_DESCRIPTORS) and hasattr(type(found), "__get__"):
            return False
    return True


class _Pair(NamedTuple):
    first: Any


_DATA_DESCRIPTORS: Final = (MemberDescriptorType, type(vars(_Pair)["first"]))  # slots, named tuples


class _Planner:
    """Builds the records of a plan."""

    def __init__(self, readers: Readers) -> None:
        self.readers = readers
        self.records: list[list[int | _Record]] = []
        self.symbols: dict[str, int] = {}
        self.kept: list[Any] = []  # objects whose addresses are in records
        self.kinds: dict[DataSpec, _ClassTable] = {}
        self._made: dict[Spec, _Record] = {}
        self._incomplete: list[tuple[Case, _Record]] = []

    def add(self, *words: int | _Record) -> _Record:
        self.records.append([*words])
        return _Record(len(self.records) - 1)

    def fill(self, record: _Record, structure: Sequence[Any], places: Sequence[int]) -> None:
        """Append the record and the word of each field; `places` are the words of the leaves."""
        leaf = iter(places)
        pending = [(record, iter(structure))]
        while pending:
            into, parts = pending[-1]
            for part in parts:
                if isinstance(part, tuple):  # its fields come before the rest
                    inside = self.add(native.TUPLE, len(part))
                    self.records[into.number] += (inside, 0)
                    pending.append((inside, iter(part)))
                    break
                self.records[into.number] += (self.record(part), next(leaf))
            else:
                pending.pop()

    def record(self, spec: Spec) -> _Record:
        made = self._made.get(spec)
        if made is None:
            made = self._made[spec] = self.add(*self._words(spec))
            if isinstance(spec, DataSpec):
                self._data(spec, made)
        return made

    def complete(self) -> None:
        """Fill in the fields of cases, which may be recursive."""
        while self._incomplete:
            case, record = self._incomplete.pop()
            places = [case.parts.place_of(part) for part in range(len(case.parts.specs))]
            self.fill(record, case.structure, places)

    def _words(self, spec: Spec) -> list[int]:
        match spec:
            case ScalarSpec():
                return _scalar(spec.dtype)
            case TensorSpec():
                stored = dtypes.to_numpy(spec.dtype)
                self.kept.append(stored)
                sizes = [self._size(size) for size in spec.shape]
                return [native.TENSOR, id(stored), len(sizes), stored.itemsize, *sizes]
            case DataSpec():
                return [native.DATA]
        return [native.NOTHING]

    def _size(self, size: Any) -> int:
        if isinstance(size, int):
            return size
        if size == UNKNOWN:
            return native.ANY_SIZE
        return native.FIRST_SYMBOL - self.symbols.setdefault(str(size), len(self.symbols))

    def _data(self, spec: DataSpec, made: _Record) -> None:
        kind = self.readers.types[spec.name]
        cases = self.readers.cases[spec]
        records: dict[str, _Record] = {}
        for name, case in cases.items():
            record = self.add(case.word or 0, *case.head, len(case.structure))
            self._incomplete.append((case, record))
            records[name] = record
        words = 2 + max((len(case.structure) for case in cases.values()), default=0)
        most = 2 * len(cases) + _SPARE_CLASSES
        classes = self.add(*[0] * (words * most))
        self.kinds[spec] = _ClassTable(made, classes, words, most, kind.is_option, records)
        more: list[int | _Record] = [classes, 8 * words, 0, 0, 0, 0, 0]
        if kind.is_list:
            more[3:5] = [records["Cons"], cases["Nil"].word or 0]
        elif kind.is_option:
            more[5:7] = [records["Some"], cases["None"].word or 0]
        self.records[made.number] += more


def _scalar(dtype: str) -> list[int]:
    if dtype == "bool":
        return [native.BOOLEAN]
    if dtypes.is_integer(dtype):
        low, high = integer_range(dtype)
        return [native.INTEGER, low, min(high, (1 << 63) - 1)]
    return [{"float32": native.SINGLE, "float64": native.DOUBLE}.get(dtype, native.NOTHING)]


def reading_plan(structures: Sequence[Any], readers: Readers) -> Plan | None:
    """The plan for arguments of these types, with nested tuples; None if not supported."""
    if python_table() is None:
        return None
    planner = _Planner(readers)
    arguments = len(flatten(tuple(structures)))
    root = planner.add(native.TUPLE, len(structures))  # the first record: no case has offset 0
    planner.fill(root, structures, range(arguments))
    planner.complete()
    offsets, end = [], 0
    for record in planner.records:
        offsets.append(8 * end)
        end += len(record)
    words = array("q")
    for record in planner.records:
        words.extend(offsets[w.number] if isinstance(w, _Record) else w for w in record)
    return Plan(
        readers,
        words,
        offsets[root.number],
        arguments,
        len(planner.symbols),
        offsets,
        planner.kinds,
        _kept=planner.kept,
    )


# --- reading ------------------------------------------------------------------------------------


class Reading:
    """The memory for reading the arguments of one call at a time."""

    __slots__ = ("_address", "_end", "_perform", "_plan", "_read", "_release", "_symbols", "_words")
    __del__ = finalizer.calls("_release")

    def __init__(self, plan: Plan, request: int, words: int) -> None:
        """Entries are added to the request; the words of arguments are written to `words`."""
        table = python_table()
        assert table is not None
        self._plan = plan
        self._symbols = array("q", bytes(8 * max(1, plan.symbols)))
        self._words = array("q", bytes(native.READING_SIZE))
        for place, value in (
            (native.READING_API, table.buffer_info()[0]),
            (native.READING_PLAN, plan.words.buffer_info()[0]),
            (native.READING_ROOT, plan.root),
            (native.READING_REQUEST, request),
            (native.READING_WORDS, words),
            (native.READING_COUNT, plan.arguments),
            (native.READING_SYMBOLS, self._symbols.buffer_info()[0]),
            (native.READING_SYMBOL_COUNT, plan.symbols),
        ):
            self._words[place // 8] = value
        self._address = self._words.buffer_info()[0]
        runtime = program_runtime()
        self._read = runtime.read
        self._perform = runtime.read_and_perform
        self._end = runtime.end_reading
        self._release = partial(runtime.close_reading, self._address)

    def read(self, args: tuple[Any, ...]) -> int:
        """GAVE_UP, READ or HOLDS."""
        return self._read(self._address, args)

    def perform(self, args: tuple[Any, ...]) -> int:
        """Read, and run the request: GAVE_UP, or twice the status plus READ or HOLDS."""
        return self._perform(self._address, args)

    def end(self) -> None:
        """Release the objects that were kept alive."""
        self._end(self._address)
