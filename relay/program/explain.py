"""What becomes of a primitive function on its way to kernels, as text.

    fn (%x, %w, Primitive=1) { nn.relu(nn.dense(%x, %w)) }
      ->  expressions   dense[i, j] = sum((x[i, k] * w[j, k]) for k < 64)
                        y[i, j] = max(dense[i, j], 0.0:float32)
          loops         parallel for i in 128: …

The function is lowered once more, for a target that writes down what it is asked for, so the texts
are those of its kernels and not of a reconstruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from relay.errors import RelayError
from relay.immutable import frozen
from relay.lower.kernel import Kernel, Options
from relay.lower.loops import loops_of
from relay.lower.lower import lower_static
from relay.program.primitives import Primitive
from relay.target.kernel import KernelCode, Scheduled
from relay.target.target import Target
from relay.te.compute import Computation, Placeholder, Procedure, Tensor
from relay.te.expr import Extent
from relay.te.schedule import Schedule
from relay.te.text import expression_text, statement_text


@frozen
class Explained:
    """A kernel of a primitive function, and the texts it was made from."""

    kernel: Kernel
    expressions: str
    loops: str


def explain(wanted: Primitive, target: Target, options: Options | None = None) -> list[Explained]:
    """The kernels of a primitive function, in the order of their steps."""
    watched = _Watched(target)
    as_target = cast("Target", watched)
    if wanted.dynamic:
        from relay.lower.lower_dynamic import lower_dynamic

        lowered: Any = lower_dynamic(wanted.function, wanted.constant, as_target, options)
    else:
        lowered = lower_static(wanted.function, wanted.constant, as_target, options)
    kernels = {step.kernel.name: step.kernel for step in lowered.steps}
    return [watched.explained(kernel) for kernel in kernels.values()]


@dataclass
class _Generated:
    """One kernel, as it was asked for."""

    ir: str
    expressions: str
    loops: str


@dataclass
class _Watched:
    """A target that writes down the schedules it chooses and the loops it gets."""

    target: Target
    made: list[_Generated] = field(default_factory=list)
    expressions: str = ""
    prepared: tuple[Schedule, ...] = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.target, name)

    def __str__(self) -> str:
        return str(self.target)

    def schedule(self, outputs: Sequence[Tensor], *rest: Any, **options: Any) -> Scheduled:
        self.expressions = definitions(outputs)
        made = self.target.schedule(outputs, *rest, **options)
        self.prepared = made.prepare
        return made

    def generate(
        self,
        name: str,
        schedule: Schedule,
        *,
        checked: bool,
        may_alias: bool,
        sizes: Sequence[Extent],
    ) -> KernelCode:
        code = self.target.generate(
            name, schedule, checked=checked, may_alias=may_alias, sizes=sizes
        )
        try:
            loops, _ = loops_of(schedule, None, checked=checked, sizes=sizes)
            text = statement_text(loops.body)
        except RelayError as error:  # of a target that does not make loops
            text = str(error)
        packs = any(schedule is one for one in self.prepared)
        expressions = definitions(schedule.outputs) if packs else self.expressions
        made = _Generated(code.ir.replace(name, ""), expressions, text.rstrip("\n"))
        self.made.append(made)
        return code

    def explained(self, kernel: Kernel) -> Explained:
        own = kernel.ir.replace(kernel.name, "")
        for one in self.made:
            if one.ir == own:
                return Explained(kernel, one.expressions, one.loops)
        return Explained(kernel, "", "")


def definitions(outputs: Iterable[Tensor]) -> str:
    """The definitions of tensors and of those they read, a line each, inputs first."""
    lines: list[str] = []
    seen: set[int] = set()
    pending: list[tuple[Tensor, bool]] = [(tensor, False) for tensor in reversed([*outputs])]
    while pending:
        tensor, ready = pending.pop()
        if not ready:
            if id(tensor) in seen:
                continue
            seen.add(id(tensor))
            pending.append((tensor, True))
            if not isinstance(tensor.op, Placeholder):
                pending += [(read, False) for read in reversed([*tensor.op.inputs])]
            continue
        lines.append(_definition(tensor))
    return "\n".join(lines)


def _definition(tensor: Tensor) -> str:
    match tensor.op:
        case Computation(axes, bodies):
            indices = ", ".join(axis.name for axis in axes)
            body = expression_text(bodies[tensor.position])
            return f"{tensor.name}[{indices}] = {body}"
        case Procedure(inputs):
            read = ", ".join(one.name for one in inputs)
            return f"{tensor!r} = procedure({read})"
    return repr(tensor)
