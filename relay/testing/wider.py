"""Kernels made for wider vectors than this machine has, in instructions that it has.

    target = level("avx512")                a level of x86-64, whatever this machine has
    machine = instructions(target)          the target itself, where this machine can run its code
    narrowed(text, machine)                 a kernel's text, to be compiled for that machine

A kernel's text asks for vectors and names few instructions: what does not fit into a register LLVM
splits, which changes no bit of a result. So the loops and the schedules of every machine can be run
on this one. The few instructions that are named become functions that do the same: sums of products
of short integers (`relay.target.llvm.dot_product`). So do loads under masks, which LLVM does not
split as it should (`relay.target.llvm.expressions`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from relay.target.target import Target

_NAMED: Final = re.compile(r"@llvm\.x86\.(avx512\.[a-z.]+)\.(128|256|512)(?=\()")
_MASKED: Final = re.compile(r"@llvm\.masked\.load\.v(\d+)([fi])(\d+)\.p0(?=\()")


def level(name: str) -> Target:
    """A level of x86-64; one that this machine has not, with what most machines add to it."""
    target = Target.x86(name)
    added = name == "avx512" and not Target.host().supports(target)
    return Target(f"llvm -level={name} -mattr=+avx512vnni") if added else target


def instructions(target: Target) -> Target:
    """The machine that runs code made for `target`: itself or, where it is another, this one."""
    host = Target.host()
    return target if host.supports(target) or host.arch != target.arch else host


def narrowed(text: str, machine: Target) -> str:
    """The same kernel without what only a machine with AVX-512 has."""
    if "avx512f" in machine.enabled:
        return text
    functions: dict[str, str] = {}  # by name

    def product(found: re.Match[str]) -> str:
        name, bits = found.groups()
        own = f"{name}.{bits}.here"
        functions[own] = _PRODUCTS[name](own, int(bits) // 32)
        return f"@{own}"

    def load(found: re.Match[str]) -> str:
        lanes, bits = int(found[1]), int(found[3])
        if lanes * bits <= machine.vector_bits:
            return found[0]
        own = f"masked.load.v{lanes}{found[2]}{bits}.here"
        functions[own] = _masked_load(own, lanes, found[2], bits, machine.vector_bits // bits)
        return f"@{own}"

    return "\n".join([_MASKED.sub(load, _NAMED.sub(product, text)), *functions.values()])


def _masked_load(name: str, lanes: int, sort: str, bits: int, widest: int) -> str:
    """A function that loads the lanes of a mask, as many at a time as a register holds."""
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
    """A function that sums `steps` products that lie side by side, in every lane."""
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
