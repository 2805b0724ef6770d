"""Every program on every page runs in a test, every script that is named has the options shown."""

import json
import re
import runpy
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

import relay
from relay.testing import mlp
from tests.frontend.tensorflow.test_importer import saved_model

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def programs(name):
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)


def run(program, **names):
    """Run a program of a page, with names that it takes for granted."""
    names["relay"] = relay
    exec(compile(program, "page", "exec"), names)
    return names


def test_every_page_with_programs_has_a_test():
    tests = [path for path in (ROOT / "tests").rglob("test_*.py") if path.name != "test_index.py"]
    known = "\n".join(path.read_text(encoding="utf-8") for path in tests)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert "```python" not in text or f"{page.name}" in known, f"no test runs {page.name}"
        code = re.findall(r"^\n {4}(?:import|from|exe =|mod, params =) .*", text, re.MULTILINE)
        assert not code, f"{page.name}: programs stand between ```, where tests find them"


def test_every_script_that_is_named_has_the_options_shown():
    shared = (ROOT / "benchmarks" / "measure.py").read_text(encoding="utf-8")
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for script, rest in re.findall(
            r"python ((?:tools|benchmarks|docs|examples)/\w+\.py)([^`\n]*)", text
        ):
            known = (ROOT / script).read_text(encoding="utf-8") + shared
            for option in re.findall(r"--[\w-]+", rest):
                assert f'"{option}"' in known, f"{page.name}: {script} has no {option}"


def test_the_language_page_shows_a_module_that_parses():
    (module,) = (
        block
        for block in re.findall(
            r"```\n(.*?)```", (ROOT / "docs/language.md").read_text(), re.DOTALL
        )
        if block.startswith("#[version")
    )
    assert "length" in str(relay.transform.InferType()(relay.parse(module)))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_models_of_the_readme_are_compiled(folder):
    module, params = mlp.get_workload(batch_size=1, image_shape=(1, 4, 4), num_classes=3)
    (folder / "model.onnx").write_bytes(relay.to_onnx(module, params).SerializeToString())
    image = np.ones((1, 1, 4, 4), np.float32)
    (onnx,) = (text for text in programs("README.md") if '"model.onnx"' in text)
    session = onnxruntime.InferenceSession("model.onnx")
    (expected,) = session.run(None, {session.get_inputs()[0].name: image})
    np.testing.assert_allclose(run(onnx, image=image)["scores"], expected, rtol=1e-5)
    (pytorch,) = (text for text in programs("README.md") if "(example,)" in text)
    model, x = torch.nn.Linear(4, 3).eval(), torch.ones(2, 4)
    scores = run(pytorch, model=model, example=x, x=x)["scores"]
    torch.testing.assert_close(scores, model(x).detach())


def test_models_of_files_are_compiled_as_the_pages_say(folder, monkeypatch):
    monkeypatch.setattr("sys.argv", ["example"])
    saved_model(folder / "saved_model_folder")
    images = np.ones((1, 5, 8, 3), np.float32)
    assert run(programs("docs/tensorflow.md")[0], images=images)["scores"].shape[0] == 1

    write = runpy.run_path(str(ROOT / "examples/15_tflite.py"))["softmax_model"]
    (folder / "model.tflite").write_bytes(write())
    found = run(programs("docs/tflite.md")[0], image=np.ones((2, 3), np.float32))["scores"]
    np.testing.assert_allclose(found, np.full((2, 3), 1 / 3), rtol=1e-6)

    node = {"op": "relu", "name": "y", "inputs": [[0, 0, 0]]}
    nodes = [{"op": "null", "name": "data", "inputs": []}, node]
    symbol = {"nodes": nodes, "arg_nodes": [0], "heads": [[1, 0, 0]]}
    (folder / "net-symbol.json").write_text(json.dumps(symbol))
    exe = run(programs("docs/mxnet.md")[0])["exe"]
    assert not exe(-np.ones((2, 3, 224, 224), np.float32)).any()


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_models_of_keras_are_compiled_as_the_page_says(folder, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.save("model.keras")
    images = np.ones((2, 4), np.float32)
    first, own = programs("docs/keras.md")
    found = run(first, images=images)["scores"]
    kernel, bias = model.get_weights()
    np.testing.assert_allclose(found, images @ kernel + bias, rtol=1e-5)
    assert run(own)["mine"].find("Scaled", 1)


def run_all(name, folder):
    """The names of the programs of a page, which run one after the other, as from files."""
    names = {"__name__": "page"}
    for number, program in enumerate(programs(name)):
        file = folder / f"{number}.py"
        file.write_text(program, encoding="utf-8")
        exec(compile(program, str(file), "exec"), names)
    return names


def test_the_tour_shows_what_happens(folder, capsys):
    found = run_all("docs/tour.md", folder)
    printed = capsys.readouterr().out
    assert "[2.        3.        1.4142135]" in printed
    assert "axis -1 equal, or 1 on one side" in printed
    slope = found["slope"](found["numbers"], 20)
    np.testing.assert_allclose(slope, 1 - 1 / np.sqrt(found["numbers"]), rtol=1e-5)
    assert np.abs(found["integers"](found["image"]) - found["exe"](found["image"])).max() < 0.02
    assert (folder / "net.svg").stat().st_size and (folder / "net.h").exists()


def test_a_model_is_made_faster_as_the_page_says(tmp_path, capsys):
    found = run_all("docs/faster.md", tmp_path)
    assert sum(step.seconds for step in found["profile"]) <= found["profile"].seconds * 1.01
    assert "nn.dense add nn.relu" in capsys.readouterr().out


def test_scripts_of_pytorch_are_compiled_as_the_page_says():
    class Model(torch.nn.Module):
        def forward(self, x, n: int):
            return x * n if n > 0 else x

    (program,) = programs("docs/torchscript.md")
    exe = run(program, torch=torch, model=Model())["exe"]
    x = torch.ones(1, 3, 224, 224)
    assert (exe(x, 2) == 2).all() and (exe(x, -2) == 1).all()
