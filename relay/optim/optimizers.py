"""Optimizers: the update of a weight by its gradient, as expressions.

    class Plain(relay.optim.Optimizer):
        def update(self, site): return site.weight - site.rate * site.gradient, ()

Names and formulas are those of PyTorch. An optimizer has state for each weight: tensors of
its type, initially zero, which `slots` names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from relay.errors import RelayError
from relay.immutable import frozen
from relay.ir.expr import Expr, const
from relay.op.gradient_rules import build
from relay.optim.clipping import Clip
from relay.optim.schedules import Schedule, number


@frozen
class Update:
    """A weight to update. `step` is the number of the step, from 1 on, as float64; `shared` is what
    `Optimizer.shared` made of it, in the element type of the weight."""

    weight: Expr
    gradient: Expr
    slots: Sequence[Expr]
    step: Expr
    rate: Expr
    shared: Sequence[Expr]
    dtype: str

    def number(self, value: float) -> Expr:
        """A constant of the element type of the weight."""
        return const(value, self.dtype)

    def mixed(self, slot: int, share: float, value: Expr) -> Expr:
        """A slot as a running average: share * slot + (1 - share) * value."""
        return self.slots[slot] * self.number(share) + value * self.number(1 - share)


class Optimizer(ABC):
    """Updates weights. `lr` is a number or a schedule, `clip` limits the gradients first."""

    slots: Sequence[str] = ()  # names of what is kept for each weight
    uses_step = False  # whether `update` or `shared` look at the number of the step

    def __init__(self, lr: float | Schedule, *, clip: Clip | None = None) -> None:
        if not callable(lr) and not lr >= 0:
            raise RelayError(f"a learning rate is a number from 0 on or a schedule, found {lr!r}")
        self.lr = lr
        self.clip = clip

    @property
    def counts(self) -> bool:
        """Whether the number of the step is part of the state."""
        return self.uses_step or callable(self.lr)

    def shared(self, step: Expr) -> Sequence[Expr]:
        """Numbers of float64 that the updates of all weights use."""
        return ()

    @abstractmethod
    def update(self, site: Update) -> tuple[Expr, Sequence[Expr]]:
        """The new weight, and the new slots."""


class SGD(Optimizer):
    """Gradient descent, with momentum (Nesterov's, if wanted) and decay of the weights."""

    def __init__(
        self,
        lr: float | Schedule = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        clip: Clip | None = None,
    ) -> None:
        super().__init__(lr, clip=clip)
        _shares(momentum=momentum)
        if nesterov and (momentum == 0 or dampening != 0):
            raise RelayError("Nesterov's momentum needs `momentum`, and has no `dampening`")
        self.momentum, self.dampening, self.nesterov = momentum, dampening, nesterov
        self.weight_decay = weight_decay
        self.slots = ("momentum",) if momentum else ()
        self.uses_step = bool(momentum and dampening)

    def update(self, site: Update) -> tuple[Expr, Sequence[Expr]]:
        gradient = _decayed(site, self.weight_decay)
        if not self.momentum:
            return site.weight - site.rate * gradient, ()
        share = site.number(self.momentum)
        velocity = site.slots[0] * share
        if self.dampening:  # not of the first gradient
            damped = velocity + gradient * site.number(1 - self.dampening)
            first = build("equal", site.step, number(1))
            velocity = build("where", first, gradient, damped)
        else:
            velocity = velocity + gradient
        direction = gradient + velocity * share if self.nesterov else velocity
        return site.weight - site.rate * direction, (velocity,)


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015); the decay of the weights is part of the gradient."""

    uses_step = True
    decoupled = False

    def __init__(
        self,
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        clip: Clip | None = None,
    ) -> None:
        super().__init__(lr, clip=clip)
        _shares(beta1=betas[0], beta2=betas[1])
        self.betas, self.eps, self.weight_decay, self.amsgrad = betas, eps, weight_decay, amsgrad
        self.slots = ("exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if amsgrad else []))

    def shared(self, step: Expr) -> Sequence[Expr]:
        """What the averages, which begin with zeros, are divided by."""
        first, second = (number(1) - build("power", number(beta), step) for beta in self.betas)
        return first, build("sqrt", second)

    def update(self, site: Update) -> tuple[Expr, Sequence[Expr]]:
        weight, gradient = site.weight, site.gradient
        if self.decoupled:
            if self.weight_decay:
                weight = weight - weight * (site.rate * site.number(self.weight_decay))
        else:
            gradient = _decayed(site, self.weight_decay)
        mean = site.mixed(0, self.betas[0], gradient)
        squares = site.mixed(1, self.betas[1], gradient * gradient)
        kept: list[Expr] = [mean, squares]
        spread = squares
        if self.amsgrad:
            spread = build("maximum", site.slots[2], squares)
            kept.append(spread)
        scale = build("sqrt", spread) / site.shared[1] + site.number(self.eps)
        return weight - (site.rate / site.shared[0]) * (mean / scale), kept


class AdamW(Adam):
    """Adam with decay of the weights beside the gradient (Loshchilov and Hutter 2019)."""

    decoupled = True

    def __init__(
        self,
        lr: float | Schedule = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        clip: Clip | None = None,
    ) -> None:
        super().__init__(lr, betas, eps, weight_decay, amsgrad, clip=clip)


def _decayed(site: Update, share: float) -> Expr:
    """The gradient with that of share / 2 times the squared weight."""
    return site.gradient + site.weight * site.number(share) if share else site.gradient


def _shares(**given: float) -> None:
    for name, value in given.items():
        if not 0 <= value < 1:
            raise RelayError(f"`{name}` is a number from 0 to 1, without 1, found {value!r}")
