"""Names out of a file, as errors show them."""

from __future__ import annotations

import pytest

from relay.frontend.common.naming import LONGEST, quoted, repeated


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("conv1", "`conv1`"),
        ("größe/日本", "`größe/日本`"),
        ("a\nb\tc\x1b[31m", "`a\\nb\\tc\\x1b[31m`"),
        ("\u202eabc", "`\\u202eabc`"),
        ("", "``"),
    ],
)
def test_names_are_on_one_line(name: str, wanted: str) -> None:
    assert quoted(name) == wanted


def test_long_names_are_cut() -> None:
    assert len(quoted("x" * 1_000_000)) == LONGEST + 2


def test_a_name_that_is_there_twice_is_found() -> None:
    assert repeated(["a", "b", "a", "b"]) == "a"
    assert repeated(["a", "b"]) is None
