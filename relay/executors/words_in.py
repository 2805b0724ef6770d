"""Python's values as the words that a native program takes (`relay.native.exchange`).

    42, np.ones(3), torch.ones(3), relay.nd.array(…)     scalars and tensors, read where they lie
    (a, b), [a, b]                                       tuples
    Cons(1, Nil)                                         data, as the interpreter has it
    Node(left, right)                                    objects of a class with a constructor's
                                                         name and as many fields (dataclasses)
    [a, b, c]                                            a List;   None or a value: an Option

The types of the program say what is meant. What is shared stays shared. Values nest as deep as they
like: what is inside of data waits in a list for its turn. A reader is made once for a type, and
knows all that can be known about its values before they come.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof, c_char
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, NoReturn

import numpy as np
from numpy import ndarray

from relay import dtypes
from relay.errors import Diagnostic, EvaluationError, RelayError
from relay.executors.arrays import as_array
from relay.interpreter.values import ConstructorValue, RefValue, TupleValue
from relay.lower.kernel import TensorSpec
from relay.native import layout
from relay.nd import NDArray
from relay.program.llvm.words import arrange
from relay.program.program import (
    ClosureSpec,
    Constructor,
    DataSpec,
    DataType,
    ReferenceSpec,
    ScalarSpec,
    Spec,
    spec_text,
)

UNKNOWN: Final = "?"
_INDEX: Final = 256  # an entry begins with its kind and its index

# A value, as the word that stands for it; what it needs besides is added to the message.
Read = Callable[[Any, "Message"], int]


class Message:
    """The values of one call, being written down."""

    __slots__ = ("argument", "bindings", "cells", "count", "held", "pending", "seen", "words")

    def __init__(self) -> None:
        self.argument = ""  # the name of the one that is read now
        self.words: list[int] = []  # the entries
        self.count = 0  # how many there are, or will be
        self.pending: list[tuple[Case | Cell, Sequence[Any], int]] = []  # entries to be written
        self.held: list[Any] = []  # what must live until the call has ended
        self.seen: dict[tuple[int, int], int] = {}  # (reader, identity) -> word
        self.cells: list[tuple[RefValue, int, ReferenceSpec]] = []  # and their indices
        self.bindings: dict[str, tuple[int, str]] = {}  # sizes by name, and where they were found

    def finish(self) -> None:
        """Write what waits, and what that needs, and so on."""
        pending = self.pending
        while pending:
            case, fields, index = pending.pop()
            case.write(fields, index, self)


class Mismatch(Exception):
    """A value is not of the type that is wanted. Where it is, who asked for it knows."""

    def __init__(self, expected: str, found: str, hint: str | None = None) -> None:
        super().__init__(expected, found)
        self.expected = expected
        self.found = found
        self.hint = hint
        self.places: list[str] = []  # innermost first


@dataclass(eq=False)
class Case:
    """A constructor: how its fields are read and where they lie."""

    name: str
    kind: str  # the name of the data type, without arguments
    tag: int
    structure: tuple[Any, ...]  # the types of the fields; those of tuples in tuples
    is_flat: bool  # no field is a tuple
    readers: list[Read] = field(default_factory=list)
    order: tuple[int, ...] | None = None  # which field each word holds, when not in order
    head: tuple[int, int, int] = (0, 0, 0)  # tag, objects, words

    def write(self, fields: Sequence[Any], index: int, message: Message) -> None:
        """Write the entry of a value made by this constructor."""
        if not self.is_flat:
            fields = take_apart(self.structure, fields)
        try:
            found = [read(part, message) for read, part in zip(self.readers, fields, strict=True)]
        except Mismatch as error:
            self._refuse(error, fields)
        if self.order is not None:
            found = [found[position] for position in self.order]
        message.words += (layout.DATA + _INDEX * index, *self.head, *found)

    def _refuse(self, error: Mismatch, fields: Sequence[Any]) -> NoReturn:
        """Say which field it was: the first that cannot be read."""
        for position, (read, part) in enumerate(zip(self.readers, fields, strict=True)):
            try:
                read(part, Message())
            except Mismatch:
                error.places.append(f"field {position} of `{self.name}`")
                break
        raise error


@dataclass(eq=False)
class Cell:
    """How what a cell holds is read."""

    readers: list[Read]
    order: tuple[int, ...]
    objects: int

    def write(self, contents: Sequence[Any], index: int, message: Message) -> None:
        """Write the entry of a cell."""
        parts = flat_tuple(contents)
        if len(parts) != len(self.readers):
            raise Mismatch(f"a reference to {_tuple_of(len(self.readers))}", _tuple_of(len(parts)))
        try:
            found = [read(part, message) for read, part in zip(self.readers, parts, strict=True)]
        except Mismatch as error:
            error.places.append("the contents of a reference")
            raise
        message.words += (layout.REFERENCE + _INDEX * index, self.objects, len(found))
        message.words += [found[position] for position in self.order]


class Readers:
    """The readers of a program's types; each is made when it is first asked for."""

    def __init__(self, types: Mapping[str, DataType]) -> None:
        self.types = types
        self._made: dict[Spec, Read] = {}
        self._cases: list[tuple[Case, Constructor]] = []

    def __getitem__(self, spec: Spec) -> Read:
        found = self._made.get(spec)
        if found is None:
            found = self._make(spec)
            while self._cases:  # types mention each other: the fields come after the types
                self._complete(*self._cases.pop())
        return found

    def _make(self, spec: Spec) -> Read:
        if spec in self._made:
            return self._made[spec]
        number = len(self._made)
        match spec:
            case ScalarSpec():
                made = scalar_reader(spec.dtype)
            case TensorSpec():
                made = tensor_reader(spec, number)
            case DataSpec():
                made = self._data_reader(self.types[spec.name], number)
            case ReferenceSpec():
                made = self._reference_reader(spec, number)
            case ClosureSpec():
                made = _refuse_functions
        self._made[spec] = made
        return made

    def _complete(self, case: Case, constructor: Constructor) -> None:
        places = constructor.places
        case.readers += [self._make(place) for place in places]

    def _data_reader(self, kind: DataType, number: int) -> Read:
        base = kind.name.split("[")[0]
        cases = {}
        for tag, constructor in enumerate(kind.constructors):
            arranged = arrange(constructor.places)
            flat = not any(isinstance(part, tuple) for part in constructor.fields)
            case = Case(constructor.name, base, tag, constructor.fields, flat)
            case.head = (tag, arranged.objects, arranged.words)
            case.order = _inverse(arranged.positions)
            cases[constructor.name] = case
            self._cases.append((case, constructor))
        return data_reader(kind, base, cases, number)

    def _reference_reader(self, spec: ReferenceSpec, number: int) -> Read:
        arranged = arrange(spec.contents)
        order = _inverse(arranged.positions) or tuple(range(len(spec.contents)))
        cell = Cell([], order, arranged.objects)

        def read(value: Any, message: Message) -> int:
            if not isinstance(value, RefValue):
                raise Mismatch("a reference", describe(value))
            key = (number, id(value))
            word = message.seen.get(key)
            if word is None:
                if not cell.readers:
                    cell.readers += [self[part] for part in spec.contents]
                word = message.seen[key] = 2 * message.count
                message.cells.append((value, message.count, spec))
                message.pending.append((cell, (value.value,), message.count))
                message.count += 1
            return word

        return read


