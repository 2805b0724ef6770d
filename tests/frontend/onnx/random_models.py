"""Models that nobody has written: graphs over many operators, with inputs to run them on.

    model, inputs = random_model(choices)

`choices` decides all there is to decide, so hypothesis can make a model that fails smaller. Extents
of inputs may have names; shapes are computed by the graph where a shape is asked for. A value is
`exact` if no rounding was involved in it: only such values go where a rounding would show, to
comparisons, to `Floor`, to integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random
from typing import Any, Protocol, TypeVar

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from tests.frontend.onnx.judge import of_graph, value

T = TypeVar("T")


class Choices(Protocol):
    """Whoever decides."""

    def choice(self, options: Sequence[T]) -> T: ...
    def number(self, low: int, high: int) -> int: ...


@dataclass
class Seeded:
    """Decisions out of a seed."""

    random: Random

    def choice(self, options: Sequence[T]) -> T:
        return self.random.choice(options)

    def number(self, low: int, high: int) -> int:
        return self.random.randint(low, high)


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
        return self.node(operator, data.name, self.constant(list(axes)), **attributes)[0]


Rule = Callable[[Maker], object]
RULES: list[Rule] = []


def rule(times: int = 1) -> Callable[[Rule], Rule]:
    """A decorator: something a graph may do next, so many times as likely."""

    def enter(one: Rule) -> Rule:
        RULES.extend([one] * times)
        return one

    return enter


# --- functions of elements -----------------------------------------------------------------------


@rule(3)
def smooth(make: Maker) -> None:
    data = make.some(lambda one: one.is_float and one.large <= 30)
    smooth_ones = ["Sigmoid", "Tanh", "Softplus", "Elu", "Softsign", "Selu"]
    if data.large <= 5:
        smooth_ones += ["Exp", "Sin", "Cos", "Erf"]
    if make.opset >= 14:
        smooth_ones.append("HardSwish")
    name = make.choices.choice(smooth_ones)
    large = 150 if name == "Exp" else 3 if name in ("Sigmoid", "Tanh", "Softsign") else data.large
    make.add(name, [data], data.dtype, data.shape, False, max(large, 2) * 2)


@rule(2)
def plain(make: Maker) -> None:
    data = make.some(lambda one: one.is_float or one.dtype in ("int32", "int64"))
    names = ["Abs", "Neg"]
    if data.is_float:
        names += ["Relu", "LeakyRelu"]
    if data.is_float and data.exact:
        names += ["Floor", "Ceil", "Round", "Sign"]
    name = make.choices.choice(names)
    attributes = {"alpha": 0.25} if name == "LeakyRelu" else {}
    make.add(name, [data], data.dtype, data.shape, data.exact, data.large, **attributes)


@rule()
def root(make: Maker) -> None:
    data = make.some(lambda one: one.is_float)
    positive = make.add("Abs", [data], data.dtype, data.shape, data.exact, data.large)
    make.add("Sqrt", [positive], data.dtype, data.shape, False, data.large)


@rule()
def clip(make: Maker) -> None:
    data = make.some(lambda one: one.is_float or (one.dtype == "int64" and make.opset >= 12))
    low = make.constant(make.choices.number(-3, 0), data.dtype)
    high = make.constant(make.choices.number(0, 3), data.dtype)
    bounds = make.choices.choice([[low], [low, high], ["", high]])
    large = 3 if len(bounds) == 2 and bounds[0] else data.large
    make.add("Clip", [data, *bounds], data.dtype, data.shape, data.exact, large)


def together(make: Maker, fits: Callable[[Tensor], bool]) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Two values of one element type that broadcast, and the shape they have together."""
    left = make.some(fits)

    def matches(one: Tensor) -> bool:
        if one.dtype != left.dtype or not fits(one):
            return False
        try:
            np.broadcast_shapes(one.shape, left.shape)
        except ValueError:
            return False
        return True

    right = make.some(matches)
    return left, right, np.broadcast_shapes(left.shape, right.shape)


