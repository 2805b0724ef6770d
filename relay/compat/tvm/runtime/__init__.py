"""`tvm.runtime`: tensors, libraries in files, the virtual machine."""

from __future__ import annotations

import os

from relay import nd as nd
from relay import vm as vm
from relay.errors import RelayError
from relay.executors.artifact import load
from relay.executors.straight_line import StraightLineExecutable
from relay.graph_executor import GraphLibrary
from relay.nd import NDArray as NDArray
from relay.nd import cpu as cpu
from relay.nd import device as device
from relay.serialize import load_param_dict as load_param_dict
from relay.serialize import save_param_dict as save_param_dict


def load_module(path: str | os.PathLike[str]) -> GraphLibrary:
    """The library in a file that `lib.export_library` wrote. It contains code, which will run."""
    found = load(path)
    if not isinstance(found, StraightLineExecutable):
        raise RelayError(f"`{path}` is a whole program: relay.load(path) calls it")
    return GraphLibrary(found)
