"""The accelerator as a target (`relay.target.target`), with this machine as its host.

    Target("accel")                           the single-batch design
    Target("accel -config=4x16x16")           another one (`relay.target.accel.config`)
    Target("accel -config=design.json")
    Target("accel -config=1x16x16 -mcpu=skylake-avx512")      options of the host follow

Layers of signed bytes whose scales are powers of two go to the accelerator, which is simulated;
kernels of everything else, and what is between kernels, are those of the target `llvm`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from relay.errors import TargetError
from relay.target.accel.config import Config
from relay.target.target import Store, Target, TargetKind

if TYPE_CHECKING:
    from relay.ir.expr import Call, Function
    from relay.ir.module import IRModule
    from relay.target.kernel import Kernel, KernelCode, Scheduled, TensorSpec
    from relay.target.loaded import Loaded
    from relay.te.compute import Tensor
    from relay.te.expr import Extent
    from relay.te.legalize import Facts
    from relay.te.schedule import Schedule

VERSION = "1"  # of the code for the accelerator


class AccelTarget(Target):
    """A design, and the machine that calls it."""

    kind: ClassVar[TargetKind] = TargetKind("accel")
    options: ClassVar[Mapping[str, str]] = {
        "config": "the design: 1x16x16, 4x16x16,log_acc=18, or the path of a file of JSON",
        "mtriple": "the host: a target triple",
        "mcpu": "the host: a processor of LLVM",
        "mattr": "the host: its extensions, such as +avx2,-fma",
        "level": "the host: avx512, avx2 or baseline, instead of the others",
    }

    def __init__(self, config: Config | None = None, machine: Target | None = None) -> None:
        self.config = config or Config()
        if self.config.block_in != self.config.block_out:
            raise TargetError.of(
                "the layers of a network read what others write: block_in and block_out are equal",
                found=str(self.config),
            )
        self.machine = machine or Target.host()

    @classmethod
    def of_options(cls, options: Mapping[str, str], text: str) -> AccelTarget:
        words = [f"-{name}={value}" for name, value in options.items() if name != "config"]
        config = Config.of_text(options.get("config", ""))
        return cls(config, Target(" ".join(["llvm", *words])))

    def with_host(self, host: Target) -> AccelTarget:
        return AccelTarget(self.config, self.machine.with_host(host))

    def __str__(self) -> str:
        _, _, host = str(self.machine).partition(" ")
        return f"{self.kind} -config={self.config} {host}".rstrip()

    # --- the accelerator

    def narrowed(self, module: IRModule) -> IRModule:
        from relay.target.accel.offload import offloaded

        return offloaded(self.machine.narrowed(module), self.config)

    def compiler(self) -> Any:
        from relay.target.accel.compiler import AccelCompiler

        return AccelCompiler(self.config)

    # --- the host

    @property
    def version(self) -> str:
        return f"accel {VERSION}, {self.machine.version}"

    @property
    def facts(self) -> Facts | None:
        return self.machine.facts

    def preferred(self, call: Call) -> Call | None:
        return self.machine.preferred(call)

    def refusal(self, function: Function) -> str | None:
        return self.machine.refusal(function)

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
        how = {"threads": threads, "exact": exact, "plan": plan}
        return self.machine.schedule(outputs, inputs, constants, **how)  # type: ignore[arg-type]

    def plans(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        constants: Sequence[Tensor],
        *,
        exact: bool = False,
    ) -> tuple[str, ...]:
        return self.machine.plans(outputs, inputs, constants, exact=exact)

    def generate(
        self,
        name: str,
        schedule: Schedule,
        *,
        checked: bool,
        may_alias: bool,
        sizes: Sequence[Extent],
    ) -> KernelCode:
        return self.machine.generate(
            name, schedule, checked=checked, may_alias=may_alias, sizes=sizes
        )

    def specialized(
        self,
        name: str,
        schedule: Schedule,
        *,
        may_alias: bool,
        sizes: Sequence[Extent],
        known: Mapping[Extent, int],
    ) -> KernelCode:
        return self.machine.specialized(
            name, schedule, may_alias=may_alias, sizes=sizes, known=known
        )

    def external(
        self, name: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
    ) -> KernelCode:
        return self.machine.external(name, inputs, outputs)

    def compile(self, texts: Sequence[str]) -> list[bytes]:
        return self.machine.compile(texts)

    def assembly(self, texts: Sequence[str]) -> str:
        return self.machine.assembly(texts)

    def require_here(self, what: str) -> None:
        self.machine.require_here(what)

    def support(self, whole: bool, store: Store | None = None) -> dict[str, bytes]:
        return self.machine.support(whole, store)

    def load(
        self,
        kernels: Sequence[Kernel],
        code: Sequence[bytes],
        *,
        threads: int,
        support: Mapping[str, bytes],
    ) -> Loaded:
        return self.machine.load(kernels, code, threads=threads, support=support)

    def compile_program(self, program: Any, store: Store) -> Any:
        return self.machine.compile_program(program, store)

    def executable(self, program: Any, code: Any, *parts: Any, **limits: Any) -> Any:
        return self.machine.executable(program, code, *parts, **limits)

    def specializer(self, primitives: Sequence[Any], options: Any, cache: Any) -> Any:
        return self.machine.specializer(primitives, options, cache)

    def export(self, executable: Any, path: Any, kind: str, **options: Any) -> Path:
        return self.machine.export(executable, path, kind, **options)
