"""A multiplication by constants moves forward into weights, where that is right."""

import numpy as np
import pytest

import relay
from relay.transform import ForwardFoldScaleAxis, PassContext, Sequential
from tests.transform.scaling import Moving, assert_same_meaning, main, parse, scales, t

expect = Moving(ForwardFoldScaleAxis())


# --- what it looks like --------------------------------------------------------------------------

CONV = "%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(8, 4, 3, 3), float32]"


def test_a_scale_goes_into_the_weight_of_a_convolution():
    params = CONV + ", %s: Tensor[(4), float32]"
    expect.assert_rewrites(
        main(params, "nn.conv2d(%x * expand_dims(%s, axis=1, num_newaxis=2), %w)"),
        main(params, "nn.conv2d(%x, %w * expand_dims(%s, axis=1, num_newaxis=2))"),
    )


def test_what_is_added_on_the_way_is_divided():
    params = CONV + ", %b: Tensor[(4, 1, 1), float32], %s: Tensor[(4), float32]"
    expect.assert_rewrites(
        main(
            params,
            """
            %0 = expand_dims(exp(%s), axis=1, num_newaxis=2);
            nn.conv2d(nn.relu(%x * %0 + %b), %w)
            """,
        ),
        main(
            params,
            """
            %0 = exp(%s);
            %1 = %b / expand_dims(%0, axis=1, num_newaxis=2);
            nn.conv2d(nn.relu(%x + %1), %w * expand_dims(%0, axis=1, num_newaxis=2))
            """,
        ),
    )


def test_all_users_get_it():
    params = "%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %v: Tensor[(5, 4), float32]"
    expect.assert_rewrites(
        main(params, "let %d = %x * 2f; (nn.dense(%d, %w), nn.dense(nn.relu(%d), %v))"),
        main(params, "let %d = %x; (nn.dense(%d, %w * 2f), nn.dense(nn.relu(%d), %v * 2f))"),
    )


def test_branches_and_closures_are_entered():
    params = "%x: Tensor[(2, 4), float32], %y: bool, %w: Tensor[(4, 4), float32]"
    body = """
        let %f = fn (%z: Tensor[(2, 4), float32]) { BODY };
        if (%y) { %f(%x) } else { nn.relu(%x) }
    """
    expect.assert_rewrites(
        main(params, body.replace("BODY", "nn.dense(%z * 2f, %w)")),
        main(params, body.replace("BODY", "nn.dense(%z, %w * 2f)")),
    )


