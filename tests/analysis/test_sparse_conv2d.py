"""Which weights of convolutions are sparse."""

import numpy as np
import pytest

import relay
from relay.analysis import sparse_conv2d


def convolution(weight_shape, **attrs):
    options = {"data_layout": "NHWC", "kernel_layout": "HWIO", **attrs}
    channels = 8 if options["data_layout"] == "NHWC" else 6
    x, w = relay.var("x", shape=(1, 6, 6, channels)), relay.var("w", shape=weight_shape)
    if options["data_layout"] == "NCHW":
        x = relay.var("x", shape=(1, 8, 6, 6))
    return relay.Function([x, w], relay.nn.conv2d(x, w, **options))


def found(function, array, layout="NHWC", size=1, blocks=(4, 1), threshold=0.5):
    params = {"w": array}
    result = sparse_conv2d.process_params(function, params, blocks, threshold, layout, size)
    assert set(params) == ({"w.data", "w.indices", "w.indptr"} if result.weight_name else {"w"})
    return result


def test_weights_of_single_pixels_are_matrices_of_channels():
    weight = np.zeros((1, 1, 8, 4), "float32")
    weight[0, 0, 2, :] = 1
    result = found(convolution(weight.shape), weight)
    assert result.weight_name == ["w"]
    assert result.weight_shape == [[1, 4, 1, 1, 2]]


def test_columns_go_through_the_window_in_the_order_of_the_layout():
    weight = np.zeros((3, 3, 8, 4), "float32")
    weight[1, 2, 3, :] = 1
    function = convolution(weight.shape, padding=1)
    params = {"w": weight}
    sparse_conv2d.process_params(function, params, (4, 1), 0.5, "NHWC", 3)
    np.testing.assert_array_equal(params["w.indices"], [(1 * 3 + 2) * 8 + 3])
    weight = weight.transpose(3, 2, 0, 1)
    function = convolution(weight.shape, padding=1, data_layout="NCHW", kernel_layout="OIHW")
    params = {"w": weight}
    sparse_conv2d.process_params(function, params, (4, 1), 0.5, "NCHW", 3)
    np.testing.assert_array_equal(params["w.indices"], [(3 * 3 + 1) * 3 + 2])


def test_blocks_count_for_windows_and_elements_for_single_pixels():
    weight = np.zeros((3, 3, 8, 4), "float32")
    weight[..., 0] = 1  # every block of 4 output channels has an element
    assert found(convolution(weight.shape, padding=1), weight, size=3).weight_name == []
    pixel = weight[:1, :1]
    assert found(convolution(pixel.shape), pixel).weight_name == ["w"]


@pytest.mark.parametrize(
    "attrs",
    [
        {"strides": 2},
        {"padding": 0},
        {"padding": (1, 1, 0, 0)},
        {"dilation": 2, "padding": 2},
        {"out_dtype": "float64"},
        {"data_layout": "NCHW"},
        {"kernel_layout": "HWOI"},
    ],
)
def test_convolutions_of_another_kind_stay(attrs):
    shape = (3, 3, 8, 8)
    function = convolution(shape, **{"padding": 1, **attrs})
    assert found(function, np.zeros(shape, "float32"), size=3).weight_name == []


def test_groups_stay():
    shape = (3, 3, 1, 8)
    function = convolution(shape, padding=1, groups=8)
    assert found(function, np.zeros(shape, "float32"), size=3).weight_name == []


def test_windows_of_another_size_stay():
    shape = (3, 3, 8, 4)
    function = convolution(shape, padding=1)
    assert found(function, np.zeros(shape, "float32"), size=1).weight_name == []


def test_layouts_and_sizes_are_checked():
    function = convolution((1, 1, 8, 4))
    with pytest.raises(relay.RelayError, match="know the layouts NHWC and NCHW, found 'NWHC'"):
        found(function, None, layout="NWHC")
    with pytest.raises(relay.RelayError, match="a kernel size is an odd number, found 2"):
        found(function, None, size=2)
