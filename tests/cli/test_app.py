"""The command as a process: start, exit codes, interrupts, closed pipes."""

import os
import signal
import subprocess
import sys
import time

import pytest


def start(*args, **options):
    command = [sys.executable, "-m", "relay", *map(str, args)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, **pipes | options)


def finish(*args):
    process = start(*args)
    out, err = process.communicate(timeout=200)
    return process.returncode, out, err


def test_help_lists_the_commands_and_imports_nothing_heavy():
    code, out, _ = finish("--help")
    assert code == 0
    for name in ("compile", "run", "bench", "profile", "inspect", "opt", "doctor", "cache"):
        assert f" {name} " in out
    script = (
        "import sys\nimport relay.cli.app\nheavy = ('numpy', 'llvmlite', 'relay.ir', 'relay.op')\n"
        "print([module for module in heavy if module in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.stdout.strip() == "[]", found.stderr


def test_errors_are_one_line_first_and_the_exit_code_says_which_kind(model, tmp_path):
    code, out, err = finish("run", tmp_path / "nothing.onnx")
    assert (code, out) == (1, "")
    assert err.splitlines()[0] == f"relay: there is no file `{tmp_path / 'nothing.onnx'}`"
    assert finish("run")[0] == 2
    assert finish("compile", model / "mlp.onnx", "-o", "x.unknown")[0] == 2


def test_a_file_that_cannot_be_written_is_refused_and_nothing_is_left(model, tmp_path):
    for place in (tmp_path / "missing" / "x.relayx", tmp_path):
        code, _, err = finish("compile", model / "mlp.onnx", "-o", place, "--emit", "artifact")
        assert code == 1
        assert "written to" in err or err.startswith("relay: cannot write"), err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_it_with_130_and_leaves_no_file(model, tmp_path):
    def heeds_interrupts():
        signal.signal(signal.SIGINT, signal.default_int_handler)

    process = start("bench", model / "mlp.onnx", "--seconds", 600, preexec_fn=heeds_interrupts)
    for _ in range(100):
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        if process.poll() is not None:
            break
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err or process.returncode != 130
    assert process.returncode in (130, -signal.SIGINT), (out, err)


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_closed_pipe_is_no_traceback(model):
    process = start("opt", model / "mlp.relay", "--passes", "infer-type")
    process.stdout.close()
    err = process.stderr.read()
    process.wait(timeout=60)
    process.stderr.close()
    assert "Traceback" not in err
