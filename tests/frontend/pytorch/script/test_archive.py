"""Files of TorchScript."""

import numpy as np
import pytest
import torch

import relay
from relay.errors import FrontendError
from relay.frontend import from_pytorch


class Doubled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x) * 2


class Restored(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 2.0

    def forward(self, x):
        return x * self.scale

    @torch.jit.export
    def __getstate__(self):
        return (self.scale, self.training)

    @torch.jit.export
    def __setstate__(self, state: tuple[float, bool]):
        self.scale = state[0] + 1.0
        self.training = state[1]


def test_an_archive_is_a_model(tmp_path):
    path = tmp_path / "model.pt"
    model = Doubled().eval()
    torch.jit.script(model).save(str(path))
    x = torch.ones(2, 3)
    exe = relay.compile(str(path), input_infos=[("x", (2, 3))])
    found = exe(x.numpy())
    with torch.no_grad():
        np.testing.assert_allclose(np.asarray(found), model(x).numpy(), rtol=1e-5)


def test_an_archive_that_would_run_code_is_refused(tmp_path):
    path = tmp_path / "model.pt"
    torch.jit.script(Restored()).save(str(path))
    with pytest.raises(FrontendError, match="runs code of the file when it is loaded"):
        from_pytorch(str(path), input_infos=[("x", (2, 3))])


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "model.pt"
    torch.save({"a": torch.ones(2)}, path)
    with pytest.raises(FrontendError):
        from_pytorch(str(path), input_infos=[("x", (2, 3))])
