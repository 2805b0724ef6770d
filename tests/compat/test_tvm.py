"""Scripts with the call sequences of tvm's tutorials run after their imports have changed."""

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import relay
import relay.compat.tvm as tvm
from relay.cache import Cache
from relay.cache.tuned import Tuned
from relay.testing import mlp

SCRIPTS = Path(__file__).parent / "scripts"


def run(name, monkeypatch, *args):
    monkeypatch.setattr(sys, "argv", [name, *map(str, args)])
    return runpy.run_path(str(SCRIPTS / name))


def test_a_model_is_built_run_exported_and_loaded(monkeypatch):
    found = run("build_and_deploy.py", monkeypatch)
    assert found["out"].shape == (1, 10)
    np.testing.assert_allclose(found["out"].sum(), 1, rtol=1e-5)


def test_passes_are_ordered_disabled_written_and_watched(monkeypatch):
    found = run("pass_infrastructure.py", monkeypatch)
    assert str(found["mod3"]).count("3f") >= 1


def test_a_model_of_onnx_is_imported_tuned_and_agrees(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("RELAY_CACHE_DIR", str(tmp_path / "cache"))
    x, w = relay.var("x", shape=(2, 24)), np.random.default_rng(1).standard_normal((40, 24))
    dense = relay.nn.relu(relay.nn.dense(x, relay.const(w.astype(np.float32))))
    module = relay.IRModule.from_expr(relay.Function([x], dense))
    model = tmp_path / "dense.onnx"
    model.write_bytes(relay.to_onnx(module).SerializeToString())
    x = np.random.default_rng(0).standard_normal((2, 24), np.float32)
    np.save(tmp_path / "x.npy", x)
    paths = [model, tmp_path / "x.npy", tmp_path / "y.npy", tmp_path / "records.json"]
    run("from_onnx.py", monkeypatch, *paths)
    session = onnxruntime.InferenceSession(str(model))
    (expected,) = session.run(None, {session.get_inputs()[0].name: x})
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=1e-4, atol=1e-5)
    assert "[Task  1/ 1]  2 plans tried" in capsys.readouterr().out
    (line,) = (tmp_path / "records.json").read_text().splitlines()
    assert len(json.loads(line)[3]) == 2


def test_records_of_tuning_are_taken_over_and_tuning_without_a_cache_is_refused(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("RELAY_CACHE_DIR", str(tmp_path / "cache"))
    autotvm = tvm.autotvm
    records = tmp_path / "records.json"
    records.write_text('["key", "tile=1x2", 1.5, ["tile=1x2"]]\nnonsense\n')
    with autotvm.apply_history_best(str(records)):
        assert Tuned.of(Cache.default()).plan("key") == "tile=1x2"
    with pytest.raises(relay.RelayError, match="cannot read"):
        autotvm.apply_history_best(tmp_path / "missing.json").__enter__()
    with pytest.raises(relay.RelayError, match="on this machine"):
        autotvm.measure_option(builder="local", runner="rpc")
    option = autotvm.measure_option(builder="local", runner=autotvm.LocalRunner())
    monkeypatch.setenv("RELAY_CACHE_DIR", "off")
    with pytest.raises(relay.RelayError, match="which is off"):
        autotvm.tuner.GridSearchTuner(None).tune(1, option)


@pytest.mark.parametrize("name", ["auto_scheduler", "te", "relax", "cuda", "rpc"])
def test_what_has_no_counterpart_says_what_to_use(name):
    with pytest.raises(AttributeError, match=rf"tvm\.{name} is not part of Relay: \w+"):
        getattr(tvm, name)


def test_values_and_pictures_have_their_old_places(capsys):
    from relay.compat.tvm.contrib import relay_viz
    from relay.compat.tvm.contrib.debugger import debug_executor

    module, params = mlp.get_workload(batch_size=1, image_shape=(1, 4, 4), num_classes=3)
    relay_viz.RelayVisualizer(module, relay_param=params).render()
    assert "nn.dense" in capsys.readouterr().out
    lib = relay.build(module, params=params)
    debug = debug_executor.create(lib.get_graph_json(), lib, tvm.cpu(0))
    debug.run(data=np.ones((1, 1, 4, 4), np.float32))
    assert debug.debug_get_output(0).shape == (1, 128)


def test_every_name_leads_somewhere():
    for module in (tvm, tvm.ir, tvm.contrib, tvm.contrib.debugger, tvm.autotvm):
        for name in dir(module):
            assert getattr(module, name) is not None, name
    assert tvm.relay.nn is relay.nn and tvm.relay.Function is relay.Function
    assert not hasattr(tvm, "typo")
    with pytest.raises(AttributeError, match="did you mean `target`"):
        tvm.traget  # noqa: B018
