"""What each command does, with ONNX Runtime and NumPy as oracles."""

import json

import numpy as np
import onnxruntime
import pytest
import torch

import relay
from relay.cli.app import app
from tests.frontend.tensorflow.graphs import Graph


def opt_in_process(*args):
    app([str(arg) for arg in args], standalone_mode=False)


def in_onnx_runtime(folder):
    session = onnxruntime.InferenceSession(str(folder / "mlp.onnx"))
    return session.run(None, {session.get_inputs()[0].name: np.load(folder / "x.npy")})[0]


def test_an_executable_is_compiled_run_and_saved(model, command, tmp_path):
    command("compile", model / "mlp.onnx", "-o", tmp_path / "mlp.relayx", "--threads", 1)
    for given in (f"data={model / 'x.npy'}", model / "x.npy", model / "inputs.npz"):
        command("run", tmp_path / "mlp.relayx", "--input", given, "-o", tmp_path / "y.npy")
        np.testing.assert_allclose(np.load(tmp_path / "y.npy"), in_onnx_runtime(model), rtol=1e-5)
    printed = json.loads(command("run", tmp_path / "mlp.relayx", "--json"))
    ((_, result),) = printed.items()
    assert result["shape"] == [2, 3] and result["dtype"] == "float32"


def test_the_name_of_the_file_says_what_is_written(model, command, tmp_path):
    for kind, found in (("loops", "for "), ("expressions", "sum((")):
        command("compile", model / "mlp.onnx", "-o", tmp_path / "text", "--emit", kind)
        assert found in (tmp_path / "text").read_text()
    for name in ("m.o", "m.a", "m.ll", "m.s", "m.relay", "m.onnx"):
        command("compile", model / "mlp.onnx", "-o", tmp_path / name)
        assert (tmp_path / name).stat().st_size
    assert (tmp_path / "m.h").exists()
    assert "define " in (tmp_path / "m.ll").read_text()
    relay.parse((tmp_path / "m.relay").read_text())
    again = relay.compile(tmp_path / "m.onnx")
    np.testing.assert_allclose(again(np.load(model / "x.npy")), in_onnx_runtime(model), rtol=1e-5)


def test_texts_are_printed(model, command):
    compiled = ("compile", model / "mlp.onnx", "-o", "-", "--emit")
    assert "relay program" in command(*compiled, "program")
    assert "relay_" in command(*compiled, "asm")
    assert "written to a file" in command(*compiled, "object", code=2)


def test_shapes_of_inputs_are_given(model, command):
    run = ("run", model / "mlp.onnx", "--shape")
    assert "output" in command(*run, "data=2,1,4,4")
    assert "expected: 48 elements" in command(*run, "data=3,1,4,4", code=1)
    for wrong in ("data", "data=a", "=3", "data=-1,2", "data=1.5"):
        assert "is not a shape" in command(*run, wrong, code=2)
    assert "two shapes" in command(*run, "n=3", "--shape", "n=4", code=2)
    assert "no --shape" in command("run", model / "mlp.relay", "--shape", "x=3", code=1)


def test_passes_run_over_programs(model, command):
    program = model / "mlp.relay"
    text = command("opt", program, "--passes", "fold-constant,SimplifyInference()")
    assert relay.ir.structural_equal(
        relay.parse(text),
        relay.transform.SimplifyInference()(relay.parse(program.read_text())),
    )
    assert "Primitive=1" in command("opt", program, "--level", 2)
    options = "dead-code-elimination(inline_once=True)"
    assert "nn.dense" in command("opt", program, "--passes", options)
    assert "fold-constant" in command("opt", "--list").split()
    assert "fold-constant" in json.loads(command("opt", "--list", "--json"))


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ("fold-konstant", "did you mean `fold-constant`"),
        ("", "there is no pass ``"),
        ("fold-constant(", "write (name=value, …)"),
        ("fold-constant(fold_qnn=open('x'))", "write (name=value, …)"),
        ("fold-constant(typo=1)", "typo"),
    ],
)
def test_misspelled_passes_are_explained(model, command, passes, message):
    assert message in command("opt", model / "mlp.relay", "--passes", passes, code=1)


def test_programs_are_printed_around_passes(model, command, capsys):
    opt = ("opt", model / "mlp.relay", "--passes", "fold-constant", "--times")
    for options, found in (
        (("--print-after", "all"), ["after infer-type", "after fold-constant"]),
        (("--print-before", "fold-constant"), ["before fold-constant"]),
    ):
        opt_in_process(*opt, *options)
        err = capsys.readouterr().err
        assert [line[3:] for line in err.splitlines() if line.startswith("// ")] == found
        assert "FoldConstant" in err


