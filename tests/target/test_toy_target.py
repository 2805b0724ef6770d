"""A target from outside of the package: the one that `docs/adding/target.md` shows, installed."""

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import relay
from relay.cache import Cache
from relay.errors import EvaluationError, LowerError, TargetError
from relay.program.program import nbytes
from relay.target import Loaded, Target
from relay.target.memory import address_of
from relay.testing import mlp

PAGE = (Path(__file__).parents[2] / "docs/adding/target.md").read_text(encoding="utf-8")
PROGRAM = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
ENTRY_POINT = re.search(r"```toml\n.*?\n(.*?)```", PAGE, re.DOTALL)[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of packages in which the target is installed."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "toy_target.py").write_text(PROGRAM)
    facts = folder / "toy_target-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-target\nVersion: 1.0\n")
    declared = ENTRY_POINT.replace('"', "")
    (facts / "entry_points.txt").write_text(f"[relay.targets]\n{declared}wrong = math:pi\n")
    return folder


@pytest.fixture
def toy(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    from toy_target import Toy

    return Toy()


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def test_a_network_runs_on_it(toy):
    module, params = mlp.get_workload(1, image_shape=(1, 8, 8))
    exe = relay.compile(module, params, target=toy)
    data = numbers(1, 1, 8, 8)
    expected = relay.create_executor("debug", module, params=params).evaluate()(data).numpy()
    np.testing.assert_allclose(exe(data), expected, rtol=1e-5)
    assert exe.code.target is toy


def test_its_arithmetic_is_that_of_the_interpreter(toy):
    x, w = relay.var("x", shape=(1, 2, 5, 5)), relay.var("w", shape=(3, 2, 3, 3))
    i, h = relay.var("i", shape=(4,), dtype="int8"), relay.var("h", shape=(4,), dtype="float16")
    programs = [
        (relay.nn.conv2d(x, w, padding=(1, 1)), numbers(1, 2, 5, 5), numbers(3, 2, 3, 3)),
        (relay.argsort(x, axis=2), numbers(1, 2, 5, 5)),
        (i * i + relay.const(100, "int8"), np.array([1, -5, 100, 127], "int8")),
        (relay.exp(h) / h, numbers(4).astype("float16")),
    ]
    for body, *arguments in programs:
        function = relay.Function(relay.analysis.free_vars(body), body)
        expected = relay.create_executor("debug").evaluate(function)(*arguments).numpy()
        found = relay.compile(function, target=toy)(*arguments)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6)


LOOP = """
#[version = "0.0.5"]
def @power(%x: Tensor[(?, 3), float32], %n: int32) -> Tensor[(?, 3), float32] {
  if (%n == 0) { %x } else { @power(tanh(%x) + 1f, %n - 1) }
}
def @main(%x: Tensor[(?, 3), float32], %n: int32) { @power(%x, %n) }
"""


def test_a_program_of_loops_and_dynamic_sizes_runs_on_it_in_the_virtual_machine(toy):
    module = relay.parse(LOOP)
    x, n = numbers(2, 3), np.int32(3)
    expected = relay.create_executor("debug", module).evaluate()(x, n).numpy()
    run = relay.create_executor("vm", module, target=toy).evaluate()
    np.testing.assert_allclose(run(x, n).numpy(), expected, rtol=1e-5)
    with pytest.raises(TargetError, match="`toy` gives no code for functions and branches"):
        relay.compile(module, target=toy)


def test_it_is_known_by_the_name_of_its_entry_point(toy):
    assert Target("toy") == toy != Target("llvm")
    assert (str(toy), toy.kind.name, hash(Target("toy"))) == ("toy", "toy", hash(toy))
    assert toy.is_named
    with toy:
        assert Target.current() is toy
    with pytest.raises(TargetError, match="no option `-size=4`"):
        Target("toy -size=4")
    with pytest.raises(TargetError, match="there is no target `tony`") as error:
        Target("tony")
    assert "did you mean `toy`" in str(error.value) and "llvm, cuda, accel, c, toy" in str(
        error.value
    )
    with pytest.raises(TargetError, match="`wrong` is declared wrongly"):
        Target("wrong")


