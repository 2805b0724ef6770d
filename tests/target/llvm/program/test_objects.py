"""Data, cells and numbers of every type in native programs."""

import numpy as np
import pytest

from relay.native import layout
from relay.program.native import Site
from tests.target.llvm.program.machine import Machine, as_float

VALUES = """
data Color { Red; Green; Blue }
data Shape { Circle(float32); Rectangle(float32, float32); Point; Group(Shape, bool, Shape) }

function @area("shape" = %0: Shape) -> float32 {
  switch %0 { Circle: 1, Rectangle: 2, Point: 3, Group: 4 }
block 1:
  %1: float32 = field %0 Circle.0
  %2: float32 = mul %1, %1
  %3: float32 = 3.0
  %4: float32 = mul %2, %3
  jump 5(%4)
block 2:
  %5: float32 = field %0 Rectangle.0
  %6: float32 = field %0 Rectangle.1
  %7: float32 = mul %5, %6
  jump 5(%7)
block 3:
  %8: float32 = 0.0
  jump 5(%8)
block 4:
  %9: Shape = field %0 Group.0
  %10: bool = field %0 Group.1
  %11: Shape = field %0 Group.2
  branch %10 ? 6 : 7
block 5(%15: float32):
  return %15
block 6:
  (%12: float32) = call @area(%9)
  (%13: float32) = call @area(%11)
  %14: float32 = add %12, %13
  jump 5(%14)
block 7:
  tail call @area(%11)
}

function @picture("both" = %0: bool) -> float32 {
  %1: float32 = 2.0
  %2: float32 = 5.0
  %3: Shape = data Circle(%1)
  %4: Shape = data Rectangle(%1, %2)
  %5: Shape = data Group(%3, %0, %4)
  %6: Shape = data Point()
  %7: bool = true
  %8: Shape = data Group(%6, %7, %5)
  (%9: float32) = call @area(%8)
  return %9
}

function @next("color" = %0: Color) -> Color {
  switch %0 { Red: 1, Green: 2, else: 3 }
block 1:
  %1: Color = data Green()
  return %1
block 2:
  %2: Color = data Blue()
  return %2
block 3:
  %3: Color = data Red()
  return %3
}

function @cells("n" = %0: int64) -> (int64, float32, int8, bool) {
  %1: float32 = 1.5
  %2: int8 = -3
  %3: bool = true
  %9: Shape = data Circle(%1)
  %4: ref((float32, Shape, int8, bool)) = reference (%1, %9, %2, %3)
  %10: Shape = data Rectangle(%1, %1)
  %11: int8 = 100
  %12: bool = false
  write %4 (%1, %10, %11, %12)
  (%5: float32, %6: Shape, %7: int8, %8: bool) = read %4
  (%13: float32) = call @area(%6)
  return (%0, %13, %7, %8)
}

function @many("a" = %0: float64, "b" = %1: float64) -> (float64, float64, float64) {
  %2: float64 = add %0, %1
  %3: float64 = mul %0, %1
  %4: float64 = div %0, %1
  return (%2, %3, %4)
}

function @few("a" = %0: float64, "b" = %1: float64) -> (float64, float64) {
  (%2: float64, %3: float64, %4: float64) = call @many(%0, %1)
  %5: float64 = exp %2
  return (%5, %4)
}

function @half("x" = %0: float16, "y" = %1: float16) -> (float16, bool, int4) {
  %2: float16 = add %0, %1
  %3: float16 = 0.5
  %4: float16 = mul %2, %3
  %5: bool = lt %0, %1
  %6: int4 = cast %2
  return (%4, %5, %6)
}

function @divide("a" = %0: int32, "b" = %1: int32) -> (int32, int32) {
  %2: int32 = floordiv %0, %1
  %3: int32 = mod %0, %1
  return (%2, %3)
}

function @require("a" = %0: int64, "b" = %1: int64) -> () {
  require %0 = %1 "axis 0 of x and y" where "here"
  return ()
}

function @nothing("a" = %0: int64, "b" = %1: int64) -> int64 {
  () = call @require(%0, %1)
  return %0
}
"""


@pytest.fixture(scope="module")
def values():
    return Machine(VALUES)


def test_data_of_several_constructors(values):
    outcome = values.run("picture", 1)
    assert (as_float(outcome.value), outcome.live) == (22.0, 0)
    outcome = values.run("picture", 0)
    assert (as_float(outcome.value), outcome.live) == (10.0, 0)


def test_data_without_fields_is_a_number(values):
    red, green, blue = 1, 3, 5
    assert [values.run("next", color).value for color in (red, green, blue)] == [green, blue, red]


def test_cells_hold_what_was_written_last(values):
    outcome = values.run("cells", 9)
    assert outcome.words[0] == 9
    assert as_float(outcome.words[1]) == 2.25
    assert outcome.words[2:4] == [100, 0]
    assert outcome.live == 0


def test_any_number_of_results(values):
    outcome = values.run("many", 3.0, 2.0)
    assert [as_float(word, "float64") for word in outcome.words[:3]] == [5.0, 6.0, 1.5]
    outcome = values.run("few", 3.0, 2.0)
    assert as_float(outcome.words[1], "float64") == 1.5
    np.testing.assert_allclose(as_float(outcome.words[0], "float64"), np.exp(5.0), rtol=1e-14)


def test_narrow_numbers_are_computed_as_in_kernels(values):
    outcome = values.run("half", np.float16(1.5), np.float16(0.1))
    assert np.uint16(outcome.words[0]).view(np.float16) == np.float16(0.8)
    assert outcome.words[1] == 0
    assert np.int8(outcome.words[2]) == 1


@pytest.mark.parametrize("a, b", [(7, 2), (-7, 2), (7, -2), (7, 0), (-(2**31), -1)])
def test_division_is_defined_for_all_numbers(values, a, b):
    outcome = values.run("divide", np.int32(a), np.int32(b))
    quotient = 0 if b == 0 else (a // b + 2**31) % 2**32 - 2**31
    expected = np.array([quotient, a - quotient * b]).astype(np.int32)
    np.testing.assert_array_equal(np.array(outcome.words[:2]).astype(np.int32), expected)


def test_what_must_be_equal_is(values):
    assert values.run("nothing", 3, 3).value == 3
    outcome = values.run("nothing", 3, 4)
    assert outcome.status == layout.UNEQUAL
    assert outcome.details[:2] == (3, 4)
    assert outcome.site == Site("axis 0 of x and y", "here")
