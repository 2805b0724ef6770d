"""The pattern language: match subgraphs of a program, rewrite them, move them into functions.

    conv = is_op("nn.conv2d")(wildcard(), is_constant())
    pattern = is_op("nn.relu")(conv.optional(lambda c: is_op("nn.bias_add")(c, wildcard())))

    pattern.match(expr)                      whether `expr` matches
    pattern.partition(expr)                  move every match into a function
    rewrite(callback, expr)                  replace matches until nothing changes
    apply_rules(expr, rules)                 the same with rules written as expressions

`patterns.py` is the language, `matcher.py` how it is matched, `rules.py` the short form.
"""

from relay.dataflow_pattern.matcher import match as match
from relay.dataflow_pattern.partition import partition as partition
from relay.dataflow_pattern.patterns import AltPattern as AltPattern
from relay.dataflow_pattern.patterns import AttrPattern as AttrPattern
from relay.dataflow_pattern.patterns import CallPattern as CallPattern
from relay.dataflow_pattern.patterns import ConstantPattern as ConstantPattern
from relay.dataflow_pattern.patterns import DataTypePattern as DataTypePattern
from relay.dataflow_pattern.patterns import DFPattern as DFPattern
from relay.dataflow_pattern.patterns import DominatorPattern as DominatorPattern
from relay.dataflow_pattern.patterns import ExprPattern as ExprPattern
from relay.dataflow_pattern.patterns import FunctionPattern as FunctionPattern
from relay.dataflow_pattern.patterns import IfPattern as IfPattern
from relay.dataflow_pattern.patterns import LetPattern as LetPattern
from relay.dataflow_pattern.patterns import PredicatePattern as PredicatePattern
from relay.dataflow_pattern.patterns import ShapePattern as ShapePattern
from relay.dataflow_pattern.patterns import TupleGetItemPattern as TupleGetItemPattern
from relay.dataflow_pattern.patterns import TuplePattern as TuplePattern
from relay.dataflow_pattern.patterns import TypePattern as TypePattern
from relay.dataflow_pattern.patterns import VarPattern as VarPattern
from relay.dataflow_pattern.patterns import WildcardPattern as WildcardPattern
from relay.dataflow_pattern.patterns import dominates as dominates
from relay.dataflow_pattern.patterns import has_attr as has_attr
from relay.dataflow_pattern.patterns import has_dtype as has_dtype
from relay.dataflow_pattern.patterns import has_shape as has_shape
from relay.dataflow_pattern.patterns import has_type as has_type
from relay.dataflow_pattern.patterns import is_constant as is_constant
from relay.dataflow_pattern.patterns import is_expr as is_expr
from relay.dataflow_pattern.patterns import is_function as is_function
from relay.dataflow_pattern.patterns import is_if as is_if
from relay.dataflow_pattern.patterns import is_let as is_let
from relay.dataflow_pattern.patterns import is_op as is_op
from relay.dataflow_pattern.patterns import is_tuple as is_tuple
from relay.dataflow_pattern.patterns import is_tuple_get_item as is_tuple_get_item
from relay.dataflow_pattern.patterns import is_var as is_var
from relay.dataflow_pattern.patterns import wildcard as wildcard
from relay.dataflow_pattern.rewriter import DFPatternCallback as DFPatternCallback
from relay.dataflow_pattern.rewriter import rewrite as rewrite
from relay.dataflow_pattern.rules import Hole as Hole
from relay.dataflow_pattern.rules import Rule as Rule
from relay.dataflow_pattern.rules import RuleMatch as RuleMatch
from relay.dataflow_pattern.rules import apply_rules as apply_rules
from relay.dataflow_pattern.rules import loosely as loosely
