"""Behind passes that change layouts."""

from relay.transform import SimplifyExprPostAlterOp
from tests.transform.rewriting import assert_rewrites, assert_stays

PASS = SimplifyExprPostAlterOp()


def test_layouts_that_cancel_go():
    assert_rewrites(
        PASS,
        'layout_transform(layout_transform(%x, src_layout="NCHW", dst_layout="NCHW4c"), '
        'src_layout="NCHW4c", dst_layout="NCHW")',
        "%x",
        "%x: Tensor[(1, 8, 2, 2), float32]",
    )


def test_shapes_casts_clips_and_identities_too():
    assert_rewrites(
        PASS,
        "clip(clip(cast(cast(reshape(reshape(add(%n, 0f), newshape=[24]), newshape=[4, 6]), "
        'dtype="float64"), dtype="float32"), a_min=0f, a_max=9f), a_min=1f, a_max=10f)',
        "clip(%n, a_min=1f, a_max=9f)",
    )


def test_arithmetic_stays_where_it_is():
    assert_stays(PASS, "add(add(%x, 1f), 2f)")
    assert_stays(PASS, "zeros_like(%x)")