@rule(5)
def arithmetic(make: Maker) -> None:
    left, right, shape = together(make, lambda one: one.is_float or one.dtype in INTEGERS[:2])
    names = ["Add", "Sub", "Mul"]
    if left.is_float or make.opset >= 12:
        names += ["Min", "Max"]
    operator = make.choices.choice(names)
    large = left.large * right.large if operator == "Mul" else left.large + right.large
    inputs = [left, right] if make.yes() else [right, left]
    make.add(operator, inputs, left.dtype, shape, left.exact and right.exact, large)


@rule(2)
def with_a_constant(make: Maker) -> None:
    data = make.some(lambda one: one.is_float or one.dtype in INTEGERS[:2])
    extents = [extent if make.yes() else 1 for extent in data.shape]
    extents = extents[make.choices.number(0, len(extents)) :]
    places = np.arange(prod(extents)).reshape(extents)
    other = make.constant((places * 3) % 5 - 2, data.dtype)
    operator = make.choices.choice(["Add", "Sub", "Mul"])
    make.add(operator, [data, other], data.dtype, data.shape, data.exact, data.large * 3)


@rule()
def quotient(make: Maker) -> None:
    left, right, shape = together(make, lambda one: one.is_float or one.dtype in INTEGERS[:2])
    if not left.exact and left.is_integer:
        raise Nothing
    size = make.add("Abs", [right], right.dtype, right.shape, right.exact, right.large)
    one = make.constant(1, right.dtype)
    by = make.add("Add", [size, one], right.dtype, right.shape, right.exact, right.large + 1)
    if left.is_integer and make.yes():
        make.add("Mod", [left, by], left.dtype, shape, True, right.large + 1)
    else:
        make.add("Div", [left, by], left.dtype, shape, left.is_integer, left.large)


@rule()
def power(make: Maker) -> None:
    data = make.some(lambda one: one.is_float and one.large <= 20)
    by = make.constant(2, data.dtype)
    make.add("Pow", [data, by], data.dtype, data.shape, False, data.large**2)


@rule(2)
def comparison(make: Maker) -> None:
    left, right, shape = together(make, lambda one: one.exact and one.dtype != "bool")
    names = ["Equal", "Less", "Greater"]
    if make.opset >= 12:
        names += ["LessOrEqual", "GreaterOrEqual"]
    make.add(make.choices.choice(names), [left, right], "bool", shape)


@rule()
def logic(make: Maker) -> None:
    left, right, shape = together(make, lambda one: one.dtype == "bool")
    if make.yes():
        make.add("Not", [left], "bool", left.shape)
    else:
        make.add(make.choices.choice(["And", "Or", "Xor"]), [left, right], "bool", shape)


@rule(2)
def where(make: Maker) -> None:
    left, right, shape = together(make, lambda one: one.dtype in ("float32", "int64", "int32"))
    condition = make.some(lambda one: one.dtype == "bool")
    try:
        shape = np.broadcast_shapes(shape, condition.shape)
    except ValueError:
        raise Nothing from None
    exact = left.exact and right.exact
    make.add(
        "Where", [condition, left, right], left.dtype, shape, exact, max(left.large, right.large)
    )


@rule(2)
def cast(make: Maker) -> None:
    data = make.some()
    wanted = [*FLOATS, "int64", "int32", "bool"]
    if data.is_float and not data.exact:
        wanted = [*FLOATS]
    if data.large <= 100 and (data.is_float or data.dtype == "bool") and data.exact:
        wanted.append("int8")
    dtype = make.choices.choice(wanted)
    if dtype == "float16" and data.large > 1000:
        raise Nothing
    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    exact = data.exact and dtype != "float16"
    make.add("Cast", [data], dtype, data.shape, exact, data.large, to=number)


# --- reductions ----------------------------------------------------------------------------------


