"""Every command on the page about the command line runs."""

import re
import shlex
from pathlib import Path

import numpy as np
from PIL import Image
from typer.testing import CliRunner

import relay
from relay.cli.app import app
from relay.testing import mlp

PAGE = Path(__file__).parent.parent.parent / "docs" / "command_line.md"


def test_every_command_on_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELAY_CACHE_DIR", str(tmp_path / "cache"))
    module, params = mlp.get_workload(batch_size=1, image_shape=(1, 4, 4), num_classes=3)
    Path("mlp.onnx").write_bytes(relay.to_onnx(module, params).SerializeToString())
    Path("mlp.relay").write_text(module.astext())
    x = np.ones((1, 1, 4, 4), np.float32)
    np.save("x.npy", x)
    np.savez("inputs.npz", data=x)
    Image.fromarray(np.zeros((8, 8), np.uint8)).save("digit.png")

    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines()]
    assert len(commands) > 15
    for line in commands:
        result = CliRunner().invoke(app, shlex.split(line.removeprefix("$ relay ")))
        assert result.exit_code == 0, (line, result.output, result.exception)
