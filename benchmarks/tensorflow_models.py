"""Networks of Keras and programs of TensorFlow, compared with TensorFlow, XLA and LiteRT.

    python benchmarks/tensorflow_models.py                          all of them
    python benchmarks/tensorflow_models.py --models mobilenet,lstm  some
    python benchmarks/tensorflow_models.py --threads 2              all with two threads
    python benchmarks/tensorflow_models.py --json out.json          records besides the table

A network has random weights and is compiled from its saved model. Peers are the same function in
TensorFlow, compiled by XLA (`jit_compile=True`), and by LiteRT with XNNPACK. The same network from
ONNX, as `relay.to_onnx` writes it, and from the file of LiteRT is Relay, too: how much longer it
takes is said at the end of a line.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import Run, arguments, relative_error, started, take_turns

import relay
from relay.cache import Cache

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

Network = Callable[[Any], tuple[Any, tuple[int, ...]]]


def application(name: str, size: int = 224) -> Network:
    """A network of `keras.applications`, and the shape of its input."""

    def build(keras: Any) -> tuple[Any, tuple[int, ...]]:
        shape = (size, size, 3)
        make = getattr(keras.applications, name)
        model = make(weights=None, input_shape=shape, include_top=False, pooling="avg")
        return model, (1, *shape)

    return build


def recurrent(kind: str) -> Network:
    """A recurrent layer over 50 steps."""

    def build(keras: Any) -> tuple[Any, tuple[int, ...]]:
        layers = [keras.Input((50, 32)), getattr(keras.layers, kind)(64, return_sequences=True)]
        return keras.Sequential(layers), (1, 50, 32)

    return build


def attention(keras: Any) -> tuple[Any, tuple[int, ...]]:
    """Two layers of a transformer over 64 positions."""
    x = given = keras.Input((64, 128))
    for _ in range(2):
        y = keras.layers.MultiHeadAttention(4, 32)(x, x)
        x = keras.layers.LayerNormalization()(x + y)
        y = keras.layers.Dense(128)(keras.layers.Dense(512, activation="gelu")(x))
        x = keras.layers.LayerNormalization()(x + y)
    return keras.Model(given, x), (1, 64, 128)


NETWORKS: dict[str, Network] = {
    "mobilenet": application("MobileNetV2"),
    "resnet50": application("ResNet50"),
    "efficientnet": application("EfficientNetB0"),
    "lstm": recurrent("LSTM"),
    "gru": recurrent("GRU"),
    "attention": attention,
}


def converted(folder: Path) -> tuple[bytes | None, str]:
    """A saved model as a file of LiteRT, or why its converter does not make one."""
    import tensorflow as tf

    try:
        found: bytes = tf.lite.TFLiteConverter.from_saved_model(str(folder)).convert()
    except Exception as error:  # whatever the converter fails with
        reason = str(error).strip().split("\n", 1)[0][:200]
        return None, f"no LiteRT, {type(error).__name__}: {reason}"
    return found, ""


def litert(content: bytes, threads: int) -> Callable[[np.ndarray], Any]:
    """A model in LiteRT."""
    from ai_edge_litert.interpreter import Interpreter

    session = Interpreter(model_content=content, num_threads=threads)
    session.allocate_tensors()
    place = session.get_input_details()[0]["index"]
    result = session.get_output_details()[0]["index"]

    def run(x: np.ndarray) -> Any:
        session.set_tensor(place, x)
        session.invoke()
        return session.get_tensor(result)

    return run


def other_doors(
    mod: relay.IRModule, params: Any, content: bytes | None, shape: tuple[int, ...], **options: Any
) -> dict[str, Any]:
    """The same network from other formats, compiled."""
    found = {}
    try:
        model = relay.to_onnx(mod, params)
    except relay.RelayError:
        pass  # loops are functions that call themselves, which ONNX has no form for
    else:
        found["from ONNX"] = relay.compile(*relay.frontend.from_onnx(model), **options)
    if content is not None:
        first = relay.frontend.from_tflite(content)[0]["main"].params[0].name_hint
        lite = relay.frontend.from_tflite(content, {first: shape})
        found["from TFLite"] = relay.compile(*lite, **options)
    return found


def measure(run: Run, name: str, folder: Path) -> None:
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(0)
    model, shape = NETWORKS[name](keras)
    saved = folder / name
    model.export(saved, verbose=False)
    start = time.perf_counter()
    mod, params = relay.frontend.from_tensorflow(saved)
    first = mod["main"].params[0].name_hint
    mod, params = relay.frontend.from_tensorflow(saved, {first: shape})
    options = {"threads": run.threads, "cache": Cache(str(folder / f"{name}.c"))}
    exe = relay.compile(mod, params, **options)
    seconds = time.perf_counter() - start
    content, reason = converted(saved)
    others = other_doors(mod, params, content, shape, **options)
    x = np.random.default_rng(0).uniform(-1, 1, shape).astype("float32")
    signature = [tf.TensorSpec(shape, "float32")]
    plain = tf.function(lambda one: model(one, training=False), input_signature=signature)
    fused = tf.function(
        lambda one: model(one, training=False), input_signature=signature, jit_compile=True
    )
    tensor = tf.constant(x)
    wanted = plain(tensor).numpy()
    candidates: dict[str, Callable[[], Any]] = {
        "relay": lambda: exe(x),
        "tensorflow": lambda: plain(tensor).numpy(),
        "xla": lambda: fused(tensor).numpy(),
    }
    if content is not None:
        other = litert(content, run.threads)
        candidates["litert"] = lambda: other(x)
    for label, one in others.items():
        candidates[label] = partial(one, x)
    times = take_turns(candidates, run.threads, run.effort, time.process_time)
    own = times["relay"].median
    shares = [f"{label} {times.pop(label).median / own:.2f}" for label in others]
    run.report.compare(
        name,
        run.threads,
        times,
        error=relative_error(exe(x), wanted),
        compile_s=seconds,
        note="; ".join(
            filter(None, [*shares, reason, f"imported and compiled in {seconds:.1f} s"])
        ),
    )


def main() -> None:
    names = [*NETWORKS]
    given = arguments(__doc__, names).parse_args()
    run = started(given, names)
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(run.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for name in run.models:
            measure(run, name, Path(folder))
    run.report.write(given.json)


if __name__ == "__main__":
    main()
