"""Every command that a page shows runs."""

import re
import shlex
from pathlib import Path

import numpy as np
from PIL import Image
from typer.testing import CliRunner

import relay
from relay.cli import bench
from relay.cli.app import app
from relay.testing import mlp

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands(page):
    """The commands `relay …` in blocks, without comments."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    shown = [line.partition(" #")[0].strip() for line in lines if line.startswith("relay ")]
    return [one for one in shown if one != "relay program 1"]  # that is the text of a program


def test_every_command_on_the_pages_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(bench, "TURN", 0.001)
    module, params = mlp.get_workload(batch_size=1, image_shape=(1, 4, 4), num_classes=3)
    for name in ("mlp.onnx", "model.onnx"):
        Path(name).write_bytes(relay.to_onnx(module, params).SerializeToString())
    Path("mlp.relay").write_text(module.astext())
    x = np.ones((1, 1, 4, 4), np.float32)
    np.save("x.npy", x)
    np.savez("inputs.npz", data=x)
    Image.fromarray(np.zeros((8, 8), np.uint8)).save("digit.png")

    found = [command for page in PAGES for command in commands(page)]
    assert len(found) > 25
    for line in found:
        if "--serve" in line:  # until Ctrl-C: tests/cli/test_app.py
            continue
        result = CliRunner().invoke(app, shlex.split(line.removeprefix("relay ")))
        assert result.exit_code == 0, (line, result.output, result.exception)
