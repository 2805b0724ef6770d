"""The LLVM target: processors (`relay.target.target`).

It is cheap to import: schedules, code generation and loading are imported on demand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from relay.errors import TargetError, did_you_mean
from relay.target.llvm import features as table
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
        "level": "a level of x86-64: avx512 (with what this machine adds to it), avx2 or baseline",
    }

    triple: str
    cpu: str
    features: str  # changes to the extensions of `cpu`: "+avx512vnni,-fma"

    @classmethod
    def of_options(cls, options: Mapping[str, str], text: str) -> LLVMTarget:
        return cls(*_parse(options, text))

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
            has_rounding=self.arch == "aarch64" or "sse4.1" in self.enabled,
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
        """`x86_64` or `aarch64`."""
        found = table.architecture(self.triple)
        assert found is not None  # checked when the target was made
        return found

    @property
    def system(self) -> str:
        """The operating system: `linux`, `darwin`, `windows`…"""
        return _system(self.triple)

    @property
    def enabled(self) -> frozenset[str]:
        """All extensions that code for this target may use."""
        return _enabled(self.arch, self.cpu, self.features)

    @property
    def vector_bits(self) -> int:
        """The vector width of kernels.

        512 needs the extensions that all but the first AVX-512 machines have, for bytes, 64-bit
        integers and narrower vectors.
        """
        have = self.enabled
        if have >= {"avx512f", "avx512bw", "avx512dq", "avx512vl"}:
            return 512
        return 256 if "avx2" in have else 128

    @property
    def vector_registers(self) -> int:
        """The number of vector registers."""
        return 32 if self.arch == "aarch64" or self.vector_bits == 512 else 16

    @property
    def has_fma(self) -> bool:
        """Whether fused multiply-add is an instruction, not a library call."""
        return self.arch == "aarch64" or "fma" in self.enabled

    @property
    def has_f16c(self) -> bool:
        """Whether float16 conversion is an instruction, not a library call."""
        return self.arch == "aarch64" or "f16c" in self.enabled

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
            raise TargetError.of(
                f"{what} was made for another processor",
                expected=f"a machine with {', '.join(missing)}",
                found=str(here),
                hint="compile for what both have, such as target='llvm -level=avx2'",
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
        from relay.target.llvm.program.compile import compile_program

        return compile_program(program, self, store)

    def executable(self, program: Any, code: Any, *parts: Any, **limits: Any) -> Any:
        if code.program is None:
            return None
        from relay.target.llvm.executable.whole_program import WholeProgramExecutable

        return WholeProgramExecutable(program, code, *parts, **limits)

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


# --- reading


def _parse(options: Mapping[str, str], text: str) -> tuple[str, str, str]:
    """(triple, cpu, features)"""
    host_triple, host_cpu, host_changes = table.host()
    if not options:
        if table.architecture(host_triple) is None:
            raise mistake(
                "no code can be made for this machine",
                host_triple,
                expected="x86-64 or AArch64",
                hint="name another one with -mtriple",
            )
        return host_triple, host_cpu, ",".join(host_changes)

    triple = _normalize(options["mtriple"]) if "mtriple" in options else host_triple
    if "level" in options and "mtriple" not in options and table.architecture(triple) != "x86_64":
        triple = "x86_64-unknown-linux-gnu"
    arch = table.architecture(triple)
    if arch is None:
        raise mistake(f"no code can be made for `{triple}`", text, expected="x86-64 or AArch64")
    changes: tuple[str, ...] = ()
    if "level" in options and "mcpu" in options:
        raise mistake("a target has a level or a processor, not both", text)
    if "level" in options:
        cpu, changes = _level(options["level"], arch, text)
    elif options.get("mcpu") == "native" and arch == table.architecture(host_triple):
        cpu, changes = host_cpu, host_changes
    else:
        cpu = _processor(options.get("mcpu", table.GENERIC[arch]), arch, text)
    changes = (*changes, *_changes(options.get("mattr", ""), arch, text))
    have = table.enabled(arch, cpu, changes)
    return triple, cpu, ",".join(table.difference(arch, cpu, have))


def _level(level: str, arch: str, text: str) -> tuple[str, tuple[str, ...]]:
    """(processor, changes) of a level; the highest one includes further extensions of the host."""
    if level not in table.X86_LEVELS:
        raise mistake(
            f"there is no level `{level}`",
            text,
            expected=", ".join(table.X86_LEVELS),
            hint=did_you_mean(level, table.X86_LEVELS),
        )
    if arch != "x86_64":
        raise mistake(f"levels are of x86-64; {arch} has none", text)
    cpu = table.X86_LEVELS[level]
    host_triple, host_cpu, host_changes = table.host()
    if level != "avx512" or table.architecture(host_triple) != arch:
        return cpu, ()
    here = table.enabled(arch, host_cpu, host_changes)
    return cpu, table.difference(arch, cpu, here) if here >= table.PROCESSORS[arch][cpu] else ()


def _processor(cpu: str, arch: str, text: str) -> str:
    known = table.PROCESSORS[arch]
    if cpu == "generic":
        return table.GENERIC[arch]
    if cpu in known:
        return cpu
    elsewhere = [other for other, names in table.PROCESSORS.items() if cpu in names]
    hint = did_you_mean(cpu, known) or f"-mcpu={table.GENERIC[arch]} with -mattr says it exactly"
    if elsewhere:
        hint = f"it is a processor of {elsewhere[0]}: add -mtriple={elsewhere[0]}-linux-gnu"
    raise mistake(f"`{cpu}` is not a processor of {arch} that is known here", text, hint=hint)


def _changes(text: str, arch: str, whole: str) -> tuple[str, ...]:
    """`+avx2,-fma` -> ("+avx2", "-fma")"""
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    for change in found:
        name = change[1:]
        if change[0] not in "+-" or name not in table.FEATURES[arch]:
            raise mistake(
                f"`{change}` is not an extension of {arch} that is known here",
                whole,
                expected="a name with + or - before it: +avx2,-fma",
                hint=did_you_mean(name, table.FEATURES[arch]),
            )
    return found


_SYSTEMS: Final = ("linux", "darwin", "macos", "macosx", "windows", "freebsd", "netbsd", "openbsd")


def _normalize(triple: str) -> str:
    """`aarch64-linux-gnu` -> `aarch64-unknown-linux-gnu`"""
    parts = triple.split("-")
    parts[0] = table.architecture(triple) or parts[0]
    if len(parts) > 1 and parts[1].startswith(_SYSTEMS):
        parts.insert(1, "unknown")
    return "-".join(parts)


def _system(triple: str) -> str:
    parts = triple.split("-")
    name = parts[2] if len(parts) > 2 else "unknown"
    name = name.rstrip("0123456789.")
    return "darwin" if name in ("macos", "macosx") else name