def test_models_are_inspected(model, command, tmp_path):
    report = json.loads(command("inspect", model / "mlp.onnx", "--json"))
    assert report["inputs"] == {"data": "Tensor[(2, 1, 4, 4), float32]"}
    assert report["operators"]["nn.dense"] == 3
    # 16 x 128, 128 x 64, 64 x 3 and their biases; two numbers are the shape of the reshape
    weights = 16 * 128 + 128 + 128 * 64 + 64 + 64 * 3 + 3
    assert weights <= report["parameters"] <= weights + 2
    assert report["multiply_accumulates"] == 2 * (16 * 128 + 128 * 64 + 64 * 3)
    command("compile", model / "mlp.onnx", "-o", tmp_path / "mlp.relayx")
    report = json.loads(command("inspect", tmp_path / "mlp.relayx", "--json"))
    assert report["memory"]["constants"] >= 4 * weights
    assert "nn.dense" in command("inspect", model / "mlp.relay")
    report = json.loads(command("inspect", model / "mlp.onnx", "--compiled", "--json"))
    assert report["operators"]["nn.dense"] == 3 and report["memory"]["arena"] > 0
    assert report["flops"] >= 2 * report["multiply_accumulates"]
    assert "is an executable" in command("opt", tmp_path / "mlp.relayx", "--level", 1, code=1)


def test_calls_are_measured_and_profiled(model, command, tmp_path):
    options = ("--seconds", 0.05, "--json")
    report = json.loads(command("bench", model / "mlp.onnx", "--peers", *options))
    assert set(report["times"]) == {"relay", "onnxruntime"}
    for times in report["times"].values():
        assert 0 < times["min"] <= times["p50"] <= times["p99"]
    assert "to fastest" in command("bench", model / "mlp.relay", "--seconds", 0.05)
    report = json.loads(command("profile", model / "mlp.onnx", "--repeat", 2, "--json"))
    assert sum(step["seconds"] for step in report["steps"]) <= report["seconds"] * 1.01
    trace = tmp_path / "trace.json"
    command("profile", model / "mlp.onnx", "--repeat", 1, "--no-roof", "--trace", trace)
    (whole, *kernels) = json.loads(trace.read_text())
    assert whole["name"] == "main" and len(kernels) == len(report["steps"])
    assert sum(one["dur"] for one in kernels) <= whole["dur"]
    assert "neither" in command("bench", model / "mlp.relay", "--peers", code=1)


def test_inputs_that_do_not_fit_are_refused(model, command, tmp_path):
    run = ("run", model / "mlp.onnx", "--input")
    assert "there is no input `typo`" in command(*run, f"typo={model / 'x.npy'}", code=1)
    assert "cannot read" in command(*run, tmp_path / "nothing.npy", code=1)
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00")
    assert "no .npy or .npz file" in command(*run, tmp_path / "bad.npy", code=1)
    np.save(tmp_path / "objects.npy", np.array([print], object), allow_pickle=True)
    assert "no .npy or .npz file" in command(*run, tmp_path / "objects.npy", code=1)


def test_the_machine_and_the_cache_are_described(command, monkeypatch, tmp_path, model):
    monkeypatch.setenv("RELAY_CACHE_DIR", str(tmp_path / "cache"))
    report = json.loads(command("doctor", "--json"))
    assert all(report["roof"].values()) and "sse2" in report["machine"]["extensions"]
    assert "roof" not in json.loads(command("doctor", "--json", "--no-roof"))
    assert report["versions"]["relay"] == relay.__version__
    assert report["machine"]["target"].startswith("llvm")
    command("compile", model / "mlp.onnx", "-o", tmp_path / "mlp.relayx")
    assert json.loads(command("cache", "info", "--json"))["bytes"] > 0
    assert json.loads(command("cache", "clear", "--json"))["removed"] > 0
    assert json.loads(command("cache", "info", "--json"))["bytes"] == 0


def test_a_page_is_written_and_served(model, command, tmp_path):
    command("view", model / "mlp.relay", "-o", tmp_path / "mlp.html", "--no-roof")
    assert "<title>mlp.relay" in (tmp_path / "mlp.html").read_text()
    served = ("view", model / "mlp.relay", "--serve")
    assert "either written or served" in command(*served, "-o", tmp_path / "x.html", code=2)
    assert "no file" in command("view", tmp_path / "nothing.relay", code=1)
    assert "cannot read" in command("view", tmp_path / "nothing.relay", "--serve", code=1)


def test_models_are_quantized(model, command, tmp_path):
    (tmp_path / "data").mkdir()
    for number in range(3):
        batch = np.random.default_rng(number).standard_normal((2, 1, 4, 4), np.float32)
        np.save(tmp_path / "data" / f"{number}.npy", batch)
    given = ("--quantize", model / "inputs.npz", "--quantize", tmp_path / "data")
    command("compile", model / "mlp.onnx", "-o", tmp_path / "q.relayx", *given)
    command("run", tmp_path / "q.relayx", "--input", model / "x.npy", "-o", tmp_path / "y.npy")
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), in_onnx_runtime(model), atol=0.05)
    command("compile", model / "mlp.onnx", "-o", tmp_path / "q.relay", *given)
    assert "int8" in (tmp_path / "q.relay").read_text()
    (tmp_path / "empty").mkdir()
    wrong = ("compile", model / "mlp.onnx", "-o", tmp_path / "w.relayx", "--quantize")
    assert "no .npy or .npz file in" in command(*wrong, tmp_path / "empty", code=1)
    assert not (tmp_path / "w.relayx").exists()


