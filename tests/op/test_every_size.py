"""The kernels of every operator that are compiled once for all sizes do what its reference does.

Of every sample the sizes are left open in one of three ways: every one of them without a name, so
that any may turn out to be 1; a name for every number; or the first of the first tensor alone. The
kernels then run at the sizes of the sample and at others that the type relation takes.

One case of every fourth operator is run every day, another one with every commit; `pytest -m full`
runs all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from relay.check.infer import infer_expr
from relay.errors import EvaluationError, RelayError
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Call, Function, Var
from relay.ir.types import ShapeVar, TensorType, TupleType, Type
from relay.lower.kernel import Options
from relay.lower.lower_dynamic import lower_dynamic
from relay.op.opdef import OpDef, Sample, Tensor, get
from relay.op.shapes import value_type
from relay.target.target import Target
from relay.testing.operators import SMALL, Use, assert_agree, expected, leaves, size
from tests.support.dynamic_kernels import DynamicFunction
from tests.support.kernels import Memory
from tests.support.operator_uses import at_other_extents, computed_names, is_legal, with_extents
from tests.support.sampling import part_of

NAMES = computed_names()
WAYS: tuple[str, ...] = ("any", "named", "leading")
SIZES = (0, 1, 5, 17)
SHARE = 4  # one in so many operators, every day

# The window of a weight must be a number: the transform is made for it.
OF_KNOWN_WINDOWS = {
    "nn.contrib_conv2d_winograd_weight_transform",
    "nn.contrib_conv3d_winograd_weight_transform",
}


# Operators that read one element of an axis or more, whatever is asked of it.
READERS = [
    *("take", "gather", "gather_nd", "adv_index", "image.resize1d", "image.resize2d"),
    *("image.resize3d", "dyn.image.resize2d", "image.crop_and_resize", "image.grid_sample"),
    *("vision.roi_align", "vision.roi_pool", "nn.upsampling", "dyn.nn.upsampling", "nn.conv2d"),
    *("nn.nll_loss", "random.multinomial", "dyn.reshape", "nn.sparse_dense"),
]
# What values say of shapes is not looked at in a run, and nothing is read that is not there.
UNREFUSED = {
    "strided_set",
    "nn.contrib_conv2d_winograd_without_weight_transform",
    "nn.contrib_conv3d_winograd_without_weight_transform",
}


@dataclass(frozen=True)
class Case:
    """A sample with open sizes."""

    op: OpDef
    number: int
    way: str

    @property
    def name(self) -> str:
        return f"{self.op.name}-{self.number}-{self.way}"

    @property
    def sample(self) -> Sample:
        return self.op.samples[self.number]


def cases(name: str) -> list[Case]:
    op = get(name)
    ways = ("leading",) if name in OF_KNOWN_WINDOWS else WAYS
    small = [i for i, sample in enumerate(op.samples) if size(sample) <= SMALL]
    return [Case(op, i, way) for i in small for way in ways]


def open_types(case: Case) -> list[Type]:
    """The types of the arguments, sizes left open."""
    named: dict[int, Dim] = {}
    count = 0

    def dim(extent: int, axis: int) -> Dim:
        if case.way == "named":
            return named.setdefault(extent, ShapeVar(f"n{extent}"))
        return dims.ANY if case.way == "any" or (axis == 0 and count == 1) else extent

    def walk(arg: Any) -> Type:
        nonlocal count
        if isinstance(arg, tuple):
            return TupleType(tuple(map(walk, arg)))
        if not isinstance(arg, Tensor):
            return value_type(np.asarray(arg))  # values that decide shapes
        count += 1
        return TensorType(tuple(dim(n, axis) for axis, n in enumerate(arg.shape)), arg.dtype)

    return [walk(arg) for arg in case.sample.args]


def typed(case: Case) -> Function | None:
    """The operator as a function; None where its relation wants sizes that are numbers."""
    params = tuple(Var(f"x{i}", ty) for i, ty in enumerate(open_types(case)))
    call = Call(case.op, params, case.op.make_attrs(case.sample.attrs))
    try:
        function = infer_expr(Function(params, call))
    except RelayError:
        return None
    assert isinstance(function, Function)
    return function


def is_of_type(case: Case, other: Sample) -> bool:
    """Whether another sample has the sizes that are not open, and equal ones where names are."""
    if case.way == "any":
        return True
    before, after = leaves(case.sample.args), leaves(other.args)
    numbers: dict[int, int] = {}
    for place, (a, b) in enumerate(zip(before, after, strict=True)):
        if not isinstance(a, Tensor):
            continue
        pairs = list(zip(a.shape, b.shape, strict=True))
        if case.way == "named":
            if any(numbers.setdefault(x, y) != y for x, y in pairs):
                return False
        elif any(x != y for axis, (x, y) in enumerate(pairs) if axis or place):
            return False
    return True


def samples(case: Case) -> Iterator[Sample]:
    yield case.sample
    for other in at_other_extents(case.op, case.sample, SIZES):
        if is_of_type(case, other):
            yield other


def check(case: Case) -> None:
    """Compile once, run at every size."""
    if (function := typed(case)) is None:
        return
    target = Target.host()
    constant = [False] * len(leaves(case.sample.args))
    compiled = DynamicFunction(lower_dynamic(function, constant, target), target)
    for sample in samples(case):
        use = Use(case.op, sample, case.name, reshaped=sample is not case.sample)
        try:
            wanted = expected(use)
        except (EvaluationError, IndexError):
            continue  # an index of a sample may lie outside of a tensor that was made smaller
        arrays = leaves(sample.values())
        found = compiled.run(arrays)
        assert_agree(use, found, wanted)
        again = compiled.run(arrays, threads=3, memory=Memory("before", aligned=False, fill=0xA5))
        for one, other in zip(found, again, strict=True):
            assert one.tobytes() == other.tobytes()


def check_empty(case: Case) -> None:
    """Where an axis turns out to be empty, what the interpreter refuses is refused, and nothing
    outside of a tensor is read."""
    if (function := typed(case)) is None:
        return
    target = Target.host()
    constant = [False] * len(leaves(case.sample.args))
    made = lower_dynamic(function, constant, target, Options(checked=True))
    compiled = DynamicFunction(made, target)
    for sample in with_extents(case.sample, [0]):
        if not is_of_type(case, sample):
            continue
        use = Use(case.op, sample, case.name, reshaped=True)
        wanted: tuple[np.ndarray, ...] | None
        try:
            wanted = expected(use) if is_legal(case.op, sample) else None
        except (EvaluationError, IndexError):
            wanted = None
        try:
            found = compiled.run(leaves(sample.values()))
        except EvaluationError:
            assert wanted is None
            continue
        if wanted is not None:
            assert_agree(use, found, wanted)
        else:
            assert case.op.name in UNREFUSED


@pytest.mark.parametrize("name", READERS)
def test_an_axis_that_is_empty_in_a_run_is_refused_where_the_reference_refuses_it(
    name: str,
) -> None:
    check_empty(next(case for case in cases(name) if case.way == "any"))


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_every_axis_that_is_empty_in_a_run_is_refused_where_the_reference_refuses_it(
    name: str,
) -> None:
    for case in cases(name):
        if case.way != "named":
            check_empty(case)


@pytest.mark.rotate(SHARE)
@pytest.mark.parametrize("name", NAMES)
def test_kernels_for_all_sizes_agree_with_the_reference(name: str) -> None:
    every = cases(name)
    for case in part_of(every, len(every), lambda case: case.name, within=SHARE):
        check(case)


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_every_kernel_for_all_sizes_agrees_with_the_reference(name: str, way: str) -> None:
    for case in cases(name):
        if case.way == way:
            check(case)
