"""The limits of a machine, and the least time that a kernel takes within them."""

from __future__ import annotations

from relay.immutable import frozen


@frozen
class Roof:
    """How fast a machine computes float32, and how fast its memory is."""

    flops: float  # per second
    bandwidth: float  # bytes per second of what no cache holds
    threads: int
    # (bytes, bytes per second): what kernels over so many bytes reach, the smallest first
    bandwidths: tuple[tuple[int, float], ...] = ()

    def bandwidth_of(self, nbytes: int) -> float:
        """The bandwidth of the cache that holds so many bytes, or of memory."""
        held = (rate for most, rate in self.bandwidths if nbytes <= most)
        return max(next(held, self.bandwidth), self.bandwidth)

    def seconds(self, flops: int, nbytes: int) -> float:
        """The least time for so many operations over so many bytes."""
        return max(flops / self.flops, nbytes / self.bandwidth_of(nbytes))
