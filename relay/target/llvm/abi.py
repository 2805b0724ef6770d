"""The binary interface between kernels, the runtime and Python, as offsets into memory.

A kernel is `i32 kernel(ptr context, ptr args)`; it returns 0 or one of the codes below. `args` is
an array of 8-byte slots. The context belongs to one call at a time:

     0  parallel   void (ptr context, ptr body, ptr closure, i64 extent); -extent for ranges that
                   are not split; without a body it only polls the watch
     8  threads    the maximal number of workers of a parallel loop, at least 1
    16  watch      polled for interrupts, or null
    24  error      0, or the code of a failed parallel loop
    32  details    three integers that explain it
    56  record     the index of the failed call of a program

The watch is polled in the thread that calls kernels:

     0  ask        i32 (ptr context): nonzero ends the call, which then returns INTERRUPTED
     8  asked      time of the last poll, in nanoseconds
    16  thread     as `pthread_self` returns it

The body of a parallel loop is a function of its own:

    void body(ptr context, ptr closure, i64 begin, i64 end, i64 worker)
"""

from __future__ import annotations

from typing import Final

PARALLEL: Final = 0
THREADS: Final = 8
WATCH: Final = 16
ERROR: Final = 24
DETAILS: Final = (32, 40, 48)
RECORD: Final = 56
CONTEXT_SIZE: Final = 64

# statuses of kernels
OUT_OF_RANGE: Final = 1  # details: number of the check, index, extent
INTERRUPTED: Final = 2
OUT_OF_MEMORY: Final = 3
EXTERNAL: Final = 15  # the code of an external compiler failed; details: its status

ASK: Final = 0
ASKED: Final = 8
THREAD: Final = 16
WATCH_SIZE: Final = 24

# a call in a program's table: { ptr kernel, ptr indices, i64 count }
CALL_SIZE: Final = 24
