"""Writes a network of Keras as a file of TFLite, with TensorFlow's converter.

    KERAS_BACKEND=tensorflow python tests/frontend/tflite/convert.py MobileNet 96 int8 model.tflite

`float`: as it is, with an open batch; `int8`: all tensors quantized, by a few random images.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np


def recurrent(keras: Any, kind: str) -> Any:
    layers = keras.layers
    layer = getattr(layers, kind)(6, return_sequences=True)
    return keras.Sequential([keras.Input((7, 5), batch_size=2), layer, layers.Dense(3)])


# the stages of EfficientNet-lite: how much wider they are inside, channels, blocks, stride, window
STAGES = (
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)


def efficientnet_lite(keras: Any, size: int) -> Any:
    """EfficientNet-lite0, which Keras does not have: without gates, bounded at 6."""
    layers = keras.layers

    def normalized(x: Any, layer: Any, bounded: bool = True) -> Any:
        x = layers.BatchNormalization()(layer(x))
        return layers.ReLU(6.0)(x) if bounded else x

    def pointwise(channels: int) -> Any:
        return layers.Conv2D(channels, 1, use_bias=False)

    data = keras.Input((size, size, 3))
    x = normalized(data, layers.Conv2D(32, 3, 2, "same", use_bias=False))
    for wider, channels, count, stride, window in STAGES:
        for block in range(count):
            before, step = x, stride if block == 0 else 1
            if wider > 1:
                x = normalized(x, pointwise(wider * x.shape[-1]))
            x = normalized(x, layers.DepthwiseConv2D(window, step, "same", use_bias=False))
            x = normalized(x, pointwise(channels), bounded=False)
            x = x + before if block else x
    x = normalized(x, pointwise(1280))
    return keras.Model(data, layers.GlobalAveragePooling2D()(x))


def network(keras: Any, name: str, size: int) -> Any:
    if name == "EfficientNetLite":
        return efficientnet_lite(keras, size)
    if name in ("LSTM", "GRU", "SimpleRNN"):
        return recurrent(keras, name)
    build = getattr(keras.applications, name)
    return build(weights=None, input_shape=(size, size, 3), include_top=False, pooling="avg")


def main(name: str, size: str, kind: str, target: str) -> None:
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    model = network(keras, name, int(size))
    shape = [one or 1 for one in model.inputs[0].shape]
    random = np.random.default_rng(9)

    def images() -> Iterator[list[np.ndarray]]:
        for _ in range(8):
            yield [random.uniform(-1, 1, shape).astype("float32")]

    with tempfile.TemporaryDirectory() as folder:
        if model.inputs[0].shape[0] is None:
            model.export(folder, verbose=False)
            converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        else:  # lists of tensors need all sizes
            function = tf.function(lambda x: model(x, training=False))
            concrete = function.get_concrete_function(tf.TensorSpec(shape))
            converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], model)
        if kind == "int8":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
            converter.representative_dataset = images
            converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
            converter.inference_input_type = converter.inference_output_type = tf.int8
        Path(target).write_bytes(converter.convert())


if __name__ == "__main__":
    main(*sys.argv[1:])
