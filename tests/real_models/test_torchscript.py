"""Scripted models that others have trained, compiled, against torch: `pytest -m real`.

They detect speech in a stream: calls depend on those before. The rate is an input, so that all
branches of the model are compiled.
"""

import numpy as np
import pytest
import torch

import relay
from relay.errors import EvaluationError
from relay.frontend import from_pytorch
from tests.real_models.catalogue import SCRIPTS, relative_error
from tests.real_models.fetch import CannotBeHad, fetch

pytestmark = pytest.mark.real

CALLS = 20


@pytest.fixture(params=SCRIPTS, ids=lambda model: model.name.replace(" ", "-"))
def model(request):
    try:
        return request.param, str(fetch(request.param))
    except CannotBeHad as reason:
        pytest.skip(str(reason))


def described(model, sizes, rate):
    shape = tuple(sizes.get(dim, dim) for dim in model.inputs["x"].shape)
    return [("x", shape), ("sr", rate)]


def test_a_real_script_gives_what_torch_gives(model):
    what, path = model
    for sizes in what.sizes:
        theirs = torch.jit.load(path).eval()
        mod, params = from_pytorch(path, described(what, sizes, 16000))
        exe = relay.compile(mod, params)
        with torch.no_grad():
            for seed in range(CALLS):
                x = what.feeds(sizes, seed)["x"]
                wanted = theirs(torch.from_numpy(x), 16000).numpy()
                assert relative_error(exe(x), wanted) <= 1e-4


def test_a_real_script_of_a_rate_that_a_run_knows(model):
    _, path = model
    theirs = torch.jit.load(path).eval()
    mod, params = from_pytorch(path, [("x", (1, relay.Any())), ("sr", ((), "int64"))])
    exe = relay.compile(mod, params)
    random = np.random.default_rng(1)
    with torch.no_grad():
        for rate, count in ((16000, 512), (16000, 512), (8000, 256), (8000, 256), (16000, 512)):
            x = (0.3 * random.normal(size=(1, count))).astype("float32")
            wanted = theirs(torch.from_numpy(x), rate).numpy()
            assert relative_error(exe(x, rate), wanted) <= 1e-4
    with pytest.raises(EvaluationError, match="Supported sampling rates"):
        exe(np.zeros((1, 512), "float32"), 11025)
