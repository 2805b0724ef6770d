"""State that an executable keeps between calls, in every engine, in files and in C."""

import copy
import pickle
import shutil
import subprocess
import threading

import numpy as np
import pytest

import relay
from relay.driver import compile_program
from relay.errors import EvaluationError, RelayError
from relay.executors.artifact import load
from relay.executors.make import make_executable
from relay.program.program import MAIN
from relay.program.text import parse, to_text
from relay.program.verify import verify
from relay.target.llvm.executable.whole_program import WholeProgramExecutable
from tests.executors.test_artifact import rewritten

COUNTER = """
#[version = "0.0.5"]
def @main(%n: Tensor[(), int64], %x: Tensor[(2, 3), float32], %sum: Tensor[(2, 3), float32],
          State=["n", "sum"]) {
  (multiply(%x, 2f), add(%n, 1i64), add(%sum, %x))
}
"""
# of any size: a whole program; its first result and its state are the same tensor
RUNNING = """
#[version = "0.0.5"]
def @main[k: Shape](%sum: Tensor[(k, 3), float32], %x: Tensor[(k, 3), float32],
                    %n: Tensor[(), int64], State=["sum", "n"]) {
  %0 = add(%sum, %x);
  ((%0, multiply(%x, 2f)), %0, add(%n, 1i64))
}
"""
GROWING = """
#[version = "0.0.5"]
def @main[k: Shape](%x: Tensor[(1, 2), float32], %seen: Tensor[(k, 2), float32], State=["seen"]) {
  %0 = concatenate((%seen, %x), axis=0);
  (sum(%0, axis=[0]), %0)
}
"""
X = np.arange(6, dtype="float32").reshape(2, 3)


def begin():
    return {"n": 0, "sum": np.zeros((2, 3), "float32")}


@pytest.fixture(scope="module", params=["straight", "whole", "dynamic"])
def made(request):
    """What is needed for a fresh executable."""
    text = RUNNING if request.param == "dynamic" else COUNTER
    return compile_program(relay.parse(text), begin(), whole=request.param != "straight")


def remade(made):
    return make_executable(made.program, made.code, made.weights, 1, state=made.state)


@pytest.fixture
def exe(made):
    return remade(made)


def after(exe):
    return int(exe.state["n"].numpy()), exe.state["sum"].numpy()


def test_a_counter_counts_a_hundred_calls(exe):
    assert [info.name for info in exe.inputs] == ["x"]
    for _ in range(100):
        result = exe(X)
    np.testing.assert_array_equal(result[1] if isinstance(result, tuple) else result, 2 * X)
    count, total = after(exe)
    assert count == 100
    np.testing.assert_array_equal(total, 100 * X)
    exe.reset()
    assert after(exe)[0] == 0
    assert not after(exe)[1].any()


def test_calls_by_name_into_memory_and_as_values_count_too(exe):
    exe(x=X)
    exe.evaluate(X)
    exe.profile(X, repeat=1)  # does not
    if not isinstance(exe, WholeProgramExecutable):
        exe(X, out=np.empty((2, 3), "float32"))
        exe.run_flat([X])
        exe.set_state(n=2)
    assert after(exe)[0] == 2


def test_what_is_read_is_a_copy_and_what_is_set_is_copied(exe):
    before = exe.state
    exe(X)
    assert before["n"].numpy() == 0
    with pytest.raises(TypeError):
        before["n"] = 5
    mine = np.ones((2, 3), "float32")
    exe.state = {"sum": mine}
    mine[:] = 7
    exe.state["sum"].numpy()[:] = 9
    np.testing.assert_array_equal(after(exe)[1], np.ones((2, 3)))
    assert after(exe)[0] == 1  # stays as it was


def test_results_of_a_call_can_be_written(made, exe):
    result = exe(X)
    for array in result if isinstance(result, tuple) else (result,):
        array[:] = 100
    exe(X)
    np.testing.assert_array_equal(after(exe)[1], 2 * X)