def _inverse(positions: Sequence[int]) -> tuple[int, ...] | None:
    """Which field each word holds; None when they are in order."""
    order = sorted(range(len(positions)), key=positions.__getitem__)
    return None if order == list(range(len(positions))) else tuple(order)


# --- scalars ------------------------------------------------------------------------------------


def scalar_reader(dtype: str) -> Read:
    """Numbers, and whatever is a tensor without dimensions."""
    stored = dtypes.to_numpy(dtype)
    if dtype == "bool":
        return _boolean_reader(stored)
    if dtypes.is_integer(dtype):
        return _integer_reader(dtype, stored)
    return _float_reader(dtype, stored)


def _boolean_reader(stored: np.dtype) -> Read:
    def read(value: Any, message: Message) -> int:
        if value is True:
            return 1
        if value is False:
            return 0
        return int(bool(_zero_rank(value, "bool", stored)))

    return read


def _integer_reader(dtype: str, stored: np.dtype) -> Read:
    if dtype == "uint1":
        low, high = 0, 1
    else:
        width = int(dtype.removeprefix("u").removeprefix("int"))
        low = 0 if dtype.startswith("u") else -(1 << (width - 1))
        high = (1 << width) - 1 if dtype.startswith("u") else (1 << (width - 1)) - 1

    def read(value: Any, message: Message) -> int:
        if type(value) is not int:
            value = int(_zero_rank(value, dtype, stored))
        if not low <= value <= high:
            raise Mismatch(f"a number of type {dtype}, {low} to {high}", str(value))
        return value if value < 1 << 63 else value - (1 << 64)

    return read


