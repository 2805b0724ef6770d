"""Shapes and orders of axes are said once, or not at all."""

import pytest

import relay
from relay.transform import SimplifyExpr, SimplifyExprPostAlterOp
from tests.transform.rewriting import assert_rewrites, assert_stays

PASS = SimplifyExpr()
IMAGE = "%x: Tensor[(2, 8, 4, 6), float32]"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("reshape(%n, newshape=[4, -1])", "%n"),
        ("squeeze(%n, axis=[])", "%n"),
        ("nn.batch_flatten(%n)", "%n"),
        ("reshape(reshape(%n, newshape=[24]), newshape=[4, 6])", "%n"),
        ("reshape(reshape(%n, newshape=[24]), newshape=[8, 3])", "reshape(%n, newshape=[8, 3])"),
        (
            "contrib_reverse_reshape(reshape(%n, newshape=[2, 2, 6]), newshape=[-1, 0])",
            "%n",
        ),
        ("nn.batch_flatten(reshape(%n, newshape=[8, 3, 1]))", "reshape(%n, newshape=[8, 3])"),
        ("squeeze(expand_dims(%n, axis=1), axis=[1])", "%n"),
        ("expand_dims(squeeze(%v, axis=[1]), axis=1)", "%v"),
        ("squeeze(reshape(%n, newshape=[1, 24]), axis=[0])", "reshape(%n, newshape=[24])"),
        ("expand_dims(reshape(%n, newshape=[24]), axis=0)", "reshape(%n, newshape=[1, 24])"),
        (
            "squeeze(squeeze(expand_dims(%n, axis=0, num_newaxis=3), axis=[1]), axis=[1])",
            "reshape(%n, newshape=[1, 4, 6])",
        ),
    ],
)
def test_of_several_shapes_the_last_one_counts(before, after):
    assert_rewrites(PASS, before, after)


def test_axes_are_dropped_together():
    params = "%x: Tensor[(1, 2, 1, 3, 1), float32]"
    assert_rewrites(
        PASS, "squeeze(squeeze(%x, axis=[2]), axis=[0, -1])", "squeeze(%x, axis=[0, 2, 4])", params
    )


def test_new_axes_stay_new_axes():
    assert_stays(PASS, "expand_dims(expand_dims(%n, axis=0), axis=2)")


def test_a_shape_that_somebody_else_needs_is_not_worked_out_twice():
    assert_stays(PASS, "%0 = reshape(%n, newshape=[24]); (expand_dims(%0, axis=0), %0)")


def test_names_are_looked_through():
    assert_rewrites(
        PASS,
        "let %a = reshape(%n, newshape=[24]); let %b = reshape(%a, newshape=[8, 3]); (%a, %b)",
        "let %a = reshape(%n, newshape=[24]); let %b = reshape(%n, newshape=[8, 3]); (%a, %b)",
    )


def test_a_name_for_a_computation_is_not_looked_through():
    # exp would be computed in every call of the function
    assert_stays(
        PASS,
        "let %a = reshape(exp(%n), newshape=[24]); fn () { reshape(%a, newshape=[4, 6]) }",
    )


def test_named_extents_are_copied():
    n, m = relay.ShapeVar("n"), relay.ShapeVar("m")
    x = relay.var("x", shape=(n, m, 4))
    flat = relay.reshape(relay.reshape(x, (0, -3)), (0, -4, -1, 4))
    module = relay.IRModule.from_expr(relay.reshape(flat, (0, 0, 2, 2)))
    body = PASS(module)["main"].body
    assert body.args[0].name_hint == "x"
    assert body.checked_type.shape[2:] == (2, 2)


def test_unknown_extents_are_compared_where_the_others_leave_no_choice():
    params = "%x: Tensor[(?, 6), float32]"
    assert_rewrites(PASS, "reshape(reshape(%x, newshape=[-1]), newshape=[-1, 6])", "%x", params)
    params = "%x: Tensor[(?, ?), float32]"
    assert_stays(PASS, "reshape(reshape(%x, newshape=[0, -1]), newshape=[0, -1])", params)


def test_what_a_run_checks_is_not_left_out():
    for params, text in (
        ("%x: Tensor[(?), float32]", "reshape(reshape(%x, newshape=[-1, 2]), newshape=[-1])"),
        ("%x: Tensor[(?, ?), float32]", "expand_dims(squeeze(%x, axis=[0]), axis=1)"),
        ("%x: Tensor[(?), float32], %y: Tensor[(?), float32]", "reshape_like(%x, %y)"),
        (
            "%x: Tensor[(1, ?, 2, 2), float32]",
            'layout_transform(layout_transform(%x, src_layout="NCHW", dst_layout="NCHW4c"), '
            'src_layout="NCHW4c", dst_layout="NCHW")',
        ),
        (
            "%x: Tensor[(?), float32]",
            "broadcast_to(broadcast_to(%x, shape=[1]), shape=[5])",
        ),
    ):
        assert_stays(PASS, text, params)


