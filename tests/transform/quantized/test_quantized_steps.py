"""Steps between integers and integers are taken on integers."""

import numpy as np
import pytest

import relay
from relay.transform import FakeQuantizationToInteger
from tests.transform.quantizing import assert_rewrites, assert_stays, parse

PASS = FakeQuantizationToInteger()
PARAMS = """
    %q: Tensor[(1, 2, 6, 6), uint8], %p: Tensor[(1, 2, 6, 6), uint8],
    %i: Tensor[(1, 2, 6, 6), int8], %x: Tensor[(1, 2, 6, 6), float32],
    %c: Tensor[(1, 2, 9), uint8], %w: Tensor[(4, 2, 3, 3), int8]
"""
EVEN = 'rounding="TOEVEN", compute_dtype="float32"'
BYTES = 'out_dtype="uint8"'
FLOAT = 'out_dtype="float32"'


def real(name: str, scale: str = "0.5f", zero: str = "3", axis: int = -1) -> str:
    return f"qnn.dequantize({name}, {scale}, {zero}, axis={axis}, {FLOAT})"


def whole(body: str, scale: str = "0.25f", zero: int = 7) -> str:
    return f"qnn.quantize({body}, {scale}, {zero}, {BYTES})"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # the same integers
        (whole(real("%q", "0.25f", "7")), "%q"),
        # another scale, and another type
        (whole(real("%q")), f"qnn.requantize(%q, 0.5f, 3, 0.25f, 7, {EVEN}, {BYTES})"),
        (whole(real("%i")), f"qnn.requantize(%i, 0.5f, 3, 0.25f, 7, {EVEN}, {BYTES})"),
        # moves
        (
            whole(f"reshape({real('%q', '0.25f', '7')}, newshape=[2, 36])"),
            "reshape(%q, newshape=[2, 36])",
        ),
        (
            f"transpose({real('%q', '$[0.5f, 1f]$', '0', 1)}, axes=[0, 2, 3, 1])",
            f"qnn.dequantize(transpose(%q, axes=[0, 2, 3, 1]), $[0.5f, 1f]$, 0, axis=3, {FLOAT})",
        ),
        (
            whole("transpose(%x, axes=[0, 2, 3, 1])"),
            f"transpose({whole('%x')}, axes=[0, 2, 3, 1])",
        ),
        (
            f"nn.max_pool2d({real('%q')}, pool_size=[2, 2])",
            f"qnn.dequantize(nn.max_pool2d(%q, pool_size=[2, 2]), 0.5f, 3, {FLOAT})",
        ),
        (
            f"nn.pad({real('%q')}, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]])",
            "qnn.dequantize(nn.pad(%q, 3u8, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]), "
            f"0.5f, 3, {FLOAT})",
        ),
        (
            f"dyn.reshape({real('%q')}, shape_of(%x))",
            f"qnn.dequantize(dyn.reshape(%q, shape_of(%x)), 0.5f, 3, {FLOAT})",
        ),
        (
            f"split({real('%q')}, indices_or_sections=2, axis=1).1",
            f"qnn.dequantize(split(%q, indices_or_sections=2, axis=1).1, 0.5f, 3, {FLOAT})",
        ),
        (
            f'image.resize2d({real("%q")}, size=[9, 9], method="nearest_neighbor")',
            'qnn.dequantize(image.resize2d(%q, size=[9, 9], method="nearest_neighbor"), '
            f"0.5f, 3, {FLOAT})",
        ),
        # bounds
        (whole("nn.relu(%x)"), f"maximum({whole('%x')}, 7u8)"),
        (whole("nn.relu(%x)", "0.25f", 0), whole("%x", "0.25f", 0)),
        (
            whole("clip(%x, a_min=0f, a_max=6f)"),
            f"clip({whole('%x')}, a_min=7f, a_max=31f)",
        ),
        # parts
        (
            whole(f"concatenate(({real('%q', '0.25f', '7')}, {real('%p')}), axis=1)"),
            f"concatenate((%q, qnn.requantize(%p, 0.5f, 3, 0.25f, 7, {EVEN}, {BYTES})), axis=1)",
        ),
        # functions
        (
            whole(f"add({real('%q')}, {real('%p', '0.25f', '4')})"),
            'qnn.add(%q, %p, 0.5f, 3, 0.25f, 4, 0.25f, 7, compute_dtype="float32")',
        ),
        (
            whole(f"multiply({real('%q')}, {real('%p', '0.25f', '4')})"),
            'qnn.mul(%q, %p, 0.5f, 3, 0.25f, 4, 0.25f, 7, compute_dtype="float32")',
        ),
        (
            whole(f"sigmoid({real('%q')})", "0.00390625f", 0),
            "qnn.sigmoid(%q, 0.5f, 3, 0.00390625f, 0)",
        ),
        (
            whole(f"nn.avg_pool2d({real('%q')}, pool_size=[2, 2], strides=[2, 2])"),
            "qnn.avg_pool2d(%q, 0.5f, 3, 0.25f, 7, pool_size=[2, 2], strides=[2, 2], "
            'compute_dtype="float32")',
        ),
        (
            whole(f"mean({real('%q')}, axis=[1, 2], keepdims=True)"),
            '%0 = sum(cast(%q, dtype="int32"), axis=[1, 2], keepdims=True); '
            f"qnn.requantize(%0, 0.041666668f, 36, 0.25f, 7, {EVEN}, {BYTES})",
        ),
        # bounds with several scales
        (
            f"qnn.quantize(nn.relu(%x), $[0.5f, 1f]$, $[3, 0]$, axis=1, {BYTES})",
            f"maximum(qnn.quantize(%x, $[0.5f, 1f]$, $[3, 0]$, axis=1, {BYTES}), "
            "$[[[[3u8]], [[0u8]]]]$)",
        ),
        (
            f"qnn.quantize(clip(%x, a_min=-1f, a_max=6f), $[0.5f, 1f]$, 3, axis=1, {BYTES})",
            f"minimum(maximum(qnn.quantize(%x, $[0.5f, 1f]$, 3, axis=1, {BYTES}), "
            "$[[[[1u8]], [[2u8]]]]$), $[[[[15u8]], [[9u8]]]]$)",
        ),
        # the greater of two
        (
            whole(f"maximum({real('%q', '0.25f', '7')}, {real('%p')})"),
            f"maximum(%q, qnn.requantize(%p, 0.5f, 3, 0.25f, 7, {EVEN}, {BYTES}))",
        ),
        (whole(f"minimum({real('%q', '0.25f', '7')}, 2.3f)"), "minimum(%q, 16u8)"),
        (whole(f"max({real('%q', '0.25f', '7')}, axis=[1])"), "max(%q, axis=[1])"),
        # the greatest ones
        (
            f"topk({real('%q')}, k=2)",
            f"%0 = topk(%q, k=2); (qnn.dequantize(%0.0, 0.5f, 3, {FLOAT}), %0.1)",
        ),
        (whole(f"topk({real('%q', '0.25f', '7')}, k=2).0"), "topk(%q, k=2).0"),
        (f'topk({real("%q")}, k=2, ret_type="indices")', 'topk(%q, k=2, ret_type="indices")'),
        # known numbers
        (
            whole(f"add({real('%q')}, 0.3f)"),
            'qnn.add(%q, 129u8, 0.5f, 3, 0.3f, 128, 0.25f, 7, compute_dtype="float32")',
        ),
        (
            whole(f"subtract(-0.3f, {real('%q')})"),
            'qnn.subtract(127u8, %q, 0.3f, 128, 0.5f, 3, 0.25f, 7, compute_dtype="float32")',
        ),
        (
            whole(f"multiply({real('%q')}, $[[[0.5f]], [[-0.25f]]]$)"),
            "qnn.mul(%q, $[[[129u8]], [[127u8]]]$, 0.5f, 3, $[0.5f, 0.25f]$, 128, 0.25f, 7, "
            'rhs_axis=0, compute_dtype="float32")',
        ),
        # other functions, means, and numbers between others
        (
            whole(f"nn.leaky_relu({real('%q')}, alpha=0.3f)"),
            'qnn.leaky_relu(%q, 0.5f, 3, 0.25f, 7, alpha=0.3f, compute_dtype="float32")',
        ),
        (
            whole(f"nn.adaptive_avg_pool1d({real('%c')}, output_size=[4])"),
            '%0 = multiply(subtract(cast(%c, dtype="int32"), 3), 256); '
            "qnn.requantize(nn.adaptive_avg_pool1d(%0, output_size=[4]), "
            f"0.001953125f, 0, 0.25f, 7, {EVEN}, {BYTES})",
        ),
        (
            whole(f'image.resize2d({real("%q")}, size=[9, 9], method="linear")'),
            '%0 = multiply(subtract(cast(%q, dtype="int32"), 3), 256); '
            'qnn.requantize(image.resize2d(%0, size=[9, 9], method="linear"), '
            f"0.001953125f, 0, 0.25f, 7, {EVEN}, {BYTES})",
        ),
    ],
)
def test_steps_are_taken_on_integers(before, after):
    assert_rewrites(PASS, before, after, PARAMS)


