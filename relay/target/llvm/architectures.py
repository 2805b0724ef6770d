"""Architectures: what they are called, how wide pointers are, which extensions processors have.

    architecture("armv7l-linux-gnueabihf")     "arm"
    FACTS["arm"].pointer_bits                  32

An architecture is a family of processors with one instruction set: `cortex_m`, the small ARM
processors of microcontrollers, has another than `arm`, those that run Linux with 32 bits. The
tables of x86-64 are in `features.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from relay.immutable import frozen


@frozen
class Architecture:
    """The facts of an architecture that no extension changes."""

    name: str  # as people say it
    generic: str  # the processor where none is named
    triple: str  # a usual one
    pointer_bits: int = 64
    elf: int = 0  # the machine of its object files
    tools: str = ""  # the beginning of the names of GNU's compilers for Linux, or for bare metal


FACTS: Final[Mapping[str, Architecture]] = {
    "x86_64": Architecture("x86-64", "x86-64", "x86_64-linux-gnu", 64, 62, "x86_64-linux-gnu-"),
    "aarch64": Architecture(
        "AArch64", "generic", "aarch64-linux-gnu", 64, 183, "aarch64-linux-gnu-"
    ),
    "arm": Architecture(
        "ARMv7", "cortex-a7", "armv7-linux-gnueabihf", 32, 40, "arm-linux-gnueabihf-"
    ),
    "cortex_m": Architecture(
        "Cortex-M", "cortex-m4", "thumbv7em-none-eabihf", 32, 40, "arm-none-eabi-"
    ),
    "riscv64": Architecture(
        "64-bit RISC-V", "sifive-u54", "riscv64-linux-gnu", 64, 243, "riscv64-linux-gnu-"
    ),
    "wasm32": Architecture("WebAssembly", "generic", "wasm32-unknown-unknown", 32),
}
GENERIC: Final = {arch: facts.generic for arch, facts in FACTS.items()}
SUPPORTED: Final = ", ".join(facts.name for facts in FACTS.values())

_ALIASES: Final[Mapping[str, str]] = {
    "amd64": "x86_64",
    "arm64": "aarch64",
    **dict.fromkeys(("armv7", "armv7a", "armv7l", "armv8l", "thumbv7", "thumbv7a"), "arm"),
    **dict.fromkeys(("thumbv6m", "thumbv7m", "thumbv7em", "thumbv8m.base"), "cortex_m"),
    **dict.fromkeys(("thumbv8m.main", "thumbv8.1m.main"), "cortex_m"),
}


def architecture(triple: str) -> str | None:
    """The architecture of a triple, or None if it is not supported."""
    first = triple.split("-")[0]
    name = _ALIASES.get(first, first)
    return name if (name in FACTS and name != "cortex_m") or first in _ALIASES else None


# --- extensions, each with those it includes ----------------------------------------------------

AARCH64_FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "fp-armv8": (),
    "neon": ("fp-armv8",),
    "crc": (),
    "lse": (),
    "rdm": ("neon",),
    "fullfp16": ("fp-armv8",),
    "fp16fml": ("fullfp16",),
    "dotprod": ("neon",),
    "bf16": ("neon",),
    "i8mm": ("neon",),
    "sve": ("fullfp16",),
    "sve2": ("sve",),
}

ARM_FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "vfp3": (),
    "fp16": ("vfp3",),  # conversions
    "vfp4": ("fp16",),
    "fp-armv8": ("vfp4",),
    "neon": ("vfp3",),
    "crc": (),
    "hwdiv-arm": (),
    "fullfp16": ("fp-armv8",),
    "dotprod": ("neon",),
}

CORTEX_M_FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "hwdiv": (),
    "dsp": (),
    "vfp4d16sp": (),  # floats of 32 bits
    "fp-armv8d16sp": ("vfp4d16sp",),
    "fp-armv8d16": ("fp-armv8d16sp",),  # and of 64 bits
}

RISCV_FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "m": (),
    "a": (),
    "f": (),
    "d": ("f",),
    "c": (),
    "zba": (),
    "zbb": (),
    "zfhmin": ("f",),
    "zfh": ("zfhmin",),
    "v": ("d",),
    "zvfh": ("v", "zfhmin"),
}

WASM_FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "bulk-memory": (),
    "mutable-globals": (),
    "nontrapping-fptoint": (),
    "sign-ext": (),
    "simd128": (),
    "relaxed-simd": ("simd128",),
}

# --- processors --------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ARMV8 = _words("fp-armv8 neon")
_ARMV8_1 = _ARMV8 | _words("crc lse rdm")
_ARMV8_2 = _ARMV8_1 | _words("fullfp16 dotprod")
_ARMV8_6 = _ARMV8_2 | _words("fp16fml bf16 i8mm")

AARCH64_PROCESSORS: Final[Mapping[str, frozenset[str]]] = {
    "generic": _ARMV8,
    "cortex-a53": _ARMV8 | _words("crc"),
    "cortex-a57": _ARMV8 | _words("crc"),
    "cortex-a72": _ARMV8 | _words("crc"),
    "cortex-a76": _ARMV8_2,
    "cortex-a78": _ARMV8_2,
    "cortex-x1": _ARMV8_2,
    "neoverse-n1": _ARMV8_2,
    "neoverse-n2": _ARMV8_6 | _words("sve sve2"),
    "neoverse-v1": _ARMV8_6 | _words("sve"),
    "neoverse-v2": _ARMV8_6 | _words("sve sve2"),
    "apple-m1": _ARMV8_2 | _words("fp16fml"),
    "apple-m2": _ARMV8_6,
    "apple-m3": _ARMV8_6,
}

_VFP4 = _words("neon vfp3 vfp4 fp16 hwdiv-arm")
_ARMV8_32 = _VFP4 | _words("fp-armv8 crc")

ARM_PROCESSORS: Final[Mapping[str, frozenset[str]]] = {
    "cortex-a7": _VFP4,
    "cortex-a8": _words("neon vfp3"),
    "cortex-a9": _words("neon vfp3 fp16"),
    "cortex-a15": _VFP4,
    "cortex-a17": _VFP4,
    "cortex-a53": _ARMV8_32,
    "cortex-a72": _ARMV8_32,
}

CORTEX_M_PROCESSORS: Final[Mapping[str, frozenset[str]]] = {
    "cortex-m3": _words("hwdiv"),
    "cortex-m4": _words("hwdiv dsp vfp4d16sp"),
    "cortex-m7": _words("hwdiv dsp vfp4d16sp fp-armv8d16sp fp-armv8d16"),
    "cortex-m33": _words("hwdiv dsp vfp4d16sp fp-armv8d16sp"),
}

_RV64GC = _words("m a f d c")

RISCV_PROCESSORS: Final[Mapping[str, frozenset[str]]] = {
    "sifive-u54": _RV64GC,
    "sifive-u74": _RV64GC | _words("zba zbb"),
    "sifive-x280": _RV64GC | _words("zba zbb zfhmin zfh v zvfh"),
    "spacemit-x60": _RV64GC | _words("zba zbb zfhmin zfh v zvfh"),
}

_WASM = _words("bulk-memory mutable-globals nontrapping-fptoint sign-ext")

WASM_PROCESSORS: Final[Mapping[str, frozenset[str]]] = {
    "generic": _WASM,
    "bleeding-edge": _WASM | _words("simd128 relaxed-simd"),
}

OTHER_FEATURES: Final = {
    "aarch64": AARCH64_FEATURES,
    "arm": ARM_FEATURES,
    "cortex_m": CORTEX_M_FEATURES,
    "riscv64": RISCV_FEATURES,
    "wasm32": WASM_FEATURES,
}
OTHER_PROCESSORS: Final = {
    "aarch64": AARCH64_PROCESSORS,
    "arm": ARM_PROCESSORS,
    "cortex_m": CORTEX_M_PROCESSORS,
    "riscv64": RISCV_PROCESSORS,
    "wasm32": WASM_PROCESSORS,
}

# --- boards and phones by their usual names: their triples and processors -------------------------

_ARM32, _ARM64 = "armv7-linux-gnueabihf", "aarch64-linux-gnu"

MODELS: Final[Mapping[str, tuple[str, str]]] = {
    "rasp3b": (_ARM32, "cortex-a53"),
    "rasp3b64": (_ARM64, "cortex-a53"),
    "rasp4b": (_ARM32, "cortex-a72"),
    "rasp4b64": (_ARM64, "cortex-a72"),
    "rasp5": (_ARM64, "cortex-a76"),
    "bcm2837": (_ARM32, "cortex-a53"),
    "pynq": (_ARM32, "cortex-a9"),
    "ultra96": (_ARM64, "cortex-a53"),
    "rk3399": (_ARM64, "cortex-a72"),
    "hikey960": (_ARM64, "cortex-a72"),
    "jetson-nano": (_ARM64, "cortex-a57"),
    "pixel4": (_ARM64, "cortex-a76"),
}
DEVICES: Final = {"arm_cpu": ("aarch64", "arm"), "arm_cpu_m": ("cortex_m",)}
