"""What kernels, the runtime and Python hand each other, as offsets into memory.

A kernel is `i32 kernel(ptr context, ptr args)`; it gives 0, or one of the codes below. `args` is
an array of 8-byte slots. The context belongs to one call at a time:

     0  parallel   void (ptr context, ptr body, ptr closure, i64 extent); -extent where ranges
                   are not to be cut; without a body it only asks the watch
     8  threads    the most workers a parallel loop may use, at least 1
    16  watch      whoever is asked from time to time whether to go on; null: nobody
    24  error      0, or a code that a body of a parallel loop found
    32  details    three integers that explain it
    56  record     which of a program's calls it was

The watch is asked in one thread, the one that calls kernels:

     0  ask        i32 (ptr context): not 0 ends the call, which then gives INTERRUPTED
     8  asked      when, in nanoseconds
    16  thread     as `pthread_self` says

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

# what a kernel may give instead of 0
OUT_OF_RANGE: Final = 1  # details: number of the check, the index, the extent
INTERRUPTED: Final = 2
OUT_OF_MEMORY: Final = 3

ASK: Final = 0
ASKED: Final = 8
THREAD: Final = 16
WATCH_SIZE: Final = 24

# a call in a program's table: { ptr kernel, ptr indices, i64 count }
CALL_SIZE: Final = 24
