"""Models for programs in C: built with the system's compiler, run, and compared."""

import _ctypes
import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import relay
from relay.errors import RelayError
from relay.executors.artifact import load
from relay.target.llvm.c.export import identifier

X = np.arange(6, dtype="float32").reshape(2, 3)
COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")

MAIN = """
#include <stdio.h>
#include "net.h"

int main(int count, char **arguments) {
  float x[NET_INPUT_0_BYTES / sizeof(float)];
  float doubled[NET_OUTPUT_0_BYTES / sizeof(float)], inner[6];
  const void *inputs[NET_INPUTS] = {x};
  void *outputs[NET_OUTPUTS] = {doubled, inner};
  net *model;
  int status = net_create(&model, count > 1 ? arguments[1] : NULL, 0);
  for (int turn = 0; !status && turn < 3; turn++) {
    for (int i = 0; i < 6; i++) x[i] = i + turn;
    status = net_run(model, inputs, outputs);
    for (int i = 0; i < 6; i++) printf("%g %g ", doubled[i], inner[i]);
  }
  if (status) puts(net_error(status));
  net_destroy(model);
  return status;
}
"""


def build_and_run(folder, library, *arguments):
    (folder / "main.c").write_text(MAIN)
    command = [COMPILER, "-Wall", "-Werror", "-o", "main", "main.c", library, "-pthread"]
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run(
        [str(folder / "main"), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"LD_LIBRARY_PATH": str(folder)},
    )


def expected(reference, weights):
    numbers = []
    for turn in range(3):
        doubled, inner = reference(X + turn, **weights)
        numbers += [n for pair in zip(doubled.flat, inner.flat, strict=True) for n in pair]
    return numbers


@needs_compiler
@pytest.mark.parametrize(
    ("kind", "file"), [("object", "net.o"), ("archive", "libnet.a"), ("shared", "libnet.so")]
)
def test_a_c_program_runs_the_model(weighted, weights, reference, tmp_path, kind, file):
    header = weighted.export(tmp_path / file, kind)
    header.rename(tmp_path / "net.h")
    done = build_and_run(tmp_path, file)
    assert done.returncode == 0
    assert [float(n) for n in done.stdout.split()] == expected(reference, weights)


@needs_compiler
def test_weights_may_be_a_file(weighted, weights, reference, tmp_path):
    weighted.export(tmp_path / "net.o", embed=False)
    done = build_and_run(tmp_path, "net.o", "net.weights")
    assert [float(n) for n in done.stdout.split()] == expected(reference, weights)

    wrong = {
        "": "the weights are not inside; name their file",
        "missing": "the file of weights cannot be read",
        "main.c": "the file of weights belongs to another model",
        "short": "the file of weights belongs to another model",
    }
    (tmp_path / "short").write_bytes((tmp_path / "net.weights").read_bytes()[:-1])
    for file, message in wrong.items():
        done = subprocess.run(
            [str(tmp_path / "main"), *([file] if file else [])],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode != 0
        assert done.stdout.strip() == message


@needs_compiler
def test_only_the_functions_of_the_header_are_seen(weighted, tmp_path):
    weighted.export(tmp_path / "net.o")
    if (nm := shutil.which("nm")) is None:
        pytest.skip("there is no nm")
    found = subprocess.run(
        [nm, "--extern-only", "--defined-only", "net.o"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    names = {line.split()[-1] for line in found.stdout.splitlines()}
    assert names == {"net_create", "net_run", "net_destroy", "net_error"}


@needs_compiler
def test_models_live_side_by_side_in_one_process(weighted, add, tmp_path):
    """Through the same functions, without a C program around them."""
    weighted.export(tmp_path / "one.so", "shared")
    add.export(tmp_path / "two.so", "shared", name="sum")
    one, two = (ctypes.CDLL(str(tmp_path / f"{name}.so")) for name in ("one", "two"))
    models = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert one.one_create(ctypes.byref(models[0]), None, 1) == 0
    assert one.one_create(ctypes.byref(models[1]), None, 0) == 0
    assert two.sum_create(ctypes.byref(models[2]), None, 0) == 0

    def tensors(*arrays):
        return (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))

    for model in models[:2]:
        outputs = [np.empty((2, 3), "float32") for _ in range(2)]
        assert one.one_run(model, tensors(X), tensors(*outputs)) == 0
        np.testing.assert_array_equal(outputs[0], weighted(X)[0])
    result = np.empty((2, 3), "float32")
    assert two.sum_run(models[2], tensors(X, X), tensors(result)) == 0
    np.testing.assert_array_equal(result, 2 * X)
    for model in models[:2]:
        one.one_destroy(model)
    two.sum_destroy(models[2])
    one.one_destroy(None)
    one.one_error.restype = ctypes.c_char_p
    assert one.one_error(3) == b"there is not enough memory"
    assert one.one_error(1234) == one.one_error(-1) == b"unknown status"


@needs_compiler
def test_a_library_with_threads_can_be_unloaded(tmp_path):
    x = relay.var("x", shape=(1 << 20,))
    exe = relay.compile(relay.Function([x], relay.exp(x) + x), threads=2)
    exe.export(tmp_path / "net.so", "shared")
    given = np.random.default_rng(0).random(1 << 20, "float32")
    expected = exe(given)
    for _ in range(2):
        library = ctypes.CDLL(str(tmp_path / "net.so"))
        for threads in (1, 2, 0):
            model = ctypes.c_void_p()
            assert library.net_create(ctypes.byref(model), None, threads) == 0
            result = np.empty_like(given)
            inputs, outputs = ((ctypes.c_void_p * 1)(a.ctypes.data) for a in (given, result))
            assert library.net_run(model, inputs, outputs) == 0
            np.testing.assert_array_equal(result, expected)
            library.net_destroy(model)
        _ctypes.dlclose(library._handle)


def test_the_same_model_is_the_same_library(weighted, tmp_path):
    weighted.export(tmp_path / "a.o", name="net")
    weighted.export(tmp_path / "b.o", name="net")
    assert (tmp_path / "a.o").read_bytes() == (tmp_path / "b.o").read_bytes()
    assert (tmp_path / "a.h").read_text() == (tmp_path / "b.h").read_text()


def test_the_header_says_what_goes_in_and_comes_out(weighted, tmp_path):
    text = weighted.export(tmp_path / "net.o").read_text()
    assert "0  x: float32[2, 3]" in text
    assert "#define NET_OUTPUTS 2" in text
    assert "#define NET_INPUT_0_BYTES 24" in text


def test_without_a_linker_the_object_is_offered(weighted, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RelayError, match='export kind="object"'):
        weighted.export(tmp_path / "net.so", "shared")
    weighted.export(tmp_path / "net.a", "archive")


def test_what_cannot_be_exported_says_why(weighted, tmp_path):
    with pytest.raises(RelayError, match="not as 'wheel'"):
        weighted.export(tmp_path / "net.o", "wheel")
    with pytest.raises(RelayError, match="no name in C"):
        weighted.export(tmp_path / "net.o", name="a b")
    with pytest.raises(RelayError, match="cannot be written"):
        weighted.export(tmp_path / "missing" / "net.o")
    weighted.save(tmp_path / "m.relayx")
    with pytest.raises(RelayError, match="export where it is compiled"):
        load(tmp_path / "m.relayx").export(tmp_path / "net.o")


def test_file_names_become_names_in_c():
    assert identifier("resnet-18") == "resnet_18"
    assert identifier("18") == "model_18"
    assert identifier("é") == "_"
