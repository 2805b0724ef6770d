import numpy as np
import pytest
from typer.testing import CliRunner

import relay
from relay.cli.app import app
from relay.errors import RelayError
from relay.testing import mlp


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A folder with a model of ONNX, the same as a program, and an input and the result."""
    folder = tmp_path_factory.mktemp("models")
    module, params = mlp.get_workload(batch_size=2, image_shape=(1, 4, 4), num_classes=3)
    (folder / "mlp.onnx").write_bytes(relay.to_onnx(module, params).SerializeToString())
    (folder / "mlp.relay").write_text(module.astext())
    x = np.random.default_rng(0).standard_normal((2, 1, 4, 4), np.float32)
    np.save(folder / "x.npy", x)
    np.savez(folder / "inputs.npz", data=x)
    return folder


@pytest.fixture
def command():
    """Runs the command in this process: the exit code and what it prints."""

    def run(*args, code=0):
        result = CliRunner().invoke(app, [str(arg) for arg in args])
        if isinstance(result.exception, RelayError):
            assert code == 1, result.exception
            return str(result.exception)
        assert result.exit_code == code, (result.output, result.exception)
        return result.stdout if code == 0 else result.output

    return run
