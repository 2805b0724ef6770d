"""Programs as text: what is written is read back the same."""

from contextlib import suppress
from dataclasses import astuple, fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay.errors import ParseError
from relay.lower.kernel import Kernel, TensorSpec
from relay.program.program import (
    AllocTensor,
    Block,
    Branch,
    CallClosure,
    CallFunction,
    ClosureSpec,
    ComputeSize,
    Constant,
    Constructor,
    DataSpec,
    DataType,
    Fail,
    Function,
    GetField,
    InvokeKernel,
    Jump,
    Literal,
    LoadConstant,
    MakeClosure,
    MakeData,
    MakeReference,
    Parameter,
    Program,
    ReadElement,
    ReadReference,
    ReadSize,
    ReferenceSpec,
    Release,
    RequireEqual,
    Retain,
    Return,
    Scalar,
    ScalarSpec,
    Switch,
    TailCall,
    TailCallClosure,
    ViewTensor,
    WriteReference,
)
from relay.program.scalars import SIZE_OPERATIONS
from relay.program.text import parse, to_text
from tests.support.sampling import deep

TEXT = """\
relay program 1

kernel @pack(float32[16, 8]) -> (float32[8, 16])
kernel @dense_relu(float32[1, 8], float32[8, 16]) -> (float32[1, 16]) worker_workspace=1024 \
in_place=((0, 0), (0, 1)) operators=("nn.dense", "nn.relu") flops=256

constant "weight": float32[16, 8]
constant "packed_0": float32[8, 16] = prepare.0

function @prepare() {
  %0: float32[16, 8] = constant "weight"
  %1: float32[8, 16] = alloc
  invoke @pack(%0) -> (%1)
  return (%1,)
}

function @main("x" = %0: float32[1, 8], "state" = (%1: int8[], (%2: float32[3],))) {
  %3: float32[8, 16] = constant "packed_0"
  %4: float32[1, 16] = alloc
  invoke @dense_relu(%0, %3) -> (%4)
  %5: float32[16] = view %4
  return (%5, (%1, ()), %2)
}
"""


def test_the_text_of_a_program_reads_like_one():
    assert to_text(parse(TEXT)) == TEXT


def test_what_is_read_is_the_program():
    program = parse(TEXT)
    assert program["main"] == Function(
        "main",
        (Parameter("x", 0), Parameter("state", (1, (2,)))),
        (
            TensorSpec((1, 8), "float32"),
            TensorSpec((), "int8"),
            TensorSpec((3,), "float32"),
            TensorSpec((8, 16), "float32"),
            TensorSpec((1, 16), "float32"),
            TensorSpec((16,), "float32"),
        ),
        (
            Block(
                (
                    LoadConstant(3, "packed_0"),
                    AllocTensor(4),
                    InvokeKernel("dense_relu", (0, 3), (4,)),
                    ViewTensor(5, 4),
                    Return((5, (1, ()), 2)),
                ),
            ),
        ),
    )
    assert program.constants[1] == Constant("packed_0", TensorSpec((8, 16), "float32"), 0)
    assert program.kernels[1].in_place == ((0, 0), (0, 1))


names = st.text(max_size=6)
symbols = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{0,10}", fullmatch=True) | names
element_types = st.sampled_from(["float32", "bfloat16", "bool", "float8_e4m3fn", "int4"])
sizes = st.integers(0, 2**40) | st.sampled_from(["n", "m", "?", "n + 1", "a\\"]) | names
specs = st.builds(TensorSpec, st.lists(sizes, max_size=4).map(tuple), element_types)
kernel_fields = {
    "name": symbols,
    "inputs": st.lists(specs, max_size=3).map(tuple),
    "outputs": st.lists(specs, max_size=3).map(tuple),
    "ir": st.just("define …"),
    "sizes": st.lists(names, max_size=2).map(tuple),
    "workspace": st.integers(0, 2**40),
    "worker_workspace": st.integers(0, 2**40),
    "sized_workspace": st.booleans(),
    "in_place": st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3).map(tuple),
    "checks": st.lists(names, max_size=2).map(tuple),
    "operators": st.lists(names, max_size=2).map(tuple),
    "flops": st.integers(0, 2**62),
    "algorithm": names,
    "approximate": st.booleans(),
    "compiler": names,
}
kernels = st.builds(Kernel, **kernel_fields)


