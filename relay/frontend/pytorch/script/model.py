"""What a model holds: parameters become parameters of `main`, what it changes becomes state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from relay import tree
from relay.errors import FrontendError, Span
from relay.frontend.pytorch.exported import array_of, constant
from relay.frontend.pytorch.script.coding import decoded, new, new_tensor
from relay.frontend.pytorch.script.forms import Form
from relay.frontend.pytorch.script.graph import Call
from relay.frontend.pytorch.script.path import Path
from relay.frontend.pytorch.script.values import (
    Attribute,
    Cell,
    DictCell,
    ListCell,
    Module,
    TensorCell,
)
from relay.ir.expr import Expr, Var
from relay.ir.types import TensorType
from relay.nd import NDArray


@dataclass
class Model:
    """The attributes of a model during a conversion."""

    root: Path  # where what the model holds is looked up
    writes: bool  # whether the program changes tensors in place
    state: Mapping[str, Form]  # of the attributes that are state, by path
    entered: Mapping[str, list[Expr]]  # the expressions that hold them
    params: dict[str, NDArray] = field(default_factory=dict)
    weights: list[Var] = field(default_factory=list)
    modules: dict[Any, Module] = field(default_factory=dict)
    tensors: dict[int, TensorCell] = field(default_factory=dict)  # by what torch stores
    owners: dict[Cell, Attribute] = field(default_factory=dict)
    handles: dict[str, Any] = field(default_factory=dict)  # initial values of attributes
    constants: dict[str, Any] = field(default_factory=dict)

    def module(self, handle: Any, name: str) -> Module:
        """The module of a handle of torch: one for each."""
        return self.modules.setdefault(handle, Module(handle, name))

    def attribute(self, path: Path, module: Module, name: str, span: Span) -> Any:
        """The value of an attribute."""
        place = Attribute(module, name)
        self._load(place, span)
        return path.get(place)

    def assign(self, path: Path, module: Module, name: str, value: Any, span: Span) -> None:
        """Assign an attribute."""
        place = Attribute(module, name)
        self._load(place, span)
        path.put(place, value)

    def _load(self, place: Attribute, span: Span) -> None:
        """Make the initial value of an attribute known to all paths."""
        if self.root.has(place):
            return
        if not place.module.handle.hasattr(place.name):
            raise FrontendError.of(f"the model has no attribute `{place.path}`", span)
        handle = place.module.handle.getattr(place.name)
        if place.path in self.state:
            self.handles[place.path] = handle
            value = decoded(self.root, self.entered[place.path], self.state[place.path])
            if isinstance(handle, torch.Tensor) and isinstance(value, TensorCell):
                self.tensors[handle._cdata] = value
        else:
            value = self.value(handle, place, span)
        self.root.put(place, value)
        for cell in _cells(self.root, value):
            self.owners.setdefault(cell, place)

    def value(self, handle: Any, place: Attribute, span: Span | None) -> Any:
        """A value that the model holds."""
        return tree.run(self._value(handle, place.path, span))

    def _value(self, handle: Any, name: str, span: Span | None) -> tree.Steps[Any]:
        match handle:
            case None | bool() | int() | float() | complex() | str() | torch.device():
                return handle
            case torch.Tensor():
                return self._tensor(handle, name)
            case list() | tuple():
                parts = []
                for at, one in enumerate(handle):
                    parts.append((yield self._value(one, f"{name}.{at}", span)))
                if isinstance(handle, tuple):
                    return tuple(parts)
                return new(self.root, ListCell(), tuple(parts))
            case dict():
                found = {}
                for key, one in handle.items():
                    found[key] = yield self._value(one, f"{name}.{key}", span)
                return new(self.root, DictCell(), found)
            case torch._C.ScriptModule():
                return self.module(handle, name)
            case torch.ScriptObject():  # packed weights, for converters
                return handle
        if hasattr(handle, "_c"):
            return self.module(handle._c, name)
        kind = type(handle).__name__
        raise FrontendError.of(f"the attribute `{name}` is not supported", span, found=kind)

    def _tensor(self, tensor: torch.Tensor, name: str) -> Any:
        key = tensor._cdata
        if key not in self.tensors:
            self.tensors[key] = new_tensor(self.root, self._content(tensor, name))
        return self.tensors[key]

    def _content(self, tensor: torch.Tensor, name: str) -> Any:
        if tensor.is_quantized or tensor.layout != torch.strided:
            found = str(tensor.layout if not tensor.is_quantized else tensor.dtype)
            raise FrontendError.of(f"the tensor `{name}` is not dense", found=found)
        if not tensor.dtype.is_floating_point or tensor.dim() == 0:
            return constant(tensor)
        self.params[name] = array_of(tensor)
        variable = Var(name, TensorType(self.params[name].shape, self.params[name].dtype))
        self.weights.append(variable)
        return variable

    def constant(self, path: Path, call: Call) -> Any:
        """The value of a constant of the program."""
        name = call.results[0]
        if isinstance(call.attribute, torch.Tensor):
            if name not in self.constants:
                self.constants[name] = new_tensor(self.root, constant(call.attribute))
            return self.constants[name]
        if isinstance(call.attribute, list | tuple | dict):
            return tree.run(self._literal(path, call.attribute))
        return call.attribute

    def _literal(self, path: Path, value: Any) -> tree.Steps[Any]:
        match value:
            case torch.Tensor():
                return new_tensor(path, constant(value))
            case list() | tuple():
                parts = []
                for one in value:
                    parts.append((yield self._literal(path, one)))
                return (
                    tuple(parts)
                    if isinstance(value, tuple)
                    else new(path, ListCell(), tuple(parts))
                )
            case dict():
                found = {}
                for key, one in value.items():
                    found[key] = yield self._literal(path, one)
                return new(path, DictCell(), found)
        return value


def _cells(path: Path, value: Any) -> list[Cell]:
    """The cells of a value."""
    found, pending = [], [value]
    while pending:
        one = pending.pop()
        if isinstance(one, tuple):
            pending += one
        elif isinstance(one, dict):
            pending += one.values()
        elif isinstance(one, Cell) and one not in found:
            found.append(one)
            pending.append(path.get(one))
    return found
