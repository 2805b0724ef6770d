"""Which attributes speak of layouts."""

import relay
from relay.ir.expr import find_op, op_names
from relay.op.building.layout_rules import LayoutAttributes
from relay.op.opdef import OpDef, get
from relay.transform import InferType
from relay.transform.layout.layout_spelling import spelled_layouts

# Operators with an attribute of a layout that passes leave as it is.
LEFT = {
    "auto_scheduler_layout_transform",  # the attributes are what it does
    "layout_transform",
    "nn.max_pool1d_positions",  # positions count elements of one layout
    "nn.max_pool2d_positions",
    "nn.max_pool3d_positions",
    "nn.bitserial_conv2d",  # bits lie in words
    "nn.contrib_conv2d_gemm_without_weight_transform",  # the weights have their own layouts
    "nn.contrib_conv2d_winograd_without_weight_transform",
    "nn.contrib_conv3d_winograd_without_weight_transform",
    "nn.contrib_dense_pack",
    "nn.correlation",  # several arguments in one layout
    "nn.sparse_conv2d",
    "image.crop_and_resize",
    "image.dilation2d",
    "image.grid_sample",
    "qnn.contrib_dense_pack",
}


def spellings():
    rules = {name: get(name).layout for name in op_names()}
    return {name: rule for name, rule in rules.items() if isinstance(rule, LayoutAttributes)}


def test_every_operator_with_a_layout_says_so_or_is_left_on_purpose():
    named = {
        name
        for name in op_names()
        if isinstance(op := find_op(name), OpDef)
        and op.attrs is not None
        and any("layout" in key for key in op.attrs.keys())  # noqa: SIM118
        and not name.startswith("dyn.")
    }
    assert named - set(spellings()) == LEFT


def test_the_attributes_are_there():
    for name, spelling in spellings().items():
        op = relay.op.get(name)
        known = set(op.attrs.keys())
        assert {one for one in spelling.arguments if one} <= known
        assert spelling.result is None or spelling.result in known
        assert len(spelling.arguments) <= len(op.arguments)


def call(text):
    params = "%x: Tensor[(1, 2, 5, 5), float32], %w: Tensor[(4, 2, 3, 3), float32]"
    module = relay.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {text} }}')
    return InferType()(module)["main"].body


def test_the_result_lies_like_the_data_where_nothing_else_is_said():
    assert spelled_layouts(call("nn.conv2d(%x, %w)")) == (["NCHW", "OIHW"], "NCHW")
    other = call('nn.conv2d(%x, %w, out_layout="NHWC")')
    assert spelled_layouts(other) == (["NCHW", "OIHW"], "NHWC")
    assert spelled_layouts(call("nn.global_avg_pool2d(%x)")) == (["NCHW"], "NCHW")
    assert spelled_layouts(call("nn.relu(%x)")) is None
