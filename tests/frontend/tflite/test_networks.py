"""Networks that TensorFlow's converter wrote, against LiteRT: `-m full`.

Quantized networks are compared tensor by tensor: each operator gets what LiteRT gave to it, and
gives what LiteRT gives, or one step beside it. From input to result, LiteRT's own interpreters
(with XNNPACK, optimized, reference) differ by several steps after a hundred layers.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import relay
from tests.frontend.tflite.models import STEP, litert
from tests.support.keras_networks import APPLICATIONS

pytestmark = [pytest.mark.full, pytest.mark.timeout(1200)]
if find_spec("tensorflow") is None:
    pytest.skip("tensorflow is not installed", allow_module_level=True)

QUANTIZED = {"MobileNet": 96, "MobileNetV2": 96, "EfficientNetLite": 96, "InceptionV3": 96}
RECURRENT = ("LSTM", "GRU", "SimpleRNN")


def converted(folder: Path, name: str, size: int, kind: str) -> bytes:
    """A file of the converter, which runs in a process of its own."""
    script = Path(__file__).with_name("convert.py")
    target = folder / "model.tflite"
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, str(script), name, str(size), kind, str(target)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return target.read_bytes()


def close(mine: Any, theirs: np.ndarray) -> None:
    assert mine.shape == theirs.shape
    np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4 * max(np.abs(theirs).max(), 1e-6))


@pytest.mark.parametrize("name", APPLICATIONS)
def test_an_application_gives_what_litert_gives(name: str, tmp_path: Path) -> None:
    size = APPLICATIONS[name]
    model = converted(tmp_path, name, size, "float")
    exe = relay.compile(model)
    random = np.random.default_rng(9)
    for batch in (1, 2, 3):
        x = random.uniform(-1, 1, (batch, size, size, 3)).astype("float32")
        close(exe(x), litert(model, [x])[0])


@pytest.mark.parametrize("name", RECURRENT)
def test_a_recurrent_layer_gives_what_litert_gives(name: str, tmp_path: Path) -> None:
    model = converted(tmp_path, name, 0, "float")
    x = np.random.default_rng(9).standard_normal((2, 7, 5)).astype("float32")
    close(relay.compile(model)(x), litert(model, [x])[0])


def alone(model: Any, number: int) -> tuple[bytes, list[int], list[int]]:
    """An operator as a model of its own, and the tensors that it reads and writes."""
    graph = model.subgraphs[0]
    operators, inputs, outputs = graph.operators, graph.inputs, graph.outputs
    one = operators[number]
    made = {tensor for each in operators for tensor in each.outputs} | set(inputs)
    reads = list(dict.fromkeys(int(one) for one in one.inputs if one in made))
    writes = [int(tensor) for tensor in one.outputs]
    graph.operators, graph.inputs, graph.outputs = [one], reads, writes
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    graph.operators, graph.inputs, graph.outputs = operators, inputs, outputs
    return bytes(builder.Output()), reads, writes


@pytest.mark.parametrize("name", QUANTIZED)
def test_each_tensor_of_a_quantized_network_is_within_a_step(name: str, tmp_path: Path) -> None:
    size = QUANTIZED[name]
    content = converted(tmp_path, name, size, "int8")
    session = Interpreter(
        model_content=content,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=True,
    )
    session.allocate_tensors()
    x = np.random.default_rng(9).integers(-128, 128, (1, size, size, 3)).astype("int8")
    session.set_tensor(session.get_input_details()[0]["index"], x)
    session.invoke()
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(content, 0))
    for number in range(len(model.subgraphs[0].operators)):
        own, reads, writes = alone(model, number)
        found = relay.compile(own)(*(session.get_tensor(one) for one in reads))
        for mine, tensor in zip(
            found if isinstance(found, tuple) else (found,), writes, strict=True
        ):
            theirs = session.get_tensor(tensor)
            assert np.abs(np.asarray(mine).astype(int) - theirs.astype(int)).max() <= STEP, number
    whole = np.asarray(relay.compile(content)(x)).astype(int)
    theirs = session.get_tensor(session.get_output_details()[0]["index"])
    # about as far as LiteRT is from itself
    assert np.abs(whole - theirs.astype(int)).max() <= 8
