"""How many threads this process can keep busy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from relay import settings

MOST_THREADS: Final = 1024  # that one call may use


def default_threads() -> int:
    """`RELAY_NUM_THREADS`, or one thread for every core this process may use."""
    return settings.NUM_THREADS.read() or usable_cores()


def usable_cores() -> int:
    """The cores this process may run on: its affinity, and what its container is allowed.

    Two hardware threads of a core share its arithmetic units and its caches; a second one there
    takes from the first what it gets itself. So cores are counted, not hardware threads.
    """
    if hasattr(os, "sched_getaffinity"):
        allowed = os.sched_getaffinity(0)
        cores = len({_siblings(cpu) for cpu in allowed})
    else:
        cores = os.cpu_count() or 1
    quota = _quota()
    return max(1, cores if quota is None else min(cores, quota))


def _siblings(cpu: int) -> str:
    """The hardware threads of the core that `cpu` is one of, as the kernel lists them."""
    place = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    try:
        return place.read_text().strip()
    except OSError:
        return str(cpu)


def _quota() -> int | None:
    """How many processors' time a container may use, if that is limited."""
    try:
        limit, _, period = Path("/sys/fs/cgroup/cpu.max").read_text().partition(" ")
        return max(1, round(int(limit) / int(period)))
    except (OSError, ValueError, ZeroDivisionError):  # no such file, or `max`
        return None
