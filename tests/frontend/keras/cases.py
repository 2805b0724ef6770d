"""Layers of Keras with options away from their defaults."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from tests.frontend.keras.models import Case, keras, reals, whole

IMAGES = {1: (2, 9), 2: (2, 7, 9), 3: (2, 5, 6, 7)}
ACTIVATIONS = (
    "relu", "relu6", "leaky_relu", "sigmoid", "sparse_sigmoid", "softmax", "log_softmax",
    "softplus", "softsign", "soft_shrink", "sparse_plus", "sparsemax", "squareplus", "silu",
    "gelu", "glu", "tanh", "tanh_shrink", "elu", "celu", "selu", "mish", "linear",
    "exponential", "hard_shrink", "hard_sigmoid", "hard_silu", "hard_tanh", "log_sigmoid",
)  # fmt: skip


def images(rank: int, channels: int, last: bool = True) -> np.ndarray:
    batch, *sizes = IMAGES[rank]
    return reals(batch, *sizes, channels) if last else reals(batch, channels, *sizes)


def layer_cases() -> list[Case]:
    families = (
        core,
        activations,
        convolutions,
        separable,
        transposed,
        pools,
        normalization,
        attention,
        heads,
        recurrent,
        wrappers,
        reshaping,
        merging,
        preprocessing,
        signals,
        masked,
        precision,
    )
    found = [case for family in families for case in family()]
    return [one for one in found if one.backend in ("", keras.backend.backend())]


def core() -> Iterator[Case]:
    for shape, bias, activation in product(
        ((3, 5), (2, 3, 5), (2, 2, 3, 5)), (True, False), ("linear", "relu", "softmax")
    ):
        config = {"units": 4, "use_bias": bias, "activation": activation}
        yield Case("Dense", config, [reals(*shape)])
    for equation, output, axes, shape in (
        ("abc,cd->abd", (None, 6), "d", (2, 3, 5)),
        ("ab,bc->ac", 6, None, (2, 5)),
        ("...x,xy->...y", 6, "y", (2, 3, 5)),
        ("abc,cde->abde", (None, 2, 3), "de", (2, 3, 5)),
        ("abcd,cde->abe", (None, 4), "e", (2, 3, 2, 5)),
        ("abc,bcd->abd", (3, 4), None, (2, 3, 5)),
        ("aecd,abcd->acbe", (4, 4, 5), None, (2, 5, 4, 3)),
    )[:6]:
        config = {"equation": equation, "output_shape": output, "bias_axes": axes}
        yield Case("EinsumDense", config, [reals(*shape)])
    for shape in ((3,), (2, 5), (2, 3, 4)):
        yield Case("Embedding", {"input_dim": 9, "output_dim": 4}, [whole(*shape)])
    yield Case("ReversibleEmbedding", {"input_dim": 9, "output_dim": 4}, [whole(2, 5)])
    for tie, cap in product((True, False), (None, 2.0)):
        config = {
            "input_dim": 9, "output_dim": 4, "tie_weights": tie, "reverse_dtype": "float32",
            "logit_soft_cap": cap,
        }  # fmt: skip
        del config["reverse_dtype"]
        yield Case("ReversibleEmbedding", config, [reals(2, 5, 4)], {"reverse": True})
    for name, config in (
        ("Identity", {}),
        ("Dropout", {"rate": 0.5}),
        ("SpatialDropout1D", {"rate": 0.5}),
        ("GaussianDropout", {"rate": 0.5}),
        ("GaussianNoise", {"stddev": 0.5}),
        ("AlphaDropout", {"rate": 0.5}),
        ("ActivityRegularization", {"l1": 0.5}),
    ):
        yield Case(name, config, [reals(2, 3, 4)])
    yield Case("SpatialDropout2D", {"rate": 0.5}, [reals(2, 3, 4, 5)])
    yield Case("SpatialDropout3D", {"rate": 0.5}, [reals(2, 3, 4, 5, 2)])


def activations() -> Iterator[Case]:
    for name in ACTIVATIONS:
        yield Case("Activation", {"activation": name}, [reals(3, 4, 6)])
    for config in (
        {},
        {"max_value": 1.0},
        {"negative_slope": 0.2},
        {"threshold": 0.5},
        {"max_value": 1.5, "negative_slope": 0.2, "threshold": 0.5},
    ):
        yield Case("ReLU", config, [reals(3, 4)])
    for slope in (0.3, 0.05):
        yield Case("LeakyReLU", {"negative_slope": slope}, [reals(3, 4)])
    for alpha in (1.0, 0.3):
        yield Case("ELU", {"alpha": alpha}, [reals(3, 4)])
    yield Case("PReLU", {}, [reals(3, 4, 5)])
    yield Case("PReLU", {"shared_axes": [1]}, [reals(3, 4, 5)])
    yield Case("PReLU", {"shared_axes": [1, 2]}, [reals(3, 4, 5, 2)])
    for axis in (-1, 1, [1, 2], [-1, 1]):
        yield Case("Softmax", {"axis": axis}, [reals(3, 4, 5)])


def convolutions() -> Iterator[Case]:
    for rank in (1, 2, 3):
        for padding, stride, dilation, bias in (
            ("valid", 1, 1, True),
            ("same", 1, 1, True),
            ("same", 2, 1, False),
            ("same", 3, 1, True),
            ("valid", 2, 1, True),
            ("valid", 1, 2, True),
            ("same", 1, 2, False),
        ):
            config = {
                "filters": 4, "kernel_size": 3, "padding": padding, "strides": stride,
                "dilation_rate": dilation, "use_bias": bias,
            }  # fmt: skip
            yield Case(f"Conv{rank}D", config, [images(rank, 6)])
        sizes = (2, 3, 4)[:rank]
        config = {"filters": 4, "kernel_size": sizes, "groups": 2, "activation": "tanh"}
        yield Case(f"Conv{rank}D", config, [images(rank, 6)])
        config = {"filters": 4, "kernel_size": sizes, "padding": "same"}
        yield Case(f"Conv{rank}D", config, [images(rank, 6)])
        config = {"filters": 4, "kernel_size": 3, "data_format": "channels_first"}
        yield Case(f"Conv{rank}D", config, [images(rank, 6, False)])
        config |= {"padding": "same", "strides": 2}
        yield Case(f"Conv{rank}D", config, [images(rank, 6, False)])
        config = {"filters": 4, "kernel_size": 3, "padding": "same", "strides": 2}
        yield Case(f"Conv{rank}D", config, [images(rank, 6)], open_axes=(0, 1))
        yield Case(f"Conv{rank}D", config, [images(rank, 6)], open_axes=(1,))
    for dilation, stride in ((1, 1), (2, 1), (1, 2)):
        config = {"filters": 4, "kernel_size": 3, "padding": "causal"}
        config |= {"dilation_rate": dilation, "strides": stride}
        yield Case("Conv1D", config, [reals(2, 9, 5)])
    yield Case("Conv2D", {"filters": 4, "kernel_size": 1}, [reals(2, 7, 9, 5)])


def separable() -> Iterator[Case]:
    for rank, multiplier in product((1, 2), (1, 2)):
        for padding, stride, dilation in (
            ("valid", 1, 1),
            ("same", 1, 1),
            ("same", 2, 1),
            ("valid", 2, 1),
            ("valid", 1, 2),
        ):
            config = {
                "kernel_size": 3, "padding": padding, "strides": stride, "dilation_rate": dilation,
                "depth_multiplier": multiplier,
            }  # fmt: skip
            yield Case(f"DepthwiseConv{rank}D", config, [images(rank, 3)])
            config = {**config, "filters": 5, "activation": "relu"}
            yield Case(f"SeparableConv{rank}D", config, [images(rank, 3)])
        config = {"kernel_size": 3, "data_format": "channels_first", "use_bias": False}
        config["depth_multiplier"] = multiplier
        yield Case(f"DepthwiseConv{rank}D", config, [images(rank, 3, False)])
        yield Case(f"SeparableConv{rank}D", {**config, "filters": 4}, [images(rank, 3, False)])
        config = {"kernel_size": 3, "padding": "same", "strides": 2}
        yield Case(f"DepthwiseConv{rank}D", config, [images(rank, 3)], open_axes=(0, 1))


def transposed() -> Iterator[Case]:
    for rank in (1, 2, 3):
        for padding, stride, size in product(("valid", "same"), (1, 2, 3), (2, 3, 4)):
            # with other sizes backends of Keras differ: that of PyTorch pads at the end only
            if padding == "same" and (size - stride) % 2 and size > stride:
                continue
            config = {"filters": 4, "kernel_size": size, "padding": padding, "strides": stride}
            if size < stride:
                continue
            yield Case(f"Conv{rank}DTranspose", config, [images(rank, 3)])
        config = {"filters": 4, "kernel_size": 3, "strides": 2, "output_padding": 1}
        yield Case(f"Conv{rank}DTranspose", config, [images(rank, 3)])
        config = {"filters": 4, "kernel_size": 3, "dilation_rate": 2}
        yield Case(f"Conv{rank}DTranspose", config, [images(rank, 3)])
        config = {"filters": 4, "kernel_size": 3, "data_format": "channels_first"}
        yield Case(f"Conv{rank}DTranspose", config, [images(rank, 3, False)])


def pools() -> Iterator[Case]:
    for rank, kind in product((1, 2, 3), ("Max", "Average")):
        for padding, stride, size in (
            ("valid", None, 2),
            ("same", None, 2),
            ("same", 2, 3),
            ("valid", 1, 3),
            ("same", 1, 2),
        ):
            config = {"pool_size": size, "strides": stride, "padding": padding}
            # PyTorch's mean of volumes at the edges counts padding
            only = (
                "tensorflow" if (kind, rank, padding, stride) == ("Average", 3, "same", 2) else ""
            )
            yield Case(f"{kind}Pooling{rank}D", config, [images(rank, 3)], backend=only)
        config = {"pool_size": 2, "data_format": "channels_first", "padding": "same"}
        yield Case(f"{kind}Pooling{rank}D", config, [images(rank, 3, False)])
        config = {"pool_size": 3, "strides": 2, "padding": "same"}
        only = "tensorflow" if (kind, rank) == ("Average", 3) else ""
        yield Case(
            f"{kind}Pooling{rank}D", config, [images(rank, 3)], open_axes=(0, 1), backend=only
        )
        for keeps, last in product((False, True), (True, False)):
            name = "channels_last" if last else "channels_first"
            config = {"keepdims": keeps, "data_format": name}
            yield Case(f"Global{kind}Pooling{rank}D", config, [images(rank, 3, last)])
        for size, last in product((1, 2, 3), (True, False)):
            name = "channels_last" if last else "channels_first"
            config = {"output_size": size, "data_format": name}
            yield Case(f"Adaptive{kind}Pooling{rank}D", config, [images(rank, 3, last)])


def normalization() -> Iterator[Case]:
    for axis, center, scale in product((-1, 1), (True, False), (True, False)):
        config = {"axis": axis, "center": center, "scale": scale, "epsilon": 0.01}
        yield Case("BatchNormalization", config, [reals(2, 5, 4, 3)])
    yield Case("BatchNormalization", {}, [reals(3, 4)])
    for axis, center, scale in product((-1, 1, [1, 2], [2, 3]), (True, False), (True, False)):
        config = {"axis": axis, "center": center, "scale": scale}
        only = "" if axis in (-1, [2, 3]) else "tensorflow"  # that of PyTorch has an error there
        yield Case("LayerNormalization", config, [reals(2, 3, 4, 5)], backend=only)
    for axis in (-1, 2, (1, 2)):
        yield Case("RMSNormalization", {"axis": axis}, [reals(2, 3, 4)])
    for groups, axis, center in product((1, 2, -1), (-1, 1), (True, False)):
        config = {"groups": groups, "axis": axis, "center": center}
        yield Case("GroupNormalization", config, [reals(2, 4, 3, 4)])
    for axis in (-1, 1, [1, 2]):
        yield Case("UnitNormalization", {"axis": axis}, [reals(2, 3, 4)])
    for axis, mean, variance, invert in (
        (-1, [1.0, 2.0, 3.0], [0.5, 1.5, 2.0], False),
        (-1, [1.0, 2.0, 3.0], [0.5, 1.5, 2.0], True),
        (None, 2.0, 3.0, False),
        (None, 2.0, 3.0, True),
    ):
        config = {"axis": axis, "mean": mean, "variance": variance, "invert": invert}
        yield Case("Normalization", config, [reals(2, 4, 3)])


def attention() -> Iterator[Case]:
    for scale, causal, mode in product((False, True), (False, True), ("dot", "concat")):
        config = {"use_scale": scale, "score_mode": mode}
        given = [reals(2, 3, 4), reals(2, 5, 4)]
        yield Case("Attention", config, given, {"use_causal_mask": causal}, as_list=True)
    for scale in (True, False):
        given = [reals(2, 3, 4), reals(2, 5, 4), reals(2, 5, 4, seed=9)]
        yield Case("Attention", {"use_scale": scale}, given, as_list=True)
        yield Case("AdditiveAttention", {"use_scale": scale}, given, as_list=True)
        call = {"return_attention_scores": True}
        yield Case("AdditiveAttention", {"use_scale": scale}, given[:2], call, as_list=True)


def heads() -> Iterator[Case]:
    pair = [reals(2, 3, 6), reals(2, 5, 6)]
    for config in (
        {},
        {"use_bias": False},
        {"value_dim": 3},
        {"output_shape": 5},
        {"use_gate": True},
        {"sliding_window": 2},
    ):
        for causal in (False, True):
            whole_config = {"num_heads": 2, "key_dim": 4, **config}
            given = pair if "sliding_window" not in config else [pair[0], pair[0]]
            yield Case("MultiHeadAttention", whole_config, given, {"use_causal_mask": causal})
    yield Case(
        "MultiHeadAttention", {"num_heads": 2, "key_dim": 4}, [*pair, reals(2, 5, 6, seed=8)]
    )
    call = {"return_attention_scores": True}
    yield Case("MultiHeadAttention", {"num_heads": 2, "key_dim": 4}, pair, call)
    config = {"num_heads": 2, "key_dim": 4, "attention_axes": (1, 2)}
    yield Case("MultiHeadAttention", config, [reals(2, 3, 2, 6), reals(2, 3, 2, 6, seed=3)])
    config = {"num_heads": 2, "key_dim": 4, "attention_axes": (2,)}
    yield Case("MultiHeadAttention", config, [reals(2, 3, 4, 6), reals(2, 3, 4, 6, seed=3)])
    for causal, bias in product((False, True), (False, True)):
        config = {"head_dim": 4, "num_query_heads": 6, "num_key_value_heads": 2, "use_bias": bias}
        yield Case("GroupQueryAttention", config, pair, {"use_causal_mask": causal})

    def with_mask(query: Any, value: Any, mask: Any) -> Any:
        return keras.layers.MultiHeadAttention(2, 4)(query, value, attention_mask=mask)

    seen = whole(2, 3, 5, high=2, dtype="bool")
    yield Case("MultiHeadAttention.mask", {}, [*pair, seen], make=with_mask)


def recurrent() -> Iterator[Case]:
    data = reals(3, 5, 4)
    for kind, sequences, state, backwards in product(
        ("LSTM", "GRU", "SimpleRNN"), (False, True), (False, True), (False, True)
    ):
        config = {
            "units": 3, "return_sequences": sequences, "return_state": state,
            "go_backwards": backwards,
        }  # fmt: skip
        yield Case(kind, config, [data])
    for kind in ("LSTM", "GRU", "SimpleRNN"):
        config = {"units": 3, "use_bias": False, "activation": "relu", "return_sequences": True}
        yield Case(kind, config, [data])
        yield Case(kind, {"units": 3, "return_sequences": True}, [data], open_axes=(0, 1))
        yield Case(kind, {"units": 3, "unroll": True}, [data], open_axes=())
    for activation in ("hard_sigmoid", "sigmoid"):
        yield Case("LSTM", {"units": 3, "recurrent_activation": activation}, [data])
        config = {"units": 3, "recurrent_activation": activation, "reset_after": False}
        yield Case("GRU", config, [data])
        yield Case("GRU", {**config, "use_bias": False, "return_sequences": True}, [data])

    def with_state(x: Any, h: Any, c: Any) -> Any:
        return keras.layers.LSTM(3, return_state=True)(x, initial_state=[h, c])

    yield Case("LSTM.state", {}, [data, reals(3, 3), reals(3, 3, seed=2)], make=with_state)
    cells = keras.layers

    def stacked(x: Any) -> Any:
        parts = [cells.LSTMCell(3), cells.GRUCell(2), cells.SimpleRNNCell(4)]
        return cells.RNN(parts, return_sequences=True, return_state=True)(x)

    yield Case("RNN.stacked", {}, [data], make=stacked)
    for cell in ("LSTMCell", "GRUCell", "SimpleRNNCell"):
        made = lambda x, cell=cell: cells.RNN(getattr(cells, cell)(3))(x)  # noqa: E731
        yield Case(f"RNN.{cell}", {}, [data], make=made)
    for rank, padding, last in product((1, 2), ("valid", "same"), (True, False)):
        sizes = ((6,), (5, 6))[rank - 1]
        config = {
            "filters": 3, "kernel_size": 3, "padding": padding,
            "return_sequences": padding == "same",
            "data_format": "channels_last" if last else "channels_first",
        }  # fmt: skip
        shape = (2, 4, *sizes, 2) if last else (2, 4, 2, *sizes)
        yield Case(f"ConvLSTM{rank}D", config, [reals(*shape)])
    config = {"filters": 2, "kernel_size": 2, "return_state": True, "strides": 2}
    yield Case("ConvLSTM3D", config, [reals(2, 3, 4, 4, 4, 2)])


def wrappers() -> Iterator[Case]:
    layers = keras.layers
    data = reals(3, 5, 4)
    for kind, mode, sequences in product(
        ("LSTM", "GRU", "SimpleRNN"), ("concat", "sum", "ave", "mul", None), (False, True)
    ):

        def made(x: Any, kind: Any = kind, mode: Any = mode, sequences: Any = sequences) -> Any:
            layer = getattr(layers, kind)(3, return_sequences=sequences)
            return layers.Bidirectional(layer, merge_mode=mode)(x)

        yield Case(f"Bidirectional.{kind}.{mode}.{sequences}", {}, [data], make=made)

    def both(x: Any) -> Any:
        back = layers.GRU(3, go_backwards=True, return_state=True)
        return layers.Bidirectional(layers.LSTM(3, return_state=True), backward_layer=back)(x)

    def with_state(x: Any) -> Any:
        return layers.Bidirectional(layers.GRU(3, return_state=True))(x)

    yield Case("Bidirectional.state", {}, [data], make=with_state)

    def other(x: Any) -> Any:
        back = layers.LSTM(2, go_backwards=True)
        return layers.Bidirectional(layers.GRU(3), backward_layer=back)(x)

    yield Case("Bidirectional.other", {}, [data], make=other)
    for name, inner, shape in (
        ("dense", lambda: layers.Dense(2), (3, 5, 4)),
        ("convolution", lambda: layers.Conv2D(2, 3), (2, 3, 5, 6, 2)),
        ("lstm", lambda: layers.LSTM(2), (2, 3, 4, 2)),
        ("batch", lambda: layers.BatchNormalization(), (3, 5, 4)),
        ("model", lambda: keras.Sequential([layers.Dense(3), layers.Dense(2)]), (3, 5, 4)),
    ):
        made = lambda x, inner=inner: layers.TimeDistributed(inner())(x)  # noqa: E731
        yield Case(f"TimeDistributed.{name}", {}, [reals(*shape)], make=made)
    made = lambda x: layers.SpectralNormalization(layers.Dense(3))(x)  # noqa: E731
    yield Case("SpectralNormalization", {}, [reals(3, 4)], make=made)


def reshaping() -> Iterator[Case]:
    for shape in ((3, 4), (2, 3, 4), (2, 3, 4, 5)):
        yield Case("Flatten", {}, [reals(*shape)])
    yield Case("Flatten", {"data_format": "channels_first"}, [reals(2, 3, 4, 5)])
    yield Case("Flatten", {}, [reals(2, 3, 4)], open_axes=(0, 1))
    for target in ((6, 4), (-1, 2), (24,), (2, 3, 2, -1)):
        yield Case("Reshape", {"target_shape": target}, [reals(3, 4, 6)])
        yield Case("Reshape", {"target_shape": target}, [reals(3, 4, 6)], open_axes=())
    yield Case("Reshape", {"target_shape": (-1, 3)}, [reals(3, 4, 6)], open_axes=(0, 1))
    yield Case("Permute", {"dims": (2, 1)}, [reals(3, 4, 6)])
    yield Case("Permute", {"dims": (3, 1, 2)}, [reals(3, 4, 6, 2)])
    yield Case("RepeatVector", {"n": 3}, [reals(3, 4)])
    for rank in (1, 2, 3):
        for size, last in product((1, 2, ((1, 2), (0, 3), (2, 1))[:rank]), (True, False)):
            name = "channels_last" if last else "channels_first"
            if rank == 1 and isinstance(size, tuple):
                size = size[0]
            config = {"padding": size, "data_format": name}
            yield Case(f"ZeroPadding{rank}D", config, [images(rank, 2, last)])
            config = {"cropping": size}
            if rank > 1:
                config["data_format"] = name
            elif not last:
                continue
            yield Case(f"Cropping{rank}D", config, [images(rank, 2, last)])
    yield Case("UpSampling1D", {"size": 3}, [reals(2, 4, 3)])
    yield Case("UpSampling3D", {"size": (2, 1, 3)}, [reals(2, 3, 2, 4, 3)])
    for mode, last in product(("nearest", "bilinear", "bicubic"), (True, False)):
        name = "channels_last" if last else "channels_first"
        config = {"size": (2, 3), "interpolation": mode, "data_format": name}
        # PyTorch has another kernel; TensorFlow has a table of it
        more = {"backend": "tensorflow", "tolerance": 2e-3} if mode == "bicubic" else {}
        yield Case("UpSampling2D", config, [images(2, 3, last)], **more)
        yield Case("UpSampling2D", config, [images(2, 3, last)], open_axes=(0, 1, 2), **more)


def merging() -> Iterator[Case]:
    for kind in ("Add", "Multiply", "Average", "Maximum", "Minimum"):
        given = [reals(2, 3, 4, seed=seed) for seed in range(3)]
        yield Case(kind, {}, given, as_list=True)
        yield Case(kind, {}, [reals(2, 3, 4), reals(2, 1, 4)], as_list=True)
        yield Case(kind, {}, [reals(2, 3, 4), reals(2, 4)], as_list=True)
    yield Case("Subtract", {}, [reals(2, 3, 4), reals(2, 3, 4, seed=1)], as_list=True)
    for axis in (-1, 1, 2):
        given = [reals(2, 3, 4, seed=seed) for seed in range(3)]
        yield Case("Concatenate", {"axis": axis}, given, as_list=True)
    for axes, left, right in (
        (1, (2, 4), (2, 4)),
        (2, (2, 3, 4), (2, 5, 4)),
        (1, (2, 4, 3), (2, 4, 5)),
        ((2, 1), (2, 3, 4), (2, 4, 5)),
        ((1, 2), (2, 4, 3), (2, 5, 4)),
        ((1, 1), (2, 4, 3), (2, 4)),
        ((3, 1), (2, 3, 2, 4), (2, 4, 5)),
    ):
        for normalize in (False, True):
            config = {"axes": axes, "normalize": normalize}
            yield Case("Dot", config, [reals(*left), reals(*right, seed=3)], as_list=True)


def preprocessing() -> Iterator[Case]:
    yield Case("Rescaling", {"scale": 0.5, "offset": 1.5}, [reals(2, 3, 4, 2)])
    yield Case("Rescaling", {"scale": [0.5, 2.0]}, [reals(2, 3, 4, 2)])
    yield Case("Rescaling", {"scale": 1 / 255}, [whole(2, 3, 4, 2, high=255, dtype="uint8")])
    for mode in ("int", "one_hot", "multi_hot", "count"):
        config = {"bin_boundaries": [-1.0, 0.0, 1.0], "output_mode": mode}
        yield Case("Discretization", config, [reals(3, 4)], open_axes=())
    for mode in ("one_hot", "multi_hot", "count"):
        config = {"num_tokens": 9, "output_mode": mode}
        yield Case("CategoryEncoding", config, [whole(3, 4)], open_axes=())
    for mode, mask in product(("int", "multi_hot", "count"), (None, 0)):
        config = {"vocabulary": [5, 2, 7, 3], "mask_token": mask, "output_mode": mode}
        numbers = whole(3, 4, dtype="int64")
        yield Case("IntegerLookup", config, [numbers], open_axes=(), backend="tensorflow")
    for mode, size in product(("nearest", "bilinear", "bicubic"), ((4, 5), (11, 13), (7, 13))):
        config = {"height": size[0], "width": size[1], "interpolation": mode}
        more: Any = {"backend": "tensorflow", "tolerance": 2e-3} if mode == "bicubic" else {}
        yield Case("Resizing", config, [reals(2, 7, 9, 3)], **more)
    config = {"height": 4, "width": 5, "antialias": True}
    yield Case("Resizing", config, [reals(2, 7, 9, 3)])
    yield Case("CenterCrop", {"height": 4, "width": 5}, [reals(2, 7, 8, 3)])


def masked() -> Iterator[Case]:
    layers = keras.layers
    steps = reals(3, 6, 4)
    steps[0, 3:] = 0
    steps[1, 1:3] = 0
    steps[2, :1] = 0
    tokens = whole(3, 6, low=0, high=4)

    def after_masking(make: Any) -> Any:
        return lambda x: make(layers.Masking()(x))

    def after_embedding(make: Any) -> Any:
        return lambda x: make(layers.Embedding(5, 4, mask_zero=True)(x))

    def joined(x: Any) -> Any:
        return layers.GlobalAveragePooling1D()(layers.Concatenate()([x, x]))

    def attended(x: Any) -> Any:
        return layers.GlobalAveragePooling1D()(layers.MultiHeadAttention(2, 3)(x, x))

    makers = {
        "none": lambda x: x,
        "LSTM": layers.LSTM(3),
        "LSTM.all": layers.LSTM(3, return_sequences=True, return_state=True),
        "GRU.back": layers.GRU(3, go_backwards=True, return_sequences=True),
        "RNN.zeros": layers.SimpleRNN(3, return_sequences=True),
        "both": layers.Bidirectional(layers.LSTM(3, return_sequences=True)),
        "both.last": layers.Bidirectional(layers.GRU(3)),
        "pool": layers.GlobalAveragePooling1D(),
        "dense": lambda x: layers.GlobalAveragePooling1D()(layers.Dense(3)(x)),
        "joined": joined,
        "add": lambda x: layers.LSTM(2)(layers.Add()([x, x])),
        "heads": attended,
        "dot": lambda x: layers.Attention()([x, x]),
        "two": lambda x: layers.LSTM(2)(layers.LSTM(3, return_sequences=True)(x)),
        "softmax": lambda x: layers.GlobalAveragePooling1D()(layers.Dropout(0.5)(x)),
    }
    for name in makers:

        def fresh(x: Any, name: str = name) -> Any:
            made = makers[name]
            if isinstance(made, layers.Layer):
                made = type(made).from_config(made.get_config())
            return made(x)

        yield Case(f"Masking.{name}", {}, [steps], make=after_masking(fresh))
        yield Case(f"Embedding.{name}", {}, [tokens], make=after_embedding(fresh))


def precision() -> Iterator[Case]:
    """Other types of computation than that of the weights."""
    for dtype in ("float16", "float64", "mixed_float16"):
        tolerance = 2e-5 if dtype == "float64" else 4e-3
        for kind, config, shape in (
            ("Dense", {"units": 4}, (3, 5)),
            ("Conv2D", {"filters": 4, "kernel_size": 3}, (2, 7, 9, 3)),
            ("BatchNormalization", {}, (3, 4)),
            ("LayerNormalization", {}, (3, 8)),
            ("Activation", {"activation": "gelu"}, (3, 8)),
        ):
            given = [reals(*shape)]
            yield Case(kind, {**config, "dtype": dtype}, given, tolerance=tolerance)


def signals() -> Iterator[Case]:
    audio = reals(2, 50, 2)
    for mode in ("log", "magnitude", "psd", "real", "imag", "angle", "stft"):
        for last, wide in ((True, False), (False, True)):
            options = {"mode": mode, "frame_length": 12, "frame_step": 5, "expand_dims": wide}
            options["data_format"] = "channels_last" if last else "channels_first"
            x = audio if last else np.ascontiguousarray(audio.transpose(0, 2, 1))
            yield Case("STFTSpectrogram", options, [x], tolerance=2e-4)
    yield Case("STFTSpectrogram", {"frame_length": 16, "padding": "same"}, [audio], tolerance=2e-4)
    sizes = {"fft_length": 32, "sequence_stride": 8, "num_mel_bins": 10, "sampling_rate": 4000}
    for options in (
        sizes,
        {**sizes, "power_to_db": False, "mag_exp": 1.0, "max_freq": 1500},
        {**sizes, "sequence_length": 24, "window": "hamming"},
    ):
        yield Case("MelSpectrogram", options, [reals(2, 100)], tolerance=2e-4)
    pictures = reals(2, 9, 10, 3, low=0, high=255)
    for kind, options in (
        ("AutoContrast", {}),
        ("AutoContrast", {"value_range": (0, 1)}),
        ("ContrastLimitedAdaptiveHistogramEqualization", {"tile_grid_size": (2, 3)}),
        ("ContrastLimitedAdaptiveHistogramEqualization",
         {"tile_grid_size": (3, 2), "clip_limit": 1.5, "value_range": (0, 1)}),
    ):  # fmt: skip
        x = pictures / 255 if "value_range" in options else pictures
        # numbers of elements are integers with the backend of PyTorch, and limits of them, too
        only = "tensorflow" if kind.startswith("ContrastLimited") else ""
        yield Case(kind, options, [x], tolerance=1e-3, backend=only)
    yield Case("RandomCrop", {"height": 4, "width": 5}, [pictures])
