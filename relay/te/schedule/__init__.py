"""Schedules: the order of a computation, its vectorization and parallelization.

A `Schedule` has a `Stage` for every computed tensor; a stage has loops, and defines its axes in
terms of them. Each primitive is a pure function from schedule to schedule that preserves results:

    s = create([c])                                  for i in 64: for j in 64: c[i, j] = …
    s = split(s, "c", "j", 16, ("jo", "ji"))         for i in 64: for jo in 4: for ji in 16: …
    s = vectorize(s, "c", "ji")
    s = parallel(s, "c", "i")

Loops and stages are identified by name. Schedule a consumer before what is computed inside it:
`compute_at` uses the loops that the consumer has then, which are fixed from then on.
"""

from relay.te.schedule.insert import cache_read, cache_write, extract, pack, reindex, rfactor
from relay.te.schedule.loops import fuse, parallel, reorder, split, tile, unroll, vectorize
from relay.te.schedule.merge import inline, join
from relay.te.schedule.placement import check, compute_at, set_scope, stream
from relay.te.schedule.rewrite import put_before, read_as, recompute
from relay.te.schedule.stages import Loop, Schedule, Stage, create, make_stage, unused_name
from relay.te.schedule.tensorize import tensorize

__all__ = [
    "Loop",
    "Schedule",
    "Stage",
    "cache_read",
    "cache_write",
    "check",
    "compute_at",
    "create",
    "extract",
    "fuse",
    "inline",
    "join",
    "make_stage",
    "pack",
    "parallel",
    "put_before",
    "read_as",
    "recompute",
    "reindex",
    "reorder",
    "rfactor",
    "set_scope",
    "split",
    "stream",
    "tensorize",
    "tile",
    "unroll",
    "unused_name",
    "vectorize",
]
