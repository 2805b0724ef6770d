"""Models that others have trained, compiled, against ONNX Runtime: `pytest -m real`."""

import numpy as np
import onnxruntime
import pytest

import relay
from tests.real_models.catalogue import ONNX_MODELS, relative_error
from tests.real_models.fetch import CannotBeHad, fetch

pytestmark = pytest.mark.real


@pytest.mark.parametrize("model", ONNX_MODELS, ids=lambda model: model.name.replace(" ", "-"))
def test_a_real_model_gives_what_onnx_runtime_gives(model):
    try:
        path = fetch(model)
    except CannotBeHad as reason:
        pytest.skip(str(reason))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # sums of products of bytes are exact, on a processor without VNNI too
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(str(path), options)
    exe = relay.compile(str(path))
    for sizes in model.sizes:
        feeds = model.feeds(sizes)
        wanted = session.run(None, feeds)
        found = exe(**feeds)
        found = found if isinstance(found, tuple) else (found,)
        for mine, theirs in zip(found, wanted, strict=True):
            mine = np.asarray(mine)
            assert mine.shape == theirs.shape
            assert mine.dtype == theirs.dtype
            if theirs.dtype.kind == "f":
                assert relative_error(mine, theirs) <= (2e-2 if model.quantized else 1e-3)
            else:
                np.testing.assert_array_equal(mine, theirs)
