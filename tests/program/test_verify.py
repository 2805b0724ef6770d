"""Programs that are well formed, and what is said of others."""

from dataclasses import replace

import pytest

from relay.errors import IllFormed
from relay.lower.kernel import TensorSpec
from relay.program.program import (
    Block,
    Constant,
    Fail,
    Function,
    InvokeKernel,
    Jump,
    Literal,
    Parameter,
    Program,
    Return,
    Scalar,
    ScalarSpec,
)
from relay.program.text import parse
from relay.program.verify import verify

GOOD = """\
relay program 1

data List[int32] { Cons(int32, List[int32]); Nil }
data Pair { Pair((int32, float32[?]), fn(int32) -> int32) }

kernel @scale(float32[n], float32[]) -> (float32[n], int32[]) sizes=("n",)
kernel @relu(float32[4]) -> (float32[4])

constant "w": float32[4]
constant "c": float32[]
constant "packed": float32[4] = prepare.0

function @prepare() {
  %0: float32[4] = constant "w"
  %1: float32[4] = alloc
  invoke @relu(%0) -> (%1)
  return (%1,)
}

function @sum("so far" = %0: int32, "rest" = %1: List[int32]) -> int32 {
  switch %1 { Cons: 1, Nil: 2 }
block 1:
  %2: int32 = field %1 Cons.0
  %3: List[int32] = field %1 Cons.1
  %4: int32 = add %0, %2
  tail call @sum(%4, %3)
block 2:
  return %0
}

function @add("a" = %0: int32, "b" = %1: int32) -> int32 {
  %2: int32 = add %0, %1
  return %2
}

function @main("x" = %0: float32[n], "c" = %1: float32, "p" = %2: Pair) -> (float32[?], int32) {
  %3: int64 = size %0[0]
  %4: float32[?] = alloc local [%3]
  invoke @scale(%0, %1) -> (%4, %5: int32) [%3]
  %6: ref(int32) = reference (%5)
  %7: fn(int32) -> int32 = closure @add(%5)
  (%8: int32) = call %7(%5)
  write %6 (%8)
  (%9: int32) = read %6
  %10: float32[?] = field %2 Pair.1
  %11: Pair = data Pair(%9, %10, %7)
  %12: float32[4] = constant "packed"
  %13: float32 = element %12[3]
  %14: float32[] = constant "c"
  %15: float32 = element %14[0]
  %16: bool = lt %13, %15
  branch %16 ? 1 : 2
block 1:
  %17: int64 = 4
  require %3 = %17 "sizes differ"
  %18: float32[4] = view %4
  retain %18
  release %18
  jump 3(%8)
block 2:
  %19: List[int32] = data Nil()
  (%20: int32) = call @sum(%8, %19)
  jump 3(%20)
block 3(%21: int32):
  %22: int64 = cast %21
  %23: int64 = 0
  %24: bool = lt %22, %23
  branch %24 ? 4 : 5
block 4:
  fail "negative"
block 5:
  return (%4, %21)
}
"""


def test_a_program_that_is_well_formed_passes():
    verify(parse(GOOD))


WRONG = [
    ("%4: int32 = add", "%4: int64 = add", "the result is of another type"),
    ("add %0, %2", "add %0, %1", "operands of `add` do not fit"),
    ("add %0, %2", "add %0", "operands of `add` do not fit"),
    ("field %1 Cons.0", "field %1 Cons.7", "there is no field 7"),
    ("field %1 Cons.0", "field %1 Cone.0", "did you mean `Cons`?"),
    ("field %1 Cons.0", "field %0 Cons.0", "register %0 holds no data"),
    ("%3: List[int32] = field", "%3: int32 = field", "types do not fit"),
    ("{ Cons: 1, Nil: 2 }", "{ Cons: 1 }", "not every constructor is listed"),
    ("{ Cons: 1, Nil: 2 }", "{ Cons: 1, Cons: 1, Nil: 2 }", "is listed 2 times"),
    ("{ Cons: 1, Nil: 2 }", "{ Zero: 1, else: 2 }", "no constructor `Zero`"),
    ("switch %1", "switch %0", "register %0 holds no data"),
    ("tail call @sum(%4, %3)", "tail call @sum(%3, %4)", "arguments do not fit"),
    ("tail call @sum(%4, %3)", "tail call @sum(%4)", "arguments do not fit"),
    ("tail call @sum(%4, %3)", "tail call @prepare()", "results do not fit"),
    ("%4: int32 = add %0, %2", "%4: int32 = add %0, %4", "%4 is read before it is written"),
    ("block 2:\n  return %0", "block 2:\n  return %2", "no value on every way to here"),
    ("size %0[0]", "size %0[1]", "there is no axis 1"),
    ("size %0[0]", "size %1[0]", "register %1 holds no tensor"),
    ("%3: int64 = size", "%3: int32 = size", "types of sizes do not fit"),
    ("alloc local [%3]", "alloc local", "sizes do not fit"),
    ("alloc local [%3]", "alloc local [%1]", "sizes do not fit"),
    ("(%4, %5: int32) [%3]", "(%4, %5: int32)", "sizes do not fit"),
    ("invoke @scale(%0, %1)", "invoke @scale(%1, %0)", "inputs of kernel `@scale` do not fit"),
    ("(%4, %5: int32)", "(%4, %5: int64)", "outputs of kernel `@scale` do not fit"),
    ("reference (%5)", "reference (%3)", "contents do not fit"),
    ("read %6", "read %7", "register %7 holds no cell"),
    ("write %6 (%8)", "write %6 (%3)", "contents do not fit"),
    ("closure @add(%5)", "closure @add(%3)", "parameters do not fit"),
    ("closure @add(%5)", "closure @add(%5, %5)", "parameters do not fit"),
    ("(%8: int32) = call %7", "(%8: int64) = call %7", "results do not fit"),
    ("call %7(%5)", "call %6(%5)", "register %6 holds no function"),
    ("data Pair(%9, %10, %7)", "data Pair(%9, %7, %10)", "fields do not fit"),
    ("element %12[3]", "element %12[4]", "there is no element 4"),
    ("%13: float32 = element", "%13: float64 = element", "types do not fit"),
    ('%12: float32[4] = constant "packed"', '%12: float32[5] = constant "packed"', "another type"),
    ("%17: int64 = 4", "%17: int64 = 4.5", "the number is none of this type"),
    ("%23: int64 = 0", "%23: int64 = true", "the number is none of this type"),
    ("%23: int64 = 0", "%23: uint8 = 256", "the number is none of this type"),
    ("branch %16 ?", "branch %3 ?", "types of conditions do not fit"),
    ("branch %16 ? 1 : 2", "branch %16 ? 1 : 3", "block 3 has parameters"),
    ("jump 3(%8)", "jump 3", "arguments do not fit"),
    ("retain %18", "retain %17", "scalars are not counted"),
    ("require %3 = %17", "require %3 = %5", "types of sizes do not fit"),
    ("return (%4, %21)", "return %4", "results do not fit"),
    ("prepare.0", "prepare.1", "one of 1 results"),
    ('"packed": float32[4]', '"packed": float32[8]', "is no such result of `@prepare`"),
    ("%18: float32[4] = view %4", "%18: int32[4] = view %4", "a view has the elements"),
]


