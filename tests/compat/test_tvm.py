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


IMPORTS = """
import relay.compat.tvm.relay as relay
from relay.compat.tvm import IRModule, nd, relay
from relay.compat.tvm.relay import analysis, build_module, expr, frontend, testing, transform, ty
from relay.compat.tvm.relay.testing import mlp, resnet
from relay.compat.tvm.relay.testing.init import create_workload
import relay.compat.tvm.relay.testing.resnet as resnet
from relay.compat.tvm.relay.adt import Match
from relay.compat.tvm.relay.analysis import free_vars
from relay.compat.tvm.relay.build_module import bind_params_by_name
from relay.compat.tvm.relay.dataflow_pattern import is_op, wildcard
from relay.compat.tvm.relay.expr import Call, Constant, Var
from relay.compat.tvm.relay.expr_functor import ExprMutator, ExprVisitor
from relay.compat.tvm.relay.frontend import from_onnx
import relay.compat.tvm.relay.frontend.onnx
from relay.compat.tvm.relay.function import Function
from relay.compat.tvm.relay.loops import while_loop
from relay.compat.tvm.relay.op.contrib import register
from relay.compat.tvm.relay.op.nn import conv2d, dense
from relay.compat.tvm.relay.op.reduce import sum
from relay.compat.tvm.relay.op.tensor import exp
from relay.compat.tvm.relay.op.transform import reshape
from relay.compat.tvm.relay.prelude import Prelude
from relay.compat.tvm.relay.qnn.op import quantize
from relay.compat.tvm.relay.scope_builder import ScopeBuilder
from relay.compat.tvm.relay.transform import FoldConstant
from relay.compat.tvm.relay.ty import TensorType
from relay.compat.tvm.contrib import graph_executor, relay_viz, utils
from relay.compat.tvm.contrib.graph_executor import GraphModule
from relay.compat.tvm.contrib.debugger.debug_executor import create
from relay.compat.tvm.ir import IRModule
from relay.compat.tvm.ir.instrument import PassInstrument
from relay.compat.tvm.ir.transform import PassContext, Sequential
from relay.compat.tvm.runtime import vm
from relay.compat.tvm.runtime.vm import VirtualMachine
from relay.compat.tvm.target import Target
from relay.compat.tvm.transform import PassContext
from relay.compat.tvm.tir import Var
from relay.compat.tvm.relay.nn import *
"""


def test_every_form_of_import_finds_the_names_of_this_package():
    for line in IMPORTS.strip().splitlines():
        names = {}
        exec(line, names)
    assert names["dense"] is relay.nn.dense
    names = {}
    exec("from relay.compat.tvm.relay.testing import resnet", names)
    exec("from relay.compat.tvm.relay.transform import FoldConstant", names)
    exec("from relay.compat.tvm.relay.testing.resnet import get_workload", names)
    assert names["resnet"].get_workload is relay.testing.resnet.get_workload
    assert names["FoldConstant"] is relay.transform.FoldConstant
    assert names["get_workload"] is relay.testing.resnet.get_workload
    assert relay.testing.__spec__.name == "relay.testing"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("from relay.compat.tvm import te", "relay.te has tensor expressions"),
        ("import relay.compat.tvm.auto_scheduler", "relay.tune measures schedules"),
        ("from relay.compat.tvm.contrib import cc", 'export."lib.so", "shared"'),
        ("import relay.compat.tvm.relay.nothing", "No module named"),
        ("from relay.compat.tvm.relay.testing import nothing", "cannot import name"),
    ],
)
def test_imports_of_what_is_not_there_say_so(line, message):
    with pytest.raises(ImportError, match=message):
        exec(line, {})


def test_every_name_leads_somewhere():
    for module in (tvm, tvm.ir, tvm.contrib, tvm.contrib.debugger, tvm.autotvm):
        for name in dir(module):
            assert getattr(module, name) is not None, name
    assert tvm.relay.nn.dense is relay.nn.dense and tvm.relay.Function is relay.Function
    assert not hasattr(tvm, "typo")
    with pytest.raises(AttributeError, match="did you mean `target`"):
        tvm.traget  # noqa: B018
