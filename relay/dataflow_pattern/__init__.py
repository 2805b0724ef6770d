"""The pattern language: describe a piece of a program, find it, rewrite it, cut it out.

    conv = is_op("nn.conv2d")(wildcard(), is_constant())
    pattern = is_op("nn.relu")(conv.optional(lambda c: is_op("nn.bias_add")(c, wildcard())))

    pattern.match(expr)                      does it look like this?
    pattern.partition(expr)                  move what does into functions of its own
    rewrite(callback, expr)                  replace it, until nothing is left to replace
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
