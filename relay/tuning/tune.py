"""`relay.tune`: the fastest schedules of a model's kernels, found by measuring.

    found = relay.tune(model, params, budget=120, progress=True)
    print(found)
    exe = relay.compile(model, params)         uses what was found

Candidates are compiled, verified and timed in another process, in turns with what the rules of the
target choose; a plan has to win twice before it is kept. Results are kept beside the cache of
kernels (`relay.cache.tuned`) as soon as they are there: an interrupted run is continued by the next
one, and models with equal kernels share them.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from relay import tree
from relay.cache import Cache
from relay.cache.kernels import KernelCache
from relay.cache.tuned import Result, Tuned, key_of
from relay.driver import Model, compile_program
from relay.errors import RelayError
from relay.executors.cores import default_threads
from relay.frontend.model import Example
from relay.ir.types import TensorType
from relay.lower.kernel import Lowered, Options
from relay.lower.lower import plans_of
from relay.op.opdef import OpDef
from relay.pipeline import ALGORITHMS, EXACT
from relay.program.primitives import Primitive
from relay.progress import Progress, reported
from relay.target.target import Target, wanted
from relay.tuning.report import TunedKernel, Tuning
from relay.tuning.worker import LOST, Timed, TrialWorker

TURNS: Final = 3  # of every candidate
FINAL_TURNS: Final = 11  # of the best one, once more
LEAST: Final = 1.03  # how much faster a plan has to be
BASELINE: Final = 60.0  # further seconds for the results that candidates are compared with


def tune(
    model: Model,
    params: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    budget: float = 60.0,
    timeout: float = 20.0,
    again: bool = False,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    input_infos: Sequence[Any] | None = None,
    target: str | Target | None = None,
    level: int = 3,
    exact: bool = False,
    threads: int | None = None,
    cache: Cache | None = None,
    progress: bool | Progress = False,
) -> Tuning:
    """Measure other schedules for the kernels of a model, for `budget` seconds, and keep the best.

    A model and what comes with it are those of `relay.compile`, which uses what is found. Kernels
    are tuned in the order of the operations that the model spends in them, at so many `threads`;
    results are the same for any number. A candidate that takes longer than `timeout` seconds to
    compile and run is given up. Kernels that are known are not tried `again`. Those over dynamic
    dimensions are left as they are.
    """
    for name, seconds in (("budget", budget), ("timeout", timeout)):
        if not isinstance(seconds, int | float) or not seconds > 0:
            raise RelayError(f"`{name}` is a number of seconds, found {seconds!r}")
    weights, example = Example.of(
        model, params, kwargs=kwargs, dynamic_shapes=dynamic_shapes, input_infos=input_infos
    )
    end = time.monotonic() + budget
    machine = wanted(target)
    machine.require_here("the code of candidates")
    store = Cache.of(cache)
    options = Options(exact=exact or min(level, EXACT) < ALGORITHMS)
    with reported(progress, "tuning") as report:
        kernels: list[Primitive] = []
        compile_program(
            model,
            weights,
            target=machine,
            level=level,
            exact=exact,
            cache=store,
            example=example,
            watch=lambda _, primitives: kernels.extend(primitives),
        )
        kernels = [one for one in kernels if not one.dynamic]
        tuner = Tuner(machine, options, store, threads or default_threads(), timeout, end)
        return tuner.run(kernels, again, report)


@dataclass
class Tuner:
    """Tunes kernels for a target until `end`, `time.monotonic()`."""

    target: Target
    options: Options
    cache: Cache
    threads: int
    timeout: float
    end: float = math.inf
    most: int = sys.maxsize  # candidates of a kernel
    worker: TrialWorker | None = None
    asked: str = ""  # the function that the worker was asked for last

    def run(self, kernels: Sequence[Primitive], again: bool, report: Progress) -> Tuning:
        """Tune kernels, the most expensive first."""
        tuned = Tuned.of(self.cache)
        found: list[TunedKernel] = []
        left = 0
        ordered = self._ordered(kernels)
        try:
            for number, (key, (one, text)) in enumerate(ordered.items()):
                report("kernels", number, len(ordered))
                plans = plans_of(one.function, one.constant, self.target, self.options)
                if not plans:
                    continue
                known = None if again else tuned.get(key)
                waiting = [plan for plan in plans if known is None or plan not in known.tried]
                if waiting and time.monotonic() >= self.end:
                    left += 1
                    continue
                if not waiting and known is not None:
                    found.append(_described(one, known, known=True))
                    continue
                result, failed = self._tune(key, one, text, waiting[: self.most], known)
                tuned.put(result)
                found.append(_described(one, result, failed=failed))
                left += len(result.tried) < len(plans)
            report("kernels", len(ordered), len(ordered))
        finally:
            self._stop()
        made = Tuning(found)
        made.left = left
        return made

    def _ordered(self, kernels: Sequence[Primitive]) -> dict[str, tuple[Primitive, str]]:
        """Each function once, by what all its calls compute."""
        lowered = KernelCache(self.cache, self.target, self.options)
        known: dict[str, tuple[Primitive, str]] = {}
        work: Counter[str] = Counter()
        for one in kernels:
            text = one.function.astext()
            key = key_of(text, one.constant, self.target, self.options.exact)
            known[key] = one, text
            made: Lowered = lowered.lower(one.function, one.constant)
            work[key] += sum(step.kernel.flops for step in made.steps if not step.constant)
        return {key: known[key] for key, _ in work.most_common()}

    def _tune(
        self, key: str, one: Primitive, text: str, plans: Sequence[str], known: Result | None
    ) -> tuple[Result, int]:
        """The best of `plans` and of what is known, and how many failed."""
        tried = [] if known is None else list(known.tried)
        best = known if known is not None and known.plan else None
        plan, speedup, failed = ("", 1.0, 0) if best is None else (best.plan, best.speedup, 0)
        times: dict[str, float] = {}
        for candidate in plans:
            if time.monotonic() >= self.end:
                break
            timed = self._timed(one, text, candidate, TURNS)
            tried.append(candidate)
            failed += bool(timed.reason)
            times[candidate] = timed.speedup
        for candidate in sorted(times, key=lambda name: -times[name])[:2]:
            if times[candidate] < max(speedup, LEAST):
                break
            final = self._timed(one, text, candidate, FINAL_TURNS).speedup
            if final >= max(speedup, LEAST):
                plan, speedup = candidate, final
        return Result(key, plan, speedup, tuple(tried)), failed

    def _timed(self, one: Primitive, text: str, plan: str, turns: int) -> Timed:
        if self.worker is None:
            self.worker, self.asked = TrialWorker.start(), ""
            if self.worker is None or not self.worker.ready():
                raise RelayError("candidates run in another process, and none starts here")
        limit = self.timeout + (text != self.asked) * BASELINE
        self.asked = text
        options = replace(self.options, plan=plan)
        how = {"threads": self.threads, "turns": turns}
        timed = self.worker.time(one, text, self.target, options, **how, timeout=limit)
        if timed.reason == LOST:
            self._stop()
        return timed

    def _stop(self) -> None:
        if self.worker is not None:
            self.worker.stop()
            self.worker = None


def _described(
    one: Primitive, result: Result, *, failed: int = 0, known: bool = False
) -> TunedKernel:
    parts = tree.postorder(one.function.body)
    operators = tuple(part.name for part in parts if isinstance(part, OpDef))
    types = (param.checked_type for param in one.function.params)
    shapes = ["x".join(map(str, ty.shape)) for ty in types if isinstance(ty, TensorType)]
    return TunedKernel(
        operators,
        " ".join(filter(None, shapes)),
        result.plan,
        result.speedup,
        len(result.tried),
        failed,
        known,
    )
