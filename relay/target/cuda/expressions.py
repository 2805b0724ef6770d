"""Tensor expressions as Triton text, over tiles of values.

    max(x[i, j] + b[j], 0)   ->   t0 = tl.load(p0 + (r * 64 + c), mask=r_in, other=0)
                                  t1 = tl.load(p1 + c)
                                  t2 = tl.maximum(t0 + t1, 0.0, propagate_nan=ALL)

A variable of a tile stands for a vector along some of its axes; a value that depends on no variable
is a scalar, and one that depends on a part of them is broadcast by Triton where it meets others.
Values are those of `relay.te.legalize`: narrow floats are computed in float32.

A read that is needed in one case of a selection only is masked by the condition; so are the parts
of tiles that lie outside of their tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf, isinf, isnan
from typing import Any

from relay import dtypes, tree
from relay.errors import LowerError
from relay.immutable import frozen
from relay.target.cuda.helpers import helper_name
from relay.te import access
from relay.te import expr as te
from relay.te.legalize import Facts, carrier, legalize
from relay.te.loops import Buffer, Store
from relay.te.simplify import Simplifier
from relay.tree import Steps

# What legalization leaves to Triton.
FACTS = Facts(has_fma=False, has_f16c=True, has_rounding=False)

TYPES: Mapping[str, str] = {
    "bool": "tl.int1",
    "float16": "tl.float16",
    "bfloat16": "tl.bfloat16",
    "float32": "tl.float32",
    "float64": "tl.float64",
    **{name: f"tl.{name}" for name in ("int8", "int16", "int32", "int64")},
    **{name: f"tl.{name}" for name in ("uint8", "uint16", "uint32", "uint64")},
}
# The types of pointers, as Triton's signatures name them; a bool is a byte in memory.
POINTERS: Mapping[str, str] = {
    "bool": "*i8",
    "float16": "*fp16",
    "bfloat16": "*bf16",
    "float32": "*fp32",
    "float64": "*fp64",
    **{f"int{bits}": f"*i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"*u{bits}" for bits in (8, 16, 32, 64)},
}
FUNCTIONS = frozenset({"sqrt", "copysign"})  # that are left of `relay.scalar_functions`

_SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "and": "&",
    "or": "|",
    "xor": "^",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
_EXTREMA = {"min": "tl.minimum", "max": "tl.maximum"}
_LINE = 60  # characters of a value that is written where it is used
_OFFSET = 32  # characters of an offset that stands in a load
_SHORT = 12  # characters of one that is written wherever it is used


@frozen
class Value:
    """A value as text. `axes` are the axes of the tile that it varies along."""

    text: str
    axes: frozenset[str] = frozenset()


@frozen
class Variable:
    """A variable of a tile. `inside` is the mask of those values that lie in the tensor, if not all
    do."""

    value: Value
    inside: str | None = None


class Writer:
    """Writes the lines of a kernel.

    `sizes` are those of the axes of its tile, in order, by name; `pointers` names tensors, by
    identity.
    """

    def __init__(self, sizes: Mapping[str, int], pointers: Mapping[int, str]) -> None:
        self.sizes = dict(sizes)
        self.pointers = pointers
        self.lines: list[str] = []
        self.depth = 1
        self.simplify = Simplifier()
        self.variables: dict[str, Variable] = {}  # by the names of variables
        self.helpers: dict[str, None] = {}  # names of functions in `relay.target.cuda.helpers`
        self._reads: dict[str, te.Read] = {}  # by the names of the variables that stand for them
        self._stands: dict[te.Read, te.Var] = {}
        self._doubtful: set[str] = set()  # of them, those that may not exist
        self._uses: set[te.Expr] = set()  # that are used more than once
        self._known: list[dict[Any, Value]] = [{}]
        self._made = 0

    # --- lines

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """The lines of a loop; what is computed in it is not known after it."""
        self.line(head)
        self.depth += 1
        self._known.append({})
        yield
        self._known.pop()
        self.depth -= 1

    def name(self, stem: str = "t") -> str:
        self._made += 1
        return f"{stem}{self._made - 1}"

    def assign(self, text: str, stem: str = "t") -> str:
        """A name for a value."""
        made = self.name(stem)
        self.line(f"{made} = {text}")
        return made

    def declare(
        self, var: te.Var, value: Value, extent: int | None = None, inside: str | None = None
    ) -> None:
        """Define a variable of expressions; an `extent` is that of an index."""
        self.variables[var.name] = Variable(value, inside)
        if extent is not None:
            self.simplify.bind(var, te.const(extent, te.INDEX))

    # --- shapes

    def shape(self, axes: frozenset[str]) -> str:
        """The shape of a tile that varies along these axes only."""
        return f"[{', '.join(str(n if a in axes else 1) for a, n in self.sizes.items())}]"

    def spread(self, value: Value, axes: frozenset[str], dtype: str) -> str:
        """A value as a tile along these axes."""
        if value.axes == axes or not self.sizes:
            return value.text
        if not value.axes:
            return f"tl.full({self.shape(axes)}, {value.text}, {TYPES[dtype]})"
        return f"tl.broadcast_to({value.text}, {self.shape(axes)})"

    # --- expressions

    def value(self, expr: te.Expr) -> Value:
        """A value of its carrier type."""
        legal = self._legal(self.simplify(expr))
        self._uses.update(_shared(legal))
        return tree.run(self._value(legal, ()))

    def _legal(self, expr: te.Expr) -> te.Expr:
        """The expression legalized, with variables for reads."""
        plain = tree.transform(expr, self._without_reads)
        legal = legalize(Store(Buffer("", (), carrier(expr.dtype)), (), plain), FACTS)
        assert isinstance(legal, Store)
        return legal.value

    def _without_reads(self, before: te.Expr, after: te.Expr) -> te.Expr:
        """Variables stand for reads, so that legalization leaves them alone."""
        if not isinstance(after, te.Read):
            return te.remake(before, after)
        assert isinstance(before, te.Read)
        if before not in self._stands:
            made = te.Var(before.dtype, f"read {len(self._stands)}")
            self._stands[before] = made
            self._reads[made.name] = before
            if not self._exists(before):
                self._doubtful.add(made.name)
        return self._stands[before]

    def _exists(self, read: te.Read) -> bool:
        """Whether all indices are known to lie in the tensor."""
        for index, extent in zip(read.indices, read.source.shape, strict=True):
            low, high = self.simplify.interval(self.simplify(index))
            size = int(extent.value) if isinstance(extent, te.Const) else 0
            if low is None or high is None or low < 0 or high >= size:
                return False
        return True

    def _value(self, expr: te.Expr, guards: tuple[te.Expr, ...]) -> Steps[Value]:
        if isinstance(expr, te.Const):
            return Value(self._constant(expr))
        if isinstance(expr, te.Var) and expr.name in self.variables:
            return self.variables[expr.name].value
        if self._doubtful.isdisjoint(var.name for var in te.variables(expr)):
            guards = ()
        key = (expr, guards)
        for known in reversed(self._known):
            if key in known:
                found: Value = known[key]
                return found
        value: Value
        if isinstance(expr, te.Var):
            value = yield self.load(self._reads[expr.name], guards)
        else:
            value = yield self._operation(expr, guards)
        shared = expr in self._uses and len(value.text) > _SHORT
        if shared or len(value.text) > _LINE or isinstance(expr, te.Call | te.Select | te.Var):
            value = Value(self.assign(value.text), value.axes)
        self._known[-1][key] = value
        return value

    def _operation(self, expr: te.Expr, guards: tuple[te.Expr, ...]) -> Steps[Value]:
        if isinstance(expr, te.Select):
            selected: Value = yield self._select(expr, guards)
            return selected
        below: list[Value] = []
        for part in tree.children(expr):
            below.append((yield self._value(part, guards)))
        texts = [part.text for part in below]
        axes = frozenset().union(*(part.axes for part in below))
        match expr:
            case te.Binary() | te.Compare():
                text = self._binary(expr, *texts)
            case te.Unary(op="neg"):
                text = f"(-{texts[0]})"
            case te.Unary(op="abs"):
                text = texts[0] if expr.dtype.startswith("u") else f"tl.abs({texts[0]})"
            case te.Unary():
                text = f"(~{texts[0]})"
            case te.Cast():
                text = self._cast(expr, texts[0])
            case te.Bitcast():
                operand = _typed(below[0], expr.operand.dtype)
                text = f"{operand}.to({TYPES[expr.dtype]}, bitcast=True)"
            case te.Call(function="sqrt"):
                exact = "tl.sqrt_rn" if expr.dtype == "float32" else "tl.sqrt"
                text = f"{exact}({texts[0]})"
            case te.Call(function="copysign"):
                operands = [_typed(part, expr.dtype) for part in below]
                text = self.helper(f"copysign_{expr.dtype}", *operands)
            case _:
                raise LowerError.of(f"there is no Triton code for {expr!r}")
        return Value(text, axes)

    def helper(self, name: str, *args: str) -> str:
        """A call of a function of `relay.target.cuda.helpers`."""
        known = helper_name(name)
        self.helpers[known] = None
        return f"{known}({', '.join(args)})"

    def _binary(self, expr: te.Binary | te.Compare, left: str, right: str) -> str:
        op, dtype = expr.op, expr.left.dtype
        if op in _SYMBOLS:
            return f"({left} {_SYMBOLS[op]} {right})"
        is_float = dtypes.is_float(dtype)
        if op in _EXTREMA:
            nan = ", propagate_nan=tl.PropagateNan.ALL" if is_float else ""
            return f"{_EXTREMA[op]}({left}, {right}{nan})"
        if op == "div":
            return f"tl.div_rn({left}, {right})" if dtype == "float32" else f"({left} / {right})"
        divisor = expr.right
        if op in ("floordiv", "mod", "truncdiv", "truncmod"):
            natural = dtype.startswith("u") or self._is_natural(expr.left)
            constant = isinstance(divisor, te.Const) and divisor.value > 0
            if constant and (natural or op.startswith("trunc")):
                return f"({left} {'//' if op.endswith('div') else '%'} {right})"
            return self.helper(op if not dtype.startswith("u") else f"u{op}", left, right)
        if op in ("shl", "shr"):
            sign = {"shl": "<<", "shr": ">>"}[op]
            if self._is_below(divisor, te.width(dtype)):
                return f"({left} {sign} {right})"
            return self.helper(
                op if op == "shl" or not dtype.startswith("u") else "ushr",
                *(left, right, str(te.width(dtype))),
            )
        raise LowerError.of(f"there is no Triton code for `{op}` of {dtype}")

    def _is_below(self, expr: te.Expr, bound: int) -> bool:
        """Whether 0 <= expr < bound is known."""
        if isinstance(expr, te.Const):
            return 0 <= expr.value < bound
        index = expr.operand if isinstance(expr, te.Cast) else expr
        if index.dtype != te.INDEX:
            return False
        low, high = self.simplify.interval(index)
        return low is not None and high is not None and low >= 0 and high < bound

    def _is_natural(self, expr: te.Expr) -> bool:
        low = self.simplify.interval(expr)[0] if expr.dtype == te.INDEX else None
        return low is not None and low >= 0

    def _cast(self, expr: te.Cast, operand: str) -> str:
        source, wanted = expr.operand.dtype, expr.dtype
        if isinstance(expr.operand, te.Const):
            return f"tl.cast({operand}, {TYPES[wanted]})"
        if wanted == "bool":
            return f"({operand} != 0)"
        if source == te.INDEX and wanted in ("int32", "int64"):
            # indices are computed in 32 bits where that is enough
            return f"tl.cast({operand}, {TYPES[wanted]})"
        return f"{operand}.to({TYPES[wanted]})"

    def _constant(self, expr: te.Const) -> str:
        """A literal: Triton takes those of integers for int32, those of floats for float32."""
        value, dtype = expr.value, expr.dtype
        if dtype == "bool":
            return "True" if value else "False"
        if dtypes.is_float(dtype):
            text = f'float("{value}")' if isinf(value) or isnan(value) else repr(float(value))
            if dtype == "float32":
                return text
        else:
            text = repr(int(value))
            if dtype == "int32" or (dtype == te.INDEX and abs(value) < 2**31):
                return text
        return f"tl.full([], {text}, {TYPES[dtype]})"

    # --- selections and reads

    def _select(self, expr: te.Select, guards: tuple[te.Expr, ...]) -> Steps[Value]:
        condition: Value = yield self._value(expr.condition, guards)
        chosen, other = expr.if_true, expr.if_false
        if isinstance(chosen, te.Var) and isinstance(other, te.Const):
            read = self._reads.get(chosen.name)
            if read is not None and read.dtype != "bool":
                loaded: Value = yield self.load(read, (*guards, expr.condition), other.value)
                return loaded
        true: Value = yield self._value(chosen, (*guards, expr.condition))
        false: Value = yield self._value(other, (*guards, te.unary("not", expr.condition)))
        text = f"tl.where({condition.text}, {true.text}, {false.text})"
        return Value(text, condition.axes | true.axes | false.axes)

    def load(
        self, read: te.Read, guards: Sequence[te.Expr], other: float = 0, *, raw: bool = False
    ) -> Steps[Value]:
        """A value of memory in its carrier type, or as it is stored; `other` where it is masked."""
        offset, masks = yield self._place(read, guards)
        axes = offset.axes.union(*(mask.axes for mask in masks))
        where = self.spread(offset, axes, "int64" if self.wide else "int32")
        if len(where) > _OFFSET:
            where = self.assign(where)
        pointer = f"{self.pointers[id(read.source)]} + {where}"
        if masks:
            given = f'float("{other}")' if abs(other) == inf else repr(other)
            every = " & ".join(mask.text for mask in masks)
            text = f"tl.load({pointer}, mask={every}, other={given})"
        else:
            text = f"tl.load({pointer})"
        if read.dtype == "bool":
            text = f"({text} != 0)"
        elif not raw and (kind := carrier(read.dtype)) != read.dtype:
            text = f"{text}.to({TYPES[kind]})"
        return Value(text, axes)

    wide = False  # whether indices need 64 bits

    def _place(self, read: te.Read, guards: Sequence[te.Expr]) -> Steps[tuple[Value, list[Value]]]:
        """The offset of an element, and the conditions under which it exists."""
        total = access.flat(read.source.shape, read.indices, self.simplify)
        place = self.simplify.build(total)
        offset: Value = yield self._value(self._legal(place), tuple(guards))
        masks = []
        for guard in guards:
            masks.append((yield self._value(guard, ())))
        return offset, self._bounds(te.variables(place)) + masks

    def _bounds(self, used: frozenset[te.Var]) -> list[Value]:
        """The masks of variables whose values may lie outside of the tensor."""
        found: dict[str, Value] = {}
        for var in sorted(used, key=lambda one: one.name):
            known = self.variables.get(var.name)
            if known is not None and known.inside is not None:
                found[known.inside] = Value(known.inside, known.value.axes)
        return list(found.values())

    def store(self, tensor: te.Source, indices: Sequence[te.Expr], value: Value) -> None:
        """Store a tile."""
        read = te.Read(tensor.dtype, tensor, tuple(indices))
        offset, masks = tree.run(self._place(read, ()))
        axes = offset.axes | value.axes
        where = self.spread(offset, axes, "int64" if self.wide else "int32")
        kind = "tl.int8" if tensor.dtype == "bool" else TYPES[tensor.dtype]
        text = self.assign(value.text) if len(value.text) > _OFFSET else value.text
        typed = f"tl.cast({text}, {kind})"
        mask = f", mask={' & '.join(one.text for one in masks)}" if masks else ""
        self.line(f"tl.store({self.pointers[id(tensor)]} + {where}, {typed}{mask})")


def _typed(value: Value, dtype: str) -> str:
    """The text of a value that has a type, which literals have not."""
    return value.text if value.axes else f"tl.full([], {value.text}, {TYPES[dtype]})"


def _shared(expr: te.Expr) -> set[te.Expr]:
    """The parts of an expression that several others use."""
    seen: set[te.Expr] = set()
    found: set[te.Expr] = set()
    for part in tree.postorder(expr):
        for below in tree.children(part):
            (found if below in seen else seen).add(below)
    return found
