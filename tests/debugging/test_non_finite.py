"""The operator that NaN or infinity comes from, and its line."""

import numpy as np

import relay
from relay.debugging import find_non_finite

TEXT = """#[version = "0.0.5"]
def @half(%x: Tensor[(3), float32]) -> Tensor[(3), float32] {
  if (less(sum(%x), 1f)) { sqrt(%x) } else { @half(multiply(%x, 0.5f)) }
}
def @main(%x: Tensor[(3), float32]) -> Tensor[(3), float32] {
  let %y = @half(%x);
  log(abs(%y))
}
"""


def at(*numbers):
    return (np.array(numbers, np.float32),)


def test_the_operator_and_its_line_are_named():
    module = relay.parse(TEXT, source_name="half.relay")
    assert find_non_finite(module, at(1, 2, 3)) is None
    found = find_non_finite(module, at(8, 8, -1))
    assert (found.operator, found.nans, found.infinities, found.elements) == ("sqrt", 1, 0, 3)
    assert found.from_finite and found.where.startswith("half.relay:3:")
    assert "sqrt(%x)" in str(found)
    found = find_non_finite(module, at(8, 8, 0))
    assert (found.operator, found.infinities) == ("log", 1)


def test_numbers_that_were_given_are_told_apart():
    module = relay.parse(TEXT, source_name="half.relay")
    found = find_non_finite(module, at(np.nan, 0, 0))
    assert found.operator == "sum" and not found.from_finite


def test_lines_of_python_are_shown():
    @relay.function
    def divide(x: relay.Tensor[3], y: relay.Tensor[3]) -> relay.Tensor[3]:
        total = x + y
        return total / y

    found = find_non_finite(divide, (*at(1, 2, 3), *at(1, 0, 1)))
    assert found.operator == "divide" and found.infinities == 1
    assert "return total / y" in found.line and "test_non_finite.py" in found.where
