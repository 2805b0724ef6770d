"""Micro-kernels in LLVM IR, run by the native runtime without the compiler.

    kernels = BareKernels(Target.host())
    fma = kernels.program("fma", threads=2, arguments=[2, steps])
    fma()

They measure the machine and the runtime:

    fma       extent, steps           multiply-adds on registers: the peak of a core
    dot       extent, steps           dot products of int8, or of int16 without VNNI
    copy      extent, from, to, size  `size` bytes per iteration, with nontemporal stores
    read      extent, from, size, n   `size` bytes per iteration, `n` times: cache bandwidth
    regions   extent, repeat, work    parallel loops whose body counts to `work`
    nothing                           a call and a return
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from relay.native.runtime import Context, Request, runtime
from relay.target import Target
from relay.target.llvm.compile import compile_module
from relay.target.llvm.jit import Library, load

SHORT = 4_000_000  # operations that take some 40 µs

BODY = "(ptr %context, ptr %closure, i64 %begin, i64 %end, i64 %worker)"


def _loop(name: str, steps: str, head: str, body: str) -> str:
    """The basic blocks of a loop `%i` from 0 to a positive `steps`."""
    return f"""
  br label %{name}
{name}:
  %i = phi i64 [ 0, %entry ], [ %next, %{name} ]
{head}{body}  %next = add i64 %i, 1
  %more = icmp slt i64 %next, {steps}
  br i1 %more, label %{name}, label %done
done:"""


def _kernel(name: str, body: str) -> str:
    """A kernel of one parallel loop, whose extent is the first argument."""
    return f"""
define i32 @{name}(ptr %context, ptr %args) {{
  %extent = load i64, ptr %args
  %closure = getelementptr i64, ptr %args, i64 1
  %parallel = load ptr, ptr %context
  call void %parallel(ptr %context, ptr @{body}, ptr %closure, i64 %extent)
  ret i32 0
}}
"""


def lanes(target: Target) -> int:
    return target.vector_bits // 32


def accumulators(target: Target) -> int:
    """Independent accumulators: enough to hide the FMA latency, few enough for the registers."""
    return 24 if target.vector_registers == 32 else 12


def flops(target: Target, steps: int, threads: int) -> int:
    """The floating-point operations of `fma`."""
    return 2 * lanes(target) * accumulators(target) * steps * threads


def _chains(
    name: str, element: str, target: Target, step: Callable[[int], str], more: str = ""
) -> str:
    """A kernel of independent dependency chains. `step` computes `%bk` from `%ak` and the run-time
    vectors `%x` and `%y`; `more` is inserted before the loop."""
    width, count = lanes(target), accumulators(target)
    vector = f"<{width} x {element}>"
    add, number, other, first = {
        "float": ("fadd", "sitofp i64 %begin to float", "0.5", 1),
        "i32": ("add", "trunc i64 %begin to i32", "77", 0),
    }[element]
    point = ".0" if element == "float" else ""
    head = "".join(
        f"  %a{k} = phi {vector} [ splat ({element} {k + first}{point}), %entry ], "
        f"[ %b{k}, %loop ]\n"
        for k in range(count)
    )
    body = "".join(step(k) for k in range(count))
    return f"""
define internal void @{name}.body{BODY} #0 {{
entry:
  %steps = load i64, ptr %closure
  %number = {number}
  %first = insertelement {vector} poison, {element} %number, i64 0
  %x = shufflevector {vector} %first, {vector} poison, <{width} x i32> zeroinitializer
  %y = {add} {vector} %x, splat ({element} {other}){more}{_loop("loop", "%steps", head, body)}
  %s0 = {add} {vector} %x, %y
{_used(vector, add, count)}
  ret void
}}
{_kernel(name, f"{name}.body")}
"""


def _used(vector: str, add: str, count: int) -> str:
    """Sum and store `%s0` and all `%bk`, so that none is dead code."""
    sums = "".join(f"  %s{k + 1} = {add} {vector} %s{k}, %b{k}\n" for k in range(count))
    return f"""{sums}
  %out = alloca {vector}
  store volatile {vector} %s{count}, ptr %out"""


def fma_text(target: Target) -> str:
    width = lanes(target)
    vector = f"<{width} x float>"

    def step(k: int) -> str:
        if target.has_fma:
            given = f"{vector} %x, {vector} %y, {vector} %a{k}"
            return f"  %b{k} = call {vector} @llvm.fma.v{width}f32({given})\n"
        return f"  %m{k} = fmul {vector} %x, %a{k}\n  %b{k} = fadd {vector} %m{k}, %y\n"

    return _chains("fma", "float", target, step)


def dot_bytes(target: Target) -> int:
    """Integer products that a lane sums per instruction."""
    return 4 if target.has_vnni else 2


def integer_operations(target: Target, steps: int, threads: int) -> int:
    """The multiplications and additions of `dot`."""
    return 2 * lanes(target) * dot_bytes(target) * accumulators(target) * steps * threads


def dot_text(target: Target) -> str:
    """Integer dot products; other machines than x86-64 use plain multiply and add."""
    width, each = lanes(target), dot_bytes(target)
    vector, factors = f"<{width} x i32>", f"<{width * each} x i{32 // each}>"
    pairs = {4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}[width]

    def step(k: int) -> str:
        if target.arch != "x86_64":
            return f"  %m{k} = mul {vector} %x, %a{k}\n  %b{k} = add {vector} %m{k}, %y\n"
        if target.has_vnni:
            given = f"{vector} %a{k}, {factors} %p, {factors} %q"
            name = f"llvm.x86.avx512.vpdpbusd.{32 * width}"
            return f"  %b{k} = call {vector} @{name}({given})\n"
        # the factor depends on the sum, or the product would be hoisted out of the loop
        return f"""  %f{k} = bitcast {vector} %a{k} to {factors}
  %m{k} = call {vector} @llvm.x86.{pairs}({factors} %p, {factors} %f{k})
  %b{k} = add {vector} %m{k}, %y