@pytest.mark.parametrize(("before", "after", "message"), WRONG)
def test_what_is_wrong_is_named(before, after, message):
    assert before in GOOD
    with pytest.raises(IllFormed) as error:
        verify(parse(GOOD.replace(before, after, 1)))
    assert message in str(error.value)


def test_the_place_is_named():
    with pytest.raises(IllFormed) as error:
        verify(parse(GOOD.replace("add %0, %2", "add %0, %1", 1)))
    (found,) = error.value.diagnostics
    assert found.message == (
        "operands of `add` do not fit: in `%4: int32 = add %0, %1`, function `@sum`, block 1, "
        "instruction 2"
    )
    assert found.expected == "2 scalars it is defined for"
    assert found.found == "int32, List[int32]"


INT32 = ScalarSpec("int32")
X = Parameter("x", 0)


def function(*blocks, registers=(INT32,), params=(X,)):
    made = tuple(b if isinstance(b, Block) else Block(tuple(b)) for b in blocks)
    return Function("f", params, registers, made, INT32)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (function([Return(9)]), "there is no register %9"),
        (function([Jump(3)]), "there is no block 3"),
        (function([Literal(0, 1), Return(0)]), "register %0 is written twice"),
        (function([]), "nothing says where to go on: in function `@f`, block 0"),
        (function([Scalar(0, "add", (0, 0))]), "nothing says where to go on"),
        (function([Return(0), Return(0)]), "nothing is reached after this"),
        (function(), "begins with a block without parameters"),
        (function(Block((Return(0),), (0,))), "begins with a block without parameters"),
        (function([Return(0)], params=()), "nothing writes register %0"),
        (function([Return(0)], params=(Parameter("x", 1),)), "are not its first registers"),
        (function([InvokeKernel("k", (), (5,)), Return(0)]), "there is no such register"),
        (function([InvokeKernel("k", (), ()), Return(0)]), "the program has no kernel `@k`"),
        (function([Scalar(0, "plus", ()), Return(0)], params=()), "no operation `plus`"),
    ],
)
def test_what_no_text_says_is_found_too(broken, message):
    with pytest.raises(IllFormed) as error:
        verify(Program((), (), (broken,)))
    assert message in str(error.value)


def test_names_are_those_of_one_thing():
    twice = function([Return(0)])
    constant = Constant("c", TensorSpec((), "int8"), 0)
    with pytest.raises(IllFormed) as error:
        verify(Program((), (constant, constant), (twice, twice)))
    assert "2 functions are called `f`" in str(error.value)
    assert "2 constants are called `c`" in str(error.value)
    assert "nothing computes it" in str(error.value)


def test_the_same_mistake_is_not_said_a_thousand_times():
    program = parse(GOOD)
    main = program["main"]
    broken = replace(main, blocks=(Block((*(Literal(99, 1),) * 1000, Fail(""))),))
    with pytest.raises(IllFormed) as error:
        verify(replace(program, functions=(broken,)))
    assert len(error.value.diagnostics) == 20


def test_blocks_that_nothing_reaches_may_read_what_they_like():
    text = """relay program 1
    function @f("x" = %0: int32) -> int32 {
      return %0
    block 1:
      jump 2
    block 2:
      %1: int32 = add %0, %0
      jump 3
    block 3:
      return %1
    }"""
    verify(parse(text))
