"""Files of other formats than ONNX that are broken, or mean harm: an error of ours for each, in
little memory, and no memory is read that is not theirs."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch

from relay.errors import FrontendError
from relay.frontend import from_pytorch
from relay.frontend.pytorch.script import archive
from tests.frontend.hostile_run import KINDS, unzipped, zipped
from tests.frontend.pytorch.script.test_archive import Doubled

ROOT = Path(__file__).parents[2]
RUN = "tests.frontend.hostile_run"
# of files, in a run that is not full
COUNTS = {"tflite": 200, "graph": 100, "symbol": 100, "keras": 40, "pt2": 20, "script": 60}


def outcomes(kind: str, first: int, last: int) -> dict[str, str]:
    """How files went in a process that can do no harm."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", RUN, kind, str(first), str(last)],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_changed_files_are_refused_or_work(kind: str) -> None:
    found = outcomes(kind, 0, COUNTS[kind])
    assert {n: how for n, how in found.items() if how not in ("fine", "refused")} == {}
    assert found.pop("whole") == "fine"
    assert "refused" in found.values()


@pytest.mark.full
@pytest.mark.parametrize("part", range(1, 11))
@pytest.mark.parametrize("kind", KINDS)
def test_many_changed_files_are_refused_or_work(kind: str, part: int) -> None:
    many = 10 * COUNTS[kind]
    found = outcomes(kind, many * part, many * (part + 1))
    assert {n: how for n, how in found.items() if how not in ("fine", "refused")} == {}


# --- archives of TorchScript ---------------------------------------------------------------------


@pytest.fixture
def entries() -> dict[str, bytes]:
    """What an archive holds."""
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(Doubled().eval()), file)
    return unzipped(file.getvalue())


def refused(path: Path, data: bytes, why: str) -> None:
    path.write_bytes(data)
    with pytest.raises(FrontendError, match=why):
        from_pytorch(path, input_infos=[("x", (2, 3))])


def test_a_storage_does_not_go_beyond_its_entry(entries: dict[str, bytes], tmp_path: Path) -> None:
    """Torch would read on, and what lies there would be weights."""
    pickle = entries["archive/data.pkl"]
    sizes, count = b"(K\x03K\x03t", b"K\x09t"
    assert pickle.count(sizes) == pickle.count(count) == 1
    larger = pickle.replace(sizes, b"(K\xffK\x03t").replace(count, b"M\xff\xfft")
    entries["archive/data.pkl"] = larger
    refused(tmp_path / "model.pt", zipped(entries), "262140 bytes in an entry of 36")


@pytest.mark.parametrize(
    ("pickle", "why"),
    [
        (b"\x80\x02cos\nabort\n)R.", "cannot be read"),
        (b"\x80\x02)" + b"\x85" * 100_000 + b".", "nest more than"),
        (b"\x80\x02)q\xff.", "out of turn"),
        (b"\x80\x02)r\xff\xff\xff\xff.", "out of turn"),
        (b"\x80\x02h\x05.", "not there"),
        (b"\x80\x02t.", "without a mark"),
        (b"\x80\x02R.", "without its values"),
        (b"\x80\x02))Q.", "without its name"),
        (b"\x80\x02))).", "left over"),
        (b"\x80\x02}(h", "cannot be read"),
        (b"\x80\x04\x8c\x02os\x8c\x05abort\x93.", "the operation"),
    ],
)
def test_pickles_that_torch_did_not_write(
    entries: dict[str, bytes], tmp_path: Path, pickle: bytes, why: str
) -> None:
    entries["archive/data.pkl"] = pickle
    refused(tmp_path / "model.pt", zipped(entries), why)


def test_archives_that_are_larger_than_they_look(
    entries: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.pt"
    refused(path, zipped(entries, zipfile.ZIP_DEFLATED), "the compressed entry")
    monkeypatch.setattr(archive, "TEXT", 10_000)
    with zipfile.ZipFile(path, "w") as file:
        for name, data in entries.items():
            if not name.endswith(".py"):
                file.writestr(name, data)
        file.writestr("archive/code/bomb.py", bytes(20_000), zipfile.ZIP_DEFLATED)
    refused(path, path.read_bytes(), "the compressed entry `archive/code/bomb.py`")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for end in (".pt", ".pt2"):
        for path in (tmp_path / f"missing{end}", tmp_path):
            with pytest.raises(FrontendError, match="no archive"):
                from_pytorch(path, input_infos=[("x", (2, 3))])
