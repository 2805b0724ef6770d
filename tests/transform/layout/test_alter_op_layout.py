"""Operators in the layouts that the target prefers."""

import numpy as np
import pytest

import relay
from relay.cache import Cache
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.op import temporary_operators
from relay.pipeline import Pipeline, passes
from relay.testing import dqn, mobilenet, resnet, squeezenet, vgg
from relay.transform import (
    AlterOpLayout,
    CanonicalizeOps,
    FoldConstant,
    InferType,
    PassContext,
    Sequential,
    SimplifyInference,
)

HEADER = '#[version = "0.0.5"]\n'
WIDE = AlterOpLayout("llvm -level=avx512")


def parsed(text):
    return InferType()(relay.parse(HEADER + text))


PARAMS = """%x: Tensor[(1, 3, 12, 12), float32], %v: Tensor[(16, 3, 3, 3), float32],
            %w: Tensor[(32, 16, 3, 3), float32], %b: Tensor[(16), float32]"""


def test_convolutions_are_in_blocks_and_what_is_between_them_follows():
    before = parsed(f"""
        def @main({PARAMS}) {{
          %0 = nn.conv2d(%x, %v, channels=16, kernel_size=[3, 3]);
          %1 = nn.relu(nn.bias_add(%0, %b));
          %2 = nn.max_pool2d(%1, pool_size=[2, 2], strides=[2, 2]);
          nn.batch_flatten(nn.conv2d(%2, %w, channels=32, kernel_size=[3, 3]))
        }}
    """)
    after = parsed(f"""
        def @main({PARAMS}) {{
          %0 = nn.contrib_conv2d_NCHWc(%x, %v, channels=16, kernel_size=[3, 3],
                 data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW16c");
          %1 = layout_transform(%b, src_layout="C", dst_layout="C16c");
          %2 = nn.relu(add(%0, expand_dims(%1, axis=1, num_newaxis=2)));
          %3 = nn.max_pool2d(%2, pool_size=[2, 2], strides=[2, 2], layout="NCHW16c");
          %4 = nn.contrib_conv2d_NCHWc(%3, %w, channels=32, kernel_size=[3, 3],
                 data_layout="NCHW16c", kernel_layout="OIHW", out_layout="NCHW16c");
          nn.batch_flatten(layout_transform(%4, src_layout="NCHW16c", dst_layout="NCHW"))
        }}
    """)
    found = WIDE(before)
    assert_structural_equal(found, after)
    assert WIDE(found)["main"] is found["main"]


def test_the_blocks_are_those_of_the_target():
    before = parsed(f"def @main({PARAMS}) {{ nn.conv2d(%x, %v) }}")
    assert "NCHW8c" in str(AlterOpLayout("llvm -level=avx2")(before))
    assert "NCHW4c" in str(AlterOpLayout("llvm -level=baseline")(before))
    assert "NCHW4c" in str(AlterOpLayout(relay.target.Target.aarch64())(before))


def test_a_program_without_convolutions_stays_as_it_is():
    before = parsed("def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }")
    assert WIDE(before)["main"] is before["main"]


def test_branches_and_functions_are_looked_into():
    before = parsed(f"""
        def @main({PARAMS}, %c: bool) {{
          let %f = fn (%z: Tensor[(1, 3, 12, 12), float32]) {{ nn.relu(nn.conv2d(%z, %v)) }};
          if (%c) {{ %f(%x) }} else {{ nn.conv2d(%x, %v) }}
        }}
    """)
    assert str(WIDE(before)).count("nn.contrib_conv2d_NCHWc") == 2


def test_an_operator_may_have_its_own_function():
    before = parsed(f"def @main({PARAMS}) {{ nn.relu(nn.conv2d(%x, %v)) }}")
    seen = []

    def alter(attrs, inputs, types, out_type):
        seen.append((attrs.data_layout, len(types), out_type.concrete_shape))
        data, weight = inputs
        turned = relay.layout_transform(weight, "OIHW", "HWIO")
        return relay.nn.conv2d(data, turned, data_layout="NHWC", kernel_layout="HWIO")

    with temporary_operators():
        relay.op.register_op_attr("nn.conv2d", "FTVMAlterOpLayout", alter)
        found = WIDE(before)
        relay.op.register_op_attr("nn.conv2d", "FTVMAlterOpLayout", lambda *_: None, level=20)
        assert WIDE(before)["main"] is before["main"]
        relay.op.register_op_attr("nn.conv2d", "FTVMAlterOpLayout", lambda *_: "x", level=30)
        with pytest.raises(PassError, match="gives an expression or None"):
            WIDE(before)
    assert seen == [("NCHW", 2, (1, 16, 10, 10))]
    # the data is laid out for it, the weights were
    expected = parsed(f"""
        def @main({PARAMS}) {{
          %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC");
          %1 = layout_transform(%v, src_layout="OIHW", dst_layout="HWIO");
          %2 = nn.relu(nn.conv2d(%0, %1, data_layout="NHWC", kernel_layout="HWIO"));
          layout_transform(%2, src_layout="NHWC", dst_layout="NCHW")
        }}
    """)
    assert_structural_equal(found, expected)