# --- where it goes -------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(
    ("data", "kernel"), [("NCHW", "OIHW"), ("NHWC", "HWIO"), ("NHWC", "OHWI"), ("NCHW", "HWIO")]
)
@pytest.mark.parametrize("transposed", [False, True])
def test_into_convolutions_of_any_layout_and_grouping(groups, data, kernel, transposed):
    inside = {"O": 8, "I": 4 // groups} if not transposed else {"I": 4, "O": 8 // groups}
    extents = {"N": 2, "C": 4, "H": 5, "W": 6}
    weight = [inside.get(letter, 3) for letter in kernel]
    scale = [4 if letter == "C" else 1 for letter in data]
    params = f"%x: {t(*map(extents.get, data))}, %w: {t(*weight)}, %s: {t(*scale)}"
    name = "nn.conv2d_transpose" if transposed else "nn.conv2d"
    attrs = f'groups={groups}, data_layout="{data}", kernel_layout="{kernel}", padding=[1, 1, 1, 1]'
    expect.assert_folds(params, f"{name}(%x * %s, %w, {attrs})")


def test_into_depthwise_weights_however_they_are_written():
    for weight in ((8, 1, 3, 3), (4, 2, 3, 3)):
        params = f"%x: {t(1, 4, 5, 5)}, %w: {t(*weight)}, %s: {t(4, 1, 1)}"
        expect.assert_folds(params, "nn.conv2d(%x * %s, %w, groups=4)")


@pytest.mark.parametrize(
    ("kernel", "weight", "groups"),
    [
        ("OIHW", (32, 32, 3, 3), 1),
        ("OIHW8i8o", (4, 4, 3, 3, 8, 8), 1),
        ("OIHW4i8o2i", (4, 4, 1, 1, 4, 8, 2), 1),
        ("OIHW4i8o2i", (4, 2, 1, 1, 4, 8, 2), 2),
        ("HWIO16o", (1, 1, 32, 2, 16), 1),
    ],
)
def test_into_weights_in_blocks(kernel, weight, groups):
    params = f"%x: {t(1, 2, 4, 4, 16)}, %w: {t(*weight)}, %s: {t(2, 1, 1, 16)}"
    attrs = f'data_layout="NCHW16c", kernel_layout="{kernel}", groups={groups}'
    expect.assert_folds(params, f"nn.conv2d(%x * %s, %w, {attrs})")


@pytest.mark.parametrize(
    ("x", "w", "s", "call"),
    [
        ((2, 4, 7), (6, 4, 3), (4, 1), "nn.conv1d(X, %w)"),
        ((2, 4, 7), (4, 6, 3), (4, 1), "nn.conv1d_transpose(X, %w)"),
        ((1, 4, 5, 5, 5), (6, 2, 3, 3, 3), (4, 1, 1, 1), "nn.conv3d(X, %w, groups=2)"),
        ((1, 4, 3, 3, 3), (4, 3, 2, 2, 2), (4, 1, 1, 1), "nn.conv3d_transpose(X, %w, groups=2)"),
        ((3, 4), (5, 4), (4,), "nn.dense(X, %w)"),
        ((2, 3, 4), (5, 4), (4,), "nn.dense(X, %w)"),
        ((3, 4), (4, 5), (4,), "nn.matmul(X, %w)"),
        ((2, 3, 4), (2, 5, 4), (4,), "nn.batch_matmul(X, %w, transpose_b=True)"),
        ((2, 3, 4), (2, 3, 5), (3, 1), "nn.batch_matmul(X, %w, transpose_a=True)"),
        ((2, 3, 4), (2, 5, 3), (3, 1), "nn.batch_matmul(%w, X)"),
        ((2, 3, 4), (2, 5, 4), (4,), "nn.batch_matmul(%w, X, transpose_b=True)"),
        ((2, 3, 4), (2, 5, 3), (1, 1), "nn.batch_matmul(%w, X)"),
    ],
)
def test_into_other_products(x, w, s, call):
    params = f"%x: {t(*x)}, %w: {t(*w)}, %s: {t(*s)}"
    expect.assert_folds(params, call.replace("X", "%x * %s"))
    expect.assert_folds(params, call.replace("X", "%x / %s"))


# --- what it passes ------------------------------------------------------------------------------

PARAMS = f"%x: {t(2, 4, 6, 6)}, %w: {t(8, 4, 1, 1)}, %b: {t(4, 1, 1)}, %r: {t(4, 1, 1)}, %a: {t(4)}"


def used(value, scale):
    return f"nn.conv2d({value.replace('X', f'%x * {scale}')}, %w)"


@pytest.mark.parametrize(
    "value",
    [
        "negative(X)",
        "nn.avg_pool2d(X, pool_size=[2, 2])",
        "nn.global_avg_pool2d(X)",
        "nn.pad(X, 0f64, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]])",
        "strided_slice(X, begin=[0, 0, 1], end=[2, 4, 3])",
        "mean(X, axis=[2, 3], keepdims=True)",
        "transpose(transpose(X, axes=[0, 2, 3, 1]), axes=[0, 3, 1, 2])",
        "reshape(reshape(X, newshape=[2, 4, 36]), newshape=[2, 4, 6, 6])",
    ],
)
def test_through_linear_operators_whatever_the_sign(value):
    expect.assert_folds(PARAMS, used(value, "%r"))


@pytest.mark.parametrize("value", ["(X) * sigmoid(%y)", "sigmoid(%y) * (X)", "(X) / exp(%y)"])
def test_through_products_with_other_data(value):
    before = parse(main(f"%y: {t(2, 4, 6, 6)}, {PARAMS}", used(value, "%r")))
    after = ForwardFoldScaleAxis()(before)
    assert scales(after) == 1
    assert_same_meaning(before, after)


@pytest.mark.parametrize("first", ["%x * %r", "%x * 3f64"])
@pytest.mark.parametrize("second", ["%y * %s", "%y / 5f64"])
def test_a_product_of_two_values_that_lack_a_scale_lacks_both(first, second):
    """As in mobile networks, where a channel's weight and its data both end in a sixth."""
    params = f"%x: {t(2, 4, 6, 6)}, %y: {t(2, 4, 6, 6)}, %w: {t(8, 4, 3, 3)}"
    params += f", %r: {t(4, 1, 1)}, %s: {t(4, 1, 1)}"
    body = f"nn.conv2d(({first}) * nn.avg_pool2d({second}, pool_size=[1, 1]), %w)"
    before = parse(main(params, body))
    after = ForwardFoldScaleAxis()(before)
    assert scales(before) == 3
    assert scales(after) == 1
    assert_same_meaning(before, after)


POSITIVE_ONLY = [
    "nn.relu(X)",
    "nn.leaky_relu(X, alpha=0.1)",
    "nn.prelu(X, %a)",
    "nn.max_pool2d(X, pool_size=[2, 2])",
    "maximum(X, %b)",
    "(X) + %b",
    "%b - (X)",
    "(X) + 2f64",
    "nn.bias_add(X, %a)",
]


@pytest.mark.parametrize("value", POSITIVE_ONLY)
def test_through_what_needs_a_positive_scale(value):
    expect.assert_folds(PARAMS, used(value, "exp(%r)"))


@pytest.mark.parametrize("value", POSITIVE_ONLY)
def test_not_if_nobody_knows(value):
    expect.assert_stays(main(PARAMS, used(value, "%r")))


def test_a_batch_norm_without_gamma_in_front_of_a_convolution():
    params = f"%x: {t(2, 4, 6, 6)}, %w: {t(8, 4, 3, 3)}, %g: {t(4)}, %b: {t(4)}, %m: {t(4)}"
    norm = "nn.batch_norm(%x, %g, %b, %m, exp(%m), scale=SCALE).0"
    source = main(params, f"nn.conv2d(nn.relu({norm}), %w)")
    for scale, left in (("False", 0), ("True", 1)):
        before = relay.transform.SimplifyInference()(parse(source.replace("SCALE", scale)))
        after = ForwardFoldScaleAxis()(before)
        assert scales(after) == left
        assert_same_meaning(before, after)


def test_scales_in_a_row_become_one():
    params = f"%x: {t(2, 4)}, %w: {t(3, 4)}, %r: {t(4)}, %s: {t(4)}"
    before = parse(main(params, "nn.dense(nn.relu(%x * exp(%r)) * %s, %w)"))
    after = ForwardFoldScaleAxis()(before)
    assert scales(after) == 0
    assert_same_meaning(before, after)


def test_a_scale_goes_into_another_one_where_there_is_no_weight():
    params = f"%x: {t(2, 4)}, %s: {t(4)}, %r: {t(4)}"
    expect.assert_rewrites(
        main(params, "tanh(nn.relu(%x * exp(%r)) * %s)"),
        main(params, "tanh(nn.relu(%x) * (%s * exp(%r)))"),
    )


# --- where it does not go ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "%0 = %x * %s; (nn.dense(%0, %w), %0)",
        "%0 = %x * %s; nn.dense(%0, %w) + nn.dense(tanh(%0), %w)",
        "nn.dense(tanh(%x * %s), %w)",
        "%0 = %x * %s; nn.dense(%0 * %0, %w)",
        "nn.dense(%x * %s + %x, %w)",
        "nn.dense(%x * %y, %w)",
        "nn.dense(%x * %s, %x)",
        "%0 = %x * %s; nn.dense(%0, %w) + nn.dense(nn.relu(%x), %w)",
        "nn.dense(%x * reshape(%s, newshape=[4, 1]), %w)",
        "concatenate((%x * %s, %x))",
        "if (%z) { nn.dense(%x * %s, %w) } else { nn.dense(%x, %w) }",
    ],
)
def test_it_stays_where_somebody_needs_the_product_or_there_is_no_weight(body):
    params = f"%x: {t(4, 4)}, %y: {t(4, 4)}, %z: bool, %w: {t(4, 4)}, %s: {t(4)}"
    expect.assert_stays(main(params, body).replace('"z", ', ""))


