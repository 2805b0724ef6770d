"""Files that are broken, or mean harm: an error of ours for each, in little time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from relay.driver import compile as compile_model
from relay.errors import FrontendError, RelayError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.hostile_models import EITHER, REFUSED, X, chain, nested, node
from tests.frontend.onnx.oracle import of_graph, value
from tests.support.sampling import RUN

ROOT = Path(__file__).parents[3]


def in_a_cage(*arguments: str) -> dict[str, str]:
    """How models went in a process that can do no harm."""
    done = subprocess.run(
        [sys.executable, "-B", "-m", "tests.frontend.onnx.hostile_run", *arguments],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_every_model_of_the_corpus_is_refused_or_works_in_little_memory() -> None:
    found = in_a_cage("corpus")
    assert {name for name in REFUSED if found[name] != "refused"} == set()
    assert {n: found[n] for n in EITHER if found[n] not in ("fine", "refused")} == {}


def test_files_with_other_bytes_are_refused_or_work() -> None:
    found = in_a_cage("changed", "1", "400" if RUN.everything else "150")
    assert {n: how for n, how in found.items() if how not in ("fine", "refused")} == {}
    assert "fine" in found.values()


@pytest.mark.full
@pytest.mark.parametrize("seed", range(10, 20))
def test_many_files_with_other_bytes_are_refused_or_work(seed: int) -> None:
    found = in_a_cage("changed", str(seed), "5000")
    assert {n: how for n, how in found.items() if how not in ("fine", "refused")} == {}


# --- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"\0", b"hello", b"\xff" * 100, b"\x08" * 1000])
def test_bytes_that_are_no_model(data: bytes) -> None:
    with pytest.raises(FrontendError, match="no ONNX model"):
        from_onnx(data)


def test_a_model_that_is_cut_short_anywhere_is_refused_or_works() -> None:
    data = chain(node("Relu", "x")).SerializeToString()
    for length in range(len(data)):
        try:
            from_onnx(data[:length])
        except RelayError as error:
            assert str(error)


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.onnx", "a\0b"):
        with pytest.raises(FrontendError, match="cannot be read"):
            from_onnx(path)


def test_a_file_beyond_what_protobuf_reads_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # takes no room
    with pytest.raises(FrontendError, match="too large"):
        from_onnx(path)


def test_what_is_no_model_at_all() -> None:
    with pytest.raises(FrontendError, match="no ONNX model"):
        from_onnx(42)  # type: ignore[arg-type]


def test_subgraphs_beyond_what_protobuf_reads() -> None:
    with pytest.raises(FrontendError, match="more than 60 graphs"):
        from_onnx(nested(500))


# --- external data ---------------------------------------------------------------------------


def external(path: Path, size: int = 6, **entries: str) -> Path:
    """A model in a file, whose weight is elsewhere."""
    tensor = TensorProto(name="w", dims=[size], data_type=TensorProto.FLOAT)
    tensor.data_location = TensorProto.EXTERNAL
    for key, text in entries.items():
        tensor.external_data.add(key=key, value=text)
    given = value("x", "float32", (size,))
    outputs = [onnx.ValueInfoProto(name="y")]
    model = of_graph([helper.make_node("Add", ["x", "w"], ["y"])], [given], outputs, [tensor])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model's data, and beside it what is none of the model's business."""
    inside = tmp_path / "model"
    (inside / "deeper").mkdir(parents=True)
    data = np.arange(6, dtype="float32").tobytes()
    for place in ("secret.bin", "model/w.bin", "model/deeper/w.bin"):
        (tmp_path / place).write_bytes(data)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "w.bin").write_bytes(data)
    (inside / "link.bin").symlink_to(tmp_path / "secret.bin")
    (inside / "link_inside.bin").symlink_to("w.bin")
    (inside / "to_elsewhere").symlink_to(tmp_path / "elsewhere")
    (inside / "deeper" / "up").symlink_to("..")
    (inside / "loop").symlink_to("loop")
    return inside


@pytest.mark.parametrize("location", ["w.bin", "./w.bin", "deeper/w.bin", "deeper//w.bin"])
def test_data_in_the_folder_is_read(folder: Path, location: str) -> None:
    mod, params = from_onnx(external(folder / "m.onnx", location=location))
    result = compile_model(mod, params)(np.ones(6, "float32"))
    np.testing.assert_array_equal(np.asarray(result), np.arange(6) + 1)


