"""Scalar expressions and loops as people read them."""

from __future__ import annotations

from collections import Counter
from typing import assert_never

from relay import tree
from relay.te.expr import (
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Read,
    Reduce,
    Select,
    Unary,
    Var,
)
from relay.te.loops import (
    Allocate,
    Block,
    Buffer,
    For,
    If,
    Let,
    Prefetch,
    Statement,
    Store,
    While,
)

_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "mod": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}


# A longer part that is used again is written once, under a name: written out each time, x**31 by
# squaring would take gigabytes.
_LONG = 120


def expression_text(expr: Expr) -> str:
    """One line, fully bracketed; `… where t0 = …` names what is long and used several times."""
    parts = list(tree.postorder(expr))
    uses = Counter(id(child) for part in parts for child in tree.children(part))
    done: dict[int, str] = {}
    named: list[str] = []
    for part in parts:
        text = _one(part, [done[id(child)] for child in tree.children(part)])
        if len(text) > _LONG and uses[id(part)] > 1:
            name = f"t{len(named)}"
            named.append(f"{name} = {text}")
            text = name
        done[id(part)] = text
    return " where ".join([done[id(expr)], *([", ".join(named)] if named else [])])


def _one(expr: Expr, below: list[str]) -> str:
    match expr:
        case Var():
            return expr.name
        case Const():
            return (
                f"{expr.value}" if expr.dtype in ("int64", "bool") else f"{expr.value}:{expr.dtype}"
            )
        case Binary() | Compare():
            if expr.op in _SIGNS:
                return f"({below[0]} {_SIGNS[expr.op]} {below[1]})"
            return f"{expr.op}({below[0]}, {below[1]})"
        case Unary():
            return f"{ {'neg': '-', 'not': '~'}.get(expr.op, expr.op) }({below[0]})"
        case Select():
            return f"({below[1]} if {below[0]} else {below[2]})"
        case Cast():
            return f"{expr.dtype}({below[0]})"
        case Bitcast():
            return f"bits_{expr.dtype}({below[0]})"
        case Call():
            return f"{expr.function}({', '.join(below)})"
        case Read():
            return f"{expr.source.name}[{', '.join(below)}]"
        case Reduce():
            over = ", ".join(f"{axis.name} < {axis.extent!r}" for axis in expr.axes)
            values = ", ".join(below[len(expr.axes) :])
            return f"{expr.combiner.name}({values} for {over})"
    raise TypeError(f"{type(expr).__name__} is not a scalar expression")


def statement_text(statement: Statement) -> str:
    """Indented lines."""
    lines: list[str] = []
    pending: list[tuple[int, Statement | str]] = [(0, statement)]
    while pending:
        depth, current = pending.pop()
        space = "  " * depth
        match current:
            case str():
                lines.append(space + current)
            case Block():
                pending.extend((depth, step) for step in reversed(current.steps))
            case For():
                lines.append(
                    f"{space}{current.kind.value} {current.var.name} in {current.extent!r}:"
                )
                pending.append((depth + 1, current.body))
            case While():
                lines.append(f"{space}while {current.condition!r}:")
                pending.append((depth + 1, current.body))
            case If():
                lines.append(f"{space}if {current.condition!r}:")
                if current.otherwise is not None:
                    pending.append((depth + 1, current.otherwise))
                    pending.append((depth, "else:"))
                pending.append((depth + 1, current.then))
            case Let():
                lines.append(f"{space}{current.var.name} = {current.value!r}")
                pending.append((depth, current.body))
            case Allocate():
                lines.append(f"{space}{current.buffer.scope.value} {current.buffer!r}")
                pending.append((depth, current.body))
            case Store():
                lines.append(
                    f"{space}{_element(current.buffer, current.indices)} = {current.value!r}"
                )
            case Prefetch():
                lines.append(f"{space}prefetch {_element(current.buffer, current.indices)}")
            case Statement():
                raise TypeError(f"{type(current).__name__} is not a statement")
            case _:
                assert_never(current)
    return "\n".join(lines)


def _element(buffer: Buffer, indices: tuple[Expr, ...]) -> str:
    return f"{buffer.name}[{', '.join(map(repr, indices))}]"
