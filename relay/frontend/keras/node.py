"""A call of a layer or an operation as its converter sees it.

    @table("LeakyReLU")
    def leaky_relu(node, inputs):
        return op.nn.leaky_relu(inputs, node.option("negative_slope", 0.3))

Tensors are variables of known type, or constants. Masks of steps go along with tensors: a layer
that reads one asks for `node.mask(inputs)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from relay import dtypes, op
from relay.frontend.common.builder import Builder
from relay.frontend.keras.config import LayerInfo, layer_of
from relay.frontend.keras.slots import Slot
from relay.frontend.keras.stores import Store
from relay.immutable import frozen
from relay.ir.expr import Expr, const
from relay.ir.types import Type

if TYPE_CHECKING:
    from relay.frontend.keras.graph import Importer


@frozen
class Node(Builder):
    """One layer while it is converted."""

    info: LayerInfo
    slots: Sequence[Slot]
    store: Store
    prefix: str  # of the names of its parameters
    importer: Importer

    def named(self, operator: str) -> Node:
        """This call as one of another operation with the same options."""
        return replace(self, operator=operator)

    # --- configuration

    @property
    def config(self) -> Mapping[str, Any]:
        return self.info.config

    def option(self, name: str, default: Any) -> Any:
        """An option of the layer, of the type of its default unless that is None."""
        found = self.config.get(name)
        if found is None:
            return default
        kind = type(default)
        if default is None:
            return found
        if kind is float and isinstance(found, int):
            return float(found)
        if not isinstance(found, kind):
            raise self.refused(
                f"option `{name}` is of another type", kind.__name__, repr(found)[:60]
            )
        return found

    def whole_numbers(self, name: str, count: int, default: int = 1) -> tuple[int, ...]:
        """An option that is a number for each axis, or one for all."""
        found = self.config.get(name)
        found = default if found is None else found
        given = list(found) if isinstance(found, list | tuple) else [found] * count
        if len(given) != count or not all(type(one) is int for one in given):
            raise self.refused(
                f"option `{name}` does not fit", f"{count} integers", repr(found)[:60]
            )
        return tuple(given)

    def layer(self, name: str) -> LayerInfo:
        """A layer that this one has in its configuration."""
        return layer_of(self.config.get(name))

    @property
    def channels_last(self) -> bool:
        return bool(self.option("data_format", "channels_last") != "channels_first")

    # --- element types

    @property
    def compute_dtype(self) -> str:
        """The element type in which the layer computes."""
        return policy_of(self, self.config.get("dtype"))

    def floating(self, value: Expr) -> Expr:
        """A tensor of floats as the layer computes with it."""
        if dtypes.is_float(self.dtype(value)) and self.config.get("autocast", True):
            return self.as_dtype(value, self.compute_dtype)
        return value

    # --- variables

    def weight(self, name: str) -> Expr | None:
        """A variable of the layer in the type of its computation, None where it has none."""
        found = self.variable(name)
        if found is None or not dtypes.is_float(self.dtype(found)):
            return found
        return self.as_dtype(found, self.compute_dtype)

    def needed(self, name: str) -> Expr:
        """A variable that the layer must have."""
        found = self.weight(name)
        if found is None:
            raise self.refused(f"there is no variable `{name}` for it", found="a file without it")
        return found

    def variable(self, name: str) -> Expr | None:
        """A variable of the layer as it is."""
        slot = next((one for one in self.slots if one.name == name), None)
        if slot is None:
            return None
        return self.importer.parameter(self, slot)

    def array(self, name: str) -> np.ndarray | None:
        """The elements of a variable, which the layer needs to be known."""
        slot = next((one for one in self.slots if one.name == name), None)
        return None if slot is None else self.importer.array(self, slot)

    def type_of(self, value: Any) -> Type:
        """The type of an input, which a configuration may have as anything."""
        return super().type_of(self._computed(value))

    def _computed(self, value: Any) -> Expr:
        if not isinstance(value, Expr):
            raise self.misfit("an input is no tensor", "a tensor", repr(value)[:60])
        return value

    # --- masks

    def mask(self, value: Expr) -> Expr | None:
        """The mask of a tensor: the steps that are not padding."""
        return self.importer.masks.get(self._computed(value))

    def with_mask(self, value: Expr, mask: Expr | None) -> Expr:
        """A result with a mask of its own, or without one."""
        value = self.let(value)
        if mask is None:
            if value in self.importer.masks:
                value = self.let(op.copy(value))
        else:
            self.importer.masks[value] = mask
        self.importer.decided.add(value)
        return value

    # --- parts

    def sub(self, info: LayerInfo, store: Store, name: str = "") -> Node:
        """A layer inside of this one."""
        slots = self.importer.slots(info)
        prefix = f"{self.prefix}{name or info.name}/"
        return replace(self, operator=info.kind, info=info, slots=slots, store=store, prefix=prefix)

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        """The results of this layer for some arguments: what its converter gives."""
        return self.importer.apply(self, args, kwargs)

    # --- values

    def tensor(self, value: Any, like: Expr | None = None) -> Expr:
        """An argument as a tensor: constants of Python take the type of another one."""
        if isinstance(value, Expr):
            return value
        if isinstance(value, np.ndarray):
            return self.let(const(value))
        if isinstance(value, bool | int | float) and like is not None:
            dtype = self.dtype(like)
            if isinstance(value, float) and not dtypes.is_float(dtype):
                dtype = "float32"
            return const(value, dtype)
        if isinstance(value, bool | int | float):
            dtype = {bool: "bool", int: "int32", float: "float32"}[type(value)]
            return const(value, dtype)
        if isinstance(value, list | tuple):
            flat = np.asarray(value)
            if flat.dtype.kind in "biuf":
                wide = {"f": "float32", "i": "int32", "u": "int32", "b": "bool"}[flat.dtype.kind]
                return self.let(const(flat.astype(wide)))
        raise self.refused("an argument is no tensor", found=repr(value)[:60])


FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})


def policy_of(node: Builder, policy: Any) -> str:
    """The element type in which a policy computes: `mixed_float16` is float16."""
    if isinstance(policy, dict):
        config = policy.get("config")
        policy = config.get("name") if isinstance(config, dict) else None
    if policy is None:
        return "float32"
    name = str(policy)
    if name.startswith("mixed_"):
        return name.removeprefix("mixed_")
    if name in FLOATS or name in dtypes_known():
        return name
    raise node.refused("the layer is quantized", "a type of floats", name[:60])


def dtypes_known() -> frozenset[str]:
    """The element types of tensors."""
    whole = {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
    return FLOATS | frozenset(whole) | {"bool"}
