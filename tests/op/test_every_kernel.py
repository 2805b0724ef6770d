"""The native kernels of every operator do what its reference does.

Samples, further element types and further extents (`tests.support.operator_uses`), for three levels
of x86-64, with and without checked indices, on one, two and three threads: the results are those of
the reference, the same to the bit on any number of threads, and no kernel reads or writes beside
its memory (`tests.support.kernels`). Of a level that this machine has not, the code is emitted, and
run in instructions that it has (`tests.support.emulation`).

This is far too much for every day, so a part of it is run, another one with every commit, with
something of every second operator, and the largest tensors are smaller; `pytest -m full` runs all
of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from relay.errors import EvaluationError, RelayError
from relay.lower.kernel import Lowered, Options
from relay.lower.lower import lower_computed
from relay.op.opdef import get
from relay.target.llvm.compile import compile_module
from relay.target.target import Target
from relay.testing.operators import Use, assert_agree, expected, to_tensors, trimmed
from tests.support.emulation import x86_level
from tests.support.kernels import Batch, Memory, refused, texts
from tests.support.operator_uses import computed_names, digest, uses
from tests.support.sampling import part_of

NAMES = computed_names()
LEVELS = ("avx512", "avx2", "baseline")
MODES = {"fast": False, "checked": True}
SHARE, PART = 3, 20  # of the operators, and of the cases of each
MANY = 100_000  # elements of a large tensor every day: beyond the first cache, for several threads

on_x86 = pytest.mark.skipif(Target.host().arch != "x86_64", reason="levels are of x86-64")

# These clamp indices or leave them out, and some of their samples, at other extents if not as they
# are, have such indices: checked kernels report them.
OUT_OF_RANGE = {
    "dyn.sparse_to_dense": "an index along axis",
    "scatter_elements": "an index along axis",
    "scatter_nd": "an index along axis",
    "sparse_to_dense": "an index along axis",
    "vision.roi_align": "the number of an image",
    "vision.roi_pool": "the number of an image",
}

# On how many threads, and in which memory.
RUNS = (
    (1, Memory()),
    (2, Memory(fence="before", aligned=False, fill=0xA5)),
    (3, Memory(in_place=True, fill=0x00)),
)


@dataclass(frozen=True)
class Case:
    """A use of an operator, compiled in one way."""

    use: Use
    level: str
    mode: str

    @property
    def name(self) -> str:
        return f"{self.use.name}-{self.level}-{self.mode}"


def cases(every: Iterable[Use]) -> list[Case]:
    return [Case(use, level, mode) for use in every for level in LEVELS for mode in MODES]


@cache
def everyday_uses(name: str) -> list[Use]:
    return list(uses(get(name), MANY))


def some_cases(name: str) -> list[Case]:
    """A part of the cases of an operator, one at least."""
    return part_of(cases(everyday_uses(name)), PART, lambda case: case.name, within=SHARE)


def lowered(case: Case, target: Target) -> tuple[Lowered, list[np.ndarray]]:
    """The kernels of a case, and what they are given. For one in two, all arguments but the first
    are constants, from which there may be something to prepare."""
    computed, arrays = to_tensors(case.use)
    given = digest(case.name) % 2 == 1
    constant = [given and i > 0 for i in range(len(arrays))]
    options = Options(checked=MODES[case.mode])
    return lower_computed(computed, constant, target, options), arrays


class References:
    """What the reference gives for uses, each computed once."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[np.ndarray, ...] | None] = {}

    def __call__(self, use: Use) -> tuple[np.ndarray, ...] | None:
        if use.name not in self._found:
            self._found[use.name] = self._of(use)
        return self._found[use.name]

    def _of(self, use: Use) -> tuple[np.ndarray, ...] | None:
        try:
            return expected(use)
        except (EvaluationError, IndexError):
            # an index of a sample may lie outside of a tensor that was made smaller
            if not use.reshaped:
                raise
            return None


def check(group: Sequence[Case], references: References) -> None:
    """Compile the cases of one level together and run each."""
    target = x86_level(group[0].level)
    problems: list[str] = []
    ready: list[tuple[Case, list[np.ndarray]]] = []
    kernels: list[Lowered] = []
    for case in group:
        if references(case.use) is None:
            continue
        try:
            made, arrays = lowered(case, target)
        except RelayError as error:
            problems.append(f"{case.name}: {error}")
        else:
            kernels.append(made)
            ready.append((case, arrays))
    try:
        if not Target.host().supports(target):
            compile_module(list(texts(kernels).values()), target)
        batch = Batch(kernels, target)
    except RelayError:
        pytest.fail("\n".join([*problems, *map(str, refused(kernels, target).items())]))
    for i, (case, arrays) in enumerate(ready):
        wanted = references(case.use)
        assert wanted is not None
        try:
            run(batch, i, case, arrays, wanted)
        except AssertionError as error:
            problems.append(f"{case.name}: {error}")
    assert not problems, "\n".join(problems)


def run(
    batch: Batch,
    i: int,
    case: Case,
    arrays: Sequence[np.ndarray],
    wanted: tuple[np.ndarray, ...],
) -> None:
    first: list[bytes] | None = None
    for threads, memory in RUNS:
        outcome = batch.run(i, arrays, threads=threads, memory=memory)
        outside = OUT_OF_RANGE.get(case.use.op.name)
        if MODES[case.mode] and outside is not None and outcome.problem.startswith(outside):
            continue
        assert outcome.status == 0, outcome.problem
        found = trimmed(case.use.op, outcome.results)
        held = [array.tobytes() for array in found]
        if first is None:
            assert_agree(case.use, found, wanted)
            first = held
        assert held == first, f"{threads} threads, or other memory, give other bits"


def by_level(every: Iterable[Case]) -> list[list[Case]]:
    groups: dict[str, list[Case]] = {}
    for case in every:
        groups.setdefault(case.level, []).append(case)
    return list(groups.values())


@on_x86
@pytest.mark.rotate(SHARE)
@pytest.mark.parametrize("name", NAMES)
def test_some_kernels_agree_with_the_reference(name: str) -> None:
    references = References()
    for group in by_level(some_cases(name)):
        check(group, references)


@on_x86
@pytest.mark.full
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", NAMES)
def test_every_kernel_agrees_with_the_reference(name: str, level: str, mode: str) -> None:
    every = [Case(use, level, mode) for use in uses(get(name))]
    check(every, References())


# --- another machine ---------------------------------------------------------------------------


OTHERS = (
    "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1",
    "llvm -mtriple=armv7-linux-gnueabihf",
    "llvm -mtriple=riscv64-linux-gnu",
    "llvm -mtriple=riscv64-linux-gnu -mattr=+v",
)


def emit(every: Iterable[Use], machine: str) -> None:
    """Object code for another machine; calling a function of any library is an error."""
    target = Target(machine)
    kernels = [lowered(Case(use, machine, "fast"), target)[0] for use in every]
    compile_module(list(texts(kernels).values()), target)


@pytest.mark.rotate(SHARE)
@pytest.mark.parametrize("name", NAMES)
def test_some_kernels_are_emitted_for_another_machine(name: str) -> None:
    (machine,) = part_of(OTHERS, len(OTHERS), lambda one: f"{name} {one}", within=SHARE)
    emit(part_of(everyday_uses(name), PART, lambda use: use.name, within=SHARE), machine)


@pytest.mark.full
@pytest.mark.parametrize("machine", OTHERS)
@pytest.mark.parametrize("name", NAMES)
def test_every_kernel_is_emitted_for_another_machine(name: str, machine: str) -> None:
    emit(uses(get(name)), machine)
