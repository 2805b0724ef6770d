"""Forms: how a tensor lies, against how it lay before."""

import relay
from relay.ir.types import TensorType
from relay.op import layout_transform
from relay.op.building.layout_form import Form, is_unblocked, transform_layout


def test_forms_that_do_the_same_are_equal_whatever_the_letters():
    assert Form("NCHW", "NHWC") == Form("ABCD", "ACDB")
    assert hash(Form("NCHW", "NCHW8c")) == hash(Form("OIHW", "OIHW8i"))
    assert Form("NCHW", "NHWC") != Form("NCHW", "NCWH")
    assert Form("NCHW", "NCHW8c") != Form("NCHW", "NCHW4c")
    assert Form("NCHW", "NCHW").is_plain and not Form("NCHW", "NHWC").is_plain


def test_an_axis_is_found_where_it_lies():
    form = Form("NCHW", "NHWC4c2c")
    assert [form.places(axis) for axis in range(4)] == [[0], [3, 4, 5], [1], [2]]
    assert [form.block(axis) for axis in range(4)] == [1, 8, 1, 1]
    assert form.without({2, 3}) == Form("NC", "NC4c2c")


def test_blocks_must_come_out_even_in_extents_that_are_known():
    form = Form("NCHW", "NCHW8c")
    assert form.fits(TensorType((relay.Any(), 16, 3, 3)))
    assert not form.fits(TensorType((1, 12, 3, 3)))
    assert not form.fits(TensorType((1, relay.Any(), 3, 3)))
    assert not form.fits(TensorType((16, 3, 3)))


def test_transforms_in_a_row_are_one():
    x = relay.var("x", shape=(1, 8, 3, 3))
    once = transform_layout(x, "NCHW", "NCHW4c")
    assert transform_layout(x, "NCHW", "NCHW") is x
    assert transform_layout(once, "NCHW4c", "NCHW") is x
    twice = transform_layout(once, "NCHW4c", "NHWC")
    assert twice.args[0] is x and twice.attrs.dst_layout == "NHWC"


def test_letters_of_an_earlier_transform_may_differ():
    x = relay.var("x", shape=(8, 4, 3, 3))
    once = layout_transform(x, "OIHW", "HWIO")
    assert transform_layout(once, "ABCD", "DCAB") is x
    blocked = layout_transform(x, "OIHW", "OIHW4i")
    assert transform_layout(blocked, "NCHW4c", "NCHW") is x
    # the blocks are of another axis
    assert transform_layout(blocked, "NCHW4n", "NCHW").args[0] is blocked
    assert transform_layout(blocked, "NCHW2c", "NCHW").args[0] is blocked


def test_whole_layouts_have_no_blocks():
    assert is_unblocked("NCHW") and not is_unblocked("NCHW4c") and not is_unblocked("nchw")
