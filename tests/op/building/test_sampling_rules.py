"""Gradients of operators that read images between their elements, for extents of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay
from relay.errors import EvaluationError
from relay.transform.gradients.differentiate import gradient
from tests.support.looping import each

HEAD = '#[version = "0.0.5"]\n'


def slopes(types: list[str], body: str, *args: np.ndarray) -> list[np.ndarray]:
    params = ", ".join(f"%p{i}: Tensor[{ty}]" for i, ty in enumerate(types))
    module = relay.fromtext(f"{HEAD}def @main({params}) {{ {body} }}")
    module["main"] = gradient(module["main"], module, mode="first_order")
    found: Any = relay.create_executor("debug", module).evaluate()(*args)
    return [one.numpy() for one in found[1]]


@each(
    "body, shapes",
    [
        ('image.grid_sample(%p0, %p1, padding_mode="reflection")', [(2, 3, 4, 5), (2, 2, 3, 2)]),
        (
            "vision.roi_align(%p0, %p1, pooled_size=[2, 2], spatial_scale=0.5)",
            [(2, 3, 6, 7), (3, 5)],
        ),
        (
            "vision.roi_pool(%p0, %p1, pooled_size=[2, 2], spatial_scale=0.5)",
            [(2, 3, 6, 7), (3, 5)],
        ),
    ],
)
def test_extents_that_only_the_run_knows(body: str, shapes: list[tuple[int, ...]]) -> None:
    random = np.random.default_rng(0)
    args = [random.uniform(-1, 1, shape) for shape in shapes]
    if shapes[1][1] == 5:  # regions
        args[1] = np.array([[0, 1, 2, 8, 9], [1, 0, 0, 5, 12], [1, 6, 6, 6, 6]], "float64")
    known = [f"({', '.join(map(str, shape))}), float64" for shape in shapes]
    unknown = [
        f"(?, {shapes[0][1]}, ?, ?), float64",
        f"(?, {shapes[1][1]}, ?, ?), float64" if len(shapes[1]) == 4 else "(?, 5), float64",
    ]
    for found, wanted in zip(slopes(unknown, body, *args), slopes(known, body, *args), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_region_with_too_many_samples_is_refused_before_memory_is_taken() -> None:
    body = "vision.roi_align(%p0, %p1, pooled_size=[1, 1], spatial_scale=1)"
    regions = np.array([[0, 0, 0, 1e12, 4]], "float64")
    with pytest.raises(EvaluationError, match="too many samples"):
        slopes(["(1, 1, 4, 4), float64", "(1, 5), float64"], body, np.ones((1, 1, 4, 4)), regions)
