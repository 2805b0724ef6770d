"""Conversion between Relay values and register values.

    NDArray                  a NumPy array, or a scalar
    TupleValue               its fields, one by one
    ConstructorValue         Data, as are Python lists, None and instances of a constructor's class
    RefValue                 Cell: the same cell each time, and written back after the call
    FunctionValue            Closure, of the same machine

The conversion follows the static types. Sharing is kept, so that large graphs stay small; there is
no recursion, since lists are long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relay import nd, tree
from relay.errors import Diagnostic, EvaluationError, RelayError
from relay.interpreter.values import (
    ConstructorValue,
    ObjectValue,
    RefValue,
    TupleValue,
    Value,
    constructor_name,
    describe,
    to_value,
)
from relay.ir import expr
from relay.ir.adt import TypeData
from relay.ir.types import GlobalTypeVar, TensorType
from relay.lower.kernel import TensorSpec
from relay.program import program as isa
from relay.tree import Steps, run
from relay.vm.objects import Data, VMCell, VMClosure
from relay.vm.scalars import from_memory, to_memory

# Calls a closure with flattened arguments; returns flattened results.
CallClosure = Callable[[VMClosure, isa.ClosureSpec, tuple[Any, ...]], Any]


class FunctionValue(ObjectValue):
    """A function that a program returned; it can be called, and passed to that program again."""

    __slots__ = ("_call", "_closure", "_spec")

    def __init__(self, closure: VMClosure, spec: isa.ClosureSpec, call: CallClosure) -> None:
        self._closure = closure
        self._spec = spec
        self._call = call

    def __call__(self, *args: Any) -> Any:
        return self._call(self._closure, self._spec, args)


class Definitions:
    """The constructors of a program's data types as Relay constructors, which are known by name."""

    def __init__(self, program: isa.Program) -> None:
        self.program = program
        self._constructors: dict[str, tuple[expr.Constructor, ...]] = {}

    def __getitem__(self, name: str) -> tuple[expr.Constructor, ...]:
        """The constructors of a data type, in order."""
        if name not in self._constructors:
            self._constructors[name] = self._made(name)
        return self._constructors[name]

    def _made(self, name: str) -> tuple[expr.Constructor, ...]:
        header = GlobalTypeVar(base_name(name))
        made = tuple(
            expr.Constructor(each.name, (), header)
            for each in self.program.type_table[name].constructors
        )
        TypeData(header, (), made)  # gives them their tags
        return made


def base_name(name: str) -> str:
    """`List` of `List[int32]`."""
    return name.partition("[")[0]


# --- in ------------------------------------------------------------------------------------------