def _float_reader(dtype: str, stored: np.dtype) -> Read:
    form = {"float16": "e", "float32": "f", "float64": "d"}.get(dtype)
    if form is None:  # the narrow ones have no code in `struct`
        as_integer = np.dtype(f"u{stored.itemsize}")

        def read_narrow(value: Any, message: Message) -> int:
            if type(value) not in (float, int):
                return int(_zero_rank(value, dtype, stored).view(as_integer))
            return int(np.array(value, stored).view(as_integer))

        return read_narrow

    pack = struct.Struct(form).pack
    unpack = struct.Struct({2: "h", 4: "i", 8: "q"}[stored.itemsize]).unpack

    def read(value: Any, message: Message) -> int:
        if type(value) is not float and type(value) is not int:
            value = float(_zero_rank(value, dtype, stored))
        try:
            word: int = unpack(pack(value))[0]
        except OverflowError:
            word = unpack(pack(_infinity(value, dtype)))[0]
        return word

    return read


def _infinity(value: float, dtype: str) -> float:
    """What becomes of a number that is too large for a type of floats, as NumPy has it."""
    try:
        return math.copysign(math.inf, value)
    except OverflowError:
        raise Mismatch(dtype, f"an integer of {value.bit_length()} bits") from None  # type: ignore[attr-defined]


def _zero_rank(value: Any, dtype: str, stored: np.dtype) -> np.ndarray:
    """A number that is not Python's: a tensor without dimensions, of the type wanted."""
    array = _array(value, ScalarSpec(dtype), stored)
    if array.dtype != stored or array.shape != ():
        raise Mismatch(dtype, _found(value, array), _conversion(array, ScalarSpec(dtype)))
    return array


# --- tensors ------------------------------------------------------------------------------------


def tensor_reader(spec: TensorSpec, number: int) -> Read:
    """Tensors, read where they lie when they are dense and in order."""
    stored = dtypes.to_numpy(spec.dtype)
    rank = len(spec.shape)
    shape = spec.shape
    any_size = all(size == UNKNOWN for size in shape)
    from_buffer = c_char.from_buffer

    def read(value: Any, message: Message) -> int:
        key = (number, id(value))
        if (word := message.seen.get(key)) is not None:
            return word
        array = value
        if type(array) is not ndarray:
            array = array.array if type(array) is NDArray else _array(value, spec, stored)
        if array.dtype is not stored and array.dtype != stored:
            raise Mismatch(spec_text(spec), _found(value, array), _conversion(array, spec))
        sizes = array.shape
        if not any_size and sizes != shape:
            _check_shape(sizes, spec, array, message)
        elif len(sizes) != rank:
            raise Mismatch(spec_text(spec), _found(value, array))
        flags = array.flags
        if not (flags.c_contiguous and flags.aligned):
            array = np.array(array, order="C", copy=True)
        try:
            place = addressof(from_buffer(array))
        except (TypeError, ValueError, BufferError):
            place = _address(array)
        index = message.count
        message.count = index + 1
        message.held.append((value, array))
        message.seen[key] = 2 * index
        message.words += (layout.TENSOR + _INDEX * index, rank, place, array.nbytes, *sizes)
        return 2 * index

    return read


def _address(array: np.ndarray) -> int:
    """Where the elements of an array begin that is read-only, empty, or of a type NumPy has not."""
    base = array.base
    # one that shows all of another that may be written begins where that does
    if type(base) is ndarray and base.nbytes == array.nbytes and base.flags.carray:
        try:
            return addressof(c_char.from_buffer(base))  # type: ignore[arg-type]
        except (TypeError, ValueError, BufferError):
            pass
    return int(array.__array_interface__["data"][0])


def _array(value: Any, spec: TensorSpec | ScalarSpec, stored: np.dtype) -> np.ndarray:
    try:
        return as_array(value, stored)
    except (RelayError, ValueError, TypeError, OverflowError):
        raise Mismatch(spec_text(spec), describe(value)) from None


