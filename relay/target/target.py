"""A target: the machine that code is made for, written the way people write it.

    Target("llvm")                                           this machine
    Target("llvm -mcpu=skylake-avx512")                      another processor of this kind
    Target("llvm -mcpu=x86-64 -mattr=+avx2,+fma")            exactly these extensions
    Target("llvm -level=avx2")                               a level: avx512, avx2, baseline
    Target("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1")   another kind of machine

A target is a value: two that mean the same machine are equal, and `Target(str(target))` is
`target` on whatever machine it is read.

    with Target("llvm -mcpu=skylake-avx512"):
        lib = relay.build(mod, params=params)

What is compiled inside without a target of its own is compiled for the innermost one. That is
ambient state, as the PassContext is: a context variable, so threads and tasks have their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Any, Final, NoReturn

from relay import settings
from relay.errors import Diagnostic, TargetError, did_you_mean
from relay.target.llvm import features as table

OPTIONS: Final = {
    "mcpu": "the processor, by LLVM's name",
    "mattr": "extensions added to and taken from it: +avx2,-fma",
    "mtriple": "the kind of machine and its system: aarch64-linux-gnu",
    "level": "a level of x86-64: avx512 (with what this machine adds to it), avx2 or baseline",
}


class TargetKind(str):
    """What kind of code a target takes: `llvm`. It has a `name`, which is itself."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return str(self)


