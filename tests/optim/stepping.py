"""Steps of optimizers on weights with given gradients, ours by the interpreter and torch's."""

import numpy as np
import torch

import relay
from relay.pipeline.state import without_state

SHAPES = {"w": (3, 4), "b": (4,)}


def gradients(seed=0, steps=6):
    rng = np.random.default_rng(seed)
    return [
        {name: rng.standard_normal(shape).astype("float32") for name, shape in SHAPES.items()}
        for _ in range(steps)
    ]


def first_weights():
    rng = np.random.default_rng(7)
    return {name: rng.standard_normal(shape).astype("float32") for name, shape in SHAPES.items()}


def program(optimizer):
    """The loss sum(w * gw) + sum(b * gb), whose gradients are the inputs."""
    given = [relay.var(f"g{name}", shape=shape) for name, shape in SHAPES.items()]
    weights = [relay.var(name, shape=shape) for name, shape in SHAPES.items()]
    loss = sum((relay.sum(w * g) for w, g in zip(weights, given, strict=True)), relay.const(0.0))
    function = relay.Function([*given, *weights], loss)
    return relay.optim.training_step(function, first_weights(), optimizer)


def ours(optimizer, steps):
    """The weights after each step."""
    module, state = program(optimizer)
    names = module["main"].state_names
    run = relay.create_executor("debug", without_state(module)).evaluate()
    found = []
    for step in steps:
        given = {f"g{name}": value for name, value in step.items()}
        results = run(**given, **state)
        state = dict(zip(names, results.fields[1:], strict=True))
        found.append({name: state[name].numpy() for name in SHAPES})
    return found


def theirs(make, steps, clip=lambda weights: None, schedule=None):
    """The weights after each step of an optimizer of PyTorch."""
    weights = {name: torch.tensor(value) for name, value in first_weights().items()}
    optimizer = make(list(weights.values()))
    rates = schedule(optimizer) if schedule else None
    found = []
    for step in steps:
        for name, weight in weights.items():
            weight.grad = torch.tensor(step[name])
        clip(list(weights.values()))
        optimizer.step()
        if rates is not None:
            rates.step()
        found.append({name: weight.numpy().copy() for name, weight in weights.items()})
    return found


def expect_equal(found, expected, tolerance=1e-5):
    for one, other in zip(found, expected, strict=True):
        for name in SHAPES:
            np.testing.assert_allclose(one[name], other[name], tolerance, tolerance)
