"""How a script is called, as a `Convention`: what the forms of its inputs and results say.

A list whose length a run knows, and a value of one of several forms, is handed over as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relay.executors.convention import Argument, Convention
from relay.executors.structure import COMPLEX, FIXED, TENSOR, VALUE, Node, Structure
from relay.frontend.pytorch.script.forms import (
    DictForm,
    Form,
    ListForm,
    NumberForm,
    ObjectForm,
    Same,
    TensorForm,
    TupleForm,
    number_type,
)

NUMBERS = {"bool": "bool", "int64": "int", "float64": "float"}


def convention_of(inputs: Iterable[tuple[str, Form]], results: Sequence[Form]) -> Convention:
    """The convention of a script with these inputs, by name, and results."""
    arguments = []
    for place, (name, form) in enumerate(inputs):
        if form.leaves():
            arguments.append(Argument(name, structure_of(form, known=True), place))
        else:
            value = form.value if isinstance(form, Same) else None
            fixed = value if isinstance(value, bool | int | float | str) else None
            one = Structure((Node(FIXED, value=fixed),))
            arguments.append(Argument(name, one, place, True, (fixed,)))
    result = results[0] if len(results) == 1 else TupleForm(tuple(results))
    return Convention(tuple(arguments), structure_of(result))


def structure_of(form: Form, *, known: bool = False) -> Structure:
    """The structure of a value for its caller; with `known`, numbers that are known must be
    these."""
    nodes: list[Node] = []
    pending = [form]
    while pending:
        one = pending.pop()
        node = _node(one, known)
        nodes.append(node)
        if node.keys:
            pending += reversed(one.parts)
    return Structure(tuple(nodes))


def _node(form: Form, known: bool) -> Node:
    match form:
        case TensorForm(type=ty, pairs=pairs):
            kinds = {inside: kind for kind, inside in COMPLEX.items()}
            return Node(kinds[ty.dtype] if pairs else TENSOR)
        case NumberForm(dtype=dtype):
            return Node(NUMBERS.get(dtype, TENSOR))
        case Same(value=value):
            kind = number_type(value)
            if kind is None:
                return Node(FIXED, value=value if isinstance(value, str) else None)
            is_number = known and isinstance(value, bool | int | float)
            return Node(NUMBERS[kind], value=value if is_number else None)
        case TupleForm(fields=fields):
            return Node("tuple", tuple(range(len(fields))))
        case ListForm(items=items):
            return Node("list", tuple(range(len(items))))
        case DictForm(keys=keys):
            return Node("dict", keys)
        case ObjectForm(name=name, attributes=attributes):
            return Node("record", attributes, f":{name}")
    return Node(VALUE)
