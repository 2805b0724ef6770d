"""Versions of the operator sets that a model or a function imports."""

from __future__ import annotations

from collections.abc import Iterable

import onnx
from onnx import OperatorSetIdProto

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted
from relay.frontend.onnx.converters import DEFAULT_DOMAINS

LARGEST = 2**31 - 1


def versions_of(imports: Iterable[OperatorSetIdProto], who: str) -> dict[str, int]:
    """The versions of operator sets by domain; the default domain is ""."""
    found: dict[str, int] = {}
    for one in imports:
        domain = "" if one.domain in DEFAULT_DOMAINS else one.domain
        check_version(domain, one.version, who)
        found[domain] = one.version
    return found


def check_version(domain: str, version: int, who: str) -> None:
    """Refuse a version that is unknown or not positive."""
    newest = LARGEST if domain else onnx.defs.onnx_opset_version()
    if version > newest:
        named = f" of {quoted(domain)}" if domain else ""
        raise FrontendError.of(
            f"{who} uses version {version} of the operators{named}",
            expected=f"at most {newest}, the newest that the installed `onnx` knows",
            hint="install a newer `onnx`",
        )
    if version < 1:
        named = quoted(domain or "ai.onnx")
        raise FrontendError.of(
            f"{who} has no version of the operators of {named}", found=str(version)
        )
