"""Pre-activation ResNet (He et al. 2016), for images and videos."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relay import op
from relay.errors import RelayError
from relay.immutable import frozen
from relay.ir.expr import Expr, Function, var
from relay.ir.variables import free_vars
from relay.testing import layers
from relay.testing.init import workload

# units per stage, by number of layers; from 50 on a unit is a bottleneck of three convolutions
UNITS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
    269: (3, 30, 48, 8),
}
EPSILON = 2e-5


@frozen
class Spatial:
    """Operators and layout for 2 or 3 spatial axes."""

    convolution: Callable[..., Expr]
    max_pool: Callable[..., Expr]
    global_average: Callable[..., Expr]
    layout: str

    @staticmethod
    def of(layout: str) -> Spatial:
        if "D" in layout:
            return Spatial(layers.conv3d, op.nn.max_pool3d, op.nn.global_avg_pool3d, layout)
        return Spatial(layers.conv2d, op.nn.max_pool2d, op.nn.global_avg_pool2d, layout)

    @property
    def count(self) -> int:
        return len(self.layout) - 2

    @property
    def channel_axis(self) -> int:
        return self.layout.index("C")

    def conv(
        self, data: Expr, channels: int, kernel: Sequence[int], strides: Sequence[int], name: str
    ) -> Expr:
        """A convolution with 'same' padding."""
        return self.convolution(
            data,
            name=name,
            channels=channels,
            kernel_size=tuple(kernel),
            strides=tuple(strides),
            padding=tuple(k // 2 for k in kernel),
            data_layout=self.layout,
            kernel_layout=layers.conv_kernel_layout(self.layout),
        )

    def norm(self, data: Expr, name: str, **attrs: Any) -> Expr:
        return layers.batch_norm_infer(
            data, epsilon=EPSILON, axis=self.channel_axis, name=name, **attrs
        )

    def everywhere(self, number: int) -> tuple[int, ...]:
        return (number,) * self.count


def residual_unit(
    data: Expr,
    num_filter: int,
    stride: int,
    dim_match: bool,
    name: str,
    bottle_neck: bool,
    spatial: Spatial,
) -> Expr:
    """`data`, or its projection where the shape changes, plus convolutions of relu(norm(data))."""
    ones, threes = spatial.everywhere(1), spatial.everywhere(3)
    strides = spatial.everywhere(stride)
    active = op.nn.relu(spatial.norm(data, f"{name}_bn1"))
    if bottle_neck:
        narrow = num_filter // 4
        x = spatial.conv(active, narrow, ones, strides, f"{name}_conv1")
        x = op.nn.relu(spatial.norm(x, f"{name}_bn2"))
        x = spatial.conv(x, narrow, threes, ones, f"{name}_conv2")
        x = op.nn.relu(spatial.norm(x, f"{name}_bn3"))
        x = spatial.conv(x, num_filter, ones, ones, f"{name}_conv3")
    else:
        x = spatial.conv(active, num_filter, threes, strides, f"{name}_conv1")
        x = op.nn.relu(spatial.norm(x, f"{name}_bn2"))
        x = spatial.conv(x, num_filter, threes, ones, f"{name}_conv2")
    shortcut = data if dim_match else spatial.conv(active, num_filter, ones, strides, f"{name}_sc")
    return op.add(x, shortcut)


def build(
    data: Expr,
    num_classes: int,
    num_layers: int,
    small: bool,
    spatial: Spatial,
) -> Function:
    """The whole network; `small` leaves out the stride and the pooling of the first layer."""
    if num_layers not in UNITS:
        raise RelayError(f"no residual network of {num_layers} layers; there is {sorted(UNITS)}")
    bottle_neck = num_layers >= 50
    filters = [64, 256, 512, 1024, 2048] if bottle_neck else [64, 64, 128, 256, 512]
    x = spatial.norm(data, "bn_data", scale=False)
    if small:
        x = spatial.conv(x, filters[0], spatial.everywhere(3), spatial.everywhere(1), "conv0")
    else:
        kernel = (3,) * (spatial.count - 2) + (7, 7)
        strides = (1,) * (spatial.count - 2) + (2, 2)
        x = spatial.conv(x, filters[0], kernel, strides, "conv0")
        x = op.nn.relu(spatial.norm(x, "bn0"))
        x = spatial.max_pool(
            x,
            pool_size=spatial.everywhere(3),
            strides=spatial.everywhere(2),
            padding=spatial.everywhere(1),
            layout=spatial.layout,
        )
    for stage, count in enumerate(UNITS[num_layers]):
        for unit in range(count):
            stride = 2 if unit == 0 and stage > 0 else 1
            name = f"stage{stage + 1}_unit{unit + 1}"
            width = filters[stage + 1]
            x = residual_unit(x, width, stride, unit > 0, name, bottle_neck, spatial)
    x = op.nn.relu(spatial.norm(x, "bn1"))
    x = op.nn.batch_flatten(spatial.global_average(x, layout=spatial.layout))
    out = op.nn.softmax(layers.dense_add_bias(x, units=num_classes, name="fc1"))
    return Function(tuple(free_vars(out)), out)


def get_net(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: tuple[int, ...] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """A ResNet with softmax; `image_shape` is in `layout`."""
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    height = image_shape[layout.index("H") - 1]
    return build(data, num_classes, num_layers, height <= 32, Spatial.of(layout))


get_workload = workload(get_net)
