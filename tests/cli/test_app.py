"""The command as a process: start, exit codes, interrupts, closed pipes."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from relay.testing import resnet


def start(*args, **options):
    command = [sys.executable, "-m", "relay", *map(str, args)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, **pipes | options)


def wait_until_it_works(process):
    """Until the command itself runs: Python that is still starting dies of Ctrl-C its own way."""
    maps = Path(f"/proc/{process.pid}/maps")
    for _ in range(1000):
        if not maps.parent.parent.exists():
            time.sleep(3)  # not Linux
            return
        with suppress(OSError):
            if process.poll() is not None or "numpy" in maps.read_text():
                return
        time.sleep(0.05)


def heeds_interrupts():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def finish(*args):
    process = start(*args)
    out, err = process.communicate(timeout=200)
    return process.returncode, out, err


def test_help_lists_the_commands_and_imports_nothing_heavy():
    code, out, _ = finish("--help")
    assert code == 0
    for name in ("compile", "run", "bench", "profile", "inspect", "opt", "view", "doctor", "cache"):
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
    for wrong in (["run"], ["compile", model / "mlp.onnx", "-o", "x.unknown"]):
        code, out, err = finish(*wrong)
        assert (code, out) == (2, "")
        assert err.startswith("relay: ") and len(err.splitlines()) == 2


def test_a_file_that_cannot_be_written_is_refused_and_nothing_is_left(model, tmp_path):
    for place in (tmp_path / "missing" / "x.relayx", tmp_path):
        code, _, err = finish("compile", model / "mlp.onnx", "-o", place, "--emit", "artifact")
        assert code == 1
        assert "written to" in err or err.startswith("relay: cannot write"), err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_it_with_130_and_leaves_no_file(model, tmp_path):
    process = start("bench", model / "mlp.onnx", "--seconds", 600, preexec_fn=heeds_interrupts)
    wait_until_it_works(process)
    for _ in range(100):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        if process.poll() is not None:
            break
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err or process.returncode != 130
    assert process.returncode in (130, -signal.SIGINT), (out, err)


ENDLESS = """#[version = "0.0.5"]
def @count(%i: int32) -> int32 {
  if (less(%i, 0)) { %i } else { @count(bitwise_and(add(%i, 1), 65535)) }
}
def @main(%x: int32) -> int32 { @count(%x) }
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("command", ["compile", "run"])
def test_ctrl_c_while_it_compiles_and_runs(command, tmp_path):
    """The message is one line, and no file is left."""
    if command == "compile":
        module, _ = resnet.get_workload(num_layers=18)
        program = module.astext()
        args = ["compile", "model.relay", "-o", "out.relayx"]
    else:
        program, args = ENDLESS, ["run", "model.relay", "-o", "out.npy"]
    (tmp_path / "model.relay").write_text(program)
    environment = os.environ | {"RELAY_CACHE_DIR": "off"}
    process = start(*args, cwd=tmp_path, env=environment, preexec_fn=heeds_interrupts)
    wait_until_it_works(process)
    time.sleep(0.5)
    for _ in range(100):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        if process.poll() is not None:
            break
    out, err = process.communicate(timeout=60)
    # Python ends itself by the signal where it came while a string was executed, as in dataclasses
    assert process.returncode in (130, -signal.SIGINT)
    assert (out, err) == ("", "relay: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["model.relay"]


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize("args", [("opt", "mlp.relay", "--passes", "infer-type"), ("--help",)])
def test_a_closed_pipe_is_no_traceback(args, model):
    process = start(*args, cwd=model)
    process.stdout.close()
    err = process.stderr.read()
    process.wait(timeout=60)
    process.stderr.close()
    assert (process.returncode, err) == (141, "")


def test_the_shell_completes_commands_options_and_passes():
    for typed, found in (
        ("relay do", "doctor"),
        ("relay opt --print-a", "--print-after"),
        ("relay opt --passes fold-c", "fold-constant"),
        ("relay opt --passes fold-constant,fuse-o", "fold-constant,fuse-ops"),
    ):
        asked = {"_RELAY_COMPLETE": "complete_bash", "COMP_WORDS": typed}
        asked["COMP_CWORD"] = str(len(typed.split()) - 1)
        command = [sys.executable, "-m", "relay"]
        answer = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True)
        assert found in answer.stdout.splitlines(), (typed, answer)


def test_a_page_is_served_until_ctrl_c(model):
    process = start(
        "view", model / "mlp.relay", "--serve", "--no-roof", preexec_fn=heeds_interrupts
    )
    address = process.stdout.readline().strip()
    with urllib.request.urlopen(address, timeout=60) as answer:
        assert b"<title>mlp.relay" in answer.read()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "relay: interrupted\n")
