"""Operators follow the layouts of their arguments, or have them laid back, and mean the same."""

import numpy as np
import pytest

import relay
from relay.ir.expr import Call, op_names
from relay.op.building.layout_rules import LayoutAttributes
from relay.op.opdef import get
from relay.transform import ConvertLayout, InferType

HEADER = '#[version = "0.0.5"]\n'
LAYOUTS = ("NHWC", "NCHW4c", "CHWN", "NCHW2c2c")

# What comes behind a convolution of 8 channels over 6x6 pictures, %y, and whether it follows: in
# every layout, where channels are whole, where the batch is first too, or never.
ALWAYS, WHOLE, BATCH_FIRST, NEVER = "always", "whole", "batch first", "never"
CASES = {
    "nn.relu(%y)": ALWAYS,
    "clip(%y, a_min=0f, a_max=1f)": ALWAYS,
    "nn.leaky_relu(%y, alpha=0.1f)": ALWAYS,
    'cast(%y, dtype="float64")': ALWAYS,
    "add(%y, %y)": ALWAYS,
    "add(%y, 1f)": ALWAYS,
    "multiply(%per_channel, %y)": ALWAYS,
    "add(%y, %per_pixel)": ALWAYS,
    "add(%per_row, %y)": ALWAYS,
    "add(%y, %all_ones)": ALWAYS,
    "add(%y, %full)": ALWAYS,
    "where(less(%y, 0f), %full, %y)": ALWAYS,
    "multiply(%y, sigmoid(nn.global_avg_pool2d(%y)))": ALWAYS,
    "add(%y, %five)": NEVER,
    "nn.bias_add(%y, %bias)": ALWAYS,
    "nn.bias_add(%y, %six, axis=-1)": ALWAYS,
    "nn.prelu(%y, %bias)": WHOLE,
    "nn.batch_norm(%y, %bias, %bias, %bias, %positive).0": WHOLE,
    "nn.layer_norm(%y, %six, %six)": ALWAYS,
    "nn.layer_norm(%y, %bias, %bias, axis=1)": WHOLE,
    "nn.softmax(%y, axis=1)": WHOLE,
    "nn.softmax(%y, axis=-1)": ALWAYS,
    "nn.log_softmax(%y, axis=2)": ALWAYS,
    "nn.lrn(%y, size=3)": WHOLE,
    "nn.l2_normalize(%y, eps=1e-3f, axis=[1])": ALWAYS,
    "nn.dropout(%y).0": ALWAYS,
    "sum(%y, axis=[2, 3])": ALWAYS,
    "mean(%y, axis=[2, 3], keepdims=True)": ALWAYS,
    "variance(%y, mean(%y, axis=[2, 3], keepdims=True), axis=[2, 3])": ALWAYS,
    "variance(%y, mean(%y, axis=[1], keepdims=True), axis=[1])": WHOLE,
    "max(%y, axis=[1])": ALWAYS,
    "max(%y, axis=[1], keepdims=True)": WHOLE,
    "min(%y, axis=[0, 1], exclude=True)": ALWAYS,
    "sum(%y)": ALWAYS,
    "argmax(%y, axis=[1])": WHOLE,
    "argmin(%y, axis=[2], keepdims=True)": ALWAYS,
    "argmax(%y, axis=[2, 3])": NEVER,
    "nn.instance_norm(%y, %bias, %bias)": BATCH_FIRST,
    "nn.group_norm(%y, %bias, %bias, num_groups=2)": BATCH_FIRST,
    "concatenate((%y, %y), axis=1)": ALWAYS,
    "concatenate((%y, nn.relu(%y)), axis=-1)": ALWAYS,
    "concatenate((%y, %full), axis=1)": ALWAYS,
    "concatenate((%y, %three), axis=1)": WHOLE,
    "split(%y, indices_or_sections=2, axis=1).1": ALWAYS,
    "split(%y, indices_or_sections=[4], axis=1).0": ALWAYS,
    "split(%y, indices_or_sections=[3], axis=1).1": WHOLE,
    "split(%y, indices_or_sections=3, axis=2).2": ALWAYS,
    "strided_slice(%y, begin=[0, 4], end=[1, 8])": ALWAYS,
    "strided_slice(%y, begin=[0, -4, 1], end=[1, 100, 5], strides=[1, 1, 2])": ALWAYS,
    "strided_slice(%y, begin=[1], end=[6], axes=[1])": WHOLE,
    "strided_slice(%y, begin=[0], end=[8], strides=[2], axes=[1])": WHOLE,
    'strided_slice(%y, begin=[4, 2], end=[-1, 3], axes=[1, 2], slice_mode="size")': ALWAYS,
    'strided_slice(%y, begin=[0], end=[4], axes=[1], slice_mode="size")': ALWAYS,
    "nn.pad(%y, 1f, pad_width=[[0, 0], [0, 0], [1, 2], [0, 1]])": ALWAYS,
    "nn.pad(%y, 1f, pad_width=[[0, 0], [4, 0], [1, 2], [0, 1]])": ALWAYS,
    "nn.pad(%y, 1f, pad_width=[[0, 0], [1, 0], [0, 0], [0, 0]])": WHOLE,
    'nn.pad(%y, 1f, pad_width=[[0, 0], [4, 0], [0, 0], [0, 0]], pad_mode="edge")': WHOLE,
    "nn.mirror_pad(%y, pad_width=[[0, 0], [0, 0], [1, 2], [0, 1]])": ALWAYS,
    "transpose(%y, axes=[0, 2, 3, 1])": ALWAYS,
    "nn.relu(transpose(%y))": ALWAYS,
    'layout_transform(%y, src_layout="NCHW", dst_layout="HWNC")': ALWAYS,
    'layout_transform(%y, src_layout="NCHW", dst_layout="NCHW8c")': ALWAYS,
    "squeeze(%y, axis=[0])": ALWAYS,
    "squeeze(nn.global_max_pool2d(%y))": ALWAYS,
    "nn.max_pool2d(%y, pool_size=[2, 2], strides=[2, 2])": ALWAYS,
    "nn.avg_pool2d(%y, pool_size=[3, 3], padding=[1, 1, 1, 1])": ALWAYS,
    "nn.global_avg_pool2d(%y)": ALWAYS,
    "nn.adaptive_avg_pool2d(%y, output_size=[2, 3])": ALWAYS,
    "nn.max_pool2d_grad(nn.max_pool2d(%y, pool_size=[2, 2]), %y, pool_size=[2, 2])": ALWAYS,
    "nn.avg_pool2d_grad(nn.avg_pool2d(%y, pool_size=[2, 2]), %y, pool_size=[2, 2])": ALWAYS,
    'nn.max_pool2d(%y, pool_size=[2, 2], out_layout="NHWC")': NEVER,
    "nn.upsampling(%y, scale_h=2.0, scale_w=2.0)": ALWAYS,
    "image.resize2d(%y, size=[9, 4])": ALWAYS,
    "nn.space_to_depth(%y, block_size=2)": WHOLE,
    "nn.depth_to_space(%y, block_size=2)": WHOLE,
    "vision.roi_align(%y, %regions, pooled_size=[2, 3], spatial_scale=0.5)": WHOLE,
    "vision.roi_pool(%y, %regions, pooled_size=[2, 3], spatial_scale=0.5)": WHOLE,
    "reshape(%y, newshape=[8, -1])": NEVER,
    "nn.batch_flatten(%y)": NEVER,
    "expand_dims(%y, axis=2)": NEVER,
}
SHAPES = {
    "x": (1, 4, 6, 6),
    "regions": (2, 5),
    "w": (8, 4, 1, 1),
    "full": (1, 8, 6, 6),
    "three": (1, 3, 6, 6),
    "five": (5, 8, 6, 6),
    "per_channel": (8, 1, 1),
    "per_pixel": (6, 6),
    "per_row": (1, 1, 6, 1),
    "all_ones": (1, 1),
    "bias": (8,),
    "six": (6,),
    "positive": (8,),
}


