"""Executables in files: what is loaded is what was saved, and what is wrong is refused."""

import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import relay
from relay.errors import RelayError, TargetError
from relay.executors.artifact import load
from relay.target.llvm.features import FEATURES
from relay.target.target import Target

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


def test_saving_where_that_is_impossible_says_so(weighted, tmp_path):
    with pytest.raises(RelayError, match="cannot be saved"):
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
