"""Rewrite rules written as expressions: a left side and its replacement.

    x = Hole("x")
    c = Hole("c", where=lambda e: isinstance(e, relay.Constant))
    RULES = (
        Rule("relu twice is relu once", nn.relu(nn.relu(x)), nn.relu(x)),
        Rule("constants to the right", add(c, x), add(x, c)),
    )
    apply_rules(function, RULES)

Both sides are ordinary Relay expressions with holes; the left one becomes a pattern. A hole, or any
other part, that occurs twice on the left matches one expression, and may be used on the right.
Where a template is not enough, the right side is a function of the match.

How a call on the left was built says which attributes have to match:

    nn.softmax(x, axis=1)                all of them, given or by default: `None` means None
    loosely("nn.softmax", x, axis=1)     those that are named
    Call(get_op("nn.softmax"), [x])      none
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

from relay import tree
from relay.dataflow_pattern import patterns as p
from relay.dataflow_pattern.matcher import Bindings
from relay.dataflow_pattern.patterns import DFPattern
from relay.dataflow_pattern.rewriter import DFPatternCallback, NodeMap, Rewriter
from relay.errors import RelayError
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.attrs import Attrs, DictAttrs
from relay.ir.module import IRModule
from relay.op.opdef import OpDef
from relay.tree import node


@node
class Hole(ir.TempExpr):
    """Any expression, or any for which `where(expression)` holds."""

    name: str
    where: Callable[[ir.Expr], bool] | None = None

    def realize(self) -> ir.Expr:
        raise RelayError(f"hole `{self.name}` belongs to a rule, not to a program")


def loosely(op: str | ir.Op, *args: ir.Expr, **attrs: Any) -> ir.Call:
    """A call of `op` for the left side of a rule in which only these attributes have to match."""
    return ir.Call(ir.get_op(op) if isinstance(op, str) else op, args, DictAttrs(attrs))


class RuleMatch:
    """A match of the left side of a rule: `match["x"]` for a hole or `match[part]`."""

    def __init__(
        self, patterns: Mapping[Any, DFPattern], post: ir.Expr, node_map: NodeMap, found: Bindings
    ) -> None:
        self._patterns = patterns
        self._node_map = node_map
        self._found = found
        self.post = post

    def __getitem__(self, part: str | ir.Expr) -> ir.Expr:
        """What the part is bound to, in the new program."""
        return self._node_map[self._pattern(part)][0]

    def __contains__(self, part: str | ir.Expr) -> bool:
        """Whether the part is bound: `a * b` is not where `(a * b) / c` matched `a * (b / c)`."""
        return self._patterns.get(part) in self._node_map

    def original(self, part: str | ir.Expr) -> ir.Expr:
        """What the part is bound to in the old program, where it is typed."""
        pattern = self._pattern(part)
        return next(expr for step, expr in self._found if step.pattern is pattern)

    def _pattern(self, part: str | ir.Expr) -> DFPattern:
        if part not in self:
            raise RelayError(f"{part!r} stands for nothing on the left side of the rule")
        return self._patterns[part]


After = ir.Expr | Callable[[RuleMatch], ir.Expr | None]


@frozen
class Rule:
    """`before` becomes `after`, which may be a function that returns None to leave it as it is.

    `require_type` types the program first; `keep_shared` applies the rule also where a part of the
    left side is used elsewhere too.
    """

    name: str
    before: ir.Expr
    after: After
    require_type: bool = field(default=False, kw_only=True)
    keep_shared: bool = field(default=False, kw_only=True)
    # the parts of `before`, and the names of its holes, with their patterns
    patterns: Mapping[Any, DFPattern] = field(init=False, repr=False, compare=False)
    # the parts of `before` that a template on the right side uses
    used: tuple[ir.Expr, ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        before = ir.as_expr(self.before)
        if isinstance(before, Hole):
            raise RelayError(f"rule `{self.name}`: the left side must not be a bare hole")
        patterns = _patterns_of(self.name, before)
        object.__setattr__(self, "patterns", patterns)
        if not callable(self.after) or isinstance(self.after, ir.Expr):
            after = _completed(self.name, self.after, patterns)
            used = tree.postorder(after, enter=lambda part: part not in patterns)
            object.__setattr__(self, "after", after)
            object.__setattr__(
                self, "used", tuple(e for e in used if e in patterns and not ir.is_atom(e))
            )

    @property
    def pattern(self) -> DFPattern:
        """The left side as a pattern."""
        return self.patterns[self.before]

    def apply(self, match: RuleMatch) -> ir.Expr | None:
        """The right side for this match."""
        if not isinstance(self.after, ir.Expr):
            return self.after(match)
        if any(part not in match for part in self.used):
            return None
        found = {part: match[part] for part in self.used}
        return tree.transform(self.after, lambda _, after: after, found)


def apply_rules(
    expr: ir.Expr, rules: Iterable[Rule], rounds: int = 8, module: IRModule | None = None
) -> ir.Expr:
    """`expr` with the rules applied, in at most `rounds` rounds.

    The first rule that matches has precedence. `expr` itself is returned when none does.
    """
    return Rewriter([_RuleCallback(rule) for rule in rules], module).run(ir.as_expr(expr), rounds)


class _RuleCallback(DFPatternCallback):
    """A rule as a callback."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(require_type=rule.require_type, keep_shared=rule.keep_shared)
        self.rule = rule
        self.pattern = rule.pattern

    def on_match(self, pre: ir.Expr, post: ir.Expr, node_map: NodeMap, found: Bindings) -> ir.Expr:
        result = self.rule.apply(RuleMatch(self.rule.patterns, post, node_map, found))
        return post if result is None else result


