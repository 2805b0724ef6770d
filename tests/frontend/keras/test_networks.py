"""Networks of Keras as objects and as files, one per family of `keras.applications`: `-m full`."""

from pathlib import Path

import numpy as np
import pytest

import relay
from tests.frontend.keras.models import KERAS, fill, keras, same, theirs
from tests.support.keras_networks import APPLICATIONS, application, recurrent

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(1200),
    *(pytest.mark.filterwarnings(one) for one in KERAS),
]

# further networks of the same families
FURTHER = {
    "ConvNeXtSmall": 48,
    "DenseNet169": 48,
    "EfficientNetB1": 48,
    "EfficientNetV2S": 48,
    "MobileNetV3Large": 64,
    "ResNet101": 48,
    "ResNet101V2": 48,
    "VGG19": 48,
}


@pytest.mark.parametrize("name", [*APPLICATIONS, *FURTHER])
def test_an_application_gives_what_keras_gives(name: str) -> None:
    if name == "NASNetMobile" and keras.backend.backend() == "torch":
        pytest.skip("Keras does not have it with PyTorch: KERAS_BACKEND=tensorflow")
    keras.utils.set_random_seed(0)
    size = (APPLICATIONS | FURTHER)[name]
    model = application(keras, name, size)
    exe = relay.compile(model)
    random = np.random.default_rng(9)
    for batch in (1, 2, 3):
        x = random.uniform(-1, 1, (batch, size, size, 3)).astype("float32")
        same([exe(x)], theirs(model, [x]), 1e-4)


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_recurrent_networks_are_read_from_files(suffix: str, tmp_path: Path) -> None:
    keras.utils.clear_session(free_memory=False)
    model = recurrent(keras)
    fill(model)
    model.save(tmp_path / f"model{suffix}")
    exe = relay.compile(tmp_path / f"model{suffix}")
    random = np.random.default_rng(9)
    for batch, steps in ((1, 1), (2, 7), (4, 3)):
        x = random.standard_normal((batch, steps, 5)).astype("float32")
        same([exe(x)], theirs(model, [x]), 1e-4)
