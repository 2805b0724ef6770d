"""Holds: every one is handed over or let go exactly once, and as early as can be."""

import random

import pytest

from relay.lower.kernel import Kernel, TensorSpec
from relay.program.ownership import own
from relay.program.program import (
    Block,
    Branch,
    CallFunction,
    Constructor,
    DataSpec,
    DataType,
    Function,
    GetField,
    InvokeKernel,
    Jump,
    MakeData,
    Parameter,
    Program,
    Release,
    Return,
    ScalarSpec,
    Switch,
    TailCall,
)
from relay.program.text import parse, to_text
from relay.program.verify import verify as well_formed
from tests.support.ownership import verify

PREFIX = """relay program 1

data List { Cons(int64, List); Nil }
data Pair { Pair(List, List) }
data Color { Red; Green }

kernel @k(float32[4]) -> (float32[4])
kernel @s(float32[4]) -> (float32[4], int64[])

constant "w": float32[4]
"""


def owned(text):
    """The function with its holds, checked; and written down without what comes before it."""
    program = own(parse(PREFIX + text))
    assert not verify(program)
    return to_text(program).split("\n\nfunction", 1)[-1].strip()


def body(text):
    return [line.strip() for line in owned(text).splitlines()[1:-1]]


def test_the_last_use_hands_a_value_over_and_others_retain_it():
    assert body(
        """function @f("x" = %0: List) -> Pair {
          %1: Pair = data Pair(%0, %0)
          return %1
        }"""
    ) == ["retain %0", "%1: Pair = data Pair(%0, %0)", "return %1"]


def test_what_is_looked_at_last_is_released_at_once():
    assert body(
        """function @f("x" = %0: Pair, "n" = %1: int64) -> List {
          %2: List = field %0 Pair.0
          %3: int64 = add %1, %1
          %4: List = data Cons(%3, %2)
          return %4
        }"""
    ) == [
        "%2: List = field %0 Pair.0",
        "release %0",
        "%3: int64 = add %1, %1",
        "%4: List = data Cons(%3, %2)",
        "return %4",
    ]


def test_what_nobody_uses_is_released_where_it_appears():
    assert body(
        """function @f("x" = %0: List, "y" = %1: List) -> List {
          %2: List = data Nil()
          return %1
        }"""
    ) == ["release %0", "%2: List = data Nil()", "release %2", "return %1"]


def test_each_way_of_a_branch_releases_what_it_does_not_use():
    assert body(
        """function @f("c" = %0: bool, "x" = %1: List, "y" = %2: List) -> List {
          branch %0 ? 1 : 2
        block 1:
          return %1
        block 2:
          return %2
        }"""
    ) == [
        "branch %0 ? 1 : 2",
        "block 1:",
        "release %2",
        "return %1",
        "block 2:",
        "release %1",
        "return %2",
    ]


def test_on_the_way_to_a_block_that_others_lead_to_there_is_a_block_more():
    assert body(
        """function @f("c" = %0: bool, "x" = %1: List) -> int64 {
          %2: int64 = 0
          branch %0 ? 1 : 2
        block 1:
          (%3: int64) = call @f(%0, %1)
          jump 2
        block 2:
          return %2
        }"""
    ) == [
        "%2: int64 = 0",
        "branch %0 ? 1 : 3",
        "block 1:",
        "(%3: int64) = call @f(%0, %1)",
        "jump 2",
        "block 2:",
        "return %2",
        "block 3:",
        "release %1",
        "jump 2",
    ]


def test_a_switch_on_a_value_nobody_uses_further_releases_it_on_every_way():
    lines = body(
        """function @f("x" = %0: List) -> int64 {
          %1: int64 = 0
          switch %0 { Cons: 1, Nil: 2 }
        block 1:
          %2: int64 = field %0 Cons.0
          return %2
        block 2:
          return %1
        }"""
    )
    assert lines.count("release %0") == 2


def test_parameters_of_blocks_are_held_by_the_block():
    assert body(
        """function @f("x" = %0: List) -> List {
          jump 1(%0, %0)
        block 1(%1: List, %2: List):
          return %1
        }"""
    ) == ["retain %0", "jump 1(%0, %0)", "block 1(%1: List, %2: List):", "release %2", "return %1"]


