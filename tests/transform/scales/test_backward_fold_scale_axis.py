"""A multiplication by constants moves backward into weights, where that is right."""

import numpy as np
import pytest
import torch

import relay
from relay.testing import count_ops
from relay.transform import BackwardFoldScaleAxis, InferType, PassContext, Sequential
from tests.transform.scaling import Moving, assert_same_meaning, main, parse, scales, t

expect = Moving(BackwardFoldScaleAxis())


# --- what it looks like --------------------------------------------------------------------------

CONV = "%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(8, 4, 3, 3), float32]"


def test_a_scale_goes_into_the_weight_of_a_convolution():
    params = CONV + ", %s: Tensor[(8), float32]"
    expect.assert_rewrites(
        main(params, "nn.conv2d(%x, %w) * expand_dims(%s, axis=1, num_newaxis=2)"),
        main(params, "nn.conv2d(%x, %w * expand_dims(%s, axis=1, num_newaxis=3))"),
    )


def test_what_is_added_is_scaled_too():
    params = CONV + ", %b: Tensor[(8, 1, 1), float32], %s: Tensor[(8), float32]"
    expect.assert_rewrites(
        main(params, "(nn.conv2d(%x, %w) + %b) * expand_dims(%s, axis=1, num_newaxis=2)"),
        main(
            params,
            """add(
              nn.conv2d(%x, %w * expand_dims(%s, axis=1, num_newaxis=3)),
              %b * expand_dims(%s, axis=1, num_newaxis=2)
            )""",
        ),
    )
    params = CONV + ", %b: Tensor[(8), float32], %s: Tensor[(8), float32]"
    expect.assert_rewrites(
        main(
            params,
            "nn.bias_add(nn.conv2d(%x, %w), %b) * expand_dims(%s, axis=1, num_newaxis=2)",
        ),
        main(
            params,
            "nn.bias_add(nn.conv2d(%x, %w * expand_dims(%s, axis=1, num_newaxis=3)), %b * %s)",
        ),
    )


def test_names_do_not_matter_and_a_scale_that_is_named_later_is_no_obstacle():
    params = CONV + ", %s: Tensor[(8), float32]"
    expect.assert_rewrites(
        main(
            params,
            """
            let %c = nn.conv2d(%x, %w);
            let %e = exp(%s);
            let %d = %c;
            let %y = %d * expand_dims(%e, axis=1, num_newaxis=2);
            nn.relu(%y)
            """,
        ),
        main(
            params,
            """
            %0 = exp(%s);
            let %c = nn.conv2d(%x, %w * expand_dims(%0, axis=1, num_newaxis=3));
            let %e = %0;
            let %d = %c;
            let %y = %d;
            nn.relu(%y)
            """,
        ),
    )


