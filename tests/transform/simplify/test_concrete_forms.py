"""Operators that look at a tensor for its type are written with the type."""

import pytest

import relay
from relay.transform import SimplifyExpr
from tests.transform.rewriting import assert_means_the_same, assert_rewrites, assert_stays, parse

PASS = SimplifyExpr()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("zeros_like(%x)", 'zeros(shape=[2, 3], dtype="float32")'),
        ("ones_like(%i)", 'ones(shape=[4], dtype="int8")'),
        ("full_like(%x, %t)", 'full(%t, shape=[2, 3], dtype="float32")'),
        ("cast_like(%i, %x)", 'cast(%i, dtype="float32")'),
        ("broadcast_to_like(%v, %x)", "broadcast_to(%v, shape=[2, 3])"),
        ("reshape_like(%n, zeros(shape=[8, 3]))", "reshape(%n, newshape=[8, 3])"),
        ("slice_like(%n, %x)", "strided_slice(%n, begin=[0, 0], end=[2, 3])"),
        ("slice_like(%n, %x, axes=[-1])", "strided_slice(%n, begin=[0], end=[3], axes=[1])"),
        ("slice_like(%n, %x, axes=[0])", "strided_slice(%n, begin=[0], end=[2])"),
    ],
)
def test_a_known_type_takes_the_place_of_the_tensor(before, after):
    assert_rewrites(PASS, before, after)


def test_sums_that_undo_broadcasting_know_their_shape():
    module = parse("collapse_sum_like(%x, %v)")
    after = PASS(module)
    assert after["main"].body.op.name == "collapse_sum_to"
    assert PASS(after)["main"] is after["main"]
    assert_means_the_same(after, module)


def test_a_range_of_axes_takes_the_shape_of_another():
    assert_rewrites(
        PASS,
        "reshape_like(%n, %x, lhs_begin=1, rhs_begin=0)",
        "reshape(%n, newshape=[4, 2, 3])",
    )


def test_a_tensor_that_only_gives_its_shape_is_not_computed():
    assert_rewrites(PASS, "zeros_like(exp(%x))", 'zeros(shape=[2, 3], dtype="float32")')
    assert_rewrites(PASS, "reshape_like(%x, exp(%y))", "%x")


def test_one_extent_of_a_reshape_follows_from_the_others():
    n = relay.ShapeVar("n")
    x, y = relay.var("x", shape=(n, 6)), relay.var("y", shape=(2 * n, 3))
    module = relay.IRModule.from_expr(relay.Function([x, y], relay.reshape_like(x, y)))
    body = PASS(module)["main"].body
    assert body.op.name == "reshape"
    assert body.attrs.newshape == (-1, 3)


def test_extents_that_a_run_compares_stay_in_the_program():
    params = "%x: Tensor[(?, 6), float32], %y: Tensor[(?, 2, 3), float32]"
    assert_stays(PASS, "reshape_like(%x, %y)", params)
    params = "%x: Tensor[(?), float32], %y: Tensor[(?), float32]"
    assert_stays(PASS, "reshape_like(%x, %y)", params)
    params = "%x: Tensor[(?), float32], %y: Tensor[(5), float32]"
    assert_stays(PASS, "slice_like(%x, %y)", params)


def test_two_unknown_extents_do_not():
    params = "%x: Tensor[(?, ?), float32], %y: Tensor[(?, ?), float32]"
    assert_stays(PASS, "reshape_like(%x, %y)", params)
    assert_stays(PASS, "zeros_like(%x)", params)
    assert_stays(PASS, "full_like(%x, 1f)", params)
    assert_stays(PASS, "slice_like(%x, %y)", params)
    assert_stays(PASS, "broadcast_to_like(%x, %y)", params)


def test_what_does_something_is_still_evaluated():
    params = "%f: fn () -> Tensor[(2, 3), float32], %x: Tensor[(2, 3), float32]"
    assert_stays(PASS, "zeros_like(%f())", params)
    assert_stays(PASS, "reshape_like(%x, %f())", params)
    assert_stays(PASS, "cast_like(%x, %f())", params)
