"""Steps between integers and integers are taken on integers."""

import pytest

from relay.transform import FakeQuantizationToInteger
from tests.transform.quantizing import assert_rewrites, assert_stays

PASS = FakeQuantizationToInteger()
PARAMS = """
    %q: Tensor[(1, 2, 6, 6), uint8], %p: Tensor[(1, 2, 6, 6), uint8],
    %i: Tensor[(1, 2, 6, 6), int8], %x: Tensor[(1, 2, 6, 6), float32]
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
        # bounds with several scales of the result
        f"qnn.quantize(nn.relu(%x), $[0.5f, 1f]$, 3, axis=1, {BYTES})",
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
