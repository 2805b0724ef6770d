"""Tables of converters of torch's operators, one per family and namespace.

    table = Converters()                          # of aten
    @table("softmax.int", "_softmax")             # one overload, or all of a name
    def softmax(node, self, dim, dtype=None): …

A converter gets the arguments that its operator's schema names: tensors are expressions, numbers
are Python's or, where the program computes them, scalars. Those that say how memory is laid out
(`DROPPED`) are left out. Operators on complex numbers have tables of their own (`COMPLEX`).

Operators of one's own are another table:

    mine = Converters("my_library")
    relay.frontend.from_pytorch(model, inputs, operators=[mine])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from relay.frontend.common import converters as common
from relay.frontend.common.converters import Converter

# arguments about memory, and about how rather than what
DROPPED = frozenset({"layout", "device", "pin_memory", "memory_format", "non_blocking"})
COMPLEX = "complex "  # before the namespace of operators that take complex numbers


class Converters(common.Converters):
    """The converters of the operators of one namespace, by name or by name and overload."""

    def __init__(self, namespace: str = "aten", *, complex_numbers: bool = False) -> None:
        super().__init__(f"{COMPLEX}{namespace}" if complex_numbers else namespace)


def built_in() -> tuple[common.Converters, ...]:
    """The tables of all files under `operators`."""
    return common.tables_in(f"{__package__}.operators")


def find(
    tables: Sequence[common.Converters], namespace: str, name: str, overload: str
) -> Converter | None:
    """The converter of an overload of an operator."""
    names = (f"{name}.{overload or 'default'}", name)
    found = (common.find(tables, namespace, one, 1) for one in names)
    return next((one for one in found if one is not None), None)


def parts_of(target: Callable[..., Any]) -> tuple[str, str, str]:
    """The namespace, name and overload of what a graph calls."""
    if isinstance(target, torch._ops.OpOverload):
        namespace, _, name = target._schema.name.partition("::")
        return namespace, name, target._overloadname
    if isinstance(target, torch._ops.HigherOrderOperator):
        return "higher_order", str(target._name), ""
    is_python = target.__module__ in ("_operator", "math", "builtins")
    if is_python or (target.__module__ == "torch" and "sym_" in target.__name__):
        return "builtin", target.__name__, ""
    return target.__module__, target.__name__, ""
