"""What the functions of an exported program look up, as constants of LLVM IR.

What its arguments and fields have to be, its constants, and names for messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from relay.errors import REAL_VALUE, VALUE
from relay.lower.kernel import TensorSpec
from relay.native import layout
from relay.program.native import Site
from relay.target.llvm.c.model import string_text
from relay.target.llvm.c.types import CConstructor, Place
from relay.target.llvm.program.words import is_object

# What is known of a part of a value: how many dimensions, what it is called, its sizes.
PART: Final = "{ i64, ptr, ptr }"
# Kind, tag, object words, all words; what is known of its fields.
CONSTRUCTOR: Final = "{ i32, i32, i32, i32, ptr }"

# Of a part of a value, instead of the number of its dimensions.
NO_TENSOR: Final = -1
NO_OBJECT: Final = -2
# Of a dimension, instead of its size; those that have a name are counted down from the second.
ANY_SIZE: Final = -1
FIRST_NAMED: Final = -2


class Constants:
    """The constants of a program as objects, before anybody knows where they will be.

    First their places, then the objects, all counted from where this begins; the elements are
    counted from where the weights begin.
    """

    def __init__(self, constants: Sequence[tuple[int, tuple[int, ...], int]]) -> None:
        """Offset among the weights, shape, and bytes of each."""
        self._count = len(constants)
        self.words: list[int] = [0] * (-(-self._count // 8) * 8)
        for number, (offset, shape, size) in enumerate(constants):
            self.words[number] = 8 * len(self.words)
            rank = len(shape)
            fields = [layout.IMMORTAL, rank << 32 | layout.TENSOR, offset, layout.EXTERNAL, size]
            fields += shape
            self.words += fields + [0] * (-len(fields) % 8)

    def __len__(self) -> int:
        return self._count

    def text(self) -> str:
        return words_text("relay_constants", self.words)


class Sizes:
    """The sizes of tensors, in tables that are there once."""

    def __init__(self) -> None:
        self.names: list[str] = []  # of sizes that are equal wherever they stand
        self._tables: dict[tuple[int, ...], str] = {}

    def of(self, spec: TensorSpec) -> str:
        """The table of a type."""
        numbers = tuple(self._size(size) for size in spec.shape)
        return self._tables.setdefault(numbers, f"relay_sizes_{len(self._tables)}")

    def _size(self, size: int | str) -> int:
        if isinstance(size, int):
            return size
        if size == "?":
            return ANY_SIZE
        if size not in self.names:
            self.names.append(size)
        return FIRST_NAMED - self.names.index(size)

    def text(self) -> str:
        tables = [words_text(name, numbers) for numbers, name in self._tables.items()]
        return "\n".join([*tables, strings_text("relay_size_name", self.names)])


def parts_text(name: str, parts: Sequence[tuple[str, Place]], sizes: Sizes) -> str:
    """What is known of values: how many dimensions, what they are called, sizes."""
    lines, entries = [], []
    for number, (label, place) in enumerate(parts):
        spec = place.spec
        rank = NO_TENSOR if is_object(spec) else NO_OBJECT
        table = "null"
        if isinstance(spec, TensorSpec):
            rank = len(spec.shape)
            table = f"@{sizes.of(spec)}"
        lines.append(string_text(f"{name}_label_{number}", label))
        fields = f"i64 {rank}, ptr @{name}_label_{number}, ptr {table}"
        entries.append(f"{PART} {{ {fields} }}")
    return "\n".join([*lines, array_text(name, PART, entries)])


def constructors_text(constructors: Sequence[CConstructor], sizes: Sizes) -> str:
    lines, entries = [], []
    for one in constructors:
        parts = [
            (f"field {one.places.index(place)} of `{one.text.partition('(')[0]}`", place)
            for place in one.objects
        ]
        table = f"relay_parts_{one.number}"
        lines.append(parts_text(table, parts, sizes))
        fields = [one.kind, one.tag, len(parts), len(one.places)]
        numbers = ", ".join(f"i32 {number}" for number in fields)
        entries.append(f"{CONSTRUCTOR} {{ {numbers}, ptr @{table} }}")
    return "\n".join([*lines, array_text("relay_constructors", CONSTRUCTOR, entries)])


def sites_text(sites: Sequence[Site]) -> str:
    """What sites are called; and for checks, formats of what they expected and found."""
    expected, found = [], []
    for site in sites:
        name = _site(site).replace("%", "%%")
        expected.append(f"{name}: expected {_format(site.expected)}" if site.expected else name)
        comma = "," if site.expected else ":"
        found.append(f"{comma} found {_format(site.found)}" if site.found else "")
    names = strings_text("relay_site", [_site(site) for site in sites])
    formats = strings_text("relay_expected", expected), strings_text("relay_found", found)
    return "\n".join([names, *formats])


def _format(text: str) -> str:
    """A text of a check for `snprintf`, which gets its number as a word."""
    before, shown, after = text.partition(VALUE)
    parts = [
        part.replace("%", "%%").replace(REAL_VALUE, "another number") for part in (before, after)
    ]
    return ("%lld" if shown else "").join(parts)


def _site(site: Site) -> str:
    what = f"kernel `{site.kernel}`" if site.kernel else site.message or "the model"
    return f"{what} in {site.where}" if site.where else what


def strings_text(name: str, strings: Sequence[str]) -> str:
    """`name` is a table of strings."""
    lines = [string_text(f"{name}_{number}", text) for number, text in enumerate(strings)]
    entries = [f"ptr @{name}_{number}" for number in range(len(strings))]
    return "\n".join([*lines, array_text(f"{name}s", "ptr", entries)])


def words_text(name: str, numbers: Sequence[int]) -> str:
    return array_text(name, "i64", [f"i64 {number}" for number in numbers])


def bytes_text(name: str, flags: Sequence[bool]) -> str:
    return array_text(name, "i8", [f"i8 {int(flag)}" for flag in flags])


def array_text(name: str, kind: str, entries: Sequence[str]) -> str:
    body = f"[{', '.join(entries)}]" if entries else "zeroinitializer"
    return f"@{name} = internal constant [{len(entries)} x {kind}] {body}\n"