def test_branches_clauses_and_closures_are_entered():
    params = "%x: Tensor[(2, 4), float32], %y: bool, %w: Tensor[(4, 4), float32]"
    body = """
        let %f = fn (%z: Tensor[(2, 4), float32]) { BODY };
        if (%y) { %f(%x) } else { nn.relu(%x) }
    """
    expect.assert_rewrites(
        main(params, body.replace("BODY", "nn.dense(%z, %w) * 2f")),
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
    scale = [8 if letter == "C" else 1 for letter in data]
    params = f"%x: {t(*map(extents.get, data))}, %w: {t(*weight)}, %s: {t(*scale)}"
    name = "nn.conv2d_transpose" if transposed else "nn.conv2d"
    attrs = f'groups={groups}, data_layout="{data}", kernel_layout="{kernel}"'
    expect.assert_folds(params, f"{name}(%x, %w, {attrs}) * %s")


def test_into_depthwise_weights_however_they_are_written():
    for weight in ((8, 1, 3, 3), (4, 2, 3, 3)):
        params = f"%x: {t(1, 4, 5, 5)}, %w: {t(*weight)}, %s: {t(8, 1, 1)}"
        expect.assert_folds(params, "nn.conv2d(%x, %w, groups=4, padding=[1, 1, 1, 1]) * %s")


@pytest.mark.parametrize(
    ("kernel", "weight", "scale", "groups"),
    [
        ("OIHW", (32, 32, 3, 3), (2, 1, 1, 16), 1),
        ("OIHW8i8o", (4, 4, 3, 3, 8, 8), (2, 1, 1, 16), 1),
        ("OIHW4i8o2i", (4, 4, 1, 1, 4, 8, 2), (2, 1, 1, 16), 1),
        ("OIHW4i8o2i", (4, 2, 1, 1, 4, 8, 2), (2, 1, 1, 16), 2),
        ("HWIO16o", (1, 1, 32, 2, 16), (2, 1, 1, 1), 1),
    ],
)
def test_into_weights_in_blocks(kernel, weight, scale, groups):
    params = f"%x: {t(1, 2, 4, 4, 16)}, %w: {t(*weight)}, %s: {t(*scale)}"
    attrs = f'data_layout="NCHW16c", kernel_layout="{kernel}", groups={groups}'
    expect.assert_folds(params, f"nn.conv2d(%x, %w, {attrs}) * %s")


@pytest.mark.parametrize(
    ("x", "w", "s", "call"),
    [
        ((2, 4, 7), (6, 4, 3), (6, 1), "nn.conv1d(%x, %w)"),
        ((2, 4, 7), (4, 6, 3), (6, 1), "nn.conv1d_transpose(%x, %w)"),
        ((1, 4, 5, 5, 5), (6, 2, 3, 3, 3), (6, 1, 1, 1), "nn.conv3d(%x, %w, groups=2)"),
        ((1, 4, 3, 3, 3), (4, 3, 2, 2, 2), (6, 1, 1, 1), "nn.conv3d_transpose(%x, %w, groups=2)"),
        ((3, 4), (5, 4), (5,), "nn.dense(%x, %w)"),
        ((2, 3, 4), (5, 4), (5,), "nn.dense(%x, %w)"),
        ((3, 4), (4, 5), (5,), "nn.matmul(%x, %w)"),
        ((3, 4), (4, 5), (), "nn.matmul(%x, %w)"),
        ((2, 3, 4), (2, 5, 4), (5,), "nn.batch_matmul(%x, %w, transpose_b=True)"),
        ((2, 3, 4), (1, 4, 5), (5,), "nn.batch_matmul(%x, %w)"),
        ((2, 3, 4), (2, 5, 3), (5, 1), "nn.batch_matmul(%w, %x)"),
        ((2, 3, 4), (2, 3, 5), (5, 1), "nn.batch_matmul(%w, %x, transpose_a=True)"),
        ((2, 3, 4), (2, 5, 4), (1, 1, 1), "nn.batch_matmul(%x, %w, transpose_b=True)"),
    ],
)
def test_into_other_products(x, w, s, call):
    expect.assert_folds(f"%x: {t(*x)}, %w: {t(*w)}, %s: {t(*s)}", f"{call} * %s")
    expect.assert_folds(f"%x: {t(*x)}, %w: {t(*w)}, %s: {t(*s)}", f"%s * {call}")


def test_division_is_multiplication_by_the_inverse():
    expect.assert_folds(f"%x: {t(3, 4)}, %w: {t(5, 4)}, %s: {t(5)}", "nn.dense(%x, %w) / %s")


# --- what it passes ------------------------------------------------------------------------------

PARAMS = f"%x: {t(2, 4, 6, 6)}, %w: {t(8, 4, 3, 3)}, %b: {t(8, 1, 1)}, %r: {t(8, 1, 1)}, %a: {t(8)}"
C = "nn.conv2d(%x, %w)"  # (2, 8, 4, 4)
POSITIVE = "exp(%r)"


@pytest.mark.parametrize(
    "value",
    [
        f"negative({C})",
        f"{C} - %b",
        f"%b - {C}",
        f"nn.avg_pool2d({C}, pool_size=[2, 2])",
        f"nn.global_avg_pool2d({C})",
        f"nn.adaptive_avg_pool2d({C}, output_size=[2])",
        f"nn.upsampling({C}, scale_h=2.0, scale_w=2.0)",
        f"nn.pad({C}, 0f64, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]])",
        f'nn.pad({C}, 3f64, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]], pad_mode="edge")',
        f"strided_slice({C}, begin=[0, 0, 1], end=[2, 8, 3])",
        f"mean({C}, axis=[2, 3], keepdims=True)",
        f"where(%y > 0f64, %b, {C})",
        f"{C} * sigmoid(%y)",
        f"sigmoid(%y) * {C}",
        f"{C} / exp(%y)",
    ],
)
def test_through_linear_operators_whatever_the_sign(value):
    before = parse(main(f"%y: {t(2, 8, 4, 4)}, {PARAMS}", f"({value}) * %r"))
    after = BackwardFoldScaleAxis()(before)
    assert after["main"] is not before["main"]
    assert after["main"].body.op.name == before["main"].body.args[0].op.name
    assert_same_meaning(before, after)


OF_ORDER = [
    f"nn.relu({C})",
    f"nn.leaky_relu({C}, alpha=0.1)",
    f"nn.prelu({C}, %a)",
    f"abs({C})",
    f"maximum({C}, %b)",
    f"nn.max_pool2d({C}, pool_size=[2, 2])",
    f"nn.global_max_pool2d({C})",
    f"nn.adaptive_max_pool2d({C}, output_size=[2])",
    f"max({C}, axis=[3], keepdims=True)",
]


@pytest.mark.parametrize("value", OF_ORDER)
def test_through_what_keeps_order_if_it_is_positive(value):
    expect.assert_folds(PARAMS, f"{value} * {POSITIVE}")


@pytest.mark.parametrize("value", OF_ORDER)
def test_not_through_what_keeps_order_if_nobody_knows(value):
    expect.assert_stays(main(PARAMS, f"{value} * %r"))


def test_both_sides_of_a_sum_take_the_scale():
    params = PARAMS + f", %v: {t(8, 4, 1, 1)}"
    second = "strided_slice(nn.conv2d(%x, %v), begin=[0, 0, 0, 0], end=[2, 8, 4, 4])"
    expect.assert_folds(params, f"({C} + {second}) * %r")
    # what is given takes nothing
    params = f"%x: {t(2, 8, 6, 6)}, %w: {t(8, 8, 1, 1)}, %r: {t(8, 1, 1)}"
    expect.assert_stays(main(params, "(nn.conv2d(%x, %w) + %x) * %r"))


def test_the_parts_of_a_concatenation_take_their_parts_of_the_scale():
    params = f"%x: {t(1, 4, 5, 5)}, %w: {t(3, 4, 1, 1)}, %v: {t(5, 4, 1, 1)}, %r: {t(8, 1, 1)}"
    joined = "concatenate((nn.conv2d(%x, %w), nn.relu(nn.conv2d(%x, %v))), axis=1)"
    expect.assert_folds(params, f"{joined} * exp(%r)")
    expect.assert_stays(main(params, f"{joined} * %r"))
    params = f"%x: {t(1, 4, 5, 5)}, %w: {t(3, 4, 1, 1)}, %b: {t(1, 2, 5, 5)}, %r: {t(5, 1, 1)}"
    expect.assert_folds(params, "concatenate((nn.conv2d(%x, %w), %b), axis=1) * %r")


def test_through_the_heads_of_attention():
    params = f"%x: {t(2, 5, 12)}, %w: {t(12, 12)}, %b: {t(12)}, %r: {t(3, 1, 1)}"
    heads = "transpose(reshape(nn.dense(%x, %w) + %b, newshape=[0, 0, 3, 4]), axes=[0, 2, 1, 3])"
    expect.assert_folds(params, f"{heads} * %r")
    expect.assert_folds(params, f"{heads} * 0.125f64")


def test_through_other_layouts():
    params = f"%x: {t(1, 4, 5, 5)}, %w: {t(8, 4, 1, 1)}, %r: {t(2, 1, 1, 4)}, %s: {t(8)}"
    blocks = 'layout_transform(nn.conv2d(%x, %w), src_layout="NCHW", dst_layout="NCHW4c")'
    expect.assert_folds(params, f"{blocks} * %r")
    last = 'layout_transform(nn.conv2d(%x, %w), src_layout="NCHW", dst_layout="NHWC")'
    expect.assert_folds(params, f"{last} * %s")


def test_one_factor_goes_through_a_product_of_two_inputs():
    params = f"%x: {t(2, 5, 4)}, %y: {t(2, 6, 4)}, %w: {t(4, 4)}"
    expect.assert_folds(
        params, "nn.batch_matmul(nn.dense(%x, %w), nn.relu(%y), transpose_b=True) * 0.5f64"
    )


def test_scales_in_a_row_become_one():
    params = f"%x: {t(2, 4)}, %w: {t(3, 4)}, %b: {t(3)}, %r: {t(3)}"
    before = parse(main(params, "nn.relu((nn.dense(%x, %w) * %r + %b) / %b) * 2f64"))
    after = BackwardFoldScaleAxis()(before)
    assert scales(after) == 0
    assert_same_meaning(before, after)
    before = parse(main(params, "((nn.dense(%x, %w) * %r + %b) / %b) * 2f64"))
    after = BackwardFoldScaleAxis()(before)
    assert scales(after) == 0
    assert_same_meaning(before, after)


def test_a_scale_goes_into_another_one_where_there_is_no_weight():
    params = f"%x: {t(2, 4)}, %s: {t(4)}, %r: {t(4)}"
    expect.assert_rewrites(
        main(params, "nn.relu(tanh(%x) * %s) * exp(%r)"),
        main(params, "nn.relu(tanh(%x) * (%s * exp(%r)))"),
    )


# --- where it does not go ------------------------------------------------------------------------


def test_values_that_others_use_stay_as_they_are():
    params = CONV + ", %s: Tensor[(8, 1, 1), float32]"
    expect.assert_stays(main(params, "%0 = nn.conv2d(%x, %w); (%0, %0 * %s)"))
    expect.assert_stays(main(params, "let %c = nn.conv2d(%x, %w); let %d = %c; (%c, %d * %s)"))


def test_weights_that_others_use_are_not_kept_twice():
    params = "%x: Tensor[(3, 3), float32], %w: Tensor[(3, 3), float32]"
    expect.assert_stays(main(params, "nn.dense(%x, %w) * 2f + nn.dense(nn.relu(%x), %w)"))


def test_scales_and_weights_that_are_not_fixed_stay():
    params = CONV + ", %y: Tensor[(8, 1, 1), float32]"
    expect.assert_stays(main(params, "nn.conv2d(%x, %w) * %y"))
    expect.assert_stays(f"def @main({params}) {{ nn.conv2d(%x, %w) * 2f }}")


def test_other_axes_than_those_of_the_channels_stay():
    expect.assert_stays(main(CONV + ", %s: Tensor[(4), float32]", "nn.conv2d(%x, %w) * %s"))
    expect.assert_stays(main(CONV + ", %s: Tensor[(8, 4, 4), float32]", "nn.conv2d(%x, %w) * %s"))


def test_a_factor_that_stretches_the_data_stays():
    params = "%x: Tensor[(1, 4), float32], %w: Tensor[(3, 4), float32]"
    expect.assert_stays(main(params + ", %s: Tensor[(5, 3), float32]", "nn.dense(%x, %w) * %s"))


def test_what_is_added_does_not_grow_out_of_proportion():
    params = CONV + ", %b: Tensor[(4, 4), float32], %s: Tensor[(8, 1, 1), float32]"
    expect.assert_stays(main(params, "(nn.conv2d(%x, %w) + %b) * %s"))


def test_integers_and_narrow_floats_stay():
    for dtype in ("int32", "float16"):
        params = (
            "%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %s: Tensor[(3), float32]"
        )
        expect.assert_stays(main(params.replace("float32", dtype), "nn.dense(%x, %w) * %s"))
    params = "%x: Tensor[(2, 4), bfloat16], %w: Tensor[(3, 4), bfloat16], %s: Tensor[(3), float32]"
    expect.assert_stays(main(params, 'nn.dense(%x, %w, out_dtype="float32") * %s'))


def test_padding_with_something_else_than_zeros_is_in_the_way():
    expect.assert_stays(
        main(PARAMS, f"nn.pad({C}, 1f64, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]) * %r")
    )
    params = PARAMS.replace("%r: Tensor[(8,", "%r: Tensor[(10,")
    expect.assert_stays(
        main(params, f"nn.pad({C}, 0f64, pad_width=[[0, 0], [1, 1], [0, 0], [0, 0]]) * %r")
    )


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "exp", "nn.softmax", "sqrt"])
def test_what_is_not_linear_is_in_the_way(name):
    expect.assert_stays(main(PARAMS, f"{name}({C}) * exp(%r)"))


