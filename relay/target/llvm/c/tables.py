"""Tables of an exported program, as constants in LLVM IR: types of arguments and fields, constants,
and names for messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from relay.errors import REAL_VALUE, VALUE
from relay.lower.kernel import TensorSpec
from relay.native import layout
from relay.program.native import Site
from relay.target.llvm.c.model import array_text, string_text
from relay.target.llvm.c.types import CConstructor, CSlot
from relay.target.llvm.program.words import is_object

# An argument or field: its rank, its label, its sizes.
PART: Final = "{ i64, ptr, ptr }"
# Kind, tag, number of object words, of words; its fields.
CONSTRUCTOR: Final = "{ i32, i32, i32, i32, ptr }"

# Instead of a rank.
NO_TENSOR: Final = -1
NO_OBJECT: Final = -2
# Instead of a size; named dynamic dimensions count down from the second.
ANY_SIZE: Final = -1
FIRST_NAMED: Final = -2


class Constants:
    """The constants of a program as relocatable objects.

    First a table of their offsets, then the objects; the addresses of elements are offsets into
    the weights.
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
    """The sizes of tensors, in deduplicated tables."""

    def __init__(self) -> None:
        self.names: list[str] = []  # of dynamic dimensions
        self._tables: dict[tuple[int, ...], str] = {}

    def of(self, spec: TensorSpec) -> str:
        """The symbol of the table of a type."""
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


def parts_text(name: str, parts: Sequence[tuple[str, CSlot]], sizes: Sizes) -> str:
    """A table of arguments or fields."""
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
    """The names of sites; for checks also formats of expected and found values."""
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
    """The message of a check as a format for `snprintf`, with the number as an i64."""
    before, shown, after = text.partition(VALUE)
    parts = [
        part.replace("%", "%%").replace(REAL_VALUE, "another number") for part in (before, after)
    ]
    return ("%lld" if shown else "").join(parts)


def _site(site: Site) -> str:
    what = f"kernel `{site.kernel}`" if site.kernel else site.message or "the model"
    return f"{what} in {site.where}" if site.where else what


def strings_text(name: str, strings: Sequence[str]) -> str:
    """A table of strings."""
    lines = [string_text(f"{name}_{number}", text) for number, text in enumerate(strings)]
    entries = [f"ptr @{name}_{number}" for number in range(len(strings))]
    return "\n".join([*lines, array_text(f"{name}s", "ptr", entries)])


def words_text(name: str, numbers: Sequence[int]) -> str:
    return array_text(name, "i64", [f"i64 {number}" for number in numbers])


def bytes_text(name: str, flags: Sequence[bool]) -> str:
    return array_text(name, "i8", [f"i8 {int(flag)}" for flag in flags])
