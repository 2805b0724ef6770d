"""Random networks of the layers that quantization is about, with weights and inputs."""

from __future__ import annotations

import numpy as np

import relay
from relay import nn

ACTIVATIONS = {
    "relu": nn.relu,
    "relu6": lambda x: relay.clip(x, 0.0, 6.0),
    "sigmoid": relay.sigmoid,
    "tanh": relay.tanh,
    "leaky": lambda x: nn.leaky_relu(x, 0.1),
    "swish": lambda x: relay.multiply(x, relay.sigmoid(x)),
    "none": lambda x: x,
}


class Networks:
    """One network from a seed: `mod`, and batches of its input."""

    def __init__(self, seed: int, size: int = 6, *, channels: int = 8) -> None:
        self.chance = np.random.default_rng(seed)
        self.channels = channels
        extent = int(self.chance.integers(7, 13))
        self.shape = (1, int(self.chance.integers(1, 5)), extent, extent)
        data = relay.var("data", shape=self.shape)
        made = self.conv(data, channels, 3)
        earlier = [made]
        for _ in range(size):
            made = self.layer(made, earlier)
            earlier.append(made)
        if self.chance.random() < 0.3:
            made = nn.softmax(self.head(made))
        elif self.chance.random() < 0.8:
            made = self.head(made)
        self.mod = relay.transform.InferType()(
            relay.IRModule.from_expr(relay.Function([data], made))
        )

    def batches(self, count: int) -> list[np.ndarray]:
        return [self.chance.standard_normal(self.shape, "float32") for _ in range(count)]

    def pick(self, *options):
        return options[int(self.chance.integers(len(options)))]

    def weight(self, *shape: int) -> relay.Constant:
        spread = np.exp(self.chance.normal(0, 0.4, (shape[0], *[1] * (len(shape) - 1))))
        fan = int(np.prod(shape[1:]))
        values = self.chance.standard_normal(shape) * spread * np.sqrt(2 / fan)
        return relay.const(values.astype("float32"))

    def bias(self, count: int) -> relay.Constant:
        return relay.const((self.chance.standard_normal(count) * 0.2).astype("float32"))

    def extents(self, x):
        function = relay.Function(relay.analysis.free_vars(x), x)
        typed = relay.transform.InferType()(relay.IRModule.from_expr(function))
        return tuple(typed["main"].body.checked_type.concrete_shape)

    def conv(self, x, channels, size, *, groups=1, strides=1):
        given = self.extents(x)[1]
        w = self.weight(channels, given // groups, size, size)
        padding = (size // 2,) * 2 if size > 1 else (0, 0)
        made = nn.conv2d(
            x,
            w,
            strides=(strides, strides),
            padding=padding,
            groups=groups,
            channels=channels,
            kernel_size=(size, size),
        )
        return nn.bias_add(made, self.bias(channels)) if self.chance.random() < 0.8 else made

    def activation(self, x):
        return ACTIVATIONS[self.pick(*ACTIVATIONS)](x)

    def layer(self, x, earlier):
        channels, extent = self.extents(x)[1:3]
        kind = self.pick(
            "conv", "conv", "depthwise", "residual", "residual", "concat", "pool", "mean"
        )
        if kind == "conv":
            strides = 2 if extent > 6 and self.chance.random() < 0.3 else 1
            made = self.conv(x, self.channels, self.pick(1, 3), strides=strides)
            return self.activation(made)
        if kind == "depthwise":
            return self.activation(self.conv(x, channels, 3, groups=channels))
        if kind == "residual":
            same = [one for one in earlier if self.extents(one) == self.extents(x)]
            made = self.conv(self.activation(x), channels, self.pick(1, 3))
            return self.activation(relay.add(made, self.pick(*same) if same else x))
        if kind == "concat":
            same = [one for one in earlier if self.extents(one)[2:] == self.extents(x)[2:]]
            other = self.pick(*same) if same else x
            if self.extents(other)[1] + channels > 4 * self.channels:
                return self.conv(x, self.channels, 1)
            return relay.concatenate((self.activation(self.conv(x, channels, 1)), other), 1)
        if kind == "pool" and extent > 4:
            return self.pick(nn.max_pool2d, nn.avg_pool2d)(x, (2, 2), (2, 2))
        return self.activation(x)

    def head(self, x):
        channels = self.extents(x)[1]
        pooled = nn.batch_flatten(nn.global_avg_pool2d(x))
        w = self.weight(10, channels)
        return nn.bias_add(nn.dense(pooled, w), self.bias(10))
