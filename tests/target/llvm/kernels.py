"""Loops and tensors as native code: what the tests of code generation share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay import te
from relay.lower.kernel import Kernel, Lowered, Param, Result, Step, TensorSpec
from relay.lower.lower import Options, lower_computed, machine
from relay.lower.to_compute import Computed
from relay.target.llvm.codegen import Code, generate
from relay.target.target import Target
from relay.te.expr import Const, Var
from relay.te.legalize import legalize
from relay.te.loops import Buffer, Builder, Statement
from relay.te.lower import Lowered as Loops
from relay.te.tidy import tidy


def levels() -> list[Target]:
    """The levels of x86-64 that this machine has; on another kind of machine, itself."""
    host = Target.host()
    if host.arch != "x86_64":
        return [host]
    known = [Target.x86(level) for level in ("avx512", "avx2", "baseline")]
    return [target for target in known if host.supports(target)]


LEVELS = levels()
LEVEL_NAMES = [f"{target.vector_bits} bits" for target in LEVELS]
WIDEST = LEVELS[0]


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
) -> Code:
    """The code of loops, in instructions of the target."""
    body: Statement = legalize(loops.body, machine(target))
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