@rule(4)
def reduction(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0 and (one.is_float or one.dtype in INTEGERS[:2]))
    names = ["ReduceSum", "ReduceMax", "ReduceMin"]
    if data.is_float:
        names += ["ReduceMean", "ReduceL2", "ReduceL1", "ReduceSumSquare"]
        if data.large <= 10:
            names.append("ReduceLogSumExp")
    name = make.choices.choice(names)
    axes = sorted({make.axis(data) for _ in range(make.choices.number(1, 2))})
    keep = make.yes()
    kept = [1 if axis in axes else extent for axis, extent in enumerate(data.shape)]
    shape = kept if keep else [e for axis, e in enumerate(data.shape) if axis not in axes]
    count = prod(data.shape[axis] for axis in axes)
    exact = data.exact and name in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1")
    grows = {"ReduceSum", "ReduceL1", "ReduceL2"}
    large = data.large * count if name in grows else data.large
    large = data.large**2 * count if name == "ReduceSumSquare" else large
    if large > LARGE or (data.dtype == "float16" and large > 1000):
        raise Nothing
    since = 13 if name == "ReduceSum" else 18
    signed = [make.signed(axis, data.rank) for axis in axes]
    found = make.with_axes(name, data, signed, since, keepdims=int(keep))
    make.keep(Tensor(found, data.dtype, tuple(shape), exact and data.dtype != "float16", large + 1))


@rule()
def position(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0 and one.exact and one.dtype in ("float32", "int32"))
    axis = make.axis(data)
    keep = make.yes()
    shape = [1 if at == axis else e for at, e in enumerate(data.shape) if keep or at != axis]
    make.add(
        make.choices.choice(["ArgMax", "ArgMin"]), [data], "int64", shape, True, 5,
        axis=make.signed(axis, data.rank), keepdims=int(keep),
    )  # fmt: skip


@rule()
def running(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0 and one.dtype in ("float32", "int64", "int32"))
    axis = make.axis(data)
    where_to = make.constant(make.signed(axis, data.rank))
    make.add(
        "CumSum", [data, where_to], data.dtype, data.shape, data.exact,
        data.large * data.shape[axis], exclusive=int(make.yes()), reverse=int(make.yes()),
    )  # fmt: skip


# --- shapes --------------------------------------------------------------------------------------


def shape_of(make: Maker, data: Tensor) -> str:
    return make.node("Shape", data.name)[0]


def extent(make: Maker, shape: str, axis: int, as_list: bool = True) -> str:
    """An extent out of a shape, as a list of one."""
    index = make.constant([axis] if as_list else axis)
    return make.node("Gather", shape, index, axis=0)[0]


@rule(3)
def reshape(make: Maker) -> None:
    """Two axes as one, by numbers or by what the graph finds out about the shape."""
    data = make.some(lambda one: one.rank >= 2)
    axis = make.choices.number(0, data.rank - 2)
    new = [*data.shape[:axis], data.shape[axis] * data.shape[axis + 1], *data.shape[axis + 2 :]]
    how = make.choices.number(0, 3)
    if how == 0:
        wanted = make.constant(new)
    elif how == 1:
        wanted = make.constant([*[0] * axis, -1, *new[axis + 1 :]])
    else:
        shape = shape_of(make, data)
        parts = [extent(make, shape, one) for one in range(axis)]
        pair = [extent(make, shape, axis), extent(make, shape, axis + 1)]
        joined = make.node("Mul", *pair)[0] if how == 2 else make.constant([-1])
        parts += [joined, *(extent(make, shape, one) for one in range(axis + 2, data.rank))]
        wanted = make.node("Concat", *parts, axis=0)[0]
    make.add("Reshape", [data, wanted], data.dtype, new, data.exact, data.large)


@rule()
def flatten(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0)
    axis = make.choices.number(0, data.rank)
    shape = [prod(data.shape[:axis]), prod(data.shape[axis:])]
    make.add("Flatten", [data], data.dtype, shape, data.exact, data.large, axis=axis)


@rule(2)
def another_axis(make: Maker) -> None:
    data = make.some(lambda one: one.rank < 4)
    axis = make.choices.number(0, data.rank)
    shape = [*data.shape[:axis], 1, *data.shape[axis:]]
    found = make.with_axes("Unsqueeze", data, [axis], 13)
    make.keep(Tensor(found, data.dtype, tuple(shape), data.exact, data.large))


