"""`relay.tune`: candidates run in another process, and what wins is used by `relay.compile`."""

from typing import ClassVar

import numpy as np
import pytest

import relay
from relay.cache import Cache
from relay.cache.tuned import Result, Tuned
from relay.errors import RelayError
from relay.lower.kernel import Options
from relay.program.primitives import Primitive
from relay.target.target import Target
from relay.tuning import tune as module
from relay.tuning.trial import Trial
from relay.tuning.worker import LOST, Timed, TrialWorker

X, W = relay.var("x", shape=(1, 24)), relay.var("w", shape=(150, 24))
MODEL = relay.Function([X, W], relay.nn.relu(relay.nn.dense(X, W)))
PARAMS = {"w": np.random.default_rng(0).standard_normal((150, 24), np.float32)}
DATA = np.random.default_rng(1).standard_normal((1, 24), np.float32)


class Planned:
    """A worker for which some plans are as much faster as they are here."""

    speedups: ClassVar[dict] = {}
    asked: ClassVar[list] = []

    @classmethod
    def start(cls):
        return cls()

    def ready(self):
        return True

    def time(self, wanted, text, target, options, **how):
        type(self).asked.append(options.plan)
        found = self.speedups.get(options.plan, 1.0)
        return Timed(1.0, found) if found else Timed(reason=LOST)

    def stop(self):
        pass


@pytest.fixture
def planned(monkeypatch):
    monkeypatch.setattr(module, "TrialWorker", Planned)
    monkeypatch.setattr(Planned, "asked", [])
    monkeypatch.setattr(Planned, "speedups", {})
    return Planned


def test_a_model_is_tuned_in_another_process(tmp_path):
    cache = Cache(tmp_path)
    expected = relay.compile(MODEL, PARAMS, cache=cache)(DATA)
    seen = []
    found = relay.tune(
        MODEL, PARAMS, threads=1, cache=cache, progress=lambda *given: seen.append(given)
    )
    assert [one.failed for one in found] == [0] and found[0].tried > 1 and found.left == 0
    assert found.median == found[0].speedup >= 1.0
    assert "nn.dense" in str(found) and seen[-1] == ("kernels", 1, 1)
    assert relay.tune(MODEL, PARAMS, threads=1, cache=cache)[0].known
    np.testing.assert_allclose(relay.compile(MODEL, PARAMS, cache=cache)(DATA), expected, rtol=1e-5)


def test_the_best_plan_is_kept_and_compiled(planned, tmp_path):
    cache = Cache(tmp_path)
    before = relay.compile(MODEL, PARAMS, cache=cache)
    planned.speedups = {"tile=1x2": 1.5, "tile=1x6": 1.2, "tile=1x4": 0.0}
    (found,) = relay.tune(MODEL, PARAMS, cache=cache)
    assert (found.plan, found.speedup, found.failed) == ("tile=1x2", 1.5, 1)
    after = relay.compile(MODEL, PARAMS, cache=cache)
    assert after.kernels[0].name != before.kernels[0].name
    np.testing.assert_allclose(after(DATA), before(DATA), rtol=1e-5)
    assert relay.compile(MODEL, PARAMS, cache=Cache(None)).kernels == before.kernels


def test_what_does_not_win_twice_is_not_kept(planned, tmp_path):
    planned.speedups = {"tile=1x2": 1.02}
    (found,) = relay.tune(MODEL, PARAMS, cache=Cache(tmp_path))
    assert (found.plan, found.speedup) == ("", 1.0)


def test_a_run_goes_on_where_the_last_one_ended(planned, tmp_path, monkeypatch):
    cache = Cache(tmp_path)
    clock = iter([0.0, *[0.5] * 3, *[99.0] * 9])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    first = relay.tune(MODEL, PARAMS, budget=1, cache=cache)
    earlier = list(planned.asked)
    assert first.left == 1 and first[0].tried == len(earlier) == 2
    monkeypatch.undo()
    monkeypatch.setattr(module, "TrialWorker", planned)
    second = relay.tune(MODEL, PARAMS, cache=cache)
    asked = [*earlier, *planned.asked]
    assert second.left == 0 and len(set(asked)) == len(asked) == second[0].tried
    assert relay.tune(MODEL, PARAMS, cache=cache)[0].known
    assert not relay.tune(MODEL, PARAMS, cache=cache, again=True)[0].known


def test_candidates_are_verified_and_limited_in_time():
    made = relay.transform.InferType()(relay.IRModule.from_expr(MODEL))["main"]
    wanted = Primitive(made.with_attr("Primitive", 1), (False, True))
    given = wanted, wanted.function.astext(), Target.host(), Options(plan="tile=1x2")
    worker = TrialWorker.start()
    try:
        assert worker.ready()
        timed = worker.time(*given, threads=1, turns=1, timeout=60)
        assert timed.seconds > 0 and timed.rules > 0 and timed.reason == ""
        lost = worker.time(*given, threads=1, turns=10_000, timeout=0.01)
        assert lost.reason == LOST and lost.speedup == 0
    finally:
        worker.stop()
    trial = Trial(wanted, Target.host(), Options(), threads=1)
    trial._expected = [result + 1 for result in trial._expected]
    with pytest.raises(RelayError, match="another result"):
        trial.times("tile=1x2", 1)


@pytest.mark.parametrize("given", [{"budget": 0}, {"timeout": -1}, {"budget": "long"}])
def test_limits_are_seconds(given):
    with pytest.raises(RelayError, match="a number of seconds"):
        relay.tune(MODEL, PARAMS, **given)


def test_plans_of_another_version_have_no_effect(tmp_path):
    cache = Cache(tmp_path)
    before = relay.compile(MODEL, PARAMS, cache=cache)
    tuned = Tuned.of(cache)
    relay.tune(MODEL, PARAMS, budget=1e-9, cache=cache)
    assert tuned.is_empty
    tuned.put(Result("0" * 64, "tile=1x1", 2.0, ()))
    assert relay.compile(MODEL, PARAMS, cache=cache).kernels == before.kernels