def test_scalars_constants_and_data_without_fields_are_not_counted():
    text = """function @f("c" = %0: Color, "n" = %1: int64) -> float32[4] {
          %2: float32[4] = constant "w"
          %3: float32[4] = constant "w"
          return %2
        }"""
    assert not any("release" in line or "retain" in line for line in body(text))


def test_tensors_that_nobody_else_sees_are_local():
    assert body(
        """function @f("x" = %0: float32[4]) -> float32[4] {
          %1: float32[4] = alloc
          invoke @k(%0) -> (%1)
          %2: float32[2, 2] = view %1
          %3: float32[4] = alloc
          invoke @k(%2) -> (%3)
          return %3
        }"""
    ) == [
        "%1: float32[4] = alloc local",
        "invoke @k(%0) -> (%1)",
        "release %0",
        "%2: float32[2, 2] = view %1",
        "%3: float32[4] = alloc",
        "invoke @k(%2) -> (%3)",
        "return %3",
    ]


def test_memory_that_a_view_hands_on_is_an_object():
    lines = body(
        """function @f("x" = %0: float32[4]) -> float32[2, 2] {
          %1: float32[4] = alloc
          invoke @k(%0) -> (%1)
          %2: float32[4] = view %1
          %3: float32[2, 2] = view %2
          return %3
        }"""
    )
    assert "%1: float32[4] = alloc" in lines
    assert lines[-3:] == ["%3: float32[2, 2] = view %2", "release %2", "return %3"]


def test_a_view_that_is_no_object_keeps_what_it_looks_at():
    assert body(
        """function @f("x" = %0: float32[4]) -> int64 {
          %1: float32[2, 2] = view %0
          %2: float32[4] = alloc
          invoke @s(%1) -> (%2, %3: int64)
          return %3
        }"""
    ) == [
        "%1: float32[2, 2] = view %0",
        "%2: float32[4] = alloc local",
        "invoke @s(%1) -> (%2, %3: int64)",
        "release %0",
        "return %3",
    ]


def test_tensors_whose_size_a_run_finds_are_objects():
    lines = body(
        """function @f("x" = %0: float32[4], "n" = %1: int64) -> int64 {
          %2: float32[?] = alloc [%1]
          invoke @s(%0) -> (%2, %3: int64)
          return %3
        }"""
    )
    assert "release %2" in lines


def test_a_cell_stays_with_who_writes_it():
    assert body(
        """function @f("x" = %0: ref(List), "y" = %1: List) -> ref(List) {
          write %0 (%1)
          return %0
        }"""
    ) == ["write %0 (%1)", "return %0"]


def test_holds_that_are_lost_are_found():
    leaks = verify(
        parse(
            PREFIX
            + """function @f("c" = %0: bool, "x" = %1: List) -> List {
              branch %0 ? 1 : 2
            block 1:
              release %1
              jump 2
            block 2:
              return %1
            }"""
        )
    )
    assert any("some ways into block 2" in str(leak) for leak in leaks)
    leaks = verify(
        parse(PREFIX + 'function @f("x" = %0: List) -> int64 { %1: int64 = 0 return %1 }')
    )
    assert [str(leak) for leak in leaks] == ["`@f`, block 0: %0 is never let go"]


# --- programs nobody wrote ----------------------------------------------------------------------

LIST, NUMBER, TENSOR = DataSpec("List"), ScalarSpec("int64"), TensorSpec((4,), "float32")
TYPES = (DataType("List", (Constructor("Cons", (LIST, LIST)), Constructor("Nil", ()))),)


def any_instruction(choose, output, known, full):
    """Something that makes a list of the lists in `known`; those in `full` have fields."""
    one, two = choose.choice(known), choose.choice(known)
    made = [
        MakeData(output, "Cons", (one, two)),
        MakeData(output, "Nil", ()),
        CallFunction((output,), "pair", (one, two)),
    ]
    if full:
        made += [GetField(output, choose.choice(full), "Cons", choose.randint(0, 1))] * 3
    found = choose.choice(made)
    if isinstance(found, CallFunction) or found == made[0]:
        full.append(output)
    return found


