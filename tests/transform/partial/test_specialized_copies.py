"""Copies of functions for the functions they are given."""

from __future__ import annotations

import relay
from relay.transform import PartialEvaluate, RemoveUnusedFunctions

APPLY = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @each(%f: (fn (float32) -> float32, float32), %l: List[float32]) -> float32 {
  let %g = %f.0;
  match (%l) { Cons(%h, %t) => %g(%h) + @each(%f, %t), Nil => %f.1 }
}
"""


def copies(main: str) -> relay.IRModule:
    module = relay.transform.InferType()(relay.parse(APPLY + main))
    return RemoveUnusedFunctions()(PartialEvaluate()(module))


def test_what_a_function_has_captured_is_passed() -> None:
    found = copies(
        """def @main(%x: float32, %l: List[float32]) {
          let %f = fn (%y: float32) { %y * %x };
          @each((fn (%y: float32) { %f(%f(%y)) }, 2f), %l)
        }"""
    )
    (copy,) = (f for name, f in found.functions.items() if name.name_hint != "main")
    assert "fn (float32)" not in str(copy)
    # %x twice, since both functions know it, the 2, and the list
    assert len(copy.params) <= 4


def test_copies_are_limited() -> None:
    found = copies(
        """def @grow(%f: fn (float32) -> float32, %n: int32) -> float32 {
          if (%n == 0) { %f(1f) } else { @grow(fn (%y: float32) { %f(%f(%y)) }, %n - 1) }
        }
        def @main(%n: int32) { @grow(fn (%y: float32) { %y + 1f }, %n) }"""
    )
    assert 3 <= len(found.functions) <= 10
    assert float(relay.create_executor("debug", found).evaluate()(3)) == 9


def test_generic_functions_are_called_where_types_are_not_known() -> None:
    found = copies(
        """def @pass[A](%f: fn (A) -> A, %x: A, %n: int32) -> A {
          if (%n == 0) { %x } else { @pass(fn (%y: A) -> A { %f(%f(%y)) }, %x, %n - 1) }
        }
        def @main(%x: float32, %n: int32) { @pass(fn (%y: float32) { %y * 2f }, %x, %n) }"""
    )
    assert float(relay.create_executor("debug", found).evaluate()(1.0, 2)) == 1