def test_no_elements_have_a_shape_too():
    params = "%x: Tensor[(0, 3), float32]"
    assert_rewrites(
        PASS,
        "reshape(reshape(%x, newshape=[0, 2], allowzero=True), newshape=[3, 0], allowzero=True)",
        "reshape(%x, newshape=[3, 0], allowzero=True)",
        params,
    )


# --- the order of axes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("transpose(%x, axes=[0, 1, 2, 3])", "%x"),
        ("transpose(transpose(%x, axes=[0, 2, 3, 1]), axes=[0, 3, 1, 2])", "%x"),
        (
            "transpose(transpose(%x, axes=[0, 2, 3, 1]), axes=[1, 2, 0, 3])",
            "transpose(%x, axes=[2, 3, 0, 1])",
        ),
        ("transpose(transpose(%x))", "%x"),
        ('layout_transform(%x, src_layout="NCHW", dst_layout="NCHW")', "%x"),
        (
            'layout_transform(layout_transform(%x, src_layout="NCHW", dst_layout="NCHW4c"), '
            'src_layout="NCHW4c", dst_layout="NCHW")',
            "%x",
        ),
        (
            'layout_transform(layout_transform(%x, src_layout="NCHW", dst_layout="NHWC"), '
            'src_layout="NHWC", dst_layout="NCHW2c")',
            'layout_transform(%x, src_layout="NCHW", dst_layout="NCHW2c")',
        ),
        (
            'transpose(layout_transform(%x, src_layout="NCHW", dst_layout="NHWC"), '
            "axes=[0, 3, 1, 2])",
            "%x",
        ),
        (
            'layout_transform(transpose(%x, axes=[0, 2, 3, 1]), src_layout="NHWC", '
            'dst_layout="NCHW4c")',
            'layout_transform(%x, src_layout="NCHW", dst_layout="NCHW4c")',
        ),
        (
            'transpose(layout_transform(layout_transform(%x, src_layout="NCHW", '
            'dst_layout="NCHW4c"), src_layout="NCHW4c", dst_layout="NHWC"), axes=[3, 0, 1, 2])',
            "transpose(%x, axes=[1, 0, 2, 3])",
        ),
    ],
)
def test_of_several_orders_of_axes_the_last_one_counts(before, after):
    assert_rewrites(PASS, before, after, IMAGE)


def test_blocks_are_taken_in_another_order_where_they_are_made():
    assert_rewrites(
        PASS,
        'transpose(layout_transform(%x, src_layout="NCHW4c", dst_layout="NCHW"), '
        "axes=[0, 2, 3, 1])",
        'layout_transform(%x, src_layout="NCHW4c", dst_layout="NHWC")',
        "%x: Tensor[(2, 2, 4, 6, 4), float32]",
    )


def test_axes_of_extent_1_move_for_nothing():
    assert_rewrites(PASS, "transpose(%v)", "reshape(%v, newshape=[1, 2])")
    params = "%x: Tensor[(2, 1, 3, 1, 4), float32]"
    assert_rewrites(
        PASS,
        "transpose(%x, axes=[1, 0, 2, 4, 3])",
        "reshape(%x, newshape=[1, 2, 3, 4, 1])",
        params,
    )
    assert_stays(PASS, "transpose(%x, axes=[2, 1, 0, 3, 4])", params)
    assert_stays(PASS, "transpose(%x)", "%x: Tensor[(?, 3), float32]")


# --- stretching ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("broadcast_to(%x, shape=[2, 3])", "%x"),
        (
            "broadcast_to(broadcast_to(%v, shape=[2, 3]), shape=[4, 2, 3])",
            "broadcast_to(%v, shape=[4, 2, 3])",
        ),
        ("tile(%x, reps=[1, 1])", "%x"),
        ("repeat(%x, repeats=1, axis=0)", "%x"),
        ("multiply(%x, broadcast_to(%v, shape=[2, 3]))", "multiply(%x, %v)"),
        ("multiply(broadcast_to(%t, shape=[3]), %x)", "multiply(%t, %x)"),
        ("where(less(%x, %y), broadcast_to(%v, shape=[2, 3]), %x)", "where(less(%x, %y), %v, %x)"),
    ],
)
def test_what_broadcasting_does_anyway_is_not_said(before, after):
    assert_rewrites(PASS, before, after)


def test_what_gives_the_result_its_shape_stays():
    assert_stays(PASS, "multiply(%v, broadcast_to(%t, shape=[2, 3]))")
    assert_stays(PASS, "tile(%x, reps=[1, 1, 1])")
    # the unknown extent may be 1
    assert_stays(
        PASS, "multiply(%x, broadcast_to(%y, shape=[3]))", "%x: Tensor[(?), float32], %y: float32"
    )


def test_behind_alter_op_layout_shapes_are_cleaned_up_too():
    assert_rewrites(
        SimplifyExprPostAlterOp(),
        'layout_transform(layout_transform(%x, src_layout="NCHW", dst_layout="NCHW4c"), '
        'src_layout="NCHW4c", dst_layout="NCHW")',
        "%x",
        IMAGE,
    )
