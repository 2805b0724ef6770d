"""What tuning found: data, and a table when printed."""

from __future__ import annotations

from statistics import median

from relay.executors.report import table_text
from relay.immutable import frozen


@frozen
class TunedKernel:
    """A kernel of a model, its best plan, and how much faster that is than the rules."""

    operators: tuple[str, ...]
    shapes: str  # of its inputs
    plan: str  # empty: what the rules choose
    speedup: float
    tried: int
    failed: int = 0  # of those: too slow, lost or wrong
    known: bool = False  # from an earlier run, or another model


class Tuning(tuple[TunedKernel, ...]):
    """The kernels of a model that there are plans for, the most expensive first.

    `left` are kernels for which the budget did not suffice: the next run begins with them.
    """

    left: int = 0

    @property
    def median(self) -> float:
        """How much faster the best plans are than the rules, in the median of the kernels."""
        return median(one.speedup for one in self) if self else 1.0

    def __str__(self) -> str:
        rows = [
            (
                " ".join(one.operators),
                one.shapes,
                f"{one.speedup:.2f}",
                one.plan or "by the rules",
                f"{one.tried}" + (f" ({one.failed} failed)" if one.failed else ""),
                "known" if one.known else "",
            )
            for one in self
        ]
        head = ("operators", "inputs", "speedup", "plan", "tried", "")
        near = sum(one.speedup <= 1.1 for one in self)
        lines = [
            table_text(head, rows, "<<><><"),
            f"median {self.median:.2f}; the rules are within 10 % for {near} of {len(self)}",
        ]
        if self.left:
            lines.append(f"{self.left} kernels are left for another run")
        return "\n".join(lines)