def test_plain_constants_are_looked_at_and_weights_are_not():
    def program(values, weight):
        x = relay.var("x", shape=(2, 3))
        array = np.array(values, "float32")
        scale = relay.Constant(relay.nd.Weight("s", array) if weight else relay.nd.array(array))
        dense = relay.nn.dense(x, relay.const(np.ones((2, 3), "float32")))
        body = relay.nn.relu(dense) * scale
        return InferType()(relay.IRModule.from_expr(relay.Function([x], body)))

    for values, weight, folds in [
        ([1, 2], False, True),
        ([1, -2], False, False),
        ([0, 2], False, False),
        ([1, np.inf], False, False),
        ([1, 2], True, False),
    ]:
        before = program(values, weight)
        after = BackwardFoldScaleAxis()(before)
        assert (after["main"] is not before["main"]) == folds, values


def test_primitive_functions_are_left_alone():
    expect.assert_stays(
        """
        def @main(%x: Tensor[(2, 4), float32]) {
          let %f = fn (%p: Tensor[(2, 4), float32], Primitive=1) {
            nn.dense(%p, ones(shape=[3, 4], dtype="float32")) * 2f
          };
          %f(%x)
        }
        """
    )


def test_named_dimensions_are_no_obstacle_and_unknown_channels_are():
    n = relay.ShapeVar("n")
    for extent in (n, relay.Any()):
        x = relay.var("x", shape=(extent, 4))
        dense = relay.nn.dense(x, relay.const(np.ones((6, 4), "float32")))
        body = relay.reshape(dense, (-1, 2, 3)) * relay.const(np.full((2, 3), 2, "float32"))
        before = InferType()(relay.IRModule.from_expr(body))
        after = BackwardFoldScaleAxis()(before)
        assert (after["main"] is before["main"]) == (extent is not n)


