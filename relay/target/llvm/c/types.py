"""The types of a program in C: names, and the words of the parts of values.

    float32                 float
    float32[2, n]           net_float32 *          a tensor of any sizes
    List[float32[?]]        net_List *             List_2 and so on, if there are several
    ref(int32)              net_ref *
    (int32, bool)           its fields, one by one

Only the types of arguments and results are here, and those of their fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from relay import dtypes
from relay.errors import RelayError
from relay.immutable import frozen
from relay.lower.kernel import TensorSpec
from relay.native import layout
from relay.program import program as isa
from relay.target.llvm.program.words import arrange, is_object

# Keywords of C and C++, and names in the function that runs a model.
RESERVED: Final = frozenset(
    (
        *("alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char"),
        *("class", "const", "constexpr", "continue", "default", "delete", "do", "double", "else"),
        *("enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if"),
        *("inline", "int", "long", "mutable", "namespace", "new", "not", "null", "nullptr"),
        *("operator", "or", "private", "protected", "public", "register", "restrict", "return"),
        *("short", "signed", "sizeof", "static", "static_assert", "struct", "switch", "template"),
        *("this", "thread_local", "throw", "true", "try", "typedef", "typename", "typeof", "union"),
        *("unsigned", "using", "virtual", "void", "volatile", "while", "xor", "NULL", "model"),
        *("arguments", "results", "status"),
    )
)

_SCALARS: Final = {"bool": "bool", "float32": "float", "float64": "double"}


def c_scalar(dtype: str) -> str:
    """The C type of a scalar; an unsigned integer for types that C does not have."""
    if dtype in _SCALARS:
        return _SCALARS[dtype]
    bits = 8 * dtypes.to_numpy(dtype).itemsize
    signed = dtypes.is_integer(dtype) and not dtype.startswith("u")
    return f"{'' if signed else 'u'}int{bits}_t"


# The functions of every library, prefixed by the name of its model.
FUNCTIONS: Final = (
    *("create", "destroy", "error", "message", "set_threads", "set_stack", "set_memory"),
    *("set_watch", "tensor", "make", "field", "tag", "rank", "sizes", "elements", "hold"),
    *("release", "live", "invoke"),
)


@frozen
class CSlot:
    """A parameter, result or field of an object: its name, its type, the index of its word."""

    name: str
    spec: isa.Spec
    word: int


@frozen
class CConstructor:
    """A constructor of data or of cells."""

    name: str  # of the function
    text: str  # in Relay
    number: int  # in the table of the library
    kind: int  # of object
    tag: int
    places: tuple[CSlot, ...]  # in the order of the parameters in C

    @property
    def objects(self) -> list[CSlot]:
        """The object words, in the order of memory."""
        return sorted((p for p in self.places if is_object(p.spec)), key=lambda place: place.word)


@frozen
class CData:
    """A data type, or a type of cells."""

    name: str
    text: str  # in Relay
    constructors: tuple[CConstructor, ...]

    @property
    def is_data(self) -> bool:
        return self.constructors[0].kind == layout.DATA if self.constructors else True


@dataclass
class CTypes:
    """The types in the interface of a program. All names begin with that of the model."""

    program: isa.Program
    model: str
    elements: list[str] = field(default_factory=list)  # element types of tensors
    scalars: list[str] = field(default_factory=list)
    data: list[CData] = field(default_factory=list)

    def __post_init__(self) -> None:
        main = self.program["main"]
        names: set[str] = set(RESERVED)
        self.params = _params(main, names)
        self.results = _results(main, names)
        self.state = tuple(main.state_specs.items())
        self._taken = {f"{self.model}_{verb}" for verb in (*FUNCTIONS, "run", *dtypes.NAMES)}
        found = self._reachable([place.spec for place in (*self.params, *self.results)])
        self._names = self._name_all([spec for spec in found if _has_words(spec)])
        number = 0
        for spec in found:
            if isinstance(spec, TensorSpec) and spec.dtype not in self.elements:
                self.elements.append(spec.dtype)
            elif isinstance(spec, isa.ScalarSpec) and spec.dtype not in self.scalars:
                self.scalars.append(spec.dtype)
            elif _has_words(spec):
                self.data.append(self._data(spec, number))
                number += len(self.data[-1].constructors)

    @property
    def constructors(self) -> list[CConstructor]:
        """All constructors, by number."""
        return [one for data in self.data for one in data.constructors]

    def value(self, spec: isa.Spec) -> str:
        """The C type of a value: `float `, `net_List *`."""
        if isinstance(spec, isa.ScalarSpec):
            return f"{c_scalar(spec.dtype)} "
        if isinstance(spec, TensorSpec):
            return f"{self.model}_{spec.dtype} *"
        return f"{self._names[spec]} *"

    # --- collecting

    def _reachable(self, specs: Sequence[isa.Spec]) -> list[isa.Spec]:
        """Types and the types of their fields, each once."""
        found: dict[isa.Spec, None] = {}
        pending = list(reversed(specs))
        while pending:
            spec = pending.pop()
            if spec in found:
                continue
            if isinstance(spec, isa.ClosureSpec):
                raise RelayError(
                    f"a {isa.spec_text(spec)} cannot be handed to a program in C, nor come from "
                    "one: export a program that takes and gives tensors and data"
                )
            found[spec] = None
            pending += reversed(list(self._field_types(spec)))
        return list(found)

    def _field_types(self, spec: isa.Spec) -> Iterator[isa.Spec]:
        if isinstance(spec, isa.DataSpec):
            for constructor in self.program.type_table[spec.name].constructors:
                yield from constructor.places
        elif isinstance(spec, isa.ReferenceSpec):
            yield from spec.contents

    # --- names

    def _name_all(self, specs: Sequence[isa.Spec]) -> dict[isa.Spec, str]:
        """Unique names; the first type of a name gets it unchanged."""
        names = {spec: self._unique_name(f"{self.model}_{_base(spec)}") for spec in specs}
        self._taken.update(f"{name}_tag" for name in names.values())
        return names

    def _unique_name(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name

    # --- constructors

    def _data(self, spec: isa.Spec, number: int) -> CData:
        name = self._names[spec]
        if isinstance(spec, isa.ReferenceSpec):
            held = spec.held if isinstance(spec.held, tuple) else (spec.held,)
            contents = isa.Constructor("new", held)
            one = self._constructor(name, contents, number, layout.REFERENCE, 0)
            return CData(name, isa.spec_text(spec), (one,))
        assert isinstance(spec, isa.DataSpec)
        made = [
            self._constructor(name, one, number + tag, layout.DATA, tag)
            for tag, one in enumerate(self.program.type_table[spec.name].constructors)
        ]
        return CData(name, isa.spec_text(spec), tuple(made))

    def _constructor(
        self, name: str, constructor: isa.Constructor, number: int, kind: int, tag: int
    ) -> CConstructor:
        specs = constructor.places
        positions = arrange(specs).positions
        paths = [path for path, _ in _leaves("field", constructor.fields)]
        places = tuple(map(CSlot, paths, specs, positions))
        fields = ", ".join(map(isa.spec_text, constructor.fields))
        text = f"{constructor.name}({fields})" if fields else constructor.name
        function = self._unique_name(f"{name}_{c_name(constructor.name)}")
        self._taken.update(f"{function}{path.removeprefix('field')}" for path in paths)
        return CConstructor(function, text, number, kind, tag, places)


def _has_words(spec: isa.Spec) -> bool:
    return isinstance(spec, isa.DataSpec | isa.ReferenceSpec)


def _base(spec: isa.Spec) -> str:
    return c_name(spec.name.partition("[")[0]) if isinstance(spec, isa.DataSpec) else "ref"


def c_name(text: str) -> str:
    """`text` with underscores for what is not allowed in C names."""
    return re.sub(r"\W", "_", text, flags=re.ASCII)


# --- arguments and results ----------------------------------------------------------------------


def _params(main: isa.Function, names: set[str]) -> list[CSlot]:
    leaves = [leaf for param in main.arguments for leaf in _leaves(c_name(param.name), param.value)]
    return [
        CSlot(_unique(name, names), main.registers[register], number)
        for number, (name, register) in enumerate(leaves)
    ]


def _results(main: isa.Function, names: set[str]) -> list[CSlot]:
    leaves = _leaves("output", main.answer(main.results))
    return [CSlot(_unique(name, names), spec, i) for i, (name, spec) in enumerate(leaves)]


def _unique(name: str, names: set[str]) -> str:
    """A unique name of a C parameter."""
    free = name if name and not name[0].isdigit() else f"_{name}"
    while free in names:
        free += "_"
    names.add(free)
    return free


def _leaves(name: str, structure: Any) -> list[tuple[str, Any]]:
    """The leaves of nested tuples with their paths: `x_0`, `x_1_0`."""
    found: list[tuple[str, Any]] = []
    pending = [(name, structure)]
    while pending:
        path, part = pending.pop()
        if isinstance(part, tuple):
            pending += [(f"{path}_{i}", inner) for i, inner in reversed(list(enumerate(part)))]
        else:
            found.append((path, part))
    return found
