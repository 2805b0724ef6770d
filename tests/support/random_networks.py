"""Random networks: well-typed dataflow graphs of neural-network layers.

    module = random_network(Seeded(7), size=20)
    inputs = random_inputs(module, Seeded(7))

`relay.testing.random_module` covers the whole language with simple operators; these networks cover
layers (`random_layers.py`) over small images, rows and sequences, with branches that share inputs.
All layers are continuous, so a correct rewrite changes results by rounding only.
"""

from __future__ import annotations

from relay import op
from relay.check.infer import infer_module
from relay.ir.expr import Expr, Function, Tuple
from relay.ir.module import IRModule
from relay.testing.generator.choices import Choices, chance, pick, weighted
from tests.support.random_layers import Builder, any_layer, shape_of

# Larger tensors get no further layers, so that the interpreter stays fast.
LARGEST = 600


def random_network(
    choices: Choices, size: int = 12, dtype: str = "float64", *, branches: bool = False
) -> IRModule:
    """A typed module whose `main` has `size` layers; with `branches`, some in an `if`.

    Weights are constants, a few of them parameters. The result is the tuple of all unused tensors,
    or the tensor if there is one.
    """
    net = Builder(choices, dtype, branches=branches)
    values: list[Expr] = [_start(net)]
    used: set[Expr] = set()
    for _ in range(size):
        source = _source(net, values)
        made = choices.unit(lambda x=source: _step(net, x, values, used))  # type: ignore[misc]
        used.add(source)
        values.append(made)
    results = [value for value in values if value not in used]
    body = results[0] if len(results) == 1 else Tuple(tuple(results))
    return infer_module(IRModule.from_expr(Function(tuple(net.params), body)))


def _start(net: Builder) -> Expr:
    batch = net.pick(1, 2)
    shapes = ((5, (batch, 4, 6, 6)), (1, (batch + 1, 6)), (2, (batch, 4, 6)))
    return net.input("data", weighted(net.choices, shapes))


def _source(net: Builder, values: list[Expr]) -> Expr:
    """Mostly the latest value; an earlier one makes siblings and several results."""
    fitting = [v for v in values if _size(v) <= LARGEST and len(shape_of(v)) in (2, 3, 4)]
    if not fitting or chance(net.choices, 3):
        values.append(_start(net))
        return values[-1]
    return fitting[-1] if chance(net.choices, 75) else pick(net.choices, fitting[::-1])


def _step(net: Builder, x: Expr, values: list[Expr], used: set[Expr]) -> Expr:
    """A layer over `x`, possibly added to an earlier value of the same shape."""
    made = any_layer(net, x)
    shape = shape_of(made)
    same = [v for v in values if shape_of(v) == shape]
    if same and chance(net.choices, 30):
        other = pick(net.choices, same[::-1])
        used.add(other)
        made = op.add(made, other)
        shape_of(made)
    return made


def _size(value: Expr) -> int:
    count = 1
    for extent in shape_of(value):
        count *= extent
    return count
