"""Products of matrices, of which there may be very many without elements."""

import numpy as np
import pytest

from relay.op.building.numerics import matrix_product


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3), (3, 4)),
        ((3,), (3, 4)),
        ((2, 0), (0, 4)),
        ((0,), (0, 4)),
        ((5, 1, 2, 0), (6, 0, 4)),
        ((0, 2, 3), (3, 4)),
        ((5, 2, 3), (1, 3, 0)),
    ],
)
def test_a_product_has_the_shape_type_and_elements_of_numpy(left, right):
    one, other = np.ones(left, "float32"), np.ones(right, "float64")
    found, wanted = matrix_product(one, other), np.matmul(one, other)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted, strict=True)


def test_empty_matrices_are_not_counted():
    # NumPy alone takes centuries
    assert matrix_product(np.ones((2**55, 0, 8)), np.ones((8, 3))).shape == (2**55, 0, 3)