def test_other_elements_stay():
    for dtype in ("int32", "float16"):
        params = "%x: Tensor[(2, 4), D], %w: Tensor[(3, 4), D], %s: Tensor[(4), D]"
        expect.assert_stays(main(params.replace("D", dtype), "nn.dense(%x * %s, %w)"))


def test_unknown_extents_are_no_obstacle_where_they_do_not_matter():
    for extent in (relay.ShapeVar("n"), relay.Any()):
        x = relay.var("x", shape=(extent, 4))
        scale = relay.const(np.arange(1, 5, dtype="float32"))
        weight = relay.const(np.ones((3, 4), "float32"))
        before = relay.IRModule.from_expr(relay.nn.dense(relay.nn.relu(x * scale), weight))
        after = ForwardFoldScaleAxis()(before)
        assert after["main"].body.args[0].op.name == "nn.relu"
        assert isinstance(after["main"].body.args[0].args[0], relay.Var)


# --- the pass ------------------------------------------------------------------------------------


def test_it_belongs_to_level_three():
    params = "%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]"
    before = parse(main(params, "nn.dense(%x * 2f, %w)"))
    passes = Sequential([ForwardFoldScaleAxis()])
    for level, count in ((2, 1), (3, 0)):
        with PassContext(opt_level=level):
            assert scales(passes(before)) == count


def test_programs_may_be_deep():
    x = relay.var("x", shape=(2, 2))
    body = x
    for _ in range(2_000):
        body = relay.nn.relu(body * relay.const(2.0))
    body = relay.nn.dense(body, relay.const(np.eye(2, dtype="float32")))
    result = ForwardFoldScaleAxis()(relay.IRModule.from_expr(relay.Function([x], body)))["main"]
    (relu, _) = result.body.args
    for _ in range(2_000):
        assert relu.op.name == "nn.relu"
        (relu,) = relu.args
    assert relu is result.params[0]
