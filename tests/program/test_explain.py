"""The texts of kernels are those that the kernels were made from."""

import pytest

import relay
from relay.driver import explained
from relay.testing import mlp, resnet


def test_every_kernel_of_a_program_is_explained():
    module, params = mlp.get_workload(batch_size=1, image_shape=(1, 4, 4), num_classes=3)
    exe = relay.compile(module, params)
    found = explained(module, params)
    assert {one.kernel.name for one in found} == {one.name for one in exe.program.kernels}
    for one in found:
        assert one.kernel.ir == exe.program.kernel_table[one.kernel.name].ir
        assert one.expressions and "for " in one.loops
    (softmax,) = (one for one in found if one.kernel.operators == ("nn.softmax",))
    assert "exp(" in softmax.expressions and "exp(" in softmax.loops
    packing = next(one for one in found if "prepare" in one.kernel.name)
    assert "panel" in packing.expressions and "panel" in packing.loops


def test_kernels_of_open_sizes_are_explained():
    x = relay.var("x", shape=(relay.ShapeVar("n"), 3))
    found = explained(relay.Function([x], relay.nn.relu(x)))
    assert len(found) == 1 and "max(" in found[0].expressions and "for " in found[0].loops


@pytest.mark.full
def test_every_kernel_of_a_network_is_explained():
    module, params = resnet.get_workload(num_layers=18)
    found = explained(module, params)
    assert all(one.expressions and one.loops for one in found)