@dataclass
class Importer:
    """Converts the arguments of one call. `call` calls closures of this machine."""

    program: isa.Program
    call: CallClosure
    known: dict[tuple[int, isa.Spec], Any] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)  # ids are only unique while their objects live
    cells: list[tuple[RefValue, VMCell, isa.ReferenceSpec]] = field(default_factory=list)
    pending: list[tuple[Data | VMCell, Iterable[tuple[isa.Spec, Any]]]] = field(
        default_factory=list
    )

    def take(self, structure: Any, data: Any, name: str) -> list[Any]:
        """`data` flattened; `structure` is a Spec, or nested tuples of them."""
        try:
            leaves = [self._leaf(spec, part) for spec, part in _pairs(structure, data)]
            while self.pending:
                shell, parts = self.pending.pop()
                filled = tuple([self._leaf(spec, part) for spec, part in parts])
                if isinstance(shell, Data):
                    shell.fields = filled
                else:
                    shell.contents = filled
        except _Misfit as misfit:
            message = f"{name}: {misfit.what}"
            found = Diagnostic(message, None, misfit.expected, misfit.found, misfit.hint)
            raise EvaluationError(found) from None
        return leaves

    def _leaf(self, spec: isa.Spec, data: Any) -> Any:
        match spec:
            case TensorSpec():
                return _tensor(spec, data)
            case isa.ScalarSpec():
                return from_memory(_tensor(TensorSpec((), spec.dtype), data), spec.dtype)
            case isa.ClosureSpec():
                return self._closure(spec, data)
        key = id(data), spec
        if key not in self.known:
            self.kept.append(data)
            convert: Any = self._data if isinstance(spec, isa.DataSpec) else self._cell
            self.known[key] = convert(spec, data)
        return self.known[key]

    def _data(self, spec: isa.DataSpec, data: Any) -> Data:
        kind = self.program.type_table[spec.name]
        if kind.is_list and isinstance(data, list | tuple):
            return self._list(kind, spec, data)
        name, given = _taken_apart(kind, data)
        for tag, constructor in enumerate(kind.constructors):
            if constructor.name == name and len(constructor.fields) == len(given):
                shell = Data(tag)
                self.pending.append((shell, _pairs(constructor.fields, given)))
                return shell
        raise _Misfit("it is a value of another type", isa.spec_text(spec), _described(data))

    def _list(self, kind: isa.DataType, spec: isa.DataSpec, items: Sequence[Any]) -> Data:
        """A Python list: its last element first, so that each has its tail."""
        tags = {one.name: tag for tag, one in enumerate(kind.constructors)}
        made = Data(tags["Nil"])
        for item in reversed(items):
            rest, made = made, Data(tags["Cons"])
            self.known[id(rest), spec] = rest
            self.kept.append(rest)
            self.pending.append((made, _pairs(kind["Cons"].fields, (item, rest))))
        return made

    def _cell(self, spec: isa.ReferenceSpec, data: Any) -> VMCell:
        if not isinstance(data, RefValue):
            raise _Misfit("it is a value of another type", isa.spec_text(spec), _described(data))
        cell = VMCell()
        self.cells.append((data, cell, spec))
        self.pending.append((cell, _pairs(spec.held, data.value)))
        return cell

    def _closure(self, spec: isa.ClosureSpec, data: Any) -> VMClosure:
        if isinstance(data, FunctionValue) and data._call == self.call and data._spec == spec:
            return data._closure
        raise _Misfit(
            "it is a function, and a compiled program takes only those it returned itself",
            isa.spec_text(spec),
            _described(data),
        )


def _taken_apart(kind: isa.DataType, data: Any) -> tuple[str, tuple[Any, ...]]:
    """The name of the constructor that a value of a data type is made by, and its fields."""
    if isinstance(data, ConstructorValue):
        made = data.constructor
        fits = made.belong_to.name_hint == base_name(kind.name)
        return (made.name_hint if fits else ""), data.fields
    name = constructor_name(type(data))
    if any(one.name == name for one in kind.constructors):
        names = getattr(data, "__match_args__", ())
        return name, tuple([getattr(data, field) for field in names])
    if kind.is_option:
        return ("None", ()) if data is None else ("Some", (data,))
    return "", ()


def _tensor(spec: TensorSpec, data: Any) -> np.ndarray:
    try:
        value = to_value(data, TensorType((), spec.dtype))
    except RelayError as error:
        raise _Misfit(f"it is no tensor ({error})", isa.spec_text(spec), None) from None
    if not isinstance(value, nd.NDArray):
        raise _Misfit("it is no tensor", isa.spec_text(spec), describe(value))
    array = value.array
    if value.dtype != spec.dtype or not _has_shape(array.shape, spec):
        hint = nd.conversion(data, spec.dtype) if value.dtype != spec.dtype else None
        raise _Misfit("it is another tensor", isa.spec_text(spec), describe(value), hint)
    if array.flags.c_contiguous and array.flags.aligned:
        return array
    return nd.copied(array)


def _has_shape(shape: tuple[int, ...], spec: TensorSpec) -> bool:
    return len(shape) == len(spec.shape) and all(
        size == wanted or not isinstance(wanted, int)
        for size, wanted in zip(shape, spec.shape, strict=True)
    )


def _pairs(structure: Any, data: Any) -> list[tuple[isa.Spec, Any]]:
    """Types and values flattened; the values must be nested like the types."""
    pairs = []
    pending = [(structure, data)]
    while pending:
        wanted, given = pending.pop()
        if not isinstance(wanted, tuple):
            pairs.append((wanted, given))
            continue
        fields = given.fields if isinstance(given, TupleValue) else given
        if not isinstance(fields, tuple | list) or len(fields) != len(wanted):
            raise _Misfit("it is nested in another way", isa.spec_text(wanted), _described(given))
        pending.extend(reversed(list(zip(wanted, fields, strict=True))))
    return pairs


