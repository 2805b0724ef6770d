"""Run kernels compiled for AVX-512 on a machine that lacks it.

    target = x86_level("avx512")            a level of x86-64, whatever the host supports
    machine = runnable(target)              `target` where the host can run its code, else the host
    emulated(text, machine)                 the kernel's LLVM IR, to be compiled for `machine`

LLVM splits vectors wider than a register, which changes no bit of a result, so the schedules of
every level can run on any host. Intrinsics become functions that compute the same: dot products
of short integers (`relay.target.llvm.dot_product`), and masked loads, which LLVM does not split
correctly (`relay.target.llvm.expressions`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from relay.target.target import Target

_NAMED: Final = re.compile(r"@llvm\.x86\.(avx512\.[a-z.]+)\.(128|256|512)(?=\()")
_MASKED: Final = re.compile(r"@llvm\.masked\.load\.v(\d+)([fi])(\d+)\.p0(?=\()")


def x86_level(name: str) -> Target:
    """A level of x86-64; AVX-512 includes VNNI where the host lacks AVX-512."""
    target = Target.x86(name)
    added = name == "avx512" and not Target.host().supports(target)
    return Target(f"llvm -level={name} -mattr=+avx512vnni") if added else target


def runnable(target: Target) -> Target:
    """`target` if the host can run its code, else the host."""
    host = Target.host()
    return target if host.supports(target) or host.arch != target.arch else host


def emulated(text: str, machine: Target) -> str:
    """The kernel with AVX-512 intrinsics replaced by functions, if `machine` lacks AVX-512."""
    if "avx512f" in machine.enabled:
        return text
    functions: dict[str, str] = {}  # by name

    def product(found: re.Match[str]) -> str:
        name, bits = found.groups()
        own = f"{name}.{bits}.emulated"
        functions[own] = _PRODUCTS[name](own, int(bits) // 32)
        return f"@{own}"

    def load(found: re.Match[str]) -> str:
        lanes, bits = int(found[1]), int(found[3])
        if lanes * bits <= machine.vector_bits:
            return found[0]
        own = f"masked.load.v{lanes}{found[2]}{bits}.emulated"
        functions[own] = _masked_load(own, lanes, found[2], bits, machine.vector_bits // bits)
        return f"@{own}"

    return "\n".join([_MASKED.sub(load, _NAMED.sub(product, text)), *functions.values()])


def _masked_load(name: str, lanes: int, sort: str, bits: int, widest: int) -> str:
    """A masked load, split into registers of `widest` lanes."""
    kind = {"f32": "float", "f64": "double"}.get(f"{sort}{bits}", f"i{bits}")
    whole = f"<{lanes} x {kind}>"
    mask, loaded = f"<{lanes} x i1> %mask", f"{whole} %otherwise"
    lines = [f"define internal {whole} @{name}(ptr %at, {mask}, {loaded}) {{"]
    start = 0
    while start < lanes:
        count = 1 << min(widest, lanes - start).bit_length() - 1
        part, own, of = f"<{count} x {kind}>", f"v{count}{sort}{bits}", f"v{lanes}{sort}{bits}"
        lines += [
            f"  %mask{start} = call <{count} x i1> "
            f"@llvm.vector.extract.v{count}i1.v{lanes}i1({mask}, i64 {start})",
            f"  %at{start} = getelementptr {kind}, ptr %at, i64 {start}",
            f"  %otherwise{start} = call {part} "
            f"@llvm.vector.extract.{own}.{of}({whole} %otherwise, i64 {start})",
            f"  %part{start} = call {part} @llvm.masked.load.{own}.p0("
            f"ptr align 1 %at{start}, <{count} x i1> %mask{start}, {part} %otherwise{start})",
            f"  %loaded{start} = call {whole} "
            f"@llvm.vector.insert.{of}.{own}({loaded}, {part} %part{start}, i64 {start})",
        ]
        loaded = f"{whole} %loaded{start}"
        start += count
    return "\n".join([*lines, f"  ret {loaded}", "}"])


def _sums(name: str, lanes: int, steps: int, extend_left: str, *, plus: bool) -> str:
    """A function that adds `steps` adjacent products in every lane."""
    many = steps * lanes
    factors, products, totals = (
        f"<{many} x i{32 // steps}>",
        f"<{many} x i32>",
        f"<{lanes} x i32>",
    )
    first = f"{totals} %total, " if plus else ""
    lines = [
        f"define internal {totals} @{name}({first}{factors} %left, {factors} %right) {{",
        f"  %a = {extend_left} {factors} %left to {products}",
        f"  %b = sext {factors} %right to {products}",
        f"  %products = mul {products} %a, %b",
    ]
    sum_ = "%total" if plus else "zeroinitializer"
    for step in range(steps):
        which = ", ".join(f"i32 {steps * lane + step}" for lane in range(lanes))
        lines += [
            f"  %part{step} = shufflevector {products} %products, {products} poison, "
            f"<{lanes} x i32> <{which}>",
            f"  %sum{step} = add {totals} {sum_}, %part{step}",
        ]
        sum_ = f"%sum{step}"
    return "\n".join([*lines, f"  ret {totals} {sum_}", "}"])


_PRODUCTS: Final[dict[str, Callable[[str, int], str]]] = {
    "avx512.vpdpbusd": lambda name, lanes: _sums(name, lanes, 4, "zext", plus=True),
    "avx512.vpdpwssd": lambda name, lanes: _sums(name, lanes, 2, "sext", plus=True),
    "avx512.pmaddw.d": lambda name, lanes: _sums(name, lanes, 2, "sext", plus=False),
}
