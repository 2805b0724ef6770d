"""Kernels made for wider vectors than this machine has, in instructions that it has.

    target = level("avx512")                a level of x86-64, whatever this machine has
    machine = instructions(target)          the target itself, where this machine can run its code
    narrowed(text, machine)                 a kernel's text, to be compiled for that machine

A kernel's text asks for vectors and names few instructions: what does not fit into a register LLVM
splits, which changes no bit of a result. So the loops and the schedules of every machine can be run
on this one. The few instructions that are named become functions that do the same: sums of products
of short integers (`relay.target.llvm.dot_product`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from relay.target.target import Target

_NAMED: Final = re.compile(r"@llvm\.x86\.(avx512\.[a-z.]+)\.(128|256|512)(?=\()")


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
    """The same kernel without instructions that only a machine with AVX-512 has."""
    if "avx512f" in machine.enabled:
        return text
    named = sorted(set(_NAMED.findall(text)))
    functions = [_FUNCTIONS[name](_own(name, bits), int(bits) // 32) for name, bits in named]
    return "\n".join([_NAMED.sub(lambda found: "@" + _own(*found.groups()), text), *functions])


def _own(name: str, bits: str) -> str:
    return f"{name}.{bits}.here"


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


_FUNCTIONS: Final[dict[str, Callable[[str, int], str]]] = {
    "avx512.vpdpbusd": lambda name, lanes: _sums(name, lanes, 4, "zext", plus=True),
    "avx512.vpdpwssd": lambda name, lanes: _sums(name, lanes, 2, "sext", plus=True),
    "avx512.pmaddw.d": lambda name, lanes: _sums(name, lanes, 2, "sext", plus=False),
}
