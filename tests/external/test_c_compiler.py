"""An external compiler from outside of the package: that of the page about adding one."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import relay
import relay.contrib
from relay.errors import TargetError
from relay.external import find_compiler
from relay.op.contrib import register
from relay.testing import mlp

PAGE = (Path(__file__).parents[2] / "docs/adding/external_compiler.md").read_text(encoding="utf-8")
PROGRAM = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
ENTRY_POINT = re.search(r"```toml\n.*?\n(.*?)```", PAGE, re.DOTALL)[1]

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler `cc`")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of packages in which the compiler is installed."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "c_compiler.py").write_text(PROGRAM)
    facts = folder / "c_compiler-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: c-compiler\nVersion: 1.0\n")
    declared = ENTRY_POINT.replace('"', "")
    (facts / "entry_points.txt").write_text(f"[relay.compilers]\n{declared}wrong = random:Random\n")
    return folder


@pytest.fixture
def installed(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(register, "_compilers", {})


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape, "float32")


def network():
    module, params = mlp.get_workload(1, image_shape=(1, 8, 8))
    return module, params, numbers(1, 1, 8, 8)


def compilers(exe):
    return [kernel.compiler for kernel in exe.kernels]


def test_a_network_is_divided_and_agrees(installed):
    module, params, data = network()
    divided = relay.contrib.partition(module, params, ["c"])
    exe = relay.compile(divided)
    expected = relay.create_executor("debug", module, params=params).evaluate()(data).numpy()
    np.testing.assert_allclose(exe(data), expected, rtol=1e-5)
    assert "c" in compilers(exe) and "" in compilers(exe)  # the rest is ours
    np.testing.assert_array_equal(
        relay.create_executor("debug", divided).evaluate()(data).numpy(), expected
    )
    run = relay.create_executor("vm", divided).evaluate()
    np.testing.assert_array_equal(run(data).numpy(), exe(data))
    np.testing.assert_array_equal(relay.compile(divided, level=0)(data), exe(data))
    assert [step.kernel.compiler for step in exe.profile(data, repeat=1)] == compilers(exe)


LOOP = """
#[version = "0.0.5"]
def @power(%x: Tensor[(2, 3), float32], %n: int32) -> Tensor[(2, 3), float32] {
  if (%n == 0) { %x } else { @power(nn.relu(add(%x, %x)), %n - 1) }
}
def @main(%x: Tensor[(2, 3), float32], %n: int32) { exp(@power(%x, %n)) }
"""


def test_a_program_of_loops_calls_it_from_native_code(installed):
    module = relay.parse(LOOP)
    exe = relay.compile(relay.contrib.partition(module, None, "c"))
    assert "c" in compilers(exe)
    expected = relay.create_executor("debug", module).evaluate()(numbers(2, 3), np.int32(3)).numpy()
    np.testing.assert_allclose(exe(numbers(2, 3), np.int32(3)), expected, rtol=1e-6)


def test_what_was_saved_runs_in_a_process_without_compilers(installed, folder, tmp_path):
    module, params, data = network()
    exe = relay.compile(relay.contrib.partition(module, params, "c"))
    exe.save(tmp_path / "mlp.relayx")
    np.save(tmp_path / "x.npy", data)
    code = (
        "import sys, relay, numpy as np\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "exe = relay.load(sys.argv[2] + '/mlp.relayx')\n"
        "np.save(sys.argv[2] + '/y.npy', exe(np.load(sys.argv[2] + '/x.npy')))\n"
        "print('relay.lower.lower' in sys.modules, 'relay.target.llvm.compile' in sys.modules)"
    )
    command = [sys.executable, "-c", code, folder, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PATH": ""})
    assert done.stdout == "False False\n"
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), exe(data))
    without = subprocess.run([*command[:3], "", tmp_path], capture_output=True, text=True)
    assert "there is no external compiler `c` here" in without.stderr
    assert "relay.contrib.take_back(mod)" in without.stderr


def test_several_threads_call_it_at_once(installed):
    from concurrent.futures import ThreadPoolExecutor

    x, w = relay.var("x", shape=(4, 64)), relay.var("w", shape=(32, 64))
    function = relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w)))
    weight = numbers(32, 64)
    exe = relay.compile(relay.contrib.partition(function, {"w": weight}, "c"))
    inputs = [numbers(4, 64) * scale for scale in range(1, 9)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for data, found in zip(inputs, pool.map(exe, inputs), strict=True):
                np.testing.assert_allclose(found, np.maximum(data @ weight.T, 0), 1e-3, 1e-4)


def test_parts_are_given_back(installed):
    module, params, data = network()
    divided = relay.contrib.partition(module, params, "c")
    whole = relay.contrib.take_back(divided)
    assert [name.name_hint for name in whole.functions] == ["main"]
    exe = relay.compile(whole)
    assert set(compilers(exe)) == {""}
    np.testing.assert_allclose(exe(data), relay.compile(module, params)(data), rtol=1e-6)
    with pytest.raises(relay.RelayError, match="compiled by c, which a library for C"):
        relay.compile(divided).export("part.o")


def test_both_sides_are_measured(installed):
    module, params, data = network()
    divided, costs = relay.contrib.partition_by_cost(module, params, "c", repeat=1)
    assert costs and all(one.theirs > 0 and one.ours > 0 for one in costs)
    kept = [one.function for one in costs if one.is_kept]
    assert sorted(kept) == sorted(n.name_hint for n in divided.functions if n.name_hint != "main")
    assert all(one.function in str(costs) for one in costs)
    found = relay.compile(divided)(data)
    np.testing.assert_allclose(found, relay.compile(module, params)(data), rtol=1e-5)


def test_compilers_that_do_not_exist_are_named(installed):
    module, params, _ = network()
    with pytest.raises(TargetError, match="there is no external compiler `d` here") as error:
        relay.contrib.partition(module, params, "d")
    assert "onnxruntime, c, wrong" in str(error.value)
    with pytest.raises(TargetError, match="`wrong` is declared wrongly"):
        find_compiler("wrong")
