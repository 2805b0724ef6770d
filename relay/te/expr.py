"""Scalar expressions over elements of tensors.

    Var            a loop index, or a dynamic dimension
    Const          a number
    Binary, Compare, Unary, Select, Cast, Bitcast
    Call           a mathematical function by name: exp, floor, fma …
    Read           an element of a tensor (or of a buffer, once there are loops)
    Reduce         a sum, a maximum … over reduction axes

Indices are int64. Expressions are DAGs: walk them with `relay.tree`, which visits each node once
and does not recurse. Python's operators build them and fold constants; `==` and `hash` are
structural, comparisons of values are `equal`, `<` and so on.

The semantics are Relay's: integers wrap; `x // 0` is 0 and `x % 0` is x; minimum and maximum
propagate NaN; a shift by the width or more shifts out all bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from operator import attrgetter
from typing import Any, ClassVar

from relay import dtypes, tree
from relay.errors import RelayError
from relay.immutable import frozen
from relay.scalar_functions import BINARY as BINARY
from relay.scalar_functions import COMPARE as COMPARE
from relay.scalar_functions import FUNCTIONS, PREDICATES
from relay.scalar_functions import UNARY as UNARY
from relay.tree import Node, children, node, postorder

INDEX = "int64"


class ScalarFamily(Node):
    """The family of scalar expressions."""

    __slots__ = ()


def _operator(op: str) -> Callable[[Expr, Scalar], Expr]:
    return lambda left, right: binary(op, left, right)


def _reflected(op: str) -> Callable[[Expr, Scalar], Expr]:
    return lambda right, left: binary(op, left, right)


def _comparison(op: str) -> Callable[[Expr, Scalar], Expr]:
    return lambda left, right: compare(op, left, right)


@node
class Expr(ScalarFamily):
    """A scalar of element type `dtype`."""

    family: ClassVar[type[Node]]

    dtype: str
    _hash: int = field(init=False, default=0)
    _variables: frozenset[Any] | None = field(init=False, default=None)

    _parts: ClassVar[Any]  # a getter of the fields that determine equality, children included

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((type(self), type(self)._parts(self))))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and same(self, other)

    __add__, __radd__ = _operator("add"), _reflected("add")
    __sub__, __rsub__ = _operator("sub"), _reflected("sub")
    __mul__, __rmul__ = _operator("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _operator("div"), _reflected("div")
    __floordiv__, __rfloordiv__ = _operator("floordiv"), _reflected("floordiv")
    __mod__, __rmod__ = _operator("mod"), _reflected("mod")
    __and__, __or__, __xor__ = _operator("and"), _operator("or"), _operator("xor")
    __lshift__, __rshift__ = _operator("shl"), _operator("shr")
    __lt__, __le__ = _comparison("lt"), _comparison("le")
    __gt__, __ge__ = _comparison("gt"), _comparison("ge")

    def __neg__(self) -> Expr:
        return unary("neg", self)

    def __invert__(self) -> Expr:
        return unary("not", self)

    def __bool__(self) -> bool:
        raise RelayError("a scalar expression has no truth value while the kernel is built")

    def __repr__(self) -> str:
        from relay.te.text import expression_text  # the printer imports the nodes

        return expression_text(self)


Expr.family = ScalarFamily
Scalar = Expr | int | float | bool


@node
class Var(Expr):
    """A loop index or a size; compared by identity."""

    name: str

    _parts = id


@node
class Axis(Var):
    """A variable with its range: 0 up to, not including, `extent`."""

    # an Expr, but not a child: variables are leaves
    extent: Any


@node
class Extent(Var):
    """A dynamic dimension: a variable that is never negative.

    Python turns `i < n` into `n > i` when the class of n is a subclass of that of i; both become
    `i < n` here.
    """

    def __gt__(self, other: Scalar) -> Expr:
        return compare("lt", other, self)

    def __ge__(self, other: Scalar) -> Expr:
        return compare("le", other, self)


@node
class Const(Expr):
    """A number; for `bool` True or False."""

    value: int | float | bool

    def _parts(self) -> tuple[Any, ...]:
        # 0.0 and -0.0 differ, NaN equals itself
        return (self.dtype, repr(self.value))


@node
class Binary(Expr):
    op: str
    left: Expr
    right: Expr

    _parts = attrgetter("op", "left", "right")


@node
class Compare(Expr):
    op: str
    left: Expr
    right: Expr

    _parts = attrgetter("op", "left", "right")


@node
class Unary(Expr):
    """`neg`, `abs`, or `not` (bitwise, or logical for `bool`)."""

    op: str
    operand: Expr

    _parts = attrgetter("op", "operand")


@node
class Select(Expr):
    """`if_true` where the condition holds; reads of the other side may be out of range."""

    condition: Expr
    if_true: Expr
    if_false: Expr

    _parts = attrgetter("condition", "if_true", "if_false")


@node
class Cast(Expr):
    """A conversion: floats to integers truncate and saturate, NaN is 0; integers keep their low
    bits; to `bool`, everything but 0 is True.
    """

    operand: Expr

    _parts = attrgetter("dtype", "operand")


@node
class Bitcast(Expr):
    """The same bits as another type of the same width."""

    operand: Expr

    _parts = attrgetter("dtype", "operand")


@node
class Call(Expr):
    """A mathematical function, or a machine instruction (`relay.te.instruction`)."""

    function: str
    args: tuple[Expr, ...]

    _parts = attrgetter("function", "args")


@node
class Source:
    """A tensor or buffer; `source[i, j]` reads an element."""

    name: str
    shape: tuple[Expr, ...]
    dtype: str

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __getitem__(self, indices: Scalar | tuple[Scalar, ...]) -> Read:
        each = indices if isinstance(indices, tuple) else (indices,)
        if len(each) != len(self.shape):
            raise RelayError(f"`{self.name}` has {len(self.shape)} axes, found {len(each)} indices")
        return Read(self.dtype, self, tuple(map(index, each)))

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(repr, self.shape))}]"


@node
class Read(Expr):
    """One element of a tensor."""

    source: Source
    indices: tuple[Expr, ...]

    _parts = attrgetter("source", "indices")


@frozen
class Combiner:
    """The monoid of a reduction: `combine(left, right)` is associative with `identity(dtypes)`."""

    name: str
    identity: Callable[[tuple[str, ...]], tuple[Expr, ...]]
    combine: Callable[[tuple[Expr, ...], tuple[Expr, ...]], tuple[Expr, ...]]

    def __repr__(self) -> str:
        return self.name


@node
class Reduce(Expr):
    """The result `position` of the reduction of `values` over `axes`."""

    combiner: Combiner
    axes: tuple[Axis, ...]
    values: tuple[Expr, ...]
    position: int = 0

    _parts = attrgetter("combiner", "axes", "values", "position")


def same(left: Expr, right: Expr) -> bool:
    """Whether two expressions have the same structure over the same variables and tensors."""
    pending = [(left, right)]
    seen: set[tuple[int, int]] = set()  # each pair of shared nodes is compared once
    while pending:
        a, b = pending.pop()
        if a is b:
            continue
        if a._hash != b._hash or type(a) is not type(b) or a.dtype != b.dtype:
            return False
        if isinstance(a, Var | Const):
            parts: Any = type(a)._parts
            if parts(a) != parts(b):
                return False
            continue
        if (id(a), id(b)) in seen:
            continue
        seen.add((id(a), id(b)))
        match a, b:
            case ((Binary() | Compare() | Unary()), (Binary() | Compare() | Unary())) if (
                a.op != b.op
            ):
                return False
            case Call(), Call() if a.function != b.function:
                return False
            case Read(), Read() if a.source is not b.source:
                return False
            case Reduce(), Reduce() if (
                a.combiner is not b.combiner or a.axes != b.axes or a.position != b.position
            ):
                return False
        below_a, below_b = children(a), children(b)
        if len(below_a) != len(below_b):
            return False
        pending += zip(below_a, below_b, strict=True)
    return True


# --- constructors


def const(value: int | float | bool, dtype: str) -> Const:
    """A constant of that type: integers wrap, floats are rounded."""
    if dtype == "bool":
        return Const(dtype, bool(value))
    if dtypes.is_float(dtype):
        if dtype == "float64":
            return Const(dtype, float(value))
        import numpy as np

        with np.errstate(over="ignore"):
            return Const(dtype, float(np.asarray(float(value)).astype(dtypes.to_numpy(dtype))))
    bits = width(dtype)
    wrapped = int(value) & ((1 << bits) - 1)
    if dtype in dtypes.SIGNED and wrapped >> (bits - 1):
        wrapped -= 1 << bits
    return _integer(dtype, wrapped)


@lru_cache(maxsize=4096)
def _integer(dtype: str, value: int) -> Const:
    """Interned: most constants are integers, and identical objects compare fast."""
    return Const(dtype, value)


def width(dtype: str) -> int:
    """The number of bits of a value of that type (not of its storage)."""
    return dtypes.bits(dtype)


def index(value: Scalar) -> Expr:
    """An index: an int, or an expression cast to int64."""
    if isinstance(value, Expr):
        return value if value.dtype == INDEX else cast(value, INDEX)
    return _integer(INDEX, int(value))


def as_expr(value: Scalar, dtype: str) -> Expr:
    """A scalar of that type; Python numbers are converted, expressions must have the type."""
    if not isinstance(value, Expr):
        return const(value, dtype)
    if value.dtype != dtype:
        raise RelayError(f"operands have different types: {value.dtype} and {dtype}; cast one")
    return value


def _common(left: Scalar, right: Scalar) -> tuple[Expr, Expr]:
    if isinstance(left, Expr):
        return left, as_expr(right, left.dtype)
    if isinstance(right, Expr):
        return const(left, right.dtype), right
    raise RelayError("one operand must be a scalar expression")


def binary(op: str, left: Scalar, right: Scalar) -> Expr:
    """`left op right`, with trivial simplifications."""
    a, b = _common(left, right)
    if a.dtype == INDEX:
        if isinstance(a, Const) and isinstance(b, Const):
            return const(fold(op, int(a.value), int(b.value), INDEX), INDEX)
        simple = _trivial_index(op, a, b)
        return _index_node(op, a, b) if simple is None else simple
    if a.dtype == "bool" and (simple := _trivial_bool(op, a, b)) is not None:
        return simple
    return Binary(a.dtype, op, a, b)


@lru_cache(maxsize=8192)
def _index_node(op: str, left: Expr, right: Expr) -> Expr:
    """Interned: index arithmetic repeats, and identical objects compare fast."""
    return Binary(INDEX, op, left, right)


def _trivial_index(op: str, a: Expr, b: Expr) -> Expr | None:
    x = a.value if isinstance(a, Const) else None
    y = b.value if isinstance(b, Const) else None
    match op:
        case "add":
            return b if x == 0 else a if y == 0 else None
        case "sub":
            return a if y == 0 else None
        case "mul":
            if x == 0 or y == 0:
                return const(0, INDEX)
            return b if x == 1 else a if y == 1 else None
        case "floordiv" | "truncdiv":
            return a if y == 1 else const(0, INDEX) if x == 0 else None
        case "mod" | "truncmod":
            return const(0, INDEX) if y == 1 or x == 0 else None
        case "min" | "max":
            return a if a is b else None
        case _:
            return None


def _trivial_bool(op: str, a: Expr, b: Expr) -> Expr | None:
    for first, second in ((a, b), (b, a)):
        if isinstance(first, Const):
            if op == "and":
                return second if first.value else first
            if op == "or":
                return first if first.value else second
    return None


_INTEGERS: Mapping[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else a,
    "truncdiv": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0,
    "truncmod": lambda a, b: a - b * _INTEGERS["truncdiv"](a, b),
    "min": min,
    "max": max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}


def fold(op: str, a: int, b: int, dtype: str) -> int:
    """`a op b` on integers, before wrapping; defined for all operands."""
    if op in _INTEGERS:
        return _INTEGERS[op](a, b)
    in_range = 0 <= b < width(dtype)
    match op:
        case "shl":
            return a << b if in_range else 0
        case "shr":
            return a >> b if in_range else (-1 if a < 0 else 0)
    raise RelayError(f"there is no operation `{op}` on integers")


def compare(op: str, left: Scalar, right: Scalar) -> Expr:
    a, b = _common(left, right)
    if a.dtype == INDEX and isinstance(a, Const) and isinstance(b, Const):
        return const(getattr(operator, op)(a.value, b.value), "bool")
    return Compare("bool", op, a, b)


def equal(left: Scalar, right: Scalar) -> Expr:
    return compare("eq", left, right)


def not_equal(left: Scalar, right: Scalar) -> Expr:
    return compare("ne", left, right)


def unary(op: str, operand: Expr) -> Expr:
    if isinstance(operand, Const) and operand.dtype == INDEX:
        value = int(operand.value)
        return const({"neg": -value, "not": ~value, "abs": abs(value)}[op], INDEX)
    if isinstance(operand, Const) and operand.dtype == "bool" and op == "not":
        return const(not operand.value, "bool")
    return Unary(operand.dtype, op, operand)


def minimum(left: Scalar, right: Scalar) -> Expr:
    return binary("min", left, right)


def maximum(left: Scalar, right: Scalar) -> Expr:
    return binary("max", left, right)


def truncdiv(left: Scalar, right: Scalar) -> Expr:
    return binary("truncdiv", left, right)


def truncmod(left: Scalar, right: Scalar) -> Expr:
    return binary("truncmod", left, right)


def absolute(operand: Expr) -> Expr:
    return unary("abs", operand)


def select(condition: Expr, if_true: Scalar, if_false: Scalar) -> Expr:
    """`if_true` where the condition holds, `if_false` elsewhere."""
    a, b = _common(if_true, if_false)
    if isinstance(condition, Const):
        return a if condition.value else b
    return Select(a.dtype, condition, a, b)


def every(*conditions: Expr) -> Expr:
    """The conjunction; True for none."""
    result: Expr = const(True, "bool")
    for condition in conditions:
        result = result & condition
    return result


def some(*conditions: Expr) -> Expr:
    """The disjunction; False for none."""
    result: Expr = const(False, "bool")
    for condition in conditions:
        result = result | condition
    return result


def cast(operand: Expr, dtype: str) -> Expr:
    if operand.dtype == dtype:
        return operand
    if isinstance(operand, Const) and dtypes.is_integer(operand.dtype):
        return const(operand.value, dtype)
    return Cast(dtype, operand)


def bitcast(operand: Expr, dtype: str) -> Expr:
    return operand if operand.dtype == dtype else Bitcast(dtype, operand)


def call(function: str, *args: Expr) -> Expr:
    """A mathematical function by name (`FUNCTIONS`)."""
    if function not in FUNCTIONS or len(args) != FUNCTIONS[function].arguments:
        raise RelayError(f"there is no function `{function}` of {len(args)} arguments")
    dtype = "bool" if function in PREDICATES else args[0].dtype
    return Call(dtype, function, args)


def axis(extent: Scalar, name: str = "k") -> Axis:
    """A reduction axis: from 0 to `extent`, exclusive."""
    return Axis(INDEX, name, index(extent))


def reads(expr: Expr) -> list[Read]:
    """The reads in an expression, including those in indices."""
    return [part for part in postorder(expr) if isinstance(part, Read)]


def variables(expr: Expr) -> frozenset[Var]:
    """The free variables: those of reduction axes are bound."""
    if expr._variables is None:
        for part in postorder(expr, enter=lambda e: e._variables is None):
            if part._variables is None:
                object.__setattr__(part, "_variables", _mentioned(part))
    assert expr._variables is not None
    return expr._variables


def _mentioned(expr: Expr) -> frozenset[Var]:
    if isinstance(expr, Var):
        return frozenset((expr,))
    found: frozenset[Var] = frozenset()
    for child in children(expr):
        below = child._variables
        assert below is not None
        found = found | below if found else below
    return found - frozenset(expr.axes) if isinstance(expr, Reduce) else found


def substitute(expr: Expr, values: Mapping[Var, Expr], done: dict[int, Expr] | None = None) -> Expr:
    """Substitute expressions for variables.

    `done` is a memo by id, for several expressions that share nodes and stay alive meanwhile.
    """
    changing = frozenset(values)
    if changing.isdisjoint(variables(expr)):
        return expr
    known: dict[int, Expr] = {} if done is None else done
    pending = [expr]
    while pending:
        part = pending[-1]
        if id(part) in known:
            pending.pop()
            continue
        if isinstance(part, Var):
            known[id(part)] = values.get(part, part)
            continue
        # `variables` above has set it for every node
        if changing.isdisjoint(part._variables or ()):
            known[id(part)] = part
            continue
        below = children(part)
        missing = [child for child in below if id(child) not in known]
        if missing:
            pending += missing
        else:
            known[id(part)] = with_children(part, [known[id(child)] for child in below])
    return known[id(expr)]


def remake(before: Expr, after: Expr) -> Expr:
    """Rebuild a node whose children changed, so that constants fold."""
    if after is before or isinstance(after, Read):
        return after
    return with_children(after, children(after))


def with_children(original: Expr, below: Sequence[Expr]) -> Expr:
    """The same operation on other operands, with constants folded."""
    match original:
        case Binary():
            return binary(original.op, below[0], below[1])
        case Compare():
            return compare(original.op, below[0], below[1])
        case Unary():
            return unary(original.op, below[0])
        case Select():
            return select(below[0], below[1], below[2])
        case Cast():
            return cast(below[0], original.dtype)
        case Read():
            return Read(original.dtype, original.source, tuple(below))
        case _:
            return tree.rebuild(original, below)
