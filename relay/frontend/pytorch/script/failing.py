"""Exceptions: where the program raises one, the run ends with its message."""

from __future__ import annotations

from typing import Any

from relay.errors import VALUE, FrontendError
from relay.frontend.pytorch.script.converter import Converter, Handlers
from relay.frontend.pytorch.script.graph import Call
from relay.frontend.pytorch.script.path import Failure, Path
from relay.frontend.pytorch.script.values import Text

table = Handlers()


@table("prim::RaiseException")
def raise_exception(
    converter: Converter, path: Path, call: Call, message: Any, *_: Any
) -> list[Any]:
    text, found = (message.text, message.found) if isinstance(message, Text) else (message, None)
    fail(path, call, str(text) or "the program raises an exception", found)
    return []


def fail(path: Path, call: Call, message: str, found: Any = None) -> None:
    """End the run here."""
    shown = None if found is None else VALUE
    plain = message.replace("{", "(").replace("}", ")")
    path.failure = Failure(FrontendError.of(plain, call.span, found=shown), call.span, found)
