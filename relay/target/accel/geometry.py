"""Which inputs and weights the points of a layer's result are sums of.

A tensor is in blocks: (batches, blocks of channels, height, width), each block an entry of a
buffer. A result of two axes is a row of points. The points of a result divide into phases, by their
place modulo `step`: all points of a phase have the same taps.

    convolution             one phase;       point j reads input `stride * j + tap`
    transposed convolution  stride phases;   point stride * j + phase reads input `j + tap`
"""

from __future__ import annotations

from relay.immutable import frozen
from relay.target.accel.config import Config
from relay.target.accel.layers import Product


@frozen
class Blocks:
    """A tensor in blocks, as it lies in the memory of the accelerator."""

    batches: int
    channels: int
    height: int
    width: int

    @property
    def count(self) -> int:
        return self.batches * self.channels * self.height * self.width

    @property
    def plane(self) -> int:
        return self.height * self.width


def blocks_of(shape: tuple[int, ...], config: Config) -> Blocks:
    """The blocks of a tensor (N, C, H, W), or (N, C), whose rows are points."""
    batches, channels = -(-shape[0] // config.batch), -(-shape[1] // config.block_out)
    if len(shape) == 2:
        return Blocks(1, channels, 1, batches)
    return Blocks(batches, channels, shape[2], shape[3])


@frozen
class Tap:
    """An input relative to the first one of a point, and the place of its weight in the kernel."""

    y: int
    x: int
    number: int


@frozen
class Phase:
    """Points at the same place modulo `Geometry.step`."""

    y: int
    x: int
    taps: tuple[Tap, ...]


@frozen
class Geometry:
    """How the result of a product depends on its data."""

    data: Blocks
    result: Blocks
    step: tuple[int, int]  # between the points of a phase
    stride: tuple[int, int]  # between their inputs
    phases: tuple[Phase, ...]
    kernel: int  # taps of all phases together
    first: tuple[int, int]  # the least tap
    reach: tuple[int, int]  # from the least tap to the greatest
    products: int  # of blocks, each a cycle of the tensor core

    def window(self, rows: int, columns: int) -> tuple[int, int]:
        """The extents of the inputs of so many points."""
        return (
            self.stride[0] * (-(-rows // self.step[0]) - 1) + self.reach[0] + 1,
            self.stride[1] * (-(-columns // self.step[1]) - 1) + self.reach[1] + 1,
        )


def geometry_of(
    product: Product, data: tuple[int, ...], result: tuple[int, ...], config: Config
) -> Geometry:
    """The geometry of a product."""
    given, made = blocks_of(data, config), blocks_of(result, config)
    height, width = product.weight.shape[2:]
    top, left = product.before
    if not product.transposed:
        down, right = product.dilation
        taps = tuple(
            Tap(y * down - top, x * right - left, y * width + x)
            for y in range(height)
            for x in range(width)
        )
        return _geometry(given, made, (1, 1), product.strides, (Phase(0, 0, taps),), height * width)
    down, right = product.strides
    phases = tuple(
        Phase(
            y,
            x,
            tuple(
                Tap((y + top - i) // down, (x + left - j) // right, i * width + j)
                for i in range(height)
                for j in range(width)
                if (y + top - i) % down == 0 and (x + left - j) % right == 0
            ),
        )
        for y in range(min(down, made.height))
        for x in range(min(right, made.width))
    )
    return _geometry(given, made, product.strides, (1, 1), phases, height * width)


def _geometry(
    data: Blocks,
    result: Blocks,
    step: tuple[int, int],
    stride: tuple[int, int],
    phases: tuple[Phase, ...],
    kernel: int,
) -> Geometry:
    taps = [tap for phase in phases for tap in phase.taps]
    ys, xs = [tap.y for tap in taps], [tap.x for tap in taps]
    y, x = min(ys, default=0), min(xs, default=0)
    reach = max(ys, default=0) - y, max(xs, default=0) - x
    total = 0
    for phase in phases:
        rows = -(-(result.height - phase.y) // step[0])
        columns = -(-(result.width - phase.x) // step[1])
        total += rows * columns * len(phase.taps)
    total *= result.batches * result.channels * data.channels
    return Geometry(data, result, step, stride, phases, kernel, (y, x), reach, total)
