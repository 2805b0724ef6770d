"""Operators in the layouts that somebody wants."""

import numpy as np
import pytest

import relay
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.op import temporary_operators
from relay.testing import dqn, mobilenet, resnet, squeezenet
from relay.transform import ConvertLayout, InferType, LayoutConfig, PassContext, Sequential

HEADER = '#[version = "0.0.5"]\n'
NHWC = ConvertLayout({"nn.conv2d": ["NHWC", "default"]})


def parsed(text):
    return InferType()(relay.parse(HEADER + text))


def test_a_convolution_is_laid_out_and_its_result_laid_back():
    before = parsed("""
        def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(16, 3, 3, 3), float32]) {
          nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3])
        }
    """)
    after = parsed("""
        def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(16, 3, 3, 3), float32]) {
          %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC");
          %1 = layout_transform(%w, src_layout="OIHW", dst_layout="HWIO");
          %2 = nn.conv2d(%0, %1, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3],
                         data_layout="NHWC", kernel_layout="HWIO");
          layout_transform(%2, src_layout="NHWC", dst_layout="NCHW")
        }
    """)
    assert_structural_equal(NHWC(before), after)


def test_a_bias_is_canonical_first():
    found = NHWC(
        parsed("""
        def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(16, 3, 3, 3), float32],
                  %b: Tensor[(16), float32]) { nn.bias_add(nn.conv2d(%x, %w), %b) }
        """)
    )
    assert 'src_layout="CHW", dst_layout="HWC"' in str(found)


@pytest.mark.parametrize(
    ("call", "wanted", "kernel"),
    [
        ("nn.conv2d(%x, %w)", ["NHWC", "default"], "HWIO"),
        ("nn.conv2d(%x, %w)", ["NHWC"], "HWIO"),
        ("nn.conv2d(%x, %w)", ["NHWC", "OHWI"], "OHWI"),
        ("nn.conv2d(%x, %w)", ["NCHW4c", "default"], "OIHW4i4o"),
        ("nn.conv2d(%x, %w)", ["CHWN", "default"], "OIHW"),
        ("nn.conv2d(%x, %d, groups=8)", ["NHWC", "default"], "HWOI"),
        ("nn.conv2d(%x, %d, groups=8)", ["NCHW4c", "default"], "OIHW1i4o"),
        ("nn.conv2d_transpose(%x, %w)", ["NHWC", "default"], "HWIO"),
    ],
)
def test_weights_follow_the_data_by_default(call, wanted, kernel):
    before = parsed(
        "def @main(%x: Tensor[(1, 8, 6, 6), float32], %w: Tensor[(8, 8, 3, 3), float32], "
        f"%d: Tensor[(8, 1, 3, 3), float32]) {{ {call} }}"
    )
    name = call.partition("(")[0]
    after = ConvertLayout({name: wanted})(before)
    (conv,) = [
        e
        for e in relay.tree.postorder(after["main"])
        if isinstance(e, relay.Call) and getattr(e.op, "name", "") == name
    ]
    assert conv.attrs.data_layout == wanted[0]
    assert conv.attrs.kernel_layout == kernel
    assert_same(before, after)


