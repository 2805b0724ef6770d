"""Instruction-set extensions of processors.

LLVM knows the extensions of a processor name, but has no interface for it. The tables here have
those that the code generator may use; the tests compare them with the instructions that LLVM
selects.

    enabled("x86_64", "haswell", ("+avx512f",))    {"avx", "avx2", "avx512f", "fma", "f16c", …}
    difference("x86_64", "haswell", that)          ("+avx512f",)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from relay.target.llvm.architectures import GENERIC, OTHER_FEATURES, OTHER_PROCESSORS, architecture

# --- extensions, each with those it includes ---------------------------------------------------

X86_FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "sse2": (),
    "sse3": ("sse2",),
    "ssse3": ("sse3",),
    "sse4.1": ("ssse3",),
    "sse4.2": ("sse4.1",),
    "popcnt": (),
    "cx16": (),
    "sahf": (),
    "movbe": (),
    "adx": (),
    "bmi": (),
    "bmi2": (),
    "lzcnt": (),
    "aes": ("sse2",),
    "pclmul": ("sse2",),
    "gfni": ("sse2",),
    "avx": ("sse4.2",),
    "avx2": ("avx",),
    "f16c": ("avx",),
    "fma": ("avx",),
    "vaes": ("avx2", "aes"),
    "vpclmulqdq": ("avx", "pclmul"),
    "avxvnni": ("avx2",),
    "avxvnniint8": ("avx2",),
    "avxvnniint16": ("avx2",),
    "avxifma": ("avx2",),
    "avxneconvert": ("avx2",),
    "avx512f": ("avx2", "f16c", "fma"),
    "avx512bw": ("avx512f",),
    "avx512cd": ("avx512f",),
    "avx512dq": ("avx512f",),
    "avx512vl": ("avx512f",),
    "avx512ifma": ("avx512f",),
    "avx512vbmi": ("avx512bw",),
    "avx512vbmi2": ("avx512bw",),
    "avx512vnni": ("avx512f",),
    "avx512bitalg": ("avx512bw",),
    "avx512vpopcntdq": ("avx512f",),
    "avx512vp2intersect": ("avx512f",),
    "avx512bf16": ("avx512bw",),
    "avx512fp16": ("avx512bw",),
}

# --- processors --------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_V1 = _words("sse2")
_V2 = _V1 | _words("sse3 ssse3 sse4.1 sse4.2 popcnt cx16 sahf")
_V3 = _V2 | _words("avx avx2 bmi bmi2 f16c fma lzcnt movbe")
_AVX512 = _words("avx512f avx512bw avx512cd avx512dq avx512vl")
_WESTMERE = _V2 | _words("pclmul")
_SANDYBRIDGE = _WESTMERE | _words("avx")
_SKYLAKE = _V3 | _words("pclmul aes adx")
_SKYLAKE_AVX512 = _SKYLAKE | _AVX512
_CASCADELAKE = _SKYLAKE_AVX512 | _words("avx512vnni")
_CANNONLAKE = _SKYLAKE_AVX512 | _words("avx512ifma avx512vbmi")
_ICELAKE = _CANNONLAKE | _words(
    "avx512bitalg avx512vbmi2 avx512vnni avx512vpopcntdq gfni vaes vpclmulqdq"
)
_SAPPHIRERAPIDS = _ICELAKE | _words("avx512bf16 avx512fp16 avxvnni")
_ALDERLAKE = _SKYLAKE | _words("avxvnni gfni vaes vpclmulqdq")
_ARROWLAKE = _ALDERLAKE | _words("avxifma avxneconvert avxvnniint8")
_ZEN = _V3 | _words("pclmul aes adx")
_ZEN3 = _ZEN | _words("vaes vpclmulqdq")
_ZEN4 = _ZEN3 | (_ICELAKE - _ZEN3) | _words("avx512bf16")

X86_PROCESSORS: Final[Mapping[str, frozenset[str]]] = {
    "x86-64": _V1,
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": _V3 | _AVX512,
    "nehalem": _V2,
    "westmere": _WESTMERE,
    "sandybridge": _SANDYBRIDGE,
    "ivybridge": _SANDYBRIDGE | _words("f16c"),
    "haswell": _V3 | _words("pclmul"),
    "core-avx2": _V3 | _words("pclmul"),
    "broadwell": _V3 | _words("pclmul adx"),
    "skylake": _SKYLAKE,
    "skylake-avx512": _SKYLAKE_AVX512,
    "cascadelake": _CASCADELAKE,
    "cooperlake": _CASCADELAKE | _words("avx512bf16"),
    "cannonlake": _CANNONLAKE,
    "icelake-client": _ICELAKE,
    "icelake-server": _ICELAKE,
    "rocketlake": _ICELAKE,
    "tigerlake": _ICELAKE | _words("avx512vp2intersect"),
    "sapphirerapids": _SAPPHIRERAPIDS,
    "emeraldrapids": _SAPPHIRERAPIDS,
    "graniterapids": _SAPPHIRERAPIDS,
    "alderlake": _ALDERLAKE,
    "raptorlake": _ALDERLAKE,
    "meteorlake": _ALDERLAKE,
    "arrowlake": _ARROWLAKE,
    "znver1": _ZEN,
    "znver2": _ZEN,
    "znver3": _ZEN3,
    "znver4": _ZEN4,
    "znver5": _ZEN4 | _words("avxvnni avx512vp2intersect"),
}

FEATURES: Final = {"x86_64": X86_FEATURES, **OTHER_FEATURES}
PROCESSORS: Final = {"x86_64": X86_PROCESSORS, **OTHER_PROCESSORS}
# microarchitecture levels
X86_LEVELS: Final = {"avx512": "x86-64-v4", "avx2": "x86-64-v3", "baseline": "x86-64"}


# --- sets of extensions ------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def included(arch: str, feature: str) -> frozenset[str]:
    """`feature` and all that it includes."""
    table = FEATURES[arch]
    found: set[str] = set()
    waiting = [feature]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(table[name])
    return frozenset(found)


def enabled(arch: str, cpu: str, changes: Iterable[str]) -> frozenset[str]:
    """The extensions of `cpu` after `changes` (`+avx2`, `-fma`, in order), as LLVM applies them.

    Adding an extension adds those it includes; removing one removes those that include it. A
    processor that is not in the tables counts as the generic one of its architecture.
    """
    have = set(PROCESSORS[arch].get(cpu, PROCESSORS[arch][GENERIC[arch]]))
    for change in changes:
        sign, name = change[0], change[1:]
        if sign == "+":
            have |= included(arch, name)
        else:
            have = {other for other in have if name not in included(arch, other)}
    return frozenset(have)


def difference(arch: str, cpu: str, have: frozenset[str]) -> tuple[str, ...]:
    """The minimal changes that give `cpu` exactly the extensions `have`, sorted."""
    base = enabled(arch, cpu, ())
    added, removed = have - base, base - have
    plus = {a for a in added if not any(a in included(arch, b) for b in added - {a})}
    minus = {r for r in removed if not included(arch, r) & (removed - {r})}
    return (*(f"+{name}" for name in sorted(plus)), *(f"-{name}" for name in sorted(minus)))


# --- this machine ------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def host() -> tuple[str, str, tuple[str, ...]]:
    """(triple, processor, changes) of this machine.

    A virtual machine may hide extensions of its processor, so they are detected one by one.
    """
    from llvmlite import binding

    triple = binding.get_process_triple()
    cpu = binding.get_host_cpu_name()
    arch = architecture(triple)
    if arch is None:
        return triple, cpu, ()
    told = {k: v for k, v in binding.get_host_cpu_features().items() if k in FEATURES[arch]}
    have = {name for name in enabled(arch, cpu, ()) if told.get(name, True)}
    have |= {name for name, present in told.items() if present}
    # an extension counts only with all that it includes
    closed = frozenset(name for name in have if included(arch, name) <= have)
    if cpu not in PROCESSORS[arch]:
        # newer than the tables: the highest level it contains, and its other extensions
        levels = X86_LEVELS.values() if arch == "x86_64" else ()
        contained = (name for name in levels if PROCESSORS[arch][name] <= closed)
        cpu = next(contained, GENERIC[arch])
    return triple, cpu, difference(arch, cpu, closed)
