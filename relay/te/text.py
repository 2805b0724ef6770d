"""Printing of scalar expressions and loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import assert_never

from relay import tree
from relay.te import expr as te
from relay.te import loops

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


# Longer shared subexpressions are printed once, under a name: x**31 by squaring would otherwise
# take gigabytes.
_LONG = 120


def expression_text(expr: te.Expr, names: Mapping[te.Var, str] | None = None) -> str:
    """One line, fully parenthesized; long shared subexpressions are named in `… where t0 = …`.

    `names` overrides the names of variables.
    """
    parts = list(tree.postorder(expr))
    uses = Counter(id(child) for part in parts for child in tree.children(part))
    done: dict[int, str] = {}
    named: list[str] = []
    for part in parts:
        text = _one(part, [done[id(child)] for child in tree.children(part)], names or {})
        if len(text) > _LONG and uses[id(part)] > 1:
            name = f"t{len(named)}"
            named.append(f"{name} = {text}")
            text = name
        done[id(part)] = text
    return " where ".join([done[id(expr)], *([", ".join(named)] if named else [])])


def _one(expr: te.Expr, below: list[str], names: Mapping[te.Var, str]) -> str:
    match expr:
        case te.Var():
            return names.get(expr, expr.name)
        case te.Const():
            return (
                f"{expr.value}" if expr.dtype in ("int64", "bool") else f"{expr.value}:{expr.dtype}"
            )
        case te.Binary() | te.Compare():
            if expr.op in _SIGNS:
                return f"({below[0]} {_SIGNS[expr.op]} {below[1]})"
            return f"{expr.op}({below[0]}, {below[1]})"
        case te.Unary():
            return f"{ {'neg': '-', 'not': '~'}.get(expr.op, expr.op) }({below[0]})"
        case te.Select():
            return f"({below[1]} if {below[0]} else {below[2]})"
        case te.Cast():
            return f"{expr.dtype}({below[0]})"
        case te.Bitcast():
            return f"bits_{expr.dtype}({below[0]})"
        case te.Call():
            return f"{expr.function}({', '.join(below)})"
        case te.Read():
            return f"{expr.source.name}[{', '.join(below)}]"
        case te.Reduce():
            over = ", ".join(f"{axis.name} < {axis.extent!r}" for axis in expr.axes)
            values = ", ".join(below[len(expr.axes) :])
            return f"{expr.combiner.name}({values} for {over})"
    raise TypeError(f"{type(expr).__name__} is not a scalar expression")


def statement_text(statement: loops.Statement) -> str:
    """Indented lines; nested loops of the same name are numbered: i, i1, i2 …"""
    writer = _Writer()
    writer.write(statement)
    return "\n".join(writer.lines)


class _Writer:
    """The lines so far, and the names of variables in scope."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[te.Var, str] = {}
        self.taken: set[str] = set()

    def write(self, statement: loops.Statement) -> None:
        """The stack holds statements, lines, and variables whose scope ends."""
        pending: list[tuple[int, loops.Statement | te.Var | str]] = [(0, statement)]
        while pending:
            depth, current = pending.pop()
            space = "  " * depth
            match current:
                case str():
                    self.lines.append(space + current)
                case te.Var():
                    self.taken.discard(self.names.pop(current, ""))
                case loops.Block():
                    pending.extend((depth, step) for step in reversed(current.steps))
                case loops.For():
                    extent = self.text(current.extent)
                    name = self.bind(current.var)
                    self.lines.append(f"{space}{current.kind.value} {name} in {extent}:")
                    pending += [(depth, current.var), (depth + 1, current.body)]
                case loops.While():
                    self.lines.append(f"{space}while {self.text(current.condition)}:")
                    pending.append((depth + 1, current.body))
                case loops.If():
                    self.lines.append(f"{space}if {self.text(current.condition)}:")
                    if current.otherwise is not None:
                        pending.append((depth + 1, current.otherwise))
                        pending.append((depth, "else:"))
                    pending.append((depth + 1, current.then))
                case loops.Let():
                    value = self.text(current.value)
                    self.lines.append(f"{space}{self.bind(current.var)} = {value}")
                    pending += [(depth, current.var), (depth, current.body)]
                case loops.Allocate():
                    self.lines.append(f"{space}{current.buffer.scope.value} {current.buffer!r}")
                    pending.append((depth, current.body))
                case loops.Store():
                    element = self.element(current.buffer, current.indices)
                    self.lines.append(f"{space}{element} = {self.text(current.value)}")
                case loops.Prefetch():
                    element = self.element(current.buffer, current.indices)
                    self.lines.append(f"{space}prefetch {element}")
                case loops.Fail():
                    found = f"{self.text(current.index)} of {self.text(current.extent)}"
                    self.lines.append(f"{space}fail: {current.what}, {found}")
                case loops.Statement():
                    raise TypeError(f"{type(current).__name__} is not a statement")
                case _:
                    assert_never(current)

    def bind(self, var: te.Var) -> str:
        name, number = var.name, 0
        while name in self.taken:
            number += 1
            name = f"{var.name}{number}"
        self.taken.add(name)
        self.names[var] = name
        return name

    def text(self, expr: te.Expr) -> str:
        return expression_text(expr, self.names)

    def element(self, buffer: loops.Buffer, indices: tuple[te.Expr, ...]) -> str:
        return f"{buffer.name}[{', '.join(map(self.text, indices))}]"
