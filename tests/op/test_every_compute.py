"""What the `compute` of an operator says in tensor expressions is what its reference does.

Every sample of every record, and every element type the operator takes, goes through the slow
evaluator of tensor expressions; integers and bools agree exactly, floats within a tolerance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay import dtypes, te
from relay.errors import RelayError
from relay.op.opdef import FusionKind, OpDef, Sample, get
from relay.op.shapes import output_type
from relay.te.evaluate import evaluate
from relay.testing.operators import SMALL, Use, assert_agree, expected, size, to_tensors, trimmed
from tests.support import sampling
from tests.support.looping import each, naming
from tests.support.operator_uses import ELEMENTS, computed_names, with_other_elements

# Their extents decide what is computed, or how, so that they are numbers.
OF_NUMBERS = (
    "gather_nd",
    "nn.contrib_conv2d_winograd_weight_transform",
    "nn.contrib_conv3d_winograd_weight_transform",
    "squeeze",
)

NAMES = computed_names()


def uses(name: str) -> list[Use]:
    """The samples of an operator; the large ones in a full run only."""
    every = [Use(get(name), sample, f"{name}-{i}") for i, sample in enumerate(get(name).samples)]
    return [use for use in every if sampling.RUN.everything or size(use.sample) <= SMALL]


def check(use: Use, extent: Any = te.index) -> None:
    """The tensors, evaluated element by element, are what the reference gives."""
    computed, arrays = to_tensors(use, extent)
    inputs = dict(zip(computed.inputs, arrays, strict=True))
    found = evaluate(computed.outputs, inputs, getattr(extent, "sizes", {}))
    assert_agree(use, trimmed(use.op, found), expected(use))


# --- the table ---------------------------------------------------------------------------------


@each("name", NAMES)
def test_every_operator_says_what_it_computes(name: str) -> None:
    assert get(name).compute is not None


@pytest.mark.parametrize("name", NAMES)
def test_the_compute_agrees_with_the_reference(name: str) -> None:
    for use in uses(name):
        with naming(use.name):
            check(use)


class Unknown:
    """Extents as variables, one for each number; an extent of 1 stays one."""

    def __init__(self) -> None:
        self.sizes: dict[te.Var, int] = {}

    def __call__(self, extent: int) -> te.Expr:
        if extent == 1:
            return te.index(1)
        known = {number: size for size, number in self.sizes.items()}
        if extent not in known:
            known[extent] = te.Var("int64", f"n{extent}")
            self.sizes[known[extent]] = extent
        return known[extent]


@pytest.mark.parametrize("name", NAMES)
def test_a_compute_takes_extents_that_only_a_run_knows(name: str) -> None:
    if name in OF_NUMBERS or get(name).capacity is not None:
        return
    for use in uses(name):
        with naming(use.name):
            check(use, Unknown())


@pytest.mark.parametrize("name", NAMES)
def test_the_compute_agrees_at_every_element_type(name: str) -> None:
    every = list(with_other_elements(get(name)))
    for use in sampling.some_of(every, 3, lambda use: use.name):
        with naming(use.name):
            check(use)


# --- where arithmetic has edges ----------------------------------------------------------------

REALS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 7.0, -0.3, 3e4, -3e4, 1e-7]
NO_NUMBERS = [np.inf, -np.inf, np.nan]


def edges(dtype: str) -> np.ndarray:
    """The ends of an element type, what lies around 0, and what is no number."""
    stored = dtypes.to_numpy(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if dtypes.is_integer(dtype):
        low, high = int(te.lowest(dtype).value), int(te.highest(dtype).value)
        found = {low, low + 1, low // 2, *range(-3, 6), high // 2, high - 1, high}
        return np.array(sorted(n for n in found if low <= n <= high), object).astype(stored)
    return np.array([*REALS, *NO_NUMBERS], np.float64).astype(stored)


def on_edges(op: OpDef, dtype: str) -> Sample | None:
    """Every element of an operator of one tensor, every pair of one of two; None if it takes none
    of that type."""
    values = edges(dtype)
    sample = Sample((values,) if len(op.arguments) == 1 else (values[:, None], values))
    try:
        output_type(op, sample.types(), None, sample.values())
    except RelayError:
        return None
    return sample


ARITHMETIC = [
    name
    for name in NAMES
    if get(name).attrs is None
    and [argument for argument, _ in get(name).arguments] in (["data"], ["lhs", "rhs"])
    and get(name).fusion in (FusionKind.ELEMWISE, FusionKind.BROADCAST)
]


@pytest.mark.parametrize("name", ARITHMETIC)
def test_the_compute_agrees_at_the_edges_of_numbers(name: str) -> None:
    for dtype in ELEMENTS:
        if (sample := on_edges(get(name), dtype)) is not None:
            check(Use(get(name), sample, dtype))
