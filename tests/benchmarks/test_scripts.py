"""Every benchmark runs: on small data, for a moment, without looking at the times."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"

# what is quick enough to try, for each script
SCRIPTS = {
    "accelerator": "tree-lstm",
    "calls": "call,bare,region,memory",
    "compile_time": "mlp,parts",
    "compiler": "inference,incremental,depth",
    "dynamic": "tree-lstm,char-rnn",
    "functions": "exp,pow",
    "kernels": "peak,chain,gemm,rows,blocked,layers,integers",
    "models": "mlp,dqn",
    "open_sizes": "small",
    "passes": "dqn,times,growth",
    "pytorch": "mlp",
    "quantization": "mlp,dqn",
    "real_models": "small",
    "training": "mlp,char-rnn",
    "tuning": "dqn",
    "weight_only": "int4,int8",
}
# what needs a GPU, an emulator, files, or a package that tests do without
ELSEWHERE = {"arm", "gpu", "quantized_accuracy", "tensorflow_models"}
FIELDS = {"name", "threads", "relay_ms", "peers", "best_peer", "ratio", "error", "compile_s"}


def test_every_script_is_tried():
    scripts = {path.stem for path in FOLDER.glob("*.py") if "__main__" in path.read_text()}
    assert scripts == set(SCRIPTS) | ELSEWHERE


@pytest.mark.rotate(6)
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_runs_and_writes_records(script, tmp_path):
    runs(script, SCRIPTS[script], tmp_path / "records.json")


@pytest.mark.full
def test_models_of_tensorflow_are_measured(tmp_path):
    pytest.importorskip("tensorflow", reason="tensorflow is not installed")
    runs("tensorflow_models", "lstm", tmp_path / "records.json")


def runs(script, models, file):
    command = [sys.executable, str(FOLDER / f"{script}.py"), "--quick", "--json", str(file)]
    command += ["--models", models, "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    records = json.loads(file.read_text())
    assert records
    for record in records:
        assert record.keys() >= FIELDS
        assert record["error"] is None or record["error"] < 1e-4, record


def test_an_unknown_model_is_refused_by_name():
    command = [sys.executable, str(FOLDER / "compiler.py"), "--models", "dept"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "no dept; there is import, inference, incremental, depth" in done.stderr


def test_bars_are_drawn(tmp_path):
    spec = importlib.util.spec_from_file_location("bars", FOLDER / "bars.py")
    bars = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bars)
    file = tmp_path / "bars.svg"
    groups = {"one & only": [1.0, 2.5, 3.0], "other": [1.0, 0.5, 12.0]}
    bars.write_bars(file, "title", "times as fast", ["a", "b", "c"], groups)
    picture = ElementTree.parse(file).getroot()
    heights = [float(e.get("height")) for e in picture if e.tag.endswith("rect")]
    assert len(heights) == 1 + 6 + 3  # what is behind them, the bars, and what the colors mean
    assert max(heights[1:]) == heights[6]
    assert abs(heights[6] - 12 * heights[1]) < 1