"""

    more = f"""
  %p = bitcast {vector} %x to {factors}
  %q = bitcast {vector} %y to {factors}"""
    return _chains("dot", "i32", target, step, more)


def copy_text(target: Target) -> str:
    vector = f"<{lanes(target)} x float>"
    body = f"""
  %at = mul i64 %i, {target.vector_bits // 8}
  %place = add i64 %at, %offset
  %p = getelementptr i8, ptr %from, i64 %place
  %q = getelementptr i8, ptr %to, i64 %place
  %v = load {vector}, ptr %p, align 4
  store {vector} %v, ptr %q, align {target.vector_bits // 8}, !nontemporal !0
"""
    fence = "  call void @llvm.x86.sse.sfence()" if target.arch == "x86_64" else ""
    return f"""
define internal void @copy.body{BODY} #0 {{
entry:
  %from = load ptr, ptr %closure
  %to.at = getelementptr i64, ptr %closure, i64 1
  %to = load ptr, ptr %to.at
  %size.at = getelementptr i64, ptr %closure, i64 2
  %size = load i64, ptr %size.at
  %offset = mul i64 %begin, %size
  %count = sub i64 %end, %begin
  %bytes = mul i64 %count, %size
  %steps = udiv i64 %bytes, {target.vector_bits // 8}{_loop("loop", "%steps", "", body)}
{fence}
  ret void
}}
{_kernel("copy", "copy.body")}
"""


READS = 8  # vectors that a step of `read` loads


def read_text(target: Target) -> str:
    vector = f"<{lanes(target)} x i32>"
    size = target.vector_bits // 8
    head = "  %at = phi i64 [ 0, %entry ], [ %at.next, %loop ]\n"
    body = "  %here = getelementptr i8, ptr %mine, i64 %at\n"
    for k in range(READS):
        head += f"  %a{k} = phi {vector} [ zeroinitializer, %entry ], [ %b{k}, %loop ]\n"
        body += f"  %p{k} = getelementptr i8, ptr %here, i64 {k * size}\n"
        body += f"  %v{k} = load {vector}, ptr %p{k}, align {size}\n"
        body += f"  %b{k} = or {vector} %a{k}, %v{k}\n"
    # wrap around at the end instead of nesting loops
    body += f"""  %behind = add i64 %at, {READS * size}
  %inside = icmp ult i64 %behind, %bytes
  %at.next = select i1 %inside, i64 %behind, i64 0
"""
    return f"""
define internal void @read.body{BODY} #0 {{
entry:
  %from = load ptr, ptr %closure
  %size.at = getelementptr i64, ptr %closure, i64 1
  %size = load i64, ptr %size.at
  %times.at = getelementptr i64, ptr %closure, i64 2
  %times = load i64, ptr %times.at
  %offset = mul i64 %begin, %size
  %mine = getelementptr i8, ptr %from, i64 %offset
  %count = sub i64 %end, %begin
  %bytes = mul i64 %count, %size
  %moved = mul i64 %bytes, %times
  %steps = udiv i64 %moved, {READS * size}{_loop("loop", "%steps", head, body)}
  %s0 = or {vector} %b0, %b1
{_used(vector, "or", READS)}
  ret void
}}
{_kernel("read", "read.body")}
"""


REGIONS = f"""
define internal void @count{BODY} {{
entry:
  %work = load i64, ptr %closure
  %size = sub i64 %end, %begin
  %steps = mul i64 %size, %work
{_loop("loop", "%steps", "", '  call void asm sideeffect "", "r"(i64 %i)' + chr(10))}
  ret void
}}
define i32 @regions(ptr %context, ptr %args) {{
entry:
  %extent = load i64, ptr %args
  %repeat.at = getelementptr i64, ptr %args, i64 1
  %repeat = load i64, ptr %repeat.at
  %work = getelementptr i64, ptr %args, i64 2
  %parallel = load ptr, ptr %context
{
    _loop(
        "loop",
        "%repeat",
        "",
        "  call void %parallel(ptr %context, ptr @count, ptr %work, i64 %extent)" + chr(10),
    )
}
  ret i32 0
}}
define i32 @nothing(ptr %context, ptr %args) {{
  ret i32 0
}}
"""


def texts(target: Target) -> list[str]:
    """The kernels, a module each."""
    width = target.vector_bits
    attributes = (
        f'attributes #0 = {{ nounwind "prefer-vector-width"="{width}" '
        f'"min-legal-vector-width"="{width}" }}\n'
    )
    streaming = "!0 = !{i32 1}\n"
    copying = copy_text(target) + attributes + streaming
    return [
        fma_text(target) + attributes,
        dot_text(target) + attributes,
        copying,
        read_text(target) + attributes,
        REGIONS,
    ]


class Program:
    """A loaded kernel with its argument block; call it without arguments."""

    def __init__(self, library: Library, kernel: str, threads: int, arguments: Sequence[int]):
        self.library = library  # addresses do not keep arrays alive
        self.memory: np.ndarray | None = None  # other objects the addresses point into
        self.frame = np.array(arguments or [0], np.int64)
        self.indices = np.arange(len(arguments), dtype=np.int32)
        self.table = np.array(
            [library.address(kernel), self.indices.ctypes.data, len(arguments)], np.int64
        )
        self.context = Context(threads)
        self.request = Request(self.context, self.table.ctypes.data, 1, self.frame.ctypes.data)
        self._call, self._address = runtime().call, self.request.address

    def __call__(self) -> None:
        if self._call(self._address):
            raise RuntimeError("a kernel failed")


def _steps(work: int, each: int) -> int:
    return max(1, round(work / each))


class BareKernels:
    """All kernels, compiled and loaded."""

    def __init__(self, target: Target) -> None:
        from llvmlite import binding

        binding.initialize_native_asmparser()  # for the assembler statement in REGIONS
        self.target = target
        names = ["fma", "dot", "copy", "read", "regions", "nothing"]
        self.library = load([compile_module([text], target) for text in texts(target)], names)

    def program(self, kernel: str, threads: int, arguments: Sequence[int]) -> Program:
        return Program(self.library, kernel, threads, arguments)

    def peak(self, threads: int, work: int = SHORT) -> tuple[Program, int]:
        """An `fma` program of about `work` floating-point operations on all threads, and the exact
        number. Choose `work` so that it runs as long as what it is compared with."""
        steps = _steps(work, flops(self.target, 1, threads))
        return self.program("fma", threads, [threads, steps]), flops(self.target, steps, threads)

    def integer_peak(self, threads: int, work: int = SHORT) -> tuple[Program, int]:
        """The same for `dot`."""
        steps = _steps(work, integer_operations(self.target, 1, threads))
        dot = self.program("dot", threads, [threads, steps])
        return dot, integer_operations(self.target, steps, threads)

    def copy(self, threads: int, source: np.ndarray, result: np.ndarray) -> Program:
        """A copy of a large array, in several iterations per thread."""
        turns = 16 * threads
        addresses = [source.ctypes.data, result.ctypes.data]
        if addresses[1] % 64 or source.nbytes % (64 * turns):
            raise ValueError(f"an aligned array of whole vectors in {turns} turns is wanted")
        return self.program("copy", threads, [turns, *addresses, source.nbytes // turns])

    def read(self, threads: int, size: int) -> tuple[Program, int]:
        """A program that reads about so many bytes repeatedly on every thread, and the total."""
        unit = READS * self.target.vector_bits // 8
        size = -(-size // unit) * unit
        memory = np.ones(threads * size + 64, np.uint8)
        times = max(1, (1 << 21) // size)
        start = memory.ctypes.data + -memory.ctypes.data % 64
        program = self.program("read", threads, [threads, start, size, times])
        program.memory = memory
        return program, threads * size * times
