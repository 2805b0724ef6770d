"""Loops in outline: where stages end up, without what they compute.

    for 64
      for 6
        vector 16: relu
      vector 16, some lanes: relu

Statements that repeat, as unrolled loops do, are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import dedent

from relay import te
from relay.ir.expr import Function
from relay.lower.to_compute import Computed, to_compute
from relay.parser import parse
from relay.target.llvm.schedules.choose import choose
from relay.target.target import Target
from relay.te.loops import Allocate, Block, For, If, Kind, Let, Statement, Store
from relay.te.lower import lower
from relay.te.schedule import Schedule
from relay.te.tidy import tidy

AVX512 = Target.x86("avx512")

_WORDS = {
    Kind.SERIAL: "for",
    Kind.PARALLEL: "parallel",
    Kind.ALTERNATING: "alternating",
    Kind.VECTOR: "vector",
}


def function(source: str) -> Function:
    """A typed function from its parameters and its body."""
    return parse(f'#[version = "0.0.5"]\ndef @main{source}')["main"]


def computed(source: str) -> Computed:
    """The tensors of a function in Relay."""
    return to_compute(function(source))


def text(source: str, *constant: int, threads: bool = False, target: Target = AVX512) -> list[str]:
    """The outlines for a function, of whose parameters some never change."""
    found = computed(source)
    known = [found.inputs[i] for i in constant]
    return outlines(found.outputs, found.inputs, known, threads=threads, target=target)


def unindented(lines: str) -> str:
    """An outline as tests write it."""
    return dedent(lines).strip()


def outline(schedule: Schedule) -> str:
    """The loops of a schedule, tidied."""
    return "\n".join(_lines(tidy(lower(schedule).body)))


def outlines(
    outputs: Sequence[te.Tensor],
    inputs: Sequence[te.Tensor],
    constants: Sequence[te.Tensor] = (),
    *,
    threads: bool = False,
    target: Target = AVX512,
) -> list[str]:
    """What is chosen for tensors: the outlines of what is prepared, and of the kernel itself, by
    direct sums."""
    chosen = choose(outputs, inputs, target, constants, threads=threads, exact=True)
    return [outline(one) for one in (*chosen.prepare, chosen.main)]


def _lines(statement: Statement) -> list[str]:
    match statement:
        case Block():
            return _counted([_lines(step) for step in statement.steps])
        case For():
            head = f"{_WORDS[statement.kind]} {statement.extent!r}"
            if statement.kind is Kind.VECTOR:
                return [f"{head}{_lane_text(statement.body)}"]
            return [head, *("  " + line for line in _lines(statement.body))]
        case If():
            otherwise = (
                [] if statement.otherwise is None else ["else", *_indented(statement.otherwise)]
            )
            return ["if", *_indented(statement.then), *otherwise]
        case Let():
            return _lines(statement.body)
        case Allocate():
            made = statement.buffer
            shape = ", ".join(map(repr, made.shape))
            return [f"{made.scope.value} {made.name}[{shape}]", *_lines(statement.body)]
        case Store():
            return [statement.buffer.name]
    raise TypeError(type(statement).__name__)


def _indented(statement: Statement) -> list[str]:
    return ["  " + line for line in _lines(statement)]


def _lane_text(body: Statement) -> str:
    some = ""
    while isinstance(body, If | Let):
        if isinstance(body, If):
            some = ", some lanes"
            body = body.then
        else:
            body = body.body
    return f"{some}: {', '.join(_lines(body))}"


def _counted(parts: list[list[str]]) -> list[str]:
    """The lines of all parts; equal ones after each other once, with how many they are."""
    lines: list[str] = []
    position = 0
    while position < len(parts):
        end = position
        while end < len(parts) and parts[end] == parts[position]:
            end += 1
        first, *rest = parts[position]
        count = end - position
        lines += [f"{first}  x{count}" if count > 1 else first, *rest]
        position = end
    return lines
