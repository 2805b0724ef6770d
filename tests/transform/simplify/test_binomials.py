"""The square of a sum, written out."""

import pytest

from relay.transform import SimplifyExpr
from tests.transform.rewriting import assert_rewrites, assert_stays

PASS = SimplifyExpr()
SUM = "%0 = add(%x, %y); multiply(%0, %0)"


@pytest.mark.parametrize(
    "body",
    [
        "add(add(multiply(%x, %x), multiply(2f, multiply(%x, %y))), multiply(%y, %y))",
        "add(multiply(%x, %x), add(multiply(multiply(%y, 2f), %x), multiply(%y, %y)))",
        "add(add(power(%x, 2f), multiply(multiply(%x, %y), 2f)), power(%y, 2f))",
        "%0 = multiply(%x, %y); add(add(multiply(%x, %x), add(%0, %0)), multiply(%y, %y))",
        "add(add(multiply(%x, %x), multiply(%y, %y)), multiply(2f, multiply(%x, %y)))",
    ],
)
def test_the_square_of_a_sum(body):
    assert_rewrites(PASS, body, SUM)


def test_the_square_of_a_difference():
    assert_rewrites(
        PASS,
        "add(subtract(multiply(%x, %x), multiply(2f, multiply(%x, %y))), multiply(%y, %y))",
        "%0 = subtract(%x, %y); multiply(%0, %0)",
    )


def test_integers_and_broadcasts():
    params = "%x: Tensor[(2, 3), int8], %y: Tensor[(3), int8]"
    assert_rewrites(
        PASS,
        "add(add(multiply(%x, %x), multiply(2i8, multiply(%x, %y))), multiply(%y, %y))",
        SUM,
        params,
    )


@pytest.mark.parametrize(
    "body",
    [
        "add(add(multiply(%x, %x), multiply(3f, multiply(%x, %y))), multiply(%y, %y))",
        "subtract(add(multiply(%x, %x), multiply(2f, multiply(%x, %y))), multiply(%y, %y))",
        "add(add(multiply(%x, %x), multiply(2f, multiply(%x, %t))), multiply(%y, %y))",
        "%0 = multiply(%x, %x); "
        "(add(add(%0, multiply(2f, multiply(%x, %y))), multiply(%y, %y)), %0)",
    ],
)
def test_what_looks_like_it_stays(body):
    assert_stays(PASS, body)
