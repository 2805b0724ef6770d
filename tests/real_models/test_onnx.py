"""Models that others have trained, compiled, against ONNX Runtime: `pytest -m real`.

Floats agree to a thousandth. Where a model rounds to steps of eight bits, every tensor that it
rounds is exact or one step off, beginning from the tensors that ONNX Runtime rounded; from end to
end, where steps that differ add up (`steps.py`), results agree to two hundredths.
"""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import relay
from tests.real_models.catalogue import ONNX_MODELS, RealModel, relative_error
from tests.real_models.fetch import CannotBeHad, fetch
from tests.real_models.steps import cut, found, with_inputs

pytestmark = pytest.mark.real


QUANTIZED = [model for model in ONNX_MODELS if model.quantized]


def had(model: RealModel) -> Path:
    try:
        return fetch(model)
    except CannotBeHad as reason:
        pytest.skip(str(reason))


def oracle(model: str | bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # sums of products of bytes are exact, on a processor without VNNI too
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model, options)


@pytest.mark.parametrize("model", ONNX_MODELS, ids=lambda model: model.name.replace(" ", "-"))
def test_a_real_model_gives_what_onnx_runtime_gives(model):
    path = had(model)
    session = oracle(str(path))
    exe = relay.compile(str(path))
    for sizes in model.sizes:
        feeds = model.feeds(sizes)
        wanted = session.run(None, feeds)
        given = exe(**feeds)
        given = given if isinstance(given, tuple) else (given,)
        for mine, theirs in zip(given, wanted, strict=True):
            mine = np.asarray(mine)
            assert mine.shape == theirs.shape
            assert mine.dtype == theirs.dtype
            if theirs.dtype.kind == "f":
                assert relative_error(mine, theirs) <= (2e-2 if model.quantized else 1e-3)
            else:
                np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("model", QUANTIZED, ids=lambda model: model.name.replace(" ", "-"))
def test_all_that_a_quantized_model_rounds_is_exact_or_one_step_off(model):
    whole = onnx.load(had(model))
    parts = cut(whole)
    session = oracle(parts.asked.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    for sizes in model.sizes:
        feeds = model.feeds(sizes)
        wanted = dict(zip(names, session.run(None, feeds), strict=True))
        between = {name: wanted[name] for name in parts.kinds}
        answered = with_inputs(parts.answered, between)
        results = relay.compile(answered)(**feeds, **between)
        outputs = [output.name for output in answered.graph.output]
        mine = dict(zip(outputs, map(np.asarray, results), strict=True))
        for name, kind in parts.kinds.items():
            assert_rounded(kind, mine[found(name)], wanted[name])
        for output in whole.graph.output:
            assert relative_error(mine[output.name], wanted[output.name]) <= 1e-5


def assert_rounded(kind, mine, theirs):
    match kind:
        case "steps":
            distance = np.abs(mine.astype(np.int64) - theirs)
            assert distance.max() <= 1
            assert (distance > 0).mean() <= 1e-3  # where a last bit decided
        case "scale":
            np.testing.assert_allclose(mine, theirs, rtol=1e-6)
        case "states":
            assert relative_error(mine, theirs) <= 1e-4
