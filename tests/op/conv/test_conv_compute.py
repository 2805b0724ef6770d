"""Convolutions are sums of products of two reads, whose indices are sums."""

from __future__ import annotations

from collections.abc import Callable

Stages = Callable[..., list[str]]


def test_a_convolution_is_one_sum_of_products(stages: Stages) -> None:
    assert stages("nn.conv2d", (1, 3, 8, 8), (4, 3, 3, 3), strides=2, dilation=(1, 2)) == [
        "conv[i, j, k, l] = sum((x0[i, c, ((k * 2) + kh), ((l * 2) + (kw * 2))] * "
        "x1[j, c, kh, kw]) for c < 3, kh < 3, kw < 3)"
    ]


def test_padding_is_a_stage_before(stages: Stages) -> None:
    pad, conv = stages("nn.conv2d", (1, 3, 8, 8), (4, 3, 3, 3), padding=(1, 0, 0, 0))
    assert pad == "pad[i, j, k, l] = (x0[i, j, (k - 1), l] if ((k - 1) >= 0) else 0.0:float32)"
    assert "pad[i, c, (k + kh), (l + kw)]" in conv


def test_the_layout_decides_the_order_of_indices(stages: Stages) -> None:
    (conv,) = stages(
        "nn.conv2d", (1, 8, 8, 3), (3, 3, 3, 4), data_layout="NHWC", kernel_layout="HWIO"
    )
    assert "x0[i, (j + kh), (k + kw), c] * x1[kh, kw, c, l]" in conv


def test_blocks_of_channels_are_axes(stages: Stages) -> None:
    (conv,) = stages(
        "nn.contrib_conv2d_NCHWc",
        (1, 2, 8, 8, 16),
        (4, 2, 3, 3, 16, 16),
        data_layout="NCHW16c",
        kernel_layout="OIHW16i16o",
    )
    assert conv == (
        "conv[i, j, k, l, m] = sum((x0[i, c, (k + kh), (l + kw), c1] * "
        "x1[j, c, kh, kw, c1, m]) for c < 2, c1 < 16, kh < 3, kw < 3)"
    )


def test_groups_are_an_axis_that_a_last_stage_joins(stages: Stages) -> None:
    conv, result = stages("nn.conv2d", (1, 4, 8, 8), (6, 2, 3, 3), groups=2)
    assert "x0[i, ((j * 2) + c), (l + kh), (m + kw)] * x1[((j * 3) + k), c, kh, kw]" in conv
    assert result == "result[i, j, k, l] = conv[i, (j // 3), (j % 3), k, l]"


def test_a_depthwise_convolution_sums_over_the_window_only(stages: Stages) -> None:
    (conv,) = stages("nn.conv2d", (1, 4, 8, 8), (4, 1, 3, 3), groups=4)
    assert conv.endswith("(x0[i, j, (k + kh), (l + kw)] * x1[j, 0, kh, kw]) for kh < 3, kw < 3)")
    (several,) = stages("nn.conv2d", (1, 4, 8, 8), (8, 1, 3, 3), groups=4)
    assert "x0[i, (j // 2), (k + kh), (l + kw)] * x1[j, 0, kh, kw]" in several
    (written,) = stages("nn.conv2d", (1, 4, 8, 8), (4, 2, 3, 3), groups=4)
    assert "x1[(j // 2), (j % 2), kh, kw]" in written


def test_narrow_floats_are_added_up_in_float32_and_rounded_once(stages: Stages) -> None:
    conv, result = stages("nn.conv2d", (1, 3, 8, 8), (4, 3, 3, 3), dtype="float16")
    assert "(float32(x0[i, c, (k + kh), (l + kw)]) * float32(x1[j, c, kh, kw]))" in conv
    assert result.endswith("= float16(conv[i, j, k, l])")


def test_integers_are_added_up_in_the_type_of_the_result(stages: Stages) -> None:
    (conv,) = stages("nn.conv2d", (1, 3, 8, 8), (4, 3, 3, 3), dtype="int8", out_dtype="int32")
    assert "(int32(x0[i, c, (k + kh), (l + kw)]) * int32(x1[j, c, kh, kw]))" in conv


def test_a_transposed_convolution_lays_data_apart_and_turns_the_window(stages: Stages) -> None:
    pad, conv = stages(
        "nn.conv2d_transpose", (1, 3, 4, 4), (3, 5, 2, 1), strides=(2, 1), dilation=(2, 1)
    )
    assert pad == (
        "pad[i, j, k, l] = (x0[i, j, ((k - 2) // 2), l] if ((((k - 2) >= 0) & ((k - 2) < 7)) & "
        "(((k - 2) % 2) == 0)) else 0.0:float32)"
    )
    assert "pad[i, c, (k + (kh * 2)), (l + kw)] * x1[c, j, (1 - kh), (0 - kw)]" in conv


def test_places_between_elements_are_channels_of_a_transposed_one(stages: Stages) -> None:
    pad, conv, result = stages("nn.conv1d_transpose", (1, 3, 4), (3, 5, 4), strides=2, padding=1)
    assert pad.startswith("pad[i, j, k] = (x0[i, j, (k - 1)]")
    assert "pad[i, c, (j + kw)] * x1[c, (k % 5), (((1 - kw) * 2) + ((k // 5) % 2))]" in conv
    assert result == ("result[i, j, k] = conv[i, ((k + 1) // 2), ((((k + 1) % 2) * 5) + j)]")


def test_the_gradient_sums_over_images_and_windows(stages: Stages) -> None:
    (gradient,) = stages("nn.conv2d_backward_weight", (2, 4, 6, 6), (2, 3, 8, 8), kernel_size=3)
    assert gradient.endswith(
        "(x1[rn, j, (rh + k), (rw + l)] * x0[rn, i, rh, rw]) for rn < 2, rh < 6, rw < 6)"
    )
