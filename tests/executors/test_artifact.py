"""Executables in files: what is loaded is what was saved, and what is wrong is refused."""

import copy
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import relay
from relay.errors import EvaluationError, RelayError, TargetError
from relay.executors.artifact import load
from relay.frontend.python.standard import Rose
from relay.target.llvm.executable.whole_program import WholeProgramExecutable
from relay.target.llvm.features import FEATURES
from relay.target.target import Target
from relay.testing import tree_lstm

X = np.arange(6, dtype="float32").reshape(2, 3)


@pytest.fixture
def saved(weighted, tmp_path):
    path = tmp_path / "model.relayx"
    weighted.save(path)
    return path


def rewritten(path, changes):
    """The same archive with other members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    changed = path.with_name("changed.relayx")
    with zipfile.ZipFile(changed, "w") as archive:
        for name, data in members.items():
            data = changes.get(name, lambda old: old)(data)
            if data is not None:
                archive.writestr(name, data)
    return changed


def with_manifest(**changes):
    return {
        "manifest.json": lambda old: json.dumps({**json.loads(old), **changes}).encode(),
    }


def test_what_is_loaded_is_what_was_saved(weighted, saved):
    loaded = load(saved)
    for result, expected in zip(loaded(X), weighted(X), strict=True):
        np.testing.assert_array_equal(result, expected)
    assert loaded.inputs == weighted.inputs
    assert loaded.outputs == weighted.outputs
    assert loaded.memory == weighted.memory
    assert loaded.kernels == weighted.kernels
    assert str(loaded.program) == str(weighted.program)


def test_the_same_executable_is_the_same_file(weighted, saved, tmp_path):
    weighted.save(tmp_path / "again.relayx")
    assert (tmp_path / "again.relayx").read_bytes() == saved.read_bytes()
    load(saved).save(tmp_path / "third.relayx")
    assert (tmp_path / "third.relayx").read_bytes() == saved.read_bytes()


def test_the_weights_in_the_file_are_read_by_other_programs(weighted, saved):
    with zipfile.ZipFile(saved) as archive:
        found = relay.load_param_dict(archive.read("constants.safetensors"))
    assert set(found) == {"bias", "packed_0", "packed_1"}
    np.testing.assert_array_equal(found["bias"].numpy(), weighted.params["bias"].numpy())


def test_large_weights_are_used_where_they_lie(program, kernel, tmp_path):
    exe = program(
        """
        kernel @add(float32[64], float32[64]) -> (float32[64])
        constant "w": float32[64]
        function @prepare() { return () }
        function @main("x" = %0: float32[64]) {
          %1: float32[64] = constant "w"
          %2: float32[64] = alloc
          invoke @add(%0, %1) -> (%2)
          return %2
        }
        """,
        {"add": kernel("add", 2, 64, "fadd float %x0, %x1")},
        {"w": np.ones(64, "float32")},
    )
    exe.save(tmp_path / "m.relayx")
    loaded = load(tmp_path / "m.relayx")
    array = loaded.constants["w"].array
    while isinstance(array.base, np.ndarray):
        array = array.base
    assert isinstance(array.base, memoryview)
    (tmp_path / "m.relayx").unlink()
    np.testing.assert_array_equal(loaded(np.ones(64, "float32")), np.full(64, 2))


def test_weights_can_be_changed_when_they_are_saved_along(weighted, weights, reference, tmp_path):
    weighted.save(tmp_path / "m.relayx", params=True)
    loaded = load(tmp_path / "m.relayx")
    loaded.set_params(scale=weights["scale"] + 1)
    expected = reference(X, **{**weights, "scale": weights["scale"] + 1})
    np.testing.assert_array_equal(loaded(X)[0], expected[0])


def test_without_them_those_that_are_used_together_are_changed_together(saved, weights, reference):
    loaded = load(saved)
    before = loaded(X)[0]
    with pytest.raises(RelayError, match="no value for the weight `shift`"):
        loaded.set_params(scale=weights["scale"] + 1)
    np.testing.assert_array_equal(loaded(X)[0], before)
    new = {name: weights[name] + 1 for name in ("scale", "shift")}
    loaded.set_params(new)
    np.testing.assert_array_equal(loaded(X)[0], reference(X, **{**weights, **new})[0])
    loaded.set_params(bias=weights["bias"] + 1)


def test_a_file_for_another_processor_is_refused(saved):
    host = Target.host()
    lacking = min(set(FEATURES[host.arch]) - host.enabled)
    other = str(host).replace(" -mattr=", f" -mattr=+{lacking},")
    other = other if "-mattr" in other else f"{other} -mattr=+{lacking}"
    changed = rewritten(saved, with_manifest(target=other)).rename(saved)
    with pytest.raises(TargetError) as error:
        load(changed)
    assert "model.relayx` was made for another processor" in str(error.value)
    assert lacking in str(error.value)
    arm = rewritten(saved, with_manifest(target=str(Target.aarch64())))
    with pytest.raises(TargetError, match="the architecture aarch64"):
        load(arm)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"manifest.json": lambda old: None}, "no Relay executable"),
        ({"manifest.json": lambda old: b"{}"}, "no Relay executable"),
        ({"manifest.json": lambda old: b"["}, "no Relay executable"),
        (with_manifest(version=99), "version 99"),
        (with_manifest(code="many"), "not complete"),
        (with_manifest(code=5), "code/1.o is missing"),
        ({"code/0.o": lambda old: old[:-1] + b"!"}, "code/0.o is damaged"),
        ({"code/runtime.o": lambda old: b""}, "code/runtime.o is damaged"),
        ({"program.txt": lambda old: old + b" "}, "program.txt is damaged"),
        ({"constants.safetensors": lambda old: None}, "constants.safetensors is missing"),
        ({"constants.safetensors": lambda old: old[:100]}, "is not loaded"),
    ],
)
def test_what_is_wrong_is_refused(saved, changes, message):
    with pytest.raises(RelayError, match=message):
        load(rewritten(saved, changes))


def test_damaged_weights_are_found_when_asked_for(saved):
    changed = rewritten(
        saved, {"constants.safetensors": lambda old: old[:-1] + bytes([old[-1] ^ 1])}
    )
    load(changed)
    load(saved, verify=True)
    with pytest.raises(RelayError, match=r"constants\.safetensors is damaged"):
        load(changed, verify=True)


def test_constants_of_another_type_are_refused(saved):
    other = relay.save_param_dict({"bias": X.astype("float64"), "packed_0": X, "packed_1": X})
    with pytest.raises(RelayError, match="constant 'bias' is not what the program says"):
        load(rewritten(saved, {"constants.safetensors": lambda old: other}))
    fewer = relay.save_param_dict({"bias": X, "packed_0": X})
    with pytest.raises(RelayError, match="'packed_1' is missing"):
        load(rewritten(saved, {"constants.safetensors": lambda old: fewer}))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x7fELF" * 100])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "other.relayx"
    path.write_bytes(content)
    with pytest.raises(RelayError, match="is not loaded"):
        load(path)
    with pytest.raises(RelayError, match="is not loaded"):
        load(tmp_path / "missing.relayx")


def test_a_file_cut_short_is_refused(saved):
    data = saved.read_bytes()
    for length in (10, len(data) // 2, len(data) - 10):
        saved.write_bytes(data[:length])
        with pytest.raises(RelayError, match="is not loaded"):
            load(saved)


# --- bytes, pickles and copies


def pickled(exe):
    return pickle.loads(pickle.dumps(exe))


@pytest.mark.parametrize(
    "source",
    [
        bytes,
        bytearray,
        memoryview,
        lambda data: memoryview(np.frombuffer(data, np.uint8).repeat(2))[::2],
        io.BytesIO,
    ],
)
def test_an_executable_is_loaded_from_bytes_and_open_files(weighted, saved, source):
    given = source(saved.read_bytes())
    loaded = load(given, threads=1)
    if isinstance(given, bytearray):
        given[:] = bytes(len(given))  # what was loaded does not change with it
    np.testing.assert_array_equal(loaded(X)[0], weighted(X)[0])
    with open(saved, "rb") as file:
        np.testing.assert_array_equal(load(file)(X)[0], weighted(X)[0])


@pytest.mark.parametrize("source", [b"", b"not an archive", b"PK\5\6" + bytes(18)])
def test_bytes_that_are_no_executable_are_refused(source):
    with pytest.raises(RelayError, match="`bytes` is not loaded"):
        load(source)


def test_what_nothing_can_be_loaded_from_is_refused(tmp_path):
    for source in (None, 3, io.StringIO("text")):
        with pytest.raises(RelayError, match="from a path, from bytes or from a file"):
            load(source)
    os.mkfifo(tmp_path / "pipe")
    for place in ("pipe", "missing", "."):
        with pytest.raises(RelayError, match="is not loaded: it cannot be read"):
            load(tmp_path / place)


@pytest.mark.parametrize("copied", [pickled, copy.copy, copy.deepcopy])
def test_executables_are_pickled_and_copied_with_the_weights_they_have(
    weighted, weights, reference, copied
):
    weighted.set_params(scale=weights["scale"] + 1)
    other = copied(weighted)
    expected = reference(X, **{**weights, "scale": weights["scale"] + 1})
    np.testing.assert_array_equal(other(X)[0], expected[0])
    other.set_params(scale=weights["scale"])  # and from now on they are two
    np.testing.assert_array_equal(other(X)[0], reference(X, **weights)[0])
    np.testing.assert_array_equal(weighted(X)[0], expected[0])
    assert other.threads == weighted.threads


def test_saving_where_that_is_impossible_says_so(weighted, tmp_path):
    with pytest.raises(RelayError, match="cannot be written"):
        weighted.save(tmp_path / "missing" / "m.relayx")
    assert not list(tmp_path.iterdir())


def test_loading_needs_no_compiler(weighted, saved):
    weighted.save(saved)
    expected = weighted(X)[0].tolist()
    code = f"""
