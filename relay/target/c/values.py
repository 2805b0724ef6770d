"""Scalar expressions as C, in the semantics of `relay.te.expr`.

Shared and long parts get a name, in a line of their own. A side of a `Select` that may read out of
range is computed only where it is chosen, in a branch or behind `?:`.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from relay import dtypes, tree
from relay.errors import RelayError
from relay.immutable import frozen
from relay.scalar_functions import FUNCTIONS
from relay.target.c.helpers import function_name
from relay.target.c.types import bits, c_type, identifier, literal
from relay.te import access
from relay.te import expr as te
from relay.te.intervals import ANY_NUMBER
from relay.te.narrow import NARROW_FLOATS
from relay.te.shared import shared_parts
from relay.te.simplify import Simplifier
from relay.tree import Steps

# How tightly an expression of C binds; where habits differ from the rules there are parentheses.
ATOM, UNARY, MUL, ADD, RELATION, LOGIC, CHOICE = 7, 6, 5, 4, 3, 2, 1

_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
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
_LINE = 60  # a longer text gets a name
_LONG = 40  # operations that are worth a branch
_NAMED = re.compile(r" *const \w+ (\w+) = ")
_WORD = re.compile(r"\b[A-Za-z]\w*")


@frozen
class Text:
    """An expression of C, and how tightly it binds."""

    code: str
    level: int = ATOM

    def at(self, level: int) -> str:
        """In the place of an operand that has to bind so tightly."""
        return self.code if self.level >= level else f"({self.code})"


Value = Steps[Text]


class Writer:
    """Writes the lines of one function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self.variables: dict[te.Var, str] = {}
        self.buffers: dict[int, str] = {}  # by id: the name of a pointer, array or scalar
        self.scalars: set[int] = set()  # buffers that are one variable
        self.helpers: set[str] = set()
        self.simplify = Simplifier()
        self.saturates = False  # integer arithmetic, instead of wrapping
        self.checked = False  # every index
        self._taken: Counter[str] = Counter()
        self._values: set[str] = set()  # names that nothing else has, in no scope
        self._ever: set[str] = set()
        self._numbers: Counter[str] = Counter()
        self._known: list[dict[te.Expr, Text]] = [{}]
        self._uses: Counter[te.Expr] = Counter()

    # --- lines and names

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def body(self) -> list[str]:
        """The lines, without values that nothing uses, and broken where they are long."""
        read: set[str] = set()
        kept: list[list[str]] = []
        for line in reversed(self.lines):
            made = _NAMED.match(line)
            if made is None or made[1] not in self._values or made[1] in read:
                read.update(_WORD.findall(line[made.end() :] if made else line))
                kept.append(_wrapped(line))
        return [line for part in reversed(kept) for line in part]

    def temporary(self) -> str:
        """A name for a value; no other value of the function has it."""
        return self.unique("t")

    def fresh(self, name: str) -> str:
        """A name that nothing else in the function has."""
        made = identifier(name)
        while True:
            self._taken[made] += 1
            count = self._taken[made]
            unused = made if count == 1 else f"{made}_{count}"
            if unused in self._values or (count > 1 and self._taken[unused]):
                continue
            self._taken[unused] += count > 1
            self._ever.add(unused)
            return unused

    def unique(self, name: str) -> str:
        """A name for a value that nothing in the function has, in whatever scope."""
        made = identifier(name)
        while True:
            self._numbers[made] += 1
            count = self._numbers[made]
            if (unused := made if count == 1 else f"{made}_{count}") not in self._ever:
                break
        self._ever.add(unused)
        self._values.add(unused)
        return unused

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Names and values inside are known there only."""
        taken = self._taken.copy()
        self._known.append({})
        yield
        self._known.pop()
        self._taken = taken

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Lines one level further in, a scope."""
        with self.scope():
            self.depth += 1
            yield
            self.depth -= 1

    def helper(self, function: str, dtype: str, *args: Text) -> Text:
        """A call of a helper."""
        name = function_name(function, dtype)
        self.helpers.add(name)
        return Text(f"{name}({', '.join(arg.code for arg in args)})")

    # --- values

    def plain(self, expr: te.Expr) -> str:
        """A value where any expression may stand."""
        return self.value(expr).code

    def value(self, expr: te.Expr) -> Text:
        """The value of an expression, after the lines that compute its parts."""
        uses, known = self._uses, self._known
        self._known = [{}]
        self._uses = Counter(
            child for part in tree.postorder(expr) for child in tree.children(part)
        )
        is_leaf = isinstance(expr, te.Const | te.Var)
        found: Text = tree.run((self._value if is_leaf else self._computed)(expr))
        self._uses, self._known = uses, known
        return found

    def _value(self, expr: te.Expr) -> Value:
        for known in reversed(self._known):
            if expr in known:
                return known[expr]
        match expr:
            case te.Const():
                code = literal(expr)
                return Text(code, UNARY if code[0] in "-(" else ATOM)
            case te.Var():
                if expr not in self.variables:
                    raise RelayError(f"variable `{expr.name}` has no value in a kernel")
                return Text(self.variables[expr])
        made: Text = yield self._computed(expr)
        if self._uses[expr] > 1 or len(made.code) > _LINE:
            made = self._named(expr, made)
        self._known[-1][expr] = made
        return made

    def _named(self, expr: te.Expr, made: Text) -> Text:
        if made.level == ATOM and made.code.isidentifier():
            return made
        name = self.temporary()
        self.line(f"const {c_type(expr.dtype)} {name} = {made.code};")
        return Text(name)

    def _computed(self, expr: te.Expr) -> Value:
        match expr:
            case te.Read():
                read: Text = yield self._read(expr)
                return read
            case te.Select():
                chosen: Text = yield self._select(expr)
                return chosen
        below: list[Text] = []
        for child in tree.children(expr):
            below.append((yield self._value(child)))
        match expr:
            case te.Binary():
                return self._binary(expr, *below)
            case te.Compare():
                left, right = (each.at(ADD) for each in below)
                return Text(f"{left} {_SIGNS[expr.op]} {right}", RELATION)
            case te.Unary():
                return self._unary(expr, *below)
            case te.Cast():
                return self._cast(expr, *below)
            case te.Bitcast():
                return self._bitcast(expr, *below)
            case te.Call():
                return self._call(expr, below)
        raise TypeError(f"{type(expr).__name__} cannot be computed in loops")

    # --- operations

    def _binary(self, expr: te.Binary, left: Text, right: Text) -> Text:
        op, dtype = expr.op, expr.dtype
        if dtype == "bool":
            return _of_bools(op, left, right)
        if dtypes.is_float(dtype):
            if op in ("min", "max"):
                return self.helper(op, dtype, left, right)
            return _joined(op, left, right)
        if op in ("and", "or", "xor"):
            return Text(f"{left.at(UNARY)} {_SIGNS[op]} {right.at(UNARY)}", LOGIC)
        if op in ("shl", "shr"):
            return self._shift(expr, left, right)
        if op in ("add", "sub", "mul"):
            return self._arithmetic(expr, left, right)
        if self._divides_plainly(expr):
            sign = "%" if op.endswith("mod") else "/"
            return Text(f"{left.at(MUL)} {sign} {right.at(UNARY)}", MUL)
        return self.helper(op, dtype, left, right)

    def _arithmetic(self, expr: te.Binary, left: Text, right: Text) -> Text:
        op, dtype = expr.op, expr.dtype
        if self.saturates:
            return self.helper(f"{op}sat", dtype, left, right)
        if dtype in ("uint32", "uint64") or self._never_wraps(expr):
            return _joined(op, left, right)
        if bits(dtype) >= 32:
            return self.helper(op, dtype, left, right)
        if op == "mul" and dtype == "uint16":  # `int` does not hold the product
            left = Text(f"(uint32_t){left.at(UNARY)}", UNARY)
        return Text(f"({c_type(dtype)})({_joined(op, left, right).code})", UNARY)

    def _never_wraps(self, expr: te.Binary) -> bool:
        """Whether an index is computed from bounded indices only, not from int64 in memory."""
        return expr.dtype == te.INDEX and all(
            self.simplify.interval(part) != ANY_NUMBER for part in (expr, expr.left, expr.right)
        )

    def _divides_plainly(self, expr: te.Binary) -> bool:
        """Whether a division is C's: of natural numbers by a constant."""
        if expr.op in ("min", "max") or not isinstance(expr.right, te.Const):
            return False
        if expr.right.value <= 0:
            return False
        if expr.dtype in dtypes.UNSIGNED:
            return True
        low = self.simplify.interval(expr.left)[0] if expr.dtype == te.INDEX else None
        return low is not None and low >= 0

    def _shift(self, expr: te.Binary, left: Text, right: Text) -> Text:
        dtype, kind = expr.dtype, c_type(expr.dtype)
        if not (isinstance(expr.right, te.Const) and 0 <= int(expr.right.value) < te.width(dtype)):
            return self.helper(expr.op, dtype, left, right)
        by = int(expr.right.value)
        if expr.op == "shr":
            return Text(f"{left.at(UNARY)} >> {by}", LOGIC)
        wide = left.at(UNARY)
        if dtype in dtypes.SIGNED:
            wide = f"(uint{max(32, bits(dtype))}_t){wide}"
        if dtype in ("uint32", "uint64"):
            return Text(f"{wide} << {by}", LOGIC)
        return Text(f"({kind})({wide} << {by})", UNARY)

    def _unary(self, expr: te.Unary, operand: Text) -> Text:
        dtype, inner = expr.dtype, operand.at(UNARY)
        if dtypes.is_float(dtype):
            if expr.op == "neg":
                return Text(f"-{operand.at(ATOM)}", UNARY)
            return Text(f"fabs{'f' if dtype == 'float32' else ''}({operand.code})")
        if dtype == "bool":
            return Text(f"!{inner}", UNARY) if expr.op == "not" else operand
        kind = c_type(dtype)
        if expr.op == "not":
            if isinstance(expr.operand, te.Cast) and expr.operand.operand.dtype == "bool":
                return Text(f"({kind})(-1 - {inner})", UNARY)  # compilers take ~ for a mistake
            return Text(f"({kind})~{inner}", UNARY)
        if expr.op == "abs":
            return operand if dtype in dtypes.UNSIGNED else self.helper("abs", dtype, operand)
        if dtype in dtypes.SIGNED and bits(dtype) >= 32:
            return self.helper("subsat" if self.saturates else "sub", dtype, Text("0"), operand)
        return Text(f"({kind})(0 - {operand.at(MUL)})", UNARY)

    def _cast(self, expr: te.Cast, operand: Text) -> Text:
        source, target = expr.operand.dtype, expr.dtype
        if "float16" in (source, target):  # all other conversions of narrow floats are written out
            name = f"relay_{target}_of_{source}"
            self.helpers.add(name)
            return Text(f"{name}({operand.code})")
        if target == "bool":
            return Text(f"{operand.at(ADD)} != 0", RELATION)
        if c_type(source) == c_type(target):
            return operand
        return Text(f"({c_type(target)}){operand.at(UNARY)}", UNARY)

    def _bitcast(self, expr: te.Bitcast, operand: Text) -> Text:
        source, target = expr.operand.dtype, expr.dtype
        if c_type(source) == c_type(target):
            return operand
        whole = [dtypes.is_float(one) and one not in NARROW_FLOATS for one in (source, target)]
        if not any(whole):
            return Text(f"({c_type(target)}){operand.at(UNARY)}", UNARY)
        of, to = (_plain_integer(one) for one in (source, target))
        name = f"relay_bits_{to}_of_{of}"
        self.helpers.add(name)
        return Text(f"{name}({operand.code})")

    def _call(self, expr: te.Call, args: Sequence[Text]) -> Text:
        function, dtype = expr.function, expr.args[0].dtype
        if function in ("sqrt", "copysign"):
            given = ", ".join(arg.code for arg in args)
            return Text(f"{function}{'f' if dtype == 'float32' else ''}({given})")
        if function in ("popcount", "clz") or FUNCTIONS[function].module:
            return self.helper(function, dtype, *args)
        raise RelayError(f"function `{function}` has no code for {dtype}")

    # --- reads and choices

    def _read(self, expr: te.Read) -> Value:
        code = yield self.element(expr.source, expr.indices)
        return Text(f"{code} != 0", RELATION) if expr.dtype == "bool" else Text(code)

    def element(self, source: te.Source, indices: Sequence[te.Expr]) -> Steps[str]:
        """An element of a buffer, as C names it."""
        if self.checked:
            yield self._check(source, indices)
        name = self.buffers[id(source)]
        if id(source) in self.scalars:
            return name
        offset = self.simplify.build(access.flat(source.shape, indices, self.simplify))
        place: Text = yield self._value(offset)
        return f"{name}[{place.code}]"

    def _check(self, source: te.Source, indices: Sequence[te.Expr]) -> Steps[None]:
        """In checked mode, leave the kernel before an access out of range."""
        for axis, (position, extent) in enumerate(zip(indices, source.shape, strict=True)):
            simple = self.simplify(position)
            if self.simplify.holds(simple >= 0) and self.simplify.holds(simple < extent):
                continue
            place: Text = yield self._value(simple)
            limit: Text = yield self._value(extent)
            outside = f"(uint64_t){place.at(UNARY)} >= (uint64_t){limit.at(UNARY)}"
            self.line(f"if ({outside if limit.code != '0' else 'true'})")
            self.fail(f"axis {axis} of `{source.name}`", place.code, limit.code)

    def fail(self, what: str, index: str, extent: str) -> None:
        """Leave the kernel because an index is out of range."""
        raise NotImplementedError(what)  # helpers read no memory

    def in_range(self, source: te.Source, indices: Sequence[te.Expr]) -> bool:
        """Whether every index is provably in range."""
        for position, extent in zip(indices, source.shape, strict=True):
            simple = self.simplify(position)
            if not (self.simplify.holds(simple >= 0) and self.simplify.holds(simple < extent)):
                return False
        return True

    def _select(self, expr: te.Select) -> Value:
        condition: Text = yield self._value(expr.condition)
        sides = (expr.if_true, expr.if_false)
        if not all(map(self._may_be_computed, sides)):
            for part in shared_parts(*sides):
                yield self._value(part)
            chosen: Text = yield self._branches(expr, condition)
            return chosen
        first: Text = yield self._value(expr.if_true)
        second: Text = yield self._value(expr.if_false)
        return self._chosen(expr, condition, first, second)

    def _may_be_computed(self, side: te.Expr) -> bool:
        """Whether a side reads nothing that may be out of range, and is not too long."""

        def is_unknown(part: te.Expr) -> bool:
            return not any(part in known for known in self._known)

        count = 0
        for part in tree.postorder(side, enter=is_unknown):
            count += 1
            if not isinstance(part, te.Read) or not is_unknown(part):
                continue
            if not self.in_range(part.source, part.indices):
                return False
        return count < _LONG

    def _branches(self, expr: te.Select, condition: Text) -> Value:
        """Both sides in branches; behind `?:` if they need no lines of their own."""
        begin, name = len(self.lines), self.temporary()
        written: list[tuple[list[str], Text]] = []
        for side in (expr.if_true, expr.if_false):
            with self.indented():
                value: Text = yield self._value(side)
                written.append((self.lines[begin:], value))
                del self.lines[begin:]
        (first_lines, first), (second_lines, second) = written
        if not first_lines and not second_lines:
            return self._chosen(expr, condition, first, second)
        self.line(f"{c_type(expr.dtype)} {name};")
        self.line(f"if ({condition.code}) {{")
        self.lines += first_lines
        self.line(f"  {name} = {first.code};")
        self.line("} else {")
        self.lines += second_lines
        self.line(f"  {name} = {second.code};")
        self.line("}")
        return Text(name)

    def _chosen(self, expr: te.Select, condition: Text, first: Text, second: Text) -> Text:
        code = f"{condition.at(LOGIC)} ? {first.at(LOGIC)} : {second.at(CHOICE)}"
        if expr.dtype == te.INDEX and all(
            isinstance(side, te.Const) for side in (expr.if_true, expr.if_false)
        ):
            return Text(f"(int64_t)({code})", UNARY)  # and not an `int`
        return Text(code, CHOICE)


