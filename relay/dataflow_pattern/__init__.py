"""The pattern language: match subgraphs of a program, rewrite them, move them into functions.

    conv = is_op("nn.conv2d")(wildcard(), is_constant())
    pattern = is_op("nn.relu")(conv.optional(lambda c: is_op("nn.bias_add")(c, wildcard())))

    pattern.match(expr)                      whether `expr` matches
    pattern.partition(expr)                  move every match into a function
    rewrite(callback, expr)                  replace matches until nothing changes
    apply_rules(expr, rules)                 the same with rules written as expressions

`patterns.py` is the language, `matcher.py` how it is matched, `rules.py` the short form.
"""

from __future__ import annotations

from relay.dataflow_pattern.matcher import match
from relay.dataflow_pattern.partition import partition
from relay.dataflow_pattern.patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    PredicatePattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_function,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from relay.dataflow_pattern.rewriter import DFPatternCallback, rewrite
from relay.dataflow_pattern.rules import Hole, Rule, RuleMatch, apply_rules, loosely

__all__ = [
    "AltPattern",
    "AttrPattern",
    "CallPattern",
    "ConstantPattern",
    "DFPattern",
    "DFPatternCallback",
    "DataTypePattern",
    "DominatorPattern",
    "ExprPattern",
    "FunctionPattern",
    "Hole",
    "IfPattern",
    "LetPattern",
    "PredicatePattern",
    "Rule",
    "RuleMatch",
    "ShapePattern",
    "TupleGetItemPattern",
    "TuplePattern",
    "TypePattern",
    "VarPattern",
    "WildcardPattern",
    "apply_rules",
    "dominates",
    "has_attr",
    "has_dtype",
    "has_shape",
    "has_type",
    "is_constant",
    "is_expr",
    "is_function",
    "is_if",
    "is_let",
    "is_op",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "loosely",
    "match",
    "partition",
    "rewrite",
    "wildcard",
]