# --- the pass ------------------------------------------------------------------------------------


def test_it_belongs_to_level_three():
    params = "%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]"
    before = parse(main(params, "nn.dense(%x, %w) * 2f"))
    passes = Sequential([BackwardFoldScaleAxis()])
    for level, name in ((2, "multiply"), (3, "nn.dense")):
        with PassContext(opt_level=level):
            assert passes(before)["main"].body.op.name == name


def test_a_convolution_and_batch_norm_agree_with_torch():
    torch.manual_seed(0)
    conv, norm = torch.nn.Conv2d(3, 5, 3, bias=True), torch.nn.BatchNorm2d(5)
    for p in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
        torch.nn.init.uniform_(p, 0.5, 1.5)
    model = torch.nn.Sequential(conv, norm, torch.nn.ReLU()).double().eval()
    x = relay.var("x", shape=(1, 3, 6, 6), dtype="float64")

    def weight(value):
        return relay.const(value.detach().double().numpy(), "float64")

    y = relay.nn.bias_add(relay.nn.conv2d(x, weight(conv.weight)), weight(conv.bias))
    statistics = (norm.weight, norm.bias, norm.running_mean, norm.running_var)
    y = relay.nn.relu(relay.nn.batch_norm(y, *map(weight, statistics))[0])
    module = relay.IRModule.from_expr(relay.Function([x], y))
    with PassContext(opt_level=3):
        module = relay.transform.FoldScaleAxis()(relay.transform.SimplifyInference()(module))
    assert count_ops(module["main"])["multiply"] == 0
    data = np.random.default_rng(0).normal(size=(1, 3, 6, 6))
    found = relay.create_executor("debug", module).evaluate()(data).numpy()
    np.testing.assert_allclose(found, model(torch.tensor(data)).detach().numpy(), rtol=1e-9)


def test_programs_may_be_deep():
    x, w = relay.var("x", shape=(2, 2)), relay.const(np.eye(2, dtype="float32"))
    body = relay.nn.dense(x, w)
    for _ in range(2_000):
        body = relay.nn.relu(body * relay.const(2.0))
    result = BackwardFoldScaleAxis()(relay.IRModule.from_expr(relay.Function([x], body)))["main"]
    relu = result.body
    for _ in range(1_999):
        assert relu.op.name == "nn.relu"
        (relu,) = relu.args
    assert relu.args[0].op.name == "nn.dense"
