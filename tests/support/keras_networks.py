"""Networks of Keras that several frontends import."""

from typing import Any

# a network of each family of `keras.applications`, and the size of its images
APPLICATIONS = {
    "ConvNeXtTiny": 64,
    "DenseNet121": 64,
    "EfficientNetB0": 64,
    "EfficientNetV2B0": 64,
    "InceptionResNetV2": 96,
    "InceptionV3": 96,
    "MobileNet": 96,
    "MobileNetV2": 96,
    "MobileNetV3Small": 96,
    "NASNetMobile": 96,
    "ResNet50": 64,
    "ResNet50V2": 64,
    "VGG16": 48,
    "Xception": 96,
}


def application(keras: Any, name: str, size: int) -> Any:
    """A network of `keras.applications` with random weights, without its classifier."""
    build = getattr(keras.applications, name)
    return build(weights=None, input_shape=(size, size, 3), include_top=False, pooling="avg")


def recurrent(keras: Any, reset_after: bool = True) -> Any:
    """A network of each kind of recurrent layer, over sequences of any length."""
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((None, 5)),
            layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
            layers.GRU(6, reset_after=reset_after, return_sequences=True),
            layers.SimpleRNN(3),
        ]
    )
