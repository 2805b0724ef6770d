"""Models as C source: compiled with every warning on, run, and compared."""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

import relay
from relay.errors import RelayError, TargetError
from relay.testing import lstm, mlp, mobilenet, resnet, squeezenet
from tests.support.c_kernels import GUESSES, STRICT, needs_compiler
from tests.support.sampling import some_of

X = np.arange(6, dtype="float32").reshape(2, 3)
SANITIZED = ("-fsanitize=undefined,address", "-fno-sanitize-recover=all", "-static-libasan")

MAIN = """
#include <stdio.h>
#include "net.h"

int main(int count, char **arguments) {
  static float x[NET_INPUT_0_BYTES / sizeof(float)], y[NET_OUTPUT_0_BYTES / sizeof(float)];
  const void *inputs[NET_INPUTS] = {x};
  void *outputs[NET_OUTPUTS] = {y};
  net *model, *other;
  int status = net_create(&model, count > 1 ? arguments[1] : NULL, 0);
  if (count > 2 && !status) {
    status = net_create(&other, arguments[1], 0);
    net_destroy(other);
  }
  for (int turn = 0; !status && turn < 3; turn++) {
    for (unsigned i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)((int)i % 7 - turn);
    status = net_run(model, inputs, outputs);
    for (unsigned i = 0; i < sizeof y / sizeof *y; i++) printf("%.9g ", y[i]);
  }
  if (status) puts(net_error(status));
  net_destroy(model);
  return status;
}
"""


def built(folder, *options, name="main"):
    (folder / "main.c").write_text(MAIN)
    command = ["cc", *STRICT, *GUESSES, *options, "-o", name, "main.c", "net.c", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / name


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, cwd=program.parent)


def turns(exe):
    """What the program above prints, computed in Python."""
    found = []
    for turn in range(3):
        shape = exe.inputs[0].shape
        x = (np.arange(np.prod(shape)) % 7 - turn).astype("float32").reshape(shape)
        found.append(np.ravel(exe(x)))
    return np.concatenate(found)


