"""Encode Python values as the words that a native program takes (`relay.native.exchange`).

    42, np.ones(3), torch.ones(3), relay.nd.array(…)     scalars and tensors, without a copy
    (a, b), [a, b]                                       tuples
    Cons(1, Nil)                                         data, as values of the interpreter
    Node(left, right)                                    instances of a class with the name and the
                                                         number of fields of a constructor
    [a, b, c]                                            a List;   None or a value: an Option

The types of the program resolve ambiguities. Sharing is preserved. There is one reader per type, so
that a call does no work that depends on the type alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from relay.interpreter.values import ConstructorValue, RefValue, TupleValue, constructor_name
from relay.lower.kernel import TensorSpec
from relay.native import layout
from relay.program import program as isa
from relay.target.llvm.executable.encode_leaves import scalar_reader, tensor_reader
from relay.target.llvm.executable.message import INDEX, Message, Mismatch, Read, describe
from relay.target.llvm.program.words import arrange

# The fields of an object, in order.
Fields = Callable[[Any], Sequence[Any]]
# Writes the entry with an index, given its fields.
Write = Callable[[Sequence[Any], int, Message], None]


class Readers:
    """The readers of the types of a program, made on demand."""

    def __init__(self, types: Mapping[str, isa.DataType]) -> None:
        self.types = types
        self.cases: dict[isa.DataSpec, dict[str, Case]] = {}
        self.classes: dict[isa.DataSpec, Classes] = {}  # seen so far
        self._made: dict[isa.Spec, Read] = {}
        self._incomplete: list[Case | Cell] = []

    def __getitem__(self, spec: isa.Spec) -> Read:
        found = self._made.get(spec) or self._make(spec)
        while self._incomplete:  # types may be recursive: fields come later
            entry = self._incomplete.pop()
            parts = entry.parts
            parts.readers += [self._made.get(one) or self._make(one) for one in parts.specs]
            if isinstance(entry, Case):
                entry.write = entry_writer(entry)
        return found

    def _make(self, spec: isa.Spec) -> Read:
        number = len(self._made)
        made: Read
        match spec:
            case isa.ScalarSpec():
                made = scalar_reader(spec.dtype)
            case TensorSpec():
                made = tensor_reader(spec, number)
            case isa.DataSpec():
                kind = self.types[spec.name]
                cases = [Case.of(one, tag) for tag, one in enumerate(kind.constructors)]
                self._incomplete += cases
                self.cases[spec] = {case.name: case for case in cases}
                self.classes[spec] = {}
                made = data_reader(kind, self.cases[spec], self.classes[spec], number)
            case isa.ReferenceSpec():
                cell = Cell(spec.held, Parts.of(spec.contents))
                self._incomplete.append(cell)
                made = reference_reader(spec, cell, number)
            case isa.ClosureSpec():
                made = _refuse_functions
        self._made[spec] = made
        return made


@dataclass(eq=False)
class Parts:
    """The fields of an object: their types, readers, and order in memory."""

    specs: tuple[isa.Spec, ...]
    objects: int  # number of object words, which come first
    order: tuple[int, ...] | None  # the field of each word, if not in order
    readers: list[Read] = field(default_factory=list)

    @classmethod
    def of(cls, specs: Sequence[isa.Spec]) -> Parts:
        arranged = arrange(specs)
        places = range(len(specs))
        order = sorted(places, key=arranged.positions.__getitem__)
        return cls(tuple(specs), arranged.objects, None if order == [*places] else tuple(order))

    def place_of(self, part: int) -> int:
        """The index of the word of a field."""
        return part if self.order is None else self.order.index(part)

    def words(self, values: Sequence[Any], message: Message) -> Sequence[int]:
        """The words of `values`, in the order of memory."""
        found = [read(value, message) for read, value in zip(self.readers, values, strict=True)]
        return found if self.order is None else [found[place] for place in self.order]

    def wrong(self, values: Sequence[Any]) -> int | None:
        """The index of the first of `values` that cannot be read."""
        for position, (read, value) in enumerate(zip(self.readers, values, strict=True)):
            try:
                read(value, Message())
            except Mismatch:
                return position
        return None


# --- data ---------------------------------------------------------------------------------------


@dataclass(eq=False)
class Case:
    """A constructor."""

    name: str
    structure: tuple[Any, ...]  # the types of the fields, with nested tuples
    is_flat: bool  # no field is a tuple
    head: tuple[int, int, int]  # tag, object words, words
    parts: Parts
    word: int | None  # of all its values, if it has no fields
    write: Write = field(init=False)  # writes the entry of a value; set when all readers are made

    @classmethod
    def of(cls, constructor: isa.Constructor, tag: int) -> Case:
        parts = Parts.of(constructor.places)
        flat = not any(isinstance(part, tuple) for part in constructor.fields)
        head = (tag, parts.objects, len(parts.specs))
        word = None if parts.specs else 2 * tag + 1
        return cls(constructor.name, constructor.fields, flat, head, parts, word)

    def locate(self, error: Mismatch, fields: Sequence[Any]) -> None:
        """Note which of the fields is wrong."""
        if not self.is_flat:
            fields = leaves_of(self.structure, fields)
        place = self.parts.wrong(fields)
        error.places.append(f"field {place} of `{self.name}`" if place is not None else self.name)


def entry_writer(case: Case) -> Write:
    """The writer of entries of a constructor."""
    parts, readers, order = case.parts, case.parts.readers, case.parts.order
    tag, objects, words = case.head
    if not case.is_flat or words > 2:

        def write(fields: Sequence[Any], index: int, message: Message) -> None:
            if not case.is_flat:
                fields = leaves_of(case.structure, fields)
            found = parts.words(fields, message)
            message.words += (layout.DATA + INDEX * index, tag, objects, words, *found)

        return write
    # fast paths for nearly all constructors
    if words == 2:
        first, second = readers

        def write_two(fields: Sequence[Any], index: int, message: Message) -> None:
            left, right = fields
            a = first(left, message)
            b = second(right, message)
            if order is None:
                message.words += (layout.DATA + INDEX * index, tag, objects, 2, a, b)
            else:
                message.words += (layout.DATA + INDEX * index, tag, objects, 2, b, a)

        return write_two

    def write_one(fields: Sequence[Any], index: int, message: Message) -> None:
        word = readers[0](fields[0], message)
        message.words += (layout.DATA + INDEX * index, tag, objects, 1, word)

    return write_one


# The constructor of a Python class, and how to get the fields of an instance; None for others.
Classes = dict[type, "tuple[Case, Fields] | None"]


def data_reader(
    kind: isa.DataType, cases: Mapping[str, Case], classes: Classes, number: int
) -> Read:
    """The reader of a data type."""
    base = kind.name.partition("[")[0]
    read_other = _other_reader(kind, cases, number)

    def read(value: Any, message: Message) -> int:
        key = (number, id(value))
        if (word := message.seen.get(key)) is not None:
            return word
        cls = type(value)
        if cls is ConstructorValue:
            made = value.constructor
            case = cases.get(made.name_hint)
            if case is None or made.belong_to.name_hint != base:
                raise Mismatch(_kind_text(kind), describe(value))
            fields = value.fields
        else:
            if cls not in classes:
                classes[cls] = _class_of(cls, cases)
            known = classes[cls]
            if known is None:
                return read_other(value, message)
            case, get = known
            fields = get(value)
        if case.word is not None:
            return case.word
        if len(fields) != len(case.structure):
            wanted = f"`{case.name}` with {len(case.structure)} fields"
            raise Mismatch(wanted, f"one with {len(fields)}")
        index = message.count
        message.count = index + 1
        message.seen[key] = 2 * index
        message.pending.append((case, fields, index))
        return 2 * index

    return read


def _other_reader(kind: isa.DataType, cases: Mapping[str, Case], number: int) -> Read:
    """The reader of Python lists, None, and values of an Option; it rejects others."""
    if kind.is_list:
        return _list_reader(kind, cases, number)
    if kind.is_option:
        return _option_reader(cases)

    def refuse(value: Any, message: Message) -> int:
        raise Mismatch(_kind_text(kind), describe(value), _class_hint(type(value), cases))

    return refuse


def _list_reader(kind: isa.DataType, cases: Mapping[str, Case], number: int) -> Read:
    cons, nil = cases["Cons"], cases["Nil"].word
    assert nil is not None
    element = cons.structure[0]
    # the word of the tail, from the end of an entry
    last = cons.parts.place_of(len(cons.parts.specs) - 1) - len(cons.parts.specs)

    def read(values: Any, message: Message) -> int:
        if not isinstance(values, list | tuple):
            hint = _class_hint(type(values), cases)
            raise Mismatch(f"{_kind_text(kind)}, or a list", describe(values), hint)
        if not values:
            return nil
        index = message.count
        message.count = index + len(values)
        message.held.append(values)
        message.seen[number, id(values)] = 2 * index
        readers = cons.parts.readers[:-1]
        order, head, out = cons.parts.order, cons.head, message.words
        position = index
        try:
            if len(readers) == 1 and cons.is_flat:
                one, swapped = readers[0], order is not None
                for position, value in enumerate(values, index):
                    word, rest = one(value, message), 2 * position + 2
                    pair = (rest, word) if swapped else (word, rest)
                    out += (layout.DATA + INDEX * position, *head, *pair)
            else:
                for position, value in enumerate(values, index):
                    parts = leaves_of((element,), (value,))
                    found = [one(part, message) for one, part in zip(readers, parts, strict=True)]
                    found.append(2 * position + 2)
                    if order is not None:
                        found = [found[place] for place in order]
                    out += (layout.DATA + INDEX * position, *head, *found)
        except Mismatch as error:
            error.places.append(f"element {position - index} of the list")
            raise
        out[last] = nil  # the tail of the last one
        return 2 * index

    return read


def _option_reader(cases: Mapping[str, Case]) -> Read:
    some, none = cases["Some"], cases["None"].word
    assert none is not None

    def read(value: Any, message: Message) -> int:
        if value is None:
            return none
        index = message.count
        message.count = index + 1
        some.write((value,), index, message)
        return 2 * index

    return read


def _class_of(cls: type, cases: Mapping[str, Case]) -> tuple[Case, Fields] | None:
    """The constructor of a Python class, and how to get the fields of an instance."""
    case = cases.get(constructor_name(cls))
    names = getattr(cls, "__match_args__", ())
    if case is None or len(names) != len(case.structure):
        return None
    if not names:
        return case, _no_fields
    get = attrgetter(*names)
    return case, (get if len(names) > 1 else lambda value: (get(value),))


def _no_fields(value: Any) -> Sequence[Any]:
    return ()


def _class_hint(cls: type, cases: Mapping[str, Case]) -> str | None:
    case = cases.get(constructor_name(cls))
    if case is None:
        return None
    names = getattr(cls, "__match_args__", ())
    return (
        f"class {cls.__name__} shows {len(names)} fields, the constructor has "
        f"{len(case.structure)}; a dataclass shows all of them"
    )


def _kind_text(kind: isa.DataType) -> str:
    made = ", ".join(f"`{one.name}`" for one in kind.constructors)
    return f"a {kind.name}, made by {made}"


# --- cells, functions ---------------------------------------------------------------------------


@dataclass(eq=False)
class Cell:
    """The cells of a type."""

    structure: Any  # of the contents: Spec, or nested tuples
    parts: Parts

    def write(self, fields: Sequence[Any], index: int, message: Message) -> None:
        """Write the entry of a cell with these contents."""
        found = self.parts.words(leaves_of([self.structure], fields), message)
        message.words += (layout.REFERENCE + INDEX * index, self.parts.objects, len(found), *found)

    def locate(self, error: Mismatch, fields: Sequence[Any]) -> None:
        """Add the location of an error."""
        error.places.append("the contents of a reference")


def reference_reader(spec: isa.ReferenceSpec, cell: Cell, number: int) -> Read:
    """The reader of cells."""

    def read(value: Any, message: Message) -> int:
        if not isinstance(value, RefValue):
            raise Mismatch("a reference", describe(value))
        key = (number, id(value))
        if (word := message.seen.get(key)) is not None:
            return word
        index = message.count
        message.count = index + 1
        message.seen[key] = 2 * index
        message.cells.append((value, index, spec))
        message.pending.append((cell, (value.value,), index))
        return 2 * index

    return read


def _refuse_functions(value: Any, message: Message) -> int:
    raise Mismatch(
        "data and tensors", describe(value), "functions cannot be passed to a compiled program"
    )


# --- tuples -------------------------------------------------------------------------------------


def leaves_of(structure: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """The leaves of `values`, which must be nested as `structure`."""
    leaves = []
    pending = [*reversed(list(zip(structure, values, strict=True)))]
    while pending:
        wanted, value = pending.pop()
        if not isinstance(wanted, tuple):
            leaves.append(value)
            continue
        parts = value.fields if isinstance(value, TupleValue) else value
        if not isinstance(parts, tuple | list) or len(parts) != len(wanted):
            count = len(wanted)
            raise Mismatch(f"a tuple of {count}" if count != 1 else "one value", describe(value))
        pending.extend(reversed(list(zip(wanted, parts, strict=True))))
    return leaves