def _check_shape(
    sizes: tuple[int, ...], spec: TensorSpec, array: np.ndarray, message: Message
) -> None:
    """The sizes that are numbers are these, and those of one name are all the same."""
    if len(sizes) != len(spec.shape):
        raise Mismatch(spec_text(spec), describe(array))
    for axis, (size, wanted) in enumerate(zip(sizes, spec.shape, strict=True)):
        if isinstance(wanted, int):
            if size != wanted:
                raise Mismatch(
                    f"{spec_text(spec)}, dimension {axis} of size {wanted}",
                    f"{describe(array)}, of size {size}",
                )
        elif wanted != UNKNOWN:
            here = (size, f"dimension {axis} of `{message.argument}`")
            before, where = message.bindings.setdefault(wanted, here)
            if before != size:
                raise Mismatch(
                    f"{spec_text(spec)} with {wanted} = {before}, which {where} is",
                    f"{describe(array)}, dimension {axis} of size {size}",
                )


# --- data ---------------------------------------------------------------------------------------


def data_reader(kind: DataType, base: str, cases: Mapping[str, Case], number: int) -> Read:
    """Values of a data type, from whatever Python has for them."""
    words = {name: 2 * case.tag + 1 for name, case in cases.items() if not kind[name].places}
    classes: dict[type, tuple[Case, Callable[[Any], Sequence[Any]]]] = {}
    as_list = base == "List" and set(cases) == {"Cons", "Nil"} and _is_list(kind)
    as_option = base == "Option" and set(cases) == {"Some", "None"}

    def read(value: Any, message: Message) -> int:
        key = (number, id(value))
        word = message.seen.get(key)
        if word is not None:
            return word
        cls = type(value)
        if cls is ConstructorValue:
            made = value.constructor
            case = cases.get(made.name_hint)
            if case is None or made.belong_to.name_hint != base:
                raise Mismatch(kind.name, describe(value))
            fields = value.fields
        elif as_list and (cls is list or cls is tuple):
            return read_list(value, key, message)
        elif cls in classes:
            case, getter = classes[cls]
            fields = getter(value)
        elif (found := _class_of(cls, cases)) is not None:
            classes[cls] = found
            case, getter = found
            fields = getter(value)
        elif as_option:
            return read_option(value, message)
        else:
            raise Mismatch(_kind_text(kind), describe(value), _class_hint(cls, cases))
        if (word := words.get(case.name)) is not None:
            return word
        if len(fields) != len(case.structure):
            raise Mismatch(
                f"`{case.name}` with {len(case.structure)} fields", f"{len(fields)} of them"
            )
        message.held.append(value)
        index = message.count
        message.count = index + 1
        message.seen[key] = word = 2 * index
        message.pending.append((case, fields, index))
        return word

    def read_list(values: Sequence[Any], key: tuple[int, int], message: Message) -> int:
        if not values:
            return words["Nil"]
        cons = cases["Cons"]
        index = message.count
        message.count = index + len(values)
        message.held.append(values)
        message.seen[key] = 2 * index
        last = index + len(values) - 1
        element = cons.structure[0]
        readers = cons.readers[:-1]
        head, order, out = cons.head, cons.order, message.words
        simple = not isinstance(element, tuple)
        for position, value in enumerate(values, index):
            parts = (value,) if simple else take_apart((element,), (value,))
            try:
                found = [one(part, message) for one, part in zip(readers, parts, strict=True)]
            except Mismatch as error:
                error.places.append(f"element {position - index} of the list")
                raise
            found.append(2 * position + 2 if position != last else words["Nil"])
            if order is not None:
                found = [found[place] for place in order]
            out += (layout.DATA + _INDEX * position, *head, *found)
        return 2 * index

    def read_option(value: Any, message: Message) -> int:
        if value is None:
            return words["None"]
        some = cases["Some"]
        index = message.count
        message.count = index + 1
        some.write((value,), index, message)
        return 2 * index

    return read


def _is_list(kind: DataType) -> bool:
    cons, nil = kind["Cons"], kind["Nil"]
    return len(cons.fields) == 2 and cons.fields[1] == DataSpec(kind.name) and not nil.places


