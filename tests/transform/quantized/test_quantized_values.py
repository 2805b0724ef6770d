"""What is known of integers that stand for numbers."""

import numpy as np

from relay.transform.quantized.quantized_values import Affine, spread


def affine(scale, zero_point, axis=0) -> Affine:
    return Affine.along(np.asarray(scale, "float32"), np.asarray(zero_point, "int32"), axis)


def test_integers_stand_for_the_same_numbers_with_the_same_scales():
    assert affine(0.5, 3).is_like(affine(0.5, 3, axis=2))
    assert not affine(0.5, 3).is_like(affine(0.5, 4))
    assert affine([0.5, 1], 0, 1).is_like(affine([0.5, 1], 0, 1))
    assert not affine([0.5, 1], 0, 1).is_like(affine([0.5, 1], 0, 2))


def test_a_number_becomes_the_nearest_integer_there_is():
    by = affine(0.5, 10)
    assert by.integers(6.0, "uint8") == 22
    assert by.integers(-99.0, "uint8") == 0
    assert by.integers(1e30, "int8") == 127
    assert by.integers(float("inf"), "uint8") == 255


def test_scales_lie_along_an_axis():
    assert spread(np.arange(3), 4, 1).shape == (1, 3, 1, 1)
    assert spread(np.array(2.0), 4, 1).shape == ()
