"""Models of TensorFlow that others have trained, compiled, against TensorFlow: `pytest -m real`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from tests.real_models.catalogue import relative_error
from tests.real_models.fetch import CannotBeHad, fetch
from tests.real_models.tensorflow_catalogue import TENSORFLOW_MODELS

pytestmark = pytest.mark.real


@pytest.mark.parametrize("model", TENSORFLOW_MODELS, ids=lambda model: model.name.replace(" ", "-"))
def test_a_real_model_gives_what_tensorflow_gives(model: Any) -> None:
    tf = pytest.importorskip("tensorflow", reason="tensorflow is not installed")
    try:
        path = fetch(model)
    except CannotBeHad as reason:
        pytest.skip(str(reason))
    exe = relay.compile(str(path.parent if model.beside else path))
    names = [one.name for one in exe.outputs]
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        inputs, outputs = loaded(tf, session, path, bool(model.beside), names)
        for sizes in model.sizes:
            feeds = model.feeds(sizes)
            given = exe(*feeds.values())
            given = given if isinstance(given, tuple) else (given,)
            there = {inputs.get(name, f"{name}:0"): one for name, one in feeds.items()}
            for mine, theirs in zip(given, session.run(outputs, there), strict=True):
                assert np.asarray(mine).shape == theirs.shape
                assert relative_error(mine, theirs) <= 1e-3


def loaded(
    tf: Any, session: Any, path: Path, is_saved: bool, names: Any
) -> tuple[dict[str, str], list[str]]:
    """A model in a session: the tensors of its inputs and of its results."""
    if is_saved:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], str(path.parent))
        signature = meta.signature_def["serving_default"]
        inputs = {name: one.name for name, one in signature.inputs.items()}
        return inputs, [signature.outputs[name].name for name in names]
    definition = tf.compat.v1.GraphDef.FromString(path.read_bytes())
    tf.import_graph_def(definition, name="")
    return {}, [f"{name}:0" for name in names]
