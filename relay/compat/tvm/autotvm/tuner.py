"""`tvm.autotvm.tuner`: what tunes a task. Plans are few, so that all tuners are the same one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relay.cache import Cache
from relay.cache.tuned import Tuned
from relay.compat.tvm.autotvm.task import Task
from relay.errors import RelayError
from relay.executors.cores import default_threads
from relay.lower.kernel import Options
from relay.tuning import tune as tuning

# Called with the tuner, the task in a list, and its result (`relay.cache.tuned.Result`) in a list.
Callback = Callable[[Any, Sequence[Any], Sequence[Any]], object]


class Tuner:
    """Tries the plans of a task. `search` says in which order tvm would choose, which is not
    needed here."""

    def __init__(self, task: Task, *search: Any, **more: Any) -> None:
        self.task = task

    def tune(
        self,
        n_trial: int,
        measure_option: dict[str, Any],
        early_stopping: int | None = None,
        callbacks: Sequence[Callback] = (),
        si_prefix: str = "G",
    ) -> None:
        """Measure at most `n_trial` plans, and keep the best."""
        cache, task = Cache.default(), self.task
        if Tuned.of(cache).file is None:
            raise RelayError("the results of tuning are kept in the cache of kernels, which is off")
        timeout = measure_option["builder"].timeout + measure_option["runner"].timeout
        made = tuning.Tuner(
            task.target, Options(), cache, default_threads(), timeout, most=max(0, n_trial)
        )
        made.run([task.kernel], False, lambda *_: None)
        result = Tuned.of(cache).get(task.key)
        for callback in callbacks:
            callback(self, [task], [result])


class XGBTuner(Tuner):
    """See `Tuner`."""


class GATuner(Tuner):
    """See `Tuner`."""


class RandomTuner(Tuner):
    """See `Tuner`."""


class GridSearchTuner(Tuner):
    """See `Tuner`."""
