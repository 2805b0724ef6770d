"""Functions of elements."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from onnx import helper

from tests.frontend.onnx.random_models.making import FLOATS, INTEGERS, Maker, Nothing, Rules, Tensor

rule = Rules()


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