def _described(data: Any) -> str:
    if isinstance(data, nd.NDArray | ObjectValue | nd.Storage | expr.Op | expr.Constructor):
        return describe(data)
    return f"a {type(data).__name__}"


@dataclass(eq=False)
class _Misfit(Exception):
    """A value of the wrong type."""

    what: str
    expected: str
    found: str | None
    hint: str | None = None


# --- out -----------------------------------------------------------------------------------------


class Exporter:
    """Converts the results of one call, and writes back the cells it was given."""

    def __init__(self, definitions: Definitions, importer: Importer) -> None:
        self._definitions = definitions
        self._call = importer.call
        self._given = importer.cells
        # a cell that was passed in is returned as the same RefValue
        self._known: dict[int, Value] = {id(cell): ref for ref, cell, _ in importer.cells}
        self._kept: list[Any] = []
        self._pending: list[tuple[Any, Any, tuple[Any, ...]]] = []

    def give(self, structure: Any, values: Iterable[Any]) -> Value:
        """Flattened values as one value nested like `structure`: a Spec, or tuples of them."""
        leaves = self._leaves(isa.flatten(structure), values)
        self._fill()
        return _as_value(isa.unflatten(structure, leaves))

    def write_back(self) -> None:
        """Update the caller's cells."""
        for ref, cell, spec in self._given:
            ref.value = self.give(spec.held, cell.contents)

    def _leaves(self, specs: Iterable[isa.Spec], values: Iterable[Any]) -> list[Value]:
        return [self._leaf(spec, value) for spec, value in zip(specs, values, strict=True)]

    def _leaf(self, spec: isa.Spec, value: Any) -> Value:
        match spec:
            case TensorSpec():
                return nd.NDArray(value)
            case isa.ScalarSpec():
                return nd.NDArray(to_memory(value, spec.dtype))
            case isa.ClosureSpec():
                return FunctionValue(value, spec, self._call)
        if id(value) not in self._known:
            self._kept.append(value)
            self._known[id(value)] = self._shell(spec, value)
        return self._known[id(value)]

    def _shell(self, spec: isa.DataSpec | isa.ReferenceSpec, value: Any) -> Value:
        """A value whose parts are filled in later: cells may form cycles."""
        if isinstance(spec, isa.ReferenceSpec):
            cell = RefValue(TupleValue(()))
            self._pending.append((cell, spec.held, value.contents))
            return cell
        constructor = self._definitions[spec.name][value.tag]
        data = ConstructorValue(constructor.tag, (), constructor)
        if value.fields:
            one = self._definitions.program.type_table[spec.name].constructors[value.tag]
            self._pending.append((data, one.fields, value.fields))
        return data

    def _fill(self) -> None:
        while self._pending:
            shell, structure, values = self._pending.pop()
            leaves = self._leaves(isa.flatten(structure), values)
            if isinstance(shell, RefValue):
                shell.value = _as_value(isa.unflatten(structure, leaves))
            else:
                shell.fields = tuple(map(_as_value, isa.unflatten(structure, leaves)))


def _as_value(nested: Any) -> Value:
    """Nested Python tuples of values as one value."""
    if not isinstance(nested, tuple):
        return nested  # type: ignore[no-any-return]

    def build(part: Any) -> Steps[Value]:
        if not isinstance(part, tuple):
            return part  # type: ignore[no-any-return]
        return TupleValue((yield tree.gather(map(build, part))))

    return run(build(nested))


def arranged(
    names: list[str], args: tuple[Any, ...], named: Mapping[str, Any], function: str
) -> list[Any]:
    """The arguments of a call in the order of the parameters."""

    def wrong(message: str) -> EvaluationError:
        listed = ", ".join(f"`{name}`" for name in names) or "none"
        return EvaluationError.of(
            f"{message} in a call of `@{function}`", expected=f"arguments for {listed}"
        )

    if len(args) > len(names):
        raise wrong("too many arguments")
    given = dict(enumerate(args))
    for name, data in named.items():
        if names.count(name) != 1:
            raise wrong(f"no parameter, or more than one, is called `{name}`")
        if names.index(name) in given:
            raise wrong(f"two arguments for `{name}`")
        given[names.index(name)] = data
    if missing := [f"`{name}`" for place, name in enumerate(names) if place not in given]:
        raise wrong(f"no argument for {', '.join(missing)}")
    return [given[place] for place in range(len(names))]
