"""Arguments for the programs of this folder: those that `expected.py` has results for, some written
here, and random ones where any do.

Every call of `arguments` makes them anew, because a program may write to the cells it is given.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import relay
from relay.interpreter.values import ConstructorValue, RefValue, TupleValue, to_value
from relay.ir.types import RefType, TupleType, TypeCall, substitute
from relay.testing import Seeded, random_inputs
from tests.programs.expected import CASES

PROGRAMS = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.relay"))}
WITHOUT_MAIN = {"constructors_as_values", "empty_module", "lstm_step", "only_types"}

# Where random numbers would not do: recursion down to 0, and what is no tensor.
_LEAF = ("Leaf",)
_BY_HAND = {
    "match_as_value": [(("Some", 5),), (("None",),)],
    "mutual_recursion": [(0,), (1,), (10,), (101,)],
    "patterns": [
        ((_LEAF, (4, True)),),
        ((("Node", ("Node", _LEAF, 3, _LEAF), 5, _LEAF), (1, False)),),
        ((("Node", _LEAF, 5, ("Node", _LEAF, 6, _LEAF)), (1, False)),),
    ],
    "recursion": [(0,), (1,), (50,)],
    "sequencing": [(5,), (-1,)],
}
_SEEDS = (1, 2, 3)  # sizes that are not written in the program differ between them


def load(name):
    return relay.parse(PROGRAMS[name].read_text(), f"{name}.relay")


def arguments(name, module):
    """Lists of arguments for `main`, as values."""
    written = CASES[name][1] if name in CASES else _BY_HAND.get(name)
    if written is None:
        return [list(positive(tuple(random_inputs(module, Seeded(seed))))) for seed in _SEEDS]
    types = [param.checked_type for param in module["main"].params]
    return [
        [value(data, ty, module) for data, ty in zip(one, types, strict=True)] for one in written
    ]


def positive(data):
    """Floats between 1/2 and 3/2, in place of others: a variance must not be negative."""
    if isinstance(data, tuple):
        return tuple(map(positive, data))
    if data.dtype.kind != "f":
        return data
    return np.random.default_rng(0).uniform(0.5, 1.5, data.shape).astype(data.dtype)


def value(data, ty, module):
    """Python's data as a value of a type: lists for `List`, a tuple of the constructor's name and
    its fields for other data types, and for a cell what it holds."""
    if isinstance(ty, TupleType):
        parts = zip(data, ty.fields, strict=True)
        return TupleValue(value(part, field, module) for part, field in parts)
    if isinstance(ty, RefType):
        return RefValue(value(data, ty.value, module))
    if not isinstance(ty, TypeCall):
        return to_value(data, ty)
    if isinstance(data, list):
        made = value(("Nil",), ty, module)
        for item in reversed(data):
            made = _build(("Cons", value(item, ty.args[0], module), made), ty, module)
        return made
    name, *fields = data
    constructor = module.get_constructor(name)
    known = dict(zip(module[ty.func].type_vars, ty.args, strict=True))
    inputs = [substitute(field, known) for field in constructor.inputs]
    parts = [value(field, wanted, module) for field, wanted in zip(fields, inputs, strict=True)]
    return _build((name, *parts), ty, module)


def _build(parts, ty, module):
    name, *fields = parts
    constructor = module.get_constructor(ty.func.name_hint, name)
    return ConstructorValue(constructor.tag, tuple(fields), constructor)
