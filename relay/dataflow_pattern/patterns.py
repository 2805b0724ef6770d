"""The patterns, one class for each kind.

    is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), is_constant()))        relu over conv2d
    conv.optional(lambda c: is_op("nn.bias_add")(c, wildcard()))           with a bias or without
    wildcard().has_attr({"TOpPattern": 0})(None)                           any elementwise call
    dominates(conv, elementwise, add)                                      conv, a diamond, add

A pattern object that occurs twice matches one and the same expression, like a variable in a
formula; two equal objects are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar

from relay import dtypes
from relay.errors import RelayError
from relay.ir.attrs import DictAttrs
from relay.ir.dims import Dim
from relay.ir.expr import Expr, Op, as_expr, get_op
from relay.ir.types import Type, as_dim
from relay.tree import Node, node


def _always(_: Expr) -> bool:
    return True


@node
class DFPattern(Node):
    """The root of all patterns."""

    family: ClassVar[type[Node]]
    # a memo of `prepare`: the steps that match this pattern
    prepared: Any = field(default=None, init=False)

    # --- building

    def __call__(self, *args: DFPattern | None) -> CallPattern:
        """A call of what this pattern describes; `p(None)` has any arguments."""
        if args == (None,):
            return CallPattern(self, None)
        return CallPattern(self, args)  # type: ignore[arg-type]

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, other)

    def __add__(self, other: DFPattern) -> CallPattern:
        return is_op("add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return is_op("subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return is_op("multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return is_op("divide")(self, other)

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """This pattern, alone or inside what `option_constructor` builds around it."""
        return AltPattern(self, option_constructor(self))

    def has_attr(self, attrs: Mapping[str, Any]) -> AttrPattern:
        """This pattern with these attributes of the call, the operator or the function."""
        return AttrPattern(self, DictAttrs(attrs))

    def has_type(self, ttype: Type) -> TypePattern:
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[Any]) -> ShapePattern:
        return ShapePattern(self, shape)  # type: ignore[arg-type]

    def where(self, predicate: Callable[[Expr], bool]) -> PredicatePattern:
        """This pattern where `predicate` holds; it is called once the rest of it matches."""
        return PredicatePattern(self, predicate)

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """This pattern as the end of all paths from `parent` over expressions that match `path`."""
        return DominatorPattern(parent, wildcard() if path is None else path, self)

    # --- using: the engines import the patterns, so they are imported on use

    def match(self, expr: Expr) -> bool:
        """Whether `expr` matches."""
        from relay.dataflow_pattern.matcher import match

        return match(self, expr)

    def partition(
        self,
        expr: Expr,
        attrs: Mapping[str, Any] | None = None,
        check: Callable[[Expr], bool] = _always,
    ) -> Expr:
        """`expr` with every match moved into a function."""
        from relay.dataflow_pattern.partition import partition

        return partition(self, expr, attrs, check)

    def __repr__(self) -> str:
        from relay.dataflow_pattern.text import pattern_text

        return pattern_text(self)


DFPattern.family = DFPattern


def _pattern(value: Any, where: str) -> DFPattern:
    if isinstance(value, DFPattern):
        return value
    hint = "; is_expr(…) makes one of an expression" if isinstance(value, Expr) else ""
    raise RelayError(f"{where} must be a pattern, found {type(value).__name__}{hint}")


def _patterns(values: Iterable[Any] | None, where: str) -> tuple[DFPattern, ...] | None:
    if values is None:
        return None
    return tuple(_pattern(v, f"{where} {i}") for i, v in enumerate(values))


def _check(pattern: DFPattern, *names: str) -> None:
    for name in names:
        _pattern(getattr(pattern, name), f"`{name}` of a {type(pattern).__name__}")


# --- leaves ------------------------------------------------------------------------------------


@node
class WildcardPattern(DFPattern):
    """Anything at all; once redirected, what another pattern describes."""

    pattern: DFPattern | None = None

    def redirect_to(self, pattern: DFPattern) -> None:
        """From now on match `pattern`, which may contain this wildcard: a recursive pattern.

        A pattern on such a cycle is matched once per iteration, and binds a list of expressions.
        """
        # the only mutation of a pattern, to close a cycle
        object.__setattr__(self, "pattern", _pattern(pattern, "the target of a wildcard"))


@node
class ExprPattern(DFPattern):
    """This expression, up to the names of bound variables."""

    expr: Expr

    def __post_init__(self) -> None:
        object.__setattr__(self, "expr", as_expr(self.expr))


@node
class VarPattern(DFPattern):
    """A variable; with a name, one of that name."""

    name_hint: str = ""

    @property
    def name(self) -> str:
        return self.name_hint


@node
class ConstantPattern(DFPattern):
    """A constant, whatever its value."""


# --- shapes of expressions ---------------------------------------------------------------------


@node
class CallPattern(DFPattern):
    """A call. `args` None: with any arguments.

    The operands of `add` and `multiply` may come in either order, and `(a * b) / c` also matches
    `a * (b / c)`, and vice versa.
    """

    op: DFPattern
    args: tuple[DFPattern, ...] | None

    def __post_init__(self) -> None:
        _check(self, "op")
        object.__setattr__(self, "args", _patterns(self.args, "argument"))


@node
class FunctionPattern(DFPattern):
    """A function. `params` None: with any parameters."""

    params: tuple[DFPattern, ...] | None
    body: DFPattern

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", _patterns(self.params, "parameter"))
        _check(self, "body")


@node
class IfPattern(DFPattern):
    """`if (cond) { true_branch } else { false_branch }`"""

    cond: DFPattern
    true_branch: DFPattern
    false_branch: DFPattern

    def __post_init__(self) -> None:
        _check(self, "cond", "true_branch", "false_branch")


@node
class LetPattern(DFPattern):
    """`let var = value; body`"""

    var: DFPattern
    value: DFPattern
    body: DFPattern

    def __post_init__(self) -> None:
        _check(self, "var", "value", "body")


@node
class TuplePattern(DFPattern):
    """A tuple. `fields` None: with any fields."""

    fields: tuple[DFPattern, ...] | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", _patterns(self.fields, "field"))


@node
class TupleGetItemPattern(DFPattern):
    """A projection. `index` None: of any field."""

    tuple: DFPattern
    index: int | None = None

    def __post_init__(self) -> None:
        _check(self, "tuple")


# --- combinations ------------------------------------------------------------------------------


@node
class AltPattern(DFPattern):
    """`left`, or else `right`."""

    left: DFPattern
    right: DFPattern

    def __post_init__(self) -> None:
        _check(self, "left", "right")


@node
class DominatorPattern(DFPattern):
    """`child` over a region that begins at `parent`.

    Every path up from `child` leads over expressions that match `path` to one expression that
    matches `parent`, ignoring variables and constants. All uses of that expression, and of those
    between, end in `child`.
    """

    parent: DFPattern
    path: DFPattern
    child: DFPattern

    def __post_init__(self) -> None:
        _check(self, "parent", "path", "child")


# --- conditions on another pattern -------------------------------------------------------------


@node
class AttrPattern(DFPattern):
    """`pattern`, with attributes of these values: of a call, of an operator, of a function."""

    pattern: DFPattern
    attrs: DictAttrs

    def __post_init__(self) -> None:
        _check(self, "pattern")
        object.__setattr__(self, "attrs", DictAttrs(self.attrs))


@node
class TypePattern(DFPattern):
    """`pattern`, with this type."""

    pattern: DFPattern
    type: Type

    def __post_init__(self) -> None:
        _check(self, "pattern")
        if not isinstance(self.type, Type):
            raise RelayError(f"has_type takes a relay type, found {self.type!r}")


@node
class DataTypePattern(DFPattern):
    """`pattern`, a tensor with these elements."""

    pattern: DFPattern
    dtype: str

    def __post_init__(self) -> None:
        _check(self, "pattern")
        object.__setattr__(self, "dtype", dtypes.canonical(self.dtype))


@node
class ShapePattern(DFPattern):
    """`pattern`, a tensor of this shape."""

    pattern: DFPattern
    shape: tuple[Dim, ...]

    def __post_init__(self) -> None:
        _check(self, "pattern")
        object.__setattr__(self, "shape", tuple(as_dim(d) for d in self.shape))


@node
class PredicatePattern(DFPattern):
    """`pattern`, where `predicate(expression)` holds."""

    pattern: DFPattern
    predicate: Callable[[Expr], bool]

    def __post_init__(self) -> None:
        _check(self, "pattern")


# --- building patterns -------------------------------------------------------------------------


def wildcard() -> WildcardPattern:
    """Anything."""
    return WildcardPattern()


def is_var(name: str = "") -> VarPattern:
    """A variable; with a name, one of that name."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """A constant."""
    return ConstantPattern()


def is_expr(expr: Expr) -> ExprPattern:
    """This expression, compared by structure."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """The operator of that name; call it to describe its calls."""
    return ExprPattern(get_op(op_name))


def is_tuple(fields: Iterable[DFPattern] | None = None) -> TuplePattern:
    """A tuple of these fields, or any tuple."""
    return TuplePattern(fields)  # type: ignore[arg-type]


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """Field `index` of a tuple, or any field."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """An `if` expression."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """A `let` expression."""
    return LetPattern(var, value, body)


def is_function(
    params: Iterable[DFPattern] | None = None, body: DFPattern | None = None
) -> FunctionPattern:
    """A function, of any parameters and body where these are not given."""
    return FunctionPattern(params, wildcard() if body is None else body)  # type: ignore[arg-type]


def has_type(ttype: Type, pattern: DFPattern | None = None) -> TypePattern:
    """An expression of this type that matches `pattern`."""
    return TypePattern(wildcard() if pattern is None else pattern, ttype)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """A tensor of this element type that matches `pattern`."""
    return DataTypePattern(wildcard() if pattern is None else pattern, dtype)


def has_shape(shape: Sequence[Any], pattern: DFPattern | None = None) -> ShapePattern:
    """A tensor of this shape that matches `pattern`."""
    return ShapePattern(wildcard() if pattern is None else pattern, shape)  # type: ignore[arg-type]


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """An expression with these attributes that matches `pattern`."""
    return (wildcard() if pattern is None else pattern).has_attr(attrs)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """`child` as the end of all paths from `parent` over `path`."""
    return DominatorPattern(parent, path, child)


def operator_of(pattern: DFPattern) -> Op | None:
    """The operator, when the pattern describes one operator by name."""
    if isinstance(pattern, ExprPattern) and isinstance(pattern.expr, Op):
        return pattern.expr
    return None
