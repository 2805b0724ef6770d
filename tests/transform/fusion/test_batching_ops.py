"""All kinds of parallel products are combined in one go."""

import numpy as np

import relay
from relay.testing import count_ops
from relay.transform import BatchingOps, InferType, PassContext


def test_it_runs_the_three_passes_where_the_level_has_them():
    def constant(*shape):
        return relay.const(np.ones(shape, "float32"))

    x = relay.var("x", shape=(1, 4, 5, 5))
    y = relay.var("y", shape=(2, 4))
    z = relay.var("z", shape=(2, 3, 4))
    outputs = [relay.nn.conv2d(x, constant(3, 4, 1, 1)) for _ in range(3)]
    outputs += [relay.nn.dense(y, constant(3, 4)) for _ in range(3)]
    outputs += [relay.nn.batch_matmul(z, constant(2, 3, 4)) for _ in range(3)]
    function = relay.Function([x, y, z], relay.Tuple(outputs))
    before = InferType()(relay.IRModule.from_expr(function))
    with PassContext(opt_level=3):
        assert BatchingOps()(before)["main"] is before["main"]
    with PassContext(opt_level=4):
        counts = count_ops(BatchingOps()(before)["main"])
    assert (counts["nn.conv2d"], counts["nn.dense"], counts["nn.batch_matmul"]) == (1, 0, 2)
