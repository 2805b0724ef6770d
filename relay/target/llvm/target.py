"""The LLVM target: processors (`relay.target.target`).

It is cheap to import: schedules, code generation and loading are imported on demand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from relay.errors import TargetError
from relay.target.llvm import features as table
from relay.target.llvm.architectures import FACTS, architecture
from relay.target.llvm.reading import parse, system_of
from relay.target.target import Target, TargetKind, described, mistake

if TYPE_CHECKING:
    from pathlib import Path

    from relay.ir.expr import Call
    from relay.program.native import NativeProgram
    from relay.program.program import Program
    from relay.target.kernel import Kernel, KernelCode, Scheduled, TensorSpec
    from relay.target.loaded import Loaded
    from relay.target.target import Store
    from relay.te.compute import Tensor
    from relay.te.expr import Extent
    from relay.te.legalize import Facts
    from relay.te.schedule import Schedule


@dataclass(frozen=True, repr=False)
class LLVMTarget(Target):
    """A processor; its host must be a machine of the same kind."""

    kind: ClassVar[TargetKind] = TargetKind("llvm")
    options: ClassVar[Mapping[str, str]] = {
        "mcpu": "the processor, by LLVM's name",
        "mattr": "extensions added to and taken from it: +avx2,-fma",
        "mtriple": "the kind of machine and its system: aarch64-linux-gnu",
        "device": "a class of processors: arm_cpu",
        "model": "a board or phone: rasp4b64, rk3399, pixel4",
        "mfloat-abi": "how 32-bit ARM passes floats: hard or soft",
        "level": "a level of x86-64: avx512 (with what this machine adds to it), avx2 or baseline",
    }

    triple: str
    cpu: str
    features: str  # changes to the extensions of `cpu`: "+avx512vnni,-fma"

    @classmethod
    def of_options(cls, options: Mapping[str, str], text: str) -> LLVMTarget:
        return cls(*parse(options, text))

    @classmethod
    def read(cls, text: str) -> LLVMTarget:
        """The target of a description of this kind."""
        made = described(text)
        assert isinstance(made, cls)
        return made

    @classmethod
    def here(cls) -> LLVMTarget:
        """This machine."""
        return cls.read("llvm")

    def with_host(self, host: Target) -> LLVMTarget:
        if not isinstance(host, LLVMTarget) or (host.arch, host.system) != (self.arch, self.system):
            raise mistake(
                "a target and its host are machines of one kind", host, expected=str(self)
            )
        return self

    def __str__(self) -> str:
        attributes = f" -mattr={self.features}" if self.features else ""
        return f"{self.kind} -mtriple={self.triple} -mcpu={self.cpu}{attributes}"

    # --- lowering

    def preferred(self, call: Call) -> Call | None:
        from relay.target.llvm.layouts import preferred

        return preferred(call, self)

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
        from relay.target.llvm.schedules.choose import choose
        from relay.target.llvm.schedules.plan import PLAIN, Plan

        threads = threads and not self.is_bare
        if plan == PLAIN:
            return super().schedule(outputs, inputs, constants, threads=threads)
        how = {"threads": threads, "exact": exact}
        return choose(outputs, inputs, self, constants, **how, plan=Plan.of(plan))

    def plans(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        constants: Sequence[Tensor],
        *,
        exact: bool = False,
    ) -> tuple[str, ...]:
        from relay.target.llvm.schedules.choose import plans

        return tuple(map(str, plans(outputs, inputs, self, constants, exact=exact)))

    @property
    def facts(self) -> Facts:
        from relay.target.llvm.schedules.integers import instructions
        from relay.te.legalize import Facts

        return Facts(
            has_fma=self.has_fma,
            has_f16c=self.has_f16c,
            has_rounding=self.has_rounding,
            has_nearest=self.arch == "x86_64" and "sse4.1" in self.enabled,
            instructions=frozenset(one.name for one in instructions(self)),
        )

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
        from relay.target.llvm.codegen import generate

        loops, used = loops_of(schedule, self.facts, checked=checked, sizes=sizes)
        code = generate(name, loops, self, checked=checked, may_alias=may_alias, sizes=used)
        return replace(code, sizes=tuple(size.name for size in used))

    def specialized(
        self,
        name: str,
        schedule: Schedule,
        *,
        may_alias: bool,
        sizes: Sequence[Extent],
        known: Mapping[Extent, int],
    ) -> KernelCode:
        from relay.lower.loops import loops_of
        from relay.target.llvm.codegen import generate

        loops, used = loops_of(schedule, self.facts, checked=False, sizes=sizes, known=known)
        code = generate(name, loops, self, may_alias=may_alias, sizes=used)
        return replace(code, sizes=tuple(size.name for size in used))

    def external(
        self, name: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
    ) -> KernelCode:
        from relay.target.llvm.external import external_kernel

        return external_kernel(name, inputs, outputs)

    # --- compiling

    @property
    def version(self) -> str:
        from relay.target.llvm.compile import COMPILER_VERSION, llvm_version

        return f"{COMPILER_VERSION} {llvm_version()}"

    def compile(self, texts: Sequence[str]) -> list[bytes]:
        from relay.target.llvm.compile import compile_many, compile_module

        if len(texts) == 1:
            return [compile_module(texts, self)]
        return compile_many([[text] for text in texts], self)

    def assembly(self, texts: Sequence[str]) -> str:
        from relay.target.llvm.compile import assembly

        return assembly(texts, self)

    # --- properties for code generation

    @property
    def arch(self) -> str:
        """The architecture: `x86_64`, `aarch64`, … (`architectures.py`)."""
        found = architecture(self.triple)
        assert found is not None  # checked when the target was made
        return found

    @property
    def system(self) -> str:
        """The operating system: `linux`, `darwin`, `windows`…"""
        return system_of(self.triple)

    @property
    def enabled(self) -> frozenset[str]:
        """All extensions that code for this target may use."""
        return _enabled(self.arch, self.cpu, self.features)

    @property
    def pointer_bits(self) -> int:
        """The width of addresses. Words of the runtime have 64 bits everywhere."""
        return FACTS[self.arch].pointer_bits

    @property
    def is_bare(self) -> bool:
        """Whether there is no operating system: no threads, no files, static memory only."""
        return self.arch in ("cortex_m", "wasm32")

    @property
    def is_small(self) -> bool:
        """Whether code should be short rather than fast."""
        return self.arch == "cortex_m"

    @property
    def has_vectors(self) -> bool:
        """Whether vectors of 128 bits are registers; else LLVM makes scalars of them."""
        needed = {"arm": "neon", "riscv64": "v", "wasm32": "simd128"}.get(self.arch)
        return self.arch != "cortex_m" and (needed is None or needed in self.enabled)

    @property
    def vector_bits(self) -> int:
        """The vector width of kernels.

        512 needs the extensions that all but the first AVX-512 machines have, for bytes, 64-bit
        integers and narrower vectors.
        """
        have = self.enabled
        if self.arch == "cortex_m":
            return 32
        if have >= {"avx512f", "avx512bw", "avx512dq", "avx512vl"}:
            return 512
        return 256 if "avx2" in have else 128

    @property
    def vector_registers(self) -> int:
        """The number of vector registers."""
        if not self.has_vectors:  # vectors of four scalars
            return 8 if self.arch == "riscv64" else 4
        if self.arch in ("aarch64", "riscv64"):
            return 32
        return 32 if self.vector_bits == 512 else 16

    @property
    def has_fma(self) -> bool:
        """Whether fused multiply-add is an instruction, not a library call."""
        extension = {"arm": "vfp4", "cortex_m": "fp-armv8d16", "riscv64": "d"}
        return self.arch == "aarch64" or extension.get(self.arch, "fma") in self.enabled

    @property
    def has_f16c(self) -> bool:
        """Whether float16 conversion is an instruction, not a library call."""
        extension = {"arm": "fp16", "cortex_m": "vfp4d16sp", "riscv64": "zfhmin"}
        return self.arch == "aarch64" or extension.get(self.arch, "f16c") in self.enabled

    @property
    def has_rounding(self) -> bool:
        """Whether rounding to whole numbers is an instruction, not a library call."""
        extension = {"arm": "fp-armv8", "cortex_m": "fp-armv8d16"}
        known = self.arch in ("aarch64", "wasm32")
        return known or extension.get(self.arch, "sse4.1") in self.enabled

    @property
    def multiplies_by_lanes(self) -> bool:
        """Whether multiply-add takes a factor from a lane of a vector, which costs no more."""
        return self.arch == "aarch64"

    @property
    def has_vnni(self) -> bool:
        """Whether x86 VNNI dot products of bytes exist at full width."""
        have = self.enabled
        if self.vector_bits == 512:
            return "avx512vnni" in have
        return "avxvnni" in have or {"avx512vnni", "avx512vl"} <= have

    # --- loading

    def require_here(self, what: str) -> None:
        here = LLVMTarget.here()
        if missing := here.missing(self):
            similar = "compile for what both have, such as target='llvm -level=avx2'"
            foreign = "exe.save(file) for relay.load there, or exe.export(folder, 'folder') for C"
            raise TargetError.of(
                f"{what} was made for another processor",
                expected=f"a machine with {', '.join(missing)}",
                found=str(here),
                hint=similar if here.arch == self.arch else foreign,
            )

    def support(self, whole: bool, store: Store | None = None) -> dict[str, bytes]:
        from relay.target.llvm.support import support

        return support(self, whole, store)

    def load(
        self,
        kernels: Sequence[Kernel],
        code: Sequence[bytes],
        *,
        threads: int,
        support: Mapping[str, bytes],
    ) -> Loaded:
        from relay.target.llvm.jit import load
        from relay.target.llvm.loaded import NativeKernels
        from relay.target.llvm.support import externals, imports_of, start

        start(support)
        functions = externals(kernels, support)
        library = load(code, [kernel.name for kernel in kernels], imports_of(functions))
        return NativeKernels(kernels, library, threads, functions)

    # --- whole programs, and C

    def compile_program(self, program: Program, store: Store) -> NativeProgram:
        if self.is_bare:
            raise TargetError.of(
                "a program with functions, branches, data or sizes of a run needs memory that "
                f"grows, which there is none of on {FACTS[self.arch].name}",
                expected="straight-line code over tensors of known sizes",
                hint="a target with an operating system, such as aarch64-linux-gnu, runs it",
            )
        from relay.target.llvm.program.compile import compile_program

        return compile_program(program, self, store)

    def executable(self, program: Any, code: Any, *parts: Any, **limits: Any) -> Any:
        if code.program is None:
            return None
        from relay.target.llvm.executable.whole_program import WholeProgramExecutable

        return WholeProgramExecutable(program, code, *parts, **limits)

    def elsewhere(self, *parts: Any, prepared: Any = None, **kept: Any) -> Any:
        from relay.target.llvm.executable.cross import CrossExecutable

        return CrossExecutable(*parts, prepared=prepared, **kept)

    def specializer(self, primitives: Sequence[Any], options: Any, cache: Any) -> Any:
        from relay.target.llvm.executable.tiers import Specializer

        return Specializer(primitives, self, options, cache)

    def export(self, executable: Any, path: Any, kind: str, **options: Any) -> Path:
        from relay.target.llvm.c.export import export

        return export(executable, self, path, kind, **options)

    # --- compatibility

    def missing(self, other: LLVMTarget) -> tuple[str, ...]:
        """What this machine lacks to run code for `other`, by name."""
        if self.arch != other.arch:
            return (f"the architecture {other.arch}",)
        if self.system != other.system:
            return (f"the system {other.system}",)
        return tuple(sorted(other.enabled - self.enabled))

    def supports(self, other: LLVMTarget) -> bool:
        """Whether this machine can run code for `other`."""
        return not self.missing(other)


@lru_cache(maxsize=256)
def _enabled(arch: str, cpu: str, features: str) -> frozenset[str]:
    return table.enabled(arch, cpu, filter(None, features.split(",")))