def assert_same(before, after):
    random = np.random.default_rng(0)
    args = [
        random.standard_normal([int(d) for d in p.checked_type.shape]).astype("float32")
        for p in before["main"].params
    ]
    found, expected = (
        relay.create_executor("debug", mod=m).evaluate()(*args).numpy() for m in (after, before)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_convolutions_of_one_and_three_axes_and_moved_windows_convert():
    for call, wanted in (
        ("nn.conv1d(%a, %b)", ["NWC", "default"]),
        ("nn.conv3d(%c, %d)", ["NDHWC", "default"]),
        ("nn.deformable_conv2d(%x, %o, %w)", ["NHWC", "default"]),
        ("nn.max_pool2d(%x, pool_size=[2, 2])", ["NHWC"]),
        ("nn.upsampling(%x, scale_h=2.0, scale_w=2.0)", ["NHWC"]),
    ):
        before = parsed(
            "def @main(%a: Tensor[(1, 2, 5), float32], %b: Tensor[(3, 2, 2), float32], "
            "%c: Tensor[(1, 2, 3, 3, 3), float32], %d: Tensor[(3, 2, 2, 2, 2), float32], "
            "%x: Tensor[(1, 2, 3, 3), float32], %w: Tensor[(3, 2, 2, 2), float32], "
            f"%o: Tensor[(1, 8, 2, 2), float32]) {{ {call} }}"
        )
        after = ConvertLayout({call.partition("(")[0]: wanted})(before)
        assert wanted[0] in str(after)
        assert_same(before, after)


def test_channels_that_make_no_blocks_leave_a_call_as_it_is():
    before = parsed("""
        def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(16, 3, 3, 3), float32]) {
          nn.conv2d(%x, %w)
        }
    """)
    assert ConvertLayout({"nn.conv2d": ["NCHW4c", "default"]})(before)["main"] is before["main"]


def test_blocks_can_be_undone():
    before = parsed("""
        def @main(%x: Tensor[(1, 2, 8, 8, 4), float32], %w: Tensor[(16, 8, 3, 3), float32]) {
          %0 = nn.conv2d(%x, %w, data_layout="NCHW4c", kernel_size=[3, 3], channels=16);
          nn.relu(%0)
        }
    """)
    after = ConvertLayout({"nn.conv2d": ["NCHW", "default"]})(before)
    assert 'src_layout="NCHW4c", dst_layout="NCHW"' in str(after)
    assert_same(before, after)


def test_only_operators_that_are_named_are_converted_and_twice_is_once():
    before = parsed("""
        def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 1, 1), float32]) {
          nn.max_pool2d(nn.conv2d(%x, %w), pool_size=[2, 2])
        }
    """)
    assert ConvertLayout({"nn.conv1d": ["NWC", "default"]})(before)["main"] is before["main"]
    once = NHWC(before)
    assert NHWC(once)["main"] is once["main"]


def test_some_convolutions_may_be_skipped():
    before = parsed("""
        def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 1, 1), float32]) {
          %0 = nn.conv2d(%x, %w);
          %1 = nn.conv2d(nn.relu(%0), %w);
          nn.conv2d(%1, %w)
        }
    """)
    with LayoutConfig(skip_layers=[0, 2]):
        found = NHWC(before)
        with LayoutConfig():
            assert str(NHWC(before)).count('data_layout="NHWC"') == 3
        assert LayoutConfig.current().skip_layers == (0, 2)
    assert LayoutConfig.current().skip_layers == ()
    lines = [line for line in str(found).splitlines() if "nn.conv2d" in line]
    assert ["NHWC" in line for line in lines] == [False, True, False]


def test_an_operator_may_have_its_own_function():
    before = parsed("""
        def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 1, 1), float32]) {
          nn.relu(nn.conv2d(%x, %w))
        }
    """)
    seen = []

    def convert(attrs, inputs, types, desired):
        seen.append((types[0].concrete_shape, list(desired)))
        return relay.nn.conv2d(*inputs, data_layout="NHWC", kernel_layout="OHWI")

    with temporary_operators():
        relay.op.register_op_attr("nn.conv2d", "FTVMConvertOpLayout", convert)
        found = NHWC(before)
        relay.op.register_op_attr("nn.conv2d", "FTVMConvertOpLayout", lambda *_: 1, level=20)
        with pytest.raises(PassError, match="gives an expression or None"):
            NHWC(before)
    assert seen == [((1, 4, 8, 8), ["NHWC", "default"])]
    assert 'dst_layout="OHWI"' in str(found)
    assert_same(before, found)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"nn.conv2d": "NHWC"}, "are a list"),
        ({"nn.conv2d": []}, "are a list"),
        ({"nn.conv2d": ["default", "OIHW"]}, "has no default layout"),
        ({"nn.conv2d": ["n?"]}, "this is no layout"),
    ],
)
def test_what_is_no_layout_is_refused_at_once(wanted, message):
    with pytest.raises(PassError, match=message):
        ConvertLayout(wanted)


def test_layouts_must_have_the_axes_of_the_operator():
    before = parsed("""
        def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 1, 1), float32]) {
          nn.dense(nn.batch_flatten(nn.conv2d(%x, %w)), ones(shape=[2, 256], dtype="float32"))
        }
    """)
    with pytest.raises(PassError, match="has other axes"):
        ConvertLayout({"nn.conv2d": ["NCDHW", "default"]})(before)
    with pytest.raises(PassError, match="nothing is known about the layouts"):
        ConvertLayout({"nn.dense": ["NC"]})(before)


BATCH_NORM = """
    def @main(%x: Tensor[(2, 3, 4, 5), float32], %g: Tensor[(3), float32]) {{
      {body}
    }}
"""


