"""Values of the language as Python's own data.

    to_python(value)        Cons(1, Cons(2, Nil))  ->  [1, 2]          (a, b)  ->  (a, b)
                            Some(x)  ->  x         None  ->  None      tensors ->  NumPy arrays

A constructor with a class becomes an instance of it; others stay as they are. The other way needs
no function: wherever a value is wanted, Python's data is taken as the type there says
(`relay.target.llvm.executable.encode`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay.interpreter.values import ConstructorValue, TupleValue
from relay.nd import NDArray
from relay.tree import Steps, run


def to_python(value: Any, classes: Mapping[str, type] | None = None) -> Any:
    """`value` as Python has it; `classes` are those of constructors, by name.

    What is shared stays shared. Tensors without dimensions are numbers.
    """
    return run(_convert(value, classes or {}, {}))


def _convert(value: Any, classes: Mapping[str, type], done: dict[int, Any]) -> Steps[Any]:
    if isinstance(value, NDArray):
        return value.item() if value.shape == () else value.numpy()
    if id(value) in done:
        return done[id(value)]
    made: Any = value
    if isinstance(value, TupleValue):
        made = tuple((yield _convert_all(value.fields, classes, done)))
    elif isinstance(value, ConstructorValue):
        name, kind = value.constructor.name_hint, value.constructor.belong_to.name_hint
        if kind == "List" and name in ("Cons", "Nil"):
            made = yield _convert_all(_elements(value), classes, done)
        else:
            fields = yield _convert_all(value.fields, classes, done)
            if kind == "Option" and name in ("Some", "None"):
                made = fields[0] if fields else None
            elif name in classes:
                made = classes[name](*fields)
            else:
                made = ConstructorValue(value.tag, fields, value.constructor)
    done[id(value)] = made
    return made


def _convert_all(
    values: Any, classes: Mapping[str, type], done: dict[int, Any]
) -> Steps[list[Any]]:
    found = []
    for value in values:
        found.append((yield _convert(value, classes, done)))
    return found


def _elements(value: Any) -> list[Any]:
    elements = []
    while isinstance(value, ConstructorValue) and value.fields:
        elements.append(value.fields[0])
        value = value.fields[1]
    return elements