def test_code_of_other_machines_is_printed(model, command):
    compiled = ("compile", model / "mlp.onnx", "-o", "-", "--target")
    arm = ("llvm -mtriple=aarch64-linux-gnu", "--emit")
    assert "define " in command(*compiled, *arm, "llvm")
    assert "fmla" in command(*compiled, *arm, "asm")
    assert "relay program" in command(*compiled, *arm, "program")
    command("compile", model / "mlp.onnx", "-o", model / "arm.o", "--target", arm[0])
    assert (model / "arm.o").read_bytes()[18] == 183  # AArch64


def test_source_in_c_is_for_any_machine(model, command, tmp_path):
    command("compile", model / "mlp.onnx", "-o", tmp_path / "net.c")
    assert "int net_run(" in (tmp_path / "net.c").read_text()
    command("compile", model / "mlp.onnx", "-o", tmp_path, "--emit", "c", "--no-embed")
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"net.c", "net.h", "mlp.c", "mlp.h", "mlp.weights"}
    machine = ("--target", "llvm -mtriple=aarch64-linux-gnu")
    text = command("compile", model / "mlp.onnx", "-o", tmp_path / "arm.c", *machine, code=1)
    assert "leave --target away" in text
    command("compile", model / "mlp.onnx", "-o", tmp_path / "m.relayx", "--no-embed", code=2)
    assert {path.name for path in tmp_path.iterdir()} == made


def test_options_that_could_not_count_are_refused(model, command, tmp_path):
    command("compile", model / "mlp.onnx", "-o", tmp_path / "m.relayx")
    again = ("compile", tmp_path / "m.relayx", "-o", tmp_path / "again.o")
    for name, *value in (("level", 2), ("exact",), ("target", "llvm"), ("shape", "data=1,2")):
        assert f"takes no --{name}" in command(*again, f"--{name}", *value, code=1)
    assert "takes no --quantize" in command(*again, "--quantize", model / "x.npy", code=1)
    assert "no code to link" in command(*again, code=1)
    wrong = ("opt", model / "mlp.relay", "--passes", "fold-constant", "--target", "nonsense")
    assert "no target `nonsense`" in command(*wrong, code=1)


def test_files_that_are_no_models_are_refused_by_every_command(model, command, tmp_path):
    (tmp_path / "empty.relay").write_text("")
    (tmp_path / "broken.relay").write_text("def @main( {")
    (tmp_path / "broken.relayx").write_bytes(b"PK nonsense")
    for name in ("broken.onnx", "broken.pt2", "broken.keras", "model.xyz"):
        (tmp_path / name).write_bytes(b"\xff\x01 nonsense")
    before = sorted(tmp_path.iterdir())
    for name in ("compile", "run", "bench", "profile", "inspect", "view", "tune", "opt"):
        rest = {"compile": ("-o", tmp_path / "x.o"), "opt": ("--level", 1), "view": ("--no-roof",)}
        for file in (*before, tmp_path, tmp_path / "missing.onnx"):
            command(name, file, *rest.get(name, ()), code=1)
    assert sorted(tmp_path.iterdir()) == before


def test_models_of_every_format_are_run(command, tmp_path, monkeypatch):
    """With shapes where the file does not say them."""
    node = {"op": "relu", "name": "y", "inputs": [[0, 0, 0]]}
    nodes = [{"op": "null", "name": "data", "inputs": []}, node]
    symbol = {"nodes": nodes, "arg_nodes": [0], "heads": [[1, 0, 0]]}
    (tmp_path / "net-symbol.json").write_text(json.dumps(symbol))
    (tmp_path / "graph.pb").write_bytes(relu_graph())
    torch.jit.script(torch.nn.ReLU()).save(tmp_path / "net.pt")
    torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(2, 3),)), tmp_path / "n.pt2")
    np.save(tmp_path / "x.npy", np.float32([[-1, 2, -3], [4, -5, 6]]))
    for name, *shape in (
        ("net-symbol.json", "--shape", "data=2,3"),
        ("graph.pb", "--shape", "data=2,3"),
        ("net.pt", "--shape", "x=2,3"),
        ("n.pt2",),
    ):
        given = ("--input", tmp_path / "x.npy", "-o", tmp_path / "y.npy")
        command("run", tmp_path / name, *shape, *given)
        assert np.load(tmp_path / "y.npy").tolist() == [[0, 2, 0], [4, 0, 6]], name


def relu_graph():
    graph = Graph()
    graph.input("data", None, None)
    graph.node("y", "Relu", ["data"])
    return graph.bytes()