@pytest.mark.parametrize(
    "body",
    [
        # several scales that a step would mix
        f"reshape({real('%q', '$[0.5f, 1f]$', '0', 1)}, newshape=[72])",
        # numbers between numbers
        f'image.resize2d({real("%q")}, size=[9, 9], method="linear")',
        # a filling that is no zero
        f"nn.pad({real('%q')}, 1f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]])",
        # parts that are no integers
        whole(f"concatenate((%x, {real('%p')}), axis=1)"),
        # numbers that nobody knows
        whole(f"add({real('%q')}, %x)"),
        whole(f"maximum({real('%q')}, %x)"),
        # scales that would be mixed
        f"topk({real('%q', '$[0.5f, 1f]$', '0', 1)}, k=2)",
    ],
)
def test_other_steps_stay(body):
    assert_stays(PASS, body, PARAMS)


def test_what_somebody_else_uses_as_numbers_stays():
    body = f"""
    %0 = add({real("%q")}, {real("%p")});
    ({whole("%0")}, %0)
    """
    assert_stays(PASS, body, PARAMS)


# Steps between integers: what they are of numbers in a, b and c.
BETWEEN = [
    "add({a}, {number}f)",
    "subtract({number}f, {a})",
    "multiply({a}, $[[[{number}f]], [[-0.25f]]]$)",
    "add({a}, $[[[{number}f], [1f], [2f], [-3f], [4f], [5f]]]$)",
    "maximum({a}, {b})",
    "minimum({b}, {number}f)",
    "topk({a}, k=3).0",
    "nn.leaky_relu({a}, alpha=0.3f)",
    "nn.relu(subtract({a}, {b}))",
    "clip({a}, a_min=-1.3f, a_max={number}f)",
    "nn.avg_pool2d({a}, pool_size=[3, 2], padding=[1, 0, 1, 0], count_include_pad=True)",
    "nn.adaptive_avg_pool1d({c}, output_size=[4])",
    "nn.adaptive_avg_pool2d({a}, output_size=[4, 5])",
    "nn.avg_pool1d({c}, pool_size=[3], padding=[1], count_include_pad=True)",
    'image.resize2d({a}, size=[9, 5], method="linear")',
    'image.resize2d({a}, size=[4, 8], method="cubic")',
]


