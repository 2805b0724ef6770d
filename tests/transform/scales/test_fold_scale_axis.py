"""Scales go backward first, then forward, and what becomes of constants is folded."""

import numpy as np

import relay
from relay.testing import count_ops, resnet
from relay.transform import (
    FoldConstant,
    FoldScaleAxis,
    InferType,
    PassContext,
    Sequential,
    SimplifyInference,
)


def test_constants_are_folded_in_both_directions():
    x = relay.var("x", shape=(2, 4))
    first, second = (relay.const(np.ones((4, 4), "float32")) for _ in range(2))
    body = relay.tanh(relay.nn.dense(x, first) * relay.const(2.0))
    body = relay.nn.dense(relay.nn.relu(body * relay.const(3.0)), second)
    with PassContext(opt_level=3):
        result = FoldScaleAxis()(relay.IRModule.from_expr(relay.Function([x], body)))["main"]
    assert count_ops(result) == {"nn.dense": 2, "tanh": 1, "nn.relu": 1}
    weights = [e.data.numpy() for e in relay.tree.postorder(result) if hasattr(e, "data")]
    assert sorted(float(w[0, 0]) for w in weights) == [2, 3]


def test_a_residual_network_loses_the_scales_of_its_batch_norms_and_means_the_same():
    module, params = resnet.get_workload(
        batch_size=1, num_classes=10, num_layers=18, image_shape=(3, 32, 32)
    )
    rng = np.random.default_rng(0)
    params = {
        name: rng.uniform(0.5, 1.5, value.shape).astype("float32")
        if name.endswith(("mean", "var", "gamma", "beta"))
        else value
        for name, value in params.items()
    }
    module["main"] = relay.build_module.bind_params_by_name(module["main"], params)
    before = FoldConstant()(SimplifyInference()(InferType()(module)))
    with PassContext(opt_level=3):
        after = FoldScaleAxis()(before)
    scales = [count_ops(m["main"])["multiply"] for m in (before, after)]
    assert scales[0] > 15
    assert scales[1] <= 1  # before a sum that others use too
    image = rng.normal(size=(1, 3, 32, 32)).astype("float32")
    results = [relay.create_executor("debug", m).evaluate()(image).numpy() for m in (after, before)]
    np.testing.assert_allclose(*results, rtol=1e-3, atol=1e-5)


def test_its_members_belong_to_level_three():
    x = relay.var("x", shape=(2, 4))
    body = relay.nn.dense(x, relay.const(np.ones((4, 4), "float32"))) * relay.const(2.0)
    before = InferType()(relay.IRModule.from_expr(relay.Function([x], body)))
    passes = Sequential([FoldScaleAxis()])
    for level, name in ((2, "multiply"), (3, "nn.dense")):
        with PassContext(opt_level=level):
            assert passes(before)["main"].body.op.name == name