def test_what_was_saved_runs_in_another_process(toy, folder, tmp_path):
    x = relay.var("x", shape=(2, 3))
    exe = relay.compile(relay.Function([x], relay.nn.softmax(x)), target=toy)
    exe.save(tmp_path / "softmax.relayx")
    code = (
        "import sys, relay, numpy as np\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "print(relay.load(sys.argv[2])(np.zeros((2, 3), 'float32'))[0].tolist())\n"
        "print('llvmlite' in sys.modules, 'relay.lower.lower' in sys.modules)"
    )
    command = [sys.executable, "-c", code, folder, tmp_path / "softmax.relayx"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{[float(np.float32(1 / 3))] * 3}\nFalse False\n"


def test_its_kernels_are_cached_under_its_version(toy, tmp_path, monkeypatch):
    x = relay.var("x", shape=(4,))
    function = relay.Function([x], relay.exp(x))
    cache = Cache(tmp_path)
    for _ in range(2):  # the first time, operators fill the table that is part of the key
        relay.compile(function, target=toy, cache=cache)
    stored = cache.statistics.stored
    relay.compile(function, target=toy, cache=cache)
    assert 0 < stored == cache.statistics.stored
    monkeypatch.setattr(type(toy), "version", "2")
    relay.compile(function, target=toy, cache=cache)
    assert cache.statistics.stored > stored
    monkeypatch.setattr(type(toy), "version", "")
    relay.compile(function, target=toy, cache=(unused := Cache(tmp_path)))
    assert unused.statistics.stored == 0


def test_what_it_cannot_compute_is_refused_with_the_reason(toy):
    x = relay.var("x", shape=(2**21,))
    with pytest.raises(LowerError, match=r"cannot compute .*: Python takes minutes"):
        relay.compile(relay.Function([x], relay.exp(x)), target=toy)
    y = relay.var("y", shape=(4,))
    exe = relay.compile(relay.Function([y], relay.exp(y)), target=toy)
    with pytest.raises(TargetError, match="`toy` gives no libraries for C"):
        exe.export("exp.o")


def test_an_index_that_is_out_of_range_ends_the_run(toy):
    x, i = relay.var("x", shape=(4,)), relay.var("i", shape=(1,), dtype="int32")
    exe = relay.compile(relay.Function([x, i], relay.take(x, i)), target=toy, checked=True)
    assert exe(numbers(4), np.array([3], "int32")) == numbers(4)[3]
    with pytest.raises(EvaluationError, match="out of range"):
        exe(numbers(4), np.array([4], "int32"))


def test_weights_lie_in_the_memory_it_gives_and_can_be_changed(toy, monkeypatch):
    allocated = []

    def allocate(loaded, size, give=Loaded.allocate):
        allocated.append(size)
        return give(loaded, size)

    monkeypatch.setattr(Loaded, "allocate", allocate)
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(5, 3))
    function = relay.Function([x, w], relay.nn.dense(x, relay.exp(w)))
    exe = relay.compile(function, {"w": numbers(5, 3)}, target=toy)
    for weight in (numbers(5, 3), np.zeros((5, 3), "float32")):
        exe.set_params(w=weight)
        expected = numbers(2, 3) @ np.exp(weight).T
        np.testing.assert_allclose(exe(numbers(2, 3)), expected, rtol=1e-5)
    assert {5 * 3 * 4, 2 * 5 * 4} <= set(allocated)  # a weight, a result
    times = [step.seconds for step in exe.profile(numbers(2, 3), repeat=1)]
    assert len(times) == len(exe.kernels) and min(times) > 0


def test_a_target_may_have_memory_of_its_own(toy, folder):
    from toy_target import ToyKernels

    class Device(ToyKernels):
        """Kernels that see the memory of a device only; what lies elsewhere is copied."""

        reads_host = False

        def __init__(self, kernels, code):
            super().__init__(kernels, code)
            self.kernels = {kernel.name: kernel for kernel in kernels}
            self.blocks = []
            self.copied = 0

        def allocate(self, size):
            self.blocks.append(block := super().allocate(size))
            return block

        def invoke(self, kernel, words, where=""):
            known = self.kernels[kernel]
            own, back = list(words), []
            for i, spec in enumerate((*known.inputs, *known.outputs)):
                if not any(0 <= words[i] - address_of(b) < max(1, b.nbytes) for b in self.blocks):
                    size = nbytes(spec)
                    block = self.allocate(size)
                    ctypes.memmove(address_of(block), words[i], size)
                    own[i] = address_of(block)
                    back.append((words[i], own[i], size if i >= len(known.inputs) else 0))
            self.copied += len(back)
            super().invoke(kernel, own, where)
            for address, source, size in back:
                ctypes.memmove(address, source, size)

    class Far(type(toy)):
        def load(self, kernels, code, *, threads, support):
            self.loaded = Device(kernels, code)
            return self.loaded

    far = Far()
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(5, 3))
    function = relay.Function([x, w], relay.nn.softmax(relay.exp(relay.nn.dense(x, w))))
    exe = relay.compile(function, {"w": numbers(5, 3)}, target=far)
    expected = relay.compile(function, {"w": numbers(5, 3)})(numbers(2, 3))
    np.testing.assert_allclose(exe(numbers(2, 3)), expected, rtol=1e-5)
    assert far.loaded.copied == 1  # the input
    given = np.empty((2, 5), "float32")
    np.testing.assert_allclose(exe(numbers(2, 3), out=given), expected, rtol=1e-5)
    assert far.loaded.copied == 3


def test_a_target_without_code_says_what_is_missing():
    class Empty(Target):
        kind = relay.target.TargetKind("empty")

    assert not Empty().is_named
    x = relay.var("x", shape=(4,))
    with pytest.raises(TargetError, match="`empty` gives no code for kernels"):
        relay.compile(relay.Function([x], relay.exp(x)), target=Empty())