# --- from expressions to patterns --------------------------------------------------------------


def _patterns_of(rule: str, before: ir.Expr) -> dict[Any, DFPattern]:
    """A pattern for every part of `before`; holes also by name."""
    found: dict[Any, DFPattern] = {}
    for part in tree.postorder(before):
        found[part] = _pattern_of(rule, part, found)
        if isinstance(part, Hole):
            if part.name in found:
                raise RelayError(
                    f"rule `{rule}`: two holes are called `{part.name}`; "
                    "use one Hole object for what is the same, two names for what is not"
                )
            found[part.name] = found[part]
    return found


def _pattern_of(rule: str, part: ir.Syntax, found: Mapping[Any, DFPattern]) -> DFPattern:
    match part:
        case Hole(where=None):
            return p.wildcard()
        case Hole(where=condition) if condition is not None:
            return p.wildcard().where(condition)
        case ir.Call(op=op, args=args, attrs=attrs):
            call = p.CallPattern(found[op], tuple(found[a] for a in args))
            wanted = dict(attrs.items()) if isinstance(attrs, Attrs | DictAttrs) else {}
            return call.has_attr(wanted) if wanted else call
        case ir.Tuple(fields=fields):
            return p.is_tuple(found[f] for f in fields)
        case ir.TupleGetItem(tuple_value=value, index=index):
            return p.is_tuple_get_item(found[value], index)
        case ir.If(cond=cond, true_branch=true_branch, false_branch=false_branch):
            return p.is_if(found[cond], found[true_branch], found[false_branch])
        case ir.Expr() if ir.is_atom(part):
            return p.is_expr(part)
    raise RelayError(f"rule `{rule}`: the left side must not contain a {type(part).__name__}")


def _completed(rule: str, after: Any, patterns: Mapping[Any, DFPattern]) -> ir.Expr:
    """The right side, with the defaults of attributes filled in."""

    def visit(_: ir.Syntax, part: ir.Syntax) -> ir.Syntax:
        if isinstance(part, Hole):
            raise RelayError(f"rule `{rule}`: hole `{part.name}` is not on the left side")
        if isinstance(part, ir.Call) and isinstance(part.op, OpDef):
            given = part.attrs
            if part.op.attrs is not None and not isinstance(given, Attrs):
                return tree.replace(part, attrs=part.op.make_attrs(dict(given or {})))
        return part

    kept = {part: part for part in patterns if isinstance(part, ir.Expr)}
    return tree.transform(ir.as_expr(after), visit, kept)