def program(last):
    params = ", ".join(
        f"%{name}: Tensor[{shape if len(shape) > 1 else f'({shape[0]})'}, float32]"
        for name, shape in SHAPES.items()
    )
    text = f"def @main({params}) {{ let %y = nn.conv2d(%x, %w); {last} }}"
    return InferType()(relay.parse(HEADER + text))


def arguments():
    random = np.random.default_rng(0)
    made = [random.uniform(-1, 1, shape).astype("float32") for shape in SHAPES.values()]
    made[-1] = abs(made[-1])
    return made


def run(module):
    return relay.create_executor("debug", mod=module).evaluate()(*arguments()).numpy()


def laid_back(module):
    """Whether something is laid back before another thing is done with it."""
    calls = [e for e in relay.tree.postorder(module["main"]) if isinstance(e, Call)]
    used = [arg for call in calls for arg in call.args]
    used += [field for arg in used for field in getattr(arg, "fields", ())]
    return any(
        isinstance(arg, Call)
        and getattr(arg.op, "name", "") == "layout_transform"
        and arg.attrs.dst_layout == "NCHW"
        for arg in used
    )


@pytest.mark.parametrize("last", CASES)
def test_what_follows_a_convolution_means_the_same_in_every_layout(last):
    before = program(last)
    expected = run(before)
    for layout in LAYOUTS:
        after = ConvertLayout({"nn.conv2d": [layout, "default"]})(before)
        assert after["main"].ret_type == before["main"].ret_type
        np.testing.assert_allclose(run(after), expected, rtol=1e-5, atol=1e-6)
        follows = {
            ALWAYS: True,
            WHOLE: layout.isupper(),
            BATCH_FIRST: layout.isupper() and layout[0] == "N",
            NEVER: False,
        }
        assert laid_back(after) != follows[CASES[last]], str(after)