@given(
    st.lists(kernels, unique_by=lambda k: k.name, max_size=3),
    st.lists(
        st.builds(Constant, names, specs, st.none() | st.integers(0, 9)),
        unique_by=lambda c: c.name,
        max_size=3,
    ),
)
def test_everything_but_the_code_survives_the_text(made, constants):
    assert kernel_fields.keys() == {field.name for field in fields(Kernel)}
    program = Program(tuple(made), tuple(constants), ())
    without_code = replace(program, kernels=tuple(replace(k, ir="") for k in made))
    assert parse(to_text(program)) == without_code


def test_values_nest_as_deep_as_they_like():
    value = 0
    for _ in range(deep(20_000)):
        value = (value,)
    function = Function(
        "f", (Parameter("x", value),), (TensorSpec((), "int8"),), (Block((Return(value),)),)
    )
    text = to_text(Program((), (), (function,)))
    assert to_text(parse(text)) == text


DATA = [
    "List[int32]",
    "List[List[float32[?]]]",
    "Pair[fn(int32) -> bool, (int8, int8)]",
    "int32",
    "fn",
    "no plain] name",
    "ünïcode",
    "",
]
register_types = st.recursive(
    specs | st.builds(ScalarSpec, element_types) | st.builds(DataSpec, st.sampled_from(DATA)),
    lambda below: (
        st.builds(
            ClosureSpec,
            st.lists(below | st.tuples(below, below), max_size=3).map(tuple),
            below | st.lists(below, max_size=3).map(tuple),
        )
        | st.builds(ReferenceSpec, below | st.lists(below, max_size=3).map(tuple))
    ),
    max_leaves=6,
)
in_tuples = st.recursive(
    register_types, lambda below: st.lists(below, max_size=3).map(tuple), max_leaves=6
)
words = st.sampled_from(["Cons", "Nil", "else", "inf", "two words", "List[int32]", ""]) | names
data_types = st.builds(
    DataType,
    st.just(""),
    st.lists(
        st.builds(Constructor, words, st.lists(in_tuples, max_size=3).map(tuple)), max_size=3
    ).map(tuple),
)
literals = (
    st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.sampled_from([0.0, -0.0, float("inf"), -float("inf"), 5e-324, 1e16, 1e-7])
)


class Draft:
    """A function in the making: registers are numbered once it is known how many there are."""

    def __init__(self, draw):
        self.draw = draw
        self.types = []

    def new(self, types=register_types):
        self.types.append(self.draw(types))
        return len(self.types) - 1

    def some(self, make, most=3):
        return tuple(make() for _ in range(self.draw(st.integers(0, most))))

    def use(self):
        return -1 - self.draw(st.integers(0, 1000))

    def nested(self, leaf, depth=2):
        if depth and self.draw(st.booleans()):
            return self.some(lambda: self.nested(leaf, depth - 1))
        return leaf()

    def output_of_kernel(self):
        """A scalar that is written here, or a tensor allocated before."""
        if self.draw(st.booleans()):
            return self.new(st.builds(ScalarSpec, element_types))
        return self.tensor

    def instruction(self):
        draw, new, use, some = self.draw, self.new, self.use, self.some
        number = draw(st.integers(0, 19))
        match number:
            case 0:
                return LoadConstant(new(), "c")
            case 1:
                return Literal(new(), draw(literals))
            case 2:
                op = draw(st.sampled_from(["add", "lt", "cast", "select", "exp", "and"]))
                return Scalar(new(), op, (use(), *some(use)))
            case 3:
                return AllocTensor(new(), some(use), draw(st.booleans()), draw(names))
            case 4:
                return ViewTensor(new(), use(), some(use), draw(names))
            case 5:
                return InvokeKernel("k", some(use), some(self.output_of_kernel), some(use))
            case 6:
                return ReadSize(new(), use(), draw(st.integers(0, 9)))
            case 7:
                return ReadElement(new(), use(), draw(st.integers(0, 9)))
            case 8:
                return RequireEqual(use(), use(), draw(names), draw(names))
            case 9:
                return MakeData(new(), draw(words), some(use))
            case 10:
                return GetField(new(), use(), draw(words), draw(st.integers(0, 9)))
            case 11:
                return MakeClosure(new(), "f", some(use))
            case 12:
                return MakeReference(new(), some(use))
            case 13:
                return ReadReference(some(new), use())
            case 14:
                return WriteReference(use(), some(use))
            case 15:
                return CallFunction(some(new), "f", some(use))
            case 16:
                return CallClosure(some(new), use(), some(use))
            case 17:
                return Retain(use())
            case 18:
                op = draw(st.sampled_from(SIZE_OPERATIONS))
                return ComputeSize(new(), op, use(), use(), draw(names))
            case _:
                return Release(use())

    def terminator(self, blocks):
        draw, use, some = self.draw, self.use, self.some
        block = st.integers(0, blocks - 1)
        match draw(st.integers(0, 6)):
            case 0:
                return Return(self.nested(use))
            case 1:
                return Jump(draw(block), some(use))
            case 2:
                return Branch(use(), draw(block), draw(block))
            case 3:
                cases = draw(st.lists(st.tuples(words, block), max_size=3))
                return Switch(use(), tuple(cases), draw(st.none() | block))
            case 4:
                return TailCall("f", some(use))
            case 5:
                return TailCallClosure(use(), some(use))
            case _:
                return Fail(draw(names), draw(names))


