"""Optimizer steps and gradients, domain ai.onnx.preview.training.

Several tensors are trained at once: `Adam(rate, steps, x1, x2, g1, g2, v1, v2, h1, h2)` has two.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.onnx.computations.derivatives import derivatives, substituted
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, const

table = Converters("ai.onnx.preview.training")


def _groups(node: Node, values: Sequence[Expr], kinds: int) -> list[tuple[Expr, ...]]:
    """The inputs of each trained tensor: itself, its gradient, and its state."""
    if len(values) % kinds:
        message = "the tensors do not come in equal numbers"
        raise node.refused(message, f"a multiple of {kinds}", str(len(values)))
    count = len(values) // kinds
    return [values[place::count] for place in range(count)]  # type: ignore[misc]


def _flattened(results: Sequence[Sequence[Expr]]) -> list[Expr]:
    """All first results, then all second ones."""
    return [one for kind in zip(*results, strict=True) for one in kind]


def _scalar(node: Node, value: Expr, like: Expr) -> Expr:
    return node.let(op.cast(op.reshape(value, ()), node.dtype(like)))


def _regularized(node: Node, x: Expr, gradient: Expr) -> Expr:
    """The gradient with L2 regularization."""
    weight = node.attribute("norm_coefficient", 0.0)
    if not weight:
        return gradient
    return node.let(node.number(weight, x) * x + gradient)


@table("Adagrad")
def adagrad(node: Node, rate: Expr, steps: Expr, *values: Expr) -> Sequence[Expr]:
    decay = node.attribute("decay_factor", 0.0)

    def step(x: Expr, gradient: Expr, squares: Expr) -> Sequence[Expr]:
        g = _regularized(node, x, gradient)
        slower = node.number(1, x) + _scalar(node, steps, x) * node.number(decay, x)
        own = _scalar(node, rate, x) / slower
        total = node.let(squares + g * g)
        size = op.sqrt(total) + node.number(node.attribute("epsilon", 0.0), x)
        return [x - own * g / size, total]

    return _flattened([step(*group) for group in _groups(node, values, 3)])


@table("Adam")
def adam(node: Node, rate: Expr, steps: Expr, *values: Expr) -> Sequence[Expr]:
    alpha, beta = (node.attribute(name, usual) for name, usual in (("alpha", 0.9), ("beta", 0.999)))
    after = node.attribute("norm_coefficient_post", 0.0)

    def step(x: Expr, gradient: Expr, mean: Expr, squares: Expr) -> Sequence[Expr]:
        g = _regularized(node, x, gradient)
        new_mean = node.let(_mixed(node, alpha, mean, g))
        new_squares = node.let(_mixed(node, beta, squares, node.let(g * g)))
        size = op.sqrt(new_squares) + node.number(node.attribute("epsilon", 0.0), x)
        moved = _corrected(node, rate, steps, alpha, beta, x) * (new_mean / size)
        new = x - moved
        if after:
            new = node.number(1 - after, x) * new
        return [new, new_mean, new_squares]

    return _flattened([step(*group) for group in _groups(node, values, 4)])


def _mixed(node: Node, share: float, before: Expr, now: Expr) -> Expr:
    """The exponential moving average."""
    return node.number(share, now) * before + node.number(1 - share, now) * now


def _corrected(node: Node, rate: Expr, steps: Expr, alpha: float, beta: float, x: Expr) -> Expr:
    """The learning rate with bias correction."""
    own, count, one = _scalar(node, rate, x), _scalar(node, steps, x), node.number(1, x)
    less_mean = one - op.power(node.number(alpha, x), count)
    less_squares = one - op.power(node.number(beta, x), count)
    corrected = own * op.sqrt(less_squares) / less_mean
    started = op.reshape(steps, ()) > const(0, node.dtype(steps))
    return node.let(op.where(started, corrected, own))


@table("Momentum")
def momentum(node: Node, rate: Expr, steps: Expr, *values: Expr) -> Sequence[Expr]:
    alpha, beta = node.required("alpha"), node.required("beta")
    mode = node.choice("mode", None, ("standard", "nesterov"))
    started = op.reshape(steps, ()) > const(0, node.dtype(steps))

    def step(x: Expr, gradient: Expr, velocity: Expr) -> Sequence[Expr]:
        g = _regularized(node, x, gradient)
        # `beta` does not apply to the first gradient
        share = node.let(op.where(started, node.number(beta, x), node.number(1, x)))
        kept = node.number(alpha, x) * velocity
        new = node.let(kept + share * g)
        direction = g + node.number(alpha, x) * new if mode == "nesterov" else new
        return [x - _scalar(node, rate, x) * direction, new]

    return _flattened([step(*group) for group in _groups(node, values, 3)])


@table("Gradient")
def gradient(node: Node, *values: Expr) -> Sequence[Expr]:
    """Derivatives of a tensor by others, all given by their names in the graph; where another
    value is given for a name, the tensor is recomputed with it."""
    by = node.required("xs")
    names = [*by, *(node.attribute("zs") or [])]
    if len(names) != len(values):
        raise node.refused("there is not a value for every name", str(len(names)), str(len(values)))
    target = _named(node, node.required("y"))
    changes = {
        own: value
        for own, value in zip((_named(node, name) for name in names), values, strict=True)
        if own is not value
    }
    if changes:
        target = substituted(node, target, changes)
    return derivatives(node, target, values[: len(by)])


def _named(node: Node, name: str) -> Expr:
    found = node.scope.find(name)
    if found is None:
        raise node.refused(f"there is no `{name}` in the graph")
    return found
