"""Loops and tensors as native code: what the tests of code generation share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay import dtypes, te
from relay.lower.kernel import Kernel, Lowered, Options, Param, Result, Step, TensorSpec
from relay.lower.lower import lower_computed
from relay.lower.to_compute import Computed
from relay.target.kernel import KernelCode
from relay.target.llvm.codegen import generate
from relay.target.target import Target
from relay.te.execute import run
from relay.te.expr import Const, Var
from relay.te.legalize import legalize
from relay.te.loops import Buffer, Builder, Statement
from relay.te.lower import LoweredLoops as Loops
from relay.te.tidy import tidy
from tests.support.emulation import x86_level
from tests.support.kernels import Batch, Memory


def levels() -> list[Target]:
    """The levels of x86-64, for kernels run by themselves; on another kind of machine, itself."""
    if Target.host().arch != "x86_64":
        return [Target.host()]
    return [x86_level(name) for name in ("avx512", "avx2", "baseline")]


def names(targets: Sequence[Target]) -> list[str]:
    return [f"{target.vector_bits} bits" for target in targets]


LEVELS = levels()
LEVEL_NAMES = names(LEVELS)
LEVELS_HERE = [target for target in LEVELS if Target.host().supports(target)]
WIDEST = LEVELS_HERE[0]


def loops_of(
    inputs: Sequence[Buffer], outputs: Sequence[Buffer], write: Callable[[Builder], None]
) -> Loops:
    """Loops written with a builder."""
    builder = Builder()
    write(builder)
    return Loops(tuple(inputs), tuple(outputs), builder.finish())


def code_of(
    loops: Loops,
    target: Target = WIDEST,
    name: str = "kernel",
    *,
    checked: bool = False,
    may_alias: bool = False,
    tidied: bool = True,
    sizes: Sequence[Var] = (),
) -> KernelCode:
    """The code of loops, in instructions of the target."""
    body: Statement = legalize(loops.body, target.facts)
    if tidied:
        body = tidy(body, dict.fromkeys(sizes, (0, None)))
    ready = Loops(loops.inputs, loops.outputs, body)
    return generate(name, ready, target, checked=checked, may_alias=may_alias, sizes=sizes)


def function_of(
    loops: Loops,
    target: Target = WIDEST,
    name: str = "kernel",
    *,
    checked: bool = False,
    may_alias: bool = False,
    tidied: bool = True,
    sizes: Sequence[Var] = (),
) -> Lowered:
    """A kernel with these loops, as a function to run."""
    code = code_of(
        loops,
        target,
        name,
        checked=checked,
        may_alias=may_alias,
        tidied=tidied,
        sizes=sizes,
    )
    kernel = Kernel(
        name,
        tuple(map(_spec, loops.inputs)),
        tuple(map(_spec, loops.outputs)),
        code.ir,
        sizes=tuple(size.name for size in sizes),
        workspace=code.workspace,
        worker_workspace=code.worker_workspace,
        checks=code.checks,
    )
    inputs = tuple(Param(i) for i in range(len(loops.inputs)))
    return Lowered((Step(kernel, inputs, tuple(Result(i) for i in range(len(loops.outputs)))),))


def scheduled(
    outputs: Sequence[te.Tensor],
    inputs: Sequence[te.Tensor],
    target: Target = WIDEST,
    constant: Sequence[bool] | None = None,
    options: Options | None = None,
) -> Lowered:
    """The kernels for tensors, scheduled as the target schedules them."""
    computed = Computed(tuple(inputs), tuple(outputs), ("test",))
    known = [False] * len(inputs) if constant is None else constant
    return lower_computed(computed, known, target, options or Options())


def _spec(buffer: Buffer) -> TensorSpec:
    sizes = [int(n.value) if isinstance(n, Const) else n.name for n in buffer.shape]
    return TensorSpec(tuple(sizes), buffer.dtype)


# --- loops beside what they mean


@dataclass(frozen=True)
class Case:
    """Loops over buffers, with the arrays they read."""

    loops: Loops
    arrays: tuple[np.ndarray, ...]

    def expected(self, sizes: Mapping[Var, int] | None = None) -> list[np.ndarray]:
        """The results, one scalar after the other."""
        known = sizes or {}
        made = [np.zeros(_extents(one, known), dtypes.to_numpy(one.dtype)) for one in self.outputs]
        given = zip((*self.loops.inputs, *self.outputs), (*self.arrays, *made), strict=True)
        run(self.loops.body, dict(given), known)
        return made

    @property
    def outputs(self) -> tuple[Buffer, ...]:
        return self.loops.outputs


def buffer(name: str, shape: Sequence[int | te.Expr], dtype: str = "float32") -> Buffer:
    return Buffer(name, tuple(map(te.index, shape)), dtype)


def numbers(shape: Sequence[int], dtype: str = "float32", low: int = -9, high: int = 9) -> Any:
    """Small whole numbers, of which sums and products are exact."""
    random = np.random.default_rng(len(shape))
    return random.integers(low, high, shape).astype(dtypes.to_numpy(dtype))


def case(
    inputs: Mapping[Buffer, np.ndarray],
    outputs: Sequence[Buffer],
    write: Callable[[Builder], None],
) -> Case:
    return Case(loops_of(list(inputs), outputs, write), tuple(inputs.values()))


def assert_agree(cases: Mapping[str, Case], target: Target, *, checked: bool = False) -> None:
    """All cases, compiled together, give what they give one scalar after the other."""
    functions = [
        function_of(one.loops, target, f"case{i}", checked=checked)
        for i, one in enumerate(cases.values())
    ]
    batch = Batch(functions, target)
    for number, (name, one) in enumerate(cases.items()):
        expected = one.expected()
        for threads, memory in ((1, Memory()), (3, Memory("before", aligned=False))):
            outcome = batch.run(number, one.arrays, threads=threads, memory=memory)
            assert outcome.status == 0, f"{name}: {outcome.problem}"
            for found, wanted in zip(outcome.results, expected, strict=True):
                np.testing.assert_array_equal(found, wanted, f"{name}, {threads} threads")


def _extents(buffer: Buffer, sizes: Mapping[Var, int]) -> list[int]:
    return [int(n.value) if isinstance(n, Const) else sizes[n] for n in buffer.shape]