import sys
import numpy as np
import relay
exe = relay.load({str(saved)!r})
assert exe(np.arange(6, dtype="float32").reshape(2, 3))[0].tolist() == {expected}
compiler = ["ir", "op", "te", "check", "parser", "transform", "lower.lower", "program.lower",
            "analysis", "interpreter", "driver", "pipeline", "cache"]
loaded = [name for name in compiler if f"relay.{{name}}" in sys.modules]
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# --- whole programs ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tree_model():
    return relay.compile(*tree_lstm.get_workload(6, 3))


@pytest.fixture(scope="module")
def tree_file(tree_model, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "tree.relayx"
    tree_model.save(path)
    return path.read_bytes()


@pytest.fixture
def saved_tree(tree_file, tmp_path):
    path = tmp_path / "tree.relayx"
    path.write_bytes(tree_file)
    return path


def tree(number=0.5):
    value = np.full((1, 6), number, "float32")
    return Rose(value, [Rose(-value, []), Rose(value * 2, [Rose(value, [])])])


def test_a_whole_program_is_loaded_as_it_was_saved(tree_model, saved_tree, tmp_path):
    loaded = load(saved_tree)
    assert isinstance(loaded, WholeProgramExecutable)
    for result, expected in zip(loaded(tree()), tree_model(tree()), strict=True):
        np.testing.assert_array_equal(result, expected)
    assert loaded.inputs == tree_model.inputs
    assert loaded.outputs == tree_model.outputs
    assert str(loaded.program) == str(tree_model.program)
    assert loaded.code.program == tree_model.code.program
    loaded.save(tmp_path / "again.relayx")
    assert (tmp_path / "again.relayx").read_bytes() == saved_tree.read_bytes()


def test_a_fresh_process_runs_a_whole_program_without_cache_or_compiler(
    tree_model, saved_tree, tmp_path
):
    expected = [part.tolist() for part in tree_model(tree())]
    code = f"""
import sys
from dataclasses import dataclass
import numpy as np
import relay

@dataclass
class Rose:
    value: object
    children: list

exe = relay.load({str(saved_tree)!r})
value = np.full((1, 6), 0.5, "float32")
tree = Rose(value, [Rose(-value, []), Rose(value * 2, [Rose(value, [])])])
assert [part.tolist() for part in exe(tree)] == {expected}
assert exe.live_objects == exe.leaked_objects == 0
compiler = ["te", "check", "parser", "transform", "lower.lower", "program.lower", "program.whole",
            "target.llvm.program.translate", "program.ownership", "analysis", "driver",
            "pipeline", "cache"]
loaded = [name for name in compiler if f"relay.{{name}}" in sys.modules]
assert not loaded, loaded
"""
    folder = tmp_path / "no" / "cache"
    environment = {**os.environ, "RELAY_CACHE_DIR": str(folder)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    assert not folder.exists()


def test_a_whole_program_is_pickled_with_its_limits_and_its_classes(tree_model):
    parts = (
        tree_model.program,
        tree_model.code,
        {n: a.array for n, a in tree_model.params.items()},
    )
    limits = {"stack": 1 << 20, "memory": 1 << 24}
    exe = WholeProgramExecutable(*parts, 1, **limits, classes={"Rose": Rose})
    other = pickled(exe)
    assert other.options == exe.options == {"threads": 1, **limits, "classes": {"Rose": Rose}}
    for result, expected in zip(other(tree()), tree_model(tree()), strict=True):
        np.testing.assert_array_equal(result, expected)


def test_weights_of_a_whole_program_can_be_changed_when_they_are_saved_along(
    tree_model, saved_tree
):
    mod, params = tree_lstm.get_workload(6, 3)
    new = {"h2h_weight": params["h2h_weight"].numpy() + 1}
    expected = relay.compile(mod, {**params, **new})(tree())
    tree_model.save(saved_tree, params=True)
    loaded = load(saved_tree)
    loaded.set_params(new)
    for result, wanted in zip(loaded(tree()), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_limits_are_set_when_a_program_is_loaded(tmp_path):
    text = """#[version = "0.0.5"]
def @main(%n: int32) -> int32 { if (%n <= 0) { 0 } else { 1 + @main(%n - 1) } }
"""
    relay.compile(relay.fromtext(text)).save(tmp_path / "deep.relayx")
    assert load(tmp_path / "deep.relayx")(100_000) == 100_000
    with pytest.raises(EvaluationError, match="deeper than its stack"):
        load(tmp_path / "deep.relayx", stack=1 << 20)(100_000)


SITE = dict.fromkeys(("message", "where", "kernel", "expected", "found"), "")


def with_native(**changes):
    def change(old):
        manifest = json.loads(old)
        return json.dumps({**manifest, "native": {**manifest["native"], **changes}}).encode()

    return {"manifest.json": change}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"code/program.o": lambda old: None}, "code/program.o is missing"),
        ({"code/program_runtime.o": lambda old: None}, "code/program_runtime.o is missing"),
        ({"code/program.o": lambda old: old[:-1] + b"!"}, "code/program.o is damaged"),
        ({"code/program_runtime.o": lambda old: b""}, "code/program_runtime.o is damaged"),
        (with_manifest(native=None), "its code is not that of its program"),
        (with_manifest(native=[]), "not complete"),
        (with_native(entry=1), "not complete"),
        (with_native(sites=[{"message": ""}]), "not complete"),
        (with_native(sites=[SITE | {"where": 1}]), "not complete"),
        (with_native(sites=[SITE | {"kernel": "k"}]), "calls kernel `k`"),
        (with_native(constants=[1]), "not complete"),
        (with_native(constants=["other"]), "reads constant 'other'"),
        (with_native(entry="other"), "cannot be loaded"),
    ],
)
def test_what_is_wrong_with_a_whole_program_is_refused(saved_tree, changes, message):
    with pytest.raises(RelayError, match=message):
        load(rewritten(saved_tree, changes))


def test_a_whole_program_for_another_processor_is_refused(saved_tree):
    with pytest.raises(TargetError, match="the architecture aarch64"):
        load(rewritten(saved_tree, with_manifest(target=str(Target.aarch64()))))
