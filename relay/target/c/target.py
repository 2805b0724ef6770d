"""The target `c`: kernels are portable C11, for any processor that has a compiler of C.

    exe = relay.compile(mod, params, target="c")  runs here, by the compiler of this machine
    exe.export("net.c")                           the whole model as source text, with a header

The text is that of the scheduled loops: plain loops over arrays, in the order that processors with
vectors of 128 bits like, on one thread. It computes what native code computes: integers wrap,
quotients by zero are 0, conversions saturate, NaN is kept; float32 is never computed in double, and
products and sums are rounded one by one (`relay.target.c.source` says what the text needs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from relay.errors import TargetError
from relay.target.target import Target, TargetKind

if TYPE_CHECKING:
    from pathlib import Path

    from relay.target.kernel import Kernel, KernelCode, Scheduled
    from relay.target.loaded import Loaded
    from relay.te.compute import Tensor
    from relay.te.expr import Extent
    from relay.te.legalize import Facts
    from relay.te.schedule import Schedule

# The machine whose schedules are used: vectors of 128 bits, no instructions of its own.
_MACHINE = "llvm -mtriple=aarch64-unknown-linux-gnu"


@dataclass(frozen=True, repr=False)
class CTarget(Target):
    """Source text in C11."""

    kind: ClassVar[TargetKind] = TargetKind("c")

    def schedule(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        constants: Sequence[Tensor],
        *,
        threads: bool,
        exact: bool = False,
        plan: str = "",
    ) -> Scheduled:
        """The schedule for one thread; constants are not known, so that weights stay as they
        are."""
        machine = Target(_MACHINE)
        return machine.schedule(outputs, inputs, (), threads=False, exact=True, plan=plan)

    @property
    def facts(self) -> Facts:
        from relay.target.c.helpers import FACTS

        return FACTS

    def generate(
        self,
        name: str,
        schedule: Schedule,
        *,
        checked: bool,
        may_alias: bool,
        sizes: Sequence[Extent],
    ) -> KernelCode:
        from relay.lower.loops import loops_of
        from relay.target.c.kernels import generate

        how: dict[str, Any] = {"checked": checked, "sizes": sizes, "unroll": False}
        lowered, used = loops_of(schedule, self.facts, **how)
        code = generate(name, lowered, checked=checked, may_alias=may_alias, sizes=used)
        return replace(code, sizes=tuple(size.name for size in used))

    @property
    def version(self) -> str:
        return "1"

    def load(
        self,
        kernels: Sequence[Kernel],
        code: Sequence[bytes],
        *,
        threads: int,
        support: Mapping[str, bytes],
    ) -> Loaded:
        from relay.target.c.loaded import CKernels

        return CKernels(kernels, [text.decode() for text in code])

    def executable(self, program: Any, *parts: Any, **limits: Any) -> Any:
        if program["main"].is_straight_line:
            return None
        raise TargetError.of(
            "the target `c` gives no code for functions, branches and sizes of a run",
            hint="as an object, an archive or a shared library of the target `llvm` any program is "
            "one for C; relay.vm.compile(mod, target) runs its kernels in C",
        )

    def export(self, executable: Any, path: Any, kind: str, **options: Any) -> Path:
        if kind != "c":
            raise TargetError.of(
                f"the target `c` gives no {kind}",
                hint="export a file that ends in .c, or compile for the target `llvm`",
            )
        from relay.target.c.source import export

        return export(executable, path, **options)
