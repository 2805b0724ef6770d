"""Reads descriptions of processors.

llvm -mcpu=skylake-avx512                             -> (triple, processor, its extensions)
llvm -mtriple=aarch64-linux-gnu -mattr=+dotprod
llvm -device=arm_cpu -model=rasp4b64
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from relay.errors import did_you_mean
from relay.target.llvm import features as table
from relay.target.llvm.architectures import (
    DEVICES,
    FACTS,
    GENERIC,
    MODELS,
    SUPPORTED,
    architecture,
)
from relay.target.target import mistake


def parse(options: Mapping[str, str], text: str) -> tuple[str, str, str]:
    """(triple, cpu, features) of the options of a description."""
    options = _with_model(options, text)
    host_triple, host_cpu, host_changes = table.host()
    if not options:
        if architecture(host_triple) is None:
            raise mistake(
                "no code can be made for this machine",
                host_triple,
                expected=SUPPORTED,
                hint="name another one with -mtriple",
            )
        return host_triple, host_cpu, ",".join(host_changes)

    triple = _normalize(options["mtriple"]) if "mtriple" in options else host_triple
    if "level" in options and "mtriple" not in options and architecture(triple) != "x86_64":
        triple = "x86_64-unknown-linux-gnu"
    arch = architecture(triple)
    if arch is None:
        raise mistake(f"no code can be made for `{triple}`", text, expected=SUPPORTED)
    changes: tuple[str, ...] = ()
    if "level" in options and "mcpu" in options:
        raise mistake("a target has a level or a processor, not both", text)
    if "level" in options:
        cpu, changes = _level(options["level"], arch, text)
    elif options.get("mcpu") == "native" and arch == architecture(host_triple):
        cpu, changes = host_cpu, host_changes
    else:
        cpu = _processor(options.get("mcpu", GENERIC[arch]), arch, text)
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
    if level != "avx512" or architecture(host_triple) != arch:
        return cpu, ()
    here = table.enabled(arch, host_cpu, host_changes)
    return cpu, table.difference(arch, cpu, here) if here >= table.PROCESSORS[arch][cpu] else ()


def _processor(cpu: str, arch: str, text: str) -> str:
    known = table.PROCESSORS[arch]
    if cpu == "generic":
        return GENERIC[arch]
    if cpu in known:
        return cpu
    elsewhere = [other for other, names in table.PROCESSORS.items() if cpu in names]
    hint = did_you_mean(cpu, known) or f"-mcpu={GENERIC[arch]} with -mattr says it exactly"
    if elsewhere:
        triple = FACTS[elsewhere[0]].triple
        hint = f"it is a processor of {elsewhere[0]}: add -mtriple={triple}"
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


def _with_model(options: Mapping[str, str], text: str) -> Mapping[str, str]:
    """Options with the triple and processor that a model, a device and an ABI stand for."""
    if not options.keys() & {"model", "device", "mfloat-abi"}:
        return options
    made = dict(options)
    model, device, floats = (made.pop(name, "") for name in ("model", "device", "mfloat-abi"))
    if model:
        if model not in MODELS:
            known = ", ".join(MODELS)
            hint = did_you_mean(model, MODELS) or "name the machine with -mtriple and -mcpu"
            raise mistake(f"there is no model `{model}`", text, expected=known, hint=hint)
        triple, cpu = MODELS[model]
        made.setdefault("mtriple", triple)
        same = architecture(made["mtriple"]) == architecture(triple)
        made |= {"mcpu": cpu} if same and "mcpu" not in made else {}
    if device:
        if device not in DEVICES:
            hint = did_you_mean(device, DEVICES) or "name the machine with -mtriple and -mcpu"
            known = ", ".join(DEVICES)
            raise mistake(f"there is no device `{device}`", text, expected=known, hint=hint)
        made.setdefault("mtriple", FACTS[DEVICES[device][0]].triple)
        if (architecture(made["mtriple"]) or "") not in DEVICES[device]:
            raise mistake(f"`{made['mtriple']}` is no machine of the device `{device}`", text)
    if floats:
        if floats not in ("hard", "soft", "softfp"):
            raise mistake(f"there is no ABI of floats `{floats}`", text, expected="hard or soft")
        plain = made.get("mtriple", "").removesuffix("hf")
        if not plain.endswith("eabi"):
            raise mistake("-mfloat-abi is of 32-bit ARM", text, hint="add -mtriple")
        made["mtriple"] = plain + ("hf" if floats == "hard" else "")
    return made


_SYSTEMS: Final = (
    *("linux", "darwin", "macos", "macosx", "windows", "freebsd", "netbsd", "openbsd", "none"),
    "wasi",
)
_PLAIN: Final = {"aarch64": "aarch64", "arm": "armv7", "x86_64": "x86_64"}


def _normalize(triple: str) -> str:
    """`aarch64-linux-gnu` -> `aarch64-unknown-linux-gnu`"""
    parts = triple.split("-")
    parts[0] = _PLAIN.get(architecture(triple) or "", parts[0])
    if len(parts) > 1 and parts[1].startswith(_SYSTEMS):
        parts.insert(1, "unknown")
    return "-".join(parts)


def system_of(triple: str) -> str:
    """The operating system of a triple; `none` without one."""
    parts = triple.split("-")
    name = parts[2] if len(parts) > 2 else "unknown"
    name = name.rstrip("0123456789.")
    return "darwin" if name in ("macos", "macosx") else name
