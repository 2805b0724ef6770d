"""`from relay.compat.tvm.relay import testing`: the names of this package."""

from __future__ import annotations

from typing import Any

import relay


def __getattr__(name: str) -> Any:
    return getattr(relay, name)


def __dir__() -> list[str]:
    return dir(relay)
