"""Patterns as one line of text, for error messages and `repr`.

nn.relu((nn.conv2d(*, const) | nn.bias_add(nn.conv2d(*, const), *)))
"""

from __future__ import annotations

from relay.dataflow_pattern import patterns as p
from relay.ir.expr import Expr, GlobalVar, Op

# Patterns are graphs, and may be cyclic: what is nested deeper than this is not written out.
DEPTH = 8


def pattern_text(pattern: p.DFPattern, depth: int = DEPTH) -> str:
    """`pattern` in the notation of the program text: `*` is anything, `…` is left out."""
    if depth == 0:
        return "…"

    def text(part: p.DFPattern) -> str:
        return pattern_text(part, depth - 1)

    def listed(parts: tuple[p.DFPattern, ...] | None) -> str:
        return ".." if parts is None else ", ".join(map(text, parts))

    match pattern:
        case p.WildcardPattern():
            return "*" if pattern.pattern is None else text(pattern.pattern)
        case p.ExprPattern():
            return _expr_text(pattern.expr)
        case p.VarPattern():
            return f"%{pattern.name_hint or '*'}"
        case p.ConstantPattern():
            return "const"
        case p.CallPattern():
            return f"{text(pattern.op)}({listed(pattern.args)})"
        case p.FunctionPattern():
            return f"fn ({listed(pattern.params)}) {{ {text(pattern.body)} }}"
        case p.IfPattern():
            branches = f"{{ {text(pattern.true_branch)} }} else {{ {text(pattern.false_branch)} }}"
            return f"if ({text(pattern.cond)}) {branches}"
        case p.LetPattern():
            return f"let {text(pattern.var)} = {text(pattern.value)}; {text(pattern.body)}"
        case p.TuplePattern():
            return f"({listed(pattern.fields)},)"
        case p.TupleGetItemPattern():
            return f"{text(pattern.tuple)}.{'*' if pattern.index is None else pattern.index}"
        case p.AltPattern():
            return f"({text(pattern.left)} | {text(pattern.right)})"
        case p.DominatorPattern():
            parts = (pattern.parent, pattern.path, pattern.child)
            return f"dominates({', '.join(map(text, parts))})"
        case p.AttrPattern():
            attrs = ", ".join(f"{name}={value!r}" for name, value in pattern.attrs.items())
            return f"{text(pattern.pattern)}[{attrs}]"
        case (
            p.TypePattern(pattern=inner, type=wanted)
            | p.DataTypePattern(pattern=inner, dtype=wanted)
            | p.ShapePattern(pattern=inner, shape=wanted)
        ):
            return f"({text(inner)}: {wanted})"
        case p.PredicatePattern():
            name = getattr(pattern.predicate, "__name__", repr(pattern.predicate))
            return f"({text(pattern.pattern)} where {name})"
    return type(pattern).__name__


def _expr_text(expr: Expr) -> str:
    match expr:
        case Op():
            return expr.name
        case GlobalVar():
            return f"@{expr.name_hint}"
    return f"<{type(expr).__name__}>"
