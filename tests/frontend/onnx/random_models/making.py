"""A graph in the making: what decides, the values there are, and how nodes are added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Protocol, TypeVar

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

T = TypeVar("T")


def tensor_type(dtype: str) -> int:
    """The number of an element type in ONNX."""
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


class Choices(Protocol):
    """Whoever decides."""

    def choice(self, options: Sequence[T]) -> T: ...
    def number(self, low: int, high: int) -> int: ...


@dataclass(frozen=True)
class Tensor:
    """A value of the graph."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    exact: bool = True
    large: int = 4  # about the largest number in it, so that sums stay within reason

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith("float")

    @property
    def is_integer(self) -> bool:
        return "int" in self.dtype


FLOATS = ("float32", "float64", "float16")
INTEGERS = ("int64", "int32", "uint8", "int8")
MOST = 600  # elements
LARGE = 10_000


class Nothing(Exception):
    """No value is fit for what was chosen."""


@dataclass
class Maker:
    """A model in the making."""

    choices: Choices
    opset: int
    nodes: list[NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    count: int = 0
    prefix: str = "v"
    # integers that a run is given, where the model is open; None where all are known
    fed: dict[str, np.ndarray] | None = None

    # --- choosing

    def some(self, fits: Callable[[Tensor], bool] = lambda one: True) -> Tensor:
        """A value that fits; later ones rather than earlier ones."""
        fitting = [one for one in self.values if fits(one)]
        if not fitting:
            raise Nothing
        fitting = fitting[-6:] if self.choices.number(0, 2) else fitting
        found = self.choices.choice(fitting)
        self.used.add(found.name)
        return found

    def yes(self) -> bool:
        return bool(self.choices.number(0, 1))

    def axis(self, data: Tensor, least: int = 1) -> int:
        axes = [axis for axis, extent in enumerate(data.shape) if extent >= least]
        if not axes:
            raise Nothing
        return self.choices.choice(axes)

    def signed(self, axis: int, rank: int) -> int:
        """An axis, counted from the back now and then."""
        return axis - rank if self.yes() else axis

    # --- writing

    def fresh(self) -> str:
        self.count += 1
        return f"{self.prefix}{self.count}"

    def node(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> list[str]:
        names = [self.fresh() for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, **attributes))
        return names

    def constant(self, array: Any, dtype: str = "int64") -> str:
        """A constant, as an initializer or as a node."""
        tensor = numpy_helper.from_array(np.asarray(array).astype(dtype), self.fresh())
        if self.prefix == "v" and self.yes():
            self.constants.append(tensor)
        else:
            made = helper.make_node("Constant", [], [tensor.name], value=tensor)
            self.nodes.append(made)
        return tensor.name

    def numbers(self, values: Any, dtype: str = "int64") -> str:
        """Integers that a node asks for: a constant, or in an open model what a run computes from
        the sizes of its inputs, or is given."""
        array = np.asarray(values).astype(dtype)
        how = 0 if self.fed is None or self.prefix != "v" else self.choices.number(0, 4)
        if how >= 3 and array.ndim <= 1 and array.size and dtype == "int64":
            try:
                return self._computed(array)
            except Nothing:
                pass
        if how == 2 and self.fed is not None:
            name = f"s{len(self.fed)}"
            self.fed[name] = array
            return name
        return self.constant(array, dtype)

    def _computed(self, array: np.ndarray) -> str:
        """The numbers as extents of a value, and what has to be added to these."""
        data = self.some(lambda one: one.rank > 0 and one.name.startswith("x"))
        (shape,) = self.node("Shape", data.name)
        parts = []
        for wanted in array.reshape(-1).tolist():
            axis = self.choices.number(0, data.rank - 1)
            (part,) = self.node("Gather", shape, self.constant([axis]), axis=0)
            detour = self.choices.choice([None, None, "int32", "float32"])
            if detour is not None:
                (part,) = self.node("Cast", part, to=tensor_type(detour))
            more = wanted - data.shape[axis]
            if more:
                (part,) = self.node("Add", part, self.constant([more], detour or "int64"))
            if detour is not None:
                (part,) = self.node("Cast", part, to=tensor_type("int64"))
            parts.append(part)
        joined = parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=0)[0]
        if array.ndim == 1:
            return joined
        return self.node("Reshape", joined, self.constant([]))[0]

    def weights(self, *shape: int, dtype: str = "float32") -> str:
        """Small numbers, that are the same every day."""
        places = np.arange(prod(shape)).reshape(shape)
        return self.constant(((places * 7) % 5 - 2) / 4, dtype)

    def add(
        self,
        operator: str,
        inputs: Sequence[str | Tensor],
        dtype: str,
        shape: Sequence[int],
        exact: bool = True,
        large: int = 4,
        **attributes: Any,
    ) -> Tensor:
        """A node whose result is a value to go on with."""
        if prod(shape) > MOST or large > LARGE:
            raise Nothing
        names = [one.name if isinstance(one, Tensor) else one for one in inputs]
        (name,) = self.node(operator, *names, **attributes)
        return self.keep(Tensor(name, dtype, tuple(shape), exact and dtype != "float16", large))

    def keep(self, tensor: Tensor) -> Tensor:
        self.values.append(tensor)
        return tensor

    def with_axes(
        self, operator: str, data: Tensor, axes: Sequence[int], since: int, **attributes: Any
    ) -> str:
        """A node with axes as its operator set has them: an attribute, or an input."""
        if self.opset < since:
            return self.node(operator, data.name, axes=list(axes), **attributes)[0]
        return self.node(operator, data.name, self.numbers(list(axes)), **attributes)[0]


# something a graph may do next
Rule = Callable[[Maker], object]


class Rules:
    """Rules of one kind: a decorator, which takes how many times as likely a rule is.

    rule = Rules()
    @rule(3)
    def smooth(make): …
    """

    def __init__(self) -> None:
        self.all: list[Rule] = []

    def __call__(self, times: int = 1) -> Callable[[Rule], Rule]:
        def enter(one: Rule) -> Rule:
            self.all.extend([one] * times)
            return one

        return enter
