"""Whether int64 arithmetic wraps is found without wrapping."""

import numpy as np
import pytest

from relay import te
from relay.te.evaluate import evaluate
from relay.te.overflow import overflow

NUMBERS = (0, 1, -1, 3, 2**31, -(2**31), 2**32, 2**62, -(2**62), 2**63 - 1, -(2**63))


def values(make):
    """`overflow` of what is made of two numbers from memory, for every pair of them."""
    pairs = np.array([(a, b) for a in NUMBERS for b in NUMBERS], "int64")
    given = te.placeholder(pairs.shape, "int64", "pairs")
    found = te.compute(
        (len(pairs),), lambda i: overflow(make(given[i, 0], given[i, 1]), {}), "found"
    )
    (result,) = evaluate([found], {given: pairs})
    return zip(pairs.tolist(), result.tolist(), strict=True)


@pytest.mark.parametrize(
    ("make", "exact"),
    [
        (lambda a, b: a + b, lambda a, b: a + b),
        (lambda a, b: a - b, lambda a, b: a - b),
        (lambda a, b: a * b, lambda a, b: a * b),
        (lambda a, b: -a, lambda a, b: -a),
    ],
)
def test_an_operation_that_wraps_is_told_from_one_that_does_not(make, exact):
    for (a, b), found in values(make):
        fits = -(2**63) <= exact(a, b) < 2**63
        if found == 0 or abs(exact(a, b)) < 2**63 - 1024:  # products are compared as floats
            assert (found == 0) == fits, (a, b)


def test_the_side_that_is_not_taken_may_wrap():
    for (a, b), found in values(lambda a, b: te.select(b > 0, a, a + b)):
        assert (found == 0) == (b > 0 or a + b >= -(2**63)), (a, b)


def test_what_cannot_wrap_is_not_looked_at():
    n = te.Extent("int64", "n")
    small = te.cast(te.placeholder((1,), "int32", "x")[0], "int64")
    for expr in (n + n, n - 1, small * small, te.minimum(n, 4) * 8):
        found = overflow(expr, {n: (0, 2**62 - 1)})
        assert isinstance(found, te.Const)
        assert found.value == 0
