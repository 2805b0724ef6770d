"""Models of Keras as modules: weights, names, sizes that are left open, files, what is refused."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from relay.errors import FrontendError, RelayError
from relay.frontend import from_keras
from relay.frontend.keras.converters import Table
from relay.frontend.keras.slots import kernel_bias
from relay.op import nn
from tests.frontend.keras.cases import layer_cases
from tests.frontend.keras.models import KERAS, build, fill, keras, ours, reals, same, theirs, whole
from tests.support import sampling
from tests.support.looping import naming

pytestmark = pytest.mark.filterwarnings(*KERAS)
layers = keras.layers


def image_model() -> Any:
    """Convolutions, shared layers, a model in it, two inputs and two outputs."""
    keras.utils.clear_session(free_memory=False)
    image = keras.Input((8, 8, 3), name="image")
    extra = keras.Input((4,), name="extra")
    x = layers.Conv2D(4, 3, strides=2, padding="same", activation="relu")(image)
    x = layers.BatchNormalization(trainable=False)(x)
    x = layers.GlobalAveragePooling2D()(x)
    head = keras.Sequential(
        [keras.Input((4,)), layers.Dense(5), layers.BatchNormalization(), layers.Dense(4)],
        name="head",
    )
    both = layers.Rescaling(2.0)(layers.Add()([head(x), head(extra)]))
    model = keras.Model([image, extra], {"sum": both, "other": layers.Dense(2)(both)})
    fill(model)
    return model


FEEDS = [reals(2, 8, 8, 3), reals(2, 4)]


def sequence_model() -> Any:
    keras.utils.clear_session(free_memory=False)
    tokens = keras.Input((None,), dtype="int32", name="tokens")
    x = layers.Embedding(9, 6, mask_zero=True)(tokens)
    x = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x)
    x = layers.MultiHeadAttention(2, 4)(x, x)
    x = layers.RNN([layers.GRUCell(3), layers.LSTMCell(2)])(x)
    model = keras.Model(tokens, layers.TimeDistributed(layers.Dense(2))(layers.RepeatVector(2)(x)))
    fill(model)
    return model


def test_weights_are_parameters_by_name() -> None:
    mod, params = from_keras(image_model())
    assert params["conv2d/kernel"].shape == (3, 3, 3, 4)
    assert {name for name in params if name.startswith("head/")} == {
        f"head/{one}"
        for one in (
            "dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias",
            "batch_normalization_1/gamma", "batch_normalization_1/beta",
            "batch_normalization_1/moving_mean", "batch_normalization_1/moving_variance",
        )
    }  # fmt: skip
    names = [one.name_hint for one in mod["main"].params]
    assert names[:2] == ["image", "extra"] and set(names[2:]) == set(params)


def test_all_kinds_of_files_give_what_the_object_gives(tmp_path: Path) -> None:
    tokens = whole(3, 5)
    for make, feeds in ((image_model, FEEDS), (sequence_model, [tokens])):
        model = make()
        wanted = theirs(model, feeds)
        same(ours(model, feeds), wanted)
        for name in ("net.keras", "net.h5"):
            path = tmp_path / name
            model.save(path)
            same(ours(path, feeds), wanted)
        same(ours((tmp_path / "net.keras").read_bytes(), feeds), wanted)


def test_files_have_the_variables_of_every_layer_where_they_are_looked_for(tmp_path: Path) -> None:
    chosen = {case.kind: case for case in layer_cases()}
    for kind in sampling.part_of(sorted(chosen), 25):
        with naming(kind):
            model = build(chosen[kind])
            mod, params = from_keras(model)
            for name in ("net.keras", "net.h5"):
                model.save(tmp_path / name)
                other, read = from_keras(tmp_path / name)
                assert str(other["main"].checked_type) == str(mod["main"].checked_type)
                assert {*read} == {*params}
                for key, one in params.items():
                    np.testing.assert_array_equal(read[key].numpy(), one.numpy())


def test_a_layer_whose_class_has_another_name_is_read_from_a_file(tmp_path: Path) -> None:
    data, other = keras.Input((5, 6)), keras.Input((4, 6))
    model = keras.Model([data, other], layers.GroupQueryAttention(3, 4, 2)(data, other))
    fill(model)
    model.save(tmp_path / "net.keras")
    feeds = [reals(2, 5, 6), reals(2, 4, 6)]
    same(ours(tmp_path / "net.keras", feeds), theirs(model, feeds))


def test_a_file_is_known_by_its_content(tmp_path: Path) -> None:
    model = image_model()
    wanted = theirs(model, FEEDS)
    for suffix in (".keras", ".h5"):
        model.save(tmp_path / f"net{suffix}")
        path = (tmp_path / f"net{suffix}").rename(tmp_path / f"net{suffix}.bin")
        for form in (path, str(path), path.read_bytes()):
            same(list(relay.compile(form)(*FEEDS)), wanted)
    same(list(relay.compile(model)(*FEEDS)), wanted)


def test_sizes_that_are_left_open_are_variables() -> None:
    model = sequence_model()
    mod, params = from_keras(model)
    assert "Tensor[(n0, d1), int32]" in str(mod["main"].checked_type)
    exe = relay.compile(mod, params)
    for shape in ((1, 1), (2, 7), (4, 3)):
        tokens = whole(*shape)
        same([exe(tokens)], theirs(model, [tokens]))


def test_shapes_can_be_given_by_name_and_in_order() -> None:
    model = image_model()
    for given in ({"image": (1, 8, 8, 3), "extra": (1, 4)}, [(1, 8, 8, 3), (1, 4)]):
        mod, _ = from_keras(model, given)
        assert "fn (Tensor[(1, 8, 8, 3), float32], Tensor[(1, 4)" in str(mod["main"].checked_type)
    with pytest.raises(FrontendError, match="has no input `picture`"):
        from_keras(model, {"picture": (1, 8, 8, 3)})
    with pytest.raises(FrontendError, match="other shapes than inputs"):
        from_keras(model, [(1, 8, 8, 3)])


def test_channels_stay_last_unless_they_are_asked_to_be_first() -> None:
    model = image_model()
    mod, _ = from_keras(model)
    assert 'data_layout="NHWC"' in mod.astext()
    turned, params = from_keras(model, layout="NCHW")
    assert 'data_layout="NHWC"' not in turned.astext()
    same(list(relay.compile(turned, params)(*FEEDS)), theirs(model, FEEDS))
    with pytest.raises(FrontendError, match="no such layout"):
        from_keras(model, layout="CHWN")


def test_all_that_is_not_supported_is_named_at_once(tmp_path: Path) -> None:
    keras.utils.clear_session(free_memory=False)

    class Doubled(layers.Layer):
        def call(self, x: Any) -> Any:
            return x * 2

    x = keras.Input((3,))
    y = Doubled(name="mine")(x)
    y = layers.Lambda(lambda a: a + 1, name="code")(y)
    model = keras.Model(x, keras.ops.unique(y, size=2))
    with pytest.raises(FrontendError) as caught:
        from_keras(model)
    text = str(caught.value)
    assert "custom layer `Doubled`, 1 time: `mine`" in text
    assert "layer `Lambda`, which is code, 1 time: `code`" in text
    assert "operation `numpy.Unique`, 1 time" in text
    assert "model.export" in text


@pytest.mark.parametrize("mode", ["int8", "int4", "float8"])
def test_layers_that_keras_quantized_are_refused(mode: str, tmp_path: Path) -> None:
    data = keras.Input((5,))
    quantized = layers.Dense(4, dtype=f"{mode}_from_mixed_bfloat16", name="few")
    model = keras.Model(data, layers.Dense(3)(quantized(data)))
    model.save(tmp_path / "net.keras")
    for form in (model, tmp_path / "net.keras"):
        with pytest.raises(FrontendError, match=f"`Dense` quantized by `{mode}`, 1 time: `few`"):
            from_keras(form)


def test_a_converter_of_ones_own_translates_a_layer_of_ones_own() -> None:
    keras.utils.clear_session(free_memory=False)

    class Scaled(layers.Dense):
        def call(self, x: Any) -> Any:
            return super().call(x) * 3

    x = keras.Input((3,))
    model = keras.Model(x, Scaled(4)(x))
    fill(model)
    mine = Table("custom")

    @mine("Scaled", variables=kernel_bias)
    def scaled(node: Any, inputs: Any) -> Any:
        sums = nn.matmul(inputs, node.needed("kernel"))
        return nn.bias_add(sums, node.needed("bias"), axis=-1) * node.number(3, inputs)

    data = reals(2, 3)
    same(ours(model, [data], layers=[mine]), theirs(model, [data]))


def test_a_model_without_a_graph_is_refused_with_what_to_do() -> None:
    class Free(keras.Model):
        def call(self, x: Any) -> Any:
            return x

    with pytest.raises(FrontendError, match="has no graph") as caught:
        from_keras(Free())
    assert "model.export" in str(caught.value)


def test_weights_without_a_model_are_refused(tmp_path: Path) -> None:
    model = image_model()
    model.save_weights(tmp_path / "net.weights.h5")
    with pytest.raises(FrontendError, match="weights and no model"):
        from_keras(tmp_path / "net.weights.h5")


def test_errors_name_the_layer() -> None:
    keras.utils.clear_session(free_memory=False)
    x = keras.Input(batch_shape=(2, 3, 4))
    model = keras.Model(x, layers.LSTM(3, stateful=True, name="kept")(x))
    with pytest.raises(FrontendError, match="layer LSTM `kept`") as caught:
        from_keras(model)
    assert "keeps its state" in str(caught.value)


def test_lists_of_calls_of_keras_2_are_read(tmp_path: Path) -> None:
    """The configuration of a functional model as Keras 2 wrote it, with weights of today."""
    keras.utils.clear_session(free_memory=False)
    x = keras.Input((3,), name="x")
    y = layers.Dense(4, name="first")(x)
    model = keras.Model(x, layers.Add(name="sum")([y, y]), name="net")
    fill(model)
    model.save(tmp_path / "new.h5")
    import h5py

    def layer(kind: str, name: str, calls: Any, **config: Any) -> Any:
        return {"class_name": kind, "name": name, "config": {"name": name, **config},
                "inbound_nodes": calls}  # fmt: skip

    config = {
        "class_name": "Functional",
        "config": {
            "name": "net",
            "layers": [
                layer("InputLayer", "x", [], batch_input_shape=[None, 3], dtype="float32"),
                layer("Dense", "first", [[["x", 0, 0, {}]]], units=4, activation="linear"),
                layer("Add", "sum", [[["first", 0, 0, {}], ["first", 0, 0, {}]]]),
            ],
            "input_layers": [["x", 0, 0]],
            "output_layers": [["sum", 0, 0]],
        },
    }
    with h5py.File(tmp_path / "new.h5", "a") as file:
        file.attrs["model_config"] = json.dumps(config)
    data = reals(2, 3)
    same(ours(tmp_path / "new.h5", [data]), theirs(model, [data]))


def test_adapted_statistics_and_words_are_read_from_files(tmp_path: Path) -> None:
    keras.utils.clear_session(free_memory=False)
    x = keras.Input((3,))
    scaled = layers.Normalization()
    scaled.adapt(reals(20, 3))
    model = keras.Model(x, scaled(x))
    model.save(tmp_path / "net.keras")
    data = reals(2, 3)
    for form in (model, tmp_path / "net.keras"):
        same(ours(form, [data]), theirs(model, [data]))


def test_entries_of_an_archive_are_not_written_anywhere(tmp_path: Path) -> None:
    model = image_model()
    model.save(tmp_path / "net.keras")
    with zipfile.ZipFile(tmp_path / "net.keras", "a") as archive:
        archive.writestr("../escaped.txt", "x")
    from_keras(tmp_path / "net.keras")
    assert not (tmp_path.parent / "escaped.txt").exists()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["net.keras"]


def test_random_weights_of_networks_are_kept() -> None:
    """`params` hold copies: training the model afterwards does not change them."""
    model = image_model()
    _, params = from_keras(model)
    before = params["conv2d/kernel"].numpy().copy()
    model.get_layer("conv2d").kernel.assign(np.zeros((3, 3, 3, 4), "float32"))
    np.testing.assert_array_equal(params["conv2d/kernel"].numpy(), before)


def test_what_is_no_model_is_refused() -> None:
    for given in (b"PK\x03\x04 nothing", b"", 3):
        with pytest.raises(RelayError):
            from_keras(given)
