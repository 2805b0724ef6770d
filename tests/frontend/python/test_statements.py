import numpy as np
import pytest

import relay
from relay import Tensor
from tests.frontend.python.plain import assert_same, body, error


def test_assignments():
    def swap(a: int, b: int):
        a, b = b, a + b
        (c, d), e = (a, b), 3
        c = d = c + d
        e += c
        e -= 1
        e *= 2
        return a, b, c, d, e

    assert_same(swap, 3, 4)


def test_names_are_kept_in_the_program():
    def f(x: float):
        double = x + x
        return double * double

    assert body(f) == (
        "def @main(%x: float32) -> float32 {\n"
        "  let %double: float32 = add(%x, %x);\n"
        "  multiply(%double, %double)\n"
        "}"
    )


@pytest.mark.parametrize("a", range(-1, 4))
@pytest.mark.parametrize("b", range(-1, 4))
def test_every_kind_of_branch(a, b):
    def branches(a: int, b: int) -> int:
        x = a
        if a > b:
            y = a - b
            x = 2
        elif a == b:
            y = 7
        else:
            if b > 2:
                return -1
            y = b - a
        if y == 3:
            pass
        elif x == 0:
            return y
        z = y * x
        if z > 5:
            z += 100
            if z > 110:
                z = 0
        return z

    assert_same(branches, a, b)


def test_a_branch_that_returns_needs_no_other():
    def sign(x: int):
        if x > 0:
            return 1
        if x < 0:
            return -1
        return 0

    for x in (-3, 0, 3):
        assert_same(sign, x)


def test_one_variable_needs_no_tuple():
    def pick(c: bool, x: float):
        if c:
            y = x + 1.0
        else:
            y = x
        return y

    assert body(pick) == (
        "def @main(%c: bool, %x: float32) -> float32 {\n"
        "  let %y: float32 = if (%c) {\n"
        "    let %y1: float32 = add(%x, 1f);\n"
        "    %y1\n"
        "  } else {\n"
        "    %x\n"
        "  };\n"
        "  %y\n"
        "}"
    )


def test_what_follows_is_not_written_twice():
    def f(a: int):
        if a > 0:
            if a > 5:
                return 0
            b = 1
        else:
            b = 2
        return b * a

    assert body(f).count("multiply") == 1
    for a in (-1, 3, 7):
        assert_same(f, a)


def test_a_condition_that_is_known_chooses_now():
    training = False

    def f(x: float, mode: float | None):
        if training:
            x = "nonsense"
        return x

    def g(x: float):
        return x if None is None else "nonsense"

    assert "if" not in body(f)
    assert_same(g, 2.0)


def test_numbers_on_different_ways_are_floats_if_one_is():
    def f(c: bool):
        if c:
            x = 1
        else:
            x = 2.5
        return x

    assert_same(f, False)
    assert relay.function(f)(True).item() == 1.0


def test_a_number_takes_the_type_of_the_other_way():
    def f(c: bool, y: Tensor[(), np.float64]):
        x = 0
        if c:
            x = y
        return x

    assert relay.function(f)(False, 2.0).dtype == "float64"


def test_a_declared_variable_keeps_its_type():
    def f(x: Tensor[(), np.int64]):
        y: Tensor[(), np.int64] = 3
        y = y * x
        return y

    assert relay.function(f)(np.int64(5)).item() == 15


def test_a_value_that_does_not_fit_the_declared_type_is_an_error():
    def f(x: float):
        y: int = 3
        y = x
        return y

    text = error(f)
    assert "`y` does not have its declared type" in text
    assert "y = x" in text


def test_a_function_without_return_gives_the_empty_tuple():
    def f(x: int):
        relay.RefWrite(relay.RefCreate(x), 3)

    assert relay.function(f)(1) == ()


def test_references():
    def f(n: int):
        cell = relay.RefCreate(0)
        for i in range(n):
            relay.RefWrite(cell, relay.RefRead(cell) + i)
        return relay.RefRead(cell)

    assert relay.function(f)(5).item() == 10


def test_effects_in_branches_stay():
    def f(c: bool):
        cell = relay.RefCreate(0)
        if c:
            relay.RefWrite(cell, 1)
        else:
            relay.RefWrite(cell, 2)
        return relay.RefRead(cell)

    assert relay.function(f)(True).item() == 1
    assert relay.function(f)(False).item() == 2


def test_ways_without_a_result_are_an_error():
    def f(x: int):
        if x > 0:
            return x

    text = error(f)
    assert "`f` may end without a result" in text
    assert "def f(x: int):" in text


def test_results_of_different_types_are_an_error():
    def f(x: int):
        if x > 0:
            return x
        return relay.zeros((2,), "float32")

    assert "returns values of different types" in error(f)


def test_a_result_that_is_not_the_declared_one_is_an_error():
    def f(x: int) -> float:
        return x

    assert "does not have the declared type" in error(f)


def test_a_number_as_result_has_the_declared_type():
    def f(x: Tensor[(), np.float64]) -> Tensor[(), np.float64]:
        if x > 0:
            return 1
        return x

    assert relay.function(f)(3.0).dtype == "float64"


def test_a_number_as_result_has_the_type_of_the_others():
    def f(x: Tensor[(), np.float64]):
        if x > 0:
            return 1.5
        return x

    assert relay.function(f)(3.0).dtype == "float64"


def test_a_variable_of_one_branch_has_no_value_behind_both():
    def f(x: int):
        if x > 0:
            y = 1
        return y

    text = error(f)
    assert "`y` has no value on some of the ways" in text
    assert "return y" in text


def test_types_that_differ_matter_only_where_they_are_used():
    def fine(c: bool):
        if c:
            y = 1.5
        else:
            y = relay.zeros((2,), "float32")
        y = 3
        return y

    def used(c: bool, x: float):
        if c:
            y = x
        else:
            y = relay.zeros((2,), "float32")
        return y

    assert_same(fine, True)
    assert "`y` has not one type here" in error(used)


def test_a_tuple_with_another_number_of_parts_is_an_error():
    def f(x: int):
        a, b = x, x, x
        return a + b

    assert "number of variables" in error(f)


def test_functions_may_have_any_number_of_statements(tmp_path):
    import importlib.util

    lines = ["def f(x: float):"]
    for i in range(600):
        lines += [f"    y{i} = x + {i}.0", f"    if x == {i}.0:", f"        return y{i}"]
    lines += ["    if x < 0.0:", "        z = 0.0"]
    for i in range(200):
        lines += [f"    elif x == {i}.5:", f"        z = {i}.0"]
    lines += ["    else:", "        z = x", "    return z + " + " + ".join(["x"] * 1000)]
    path = tmp_path / "long.py"
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location("long", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert_same(module.f, 3.0)
    assert_same(module.f, 7.5)
