"""A fact about an operator, for the length of a `with`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from relay.op.opdef import get


@contextmanager
def TempOpAttr(op_name: str, attr_key: str, attr_value: Any) -> Iterator[None]:
    """Attach a fact to an operator on entry, and take it off again on exit."""
    op = get(op_name)
    before = dict(op.extras)
    op.extras.pop(attr_key, None)
    op.set_attr(attr_key, attr_value)
    try:
        yield
    finally:
        op.extras.clear()
        op.extras.update(before)
