"""Kernels over dynamic sizes, for given ones: the same loops, with numbers in the place of sizes.

    for i in n // 6: …; for i in n % 6: …      ->     n = 128:   for i in 21: …; for i in 2: …

A specialized kernel is called like the kernel over any sizes that it replaces. It computes the
same sums in the same order, so its results are the same to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from relay.lower.kernel import Kernel, Options
from relay.lower.lower_dynamic import lower_dynamic
from relay.program.primitives import Primitive
from relay.target.kernel import KernelCode
from relay.target.target import Target
from relay.te.expr import Extent
from relay.te.schedule import Schedule


@dataclass
class _Watched:
    """A target that keeps the schedules it makes code of."""

    target: Target
    made: list[tuple[str, Schedule, Sequence[Extent]]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.target, name)

    def __str__(self) -> str:
        return str(self.target)

    def generate(
        self, name: str, schedule: Schedule, *, sizes: Sequence[Extent], **how: Any
    ) -> KernelCode:
        code = self.target.generate(name, schedule, sizes=sizes, **how)
        self.made.append((code.ir.replace(name, ""), schedule, sizes))
        return code


def specialized(
    primitive: Primitive,
    target: Target,
    options: Options,
    wanted: Mapping[str, tuple[str, Sequence[int]]],
) -> dict[str, KernelCode]:
    """The code of kernels of a primitive function, by their names: `wanted` says how the code is to
    be called, and gives the sizes that a kernel takes, in order."""
    watched = _Watched(target)
    made = lower_dynamic(primitive.function, primitive.constant, cast("Target", watched), options)
    kernels: dict[str, Kernel] = {step.kernel.name: step.kernel for step in made.steps}
    found: dict[str, KernelCode] = {}
    for name, (symbol, values) in wanted.items():
        kernel = kernels.get(name)
        if kernel is None or kernel.checks:
            continue
        own = kernel.ir.replace(name, "")
        for ir, schedule, sizes in watched.made:
            if ir == own:
                taken = {size.name: size for size in sizes}
                slots = [taken[one] for one in kernel.sizes]
                known = dict(zip(slots, values, strict=True))
                alias = bool(kernel.in_place)
                found[name] = target.specialized(
                    symbol, schedule, may_alias=alias, sizes=slots, known=known
                )
                break
    return found