@rule()
def axis_less(make: Maker) -> None:
    data = make.some(lambda one: 1 in one.shape)
    axis = data.shape.index(1)
    shape = [*data.shape[:axis], *data.shape[axis + 1 :]]
    found = make.with_axes("Squeeze", data, [make.signed(axis, data.rank)], 13)
    make.keep(Tensor(found, data.dtype, tuple(shape), data.exact, data.large))


@rule(2)
def transpose(make: Maker) -> None:
    data = make.some(lambda one: one.rank >= 2)
    order = list(range(data.rank))
    for place in range(data.rank - 1):
        other = make.choices.number(place, data.rank - 1)
        order[place], order[other] = order[other], order[place]
    shape = [data.shape[axis] for axis in order]
    make.add("Transpose", [data], data.dtype, shape, data.exact, data.large, perm=order)


@rule()
def expand(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0)
    other = make.some(lambda one: one.rank > 0)
    try:
        shape = np.broadcast_shapes(data.shape, other.shape)
    except ValueError:
        raise Nothing from None
    wanted = shape_of(make, other) if make.yes() else make.constant(other.shape)
    make.add("Expand", [data, wanted], data.dtype, shape, data.exact, data.large)


@rule()
def tile(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0 and one.dtype in ("float32", "int64", "bool"))
    times = [make.choices.number(1, 2) for _ in data.shape]
    shape = [one * extent_ for one, extent_ in zip(times, data.shape, strict=True)]
    make.add("Tile", [data, make.constant(times)], data.dtype, shape, data.exact, data.large)


@rule(3)
def slice_(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0)
    axis = make.axis(data)
    size = data.shape[axis]
    start, end = make.choices.number(-size - 1, size), make.choices.number(-size - 1, size + 2)
    step = make.choices.choice([1, 1, 2, -1])
    kept = len(range(size)[slice(start, end, step)])
    # bounds before the beginning are clamped by ONNX as by Python
    if kept == 0:
        raise Nothing
    lists = [make.constant([one]) for one in (start, end, make.signed(axis, data.rank), step)]
    shape = [kept if at == axis else e for at, e in enumerate(data.shape)]
    make.add("Slice", [data, *lists], data.dtype, shape, data.exact, data.large)


@rule(2)
def concat(make: Maker) -> None:
    first = make.some(lambda one: one.rank > 0)
    axis = make.axis(first)

    def beside(one: Tensor) -> bool:
        rest = [e for at, e in enumerate(one.shape) if at != axis]
        mine = [e for at, e in enumerate(first.shape) if at != axis]
        return one.dtype == first.dtype and one.rank == first.rank and rest == mine

    others = [make.some(beside) for _ in range(make.choices.number(1, 2))]
    parts = [first, *others]
    shape = list(first.shape)
    shape[axis] = sum(one.shape[axis] for one in parts)
    exact = all(one.exact for one in parts)
    large = max(one.large for one in parts)
    place = make.signed(axis, first.rank)
    make.add("Concat", parts, first.dtype, shape, exact, large, axis=place)


@rule()
def split(make: Maker) -> None:
    data = make.some(lambda one: any(e >= 2 for e in one.shape))
    axis = make.axis(data, 2)
    first = make.choices.number(1, data.shape[axis] - 1)
    sizes = [first, data.shape[axis] - first]
    if make.opset < 13:
        names = make.node("Split", data.name, outputs=2, axis=axis, split=sizes)
    else:
        names = make.node("Split", data.name, make.constant(sizes), outputs=2, axis=axis)
    for name, size in zip(names, sizes, strict=True):
        shape = tuple(size if at == axis else e for at, e in enumerate(data.shape))
        make.keep(Tensor(name, data.dtype, shape, data.exact, data.large))


