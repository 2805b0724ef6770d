"""The variables of layers: their names, and where files have them.

A layer says its own; those of a model or a wrapper are those of its layers:

Dense            kernel, bias
LSTM             cell: kernel, recurrent_kernel, bias
Bidirectional    forward_layer/cell: kernel, …; backward_layer/cell: kernel, …
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from relay.immutable import frozen


@frozen
class Slot:
    """A variable of a layer."""

    name: str  # in errors and parameters, unique in the layer
    path: tuple[str, ...] = ()  # the attributes that lead to the layer inside which has it
    is_trainable: bool = True


# (configuration) -> the variables, in the order in which files have them
Variables = Callable[[Mapping[str, Any]], Sequence[Slot]]


def none(config: Mapping[str, Any]) -> Sequence[Slot]:
    return ()


def kernel_bias(config: Mapping[str, Any]) -> Sequence[Slot]:
    return (Slot("kernel"), *bias(config))


def bias(config: Mapping[str, Any]) -> Sequence[Slot]:
    return (Slot("bias"),) if config.get("use_bias", True) else ()


def inside(attribute: str, slots: Sequence[Slot], name: str | None = None) -> list[Slot]:
    """The variables of a layer that another one has as an attribute."""
    name = attribute if name is None else name
    return [replace(one, name=f"{name}/{one.name}", path=(attribute, *one.path)) for one in slots]


def frozen_slots(slots: Sequence[Slot]) -> list[Slot]:
    """The variables of a layer that is not trained."""
    return [replace(one, is_trainable=False) for one in slots]
