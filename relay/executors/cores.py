"""The number of cores that this process can use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from relay import settings

MOST_THREADS: Final = 1024  # per call


def default_threads() -> int:
    """`RELAY_NUM_THREADS`, or the number of usable cores."""
    return settings.NUM_THREADS.read() or usable_cores()


def usable_cores() -> int:
    """The cores that the affinity of the process and the quota of its container allow.

    Physical cores are counted: hardware threads share the arithmetic units and caches of a core.
    """
    if hasattr(os, "sched_getaffinity"):
        allowed = os.sched_getaffinity(0)
        cores = len({_siblings(cpu) for cpu in allowed})
    else:
        cores = os.cpu_count() or 1
    quota = _quota()
    return max(1, cores if quota is None else min(cores, quota))


def _siblings(cpu: int) -> str:
    """The hardware threads that share the core of `cpu`."""
    place = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    try:
        return place.read_text().strip()
    except OSError:
        return str(cpu)


def _quota() -> int | None:
    """The CPU quota of the container in cores, if there is one."""
    try:
        limit, _, period = Path("/sys/fs/cgroup/cpu.max").read_text().partition(" ")
        return max(1, round(int(limit) / int(period)))
    except (OSError, ValueError, ZeroDivisionError):  # no such file, or `max`
        return None
