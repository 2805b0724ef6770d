"""Operators have one converter each."""

from __future__ import annotations

from collections import Counter

from relay.frontend.pytorch.converters import built_in


def test_no_operator_has_two_converters() -> None:
    found = Counter((table.domain, name) for table in built_in() for name in table.names())
    assert [name for name, count in found.items() if count > 1] == []