def any_function(name, seed, last):
    """A function of a condition and two lists, with branches that meet again; it may end in a call
    of `last`."""
    choose = random.Random(seed)
    count = choose.randint(2, 8)
    registers = [ScalarSpec("bool"), LIST, LIST]
    known: list[list[int] | None] = [[1, 2]] + [None] * (count - 1)
    params: list[tuple[int, ...]] = [()] * count
    full: list[int] = []

    def new():
        registers.append(LIST)
        return len(registers) - 1

    for number in range(1, count):
        if choose.random() < 0.4:
            params[number] = tuple(new() for _ in range(choose.randint(1, 2)))
    blocks = []
    for number in range(count):
        here = [*(known[number] or [1, 2]), *params[number]]
        instructions = []
        for _ in range(choose.randint(0, 5)):
            output = new()
            fields = [register for register in here if register in full]
            instructions.append(any_instruction(choose, output, here, fields))
            full += fields
            here.append(output)
        plain = [other for other in range(number + 1, count) if not params[other]]
        with_params = [other for other in range(number + 1, count) if params[other]]

        def lead_to(other, here=here):
            before = known[other]
            known[other] = list(here) if before is None else [r for r in before if r in here]

        way = choose.randint(0, 5)
        if way <= 2 and len(plain) > 1:
            first, second = choose.choice(plain), choose.choice(plain)
            branch = Branch(0, first, second)
            switch = Switch(choose.choice(here), (("Cons", first),), second)
            instructions.append(choose.choice((branch, switch)))
            lead_to(first)
            lead_to(second)
        elif way <= 4 and with_params:
            other = choose.choice(with_params)
            instructions.append(Jump(other, tuple(choose.choice(here) for _ in params[other])))
            lead_to(other)
        elif way == 5:
            args = (choose.choice(here), choose.choice(here))
            instructions.append(TailCall(last, (0, *args) if last == name else args))
        else:
            instructions.append(Return(choose.choice(here)))
        blocks.append(Block(tuple(instructions), params[number]))
    inputs = tuple(Parameter(f"p{i}", i) for i in range(3))
    return Function(name, inputs, tuple(registers), tuple(blocks), LIST)


PAIR = Function(
    "pair",
    (Parameter("x", 0), Parameter("y", 1)),
    (LIST, LIST, LIST),
    (Block((MakeData(2, "Cons", (0, 1)), Return(2))),),
    LIST,
)


@pytest.mark.parametrize("start", range(0, 300, 100))
def test_all_holds_of_any_program_are_accounted_for(start):
    for seed in range(start, start + 100):
        program = Program((), (), (any_function("f", seed, "f"), PAIR), TYPES)
        well_formed(program)
        assert not verify(own(program)), seed


def test_the_work_is_that_of_the_program():
    """A long chain of blocks with a value that lives through all of them."""
    blocks = []
    count = 3000
    registers = [ScalarSpec("bool"), LIST]
    for number in range(count):
        registers.append(LIST)
        blocks.append(Block((MakeData(len(registers) - 1, "Nil", ()), Jump(number + 1))))
    blocks.append(Block((Return(1),)))
    inputs = (Parameter("c", 0), Parameter("x", 1))
    program = Program(
        (), (), (Function("f", inputs, tuple(registers), tuple(blocks), LIST),), TYPES
    )
    done = own(program)
    assert not verify(done)
    assert sum(isinstance(one, Release) for one in done["f"].instructions) == count


def test_kernels_only_look():
    kernel = Kernel("k", (TENSOR,), (TENSOR,), "")
    function = Function(
        "f",
        (Parameter("x", 0), Parameter("y", 1)),
        (TENSOR, TENSOR),
        (Block((InvokeKernel("k", (0,), (1,)), Return(1))),),
        TENSOR,
    )
    done = own(Program((kernel,), (), (function,)))
    assert list(done["f"].instructions)[1] == Release(0)