def test_such_a_function_may_give_any_expression():
    before = parsed(
        "def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) "
        "{ nn.relu(nn.dense(%x, %w)) }"
    )

    def packed(attrs, inputs, types, out_type):
        weight = relay.layout_transform(inputs[1], "NC", "NC2n")
        return relay.nn.contrib_dense_pack(inputs[0], weight, "NC2n", None, "float32")

    with temporary_operators():
        relay.op.register_op_attr("nn.dense", "FTVMAlterOpLayout", packed)
        found = WIDE(before)
    assert "nn.contrib_dense_pack" in str(found)
    x, w = np.random.rand(2, 3).astype("float32"), np.random.rand(4, 3).astype("float32")
    result = relay.create_executor("debug", mod=found).evaluate()(x, w).numpy()
    np.testing.assert_allclose(result, x @ w.T, rtol=1e-6)


def test_it_belongs_to_level_three():
    before = parsed(f"def @main({PARAMS}) {{ nn.conv2d(%x, %v) }}")
    with PassContext(opt_level=2):
        assert Sequential([WIDE])(before)["main"] is before["main"]
    with PassContext(opt_level=3):
        assert "NCHW16c" in str(Sequential([WIDE])(before))


NETWORKS = {
    "resnet": lambda: resnet.get_workload(image_shape=(3, 32, 32), num_classes=10),
    "mobilenet": lambda: mobilenet.get_workload(image_shape=(3, 32, 32), num_classes=10),
    "vgg": lambda: vgg.get_workload(1, image_shape=(3, 32, 32), num_classes=10, num_layers=11),
    "dqn": lambda: dqn.get_workload(1, image_shape=(4, 84, 84)),
    "squeezenet": lambda: squeezenet.get_workload(image_shape=(3, 64, 64), num_classes=10),
}
SIMPLIFIED = Sequential([SimplifyInference(), CanonicalizeOps(), InferType()])


def example(name):
    """A network without its softmax, which hides differences, its weights, a picture, and what the
    interpreter makes of it."""
    module, params = NETWORKS[name]()
    main = module["main"]
    if main.body.op.name == "nn.softmax":
        main = relay.Function(main.params, main.body.args[0])
    module = InferType()(relay.IRModule.from_expr(main))
    random = np.random.default_rng(0)
    for weight, value in params.items():
        if weight.endswith(("bias", "beta", "mean", "gamma", "var")):
            params[weight] = relay.nd.array(random.uniform(0.5, 1, value.shape).astype("float32"))
    x = main.params[0]
    data = random.uniform(-1, 1, module["main"].params[0].checked_type.concrete_shape)
    args = {x.name_hint: data.astype("float32"), **params}
    expected = relay.create_executor("debug", mod=module).evaluate()(**args).numpy()
    return module, params, args, expected


def assert_near(found, expected):
    assert np.ptp(expected) > 0
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * abs(expected).max())


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_mean_the_same(name):
    module, _, args, expected = example(name)
    for target in ("llvm -level=avx512", "llvm -level=baseline"):
        after = AlterOpLayout(target)(SIMPLIFIED(module))
        found = relay.create_executor("debug", mod=after).evaluate()(**args).numpy()
        assert_near(found, expected)


def test_in_a_network_data_is_laid_back_once_and_nothing_else_is_left():
    module, params = NETWORKS["resnet"]()
    module["main"] = relay.ir.parameters.bind_params_by_name(module["main"], params)
    with PassContext(opt_level=3):
        found = Sequential([SIMPLIFIED, FoldConstant(), WIDE, FoldConstant()])(module)
    assert str(found).count("layout_transform(") == 1


def test_volumes_and_sequences_mean_the_same(tmp_path):
    for rank in (1, 3):
        x, w, v = (
            relay.var(name, shape=(n, c, *[size] * rank))
            for name, n, c, size in (("x", 1, 3, 9), ("w", 16, 3, 3), ("v", 32, 16, 2))
        )
        conv, pool = (getattr(relay.nn, f"{name}{rank}d") for name in ("conv", "max_pool"))
        body = relay.nn.relu(pool(conv(conv(x, w), v), pool_size=[2] * rank))
        before = InferType()(relay.IRModule.from_expr(relay.Function([x, w, v], body)))
        after = WIDE(before)
        assert str(after).count("layout_transform(") == 1
        random = np.random.default_rng(rank)
        args = [
            random.standard_normal(param.checked_type.concrete_shape).astype("float32")
            for param in before["main"].params
        ]
        expected = relay.create_executor("debug", mod=before).evaluate()(*args).numpy()
        found = relay.create_executor("debug", mod=after).evaluate()(*args).numpy()
        assert_near(found, expected)
        assert_near(relay.compile(after, cache=Cache(tmp_path), level=1)(*args), expected)


@pytest.mark.parametrize(
    "name", ["resnet", *(pytest.param(n, marks=pytest.mark.full) for n in ("mobilenet", "vgg"))]
)
def test_compiled_networks_give_the_same_results(name, tmp_path, monkeypatch):
    module, params, args, expected = example(name)
    (data,) = (value for key, value in args.items() if key not in params)

    members = passes(2).passes
    place = next(i for i, member in enumerate(members) if member.name == "LiftWeights")
    layouts = Pipeline((*members[:place], AlterOpLayout(), FoldConstant(), *members[place:]))
    monkeypatch.setattr("relay.driver.passes", lambda *_: layouts)
    exe = relay.compile(module, params, cache=Cache(tmp_path))
    assert_near(exe(data), expected)
