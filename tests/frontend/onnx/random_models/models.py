"""Models that nobody has written: graphs over many operators, with inputs to run them on.

    model, inputs = random_model(choices)

`choices` decides all there is to decide, so hypothesis can make a model that fails smaller. Extents
of inputs may have names; shapes are computed by the graph where a shape is asked for. A value is
`exact` if no rounding was involved in it: only such values go where a rounding would show, to
comparisons, to `Floor`, to integers.
"""

from __future__ import annotations

from math import prod

import numpy as np
import onnx

from tests.frontend.onnx.judge import of_graph, value
from tests.frontend.onnx.random_models import elements, products, reductions, shapes, subgraphs
from tests.frontend.onnx.random_models.making import Choices, Maker, Nothing, Tensor

NAMES = ("n", "m", "k")
FAMILIES = (elements, reductions, shapes, products, subgraphs)
RULES = [rule for family in FAMILIES for rule in family.rule.all]


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