@pytest.mark.parametrize(
    "location",
    [
        "",
        ".",
        "/etc/passwd",
        "../secret.bin",
        "deeper/../../secret.bin",
        "deeper/../w.bin",
        "..\\secret.bin",
        "link.bin",
        "link_inside.bin",
        "to_elsewhere/w.bin",
        "deeper/up/w.bin",
        "loop",
        "loop/w.bin",
    ],
)
def test_data_outside_of_the_folder_is_not_read(folder: Path, location: str) -> None:
    with pytest.raises(FrontendError, match="outside of the model's folder"):
        from_onnx(external(folder / "m.onnx", location=location))


@pytest.mark.parametrize("location", ["missing.bin", "deeper", "w.bin/x", "w\0.bin", "n" * 5000])
def test_data_that_is_no_file(folder: Path, location: str) -> None:
    with pytest.raises(FrontendError, match=r"cannot be read|broken"):
        from_onnx(external(folder / "m.onnx", location=location))


def test_data_in_a_pipe_keeps_nobody_waiting(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(FrontendError, match="something else"):
        from_onnx(external(folder / "m.onnx", location="pipe"))


@pytest.mark.parametrize(
    "entries",
    [
        {"offset": "1"},
        {"offset": "24"},
        {"offset": "-4"},
        {"offset": str(2**63)},
        {"offset": "9" * 1000},
        {"offset": "four"},
        {"offset": "٤"},
        {"length": "25"},
        {"length": "0"},
        {"length": "-24"},
        {"length": str(2**62)},
        {"length": "1e3"},
        {"offset": str(2**62), "length": str(2**62)},
    ],
)
def test_places_outside_of_the_file(folder: Path, entries: dict[str, str]) -> None:
    with pytest.raises(FrontendError, match="tensor `w` is broken"):
        from_onnx(external(folder / "m.onnx", location="w.bin", **entries))


def test_a_tensor_larger_than_its_file(folder: Path) -> None:
    with pytest.raises(FrontendError, match="tensor `w` is broken"):
        from_onnx(external(folder / "m.onnx", size=1 << 30, location="w.bin"))


def test_a_model_in_no_folder_has_no_data_outside(folder: Path) -> None:
    data = external(folder / "m.onnx", location="w.bin").read_bytes()
    with pytest.raises(FrontendError, match="in no folder"):
        from_onnx(data)


# --- sizes that a run brings -----------------------------------------------------------------

ABSURD = ([2**40, 1], [2**62, 2**62], [2**32, 2**32], [-1, 4], [-(2**63), 2])


@pytest.mark.parametrize("operator", ["ConstantOfShape", "Expand", "Tile"])
def test_absurd_sizes_end_in_an_error_before_memory_is_taken(operator: str) -> None:
    wanted = value("sizes", "int64", (2,))
    if operator == "ConstantOfShape":
        model = chain(node(operator, "sizes"), inputs=[wanted])
        given: list[np.ndarray] = []
    else:
        model = chain(node(operator, "x", "sizes"), inputs=[value("x", "float32", (1, 1)), wanted])
        given = [np.ones((1, 1), "float32")]
    mod, params = from_onnx(model)
    program = compile_model(mod, params)
    assert np.asarray(program(*given, np.array([2, 3]))).shape == (2, 3)
    for numbers in ABSURD:
        with pytest.raises(RelayError):
            program(*given, np.array(numbers))


def test_names_in_errors_stay_on_one_line() -> None:
    odd = "a\nb\x1b[31m\u202e"
    with pytest.raises(FrontendError) as error:
        from_onnx(of_graph([helper.make_node("Nope", ["x"], [odd])], [X], []))
    assert "\x1b" not in str(error.value) and "\u202e" not in str(error.value)
    assert "a\\nb" in str(error.value)


@pytest.mark.parametrize(
    "name",
    [
        "an_enormous_tensor_of_few_numbers",
        "a_tensor_that_is_stretched_beyond_all_numbers",
        "pads_beyond_all_numbers",
        "doublings",
    ],
)
def test_what_is_absurd_from_the_start_ends_in_an_error_when_it_is_run(name: str) -> None:
    mod, params = from_onnx(EITHER[name]())
    inputs = [np.ones(param.checked_type.shape, "float32") for param in mod["main"].params]
    with pytest.raises(RelayError, match=r"there is no memory|the result would have"):
        compile_model(mod, params)(*inputs)
