"""Programs nobody wrote, as native code: against Python, and nothing is left behind."""

import ctypes

import pytest

from relay.native import layout
from relay.program.program import (
    Block,
    Branch,
    CallFunction,
    Function,
    GetField,
    Jump,
    Literal,
    MakeData,
    Parameter,
    Program,
    Return,
    ScalarSpec,
    Switch,
)
from relay.program.text import to_text
from tests.program.test_ownership import LIST, PAIR, TYPES, any_function
from tests.target.llvm.program.machine import Machine

NIL = 3  # the second constructor, without fields

DROP = Function(
    "drop",
    (Parameter("x", 0),),
    (LIST, ScalarSpec("int64")),
    (Block((Literal(1, 0), Return(1))),),
    ScalarSpec("int64"),
)
KEEP = Function(
    "keep",
    (Parameter("x", 0),),
    (LIST, LIST),
    (Block((MakeData(1, "Cons", (0, 0)), Return(1))),),
    LIST,
)


def copy(name, first, second):
    """Data anew, its fields copied in that order: the second by a loop."""
    return Function(
        name,
        (Parameter("x", 0),),
        (LIST,) * 7,
        (
            Block((Switch(0, (("Cons", 1),), 2),)),
            Block(
                (
                    GetField(1, 0, "Cons", 0),
                    GetField(2, 0, "Cons", 1),
                    CallFunction((3 + first,), name, (1 + first,)),
                    CallFunction((3 + second,), name, (1 + second,)),
                    MakeData(5, "Cons", (3, 4)),
                    Return(5),
                )
            ),
            Block((MakeData(6, "Nil", ()), Return(6))),
        ),
        LIST,
    )


def in_python(function, condition, one, two):
    """What a function gives: lists are pairs, or None."""
    values = {0: condition, 1: one, 2: two}
    number, args = 0, []
    while True:
        block = function.blocks[number]
        values.update(zip(block.params, args, strict=True))
        args = []
        for step in block:
            match step:
                case MakeData():
                    values[step.output] = tuple(values[r] for r in step.fields) or None
                case CallFunction():
                    values[step.outputs[0]] = tuple(values[r] for r in step.args)
                case GetField():
                    values[step.output] = values[step.data][step.index]
                case Branch():
                    number = step.true if values[step.condition] else step.false
                case Switch():
                    full = values[step.data] is not None
                    number = step.cases[0][1] if full else step.otherwise
                case Jump():
                    number, args = step.block, [values[r] for r in step.args]
                case Return():
                    return values[step.value]
                case _:
                    return tuple(values[r] for r in step.args)


def read(word):
    """A list out of memory; it is as deep as the few steps that made it."""
    if word == NIL:
        return None
    fields = (ctypes.c_int64 * 2).from_address(word + layout.DATA_WORDS)
    return tuple(map(read, fields))


def run_some(seeds):
    functions = [any_function(f"f{seed}", seed, "pair") for seed in seeds]
    copies = (copy("copy", 0, 1), copy("copied", 1, 0))
    program = Program((), (), (*functions, *copies, PAIR, DROP, KEEP), TYPES)
    machine = Machine(to_text(program).removeprefix("relay program 1"))
    for function in functions:
        for condition in (True, False):
            one = machine.run("pair", NIL, NIL).value
            two = machine.run("keep", one).value if condition else NIL
            expected = in_python(function, condition, (None, None), None)
            if condition:
                # both arguments are, or are in, one object that others hold as well
                shared = read(two)[0]
                held = ctypes.c_int64.from_address(two + layout.DATA_WORDS).value
                ctypes.c_int64.from_address(held).value += 1
                one, expected = held, in_python(function, condition, shared, read(two))
            outcome = machine.run(function.name, int(condition), one, two)
            assert read(outcome.value) == expected, function.name
            copied = machine.run("copied", machine.run("copy", outcome.value).value)
            assert read(copied.value) == expected, function.name
            assert machine.run("drop", copied.value).live == 0, function.name


def test_any_program():
    run_some(range(60))


@pytest.mark.full
@pytest.mark.parametrize("start", range(100, 2100, 100))
def test_many_programs(start):
    run_some(range(start, start + 100))