@st.composite
def functions(draw):
    draft = Draft(draw)
    draft.tensor = draft.new(specs)
    params = [Parameter("t", draft.tensor)]
    params += [
        Parameter(draw(names), draft.nested(draft.new)) for _ in range(draw(st.integers(0, 2)))
    ]
    count = draw(st.integers(1, 3))
    blocks = []
    for number in range(count):
        given = draft.some(draft.new) if number else ()
        body = tuple(draft.instruction() for _ in range(draw(st.integers(0, 4))))
        blocks.append(Block((*body, draft.terminator(count)), given))
    draft.some(draft.new, 1)  # a register that nothing writes
    numbers = draw(st.permutations(range(len(draft.types))))
    types = [None] * len(numbers)
    for register, number in enumerate(numbers):
        types[number] = draft.types[register]

    def renumbered(part):
        if isinstance(part, tuple):
            return tuple(map(renumbered, part))
        if type(part) is not int:
            return part
        return numbers[part if part >= 0 else (-1 - part) % len(numbers)]

    fixed = {"value": (Literal,), "axis": (ReadSize,), "index": (ReadElement, GetField)}
    fixed |= {"block": (Jump,), "true": (Branch,), "false": (Branch,)}
    fixed |= {"cases": (Switch,), "otherwise": (Switch,), "local": (AllocTensor,)}

    def changed(one):
        return type(one)(
            **{
                field.name: getattr(one, field.name)
                if isinstance(one, fixed.get(field.name, ()))
                else renumbered(getattr(one, field.name))
                for field in fields(one)
            }
        )

    return Function(
        "f",
        tuple(Parameter(param.name, renumbered(param.value)) for param in params),
        tuple(types),
        tuple(Block(tuple(map(changed, b.instructions)), renumbered(b.params)) for b in blocks),
        draw(in_tuples),
        draw(names),
        tuple(draw(st.lists(names, max_size=2))),
    )


@settings(max_examples=40)
@given(functions(), data_types)
def test_every_instruction_and_every_type_survives_the_text(function, data):
    types = tuple(replace(data, name=name) for name in DATA)
    kernel = Kernel("k", (), (), "")
    program = Program((kernel,), (Constant("c", TensorSpec((), "int8")),), (function,), types)
    assert parse(to_text(program)) == program


def test_numbers_are_read_as_they_were():
    values = [0.1, -0.0, float("inf"), float("-inf"), float("nan"), 5e-324, 1.7e308, 3, True, 0]
    body = tuple(Literal(register, value) for register, value in enumerate(values))
    registers = (ScalarSpec("float64"),) * len(values)
    function = Function("f", (), registers, (Block((*body, Return(()))),))
    read = parse(to_text(Program((), (), (function,))))["f"]
    for (_, *others), value in zip(map(astuple, read.blocks[0].instructions), values, strict=False):
        assert repr(others[0]) == repr(value)