@rule()
def pad(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0 and one.dtype in ("float32", "float64", "int64"))
    mode = make.choices.choice(["constant", "edge", "reflect"])
    widths = []
    for size in (*data.shape, *data.shape):
        most = min(2, size - 1) if mode == "reflect" else 2
        widths.append(make.choices.number(0, most))
    ends = zip(data.shape, widths[: data.rank], widths[data.rank :], strict=True)
    shape = [sum(one) for one in ends]
    more = [make.constant(1, data.dtype)] if mode == "constant" and make.yes() else []
    inputs = [data, make.constant(widths), *more]
    make.add("Pad", inputs, data.dtype, shape, data.exact, data.large, mode=mode)


@rule(2)
def gather(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0)
    axis = make.axis(data)
    size = data.shape[axis]
    count = make.choices.choice([(), (1,), (2,), (2, 2)])
    places = [make.choices.number(-size, size - 1) for _ in range(prod(count))]
    indices = make.constant(np.array(places).reshape(count))
    shape = [*data.shape[:axis], *count, *data.shape[axis + 1 :]]
    make.add("Gather", [data, indices], data.dtype, shape, data.exact, data.large, axis=axis)


@rule()
def of_a_shape(make: Maker) -> None:
    """A new tensor, as large as one that is there, or as long."""
    data = make.some(lambda one: one.rank > 0)
    shape = shape_of(make, data)
    if make.yes():
        filled = numpy_helper.from_array(np.array([1.5], "float32"))
        make.add("ConstantOfShape", [shape], "float32", data.shape, True, 2, value=filled)
        return
    axis = make.axis(data)
    length = extent(make, shape, axis, as_list=False)
    start, step = make.constant(0), make.constant(1)
    make.add("Range", [start, length, step], "int64", [data.shape[axis]], True, 5)


@rule()
def best(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0 and one.exact and one.dtype in ("float32", "int64"))
    axis = make.axis(data)
    count = make.choices.number(1, data.shape[axis])
    wanted = make.constant([count])
    names = make.node("TopK", data.name, wanted, outputs=2, axis=axis, largest=int(make.yes()))
    shape = tuple(count if at == axis else e for at, e in enumerate(data.shape))
    make.keep(Tensor(names[0], data.dtype, shape, data.exact, data.large))


@rule()
def of_each_place(make: Maker) -> None:
    """Elements that indices name at each place, or that are written there."""
    data = make.some(lambda one: one.rank > 0 and one.dtype in ("float32", "int64"))
    axis = make.axis(data)
    size = data.shape[axis]
    places = (np.arange(data.size) * 5 + make.choices.number(0, 4)).reshape(data.shape) % size
    if make.yes():
        indices = make.constant(places - size * (places % 2))
        make.add(
            "GatherElements", [data, indices], data.dtype, data.shape, data.exact, data.large,
            axis=make.signed(axis, data.rank),
        )  # fmt: skip
        return
    # every place once: which of several comes last is left open
    backwards = np.arange(size)[::-1].reshape([-1 if at == axis else 1 for at in range(data.rank)])
    order = np.broadcast_to(backwards, data.shape)
    inputs = [data, make.constant(order), make.constant(places, data.dtype)]
    make.add("ScatterElements", inputs, data.dtype, data.shape, data.exact, 5, axis=axis)


@rule()
def one_hot(make: Maker) -> None:
    data = make.some(lambda one: one.dtype == "int64" and one.exact and one.rank in (1, 2))
    depth = make.choices.number(1, 4)
    axis = make.choices.number(0, data.rank)
    shape = [*data.shape[:axis], depth, *data.shape[axis:]]
    # indices beyond either end name nothing
    inputs = [data, make.constant(depth), make.constant([-1, 2], "float32")]
    make.add("OneHot", inputs, "float32", shape, True, 2, axis=axis)


@rule()
def triangle(make: Maker) -> None:
    data = make.some(lambda one: one.rank >= 2 and one.dtype in ("float32", "int64"))
    if make.opset < 14:
        raise Nothing
    k = make.constant(make.choices.number(-2, 2))
    upper = int(make.yes())
    make.add("Trilu", [data, k], data.dtype, data.shape, data.exact, data.large, upper=upper)


