"""Designs for a network: cycles against a cost that is like area.

    print(relay.target.accel.explore(module, ["1x16x16", "1x16x16,log_acc=16", "4x16x16"]))

The parts of the network that go to the accelerator are compiled for each design and timed; each
part counts once, however often the program calls it. Nothing else is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from relay.errors import RelayError
from relay.external.divide import external_functions
from relay.external.lower import part_of
from relay.frontend.model import Model, as_module
from relay.immutable import frozen
from relay.ir.parameters import bind_params_by_name
from relay.target.accel.config import Config
from relay.target.accel.offload import offloaded
from relay.target.accel.parts import compile_part
from relay.target.accel.report import LayerReport, report
from relay.target.accel.simulator import timed


@frozen
class Design:
    """What a network takes on one design."""

    config: Config
    parts: int
    total: LayerReport

    @property
    def cycles(self) -> float:
        return self.total.cycles


class Designs(tuple[Design, ...]):
    """The designs, the fastest first; printed as a table."""

    __slots__ = ()

    @property
    def best(self) -> tuple[Design, ...]:
        """Those of which no other one is both faster and smaller."""
        found: list[Design] = []
        for one in self:
            if not found or one.config.area < found[-1].config.area:
                found.append(one)
        return tuple(found)

    def __str__(self) -> str:
        best = {id(one) for one in self.best}
        rows = [
            f"{one.config!s:<44}{one.cycles:>14,.0f}{100 * one.total.utilisation:>7.0f}%"
            f"{one.total.moved / 2**20:>9.1f} MiB{one.config.area / 1024:>10,.0f}"
            f"{'  *' if id(one) in best else ''}"
            for one in self
        ]
        head = f"{'design':<44}{'cycles':>14}{'GEMM':>8}{'moved':>13}{'area':>10}"
        return "\n".join([head, *rows, "* no other one is both faster and smaller"])


def explore(
    model: Model, configs: Iterable[Config | str], params: Mapping[str, Any] | None = None
) -> Designs:
    """The cycles of a quantized network on each of the designs."""
    module, own = as_module(model)
    weights = {**own, **(params or {})}
    if weights:
        module["main"] = bind_params_by_name(module["main"], weights)
    found = []
    for one in configs:
        config = Config.of_text(one) if isinstance(one, str) else one
        functions = external_functions(offloaded(module.copy(), config))
        if not functions:
            raise RelayError(
                f"nothing of the network goes to the accelerator {config}: it takes layers of "
                "signed bytes whose scales are powers of two (relay.target.accel.SCHEME)"
            )
        totals = []
        for function in functions.values():
            code = compile_part(part_of(function), config)
            totals.append(report(code, timed(config, code.program)).total)
        found.append(Design(config, len(totals), _sum(totals)))
    return Designs(sorted(found, key=lambda one: (one.cycles, one.config.area)))


def _sum(totals: list[LayerReport]) -> LayerReport:
    return LayerReport(
        "all",
        sum(one.cycles for one in totals),
        sum(one.products for one in totals),
        sum(one.macs for one in totals),
        sum(one.alu for one in totals),
        sum(one.load for one in totals),
        sum(one.store for one in totals),
        sum(one.moved for one in totals),
        totals[0].config,
    )
