"""Reports about executables: memory, kernels, profiles and benchmarks.

All are data (`exe.memory.arena`, `exe.kernels[0].flops`), and tables when printed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median, pstdev

from relay.executors.roof import Roof
from relay.immutable import frozen
from relay.lower.kernel import Kernel
from relay.program.program import nbytes


@frozen
class Memory:
    """The memory of an executable in bytes; arena and outputs per concurrent call."""

    arena: int  # intermediate results and workspaces of a call
    workspace: int  # the largest workspace in it
    constants: int  # packed weights
    inputs: int
    outputs: int

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from relay.viz import notebook

        return notebook.lines(self)

    def __str__(self) -> str:
        rows = [
            ("arena", self.arena, f"of it workspace up to {size_text(self.workspace)}"),
            ("constants", self.constants, ""),
            ("inputs", self.inputs, ""),
            ("outputs", self.outputs, ""),
        ]
        return "\n".join(
            f"{name:<10}{size_text(size):>10}  {note}".rstrip() for name, size, note in rows
        )


@frozen
class KernelInfo:
    """One kernel of an executable."""

    name: str
    operators: tuple[str, ...]
    calls: int
    bytes: int | None  # memory traffic per call; None for dynamic dimensions
    flops: int | None  # per call; None for dynamic dimensions
    approximate: bool
    algorithm: str = ""  # if it rounds otherwise than its operators say
    compiler: str = ""  # the external compiler whose code it calls

    @classmethod
    def of(cls, kernel: Kernel, calls: int) -> KernelInfo:
        tensors = (*kernel.inputs, *kernel.outputs)
        known = all(isinstance(size, int) for tensor in tensors for size in tensor.shape)
        return cls(
            kernel.name,
            kernel.operators,
            calls,
            sum(map(nbytes, tensors)) if known else None,
            kernel.flops if known else None,
            kernel.approximate,
            kernel.algorithm,
            kernel.compiler,
        )


class Kernels(tuple[KernelInfo, ...]):
    """The kernels of an executable, in the order of their first call."""

    __slots__ = ()

    @classmethod
    def of(cls, called: Iterable[Kernel]) -> Kernels:
        """From the kernel of every call."""
        calls: dict[str, Kernel] = {}
        count: Counter[str] = Counter()
        for kernel in called:
            calls.setdefault(kernel.name, kernel)
            count[kernel.name] += 1
        return cls(KernelInfo.of(kernel, count[name]) for name, kernel in calls.items())

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from relay.viz import notebook

        return notebook.lines(self)

    def __str__(self) -> str:
        rows = [
            (
                kernel.name,
                str(kernel.calls),
                "?" if kernel.bytes is None else size_text(kernel.bytes),
                "?" if kernel.flops is None else number_text(kernel.flops),
                kernel.algorithm or kernel.compiler or _approximate(kernel),
                " ".join(kernel.operators),
            )
            for kernel in self
        ]
        return table_text(("kernel", "calls", "bytes", "flops", "", "operators"), rows, "<>>><<")


def _approximate(kernel: KernelInfo) -> str:
    return "approximate" if kernel.approximate else ""


@frozen
class StepTime:
    """The calls of a kernel that are one step, and their total time."""

    kernel: KernelInfo
    seconds: float
    details: object | None = None  # what external code says of its last call, to be printed

    def rate(self, amount: int | None) -> str:
        """The rate in billions per second, for an amount per call; empty if unknown."""
        if amount is None or not self.seconds:
            return ""
        return f"{amount * self.kernel.calls / self.seconds / 1e9:.1f}"

    def of_roof(self, roof: Roof) -> float | None:
        """Its least time on a machine as a part of its time; None for dynamic dimensions."""
        flops, nbytes = self.kernel.flops, self.kernel.bytes
        if flops is None or nbytes is None or not self.seconds:
            return None
        return roof.seconds(flops, nbytes) * self.kernel.calls / self.seconds


class Profile(tuple[StepTime, ...]):
    """The times of the steps of a call.

    Straight-line code has one step per kernel call, in order. A whole program has one step per
    kernel with all its calls, slowest first, and the time `outside` of kernels. With the `roof` of
    a machine it also says how near to it each step is.
    """

    outside: float = 0.0  # seconds of control flow, allocation and conversion
    roof: Roof | None = None

    @classmethod
    def of(
        cls, steps: Iterable[StepTime], outside: float = 0.0, roof: Roof | None = None
    ) -> Profile:
        made = cls(steps)
        made.outside = outside
        made.roof = roof
        return made

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self) + self.outside

    def of_roof(self, step: StepTime) -> tuple[str, ...]:
        """The cell of a table that says how near to the roof a step is, if there is one."""
        if self.roof is None:
            return ()
        part = step.of_roof(self.roof)
        return ("" if part is None else f"{100 * part:.0f} %",)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from relay.viz import notebook

        return notebook.profile(self)

    def __str__(self) -> str:
        whole = self.seconds or 1.0
        rows = [
            (
                str(position),
                step.kernel.name,
                str(step.kernel.calls),
                time_text(step.seconds),
                f"{100 * step.seconds / whole:.1f} %",
                step.rate(step.kernel.flops),
                step.rate(step.kernel.bytes),
                *self.of_roof(step),
                " ".join(step.kernel.operators),
            )
            for position, step in enumerate(self)
        ]
        rates = ("GFLOP/s", "GB/s", *(() if self.roof is None else ("of roof",)))
        head = ("", "kernel", "calls", "time", "share", *rates, "operators")
        lines = [table_text(head, rows, f"><>>>{'>' * len(rates)}<")]
        if self.outside:
            share = f"{100 * self.outside / whole:.1f} %"
            lines.append(f"between the kernels: {time_text(self.outside)}, {share}")
        lines.append(f"all steps: {time_text(self.seconds)}")
        lines += [f"\n{s.kernel.name}\n{s.details}" for s in self if s.details is not None]
        return "\n".join(lines)


@frozen
class BenchmarkResult:
    """Times of calls in seconds; each entry of `results` is the mean of several calls."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.results)

    @property
    def median(self) -> float:
        return median(self.results)

    @property
    def min(self) -> float:
        return min(self.results)

    @property
    def max(self) -> float:
        return max(self.results)

    @property
    def std(self) -> float:
        return pstdev(self.results)

    def __str__(self) -> str:
        names = ("mean", "median", "min", "max", "std")
        return "  ".join(f"{name} {time_text(getattr(self, name))}" for name in names)


def time_calls(
    once: Callable[[], None], repeat: int, number: int, min_repeat_ms: float | None = None
) -> BenchmarkResult:
    """`repeat` times the mean of `number` calls, or of as many as take `min_repeat_ms`."""

    def measure(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            once()
        return (time.perf_counter() - start) / count

    if min_repeat_ms is not None:
        number = max(number, round(min_repeat_ms / 1000 / max(measure(number), 1e-7)))
    return BenchmarkResult(tuple(measure(number) for _ in range(repeat)))


# --- text ----------------------------------------------------------------------------------------


def size_text(size: float) -> str:
    """`1.5 MiB`"""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def number_text(number: float) -> str:
    """`3.6 G`"""
    for unit in ("", " k", " M", " G"):
        if number < 1000:
            return f"{number:.0f}" if unit == "" else f"{number:.1f}{unit}"
        number /= 1000
    return f"{number:.1f} T"


def time_text(seconds: float) -> str:
    """`12.3 µs`"""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def table_text(head: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    """A table; `align` has `<` or `>` for each column."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(row, align, widths, strict=True)
        )
        for row in (head, *rows)
    ]
    return "\n".join(line.rstrip() for line in lines)
