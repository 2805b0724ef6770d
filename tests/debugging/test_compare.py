"""Bugs planted in converters, passes and kernels are found where they were planted."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import relay
from relay import debugging, tree
from relay.ir.expr import Call, Function, get_op
from relay.te.compute import compute
from relay.testing import mlp
from relay.transform import EliminateCommonSubexpr, FoldConstant, SimplifyExpr, SimplifyInference

X = np.random.default_rng(0).standard_normal((2, 1, 4, 4), np.float32)


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("RELAY_CACHE_DIR", "off")


def network():
    return mlp.get_workload(batch_size=2, image_shape=(1, 4, 4), num_classes=3)


def branching():
    """A program with a branch, a softmax and a product."""
    return relay.parse("""#[version = "0.0.5"]
    def @main(%x: Tensor[(2, 3), float32], %n: int32) {
      %0 = exp(%x);
      %1 = if (greater(%n, 0)) { tanh(%0) } else { nn.relu(%0) };
      sqrt(add(%1, abs(multiply(%0, 2f))))
    }
    """)


def replaced(module, wrong, right="nn.relu"):
    """The module with another operator in place of one: what a wrong rule of a pass does."""

    def put(before, after):
        if isinstance(after, Call) and after.op == get_op(right):
            return Call(get_op(wrong), after.args[:1])
        return after

    for name, function in list(module.functions.items()):
        if isinstance(function, Function):
            module[name] = tree.transform(function, put)
    return relay.transform.InferType()(module)


def run_script(found, path):
    """The reproducer as a process of its own, in which nothing is planted."""
    found.save(path)
    return subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=200)


def fails_here(found):
    """The reproducer in this process, where the bug is."""
    with pytest.raises(AssertionError, match="the results differ by"):
        exec(compile(found.reproducer, "reproducer", "exec"), {})


def test_a_right_compiler_agrees():
    module, params = network()
    found = debugging.compare(module, (X,), params=params)
    assert found.agrees and found.difference < 1e-5
    assert "agree" in str(found)
    with pytest.raises(relay.RelayError, match="no part"):
        found.save("nothing.py")


@pytest.mark.parametrize(
    "kind", [SimplifyInference, FoldConstant, EliminateCommonSubexpr, SimplifyExpr]
)
def test_a_wrong_pass_is_found(kind, monkeypatch, tmp_path):
    right = kind.transform_module

    def wrong(self, module, context):
        return replaced(right(self, module, context), "tanh")

    module, params = network()
    monkeypatch.setattr(kind, "transform_module", wrong)
    found = debugging.compare(module, (X,), params=params)
    assert (found.stage, found.name) == ("pass", kind.__name__), found
    assert found.part.count("nn.relu") == 1 and "nn.dense" not in found.part
    assert kind.__name__ in str(found)
    fails_here(found)
    assert run_script(found, tmp_path / "wrong.py").returncode == 0


def test_a_wrong_pass_of_a_program_with_branches_is_found(monkeypatch):
    right = FoldConstant.transform_module

    def wrong(self, module, context):
        return replaced(right(self, module, context), "exp", right="sqrt")

    monkeypatch.setattr(FoldConstant, "transform_module", wrong)
    inputs = (np.ones((2, 3), np.float32), np.int32(1))
    found = debugging.compare(branching(), inputs)
    assert (found.stage, found.name) == ("pass", "FoldConstant"), found
    assert "sqrt" in found.part and "if" not in found.part
    fails_here(found)


@pytest.mark.parametrize("name", ["nn.relu", "nn.softmax", "nn.bias_add"])
def test_a_wrong_kernel_is_found(name, monkeypatch):
    op = get_op("add" if name == "nn.bias_add" else name)
    right = op.compute

    def wrong(*tensors, out, **attrs):
        found = right(*tensors, out=out, **attrs)
        return compute(found.shape, lambda *i: found[i] + 0.5, "wrong")

    module, params = network()
    object.__setattr__(op, "compute", wrong)
    try:
        found = debugging.compare(module, (X,), params=params)
        assert found.stage == "kernel", found
        assert op.name in found.name
        assert found.part.count(op.name) == 1
        fails_here(found)
    finally:
        object.__setattr__(op, "compute", right)


@pytest.mark.parametrize("name", ["Relu", "Softmax"])
def test_a_wrong_converter_of_onnx_is_found(name, monkeypatch, tmp_path):
    from relay.frontend.onnx.converters import built_in, find

    (table,) = (one for one in built_in() if one.domain == "" and one.find(name, 13))
    right = find((table,), "", name, 13)

    def wrong(node, data, *rest):
        return relay.sigmoid(right(node, data, *rest))

    module, params = network()
    model = relay.to_onnx(module, params).SerializeToString()
    monkeypatch.setitem(table._table, name, [(1, wrong)])
    found = debugging.compare(model, (X,), against="onnxruntime")
    assert found.stage == "import" and f"({name})" in found.name, found
    assert "node `" in found.where
    fails_here(found)
    assert run_script(found, tmp_path / "wrong.py").returncode == 0


def test_a_wrong_converter_of_pytorch_is_found(monkeypatch):
    from relay.frontend.pytorch.converters import built_in

    (table,) = (one for one in built_in() if one.find("relu", 1))
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Softmax(-1))
    x = torch.randn(2, 4)
    assert debugging.compare(model, (x,), against="torch").agrees
    monkeypatch.setitem(table._table, "relu", [(1, lambda node, data: relay.exp(data))])
    found = debugging.compare(model, (x,), against="torch")
    assert found.stage == "import" and "relu" in found.name, found
    fails_here(found)


def test_requests_that_make_no_sense_are_refused():
    module, params = network()
    with pytest.raises(relay.RelayError, match="takes 1 inputs"):
        debugging.compare(module, (X, X), params=params)
    with pytest.raises(relay.RelayError, match="compare against"):
        debugging.compare(module, (X,), against="tensorflow", params=params)
