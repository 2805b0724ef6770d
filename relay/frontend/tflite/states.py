"""What a model keeps from one call to the next: variables, and tensors that operators write.

Each becomes a parameter of `main` that its attribute `State` names; the last value that is written
is a further result.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted
from relay.frontend.tflite.types import numpy_type
from relay.ir.expr import Constant, Expr, Var
from relay.ir.types import TensorType
from relay.nd import NDArray

if TYPE_CHECKING:
    from relay.frontend.tflite.node import Node
    from relay.frontend.tflite.reader import TensorInfo

MOST_BYTES = 1 << 30  # of the state of a model that begins as zeros


@dataclass
class States:
    """The values of variables at one place of a model, by name."""

    values: dict[str, Expr] = field(default_factory=dict)
    parameters: dict[str, Var] = field(default_factory=dict)
    begin: dict[str, NDArray] = field(default_factory=dict)
    handles: dict[str, Var] = field(default_factory=dict)
    begins: bool = False  # whether initial values are being assigned

    def handle(self, name: str) -> Var:
        """What stands for a variable where a model hands it on."""
        return self.handles.setdefault(name, Var(name, TensorType((), "int32")))

    def is_handle(self, value: Expr) -> bool:
        return isinstance(value, Var) and self.handles.get(value.name_hint) is value

    def _name(self, node: Node, handle: Expr) -> str:
        if not isinstance(handle, Var) or not self.is_handle(handle):
            raise node.refused("its input is no variable")
        return handle.name_hint

    def read(self, node: Node, handle: Expr) -> Expr:
        """The value of a variable."""
        name = self._name(node, handle)
        if name not in self.values:
            hint = "give it an initial value when the model is converted"
            raise node.refused(f"variable {quoted(name)} has no value", hint=hint)
        return self.values[name]

    def assign(self, node: Node, handle: Expr, value: Expr) -> None:
        """Give a variable a value."""
        name = self._name(node, handle)
        if not self.begins:
            if name not in self.parameters:
                raise node.refused(f"variable {quoted(name)} has no initial value")
            wanted = self.parameters[name].type_annotation
            if node.type_of(value) != wanted:
                text = "a variable keeps its type"
                raise node.refused(text, str(wanted), str(node.type_of(value)))
            self.values[name] = value
            return
        if not isinstance(value, Constant):
            raise node.refused(f"the initial value of {quoted(name)} is no constant")
        self._new(name, value.data)

    def _new(self, name: str, data: NDArray) -> Var:
        parameter = Var(name, TensorType(data.shape, data.dtype))
        self.parameters[name], self.begin[name] = parameter, data
        self.values[name] = parameter
        return parameter

    @contextmanager
    def beginning(self, node: Node) -> Iterator[None]:
        """A context in which assignments set initial values."""
        if self.begins or any(self.values[one] is not v for one, v in self.parameters.items()):
            raise node.refused("variables have been written before their initial values")
        self.begins = True
        yield
        self.begins = False

    def of_tensor(self, name: str, tensor: TensorInfo) -> Expr:
        """A tensor that operators write, which begins as zeros."""
        if name not in self.values:
            dtype = numpy_type(tensor.code, tensor.name)
            if np.prod(tensor.shape, dtype=object) * dtype.itemsize > MOST_BYTES:
                raise FrontendError.of(f"state {quoted(tensor.name)} is too large")
            self._new(name, NDArray(np.zeros(tensor.shape, dtype)))
        return self.values[name]

    def write_tensor(self, node: Node, name: str, value: Expr) -> None:
        """Give a tensor that an operator writes a value."""
        if name not in self.parameters:
            raise node.refused("its state is no variable of the model")
        wanted = self.parameters[name].type_annotation
        if node.type_of(value) != wanted:
            raise node.refused("a state keeps its type", str(wanted), str(node.type_of(value)))
        self.values[name] = value