def _class_of(
    cls: type, cases: Mapping[str, Case]
) -> tuple[Case, Callable[[Any], Sequence[Any]]] | None:
    """The constructor a Python class stands for, and how to get the fields of an instance."""
    case = cases.get(_constructor_name(cls))
    if case is None:
        return None
    names = getattr(cls, "__match_args__", ())
    if len(names) != len(case.structure):
        return None
    if not names:
        return case, lambda value: ()
    getter = attrgetter(*names)
    return case, (getter if len(names) > 1 else lambda value: (getter(value),))


def _constructor_name(cls: type) -> str:
    """The constructor that instances of `cls` are made by: its name, or what it is declared as."""
    declared = vars(cls).get("__relay_data__")
    case = declared.case(cls) if declared is not None else None
    return cls.__name__ if case is None else str(case.name)


def _class_hint(cls: type, cases: Mapping[str, Case]) -> str | None:
    if cls.__name__ not in cases:
        return None
    names = getattr(cls, "__match_args__", None)
    has = "no fields that can be seen" if names is None else f"{len(names)} fields"
    wanted = len(cases[cls.__name__].structure)
    return f"class {cls.__name__} has {has}, the constructor {wanted}; a dataclass shows its fields"


# --- tuples -------------------------------------------------------------------------------------


def take_apart(structure: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """The leaves of `values`, which must be nested like `structure`."""
    leaves = []
    pending = [*reversed(list(zip(structure, values, strict=True)))]
    while pending:
        wanted, value = pending.pop()
        if not isinstance(wanted, tuple):
            leaves.append(value)
            continue
        parts = value.fields if isinstance(value, TupleValue) else value
        if not isinstance(parts, tuple | list) or len(parts) != len(wanted):
            raise Mismatch(_tuple_of(len(wanted)), describe(value))
        pending.extend(reversed(list(zip(wanted, parts, strict=True))))
    return leaves


def flat_tuple(values: Sequence[Any]) -> list[Any]:
    """The leaves of nested tuples, from left to right."""
    leaves = []
    pending = [*reversed(values)]
    while pending:
        value = pending.pop()
        if isinstance(value, tuple | TupleValue):
            pending.extend(reversed(list(value)))
        else:
            leaves.append(value)
    return leaves


def _tuple_of(count: int) -> str:
    return f"a tuple of {count}" if count != 1 else "one value"


# --- functions, and errors ----------------------------------------------------------------------


def _refuse_functions(value: Any, message: Message) -> int:
    raise Mismatch(
        "data and tensors", describe(value), "functions cannot be passed to a compiled program"
    )


def describe(value: Any) -> str:
    """What a value is, in the words of types."""
    match value:
        case NDArray():
            return describe(value.array)
        case np.ndarray() | np.generic():
            shape = f"[{', '.join(map(str, value.shape))}]" if value.shape else ""
            return f"{value.dtype.name}{shape}"
        case ConstructorValue():
            made = value.constructor
            return f"a {made.belong_to.name_hint} made by `{made.name_hint}`"
        case RefValue():
            return "a reference"
        case TupleValue() | tuple():
            return f"a tuple of {len(value)}"
        case list():
            return f"a list of {len(value)}"
        case bool() | int() | float():
            return f"the {type(value).__name__} {value}"
        case None:
            return "None"
    return f"a {type(value).__name__}"


def _kind_text(kind: DataType) -> str:
    made = ", ".join(f"`{one.name}`" for one in kind.constructors)
    return f"a {kind.name}, made by {made}"


def _found(value: Any, array: np.ndarray) -> str:
    """What was found where a tensor was wanted; Python's own numbers as they are."""
    return describe(value if isinstance(value, bool | int | float) else array)


def _conversion(array: np.ndarray, spec: TensorSpec | ScalarSpec) -> str | None:
    rank = len(spec.shape) if isinstance(spec, TensorSpec) else 0
    return f"convert it: x.astype({spec.dtype!r})" if array.ndim == rank else None


def refusal(error: Mismatch, name: str) -> EvaluationError:
    """What is wrong with an argument, for whoever gave it."""
    where = ", ".join([f"argument `{name}`", *reversed(error.places)])
    return EvaluationError(
        Diagnostic(f"wrong value in {where}", None, error.expected, error.found, error.hint)
    )