def test_calls_of_two_threads_come_one_after_another(exe):
    def work():
        for _ in range(300):
            exe(X)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    count, total = after(exe)
    assert count == 600
    np.testing.assert_array_equal(total, 600 * X)


def test_wrong_values_are_refused_and_change_nothing(exe):
    exe(X)
    for wrong in (
        {"m": 1},
        {"n": 1.5},
        {"n": [1, 2]},
        {"sum": np.zeros((2, 4), "float32")},
        {"n": 3, "sum": np.zeros((2, 3))},
    ):
        with pytest.raises(EvaluationError):
            exe.set_state(wrong)
    with pytest.raises(EvaluationError):
        exe.set_state([1])
    assert after(exe)[0] == 1


def test_a_call_that_fails_leaves_the_state(exe):
    exe(X)
    with pytest.raises(EvaluationError):
        exe(np.zeros((2, 4), "float32"))
    assert after(exe)[0] == 1
    text = """
    #[version = "0.0.5"]
    def @main(%x: Tensor[(4), float32], %i: Tensor[(1), int64], %n: Tensor[(), int64],
              State=["n"]) {
      (take(%x, %i), add(%n, 1i64))
    }
    """
    module = relay.parse(text)
    for whole in (False, True):
        made = compile_program(module, {"n": 0}, whole=whole, checked=True)
        failing = remade(made)
        failing(np.ones(4, "float32"), np.array([3]))
        with pytest.raises(EvaluationError, match="out of range"):
            failing(np.ones(4, "float32"), np.array([9]))
        assert failing.state["n"].numpy() == 1
        failing(np.ones(4, "float32"), np.array([0]))
        assert failing.state["n"].numpy() == 2


def test_files_and_copies_keep_the_state_and_its_beginning(exe, tmp_path):
    exe(X)
    exe.save(tmp_path / "model.relayx")
    others = [load(tmp_path / "model.relayx"), pickle.loads(pickle.dumps(exe)), copy.deepcopy(exe)]
    for other in others:
        other(X)
        assert after(other)[0] == 2
        other.reset()
        assert after(other)[0] == 0
    assert after(exe)[0] == 1
    verify(parse(to_text(exe.program)))
    with pytest.raises(RelayError, match="is missing"):
        load(rewritten(tmp_path / "model.relayx", {"state.safetensors": lambda _: None}))
    small = relay.save_param_dict({"n": np.int64(0), "sum": np.zeros((1, 2), "float64")})
    with pytest.raises(RelayError, match="not what the program says"):
        load(rewritten(tmp_path / "model.relayx", {"state.safetensors": lambda _: small}))


def test_state_may_grow():
    exe = relay.compile(relay.parse(GROWING), {"seen": np.zeros((0, 2), "float32")})
    row = np.array([[1, 2]], "float32")
    for _ in range(5):
        result = exe(row)
    np.testing.assert_array_equal(result, [5, 10])
    assert exe.state["seen"].shape == (5, 2)


def test_the_virtual_machine_threads_it_too():
    exe = relay.vm.compile(relay.parse(COUNTER), "llvm", begin())
    machine = relay.vm.VirtualMachine(exe)
    assert exe.get_function_params("main") == ["x"]
    for _ in range(3):
        machine.invoke("main", X)
    assert after(exe)[0] == 3
    again = pickle.loads(pickle.dumps(exe))
    relay.vm.VirtualMachine(again).run(X)
    assert after(again)[0] == 4
    again.reset()
    assert after(again)[0] == 0


def test_executors_run_the_pure_function():
    values = [np.int64(4), X, X]
    for kind in ("debug", "graph", "vm", "aot"):
        result, count, total = relay.create_executor(kind, relay.parse(COUNTER)).evaluate()(*values)
        np.testing.assert_array_equal(result.numpy(), 2 * X)
        assert count.numpy() == 5
        np.testing.assert_array_equal(total.numpy(), 2 * X)


