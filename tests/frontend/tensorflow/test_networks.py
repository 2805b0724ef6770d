"""Networks that TensorFlow and Keras write as saved models, and functions in memory: `-m full`."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from relay.frontend import from_tensorflow
from tests.support.keras_networks import APPLICATIONS, application, recurrent

pytestmark = [pytest.mark.full, pytest.mark.timeout(1200)]
tf = pytest.importorskip("tensorflow", reason="tensorflow is not installed")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
keras = pytest.importorskip("keras", reason="keras is not installed")
if keras.backend.backend() != "tensorflow":
    # one process has one backend of Keras
    pytest.skip("tests of Keras ran before, with PyTorch", allow_module_level=True)

RANDOM = np.random.default_rng(9)


def served(folder: Path, *feeds: np.ndarray) -> list[np.ndarray]:
    """What TensorFlow gives for inputs in the order of their names."""
    function = tf.saved_model.load(str(folder)).signatures["serving_default"]
    names = sorted(function.structured_input_signature[1])
    found = function(**{name: tf.constant(one) for name, one in zip(names, feeds, strict=True)})
    return [found[name].numpy() for name in sorted(found)]


def close(mine: Any, theirs: np.ndarray, rtol: float = 1e-4) -> None:
    assert mine.shape == theirs.shape
    most = np.abs(theirs).max(initial=0)
    np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol * max(most, 1e-6))


@pytest.mark.parametrize("name", APPLICATIONS)
def test_an_application_gives_what_tensorflow_gives(name: str, tmp_path: Path) -> None:
    keras.utils.set_random_seed(0)
    size = APPLICATIONS[name]
    application(keras, name, size).export(tmp_path / "model", verbose=False)
    exe = relay.compile(tmp_path / "model")
    for batch in (1, 2, 3):
        x = RANDOM.uniform(-1, 1, (batch, size, size, 3)).astype("float32")
        (wanted,) = served(tmp_path / "model", x)
        close(exe(x), wanted)


def encoder() -> Any:
    """A small network like BERT: embeddings, two layers of attention, a sum over the sequence."""
    layers = keras.layers
    tokens = keras.Input((None,), dtype="int32", name="tokens")
    mask = keras.Input((None,), dtype="int32", name="mask")
    places = layers.Lambda(lambda x: keras.ops.arange(keras.ops.shape(x)[1]))(tokens)
    x = layers.Embedding(50, 16)(tokens) + layers.Embedding(64, 16)(places)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    seen = layers.Lambda(lambda one: keras.ops.expand_dims(one, 1) > 0)(mask)
    for _ in range(2):
        y = layers.MultiHeadAttention(4, 4)(x, x, attention_mask=seen)
        x = layers.LayerNormalization(epsilon=1e-6)(x + y)
        y = layers.Dense(16)(layers.Dense(32, activation="gelu")(x))
        x = layers.LayerNormalization(epsilon=1e-6)(x + y)
    return keras.Model([tokens, mask], [x, layers.Dense(16, activation="tanh")(x[:, 0])])


def test_an_encoder_gives_what_tensorflow_gives(tmp_path: Path) -> None:
    keras.utils.set_random_seed(0)
    encoder().export(tmp_path / "model", verbose=False)
    mod, params = from_tensorflow(tmp_path / "model")
    exe = relay.compile(mod, params)
    names = [one.name_hint for one in mod["main"].params][:2]
    for batch, steps in ((1, 3), (2, 8), (3, 5)):
        feeds = {
            "tokens": RANDOM.integers(0, 50, (batch, steps)).astype("int32"),
            "mask": (RANDOM.uniform(size=(batch, steps)) > 0.2).astype("int32"),
        }
        wanted = served(tmp_path / "model", *(feeds[name] for name in sorted(feeds)))
        given = exe(*(feeds[name] for name in names))
        for mine, theirs in zip(given, wanted, strict=True):
            close(mine, theirs)


def test_bert_gives_what_tensorflow_gives(tmp_path: Path) -> None:
    from tests.frontend.tensorflow.bert import Bert, sentences

    bert = Bert(layers=12, width=96, heads=6)
    signature = bert.__call__.get_concrete_function()
    tf.saved_model.save(bert, str(tmp_path / "model"), signatures={"serving_default": signature})
    exe = relay.compile(tmp_path / "model")
    names = ["words", "mask", "kinds"]
    assert {one.name for one in exe.inputs} == {*names}
    outputs = [one.name for one in exe.outputs]
    for batch, steps in ((1, 1), (2, 7), (3, 32)):
        feeds = dict(zip(names, sentences(RANDOM, batch, steps), strict=True))
        wanted = bert(*(tf.constant(feeds[name]) for name in names))
        for name, mine in zip(outputs, exe(*(feeds[one.name] for one in exe.inputs)), strict=True):
            close(mine, wanted[name].numpy())


def test_a_recurrent_network_gives_what_tensorflow_gives(tmp_path: Path) -> None:
    keras.utils.set_random_seed(0)
    model = recurrent(keras, reset_after=False)
    model.export(tmp_path / "model", verbose=False)
    exe = relay.compile(tmp_path / "model")
    for batch, steps in ((1, 1), (2, 7), (4, 3)):
        x = RANDOM.standard_normal((batch, steps, 5)).astype("float32")
        (wanted,) = served(tmp_path / "model", x)
        close(exe(x), wanted)


class Counter(tf.Module):
    """A sum of all that it was given, and how often that was."""

    def __init__(self) -> None:
        super().__init__()
        self.total = tf.Variable(tf.ones(3), name="total")
        self.turns = tf.Variable(0, name="turns")
        self.weight = tf.Variable(tf.constant([1.0, 2.0, 3.0]), name="weight")

    @tf.function(input_signature=[tf.TensorSpec([3])])
    def step(self, x: Any) -> Any:
        if tf.reduce_sum(x) > 0.0:
            self.total.assign_add(x * self.weight)
        for _ in tf.range(2):
            self.turns.assign_add(1)
        return self.total + 0.0, self.turns + 0


@pytest.mark.parametrize("form", ["function", "saved model"])
def test_variables_that_are_written_are_state(form: str, tmp_path: Path) -> None:
    counter = Counter()
    if form == "function":
        model: Any = counter.step
    else:
        model = tmp_path / "model"
        tf.saved_model.save(counter, str(model), signatures={"serving_default": counter.step})
    exe = relay.compile(model)
    assert len(exe.state) == 2
    for sign in (1, 1, -1, 1):
        x = np.array([0.5, 1.0, 2.0], "float32") * sign
        wanted = counter.step(tf.constant(x))
        for mine, theirs in zip(exe(x), wanted, strict=True):
            close(mine, theirs.numpy())


def test_a_function_has_its_variables_as_parameters() -> None:
    layer = keras.layers.Dense(4, activation="relu")
    layer.build((None, 3))
    constant = tf.constant([1.0, 2.0, 3.0, 4.0])
    function = tf.function(lambda x: layer(x) + constant)
    concrete = function.get_concrete_function(tf.TensorSpec([None, 3]))
    mod, params = from_tensorflow(concrete)
    assert {one.shape for one in params.values()} == {(3, 4), (4,)}
    exe = relay.compile(mod, params)
    x = RANDOM.standard_normal((5, 3)).astype("float32")
    close(exe(x), concrete(tf.constant(x)).numpy())
    graph = concrete.graph.as_graph_def()
    assert type(graph).__name__ == "GraphDef"
    with pytest.raises(relay.RelayError, match="has no signature"):
        from_tensorflow(function)


def test_factors_of_matrices_make_them_again() -> None:
    def again(x: Any) -> Any:
        s, u, v = tf.linalg.svd(x)
        sizes = tf.linalg.svd(x, compute_uv=False)
        symmetric = tf.matmul(x, x, transpose_a=True)
        values, vectors = tf.linalg.eigh(symmetric)
        made = tf.matmul(u * s[..., None, :], v, transpose_b=True)
        other = tf.matmul(vectors * values[..., None, :], vectors, transpose_b=True)
        return made, sizes, other, values

    function = tf.function(again).get_concrete_function(tf.TensorSpec([2, 5, 3]))
    x = RANDOM.standard_normal((2, 5, 3)).astype("float32")
    for mine, theirs in zip(relay.compile(function)(x), function(tf.constant(x)), strict=True):
        close(mine, theirs.numpy())