def _wrapped(line: str) -> list[str]:
    if len(line) <= 100:
        return [line]
    space = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line,
        max(100, len(space) + 40),
        subsequent_indent=f"{space}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _joined(op: str, left: Text, right: Text) -> Text:
    """`left op right`, in this order."""
    level = ADD if op in ("add", "sub") else MUL
    return Text(f"{left.at(level)} {_SIGNS[op]} {right.at(level + 1)}", level)


_BOOLS: dict[str, Callable[[str, str], str]] = {
    **dict.fromkeys(("and", "mul", "min", "floordiv", "truncdiv"), lambda a, b: f"{a} & {b}"),
    **dict.fromkeys(("or", "max"), lambda a, b: f"{a} | {b}"),
    **dict.fromkeys(("xor", "add", "sub"), lambda a, b: f"{a} ^ {b}"),
    **dict.fromkeys(("mod", "truncmod", "shl", "shr"), lambda a, b: f"{a} & !{b}"),
}


def _of_bools(op: str, left: Text, right: Text) -> Text:
    """An operation modulo 2; the quotient by false is false."""
    return Text(_BOOLS[op](left.at(UNARY), right.at(UNARY)), LOGIC)


def _plain_integer(dtype: str) -> str:
    """The element type of the bits of a value, unless it is a float of C."""
    return f"uint{bits(dtype)}" if dtype in NARROW_FLOATS else dtype
