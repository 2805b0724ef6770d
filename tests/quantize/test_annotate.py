"""Where integers are wanted."""

import numpy as np
import pytest

import relay
from relay import nn
from relay.errors import PassError
from relay.ir.expr import Call, Constant, Function, Tuple
from relay.quantize import INT8, Integers, Scheme, annotate, prerequisite_optimize, qconfig
from relay.quantize.points import points


def const(*shape):
    return relay.const(np.random.default_rng(0).standard_normal(shape).astype("float32"))


def conv(x, channels=4, given=4, **attrs):
    return nn.conv2d(x, const(channels, given // attrs.get("groups", 1), 3, 3), padding=1, **attrs)


def annotated(body, scheme=INT8, params=None):
    params = params or [x]
    return annotate(scheme)(prerequisite_optimize(Function(params, body)))


def names(body, scheme=INT8, params=None):
    found = points(annotated(body, scheme, params)["main"])
    return sorted(point.name for point in found)


x = relay.var("x", shape=(1, 4, 8, 8))


def test_a_product_wants_its_data_and_its_weight():
    module = annotated(nn.relu(conv(x)))
    assert [p.name for p in points(module["main"])] == ["x", "conv2d_0.weight"]
    added = [param.name_hint for param in module["main"].params[1:]]
    assert added[:3] == ["x.scale", "x.low", "x.high"]
    assert module["main"].params[4].checked_type.concrete_shape == (4,)


def test_the_annotated_network_runs_with_scales_of_ones_own():
    module = annotated(conv(x))
    exe = relay.compile(module)
    data = np.random.default_rng(1).standard_normal((1, 4, 8, 8)).astype("float32")
    known = {"x.scale": 0.02, "x.low": -127, "x.high": 127}
    for part, value in (("scale", 0.02), ("low", -127), ("high", 127)):
        known[f"conv2d_0.weight.{part}"] = np.full(4, value)
    found = exe(x=data, **{name: np.asarray(v, "float32") for name, v in known.items()})
    wanted = relay.compile(Function([x], conv(x)))(data)
    assert 0 < np.abs(found - wanted).max() < 1


def test_a_value_is_quantized_once_for_all_its_readers():
    shared = nn.relu(conv(x))
    body = Tuple((nn.global_avg_pool2d(conv(shared)), nn.global_avg_pool2d(conv(shared, 8))))
    assert names(body).count("relu_0") == 1


def test_what_fusion_keeps_in_registers_is_not_quantized():
    body = conv(nn.relu(relay.add(conv(x), x)))
    assert names(body) == ["conv2d_0.weight", "conv2d_1.weight", "relu_0", "x"]


def test_an_addition_of_two_products_quantizes_one():
    body = conv(relay.add(conv(x), conv(x, given=4, groups=4)))
    assert "conv2d_0" not in names(body)
    assert "conv2d_1" in names(body)


def test_what_only_moves_elements_is_on_the_integers():
    module = annotated(conv(nn.max_pool2d(nn.relu(conv(x)), (2, 2), (2, 2))))
    (pool,) = (
        node
        for node in relay.tree.postorder(module["main"])
        if isinstance(node, Call) and getattr(node.op, "name", "") == "nn.max_pool2d"
    )
    assert pool.args[0].attrs.name == "relu_0"
    assert "max_pool2d_0" not in [p.name for p in points(module["main"])]


def test_parts_of_a_tuple_are_on_the_integers():
    parts = relay.split(nn.relu(conv(x)), 2, axis=1)
    assert names(Tuple((conv(parts[0], 2, 2), conv(parts[1], 2, 2)))) == [
        "conv2d_0.weight",
        "conv2d_1.weight",
        "conv2d_2.weight",
        "relu_0",
        "x",
    ]


def test_a_mean_and_a_concatenation_have_scales_of_their_own():
    joined = relay.concatenate((nn.relu(conv(x)), x), 1)
    found = names(nn.dense(nn.batch_flatten(nn.global_avg_pool2d(joined)), const(3, 8)))
    assert {"relu_0", "x", "concatenate_0", "global_avg_pool2d_0"} <= set(found)


def test_operators_without_a_rule_keep_floats():
    body = nn.softmax(nn.dense(nn.softmax(nn.batch_flatten(x)), const(3, 256)))
    assert names(body) == ["dense_0.weight", "softmax_0"]


def test_padding_with_other_numbers_keeps_floats():
    padded = nn.pad(nn.relu(conv(x)), ((0, 0), (0, 0), (1, 1), (1, 1)), 1.0)
    assert "pad_0" in names(nn.conv2d(padded, const(4, 4, 1, 1)))


@pytest.mark.parametrize(
    ("scheme", "kept"),
    [
        (Scheme("a", skip_conv_layers=(0,)), {"conv2d_0"}),
        (Scheme("a", skip_dense_layer=True), {"dense_0"}),
        (Scheme("a", first=False), {"conv2d_0"}),
        (Scheme("a", last=False), {"dense_0"}),
        (Scheme("a", depthwise=False), {"conv2d_1"}),
        (Scheme("a", keep_float=("conv2d_1", "dense_0")), {"conv2d_1", "dense_0"}),
    ],
)
def test_the_scheme_keeps_layers_in_floats(scheme, kept):
    body = nn.global_avg_pool2d(nn.relu(conv(nn.relu(conv(x)), groups=4)))
    body = nn.dense(nn.batch_flatten(body), const(3, 4))
    layers = {"conv2d_0", "conv2d_1", "dense_0"}
    weights = {f"{name}.weight" for name in layers - kept}
    assert {name for name in names(body, scheme) if name.endswith("weight")} == weights


def test_by_default_the_scheme_is_that_of_the_qconfig():
    body = conv(conv(x))
    module = prerequisite_optimize(Function([x], body))
    assert [p.name for p in points(annotate()(module)["main"])] == ["conv2d_0", "conv2d_1.weight"]
    with qconfig(skip_conv_layers=None):
        assert len(points(annotate()(module)["main"])) == 4


def test_two_values_have_one_scale_each():
    a, b = (relay.var(name, shape=(2, 3, 4)) for name in "ab")
    found = points(annotated(nn.batch_matmul(a, b), params=[a, b])["main"])
    assert [(p.name, p.is_per_channel) for p in found] == [("a", False), ("b", False)]


def test_a_branch_keeps_floats():
    flag = relay.var("flag", shape=(), dtype="bool")
    body = conv(relay.If(flag, conv(x), x))
    found = annotated(body, params=[x, flag])
    assert [p.name for p in points(found["main"])] == ["value_0", "conv2d_0.weight"]


def test_weights_in_blocks_are_refused():
    with pytest.raises(PassError, match="weights in blocks"):
        annotated(conv(x), Scheme("blocks", weight=Integers(bits=4, block=32)))


def test_weights_that_may_change_are_data():
    w = relay.var("w", shape=(4, 4, 3, 3))
    found = points(annotated(nn.conv2d(x, w), params=[x, w])["main"])
    assert [p.name for p in found] == ["x", "w"]
    assert not any(isinstance(p.data, Constant) for p in found)
