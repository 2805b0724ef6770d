"""How models come in: one folder per format, imported when it is asked for."""

from __future__ import annotations

import importlib
from typing import Any

# What people call, and the folder it is in; the framework a folder needs is an extra of its name.
_HOMES = {
    "from_keras": "keras",
    "from_mxnet": "mxnet",
    "from_onnx": "onnx",
    "from_pytorch": "pytorch",
    "from_tensorflow": "tensorflow",
    "from_tflite": "tflite",
}


def __getattr__(name: str) -> Any:
    folder = _HOMES.get(name)
    if folder is None:
        raise AttributeError(f"module 'relay.frontend' has no attribute {name!r}")
    try:
        home = importlib.import_module(f"{__name__}.{folder}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "relay":
            raise
        from relay.errors import Diagnostic, FrontendError

        raise FrontendError(
            Diagnostic(
                f"relay.frontend.{name} needs the package `{error.name}`",
                hint=f"pip install 'relay[{folder}]'",
            )
        ) from None
    return getattr(home, name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
