"""Random networks are legal, finite, small, the same for the same seed, and have everything."""

from collections import Counter

import numpy as np

import relay
from relay import tree
from relay.check.infer import infer_module
from relay.ir.compare import structural_equal
from relay.ir.expr import If, Tuple
from relay.testing import Seeded, assert_generated_ok, count_ops, random_inputs
from tests.support.random_networks import random_network


def made(count, **options):
    return [random_network(Seeded(seed), **options) for seed in range(count)]


def test_networks_are_well_formed_typed_and_finite():
    for seed, module in enumerate(made(25, branches=True)):
        assert_generated_ok(module)
        result = relay.create_executor("debug", module).evaluate()(
            *random_inputs(module, Seeded(seed))
        )
        for array in getattr(result, "fields", [result]):
            assert np.isfinite(array.numpy()).all()
            assert abs(array.numpy()).max(initial=0) < 1e3


def test_the_same_seed_gives_the_same_network():
    one, two = random_network(Seeded(5)), random_network(Seeded(5))
    assert structural_equal(one, two)
    assert not structural_equal(one, random_network(Seeded(6)))


def test_there_is_what_passes_look_for():
    found: Counter[str] = Counter()
    for module in made(80):
        found += count_ops(module["main"])
    wanted = """
        nn.conv2d nn.dense nn.batch_matmul nn.max_pool2d nn.avg_pool2d nn.batch_norm nn.bias_add
        nn.relu nn.pad reshape transpose cast concatenate split nn.softmax nn.layer_norm
        nn.space_to_batch_nd nn.batch_to_space_nd where multiply add divide erf
    """
    assert not [name for name in wanted.split() if not found[name]]
    groups = {
        e.attrs.groups
        for module in made(80)
        for e in tree.postorder(module["main"])
        if isinstance(e, relay.Call) and e.op.name == "nn.conv2d"
    }
    assert {1, 2} < groups


def test_branches_come_on_demand():
    def has_branch(module):
        return any(isinstance(e, If) for e in tree.postorder(module["main"]))

    assert not any(map(has_branch, made(20)))
    assert any(map(has_branch, made(20, branches=True)))


def test_what_nothing_uses_is_a_result():
    several = [m for m in made(20, size=20) if isinstance(m["main"].body, Tuple)]
    assert several, "networks have more than one end"


def test_other_element_types_are_possible():
    module = infer_module(random_network(Seeded(1), dtype="float32"))
    assert module["main"].params[0].type_annotation.dtype == "float32"
