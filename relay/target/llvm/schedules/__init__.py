"""CPU schedules: one file per form of computation.

choose.py        selects the schedule, and inlines
elementwise.py   elementwise computations
rows.py          reductions, in rows that stay in the cache
contraction.py   sums of products, in register tiles
tile.py          the size of register tiles
winograd.py      convolutions by Winograd's algorithm; winograd_loops.py: their loops
plan.py          decisions that may be made otherwise, for the tuner
integers.py      integer sums of products, with dot-product instructions
depthwise.py     the same for windows over single channels
hoist.py         precomputes what depends on constants only

Properties of stages are in `relay.te.schedule.facts`.
"""

# Below this many elementary steps, threads cost more than they gain.
PARALLEL_WORK = 1 << 16
PARALLEL_ELEMENTS = 1 << 13  # the same for procedures, whose steps are not counted
