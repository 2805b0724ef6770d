"""Broken and hostile files end in an error of Relay's; nothing is run, written or followed."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from relay.errors import RelayError
from relay.frontend import from_keras
from relay.frontend.keras import hdf5
from tests.frontend.keras.models import KERAS, fill, keras

pytestmark = pytest.mark.filterwarnings(*KERAS)
RANDOM = np.random.default_rng(3)


def net(path: Path) -> bytes:
    """A `.keras` file of a small model."""
    keras.utils.clear_session(free_memory=False)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2), keras.layers.Dense(2)])
    fill(model)
    model.save(path)
    return path.read_bytes()


def parts_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive(parts: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in parts.items():
            made.writestr(name, data)
    return file.getvalue()


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> dict[str, bytes]:
    return parts_of(net(tmp_path_factory.mktemp("keras") / "net.keras"))


def refused(data: bytes, match: str = "") -> None:
    with pytest.raises(RelayError, match=match or None):
        from_keras(data)


def with_config(parts: dict[str, bytes], change: Any) -> bytes:
    config = json.loads(parts["config.json"])
    change(config)
    return archive({**parts, "config.json": json.dumps(config).encode()})


def test_archives_that_are_bombs_are_refused(parts) -> None:
    refused(archive({**parts, "model.weights.h5": bytes(1 << 26)}), "too large")
    refused(archive({**parts, "config.json": b"[" * 100_000}), "no JSON|deeper")
    deep = '{"a":' * 300 + "1" + "}" * 300
    refused(archive({**parts, "config.json": deep.encode()}), "nests deeper")


def test_archives_without_parts_are_refused(parts) -> None:
    data = archive(parts)
    for name in ("config.json", "model.weights.h5"):
        refused(archive({key: one for key, one in parts.items() if key != name}), "has no")
    for end in range(0, len(data), max(1, len(data) // 25)):
        refused(data[:end])


def test_configurations_that_are_broken_are_refused(parts, tmp_path: Path) -> None:
    def cyclic(config: Any) -> None:
        history = {"shape": [None, 3], "dtype": "float32", "keras_history": ["b", 0, 0]}
        tensor = {"class_name": "__keras_tensor__", "config": history}
        other = json.loads(json.dumps(tensor))
        other["config"]["keras_history"] = ["a", 0, 0]

        def layer(name: str, given: Any) -> Any:
            return {"module": "keras.layers", "class_name": "ReLU", "config": {"name": name},
                    "name": name, "inbound_nodes": [{"args": [given], "kwargs": {}}]}  # fmt: skip

        config["class_name"] = "Functional"
        config["config"] = {
            "name": "m", "layers": [layer("a", tensor), layer("b", other)],
            "input_layers": [], "output_layers": [["b", 0, 0]],
        }  # fmt: skip

    refused(with_config(parts, cyclic), "depends on itself")

    def itself(config: Any) -> None:
        inner = config["config"]
        for _ in range(40):
            inner = {"name": "m", "layers": [
                {"module": "keras", "class_name": "Sequential", "config": inner}]}  # fmt: skip
        config["config"] = inner

    refused(with_config(parts, itself))

    def huge(config: Any) -> None:
        config["config"]["layers"][1]["config"]["units"] = 1 << 60
        config["config"]["layers"][0]["config"]["batch_shape"] = [None, 1 << 70]

    refused(with_config(parts, huge))

    def no_tensor(config: Any) -> None:
        layers = config["config"]["layers"]
        layers[-1]["inbound_nodes"] = [{"args": [{"again": 3}], "kwargs": {}}]

    data, steps = keras.Input((3, 4)), keras.layers.LSTM(2)
    functional = keras.Model(data, steps(data))
    functional.save(tmp_path / "steps.keras")
    inner = parts_of((tmp_path / "steps.keras").read_bytes())
    refused(with_config(inner, no_tensor), "an input is no tensor")

    def code(config: Any) -> None:
        config["config"]["layers"][1]["class_name"] = "Lambda"
        function = {"class_name": "__lambda__", "config": {"code": "4wEAAAA="}}
        config["config"]["layers"][1]["config"] = {"name": "x", "function": function}

    refused(with_config(parts, code), "which is code")
    for value in (None, [], 3, {}, {"class_name": "Sequential"}, {"class_name": 3, "config": {}}):
        refused(archive({**parts, "config.json": json.dumps(value).encode()}))


def test_changed_configurations_are_read_or_refused(parts) -> None:
    text = np.frombuffer(parts["config.json"], "uint8")
    stored = hdf5.read(parts["model.weights.h5"])
    before = hdf5.read
    hdf5.read = lambda data: stored  # type: ignore[assignment]
    try:
        for _ in range(120):
            changed = text.copy()
            places = RANDOM.integers(0, len(text), RANDOM.integers(1, 4))
            changed[places] = RANDOM.choice([*b'0-"]}n[9,'], len(places))
            try:
                from_keras(archive({**parts, "config.json": changed.tobytes()}))
            except RelayError:
                continue
    finally:
        hdf5.read = before


def stored(write: Any, path: Path) -> bytes:
    """An HDF5 file with something in it."""
    with h5py.File(path, "w") as file:
        write(file)
    return path.read_bytes()


def test_hdf5_files_that_reach_out_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["x"] = np.arange(3.0)
    raw = tmp_path / "raw.bin"
    raw.write_bytes(bytes(64))

    def external_link(file: Any) -> None:
        file["x"] = h5py.ExternalLink(str(secret), "/x")

    def soft_link(file: Any) -> None:
        file["x"] = h5py.SoftLink("/y")

    def virtual(file: Any) -> None:
        layout = h5py.VirtualLayout((3,), "float64")
        layout[:] = h5py.VirtualSource(str(secret), "x", (3,))
        file.create_virtual_dataset("x", layout)

    def outside(file: Any) -> None:
        file.create_dataset("x", (4,), "float32", external=[(str(raw), 0, 16)])

    def unallocated(file: Any) -> None:
        file.create_dataset("x", (1 << 40,), "float32", chunks=(1 << 20,))

    def strings(file: Any) -> None:
        file["x"] = ["a", "b"]

    def cycle(file: Any) -> None:
        file.create_group("a")["b"] = file["/"]

    expected = {
        external_link: "link to another file",
        soft_link: "link to another place",
        virtual: "virtual dataset",
        outside: "array in another file",
        unallocated: "larger than what the file has",
        strings: "something else than numbers",
        cycle: "a group twice",
    }
    for write, message in expected.items():
        data = stored(write, tmp_path / f"{write.__name__}.h5")
        with pytest.raises(RelayError, match=message):
            hdf5.read(data)


def test_hdf5_files_that_grow_too_much_are_refused(tmp_path: Path) -> None:
    def zeros(file: Any) -> None:
        file.create_dataset("x", data=np.zeros(1 << 26, "uint8"), compression="gzip")
        file.create_dataset("y", data=np.zeros(1 << 26, "uint8"), compression="gzip")

    with pytest.raises(RelayError, match="too large for its size"):
        hdf5.read(stored(zeros, tmp_path / "x.h5"))


def test_hdf5_files_with_plug_ins_are_refused(tmp_path: Path) -> None:
    def scaled(file: Any) -> None:
        file.create_dataset("x", data=np.arange(9, dtype="int32"), scaleoffset=0)

    with pytest.raises(RelayError, match="filter that is not built in"):
        hdf5.read(stored(scaled, tmp_path / "x.h5"))


@pytest.mark.full
def test_changed_hdf5_files_are_read_or_refused(parts) -> None:
    data = np.frombuffer(parts["model.weights.h5"], "uint8")
    for _ in range(60):
        changed = data.copy()
        places = RANDOM.integers(0, len(data), RANDOM.integers(1, 30))
        changed[places] = RANDOM.integers(0, 256, len(places))
        try:
            from_keras(archive({**parts, "model.weights.h5": changed.tobytes()}))
        except RelayError:
            continue


def test_compressed_hdf5_files_are_read(tmp_path: Path) -> None:
    data = RANDOM.standard_normal((9, 5)).astype("float32")

    def packed(file: Any) -> None:
        file.create_dataset("a/x", data=data, compression="gzip", shuffle=True, fletcher32=True)

    found = hdf5.read(stored(packed, tmp_path / "x.h5"))
    np.testing.assert_array_equal(found.arrays["a/x"], data)
