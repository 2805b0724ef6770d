"""Files of Keras that others have trained, compiled, against Keras: `pytest -m real`."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

import relay
from tests.real_models.catalogue import RealModel, relative_error
from tests.real_models.fetch import CannotBeHad, fetch
from tests.real_models.keras_catalogue import KERAS_MODELS

pytest.importorskip("keras", reason="keras is not installed")
from tests.frontend.keras.models import KERAS, keras, theirs

pytestmark = [pytest.mark.real, *(pytest.mark.filterwarnings(one) for one in KERAS)]


def unpacked(model: RealModel, folder: Path) -> Path:
    """The file of a model, taken out of the archive around it."""
    path = fetch(model)
    if not model.inside:
        return path
    found = folder / model.inside
    found.write_bytes(zipfile.ZipFile(path).read(model.inside))
    return found


@pytest.mark.parametrize("model", KERAS_MODELS, ids=lambda model: model.name.replace(" ", "-"))
def test_a_real_model_gives_what_keras_gives(model: RealModel, tmp_path: Path) -> None:
    try:
        path = unpacked(model, tmp_path)
    except CannotBeHad as reason:
        pytest.skip(str(reason))
    exe = relay.compile(str(path))
    original = keras.models.load_model(path, compile=False)
    for sizes in model.sizes:
        feeds = list(model.feeds(sizes).values())
        (wanted,) = theirs(original, feeds)
        given = np.asarray(exe(*feeds))
        assert given.shape == wanted.shape
        assert relative_error(given, wanted) <= 1e-3
