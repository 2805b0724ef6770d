"""Compiles a pattern to the steps that match it.

Which operators can be at the root, which parts are shared, which parts have alternatives: none of
this depends on the program, so it is computed once per pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relay import tree
from relay.dataflow_pattern import patterns as p
from relay.dataflow_pattern.dominator import DominatorStep
from relay.dataflow_pattern.equality import same_expression
from relay.dataflow_pattern.patterns import DFPattern, operator_of
from relay.dataflow_pattern.sharing import analyze
from relay.dataflow_pattern.steps import (
    COMMUTATIVE,
    AlternativeStep,
    CallStep,
    ConditionStep,
    Heads,
    Leaf,
    Step,
    Structure,
    Swapped,
    is_operator,
)
from relay.errors import RelayError
from relay.immutable import frozen
from relay.ir.attrs import Attrs, DictAttrs
from relay.ir.expr import Call, Constant, Expr, Function, If, Let, Op, Tuple, TupleGetItem, Var
from relay.ir.types import TensorType


@frozen
class Prepared:
    """A pattern ready to be matched."""

    pattern: DFPattern
    root: Step
    order: tuple[DFPattern, ...]  # all patterns in post-order
    dominators: tuple[DominatorStep, ...]  # inner ones first
    enclosed: frozenset[DFPattern]  # everything inside function patterns
    # all wildcards and what they were redirected to
    wildcards: tuple[tuple[p.WildcardPattern, DFPattern | None], ...]

    def is_current(self) -> bool:
        """Whether no wildcard was redirected since."""
        return all(wildcard.pattern is target for wildcard, target in self.wildcards)


def prepare(pattern: DFPattern) -> Prepared:
    """The steps for `pattern`, made once and remembered."""
    known = pattern.prepared
    if not isinstance(known, Prepared) or not known.is_current():
        known = _prepare(pattern)
        object.__setattr__(pattern, "prepared", known)
    return known


def _prepare(pattern: DFPattern) -> Prepared:
    steps: dict[DFPattern, Step] = {}
    pending = [pattern]
    while pending:
        for current in tree.postorder(pending.pop(), lambda q: q not in steps and not _target(q)):
            if current not in steps:
                steps[current] = _step(current, steps)
                if (target := _target(current)) is not None:
                    pending.append(target)
    for current, step in steps.items():
        # set last: a redirected wildcard may be part of its target
        if isinstance(step, ConditionStep):
            step.inner = steps[current.pattern]  # type: ignore[attr-defined]
    root = steps[pattern]
    order = tuple(tree.postorder(pattern))
    analyze([steps[current] for current in order])
    dominators = tuple(d for q in order if isinstance(d := steps[q], DominatorStep))
    wildcards = tuple((q, q.pattern) for q in order if isinstance(q, p.WildcardPattern))
    return Prepared(pattern, root, order, dominators, _enclosed(order), wildcards)


def _enclosed(order: Sequence[DFPattern]) -> frozenset[DFPattern]:
    found: set[DFPattern] = set()
    for function in order:
        if isinstance(function, p.FunctionPattern):
            for part in tree.children(function):
                found.update(tree.postorder(part, lambda q: q not in found))
    return frozenset(found)


def _target(pattern: DFPattern) -> DFPattern | None:
    return pattern.pattern if isinstance(pattern, p.WildcardPattern) else None


# --- one pattern, one step ---------------------------------------------------------------------


def _step(pattern: DFPattern, steps: dict[DFPattern, Step]) -> Step:
    def below(parts: Sequence[DFPattern]) -> list[Step]:
        return [steps[part] for part in parts]

    match pattern:
        case p.WildcardPattern(pattern=None):
            return Leaf(pattern, None, None)
        case p.WildcardPattern(pattern=DFPattern() as target):
            return ConditionStep(pattern, _heads_of(target, steps), None)
        case p.ExprPattern():
            return _expr_leaf(pattern)
        case p.VarPattern(name_hint=name):
            return Leaf(
                pattern,
                frozenset((Var,)),
                lambda e: isinstance(e, Var) and (not name or e.name_hint == name),
            )
        case p.ConstantPattern():
            return Leaf(pattern, frozenset((Constant,)), lambda e: isinstance(e, Constant))
        case p.CallPattern():
            return _call(pattern, steps)
        case p.FunctionPattern(params=None):
            return Structure(pattern, Function, below([pattern.body]), lambda f: (f.body,))
        case p.FunctionPattern(params=tuple() as params):
            parts = below([*params, pattern.body])
            return Structure(pattern, Function, parts, lambda f: (*f.params, f.body))
        case p.IfPattern():
            parts = below([pattern.cond, pattern.true_branch, pattern.false_branch])
            return Structure(pattern, If, parts, lambda e: (e.cond, e.true_branch, e.false_branch))
        case p.LetPattern():
            parts = below([pattern.var, pattern.value, pattern.body])
            return Structure(pattern, Let, parts, lambda e: (e.variable, e.value, e.body))
        case p.TuplePattern(fields=None):
            return Structure(pattern, Tuple, (), lambda _: ())
        case p.TuplePattern(fields=tuple() as fields):
            return Structure(pattern, Tuple, below(fields), lambda e: e.fields)
        case p.TupleGetItemPattern():
            return Structure(
                pattern, TupleGetItem, below([pattern.tuple]), _projection(pattern.index)
            )
        case p.AltPattern():
            left, right = below([pattern.left, pattern.right])
            return AlternativeStep(pattern, _union(left.heads, right.heads), left, right)
        case p.DominatorPattern():
            return DominatorStep(pattern, *below([pattern.parent, pattern.path, pattern.child]))
        case p.PredicatePattern():
            step = ConditionStep(pattern, _heads_of(pattern.pattern, steps), None)
            step.final = pattern.predicate
            return step
        case p.AttrPattern() | p.TypePattern() | p.DataTypePattern() | p.ShapePattern():
            return ConditionStep(pattern, _heads_of(pattern.pattern, steps), _condition(pattern))
    raise RelayError(f"{type(pattern).__name__} is not a pattern that can be matched")


def _heads_of(pattern: DFPattern, steps: dict[DFPattern, Step]) -> Heads:
    # on a cycle the part may come later; then nothing is known about it yet
    return steps[pattern].heads if pattern in steps else None


def _union(left: Heads, right: Heads) -> Heads:
    return None if left is None or right is None else left | right


def _projection(index: int | None) -> Callable[[TupleGetItem], Sequence[Expr] | None]:
    return lambda e: (e.tuple_value,) if index is None or e.index == index else None


def _expr_leaf(pattern: p.ExprPattern) -> Leaf:
    expr = pattern.expr
    if isinstance(expr, Op):
        name = expr.name
        return Leaf(pattern, None, lambda e: e is expr or is_operator(e, name))
    if isinstance(expr, Var):
        return Leaf(pattern, frozenset((Var,)), lambda e: e is expr)
    if isinstance(expr, Call) and isinstance(expr.op, Op):
        return Leaf(pattern, frozenset((expr.op.name,)), lambda e: same_expression(expr, e))
    return Leaf(pattern, frozenset((type(expr),)), lambda e: same_expression(expr, e))


# --- conditions --------------------------------------------------------------------------------


def _condition(pattern: DFPattern) -> Callable[[Any, Expr], bool]:
    match pattern:
        case p.AttrPattern(attrs=attrs):
            return lambda _, expr: _has_attrs(expr, attrs)
        case p.TypePattern(type=ty):
            return lambda matcher, expr: matcher.type_of(expr) == ty
        case p.DataTypePattern(dtype=dtype):
            return lambda matcher, expr: (
                isinstance(found := matcher.type_of(expr), TensorType) and found.dtype == dtype
            )
        case p.ShapePattern(shape=shape):
            return lambda matcher, expr: (
                isinstance(found := matcher.type_of(expr), TensorType) and found.shape == shape
            )
    raise RelayError(f"{type(pattern).__name__} is not a condition")


def _has_attrs(expr: Expr, wanted: DictAttrs) -> bool:
    match expr:
        case Op():
            known: Callable[[str], Any] = getattr(expr, "get_attr", lambda _: None)
            return all(known(k) is not None and known(k) == v for k, v in wanted.items())
        case Call(attrs=attrs) | Function(attrs=attrs):
            found: Attrs | DictAttrs = DictAttrs() if attrs is None else attrs
            return all(k in found and found[k] == v for k, v in wanted.items())
    return False


# --- calls -------------------------------------------------------------------------------------


def _call(pattern: p.CallPattern, steps: dict[DFPattern, Step]) -> CallStep:
    args = None if pattern.args is None else [steps[arg] for arg in pattern.args]
    operator = operator_of(pattern.op)
    names = _operator_names(pattern.op)
    heads: Heads = frozenset((Call,)) if names is None else names
    made = CallStep(pattern, heads, steps[pattern.op], args, operator)
    if args is not None and len(args) == 2:
        if names is not None and not names.isdisjoint(COMMUTATIVE) and args[0] is not args[1]:
            made.swapped = Swapped(args)
        if operator is not None:
            made.rotate(_rotations(made, operator.name))
    return made


def _operator_names(pattern: DFPattern) -> frozenset[str] | None:
    """The names of the operators that match `pattern`; None when it may be any."""
    names: set[str] = set()
    passed = (p.AltPattern, p.AttrPattern, p.PredicatePattern)
    for part in tree.postorder(pattern, lambda q: isinstance(q, passed)):
        if (operator := operator_of(part)) is not None:
            names.add(operator.name)
        elif not isinstance(part, passed):
            return None
    return frozenset(names)


def _rotations(call: CallStep, name: str) -> tuple[tuple[str, str, Step], ...]:
    """`(a * b) / c` as `a * (b / c)` and `b * (a / c)`;  `a * (b / c)` as `(b * a) / c`."""
    first, second = call.steps or ()
    found: list[tuple[str, str, Step]] = []
    if name == "divide" and (product := _call_of(first, "multiply")):
        multiply, (a, b) = product
        for factor, divided in ((b, a), (a, b)):
            quotient = _synthetic(call.callee, divided, second)
            found.append(("multiply", "divide", _synthetic(multiply, factor, quotient)))
    if name == "multiply":
        for part, factor in ((first, second), (second, first)):
            if fraction := _call_of(part, "divide"):
                divide, (a, b) = fraction
                numerator = _synthetic(call.callee, a, factor)
                found.append(("divide", "multiply", _synthetic(divide, numerator, b)))
    return tuple(found)


def _call_of(step: Step, name: str) -> tuple[Step, tuple[Step, ...]] | None:
    """The callee and the two operands, when `step` is a call of the operator of that name."""
    if not isinstance(step, CallStep) or step.named is None or step.named.name != name:
        return None
    if step.steps is None or len(step.steps) != 2:
        return None
    return step.callee, step.steps


def _synthetic(callee: Step, left: Step, right: Step) -> CallStep:
    """A call in an equivalent form of the pattern; it binds nothing."""
    operator = operator_of(callee.pattern) if callee.pattern is not None else None
    made = CallStep(None, None, callee, (left, right), operator)
    if operator is not None and operator.name in COMMUTATIVE:
        made.swapped = Swapped((left, right))
    return made
