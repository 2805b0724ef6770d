"""Mixed precision by an accuracy budget: the layers that stay in floats to keep the metric.

    quantizer = relay.quantize.int8(dataset, keep_float=relay.quantize.budget(accuracy, drop=0.5))

A metric is a function of a network, which is called like an executable, and gives a number: more is
better. Layers are sorted by the error of the results when each is quantized alone; a binary search
finds how many of the worst have to stay in floats. The network is compiled once for all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np

from relay.errors import RelayError
from relay.immutable import frozen
from relay.ir.module import IRModule
from relay.progress import Progress, silent
from relay.quantize.dataset import Dataset
from relay.quantize.scheme import Scheme
from relay.quantize.trial import Trial

EXAMPLES: Final = 8  # batches that layers are sorted by

Metric = Callable[[Callable[..., Any]], float]


@frozen
class Budget:
    """How much less the metric may be than that of the network in floats."""

    metric: Metric
    drop: float

    def __post_init__(self) -> None:
        if not callable(self.metric):
            raise RelayError(f"a metric is a function of a network, found {self.metric!r}")
        if not self.drop >= 0:
            raise RelayError(f"a budget has a drop of 0 or more, found {self.drop!r}")

    def kept_float(
        self, module: IRModule, scheme: Scheme, dataset: Dataset, progress: Progress = silent
    ) -> tuple[str, ...]:
        """The layers of a network, prepared for quantization, that have to stay floats."""
        trial = Trial(module, scheme, dataset)
        layers = [*trial.layers]
        wanted = self._measured(trial.network(())) - self.drop
        if self._measured(trial.network(layers)) >= wanted:
            return ()
        worst = sorted_by_damage(trial, dataset, progress)
        few, many = 0, len(layers)  # too few, and enough
        while many - few > 1:
            middle = (few + many) // 2
            progress("searching", middle, len(layers))
            if self._measured(trial.network(worst[middle:])) >= wanted:
                many = middle
            else:
                few = middle
        return tuple(worst[:many])

    def _measured(self, network: Callable[..., Any]) -> float:
        found = self.metric(network)
        try:
            value = float(found)
        except (TypeError, ValueError):
            raise RelayError(f"a metric gives a number, found {found!r}") from None
        if np.isnan(value):
            raise RelayError("a metric gives a number, found NaN")
        return value


def budget(metric: Metric, drop: float = 0.5) -> Budget:
    """A budget for `keep_float`: the fewest layers stay floats with which the metric drops by at
    most `drop`."""
    return Budget(metric, drop)


def sorted_by_damage(trial: Trial, dataset: Dataset, progress: Progress) -> Sequence[str]:
    """The layers by the error of the results when each is quantized alone, the largest first."""
    batches = [*islice(dataset.batches(trial.params, ""), EXAMPLES)]
    exact = [trial.network(())(**batch) for batch in batches]
    damage: dict[str, float] = {}
    for number, layer in enumerate(trial.layers):
        progress("layers", number, len(trial.layers))
        network = trial.network((layer,))
        damage[layer] = sum(
            _distance(network(**batch), wanted)
            for batch, wanted in zip(batches, exact, strict=True)
        )
    return sorted(damage, key=lambda layer: -damage[layer])


def _distance(found: Any, wanted: Any) -> float:
    """The squared distance of results, relative to their size."""
    pairs = [(found, wanted)]
    total = 0.0
    while pairs:
        a, b = pairs.pop()
        if isinstance(a, tuple | list):
            pairs += zip(a, b, strict=True)
            continue
        size = float((np.asarray(b, np.float64) ** 2).sum()) or 1.0
        total += float(((np.asarray(a, np.float64) - b) ** 2).sum()) / size
    return total