@dataclass(frozen=True, init=False, repr=False)
class Target:
    """The machine that code is made for.

    `host` is the machine that calls this code. Code for a processor runs where it is called, so it
    must be of the same kind, and changes nothing.
    """

    kind: TargetKind
    triple: str
    cpu: str
    features: str  # what differs from the processor's own extensions: "+avx512vnni,-fma"

    def __init__(
        self,
        description: str | Target | Mapping[str, Any] = "llvm",
        host: str | Target | None = None,
    ) -> None:
        if isinstance(description, Mapping):
            description = _written(description)
        if isinstance(description, Target):
            fields = description.kind, description.triple, description.cpu, description.features
        elif isinstance(description, str):
            kind, triple, cpu, features = _parse(description)
            fields = TargetKind(kind), triple, cpu, features
        else:
            _refuse("a target is a string such as `llvm`", description)
        for name, value in zip(("kind", "triple", "cpu", "features"), fields, strict=True):
            object.__setattr__(self, name, value)
        if host is None:
            return
        calling = Target(host)
        if (calling.arch, calling.system) != (self.arch, self.system):
            _refuse("a target and its host are machines of one kind", calling, expected=str(self))

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The innermost target that was entered with `with`; outside of all, None."""
        if entered := _entered.get():
            return entered[-1]
        if not allow_none:
            _refuse("no target was entered", "none", hint='enter one: with Target("llvm"): …')
        return None

    def __enter__(self) -> Target:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _entered.set(_entered.get()[:-1])

    @classmethod
    def host(cls) -> Target:
        """This machine."""
        return cls("llvm")

    @classmethod
    def x86(cls, level: str) -> Target:
        """A level of x86-64: `avx512`, `avx2` or `baseline`."""
        return cls(f"llvm -level={level}")

    @classmethod
    def aarch64(cls, cpu: str = "neoverse-n1") -> Target:
        """A 64-bit ARM machine under Linux."""
        return cls(f"llvm -mtriple=aarch64-unknown-linux-gnu -mcpu={cpu}")

    def __str__(self) -> str:
        attributes = f" -mattr={self.features}" if self.features else ""
        return f"{self.kind} -mtriple={self.triple} -mcpu={self.cpu}{attributes}"

    def __repr__(self) -> str:
        return f'Target("{self}")'

    # --- what code generation asks ------------------------------------------------------------

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
        """Every extension code for this target may use."""
        return _enabled(self.arch, self.cpu, self.features)

    @property
    def vector_bits(self) -> int:
        """The width of the vectors kernels are written with.

        512 asks for the extensions every AVX-512 machine but the first has: code for bytes, 64-bit
        integers and narrower vectors relies on them.
        """
        have = self.enabled
        if have >= {"avx512f", "avx512bw", "avx512dq", "avx512vl"}:
            return 512
        return 256 if "avx2" in have else 128

    @property
    def vector_registers(self) -> int:
        """How many vectors registers hold at once."""
        return 32 if self.arch == "aarch64" or self.vector_bits == 512 else 16

    @property
    def has_fma(self) -> bool:
        """Whether multiply-add with one rounding is an instruction, not a library call."""
        return self.arch == "aarch64" or "fma" in self.enabled

    @property
    def has_f16c(self) -> bool:
        """Whether float16 is converted by an instruction, not by a library call."""
        return self.arch == "aarch64" or "f16c" in self.enabled

    @property
    def has_vnni(self) -> bool:
        """Whether four products of bytes are summed by one x86 instruction at full width."""
        have = self.enabled
        if self.vector_bits == 512:
            return "avx512vnni" in have
        return "avxvnni" in have or {"avx512vnni", "avx512vl"} <= have

    # --- what loading asks --------------------------------------------------------------------

    def missing(self, other: Target) -> tuple[str, ...]:
        """What a machine like this one lacks to run code made for `other`, by name."""
        if self.arch != other.arch:
            return (f"the architecture {other.arch}",)
        if self.system != other.system:
            return (f"the system {other.system}",)
        return tuple(sorted(other.enabled - self.enabled))

    def supports(self, other: Target) -> bool:
        """Whether a machine like this one can run code made for `other`."""
        return not self.missing(other)


_entered: ContextVar[tuple[Target, ...]] = ContextVar("relay targets", default=())


def wanted(given: str | Target | Mapping[str, Any] | None) -> Target:
    """The target that is given; else the one that was entered, that of the settings, this
    machine."""
    return Target(given or Target.current() or settings.TARGET.read() or "llvm")


@lru_cache(maxsize=256)
def _enabled(arch: str, cpu: str, features: str) -> frozenset[str]:
    return table.enabled(arch, cpu, filter(None, features.split(",")))


# --- reading -----------------------------------------------------------------------------------


def _refuse(
    message: str, found: object, expected: str | None = None, hint: str | None = None
) -> NoReturn:
    raise TargetError(Diagnostic(message, expected=expected, found=str(found), hint=hint))


def _written(options: Mapping[Any, Any]) -> Any:
    """{"kind": "llvm", "mattr": ["+avx2"]} -> `llvm -mattr=+avx2`; {"cpu": "llvm"}, which gives
    each device its target, -> `llvm`"""
    if "kind" not in options and [str(device).partition("(")[0] for device in options] == ["cpu"]:
        return next(iter(options.values()))
    words = [str(options.get("kind", ""))]
    for name, value in options.items():
        if name != "kind":
            text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            words.append(f"-{name}={text}")
    return " ".join(words)


def _parse(text: str) -> tuple[str, str, str, str]:
    """(kind, triple, cpu, features)"""
    kind, options = _options(text)
    if kind != "llvm":
        _refuse(
            f"there is no target `{kind}`", text, expected="llvm", hint=did_you_mean(kind, ["llvm"])
        )
    host_triple, host_cpu, host_changes = table.host()
    if not options:
        if table.architecture(host_triple) is None:
            _refuse(
                "no code can be made for this machine",
                host_triple,
                expected="x86-64 or AArch64",
                hint="name another one with -mtriple",
            )
        return kind, host_triple, host_cpu, ",".join(host_changes)

    triple = _normalise(options["mtriple"]) if "mtriple" in options else host_triple
    if "level" in options and "mtriple" not in options and table.architecture(triple) != "x86_64":
        triple = "x86_64-unknown-linux-gnu"
    arch = table.architecture(triple)
    if arch is None:
        _refuse(f"no code can be made for `{triple}`", text, expected="x86-64 or AArch64")
    changes: tuple[str, ...] = ()
    if "level" in options and "mcpu" in options:
        _refuse("a target has a level or a processor, not both", text)
    if "level" in options:
        cpu, changes = _level(options["level"], arch, text)
    elif options.get("mcpu") == "native" and arch == table.architecture(host_triple):
        cpu, changes = host_cpu, host_changes
    else:
        cpu = _processor(options.get("mcpu", table.GENERIC[arch]), arch, text)
    changes = (*changes, *_changes(options.get("mattr", ""), arch, text))
    have = table.enabled(arch, cpu, changes)
    return kind, triple, cpu, ",".join(table.difference(arch, cpu, have))


def _options(text: str) -> tuple[str, dict[str, str]]:
    """`llvm -mcpu=x -mattr +y` -> ("llvm", {"mcpu": "x", "mattr": "+y"})"""
    words = text.split()
    if not words:
        _refuse("a target needs a name", repr(text), expected="llvm")
    found: dict[str, str] = {}
    rest = iter(words[1:])
    for word in rest:
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or name not in OPTIONS:
            _refuse(
                f"a target has no option `{word}`",
                text,
                expected=", ".join(f"-{option}" for option in OPTIONS),
                hint=did_you_mean(name, OPTIONS),
            )
        value = value if equals else next(rest, "")
        if not value:
            _refuse(f"the option -{name} needs a value", text, expected=OPTIONS[name])
        if name in found:
            _refuse(f"the option -{name} is given twice", text)
        found[name] = value
    return words[0], found


def _level(level: str, arch: str, text: str) -> tuple[str, tuple[str, ...]]:
    """(processor, changes) of a level; the highest one takes what this machine adds to it."""
    if level not in table.X86_LEVELS:
        _refuse(
            f"there is no level `{level}`",
            text,
            expected=", ".join(table.X86_LEVELS),
            hint=did_you_mean(level, table.X86_LEVELS),
        )
    if arch != "x86_64":
        _refuse(f"levels are of x86-64; {arch} has none", text)
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
    _refuse(f"`{cpu}` is not a processor of {arch} that is known here", text, hint=hint)


def _changes(text: str, arch: str, whole: str) -> tuple[str, ...]:
    """`+avx2,-fma` -> ("+avx2", "-fma")"""
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    for change in found:
        name = change[1:]
        if change[0] not in "+-" or name not in table.FEATURES[arch]:
            _refuse(
                f"`{change}` is not an extension of {arch} that is known here",
                whole,
                expected="a name with + or - before it: +avx2,-fma",
                hint=did_you_mean(name, table.FEATURES[arch]),
            )
    return found


_SYSTEMS: Final = ("linux", "darwin", "macos", "macosx", "windows", "freebsd", "netbsd", "openbsd")


def _normalise(triple: str) -> str:
    """`aarch64-linux-gnu` -> `aarch64-unknown-linux-gnu`: four parts, as LLVM has them."""
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
