"""Where the variables of layers are: in a model object, in a `.keras` file, in an old `.h5` file.

A store is asked for what a layer has at a path of attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted
from relay.frontend.keras.config import LayerInfo, ModelInfo, broken
from relay.frontend.keras.slots import Slot
from relay.immutable import frozen

VARIABLES = "vars"  # the group of the variables of a layer itself
_CLASSES = {"GroupQueryAttention": "GroupedQueryAttention"}  # whose names in Keras are others


class Store(Protocol):
    """The variables of one layer, or of a model."""

    def own(self) -> Sequence[np.ndarray]:
        """The variables of the layer itself."""
        ...

    def part(self, attribute: str) -> Store:
        """Those of a layer that it has as an attribute."""
        ...

    def items(self, attribute: str, kinds: Sequence[str]) -> Sequence[Store]:
        """Those of the layers of an attribute that is a list."""
        ...

    def layers(self, model: ModelInfo, slots: Mapping[str, Sequence[Slot]]) -> Mapping[str, Store]:
        """Those of the layers of a model, by name."""
        ...


@frozen
class ObjectStore:
    """The variables of a layer object of Keras."""

    layer: Any

    def own(self) -> Sequence[np.ndarray]:
        kept: dict[str, Any] = {}
        self.layer.save_own_variables(kept)
        return [as_array(one) for one in kept.values()]

    def part(self, attribute: str) -> Store:
        return ObjectStore(getattr(self.layer, attribute))

    def items(self, attribute: str, kinds: Sequence[str]) -> Sequence[Store]:
        return [ObjectStore(one) for one in getattr(self.layer, attribute)]

    def layers(self, model: ModelInfo, slots: Mapping[str, Sequence[Slot]]) -> Mapping[str, Store]:
        return {one.name: ObjectStore(one) for one in self.layer._flatten_layers(False, False)} | {
            one.name: ObjectStore(one) for one in self.layer.layers
        }


def as_array(value: Any) -> np.ndarray:
    """A variable of any backend as an array."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            import ml_dtypes

            return np.asarray(value.float().numpy()).astype(ml_dtypes.bfloat16)
    return np.asarray(value)


@frozen
class GroupStore:
    """The variables in a group of a `.weights.h5` file."""

    arrays: Mapping[str, np.ndarray]  # by path
    path: str = ""

    def own(self) -> Sequence[np.ndarray]:
        found: list[np.ndarray] = []
        while (one := self.arrays.get(self._inside(f"{VARIABLES}/{len(found)}"))) is not None:
            found.append(one)
        return found

    def _inside(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name

    def part(self, attribute: str) -> Store:
        return GroupStore(self.arrays, self._inside(attribute))

    def items(self, attribute: str, kinds: Sequence[str]) -> Sequence[Store]:
        return [self.part(f"{attribute}/{name}") for name in numbered(kinds)]

    def layers(self, model: ModelInfo, slots: Mapping[str, Sequence[Slot]]) -> Mapping[str, Store]:
        """Layers are called after their classes, with a number where one comes again."""
        names = [name for name, one in model.layers.items() if not one.is_operation]
        kinds = [model.layers[name].kind for name in names]
        folders = zip(names, numbered(kinds), strict=True)
        return {name: self.part(f"layers/{folder}") for name, folder in folders}


def numbered(kinds: Sequence[str]) -> Iterator[str]:
    """The names of classes as files write them: `dense`, `dense_1`, …"""
    used: dict[str, int] = {}
    for kind in kinds:
        name = snake_case(_CLASSES.get(kind, kind))
        number = used[name] = used.get(name, -1) + 1
        yield f"{name}_{number}" if number else name


def snake_case(name: str) -> str:
    """`BatchNormalization` as `batch_normalization`."""
    plain = re.sub(r"\W+", "", name)
    apart = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", plain)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", apart).lower()


@frozen
class FlatStore:
    """The variables of a layer of an old `.h5` file, which lists them in one row."""

    arrays: Mapping[tuple[str, ...], Sequence[np.ndarray]]  # by the path to what has them
    path: tuple[str, ...] = ()

    def own(self) -> Sequence[np.ndarray]:
        return self.arrays.get(self.path, ())

    def part(self, attribute: str) -> Store:
        return FlatStore(self.arrays, (*self.path, attribute))

    def items(self, attribute: str, kinds: Sequence[str]) -> Sequence[Store]:
        return [self.part(f"{attribute}.{place}") for place in range(len(kinds))]

    def layers(self, model: ModelInfo, slots: Mapping[str, Sequence[Slot]]) -> Mapping[str, Store]:
        return {name: self.part(f"layers.{name}") for name in model.layers}


@frozen
class OldFile:
    """The layers of an old `.h5` file, by name."""

    rows: Mapping[str, Sequence[np.ndarray]]

    def own(self) -> Sequence[np.ndarray]:
        return ()

    def part(self, attribute: str) -> Store:
        raise broken(f"there is no attribute {quoted(attribute)}")

    def items(self, attribute: str, kinds: Sequence[str]) -> Sequence[Store]:
        raise broken(f"there is no attribute {quoted(attribute)}")

    def layers(self, model: ModelInfo, slots: Mapping[str, Sequence[Slot]]) -> Mapping[str, Store]:
        return {
            name: _apart(one, slots[name], self.rows.get(name, ()))
            for name, one in model.layers.items()
        }


def _apart(layer: LayerInfo, slots: Sequence[Slot], row: Sequence[np.ndarray]) -> FlatStore:
    """The variables of a layer by path; files list trainable ones first."""
    order = sorted(slots, key=lambda one: not one.is_trainable)
    if len(order) != len(row) and row:
        message = f"layer {quoted(layer.name)} ({layer.kind}) has another number of weights"
        raise FrontendError.of(message, expected=str(len(order)), found=str(len(row)))
    values = dict(zip(((one.path, one.name) for one in order), row, strict=False))
    found: dict[tuple[str, ...], list[np.ndarray]] = {}
    for one in slots:
        if (one.path, one.name) in values:
            found.setdefault(one.path, []).append(values[one.path, one.name])
    return FlatStore(found)
