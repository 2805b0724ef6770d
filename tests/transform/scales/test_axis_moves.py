"""Axes are followed through operators."""

import pytest

import relay
from relay.transform import InferType
from relay.transform.scales.axis_moves import broadcasting, crossing

HEADER = '#[version = "0.0.5"]\n'


def call(body, x="(2, 12, 4, 5)"):
    source = f"def @main(%x: Tensor[{x}, float32]) {{ {body} }}"
    return InferType()(relay.parse(HEADER + source))["main"].body


@pytest.mark.parametrize(
    ("body", "axes", "there"),
    [
        ("nn.relu(%x)", (1, 3), (1, 3)),
        ("transpose(%x, axes=[0, 2, 3, 1])", (1, 2), (3, 1)),
        ("transpose(%x)", (0,), (3,)),
        ("reshape(%x, newshape=[2, 3, 4, 20])", (1,), (1, 2)),
        ("reshape(%x, newshape=[24, 20])", (1,), None),
        ("reshape(%x, newshape=[24, 20])", (0, 1), (0,)),
        ("reshape(%x, newshape=[2, 4, 12, 5])", (1,), None),
        ("expand_dims(%x, axis=1)", (1,), (2,)),
        ("nn.batch_flatten(%x)", (1, 2, 3), (1,)),
        ("nn.batch_flatten(%x)", (1,), None),
        ("nn.max_pool2d(%x, pool_size=[2, 2])", (1,), (1,)),
        ("nn.max_pool2d(%x, pool_size=[2, 2])", (2,), None),
        ('nn.avg_pool2d(%x, pool_size=[2, 2], layout="NHWC")', (3,), (3,)),
        ('nn.avg_pool2d(%x, pool_size=[2, 2], layout="NHWC")', (1,), None),
        ("sum(%x, axis=[0])", (1,), (0,)),
        ("sum(%x, axis=[0], keepdims=True)", (1,), (1,)),
        ("sum(%x, axis=[0])", (0,), None),
        ("sum(%x, axis=[1], exclude=True)", (1,), (0,)),
        ("sum(%x)", (1,), None),
        ("strided_slice(%x, begin=[0, 0, 1], end=[2, 12, 3])", (1,), (1,)),
        ("strided_slice(%x, begin=[0, 0, 1], end=[2, 12, 3])", (2,), None),
        ("strided_slice(%x, begin=[0, 11], end=[2, -13], strides=[1, -1])", (1,), None),
        ("nn.pad(%x, 0f, pad_width=[[0, 0], [1, 0], [0, 0], [0, 0]])", (0, 2), (0, 2)),
        ("nn.pad(%x, 0f, pad_width=[[0, 0], [1, 0], [0, 0], [0, 0]])", (1,), None),
        ("broadcast_to(%x, shape=[3, 2, 12, 4, 5])", (1,), (2,)),
        ('layout_transform(%x, src_layout="NCHW", dst_layout="NHWC")', (1, 0), (3, 0)),
        ('layout_transform(%x, src_layout="NCHW", dst_layout="NCHW4c")', (1,), (1, 4)),
    ],
)
def test_where_axes_are_in_the_result_and_back(body, axes, there):
    moves, _ = crossing(call(body))
    assert moves.to_result(axes) == there
    if there is not None:
        assert moves.to_argument(there) == axes
    assert moves.to_result(()) == ()


def test_a_part_of_a_cut_axis_is_no_axis():
    moves, _ = crossing(
        call('layout_transform(%x, src_layout="NCHW4c", dst_layout="NCHW")', "(2, 3, 4, 5, 4)")
    )
    assert moves.to_result((1, 4)) == (1,)
    assert moves.to_result((1,)) is None
    assert moves.to_argument((1,)) == (1, 4)


def test_operators_in_the_way():
    assert crossing(call("tanh(%x)")) is None
    assert crossing(call("nn.pad(%x, 1f, pad_width=[[0, 0], [1, 0], [0, 0], [0, 0]])")) is None
    assert crossing(call('cast(%x, dtype="float64")')) is None


def test_which_operators_need_a_positive_scale():
    for body in ("nn.relu(%x)", "nn.max_pool2d(%x, pool_size=[2, 2])", "max(%x, axis=[3])"):
        assert crossing(call(body))[1], body
    for body in ("negative(%x)", "nn.avg_pool2d(%x, pool_size=[2, 2])", "sum(%x, axis=[3])"):
        assert not crossing(call(body))[1], body


def test_named_extents_are_followed_and_unknown_ones_are_not():
    n = relay.ShapeVar("n")
    for extent, there in ((n, (1, 2)), (relay.Any(), None)):
        x = relay.var("x", shape=(extent, 12))
        module = InferType()(relay.IRModule.from_expr(relay.reshape(x, (-1, 3, 4))))
        moves, _ = crossing(module["main"].body)
        assert moves.to_result((1,)) == there


def test_axes_that_are_stretched_do_not_count():
    body = call('add(%x, ones(shape=[12, 1, 5], dtype="float32"))')
    assert broadcasting(body.args[1], body.checked_type).pairs == {0: 1, 2: 3}
