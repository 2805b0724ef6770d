"""Programs as text: what is written is read back the same."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.errors import ParseError
from relay.lower.kernel import Kernel, TensorSpec
from relay.program.program import (
    AllocTensor,
    Constant,
    Function,
    InvokeKernel,
    LoadConstant,
    Parameter,
    Program,
    Return,
    ViewTensor,
)
from relay.program.text import parse, to_text

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
            (
                LoadConstant(3, "packed_0"),
                AllocTensor(4),
                InvokeKernel("dense_relu", (0, 3), (4,)),
                ViewTensor(5, 4),
                Return((5, (1, ()), 2)),
            ),
        ),
    )
    assert program.constants[1] == Constant("packed_0", TensorSpec((8, 16), "float32"), 0)
    assert program.kernels[1].in_place == ((0, 0), (0, 1))


names = st.text(max_size=6)
specs = st.builds(
    TensorSpec,
    st.lists(st.integers(0, 2**40) | st.sampled_from(["n", "m"]), max_size=4).map(tuple),
    st.sampled_from(["float32", "bfloat16", "bool", "float8_e4m3fn", "int4"]),
)
kernels = st.builds(
    Kernel,
    name=st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{0,10}", fullmatch=True),
    inputs=st.lists(specs, max_size=3).map(tuple),
    outputs=st.lists(specs, max_size=3).map(tuple),
    ir=st.just("define …"),
    sizes=st.lists(names, max_size=2).map(tuple),
    workspace=st.integers(0, 2**40),
    worker_workspace=st.integers(0, 2**40),
    in_place=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3).map(tuple),
    checks=st.lists(names, max_size=2).map(tuple),
    operators=st.lists(names, max_size=2).map(tuple),
    flops=st.integers(0, 2**62),
    approximate=st.booleans(),
)


@given(
    st.lists(kernels, unique_by=lambda k: k.name, max_size=3),
    st.lists(
        st.builds(Constant, names, specs, st.none() | st.integers(0, 9)),
        unique_by=lambda c: c.name,
        max_size=3,
    ),
)
def test_everything_but_the_code_survives_the_text(made, constants):
    program = Program(tuple(made), tuple(constants), ())
    without_code = replace(program, kernels=tuple(replace(k, ir="") for k in made))
    assert parse(to_text(program)) == without_code


def test_values_nest_as_deep_as_they_like():
    value = 0
    for _ in range(20_000):
        value = (value,)
    function = Function(
        "f", (Parameter("x", value),), (TensorSpec((), "int8"),), ((Return(value),),)
    )
    text = to_text(Program((), (), (function,)))
    assert to_text(parse(text)) == text


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("relay program 1", "relay program 9", "another version"),
        ("alloc", "allocate", "expected `constant`"),
        ("(%0) -> (%1)", "(%0) -> (%7)", "a register that was written before"),
        ("invoke @pack", "invoke @unknown", "a kernel of the program"),
        ("invoke @pack(%0)", "invoke @pack(%1)", "not what `@pack` takes"),
        ("%1: float32[8, 16] = alloc", "%2: float32[8, 16] = alloc", "expected `%1`"),
        ('constant "weight"\n', 'constant "other"\n', "no such constant"),
        ("float32[16, 8]", "floaty[16, 8]", "no element type"),
        ("float32[16, 8]", "float32[16, -8]", "`-8` is no size"),
        ("flops=256", "flops=99999999999999999999999", "too large"),
        ("return (%1,)", "return (%1", "expected `,`"),
        ("@dense_relu(float32", "@pack(float32", "defined twice"),
        ("return (%1,)", "", "the next register"),
        ("kernel @pack", "kernel ?pack", "no part of a program"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(before, after, message):
    assert before in TEXT
    with pytest.raises(ParseError) as error:
        parse(TEXT.replace(before, after, 1))
    assert message in str(error.value)
    assert "--> program:" in str(error.value)