def test_every_rule_is_tried():
    text = "\n".join([*CASES, QUANTIZED])
    rules = {name: rule for name in op_names() if (rule := get(name).layout) is not None}
    on_request = {
        n for n, r in rules.items() if isinstance(r, LayoutAttributes) and r.blocks is None
    }
    more_axes = {name for name in rules if name.endswith(("1d", "3d"))}
    same_rule = {
        "fixed_point_multiply",
        "nn.fast_softmax",
        "reinterpret",
        "prod",
        "all",
        "any",
        "nn.adaptive_max_pool2d",
        "qnn.quantize",
        "qnn.subtract",
        *(f"qnn.{name}" for name in ("tanh", "erf", "exp", "log", "sqrt", "rsqrt", "abs")),
        "qnn.hardswish",
    }
    missing = {name for name in rules if f"{name}(" not in text}
    assert missing <= more_axes | same_rule | on_request


QUANTIZED = """
    def @main(%x: Tensor[(1, 4, 6, 6), int8], %w: Tensor[(8, 4, 1, 1), int8],
              %s: Tensor[(8), float32], %b: Tensor[(8, 1, 1), int8]) {{
      %0 = qnn.conv2d(%x, %w, 0, 0, 0.5f, 0.25f, out_dtype="int32", channels=8, kernel_size=[1, 1]);
      %1 = qnn.requantize(%0, {}, 0, 0.5f, 0, axis=1, out_dtype="int8");
      %2 = qnn.add(%b, %1, 0.5f, 1, 0.25f, 0, 0.5f, 0);
      %3 = qnn.sigmoid(%2, 0.5f, 0, 0.125f, 0);
      %4 = qnn.leaky_relu(%3, 0.125f, 0, 0.25f, 0, alpha=0.5f);
      %5 = qnn.mul(%4, %1, 0.25f, 0, 0.5f, 0, 0.5f, 0);
      %6 = qnn.avg_pool2d(%5, 0.5f, 0, 0.25f, 0, pool_size=[2, 2]);
      qnn.dequantize(%6, 0.25f, 0, axis=1, out_dtype="float32")
    }}
"""


@pytest.mark.parametrize("scale", ["0.125f", "%s"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_quantized_numbers_follow_where_their_scales_do(scale, layout):
    before = InferType()(relay.parse(HEADER + QUANTIZED.format(scale)))
    after = ConvertLayout({"qnn.conv2d": [layout, "default"]})(before)
    assert laid_back(after) == (scale == "%s" and not layout.isupper())
    random = np.random.default_rng(0)
    x, w = (
        random.integers(-99, 99, shape).astype("int8") for shape in ((1, 4, 6, 6), (8, 4, 1, 1))
    )
    bias = random.integers(-99, 99, (8, 1, 1)).astype("int8")
    args = x, w, np.linspace(0.01, 0.2, 8).astype("float32"), bias
    found, expected = (
        relay.create_executor("debug", mod=m).evaluate()(*args).numpy() for m in (after, before)
    )
    np.testing.assert_array_equal(found, expected)


def test_pools_of_one_and_three_axes_follow():
    for rank, layout in ((1, "NWC"), (3, "NDHWC")):
        extents = [6] * rank
        x = relay.var("x", shape=(1, 4, *extents))
        w = relay.var("w", shape=(8, 4, *[1] * rank))
        conv = getattr(relay.nn, f"conv{rank}d")(x, w, kernel_size=[1] * rank, channels=8)
        pooled = getattr(relay.nn, f"max_pool{rank}d")(conv, pool_size=[2] * rank)
        module = relay.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(pooled)))
        after = ConvertLayout({f"nn.conv{rank}d": [layout, "default"]})(module)
        assert f'pool_size={[2] * rank}, layout="{layout}"' in str(after).replace(" }", "")
        assert str(after).count("layout_transform(") == 3


@pytest.mark.parametrize("scale", ["%s", "0.5f"])
def test_quantised_sums_have_scales_of_their_own_in_the_original_layout(scale):
    source = f"""
        def @main(%x: Tensor[(1, 4, 6, 6), int8], %w: Tensor[(8, 4, 1, 1), int8],
                  %s: Tensor[(8), float32], %z: Tensor[(8), int32]) {{
          %0 = nn.conv2d(%x, %w, out_dtype="int32");
          %1 = cast(%0, dtype="int8");
          qnn.add(%1, %1, {scale}, {"%z" if scale == "%s" else "0"}, 0.5f, 0, 0.5f, 0, lhs_axis=1)
        }}"""
    before = InferType()(relay.parse(HEADER + source))
    after = ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(before)
    assert laid_back(after) == (scale == "%s")
