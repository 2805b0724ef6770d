"""The kernels that lowering asks for are known before."""

from pathlib import Path

import numpy as np
import pytest

import relay
from relay import pipeline
from relay.cache import Cache
from relay.cache.kernels import KernelCache
from relay.lower.kernel import Options
from relay.pipeline.weights import constant_weights, given_weights, named_weights
from relay.program.lower import lower_module
from relay.program.primitives import Primitive, primitives
from relay.target.target import Target
from relay.testing import lstm_loop, mlp, tree_lstm

HEADER = '#[version = "0.0.5"]\n'
PROGRAMS = sorted((Path(__file__).parent.parent / "programs").glob("*.relay"))


class Noting(KernelCache):
    """Kernels, with a note of what was asked for."""

    def __init__(self):
        super().__init__(Cache(None), Target.x86("avx2"), Options())
        self.asked = []

    def _get(self, wanted):
        self.asked.append(wanted)
        return super()._get(wanted)


def compared(module, params=None, whole=False):
    """What was found, and what was asked for."""
    module = module.copy()
    weights = given_weights(module["main"], params)
    if whole:
        module = pipeline.whole_program(3)(constant_weights(module, weights))
    else:
        module = pipeline.passes(3)(named_weights(module, weights))
    kernels = Noting()
    lower_module(module, kernels, whole=whole)
    return primitives(module, whole=whole), kernels.asked


def texts(found):
    return {(one.function.astext(), one.constant, one.dynamic) for one in found}


def test_what_is_computed_from_weights_is_constant():
    w = np.ones((8, 8), "float32")
    x, v = relay.var("x", shape=(4, 8)), relay.var("w", shape=(8, 8))
    body = relay.nn.relu(relay.nn.dense(relay.nn.dense(x, relay.exp(v)), v))
    found, asked = compared(relay.IRModule.from_expr(relay.Function([x, v], body)), {"w": w})
    assert found == asked
    assert [one.constant for one in found] == [(True,), (False, True), (False, True)]


@pytest.mark.parametrize("model", [mlp, lstm_loop, tree_lstm])
def test_the_kernels_of_networks_are_found(model):
    module, params = model.get_workload(*([1] if model is mlp else []))
    found, asked = compared(module, params, whole=model is not mlp)
    assert texts(found) == texts(asked)


def test_arguments_of_functions_that_are_inlined_are_known():
    module = relay.parse(
        HEADER
        + """
        def @product(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) {
          nn.dense(%x, %w)
        }
        def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) {
          (@product(%x, %w), @product(%x, exp(%w)))
        }
        """
    )
    found, asked = compared(module, {"w": np.ones((8, 8), "float32")})
    assert texts(found) == texts(asked)


def test_a_broadcast_that_is_not_worth_keeping_is_not_constant():
    x, v = relay.var("x", shape=(400, 400)), relay.var("w", shape=())
    large = relay.annotation.stop_fusion(relay.broadcast_to(v, (400, 400)))
    module = relay.IRModule.from_expr(relay.Function([x, v], relay.nn.dense(x, large)))
    found, asked = compared(module, {"w": np.ones((), "float32")})
    assert texts(found) == texts(asked)
    assert found[-1].constant == (False, False)


def test_reshapes_and_scalars_have_no_kernels():
    source = (
        "def @main(%x: Tensor[(2, 3), float32], %n: int32) "
        "{ if (%n + 1 < 3) { reshape(%x, newshape=[6]) } else { exp(reshape(%x, newshape=[6])) } }"
    )
    found, asked = compared(relay.parse(HEADER + source), whole=True)
    assert texts(found) == texts(asked)
    assert len(found) == 1


def test_functions_with_dynamic_dimensions_are_told_apart():
    source = "def @main(%x: Tensor[(?, 3), float32]) { exp(%x) }"
    found, asked = compared(relay.parse(HEADER + source), whole=True)
    assert found == asked
    assert [(one.constant, one.dynamic) for one in found] == [((False,), True)]


@pytest.mark.parametrize("path", PROGRAMS[::6], ids=lambda path: path.stem)
def test_programs_ask_for_nothing_else(path):
    found, asked = compared(relay.parse(path.read_text()), whole=True)
    assert texts(found) >= texts(asked)
    assert isinstance(found[0], Primitive) if found else not asked
