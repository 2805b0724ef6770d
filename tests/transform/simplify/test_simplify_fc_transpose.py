"""Weights are taken transposed."""

import relay
from relay.check.wellformed import check_well_formed
from relay.ir.compare import assert_structural_equal
from relay.transform import InferType, SimplifyFCTranspose


def module(make, *shapes):
    x = relay.var("x", shape=(2, 8))
    weights = [relay.var(name, shape=shape) for name, shape in zip("wv", shapes, strict=False)]
    return InferType()(relay.IRModule.from_expr(relay.Function([x, *weights], make(x, *weights))))


def dense(x, weight):
    return relay.nn.dense(x, relay.transpose(weight, [1, 0]))


def simplified(mod, *names):
    after = SimplifyFCTranspose(names)(mod)
    check_well_formed(after)
    return after


def test_a_transpose_goes_into_the_weight():
    mod = module(lambda x, w: relay.nn.relu(dense(x, w)), (8, 4))
    after = simplified(mod, "w")
    wanted = module(lambda x, w: relay.nn.relu(relay.nn.dense(x, w)), (4, 8))
    assert_structural_equal(after, wanted)
    assert [p.name_hint for p in after["main"].params] == ["x", "w.T"]
    assert simplified(after, "w")["main"] is after["main"]


def test_only_weights_that_are_named_change():
    mod = module(lambda x, w, v: dense(dense(x, w), v), (8, 4), (4, 3))
    assert simplified(mod)["main"] is mod["main"]
    assert simplified(mod, "other")["main"] is mod["main"]
    assert [p.name_hint for p in simplified(mod, "v")["main"].params] == ["x", "w", "v.T"]


def test_a_weight_that_is_needed_as_it_is_stays_besides():
    mod = module(lambda x, w: relay.Tuple([dense(x, w), relay.negative(w)]), (8, 4))
    assert [p.name_hint for p in simplified(mod, "w")["main"].params] == ["x", "w", "w.T"]


def test_attributes_are_kept():
    mod = module(
        lambda x, w: relay.nn.dense(x, relay.transpose(w), units=4, out_dtype="float64"), (8, 4)
    )
    after = simplified(mod, "w")
    assert after["main"].checked_type.ret_type == relay.TensorType((2, 4), "float64")
