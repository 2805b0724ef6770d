"""Recursion that builds data around its result is found, and only that."""

from relay.program.ownership import own
from relay.program.text import parse
from relay.target.llvm.program.building import building_calls
from relay.target.llvm.program.unit import recursive_functions

TYPES = "relay program 1\n\ndata List { Cons(int64, List); Nil }\n\n"
FUNCTION = """function @f("x" = %0: List, "n" = %1: int64) -> List {
  (%2: List) = call @f(%0, %1)
  BODY
}
"""


def found(body):
    program = own(parse(TYPES + FUNCTION.replace("BODY", body)))
    return program, building_calls(program["f"])


def test_data_made_around_a_result_is_a_loop():
    program, loops = found("%3: List = data Cons(%1, %2) return %3")
    assert list(loops) == [0]
    assert loops[0].field == 1
    assert not recursive_functions(program.functions)


def test_numbers_may_be_computed_between():
    _, loops = found("%3: int64 = add %1, %1 %4: List = data Cons(%3, %2) return %4")
    assert len(loops[0].between) == 1


def test_what_looks_at_the_result_is_no_loop():
    program, loops = found("%3: int64 = field %2 Cons.0 %4: List = data Cons(%3, %2) return %4")
    assert not loops
    assert recursive_functions(program.functions) == {"f"}


def test_what_returns_something_else_is_no_loop():
    assert not found("%3: List = data Cons(%1, %2) %4: List = data Nil() return %4")[1]


def test_who_ends_in_another_function_is_left_alone():
    text = """function @g("c" = %0: bool, "x" = %1: List, "n" = %2: int64) -> List {
      branch %0 ? 1 : 2
    block 1:
      (%3: List) = call @g(%0, %1, %2)
      %4: List = data Cons(%2, %3)
      return %4
    block 2:
      tail call @f(%1, %2)
    }
    """
    body = "%3: List = data Cons(%1, %2) return %3"
    program = own(parse(TYPES + text + FUNCTION.replace("BODY", body)))
    assert not building_calls(program["g"])
