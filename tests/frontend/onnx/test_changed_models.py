"""Models with a few things changed: each is translated, or refused by an error that says why."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from functools import cache
from random import Random

import numpy as np
import onnx
import pytest
from onnx.backend.test.loader import load_model_tests

from relay.errors import RelayError
from relay.frontend.onnx.importer import from_onnx

FAMILIES = (
    "activations",
    "arithmetic",
    "comparison",
    "conversion",
    "convolution",
    "creation",
    "dropout",
    "indexing",
    "normalization",
    "ordering",
    "padding",
    "parts",
    "pooling",
    "shaping",
)
NUMBERS = (0, 1, -1, 2, -3, 6, 100_000, 2**31, 2**62, -(2**63), 2**63 - 1)
ELEMENTS = (onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL, 2, 3, 11, 17)


@cache
def models() -> dict[str, list[onnx.ModelProto]]:
    """The models of one node in the suite, by operator."""
    found: dict[str, list[onnx.ModelProto]] = {}
    with warnings.catch_warnings(action="ignore"):
        cases = load_model_tests(kind="node")
    for case in cases:
        if len(case.model.graph.node) == 1:
            found.setdefault(case.model.graph.node[0].op_type, []).append(case.model)
    return found


def another_attribute(model: onnx.ModelProto, random: Random) -> None:
    node = model.graph.node[0]
    if not node.attribute:
        return
    attribute = random.choice(node.attribute)
    match attribute.type:
        case onnx.AttributeProto.INT:
            attribute.i = random.choice(NUMBERS)
        case onnx.AttributeProto.INTS:
            attribute.ints.append(random.choice(NUMBERS))
            attribute.ints[random.randrange(len(attribute.ints))] = random.choice(NUMBERS)
        case onnx.AttributeProto.FLOAT:
            attribute.f = random.choice([0.0, float("nan"), float("inf"), -1e30])
        case onnx.AttributeProto.STRING:
            attribute.s = random.choice([b"", b"odd", b"\xff\xfe"])


def another_shape(model: onnx.ModelProto, random: Random) -> None:
    if not model.graph.input:
        return
    dims = random.choice(model.graph.input).type.tensor_type.shape.dim
    change = random.randrange(4)
    if change == 0 or not dims:
        dims.add().dim_value = random.choice([0, 1, 3])
    elif change == 1:
        del dims[-1]
    elif change == 2:
        random.choice(dims).dim_value = random.choice([0, 1, 2, 7, 2**40])
    else:
        random.choice(dims).dim_param = random.choice("ab")


def another_element_type(model: onnx.ModelProto, random: Random) -> None:
    if model.graph.input:
        random.choice(model.graph.input).type.tensor_type.elem_type = random.choice(ELEMENTS)


def other_inputs(model: onnx.ModelProto, random: Random) -> None:
    names = model.graph.node[0].input
    if names and random.random() < 0.5:
        del names[-1]
    elif names:
        names[random.randrange(len(names))] = random.choice(["", names[0]])


def another_version(model: onnx.ModelProto, random: Random) -> None:
    model.opset_import[0].version = random.randint(1, onnx.defs.onnx_opset_version())


def constants(model: onnx.ModelProto, random: Random) -> None:
    """An input of integers has values now."""
    if not model.graph.input:
        return
    given = random.choice(model.graph.input)
    shape = [dim.dim_value for dim in given.type.tensor_type.shape.dim]
    if given.type.tensor_type.elem_type == onnx.TensorProto.INT64 and np.prod(shape) < 50:
        array = np.array([random.choice(NUMBERS) for _ in range(int(np.prod(shape)))], "int64")
        tensor = onnx.numpy_helper.from_array(array.reshape(shape), given.name)
        model.graph.initializer.append(tensor)


CHANGES: tuple[Callable[[onnx.ModelProto, Random], None], ...] = (
    another_attribute,
    another_shape,
    another_element_type,
    other_inputs,
    another_version,
    constants,
)


def try_changed(family: str, count: int) -> None:
    table = importlib.import_module(f"relay.frontend.onnx.operators.{family}").table
    known = [model for name in table.names() for model in models().get(name, [])]
    random = Random(family)
    for _ in range(count):
        model = onnx.ModelProto()
        model.CopyFrom(random.choice(known))
        for _ in range(random.randint(1, 3)):
            random.choice(CHANGES)(model, random)
        try:
            from_onnx(model)
        except RelayError as error:
            assert str(error)


@pytest.mark.parametrize("family", FAMILIES)
def test_they_are_translated_or_refused(family: str) -> None:
    try_changed(family, 40)


@pytest.mark.full
@pytest.mark.parametrize("family", FAMILIES)
def test_many_of_them_are_translated_or_refused(family: str) -> None:
    try_changed(family, 3000)
