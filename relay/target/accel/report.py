"""What a run took: cycles, how busy each unit was, and the roofline of the design.

     layer                          cycles  GEMM   ALU  LOAD STORE  MAC/byte   of the roof
     conv 3x3 64 -> 64, 56x56       517136   87%   10%    9%    5%     245.0   87%

A unit is busy while it works; COMPUTE is split in GEMM, whose products of blocks are useful work,
and ALU. The roof of a layer is the fewer of the products of a cycle that the core can do, and those
that the memory can feed: products per byte times bytes per cycle.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.immutable import frozen
from relay.target.accel.code import AccelCode, LayerInfo
from relay.target.accel.config import Config
from relay.target.accel.isa import Alu, Gemm, Unit
from relay.target.accel.simulator import Event, Run


@frozen
class LayerReport:
    """The cycles of one layer, or of a whole part."""

    name: str
    cycles: float
    products: int  # of blocks
    macs: int  # products of numbers that the network asks for
    alu: float  # cycles of the ALU
    load: float
    store: float
    moved: int  # bytes
    config: Config

    @property
    def utilisation(self) -> float:
        """The part of the cycles in which the tensor core does useful work."""
        return self.products / self.cycles if self.cycles else 0.0

    @property
    def intensity(self) -> float:
        """Products of numbers for each byte that is moved."""
        return self.products * self.config.macs / self.moved if self.moved else 0.0

    @property
    def roof(self) -> float:
        """The most products of numbers in a cycle, by the core and by the memory."""
        return min(float(self.config.macs), self.intensity * self.config.dram_bytes)

    @property
    def of_roof(self) -> float:
        """The part of the roof that is reached."""
        if not self.roof or not self.cycles:
            return 0.0
        return self.products * self.config.macs / self.cycles / self.roof


@frozen
class Report:
    """A run of a part of a program."""

    config: Config
    layers: tuple[LayerReport, ...]
    total: LayerReport

    @property
    def seconds(self) -> float:
        """The time on the accelerator, at the clock of its design."""
        return self.total.cycles / (self.config.mhz * 1e6)

    def __str__(self) -> str:
        head = f"{'layer':<38}{'cycles':>10}  GEMM   ALU  LOAD STORE  MAC/byte  of the roof"
        return "\n".join([head, *map(_line, (*self.layers, self.total))])


def _line(one: LayerReport) -> str:
    shares = (one.utilisation, *(n / one.cycles if one.cycles else 0.0 for n in one_units(one)))
    busy = "".join(f"{100 * share:5.0f}%" for share in shares)
    return (
        f"{one.name:<38}{one.cycles:>10.0f}{busy}{one.intensity:>10.1f}{100 * one.of_roof:>12.0f}%"
    )


def one_units(one: LayerReport) -> tuple[float, float, float]:
    """The cycles of ALU, LOAD and STORE."""
    return one.alu, one.load, one.store


def report(code: AccelCode, run: Run) -> Report:
    """The report of a run of that code."""
    events = sorted(run.events, key=lambda event: event.index)
    layers = [_layer(info, events[info.begin : info.end], code) for info in code.layers]
    total = LayerReport(
        "all",
        run.cycles,
        sum(layer.products for layer in layers),
        sum(layer.macs for layer in layers),
        sum(layer.alu for layer in layers),
        sum(layer.load for layer in layers),
        sum(layer.store for layer in layers),
        sum(layer.moved for layer in layers),
        code.config,
    )
    return Report(code.config, tuple(layers), total)


def _layer(info: LayerInfo, events: Sequence[Event], code: AccelCode) -> LayerReport:
    alu = load = store = 0.0
    for event in events:
        taken = event.end - event.start
        match code.program[event.index]:
            case Alu():
                alu += taken
            case Gemm():
                pass
            case _ if event.unit is Unit.LOAD:
                load += taken
            case _ if event.unit is Unit.STORE:
                store += taken
    span = max(e.end for e in events) - min(e.start for e in events) if events else 0.0
    moved = sum(event.moved for event in events)
    return LayerReport(
        info.name, span, info.products, info.macs, alu, load, store, moved, code.config
    )
