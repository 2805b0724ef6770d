"""Limits of memory for straight-line code are those of the plan."""

import numpy as np
import pytest

import relay
from relay.errors import RelayError


def test_the_limit_is_for_the_plan_with_its_workspaces():
    x = relay.var("x", shape=(64, 64))
    values = [relay.exp(x)]
    for _ in range(4):
        values.append(relay.nn.dense(values[-1], x))
    result = values[-1]
    for value in reversed(values[:-1]):
        result = relay.nn.dense(result, value)
    module = relay.IRModule.from_expr(relay.Function([x], result))
    plain = relay.compile(module)
    limit = plain.memory.arena - 1
    data = np.random.default_rng(0).uniform(-0.1, 0.1, (64, 64)).astype("float32")
    small = relay.compile(module, memory=limit)
    assert small.memory.arena <= limit
    assert (small(data) == plain(data)).all()
    with pytest.raises(RelayError, match="may take 100"):
        relay.compile(module, memory=100)
