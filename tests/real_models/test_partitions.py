"""Models that others have trained, in ONNX Runtime as an external compiler: `pytest -m real`.

Parts are models that we write, run by ONNX Runtime; the rest is ours. The result has to be that of
ONNX Runtime on the whole model.
"""

import numpy as np
import onnx
import onnxruntime
import pytest

import relay
from tests.real_models.catalogue import ONNX_MODELS, relative_error
from tests.real_models.fetch import CannotBeHad, fetch

pytestmark = pytest.mark.real

NAMES = (
    "silero without branches",
    "text recognition",
    "text orientation",
    "basic pitch",
    "file types",
    "page orientation",
    "mel spectrogram",
    "speech embedding",
    "wake word alexa",
    "wake word timer",
)
MODELS = [model for model in ONNX_MODELS if model.name in NAMES]


def test_there_are_ten():
    assert len(MODELS) == len(NAMES) == 10


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name.replace(" ", "-"))
def test_a_partitioned_model_gives_what_onnx_runtime_gives(model):
    try:
        path = fetch(model)
    except CannotBeHad as reason:
        pytest.skip(str(reason))
    feeds = model.feeds(model.sizes[0])
    wanted = onnxruntime.InferenceSession(str(path)).run(None, feeds)
    shapes = {name: np.shape(value) for name, value in feeds.items()}
    module, params = relay.frontend.from_onnx(onnx.load(str(path)), shape=shapes)
    exe = relay.compile(relay.contrib.onnxruntime.partition(module, params))
    assert "onnxruntime" in {kernel.compiler for kernel in exe.kernels}
    found = exe(**feeds)
    found = found if isinstance(found, tuple) else (found,)
    for mine, theirs in zip(found, wanted, strict=True):
        assert relative_error(mine, theirs) < 1e-3
