"""Models that nobody has written: graphs over many operators, with inputs to run them on.

    model, inputs = random_model(choices)

`choices` decides all there is to decide, so hypothesis can make a model that fails smaller. Extents
of inputs may have names; shapes are computed by the graph where a shape is asked for. A value is
`exact` if no rounding was involved in it: only such values go where a rounding would show, to
comparisons, to `Floor`, to integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import onnx

from tests.frontend.onnx.oracle import of_graph, value
from tests.frontend.onnx.random_models import elements, products, reductions, shapes, subgraphs
from tests.frontend.onnx.random_models.making import Choices, Maker, Nothing, Tensor

NAMES = ("n", "m", "k")
FAMILIES = (elements, reductions, shapes, products, subgraphs)
RULES = [rule for family in FAMILIES for rule in family.rule.all]


@dataclass(frozen=True)
class Made:
    """A model, and inputs for it: those it was made with first, then others of its open sizes."""

    model: onnx.ModelProto
    calls: list[list[np.ndarray]]


def random_model(choices: Choices, steps: int = 12) -> tuple[onnx.ModelProto, list[np.ndarray]]:
    """A model, and inputs for it."""
    made = _made(choices, steps, [*NAMES, *range(1, 5), *range(1, 5)], None)
    return made.model, made.calls[0]


def open_model(choices: Choices, steps: int = 10, calls: int = 4) -> Made:
    """A model whose extents have names, or are just open, and which computes, or is given in a run,
    the numbers that nodes ask for; with inputs of several sizes."""
    extents = [*NAMES, *NAMES, None, None, *range(1, 5)]
    return _made(choices, steps, extents, {}, calls)


def _made(
    choices: Choices,
    steps: int,
    extents: Sequence[str | int | None],
    fed: dict[str, np.ndarray] | None,
    calls: int = 1,
) -> Made:
    make = Maker(choices, choices.choice([11, 13, 17, 18, 21]), fed=fed)
    sizes: dict[Any, int] = {name: choices.number(1, 4) for name in NAMES}
    said: list[tuple[str, list[str | int | None]]] = []
    for place in range(choices.number(1, 3)):
        dtype = choices.choice(["float32", "float32", "float32", "int64", "float64", "bool"])
        rank = choices.choice([0, 1, 2, 2, 3, 4, 4])
        dims = [choices.choice(extents) for _ in range(rank)]
        for axis, one in enumerate(dims):
            if one is None:
                sizes[place, axis] = choices.number(1, 4)
        said.append((dtype, dims))
        make.keep(Tensor(f"x{place}", dtype, _shape(place, dims, sizes)))
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
        first = make.values[0]
        results = [make.add("Identity", [first], first.dtype, first.shape)]
    outputs = [value(one.name, one.dtype, [None] * one.rank) for one in results]
    described = [value(f"x{place}", *one) for place, one in enumerate(said)]
    more = fed or {}
    described += [value(name, array.dtype, array.shape) for name, array in more.items()]
    model = of_graph(make.nodes, described, outputs, make.constants, make.opset)
    found = []
    for number in range(calls):
        if number:
            sizes = {key: choices.choice([0, 1, 1, 2, 3, 5]) for key in sizes}
        data = [
            _elements(_shape(place, dims, sizes), dtype, place)
            for place, (dtype, dims) in enumerate(said)
        ]
        near = [array + _change(choices, array) if number else array for array in more.values()]
        found.append([*data, *near])
    return Made(model, found)


def _change(choices: Choices, array: np.ndarray) -> np.ndarray:
    """What is added to numbers that a run is given: nothing, or a little."""
    little = [choices.choice([0, 0, 0, 1, -1]) for _ in range(array.size)]
    return np.array(little, array.dtype).reshape(array.shape)


def _shape(place: int, dims: Sequence[str | int | None], sizes: dict[Any, int]) -> tuple[int, ...]:
    keys = [(place, axis) if one is None else one for axis, one in enumerate(dims)]
    return tuple(one if isinstance(one, int) else sizes[one] for one in keys)


def _elements(shape: tuple[int, ...], dtype: str, place: int) -> np.ndarray:
    """Numbers that are exact in every type, and differ from each other as far as that goes."""
    places = np.arange(prod(shape)) + place
    mixed = (places * 37 + 11 * place) % 31 - 15
    numbers = mixed % 2 == 0 if dtype == "bool" else mixed if "int" in dtype else mixed / 4
    return np.asarray(numbers).reshape(shape).astype(dtype)
