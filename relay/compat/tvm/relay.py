"""`from relay.compat.tvm.relay.testing import resnet`: the names of this package."""

from __future__ import annotations

from typing import Any

import relay
from relay.compat.tvm.modules import PLACE

__path__ = [PLACE]
__stands_for__ = relay


def __getattr__(name: str) -> Any:
    return getattr(relay, name)


def __dir__() -> list[str]:
    return dir(relay)
