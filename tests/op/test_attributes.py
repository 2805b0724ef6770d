"""Attribute values become what is declared, or are refused in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

import relay
from relay.errors import RelayError
from relay.ir.attrs import Attrs, DictAttrs, attrs
from relay.op.attributes import MISMATCH, DType, describe, fit, make, meanings, with_attrs

AXES = tuple[int, ...] | None
MODE = Literal["clip", "wrap"]


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, AXES, (1,)),
        ([0, -1], AXES, (0, -1)),
        (np.array([2, 3]), AXES, (2, 3)),
        (np.int64(2), AXES, (2,)),
        (relay.const([1, 2]), AXES, (1, 2)),
        (None, AXES, None),
        ((), AXES, ()),
        (1, int | tuple[int, ...], 1),
        ([1], int | tuple[int, ...], (1,)),
        (1, bool, True),
        (0, bool, False),
        (2, float, 2.0),
        (2, int | float | None, 2),
        (0.5, int | float | None, 0.5),
        ("", DType | None, None),
        ("int8", DType | None, "int8"),
        (np.float32, DType, "float32"),
        (np.dtype("int16"), DType, "int16"),
        ("clip", MODE, "clip"),
        ([[1, 2], (3, 4)], tuple[tuple[int, int], ...], ((1, 2), (3, 4))),
        ("x", Any, "x"),
        (None, Any, None),
        (repr, Callable | None, repr),
        ({"a": [1]}, DictAttrs, DictAttrs({"a": (1,)})),
    ],
)
def test_values_that_fit(value: Any, hint: Any, expected: Any) -> None:
    found = fit(value, hint)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (1.5, AXES),
        ("0", AXES),
        (True, int),
        (None, int),
        (1.0, int),
        (2, bool),
        ("1.0", float),
        (3, str),
        ("", DType),
        ("float33", DType | None),
        ((1,), DType),
        ("slip", MODE),
        ([[1, 2, 3]], tuple[tuple[int, int], ...]),
        (1, tuple[int, int]),
        (relay.var("x", shape=(2,)), AXES),
    ],
)
def test_values_that_do_not_fit(value: Any, hint: Any) -> None:
    assert fit(value, hint) is MISMATCH


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (AXES, "a tuple of integers or None"),
        (MODE, '"clip" or "wrap"'),
        (DType | None, "an element type or None"),
        (tuple[tuple[int, int], ...], "a tuple of (an integer, an integer) each"),
        (tuple[int | None, ...] | None, "a tuple of integers or None or None"),
        (Callable | None, "a function or None"),
        (DictAttrs, "a mapping"),
    ],
)
def test_declared_types_in_words(hint: Any, words: str) -> None:
    assert describe(hint) == words


@attrs
class BaseAttrs(Attrs):
    """Something general.

    axis: the axis,
    on two lines
    """

    axis: int


@attrs
class MoreAttrs(BaseAttrs):
    """mode: what happens"""

    mode: MODE = "clip"


def test_errors_name_operator_attribute_expectation_and_value() -> None:
    with pytest.raises(
        RelayError, match='attribute `mode` of `op` must be "clip" or "wrap", found \'x\''
    ):
        make("op", MoreAttrs, {"axis": 1, "mode": "x"})
    with pytest.raises(RelayError, match=r"`op` has no attribute `axs`; did you mean `axis`\?"):
        make("op", MoreAttrs, {"axs": 1})
    with pytest.raises(RelayError, match="`op` needs the attribute `axis`"):
        make("op", MoreAttrs, {})


def test_meanings_come_from_the_docstrings() -> None:
    assert meanings(MoreAttrs) == {"axis": "the axis, on two lines", "mode": "what happens"}


def test_functions_may_take_attributes_as_one_object() -> None:
    found = with_attrs(MoreAttrs, lambda x, out, known: (x, out, known))
    assert found(1, out=2, axis=3) == (1, 2, MoreAttrs(axis=3))
