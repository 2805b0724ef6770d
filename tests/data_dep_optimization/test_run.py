"""A pass over one function."""

import pytest

import relay
from relay.data_dep_optimization.run import run_pass
from relay.transform import FoldConstant


def test_a_function_comes_out():
    function = run_pass(relay.Function([], relay.const(1) + relay.const(2)), FoldConstant())
    assert function.body.data.numpy() == 3


def test_a_function_goes_in():
    with pytest.raises(relay.RelayError, match=r"a relay\.Function is optimized, found a Constant"):
        run_pass(relay.const(1), FoldConstant())
