"""Learning rates that change: functions of the number of the step, from 0 on, as expressions.

    relay.optim.SGD(lr=relay.optim.cosine(0.1, steps=1000))

The number is a scalar of float64, and so is the rate. Any such function is a schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi

from relay.errors import RelayError
from relay.ir.expr import Expr, const
from relay.op.gradient_rules import build

Schedule = Callable[[Expr], Expr]

DTYPE = "float64"


def rate_at(rate: float | Schedule, step: Expr) -> Expr:
    """The rate at a step."""
    return rate(step) if callable(rate) else number(rate)


def number(value: float) -> Expr:
    """A constant of the element type of schedules."""
    return const(float(value), DTYPE)


def step_decay(lr: float | Schedule, every: int, factor: float = 0.1) -> Schedule:
    """The rate times `factor` after each `every` steps."""
    _positive(every=every)
    times = number(every)
    return lambda step: (
        rate_at(lr, step) * build("power", number(factor), build("floor", step / times))
    )


def exponential(lr: float | Schedule, factor: float) -> Schedule:
    """The rate times `factor` after each step."""
    return lambda step: rate_at(lr, step) * build("power", number(factor), step)


def cosine(lr: float, steps: int, final: float = 0.0) -> Schedule:
    """From the rate to `final` in `steps` steps, along half a cosine."""
    _positive(steps=steps)

    def rate(step: Expr) -> Expr:
        share = build("minimum", step / number(steps), number(1))
        wave = (number(1) + build("cos", share * number(pi))) * number((lr - final) / 2)
        return wave + number(final)

    return rate


def warmup(lr: float | Schedule, steps: int, start: float = 0.0) -> Schedule:
    """The rate, times a factor that grows from `start` to 1 in the first `steps` steps."""
    _positive(steps=steps)

    def rate(step: Expr) -> Expr:
        share = build("minimum", step / number(steps), number(1))
        return rate_at(lr, step) * (number(start) + share * number(1 - start))

    return rate


def piecewise(lr: float, rates: Mapping[int, float]) -> Schedule:
    """The rate, and others from certain steps on: `{1000: 0.01, 2000: 0.001}`."""

    def rate(step: Expr) -> Expr:
        found = number(lr)
        for first, value in sorted(rates.items()):
            reached = build("greater_equal", step, number(first))
            found = build("where", reached, number(value), found)
        return found

    return rate


def _positive(**counts: int) -> None:
    for name, count in counts.items():
        if not isinstance(count, int) or count < 1:
            raise RelayError(f"`{name}` is a number of steps from 1 on, found {count!r}")