def test_what_cannot_be_state_is_refused():
    wrong = {
        "has no initial value": (COUNTER, {"n": 0}),
        "is not one of its parameters": (COUNTER.replace('["n"', '["m"'), begin()),
        "gives a tuple": (COUNTER.replace(", add(%n, 1i64)", ""), begin()),
        "has another type": (COUNTER.replace("add(%n, 1i64)", "%x"), begin()),
    }
    for message, (text, params) in wrong.items():
        with pytest.raises(RelayError, match=message):
            relay.compile(relay.parse(text), params)


def test_a_program_whose_state_does_not_fit_is_ill_formed(made):
    text = to_text(made.program)
    names = ", ".join(f'"{name}"' for name in made.program[MAIN].state)
    for other in ('"x"', '"n", "n"', '"sum"'):
        with pytest.raises(RelayError):
            verify(parse(text.replace(f"state ({names})", f"state ({other})")))


# --- in C ----------------------------------------------------------------------------------------

COMPILER = shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")

STRAIGHT_C = """
#include <stdio.h>
#include "net.h"
int main(void) {
  float x[2] = {1, 2}, y[2];
  const void *inputs[] = {x};
  void *outputs[] = {y};
  net *model;
  int status = net_create(&model, NULL, 0);
  for (int round = 0; round < 2 && !status; round++) {
    for (int i = 0; i < 3 && !status; i++) status = net_run(model, inputs, outputs);
    printf("%g %g ", y[0], y[1]);
    net_reset(model);
  }
  net_destroy(model);
  return status;
}
"""
WHOLE_C = """
#include <stdio.h>
#include "net.h"
int main(void) {
  float x[2] = {1, 2};
  int64_t sizes[] = {1, 2};
  net *model;
  int status = net_create(&model, NULL, 0);
  for (int round = 0; round < 2 && !status; round++) {
    net_float32 *first = NULL, *y = NULL;
    for (int i = 0; i < 3 && !status; i++) {
      net_float32 *given = net_float32_copy(model, x, 2, sizes);
      net_release(model, y);
      status = net_run(model, given, &y);
      net_release(model, given);
      if (!first) first = net_hold(model, y);
    }
    net_float32 *wrong = net_float32_copy(model, x, 1, sizes + 1), *none = NULL;
    if (!net_run(model, wrong, &none)) return 3;
    net_release(model, wrong);
    printf("%g %g %g ", net_float32_data(y)[0], net_float32_data(y)[1], net_float32_data(first)[1]);
    net_release(model, first);
    net_release(model, y);
    net_reset(model);
    if (net_live(model)) return 2;
  }
  net_destroy(model);
  return status;
}
"""
ADDING = """
#[version = "0.0.5"]
def @main%s(%%sum: Tensor[(%s, 2), float32], %%x: Tensor[(%s, 2), float32], State=["sum"]) {
  %%0 = add(%%sum, %%x);
  (%s, %%0)
}
"""


@needs_compiler
def test_a_model_in_c_keeps_its_state(tmp_path):
    """It begins with the state at the export."""
    kinds = {
        "straight": (ADDING % ("", "1", "1", "multiply(%0, 2f)"), STRAIGHT_C, "28 56 28 56"),
        "whole": (ADDING % ("[k: Shape]", "k", "k", "%0"), WHOLE_C, "14 28 24 14 28 24"),
    }
    for kind, (text, source, expected) in kinds.items():
        exe = relay.compile(relay.parse(text), {"sum": np.array([[10, 20]], "float32")}, threads=1)
        exe.set_state(sum=np.array([[11, 22]], "float32"))
        folder = tmp_path / kind
        folder.mkdir()
        exe.export(folder / "net.o")
        (folder / "main.c").write_text(source)
        flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-g"]
        command = [COMPILER, *flags, "-o", "main", "main.c", "net.o", "-pthread"]
        subprocess.run(command, cwd=folder, check=True)
        done = subprocess.run([folder / "main"], capture_output=True, text=True)
        assert (done.returncode, done.stdout.strip()) == (0, expected), kind
