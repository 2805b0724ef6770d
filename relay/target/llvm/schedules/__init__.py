"""How kernels for CPUs are scheduled: one file per shape of computation.

choose.py        which of them, and what is computed where it is read
elementwise.py   every element by itself
rows.py          reductions: rows that stay in the cache, sums in vector lanes
contraction.py   sums of products: tiles that stay in registers
tile.py          how large those are
integers.py      sums of products of short integers: one instruction for several steps
hoist.py         what depends on constants only, apart

What all of them ask of a stage is in `relay.te.schedule.facts`.
"""

# Below this many elementary steps threads cost more than they give.
PARALLEL_WORK = 1 << 16
PARALLEL_ELEMENTS = 1 << 13  # the same for procedures, whose steps are not counted
