"""Models of TFLite that others have trained, compiled, against LiteRT: `pytest -m real`.

Floats agree to a thousandth. Where all tensors are integers, results are at most a step off; where
weights alone are, LiteRT rounds data to 8 bits and we do not, so results agree to two hundredths.
"""

import numpy as np
import pytest

import relay
from tests.frontend.tflite.models import litert
from tests.real_models.catalogue import TFLITE_MODELS, relative_error
from tests.real_models.fetch import CannotBeHad, fetch

pytestmark = pytest.mark.real


@pytest.mark.parametrize("model", TFLITE_MODELS, ids=lambda model: model.name.replace(" ", "-"))
def test_a_real_model_gives_what_litert_gives(model):
    try:
        path = fetch(model)
    except CannotBeHad as reason:
        pytest.skip(str(reason))
    exe = relay.compile(str(path))
    for sizes in model.sizes:
        feeds = list(model.feeds(sizes).values())
        wanted = litert(path.read_bytes(), feeds)
        given = exe(*feeds)
        given = given if isinstance(given, tuple) else (given,)
        for mine, theirs in zip(given, wanted, strict=True):
            mine = np.asarray(mine)
            assert mine.shape == theirs.shape
            assert mine.dtype == theirs.dtype
            if theirs.dtype.kind == "f":
                assert relative_error(mine, theirs) <= (2e-2 if model.quantized else 1e-3)
            else:
                assert np.abs(mine.astype(int) - theirs.astype(int)).max() <= 1
