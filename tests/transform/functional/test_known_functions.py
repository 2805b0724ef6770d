"""Copies of functions for functions that are known."""

import relay
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import Var
from relay.ir.types import ShapeVar, TensorType
from relay.transform import InferType
from relay.transform.functional.known_functions import (
    KnownFunction,
    Sizes,
    Variables,
    copy_with,
    renamed,
)

HEADER = '#[version = "0.0.5"]\n'
FUNCTIONS = """
    def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }
    def @next(%x: int32) -> int32 { add(%x, 1) }
    def @plus(%y: int32, Closure=1) -> fn (int32) -> int32 { fn (%x: int32) -> int32 { %x + %y } }
    def @then(%f: fn (int32) -> int32, %y: int32, Closure=1) -> fn (int32) -> int32 {
      fn (%x: int32) -> int32 { %f(%x) - %y }
    }
"""


def parse(text):
    return InferType()(relay.parse(HEADER + FUNCTIONS + text))


def assert_copy(name, known, expected):
    before = parse("")
    before["copy"] = copy_with(before[name], {}, known, before)
    assert_structural_equal(InferType()(before), parse(expected))


def test_a_function_of_the_module_is_called_by_its_name():
    assert_copy(
        "twice", {0: KnownFunction("next")}, "def @copy(%x: int32) -> int32 { @next(@next(%x)) }"
    )


def test_what_a_closure_remembers_becomes_parameters():
    assert_copy(
        "twice",
        {0: KnownFunction("plus", captured=(None,))},
        "def @copy(%y: int32, %x: int32) -> int32 { let %f = @plus(%y); %f(%f(%x)) }",
    )


def test_a_closure_may_remember_known_functions():
    inner = KnownFunction("plus", captured=(None,))
    assert_copy(
        "twice",
        {0: KnownFunction("then", captured=(inner, None))},
        """
        def @copy(%z: int32, %y: int32, %x: int32) -> int32 {
          let %g = @plus(%z);
          let %f = @then(%g, %y);
          %f(%f(%x))
        }
        """,
    )


def test_the_copy_of_a_function_that_makes_closures_makes_closures():
    assert_copy(
        "then",
        {0: KnownFunction("next")},
        """
        def @copy(%y: int32, Closure=1) -> fn (int32) -> int32 {
          fn (%x: int32) -> int32 { @next(%x) - %y }
        }
        """,
    )


def test_what_is_handed_over_is_in_order():
    a, b, c = map(Var, "abc")
    known = KnownFunction("f", captured=(a, KnownFunction("g", captured=(b,)), c))
    assert known.values() == [a, b, c]
    assert known.map(lambda given: given).values() == []


def test_types_over_other_dimensions_are_the_same_up_to_names():
    n, m, new = ShapeVar("n"), ShapeVar("m"), ShapeVar("new")
    variables = Variables()
    found = []
    for size in (n, m):
        sizes = Sizes(variables)
        found.append(sizes.abstracted((TensorType((size, 2 * size), "int8"), size, 3)))
        assert sizes.found == [size]
    assert found[0] == found[1]
    renaming = sizes.renaming((new,))
    assert renamed(found[0], renaming) == (TensorType((new, 2 * new), "int8"), new, 3)