def results(body: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What a program gives on integers, and on floats; nothing is left on these."""
    before = parse(body, PARAMS)
    after = FakeQuantizationToInteger(hard_fail=True)(before)
    rng = np.random.default_rng(seed)
    args = []
    for param in before["main"].params:
        shape, dtype = param.checked_type.concrete_shape, param.checked_type.dtype
        low, high = (-128, 128) if dtype == "int8" else (0, 256)
        args.append(rng.integers(low, high, shape).astype(dtype))
    found = [relay.create_executor("debug", m).evaluate()(*args).numpy() for m in (after, before)]
    return found[0].astype(int), found[1].astype(int)


@pytest.mark.parametrize("step", BETWEEN)
def test_integers_are_what_floats_give_but_for_a_step(step):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        names = {
            short: real(name, f"{rng.uniform(0.01, 0.3):.4f}f", str(rng.integers(0, 255)))
            for short, name in (("a", "%q"), ("b", "%p"), ("c", "%c"))
        }
        body = step.format(**names, number=f"{rng.uniform(0.1, 9):.3f}")
        scale, zero = f"{rng.uniform(0.05, 0.4):.4f}f", int(rng.integers(0, 255))
        mine, theirs = results(whole(body, scale, zero), seed)
        assert np.abs(mine - theirs).max() <= 1


@pytest.mark.parametrize(
    "step",
    ["nn.avg_pool2d({}, pool_size=[2, 2])", 'image.resize2d({}, size=[4, 4], method="linear")'],
)
def test_a_mean_before_a_product_is_rounded_to_a_step_of_its_data(step):
    rng = np.random.default_rng(0)
    for seed in range(4):
        data, weight, out = rng.uniform(0.01, 0.3), rng.uniform(0.001, 0.01), rng.uniform(0.5, 2)
        mean = step.format(real("%q", f"{data:.4f}f", str(rng.integers(0, 255))))
        product = f"nn.conv2d({mean}, {real('%w', f'{weight:.5f}f', '0')})"
        mine, theirs = results(whole(product, f"{out:.4f}f", 100), seed)
        # half a step of data for each of 2 x 3 x 3 weights, and one of the result
        assert np.abs(mine - theirs).max() <= 1 + 18 * 128 * weight * data / 2 / out


GRID = "$[[[0.5f], [1f], [0f], [-3f], [4f], [5f]], [[2f], [1f], [2.2f], [-3f], [0.1f], [1f]]]$"


@pytest.mark.parametrize(
    ("step", "scale", "far"),
    [("add", 0.08, 0.01), ("subtract", 0.08, 0.01), ("multiply", 0.9, 0.3)],
)
def test_numbers_on_a_grid_are_rounded_where_that_is_less_than_half_a_step(step, scale, far):
    for seed in range(4):
        body = f"{step}({real('%q', '0.1f', '77')}, {GRID})"
        mine, theirs = results(whole(body, f"{scale}f", 120), seed)
        assert np.abs(mine - theirs).max() <= 1
        assert_stays(PASS, whole(body, f"{far}f", 120), PARAMS)


def test_what_gains_nothing_is_left_out_on_request():
    module = parse(whole(f"add({real('%q')}, 0.3f)"), PARAMS)
    assert FakeQuantizationToInteger(thorough=False)(module)["main"] is module["main"]
    assert FakeQuantizationToInteger()(module)["main"] is not module["main"]
