"""Schedules for microcontrollers, where code should be short: a reduction inside the loops of its
reader, element by element, without tiles, copies of weights or vectors.

    y[i, j] = relu(sum(a[i, k] * b[k, j] for k))
      ->   for i, j:
             acc = 0
             for k: acc += a[i, k] * b[k, j]
             y[i, j] = relu(acc)
"""

from __future__ import annotations

from relay.target.llvm.schedules.contraction import matching_loops
from relay.te import schedule
from relay.te.loops import MemoryScope
from relay.te.schedule import Schedule


def small(s: Schedule, root: str, name: str) -> Schedule | None:
    """Compute the reduction `name` where `root` reads it; None if it reads several elements at a
    time."""
    matched = matching_loops(s, root, name)
    if matched is None or not s[name].is_reduction:
        return None
    s = matched[0]
    if not s[root].loops:  # a scalar
        return None
    s = schedule.compute_at(s, name, root, s[root].loops[-1].name)
    return schedule.set_scope(s, name, MemoryScope.REGISTER)
