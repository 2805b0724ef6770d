"""HDF5 files, read by a process that may do nothing else.

The library that reads HDF5 is large, written in C, and follows links to other files. It runs in a
child process with little memory and time, which opens no file, and sends back arrays:

parent  --the file-->  child:   checks links, storage and filters, reads
parent  <--a header of JSON, then the elements of all arrays--  child
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from relay.errors import FrontendError
from relay.immutable import frozen

SIGNATURE = b"\x89HDF\r\n\x1a\n"
SECONDS = 120
CHILD = Path(__file__).with_name("hdf5_child.py")  # which needs nothing of Relay


@frozen
class File:
    """Arrays by path, and attributes of groups: texts, and lists of texts."""

    arrays: Mapping[str, np.ndarray]
    attributes: Mapping[str, Mapping[str, Any]]


def read(data: bytes) -> File:
    """A file from its bytes."""
    if find_spec("h5py") is None:
        message = "weights of Keras need the package `h5py`"
        raise FrontendError.of(message, hint="pip install 'relay[keras]'")
    # plug-ins are code, and a path may name them
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("HDF5_")}
    environment = {**quiet, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment["HDF5_PLUGIN_PRELOAD"] = "::"
    command = [sys.executable, "-P", str(CHILD)]
    try:
        done = subprocess.run(
            command, input=data, capture_output=True, timeout=SECONDS, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise refused(f"it takes more than {SECONDS} s to read") from None
    head, _, body = done.stdout.partition(b"\n")
    try:
        header = json.loads(head)
    except ValueError:
        found = done.stderr.decode(errors="replace").strip().splitlines()
        raise refused(
            "the library that reads it ended", found[-1][:200] if found else None
        ) from None
    if "error" in header:
        raise refused(header["error"], header.get("found"))
    return File(_arrays(header["arrays"], body), header["attributes"])


def refused(message: str, found: str | None = None) -> FrontendError:
    """The error about a file that is not read."""
    return FrontendError.of(f"the HDF5 file is not read: {message}", found=found)


def _arrays(entries: Sequence[Any], body: bytes) -> dict[str, np.ndarray]:
    found, place = {}, 0
    for path, dtype, shape in entries:
        kind = np.dtype(dtype)
        count = prod(shape)
        found[path] = np.frombuffer(body, kind, count, place).reshape(shape)
        place += count * kind.itemsize
    return found