def numbers(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return np.array(done.stdout.split(), "float32")


def weighted():
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    body = relay.nn.log_softmax(relay.sigmoid(relay.nn.dense(x, w)) * relay.const(3.0))
    w = np.linspace(-2, 2, 12, dtype="float32").reshape(4, 3)
    return relay.Function(relay.analysis.free_vars(body), body), {"w": w}


def compiled(model, **options):
    function, params = model
    return relay.compile(function, params, target="c", **options)


@needs_compiler
@pytest.mark.parametrize("options", [(), ("-O3",), ("-DNET_STATIC",), ("-O1", *SANITIZED)])
def test_a_model_is_one_file(tmp_path, options):
    exe = compiled(weighted())
    assert exe.export(tmp_path / "net.c") == tmp_path / "net.h"
    found = numbers(run(built(tmp_path, *options)))
    np.testing.assert_array_equal(found, turns(exe))  # with every compiler and level
    native = relay.compile(*weighted())
    np.testing.assert_allclose(found, turns(native), rtol=1e-5, atol=1e-6)


@needs_compiler
@pytest.mark.parametrize("options", [(), ("-DNET_STATIC",), ("-O1", *SANITIZED)])
def test_weights_may_be_a_file(tmp_path, options):
    exe = compiled(weighted())
    exe.export(tmp_path / "net.c", embed=False)
    assert "constant_0" not in (tmp_path / "net.c").read_text()
    program = built(tmp_path, *options)
    np.testing.assert_array_equal(numbers(run(program, "net.weights")), turns(exe))
    (tmp_path / "short").write_bytes((tmp_path / "net.weights").read_bytes()[:-1])
    wrong = {
        "missing": "the file of weights cannot be read",
        "main.c": "the file of weights belongs to another model",
        "short": "the file of weights belongs to another model",
    }
    for file, message in wrong.items():
        done = run(program, file)
        assert (done.stdout.strip(), done.returncode != 0) == (message, True)
    done = run(program)
    assert done.stdout.strip() == "the file of weights cannot be read"


@needs_compiler
def test_a_model_in_static_memory_is_there_once(tmp_path):
    compiled(weighted()).export(tmp_path / "net.c", embed=False)
    several = run(built(tmp_path), "net.weights", "twice")
    assert several.returncode == 0
    done = run(built(tmp_path, "-DNET_STATIC"), "net.weights", "twice")
    assert done.stdout.strip() == "there is not enough memory"
    symbols = subprocess.run(["nm", "main"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert " malloc" not in symbols


@needs_compiler
def test_weights_inside_are_not_read_from_a_file(tmp_path):
    compiled(weighted()).export(tmp_path / "net.c")
    done = run(built(tmp_path), "net.weights")
    assert done.stdout.strip() == "the weights are inside of the model"


COUNTER = """
#[version = "0.0.5"]
def @main(%n: Tensor[(), int64], %x: Tensor[(2, 3), float32], %sum: Tensor[(2, 3), float32],
          State=["n", "sum"]) {
  (multiply(%x, 2f), add(%n, 1i64), add(%sum, %x))
}
"""


ARM = shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64")


@needs_compiler
@pytest.mark.skipif(None in ARM, reason="needs a compiler for AArch64, and qemu")
def test_results_are_the_same_to_the_bit_on_another_processor(tmp_path):
    exe = compiled(weighted())
    exe.export(tmp_path / "net.c")
    built(tmp_path)
    command = [ARM[0], *STRICT, *GUESSES, "-O2", "-static", "-o", "arm", "main.c", "net.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([ARM[1], "arm"], cwd=tmp_path, capture_output=True, text=True)
    np.testing.assert_array_equal(numbers(done), turns(exe))


@pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="needs a compiler for Cortex-M")
def test_a_microcontroller_needs_no_heap_and_no_files(tmp_path):
    compiled(weighted()).export(tmp_path / "net.c")
    command = ["arm-none-eabi-gcc", *STRICT, *GUESSES, "-O2", "-mcpu=cortex-m4", "-mthumb"]
    command += ["-DNET_STATIC", "-c", "net.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    found = subprocess.run(
        ["arm-none-eabi-nm", "-u", "net.o"], cwd=tmp_path, capture_output=True, text=True
    ).stdout.split()
    assert not [name for name in found[1::2] if not name.startswith(("__aeabi_", "mem"))]


@needs_compiler
@pytest.mark.parametrize("embed", [True, False])
def test_a_state_is_kept_from_run_to_run(tmp_path, embed):
    begin = {"n": 5, "sum": np.ones((2, 3), "float32")}
    text = COUNTER.replace("multiply(%x, 2f)", 'add(%sum, multiply(%x, cast(%n, dtype="float32")))')
    exe = relay.compile(relay.parse(text), begin, target="c")
    header = exe.export(tmp_path / "net.c", embed=embed)
    assert "void net_reset(net *model);" in header.read_text()
    main = MAIN.replace("double", "float")
    assert "net_reset" not in main
    given = [] if embed else ["net.weights"]
    found = numbers(run(built(tmp_path, "-O1", *SANITIZED), *given))
    np.testing.assert_array_equal(found, turns(exe))
    with_reset = main.replace("status = net_run", "net_reset(model), status = net_run")
    (tmp_path / "once.c").write_text(with_reset)
    command = ["cc", *STRICT, "-o", "once", "once.c", "net.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    again = numbers(run(tmp_path / "once", *given)).reshape(3, 6)
    x = np.arange(6) % 7
    np.testing.assert_array_equal(again, [1 + (x - turn) * 5 for turn in range(3)])


@needs_compiler
def test_an_index_out_of_range_is_a_status(tmp_path):
    x, i = relay.var("x", shape=(5,)), relay.var("i", shape=(3,), dtype="float32")
    body = relay.take(x, relay.cast(i, "int32"), axis=0)
    function = relay.Function([i, x], body)
    exe = relay.compile(function, {"x": np.ones(5, "float32")}, target="c", checked=True)
    exe.export(tmp_path / "net.c")
    done = run(built(tmp_path))
    assert "an index is out of range" in done.stdout
    with pytest.raises(RelayError, match="out of range"):
        exe(np.array([0, 1, 9], "float32"))


@needs_compiler
@pytest.mark.parametrize("name", some_of(["mlp", "lstm", "squeezenet", "mobilenet", "resnet"], 3))
def test_networks_compute_what_native_code_computes(name, tmp_path):
    small = {"image_shape": (3, 32, 32), "num_classes": 10}
    network = {
        "mlp": lambda: mlp.get_workload(2, image_shape=(1, 8, 8)),
        "lstm": lambda: lstm.get_workload(3, 8),
        "squeezenet": lambda: squeezenet.get_workload(1, image_shape=(3, 64, 64)),
        "mobilenet": lambda: mobilenet.get_workload(1, **small),
        "resnet": lambda: resnet.get_workload(1, num_layers=18, **small),
    }[name]()
    exe = compiled(network)
    inputs = exe.example_inputs()
    found = exe(*inputs)
    expected = relay.compile(*network)(*inputs)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@needs_compiler
def test_integers_are_those_of_native_code(tmp_path):
    chance = np.random.default_rng(0)
    x = relay.var("x", shape=(1, 4, 9, 9), dtype="int8")
    w = relay.const(chance.integers(-128, 128, (8, 4, 3, 3)).astype("int8"))
    sums = relay.nn.conv2d(x, w, padding=(1, 1), out_dtype="int32")
    body = relay.clip(relay.right_shift(sums, relay.const(7)), -128, 127).astype("int8")
    function = relay.Function([x], body)
    data = chance.integers(-128, 128, (1, 4, 9, 9)).astype("int8")
    found, expected = (relay.compile(function, target=t)(data) for t in ("c", "llvm"))
    np.testing.assert_array_equal(found, expected)


@needs_compiler
def test_open_sizes_run_in_the_virtual_machine():
    function = relay.parse(
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(?, 3), float32]) { nn.softmax(nn.dense(%x, ones(shape=[4, 3], "
        'dtype="float32"))) }'
    )
    found = relay.vm.compile(function, "c")
    expected = relay.create_executor("debug", function).evaluate()
    for rows in (1, 2, 7):
        x = np.random.default_rng(rows).standard_normal((rows, 3)).astype("float32")
        got = relay.vm.VirtualMachine(found, relay.cpu()).run(x)
        np.testing.assert_allclose(got.numpy(), expected(x).numpy(), rtol=1e-5)


def test_programs_with_branches_are_refused():
    mod = relay.parse('#[version = "0.0.5"]\ndef @main(%c: bool) { if (%c) { 1f } else { 2f } }')
    with pytest.raises(TargetError, match="no code for functions, branches"):
        relay.compile(mod, target="c")


def test_text_needs_no_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    x = relay.var("x", shape=(2, 3))
    exe = relay.compile(relay.Function([x], relay.exp(x)), target="c")
    exe.export(tmp_path / "net.c")
    assert "relay_exp_float32" in (tmp_path / "net.c").read_text()
    with pytest.raises(TargetError, match="no compiler of C"):
        exe(X)


def test_other_kinds_are_refused(tmp_path):
    x = relay.var("x", shape=(2, 3))
    function = relay.Function([x], relay.exp(x))
    with pytest.raises(TargetError, match="gives no object"):
        relay.compile(function, target="c").export(tmp_path / "net.o")
    with pytest.raises(RelayError, match="compile with target='c'"):
        relay.compile(function).export(tmp_path / "net.c")
    assert not list(tmp_path.iterdir())


@needs_compiler
def test_the_text_is_readable(tmp_path):
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(8,))
    exe = relay.compile(relay.Function([x, w], relay.nn.relu(x + w)), target="c")
    exe.export(tmp_path / "net.c")
    text = (tmp_path / "net.c").read_text()
    (kernel,) = re.findall(r"^static void relay_add_relu_\w+\(.*?^}", text, re.S | re.M)
    assert re.sub(r"_[0-9a-f]{16}", "", kernel) == READABLE.strip()
    library = tmp_path / "net.so"
    command = ["cc", *STRICT, "-shared", "-fPIC", "-o", library, "net.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert ctypes.CDLL(str(library)).net_error is not None


READABLE = """
static void relay_add_relu(const float *p0, const float *p1, float *compute1) {
  for (int64_t i = 0; i < 4; i++) {
    for (int64_t j_v = 0; j_v < 2; j_v++) {
      for (int64_t j_l = 0; j_l < 4; j_l++) {
        const int64_t t = j_v * 4 + j_l;
        compute1[i * 8 + j_v * 4 + j_l] = relay_max_float32(p0[i * 8 + j_v * 4 + j_l] + p1[t],
            0.0f);
      }
    }
  }
}
"""
