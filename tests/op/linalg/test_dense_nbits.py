"""Sizes of weights of few bits that only a run knows."""

import numpy as np
import pytest

import relay
from relay.errors import RelayError

ANY = relay.Any()
KINDS = ("native", "vm", "debug")


def evaluated(kind):
    data = relay.var("x", shape=(ANY, ANY))
    weight = relay.var("w", shape=(ANY, ANY), dtype="uint32")
    scale, zero = relay.var("s", shape=(ANY, ANY)), relay.var("z", shape=(ANY, ANY))
    call = relay.nn.dense_nbits(data, weight, scale, zero)
    module = relay.IRModule.from_expr(relay.Function([data, weight, scale, zero], call))
    if kind == "native":
        return relay.compile(module)
    return relay.create_executor(kind, module).evaluate()


def arguments(rows, words, groups, units):
    return (
        np.ones((rows, 8 * words), "float32"),
        np.ones((words, units), "uint32"),
        np.ones((groups, units), "float32"),
        np.zeros((groups, units), "float32"),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_groups_of_a_run_divide_the_words(kind):
    run = evaluated(kind)
    for groups in (1, 2, 4):
        np.testing.assert_allclose(np.asarray(run(*arguments(2, 4, groups, 3))), 4)
    with pytest.raises(RelayError, match="the words are not those of whole groups"):
        run(*arguments(2, 4, 3, 3))
    with pytest.raises(RelayError, match="there is no group"):
        run(*arguments(2, 4, 0, 3))


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_without_units_or_rows_gives_nothing(kind):
    run = evaluated(kind)
    assert np.asarray(run(*arguments(2, 4, 2, 0))).shape == (2, 0)
    assert np.asarray(run(*arguments(0, 4, 2, 3))).shape == (0, 3)
