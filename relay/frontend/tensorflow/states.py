"""Variables: parameters of `main` by name, and where a model writes them, state.

Each variable that is written is named by the attribute `State`; the last value that is written is a
further result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted
from relay.frontend.common.scope import type_of
from relay.frontend.tensorflow.values import Variable
from relay.ir.expr import Expr, Var
from relay.ir.types import TensorType
from relay.nd import NDArray

if TYPE_CHECKING:
    from relay.frontend.tensorflow.node import Node


@dataclass
class States:
    """The values of variables at one place of a model, by name."""

    load: Callable[[str], np.ndarray | None]  # the value that a file has for a variable
    names: dict[str, str] = field(default_factory=dict)  # of parameters, where they differ
    taken: set[str] = field(default_factory=set)  # names of other parameters
    values: dict[str, Expr] = field(default_factory=dict)  # of those that have been written
    parameters: dict[str, Var] = field(default_factory=dict)
    begin: dict[str, NDArray] = field(default_factory=dict)  # by names of parameters
    written: dict[str, None] = field(default_factory=dict)

    def parameter(self, name: str) -> Var:
        """The parameter that holds the initial value of a variable."""
        if name not in self.parameters:
            data = self.load(name)
            if data is None:
                hint = "freeze the graph, or give a saved model with its variables"
                raise FrontendError.of(f"variable {quoted(name)} has no value", hint=hint)
            held = NDArray(data)
            shown = self.names.get(name, name)
            while shown in self.taken:
                shown = f"{shown}_"
            self.taken.add(shown)
            self.parameters[name] = Var(shown, TensorType(held.shape, held.dtype))
            self.begin[shown] = held
        return self.parameters[name]

    def read(self, node: Node, handle: Variable) -> Expr:
        """The value of a variable."""
        if handle.name in self.values:
            return self.values[handle.name]
        try:
            return self.parameter(handle.name)
        except FrontendError as error:
            first = error.diagnostics[0]
            raise node.refused(first.message, first.expected, first.found, first.hint) from None

    def write(self, node: Node, handle: Variable, value: Expr) -> None:
        """Give a variable a value."""
        old = self.read(node, handle)
        ty = type_of(self.parameter(handle.name))
        if node.type_of(value) != ty:
            if not isinstance(ty, TensorType) or node.dtype(value) != ty.dtype:
                text = "a variable keeps its type"
                raise node.refused(text, str(type_of(old)), str(node.type_of(value)))
            value = node.declare(value, ty.shape, ty.dtype)
        self.values[handle.name] = value
        self.written[handle.name] = None