SUM = """\
relay program 1

data List[int32] { Cons(int32, List[int32]); Nil }

kernel @scale(float32[n], float32[]) -> (float32[n], int32[]) sizes=("n",)

function @sum("so far" = %0: int32, "rest" = %1: List[int32]) -> int32 where "sum.relay:3:5" {
  switch %1 { Cons: 1, Nil: 2 }
block 1:
  %2: int32 = field %1 Cons.0
  %3: List[int32] = field %1 Cons.1
  %4: int32 = add %0, %2
  tail call @sum(%4, %3)
block 2:
  return %0
}

function @main("x" = %0: float32[n], "c" = %1: float32) -> (float32[?], (int32, ref(int32))) {
  %2: int64 = size %0[0]
  %3: float32[?] = alloc local [%2]
  invoke @scale(%0, %1) -> (%3, %4: int32) [%2]
  %5: ref(int32) = reference (%4)
  %6: fn(List[int32]) -> int32 = closure @sum(%4)
  (%7: int32) = read %5
  %8: List[int32] = data Nil()
  (%9: int32) = call %6(%8)
  write %5 (%9)
  %10: bool = eq %7, %9
  branch %10 ? 1 : 2
block 1:
  require %2 = %2 "sizes differ" where "sum.relay:9:1"
  (%11: int32) = call @sum(%9, %8)
  jump 3(%11)
block 2:
  fail "no clause fits" where "sum.relay:10:1"
block 3(%12: int32):
  retain %3
  release %3
  return (%3, (%12, %5))
}
"""


def test_programs_with_control_flow_read_like_the_others():
    assert to_text(parse(SUM)) == SUM
    assert str(parse(SUM)) == SUM


@pytest.mark.parametrize(
    ("source", "before", "after", "message", "at"),
    [
        (TEXT, "relay program 1", "relay program 9", "another version", "9"),
        (TEXT, "alloc", "allocate", "did you mean `alloc`?", "allocate"),
        (TEXT, "(%0) -> (%1)", "(%0) -> (%7)", "nothing writes register `%7`", "%7"),
        (
            TEXT,
            "invoke @pack",
            "invoke @unknown",
            "the program has no kernel `unknown`",
            "@unknown",
        ),
        (TEXT, "%1: float32[8, 16]", "%2: float32[8, 16]", "nothing writes register `%1`", "%1"),
        (TEXT, "%3: float32[8, 16]", "%2: float32[8, 16]", "`%2` is written twice", "%2"),
        (TEXT, '"weight"\n', '"other"\n', "has no constant 'other'", '"other"'),
        (TEXT, "float32[16, 8]", "floaty[16, 8]", "no element type", "floaty[16, 8]"),
        (TEXT, "float32[16, 8]", "float32[16, -8]", "`-8` is no size", "float32[16, -8]"),
        (TEXT, "flops=256", "flops=99999999999999999999999", "too large", "9" * 23),
        (TEXT, "return (%1,)", "return (%1", "expected `,`", "}"),
        (TEXT, "@dense_relu(float32", "@pack(float32", "defined twice", "constant"),
        (TEXT, "return (%1,)", "", "expected an instruction", "}"),
        (TEXT, "kernel @pack", "kernel ~pack", "no part of a program", "~"),
        (SUM, "add %0", "plus %0", "expected a number or an operation", "plus"),
        (SUM, "add %0", "ad %0", "did you mean", "ad"),
        (SUM, "{ Cons: 1,", "{ Cons: 7,", "the function has no block 7", "7"),
        (SUM, "block 2:", "block 5:", "expected block 2, the next one", "5"),
        (SUM, "tail call @sum", "tail call @sun", "the program has no function `sun`", "@sun"),
        (SUM, "%3: List[int32]", "%3: L[int32]", "has no data type `L[int32]`", "L[int32]"),
        (SUM, "%3: List[int32]", "%3: List[List[int32]", "this bracket is not closed", "["),
        (SUM, 'fail "no clause fits"', 'fail "\\q"', "an escape that is none", '"\\q"'),
        (SUM, "-> int32 where", "-> 32 where", "expected a type", "32"),
        (SUM, "size %0[0]", "size %0[-1]", "expected a number from 0 on", "-1"),
        (SUM, "Nil: 2 }", "else: 2, Nil: 2 }", "nothing comes after `else`", "Nil"),
        (SUM, "%2: int32 =", "%99999999999: int32 =", "is too large", "%99999999999"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(source, before, after, message, at):
    assert before in source
    changed = source.replace(before, after, 1)
    with pytest.raises(ParseError) as error:
        parse(changed)
    assert message in str(error.value)
    span = error.value.diagnostics[0].span
    assert changed.splitlines()[span.line - 1][span.column - 1 : span.end_column - 1] == at


@given(
    st.integers(0, len(SUM)), st.integers(0, 40), st.text('%@(){}[]:=.,;? 019aNil"\\', max_size=4)
)
def test_a_text_that_is_changed_anywhere_is_read_or_refused(begin, length, put):
    with suppress(ParseError):
        parse(SUM[:begin] + put + SUM[begin + length :])
