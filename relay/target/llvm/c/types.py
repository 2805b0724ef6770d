"""The types of a program as C has them: names, and where the parts of values lie.

    float32                 float
    float32[2, n]           net_float32 *          a tensor, whatever its sizes are
    List[float32[?]]        net_List *             List_2 and so on, where there are several
    ref(int32)              net_ref *
    (int32, bool)           its parts, one by one

Only those are here that a program in C can come across: the types of what it hands over and is
handed, and of what these hold.
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
from relay.program.program import (
    ClosureSpec,
    Constructor,
    DataSpec,
    Function,
    Program,
    ReferenceSpec,
    ScalarSpec,
    Spec,
    spec_text,
)
from relay.target.llvm.program.words import arrange, is_object

# Names that mean something else in C or in C++, or in the function that runs a model.
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
    """The type of C that holds one number; what C has no numbers for is the bits of one."""
    if dtype in _SCALARS:
        return _SCALARS[dtype]
    bits = 8 * dtypes.to_numpy(dtype).itemsize
    signed = dtypes.is_integer(dtype) and not dtype.startswith("u")
    return f"{'' if signed else 'u'}int{bits}_t"


# The functions that a library has, whatever its model is, after the name of that.
FUNCTIONS: Final = (
    *("create", "destroy", "error", "message", "set_threads", "set_stack", "set_memory"),
    *("set_watch", "tensor", "make", "field", "tag", "rank", "sizes", "elements", "hold"),
    *("release", "live", "invoke"),
)


@frozen
class Place:
    """A value in an argument list, or in an object: a name for it, its type, the word it is in."""

    name: str
    spec: Spec
    word: int


@frozen
class CConstructor:
    """What makes values: a constructor of data, or making a cell. `number` is that in the table of
    the library."""

    name: str  # of the function
    text: str  # as Relay has it
    number: int
    kind: int  # of object
    tag: int
    places: tuple[Place, ...]  # in the order in which C gives them

    @property
    def objects(self) -> list[Place]:
        """Those whose words are object words, in their order in memory."""
        return sorted((p for p in self.places if is_object(p.spec)), key=lambda place: place.word)


@frozen
class CData:
    """A type of data, or of cells."""

    name: str
    text: str  # as Relay has it
    constructors: tuple[CConstructor, ...]

    @property
    def is_data(self) -> bool:
        return self.constructors[0].kind == layout.DATA if self.constructors else True


@dataclass
class CTypes:
    """The types of a program that others see. All names begin with that of the model."""

    program: Program
    model: str
    elements: list[str] = field(default_factory=list)  # element types of tensors
    scalars: list[str] = field(default_factory=list)
    data: list[CData] = field(default_factory=list)

    def __post_init__(self) -> None:
        main = self.program["main"]
        names: set[str] = set(RESERVED)
        self.params = _params(main, names)
        self.results = _results(main, names)
        self._taken = {f"{self.model}_{verb}" for verb in (*FUNCTIONS, "run", *dtypes.NAMES)}
        found = self._reachable([place.spec for place in (*self.params, *self.results)])
        self._names = self._name_all([spec for spec in found if _has_words(spec)])
        number = 0
        for spec in found:
            if isinstance(spec, TensorSpec) and spec.dtype not in self.elements:
                self.elements.append(spec.dtype)
            elif isinstance(spec, ScalarSpec) and spec.dtype not in self.scalars:
                self.scalars.append(spec.dtype)
            elif _has_words(spec):
                self.data.append(self._data(spec, number))
                number += len(self.data[-1].constructors)

    @property
    def constructors(self) -> list[CConstructor]:
        """All of them, by number."""
        return [one for data in self.data for one in data.constructors]

    def value(self, spec: Spec) -> str:
        """The C type of a value: `float `, `net_List *`."""
        if isinstance(spec, ScalarSpec):
            return f"{c_scalar(spec.dtype)} "
        if isinstance(spec, TensorSpec):
            return f"{self.model}_{spec.dtype} *"
        return f"{self._names[spec]} *"

    # --- which there are

    def _reachable(self, specs: Sequence[Spec]) -> list[Spec]:
        """Types, and the types of what their values hold, each once."""
        found: dict[Spec, None] = {}
        pending = list(reversed(specs))
        while pending:
            spec = pending.pop()
            if spec in found:
                continue
            if isinstance(spec, ClosureSpec):
                raise RelayError(
                    f"a {spec_text(spec)} cannot be handed to a program in C, nor come from one: "
                    "export a program that takes and gives tensors and data"
                )
            found[spec] = None
            pending += reversed(list(self._held(spec)))
        return list(found)

    def _held(self, spec: Spec) -> Iterator[Spec]:
        if isinstance(spec, DataSpec):
            for constructor in self.program.type_table[spec.name].constructors:
                yield from constructor.places
        elif isinstance(spec, ReferenceSpec):
            yield from spec.contents

    # --- their names

    def _name_all(self, specs: Sequence[Spec]) -> dict[Spec, str]:
        """The first of a name has it as it is."""
        names = {spec: self._free(f"{self.model}_{_base(spec)}") for spec in specs}
        self._taken.update(f"{name}_tag" for name in names.values())
        return names

    def _free(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name

    # --- their parts

    def _data(self, spec: Spec, number: int) -> CData:
        name = self._names[spec]
        if isinstance(spec, ReferenceSpec):
            held = spec.held if isinstance(spec.held, tuple) else (spec.held,)
            contents = Constructor("new", held)
            one = self._constructor(name, contents, number, layout.REFERENCE, 0)
            return CData(name, spec_text(spec), (one,))
        assert isinstance(spec, DataSpec)
        made = [
            self._constructor(name, one, number + tag, layout.DATA, tag)
            for tag, one in enumerate(self.program.type_table[spec.name].constructors)
        ]
        return CData(name, spec_text(spec), tuple(made))

    def _constructor(
        self, name: str, constructor: Constructor, number: int, kind: int, tag: int
    ) -> CConstructor:
        specs = constructor.places
        positions = arrange(specs).positions
        paths = _paths("field", constructor.fields)
        places = tuple(map(Place, paths, specs, positions))
        fields = ", ".join(map(spec_text, constructor.fields))
        text = f"{constructor.name}({fields})" if fields else constructor.name
        function = self._free(f"{name}_{plain(constructor.name)}")
        self._taken.update(f"{function}{path.removeprefix('field')}" for path in paths)
        return CConstructor(function, text, number, kind, tag, places)


def _has_words(spec: Spec) -> bool:
    return isinstance(spec, DataSpec | ReferenceSpec)


def _base(spec: Spec) -> str:
    return plain(spec.name.partition("[")[0]) if isinstance(spec, DataSpec) else "ref"


def plain(text: str) -> str:
    """`text` with what may be part of a name in C only."""
    return re.sub(r"\W", "_", text, flags=re.ASCII)


# --- arguments and results ----------------------------------------------------------------------


def _params(main: Function, names: set[str]) -> list[Place]:
    leaves = [leaf for param in main.params for leaf in _leaves(plain(param.name), param.value)]
    return [
        Place(_unused(name, names), main.registers[register], number)
        for number, (name, register) in enumerate(leaves)
    ]


def _results(main: Function, names: set[str]) -> list[Place]:
    leaves = _leaves("output", main.results)
    return [Place(_unused(name, names), spec, i) for i, (name, spec) in enumerate(leaves)]


def _unused(name: str, names: set[str]) -> str:
    """A name for a parameter in C that no other has."""
    free = name if name and not name[0].isdigit() else f"_{name}"
    while free in names:
        free += "_"
    names.add(free)
    return free


def _paths(name: str, structure: Any) -> list[str]:
    return [path for path, _ in _leaves(name, structure)]


def _leaves(name: str, structure: Any) -> list[tuple[str, Any]]:
    """The leaves of nested tuples with names that say where they are: `x_0`, `x_1_0`."""
    found: list[tuple[str, Any]] = []
    pending = [(name, structure)]
    while pending:
        path, part = pending.pop()
        if isinstance(part, tuple):
            pending += [(f"{path}_{i}", inner) for i, inner in reversed(list(enumerate(part)))]
        else:
            found.append((path, part))
    return found