@rule()
def resized(make: Maker) -> None:
    data = make.some(lambda one: one.rank == 4 and one.dtype == "float32")
    shape = [*data.shape[:2], *(make.choices.number(1, 6) for _ in range(2))]
    mode = make.choices.choice(["nearest", "linear"])
    places = make.choices.choice(["asymmetric", "align_corners", "half_pixel"])
    attributes = {"mode": mode, "coordinate_transformation_mode": places}
    if mode == "nearest":
        attributes |= {"nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
    empty = "" if make.opset >= 13 else make.constant([], "float32")
    inputs = [data, empty, empty, make.constant(shape)]
    exact = data.exact and mode == "nearest"
    make.add("Resize", inputs, "float32", shape, exact, data.large, **attributes)


# --- products and windows ------------------------------------------------------------------------


@rule(4)
def product(make: Maker) -> None:
    data = make.some(lambda one: one.rank > 0 and one.dtype in ("float32", "float64"))
    inner = data.shape[-1]
    outputs = make.choices.number(1, 5)
    large = data.large * inner
    shape = [*data.shape[:-1], outputs]
    other = make.weights(inner, outputs, dtype=data.dtype)
    if data.rank == 2 and make.yes():
        bias = make.weights(outputs, dtype=data.dtype)
        alpha = make.choices.choice([1.0, 0.5])
        make.add("Gemm", [data, other, bias], data.dtype, shape, data.exact, large + 2, alpha=alpha)
    else:
        make.add("MatMul", [data, other], data.dtype, shape, data.exact, large)


@rule()
def of_two(make: Maker) -> None:
    left = make.some(lambda one: one.rank >= 2 and one.dtype == "float32")
    right = make.some(lambda one: one.rank >= 2 and one.dtype == "float32")
    if left.shape[-1] != right.shape[-2]:
        raise Nothing
    try:
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        raise Nothing from None
    shape = [*batch, left.shape[-2], right.shape[-1]]
    large = left.large * right.large * left.shape[-1]
    make.add("MatMul", [left, right], "float32", shape, left.exact and right.exact, large)


@rule(4)
def convolution(make: Maker) -> None:
    data = make.some(lambda one: one.rank in (3, 4) and one.dtype == "float32")
    space = data.shape[2:]
    channels = data.shape[1]
    groups = channels if make.yes() else 1
    outputs = groups * make.choices.number(1, 3)
    window = [make.choices.number(1, min(3, size)) for size in space]
    strides = [make.choices.number(1, 2) for _ in space]
    pads = [make.choices.number(0, 1) for _ in (*space, *space)]
    weight = make.weights(outputs, channels // groups, *window)
    inputs = [data, weight, *([make.weights(outputs)] if make.yes() else [])]
    rank = len(space)
    shape = [data.shape[0], outputs]
    for at, size in enumerate(space):
        shape.append((size + pads[at] + pads[rank + at] - window[at]) // strides[at] + 1)
    large = data.large * prod(window) * (channels // groups) + 2
    make.add(
        "Conv", inputs, "float32", shape, data.exact, large,
        strides=strides, pads=pads, group=groups, kernel_shape=window,
    )  # fmt: skip


@rule()
def spread(make: Maker) -> None:
    data = make.some(lambda one: one.rank in (3, 4) and one.dtype == "float32")
    space = data.shape[2:]
    outputs = make.choices.number(1, 3)
    window = [make.choices.number(1, 3) for _ in space]
    strides = [make.choices.number(1, 2) for _ in space]
    shape = [data.shape[0], outputs]
    for at, size in enumerate(space):
        shape.append((size - 1) * strides[at] + window[at])
    weight = make.weights(data.shape[1], outputs, *window)
    large = data.large * prod(window) * data.shape[1]
    make.add(
        "ConvTranspose", [data, weight], "float32", shape, data.exact, large,
        strides=strides, kernel_shape=window,
    )  # fmt: skip


@rule()
def named_sums(make: Maker) -> None:
    left = make.some(lambda one: one.rank == 2 and one.dtype == "float32")
    right = make.some(lambda one: one.rank == 2 and one.dtype == "float32")
    if left.shape[1] != right.shape[1] or make.opset < 12:
        raise Nothing
    shape = [left.shape[0], right.shape[0]]
    large = left.large * right.large * left.shape[1]
    exact = left.exact and right.exact
    equation = make.choices.choice(["ij,kj->ik", "aB,cB->ac"])
    make.add("Einsum", [left, right], "float32", shape, exact, large, equation=equation)


@rule(2)
def pool(make: Maker) -> None:
    data = make.some(lambda one: one.rank in (3, 4) and one.dtype == "float32")
    if make.yes():
        shape = [*data.shape[:2], *[1] * (data.rank - 2)]
        name = make.choices.choice(["GlobalAveragePool", "GlobalMaxPool"])
        make.add(name, [data], "float32", shape, False, data.large)
        return
    space = data.shape[2:]
    window = [make.choices.number(1, min(3, size)) for size in space]
    strides = [make.choices.number(1, 2) for _ in space]
    shape = list(data.shape[:2])
    for at, size in enumerate(space):
        shape.append((size - window[at]) // strides[at] + 1)
    name = make.choices.choice(["MaxPool", "AveragePool"])
    exact = data.exact and name == "MaxPool"
    make.add(
        name, [data], "float32", shape, exact, data.large, kernel_shape=window, strides=strides
    )


@rule(2)
def normalized(make: Maker) -> None:
    data = make.some(lambda one: one.rank >= 2 and one.dtype == "float32" and one.large <= 100)
    channels = data.shape[1]
    how = make.choices.number(0, 3)
    if how == 0:
        factors = [make.weights(channels) for _ in range(3)]
        inputs = [data, *factors, make.constant(np.ones(channels), "float32")]
        make.add("BatchNormalization", inputs, "float32", data.shape, False, data.large * 2)
    elif how == 1 and make.opset >= 17:
        factors = [make.weights(data.shape[-1]) for _ in range(2)]
        # a variance of nearly nothing would make much of little
        make.add(
            "LayerNormalization", [data, *factors], "float32", data.shape, False, 10, epsilon=0.5
        )
    else:
        axis = make.axis(data)
        name = make.choices.choice(["Softmax", "LogSoftmax"])
        place = make.signed(axis, data.rank)
        make.add(name, [data], "float32", data.shape, False, data.large * 2 + 5, axis=place)


@rule()
def quantized(make: Maker) -> None:
    data = make.some(lambda one: one.dtype == "float32" and one.exact)
    scale, point = make.constant(0.25, "float32"), make.constant(3, "uint8")
    whole = make.add("QuantizeLinear", [data, scale, point], "uint8", data.shape, True, 255)
    make.add("DequantizeLinear", [whole, scale, point], "float32", data.shape, True, 64)


# --- graphs inside graphs ------------------------------------------------------------------------


def inner(make: Maker, prefix: str) -> Maker:
    """A graph that sees what is around it."""
    return Maker(
        make.choices, make.opset, values=list(make.values), prefix=f"{make.prefix}{prefix}"
    )


def is_one_number(one: Tensor) -> bool:
    return one.dtype == "float32" and one.exact


@rule(2)
def decision(make: Maker) -> None:
    data = make.some(is_one_number)
    most = make.node("ReduceMax", data.name, keepdims=0)[0]
    condition = make.node("Greater", most, make.constant(1, "float32"))[0]
    given = make.some(lambda one: one.dtype == "float32")
    branches = []
    large = 0
    for number in range(2):
        there = inner(make, f"_{make.count}_{number}_")
        body = given
        for _ in range(make.choices.number(1, 2)):
            operator = there.choices.choice(["Tanh", "Abs", "Neg", "Identity", "Add"])
            inputs = [body, body] if operator == "Add" else [body]
            wide = body.large * 2
            body = there.add(operator, inputs, "float32", given.shape, False, wide)
        large = max(large, body.large)
        result = value(body.name, "float32", [None] * given.rank)
        branches.append(helper.make_graph(there.nodes, "branch", [], [result]))
    make.add(
        "If", [condition], "float32", given.shape, False, large,
        then_branch=branches[0], else_branch=branches[1],
    )  # fmt: skip


@rule(2)
def loop(make: Maker) -> None:
    state = make.some(lambda one: one.dtype == "float32" and one.rank > 0 and one.large <= 50)
    turns = make.choices.number(0, 3)
    there = inner(make, f"_{make.count}_l_")
    names = [f"{there.prefix}{name}" for name in ("turn", "going", "state")]
    body = Tensor(names[2], "float32", state.shape, False, state.large)
    for _ in range(make.choices.number(1, 2)):
        operator = make.choices.choice(["Tanh", "Neg", "Sigmoid", "Add"])
        inputs = [body, state] if operator == "Add" else [body]
        body = there.add(operator, inputs, "float32", state.shape, False, body.large + state.large)
    (going,) = there.node("Identity", names[1])
    (row,) = there.node("ReduceMax", body.name, keepdims=0)
    shape = [None] * state.rank
    inputs_of = [
        helper.make_tensor_value_info(names[0], TensorProto.INT64, []),
        helper.make_tensor_value_info(names[1], TensorProto.BOOL, []),
        value(names[2], "float32", shape),
    ]
    outputs = [
        helper.make_tensor_value_info(going, TensorProto.BOOL, []),
        value(body.name, "float32", shape),
        helper.make_tensor_value_info(row, TensorProto.FLOAT, []),
    ]
    graph = helper.make_graph(there.nodes, "body", inputs_of, outputs)
    limit, start = make.constant(turns), make.constant(True, "bool")
    last, rows = make.node("Loop", limit, start, state.name, outputs=2, body=graph)
    large = state.large * 4
    make.keep(Tensor(last, "float32", state.shape, False, large))
    if turns:
        make.keep(Tensor(rows, "float32", (turns,), False, large))


# --- models --------------------------------------------------------------------------------------

NAMES = ("n", "m", "k")


def random_model(choices: Choices, steps: int = 12) -> tuple[onnx.ModelProto, list[np.ndarray]]:
    """A model, and inputs for it."""
    make = Maker(choices, choices.choice([11, 13, 17, 18, 21]))
    sizes = {name: choices.number(1, 4) for name in NAMES}
    described, inputs = [], []
    for place in range(choices.number(1, 3)):
        dtype = choices.choice(["float32", "float32", "float32", "int64", "float64", "bool"])
        rank = choices.choice([0, 1, 2, 2, 3, 4, 4])
        said: list[str | int] = [
            choices.choice([*NAMES, *range(1, 5), *range(1, 5)]) for _ in range(rank)
        ]
        shape = tuple(sizes[one] if isinstance(one, str) else one for one in said)
        name = f"x{place}"
        described.append(value(name, dtype, said))
        make.keep(Tensor(name, dtype, shape))
        inputs.append(_elements(shape, dtype, place))
    given = len(make.values)
    wanted, tries = choices.number(1, steps), 0
    while wanted and tries < 4 * steps:
        tries += 1
        try:
            choices.choice(RULES)(make)
        except Nothing:
            continue
        wanted -= 1
    made = make.values[given:]
    results = [one for one in made if one.name not in make.used][-3:] or made[-1:]
    if not results:
        results = [make.add("Identity", [make.values[0]], make.values[0].dtype, inputs[0].shape)]
    outputs = [value(one.name, one.dtype, [None] * one.rank) for one in results]
    return of_graph(make.nodes, described, outputs, make.constants, make.opset), inputs


def _elements(shape: tuple[int, ...], dtype: str, place: int) -> np.ndarray:
    """Numbers that are exact in every type, and differ from each other as far as that goes."""
    places = np.arange(prod(shape)) + place
    mixed = (places * 37 + 11 * place) % 31 - 15
    numbers = mixed % 2 == 0 if dtype == "bool" else mixed if "int" in dtype else mixed / 4
    return np.asarray(numbers).reshape(shape).astype(dtype)
