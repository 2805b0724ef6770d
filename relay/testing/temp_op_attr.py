"""Temporary attributes of operators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from relay.op.opdef import get


@contextmanager
def TempOpAttr(op_name: str, attr_key: str, attr_value: Any) -> Iterator[None]:
    """Set an attribute of an operator on entry and restore it on exit."""
    op = get(op_name)
    before = dict(op.extras)
    op.extras.pop(attr_key, None)
    op.set_attr(attr_key, attr_value)
    try:
        yield
    finally:
        op.extras.clear()
        op.extras.update(before)