def test_a_batch_norm_gets_the_axis_its_channels_have():
    before = parsed(BATCH_NORM.format(body="nn.batch_norm(%x, %g, %g, %g, %g).0"))
    after = parsed(
        BATCH_NORM.format(
            body="""%0 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC");
            %1 = nn.batch_norm(%0, %g, %g, %g, %g, axis=3);
            layout_transform(%1.0, src_layout="NHWC", dst_layout="NCHW")"""
        )
    )
    found = ConvertLayout({"nn.batch_norm": ["NHWC", "default"]})(before)
    assert_structural_equal(found, after)
    rng = np.random.default_rng(0)
    args = rng.random((2, 3, 4, 5), np.float32), rng.random(3, np.float32)
    results = [np.asarray(relay.compile(mod)(*args)) for mod in (before, found)]
    np.testing.assert_allclose(*results, rtol=1e-6)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("nn.batch_norm(%x, %g, %g, %g, %g).0", "NCHW"),
        ("nn.batch_norm(%x, %g, %g, %g, %g).0", "NCHW3c"),  # no axis has all the channels
        (  # of an axis that no usual layout has as its channels
            "nn.batch_norm(transpose(%x, axes=[0, 2, 1, 3]), %g, %g, %g, %g, axis=2).0",
            "NHWC",
        ),
    ],
)
def test_other_batch_norms_stay(body, wanted):
    before = parsed(BATCH_NORM.format(body=body))
    found = ConvertLayout({"nn.batch_norm": [wanted, "default"]})(before)
    assert_structural_equal(found, before)


@pytest.mark.parametrize("name", ["roi_align", "roi_pool"])
def test_regions_are_cut_out_of_other_layouts(name):
    text = """
        def @main(%x: Tensor[(2, 4, 7, 8), float32], %r: Tensor[(3, 5), float32]) {{ {body} }}
    """
    call = f"vision.{name}({{}}, %r, pooled_size=[2, 3], spatial_scale=0.5{{}})"
    before = parsed(text.format(body=f"nn.relu({call.format('%x', '')})"))
    wanted = {f"vision.{name}": ["NHWC", "default"]}
    after = parsed(
        text.format(
            body='%0 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC"); '
            f"%1 = nn.relu({call.format('%0', ', layout=' + chr(34) + 'NHWC' + chr(34))}); "
            'layout_transform(%1, src_layout="NHWC", dst_layout="NCHW")'
        )
    )
    found = ConvertLayout(wanted)(before)
    assert_structural_equal(found, after)
    rng = np.random.default_rng(0)
    regions = np.array([[0, 1, 2, 8, 9], [1, 0, 0, 5, 12], [1, 3, 3, 9, 7]], "float32")
    args = rng.random((2, 4, 7, 8), np.float32), regions
    results = [np.asarray(relay.compile(mod)(*args)) for mod in (before, found)]
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_it_belongs_to_level_three():
    before = parsed("""
        def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 1, 1), float32]) {
          nn.conv2d(%x, %w)
        }
    """)
    with PassContext(opt_level=2):
        assert Sequential([NHWC])(before)["main"] is before["main"]
    with PassContext(opt_level=3):
        assert "NHWC" in str(Sequential([NHWC])(before))


NETWORKS = {
    "resnet": lambda: resnet.get_workload(image_shape=(3, 32, 32), num_classes=10),
    "mobilenet": lambda: mobilenet.get_workload(image_shape=(3, 32, 32), num_classes=10),
    "dqn": lambda: dqn.get_workload(1, image_shape=(4, 84, 84)),
    "squeezenet": lambda: squeezenet.get_workload(image_shape=(3, 64, 64), num_classes=10),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_mean_the_same_with_channels_last_and_in_blocks(name):
    module, params = NETWORKS[name]()
    main = module["main"]
    if main.body.op.name == "nn.softmax":  # which hides differences
        main = relay.Function(main.params, main.body.args[0])
    module = InferType()(relay.IRModule.from_expr(main))
    x = module["main"].params[0]
    data = np.random.default_rng(0).uniform(-1, 1, x.checked_type.concrete_shape)
    args = {x.name_hint: data.astype("float32"), **params}
    expected = relay.create_executor("debug", mod=module).evaluate()(**args).numpy()
    for layout in ("NHWC", "NCHW8c"):
        after = ConvertLayout({"nn.conv2d": [layout, "default"]})(module)
        found = relay.create_executor("debug", mod=after).evaluate()(**args).numpy()
        assert np.ptp(expected) > 0
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * abs(expected).max())
