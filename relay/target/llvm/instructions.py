"""Generates LLVM instructions for operations on scalars and vectors.

It defines what is undefined in LLVM: division by zero, shifts by the width or more. Conversion of
floats to integers and mathematical functions are expanded before (`relay.te.legalize`).
"""

from __future__ import annotations

from functools import partial

from relay import dtypes
from relay.errors import RelayError
from relay.target.llvm.writer import Value, Writer, bits, is_signed, llvm_type, suffix, vector_type
from relay.te.expr import INDEX, Binary, Bitcast, Call, Cast, Compare, Const, Expr, Unary, width
from relay.te.intervals import ANY_NUMBER


class Instructions(Writer):
    """Generates code for operations on values."""

    def _same_type(self, *pairs: tuple[Expr, Value], result: Expr | None = None) -> list[Value]:
        """Operands of one operation: all vectors if one is; vectors of indices in 32 bits if they
        fit, which is twice as fast as 64."""
        values = [value for _, value in pairs]
        if any(value.lanes for value in values):
            values = [self.broadcast(value) for value in values]
        if pairs[0][0].dtype == INDEX and "i32" in [value.type for value in values]:
            involved = [expr for expr, _ in pairs] + ([] if result is None else [result])
            if all(self._fits_32_bits(expr) for expr in involved):
                return [self._as_integer(value, "i32") for value in values]
            return [self._as_integer(value, "i64") for value in values]
        return values

    def _fits_32_bits(self, expr: Expr) -> bool:
        low, high = self.simplify.interval(expr)
        return low is not None and high is not None and low >= -(2**31) and high < 2**31

    def _never_wraps(self, expr: Binary) -> bool:
        """Whether an index is computed from bounded indices only, not from int64 in memory."""
        parts = (expr, expr.left, expr.right)
        return expr.dtype == INDEX and all(
            self.simplify.interval(part) != ANY_NUMBER for part in parts
        )

    def _as_integer(self, value: Value, type: str) -> Value:
        if value.type == type:
            return value
        if not value.text.startswith("%") and value.text.startswith("splat"):
            return Value(value.text.replace(f"({value.type} ", f"({type} "), type, value.lanes)
        how = "sext" if bits(type) > bits(value.type) else "trunc"
        whole = vector_type(type, value.lanes)
        return self.make(f"{how} {value} to {whole}", type, value.lanes, value.reads)

    def _compare(self, expr: Compare, left: Value, right: Value) -> Value:
        left, right = self._same_type((expr.left, left), (expr.right, right))
        dtype = expr.left.dtype
        if dtypes.is_float(dtype):
            code = f"fcmp {'une' if expr.op == 'ne' else 'o' + expr.op} {left}, {right.text}"
        else:
            sign = "" if expr.op in ("eq", "ne") else "s" if is_signed(dtype) else "u"
            code = f"icmp {sign}{expr.op} {left}, {right.text}"
        return self.make(code, "i1", left.lanes, left.reads | right.reads)

    def _binary(self, expr: Binary, left: Value, right: Value) -> Value:
        left, right = self._same_type((expr.left, left), (expr.right, right), result=expr)
        reads = left.reads | right.reads

        def op(code: str, a: Value = left, b: Value = right) -> Value:
            return self.make(f"{code} {a}, {b.text}", a.type, a.lanes, reads)

        if dtypes.is_float(expr.dtype):
            names = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
            if expr.op in names:
                return op(names[expr.op])
            return self._extremum(expr, left, right, "fcmp olt" if expr.op == "max" else "fcmp ogt")
        signed = is_signed(expr.dtype)
        match expr.op:
            case "add" | "sub" | "mul" if self.saturates:
                return self._saturated(expr.op, left, right)
            case "add" | "sub" | "mul":
                never = not left.lanes and self._never_wraps(expr)
                return op(f"{expr.op} nsw" if never else expr.op)
            case "and" | "or" | "xor":
                return op(expr.op)
            case "min" | "max":
                less = f"icmp {'s' if signed else 'u'}{'lt' if expr.op == 'max' else 'gt'}"
                return self._extremum(expr, left, right, less)
            case "shl" | "shr":
                return self._shift(expr, left, right, signed)
            case _:
                return self._division(expr, left, right, signed)

    def _saturated(self, op: str, left: Value, right: Value) -> Value:
        """Saturating arithmetic."""
        name, more = (f"s{op}.sat", "") if op != "mul" else ("smul.fix.sat", ", i32 0")
        given = f"{left}, {right}{more}"
        return self.make(f"call {left.type} @llvm.{name}.{left.type}({given})", left.type)

    def _extremum(self, expr: Binary, left: Value, right: Value, less: str) -> Value:
        """The minimum or maximum; NaN if an operand is."""
        reads = left.reads | right.reads
        worse = self.make(f"{less} {left}, {right.text}", "i1", left.lanes)
        best = self.make(f"select {worse}, {right}, {left}", left.type, left.lanes, reads)
        is_number = isinstance(expr.right, Const) and expr.right.value == expr.right.value
        if not dtypes.is_float(expr.dtype) or is_number:
            return best
        nan = self.make(f"fcmp uno {right}, {right.text}", "i1", left.lanes)
        return self.make(f"select {nan}, {right}, {best}", left.type, left.lanes, reads)

    def _number(self, like: Value, value: int) -> Value:
        """A constant of the type of another value."""
        plain = Value(str(value), like.type)
        return self.broadcast(plain) if like.lanes else plain

    def _shift(self, expr: Binary, left: Value, right: Value, signed: bool) -> Value:
        bits = width(expr.dtype)
        code = "shl" if expr.op == "shl" else "ashr" if signed else "lshr"
        reads = left.reads | right.reads
        if isinstance(expr.right, Const) and 0 <= int(expr.right.value) < bits:
            return self.make(f"{code} {left}, {right.text}", left.type, left.lanes, reads)
        number = partial(self._number, left)
        inside = self.make(f"icmp ult {right}, {number(bits).text}", "i1", left.lanes)
        count = self.make(f"select {inside}, {right}, {number(0)}", left.type, left.lanes)
        moved = self.make(f"{code} {left}, {count.text}", left.type, left.lanes)
        emptied = number(0)
        if code == "ashr":
            emptied = self.make(f"ashr {left}, {number(bits - 1).text}", left.type, left.lanes)
        return self.make(f"select {inside}, {moved}, {emptied}", left.type, left.lanes, reads)

    def _division(self, expr: Binary, left: Value, right: Value, signed: bool) -> Value:
        """Quotient or remainder; by zero the quotient is 0, the remainder the dividend."""
        reads = left.reads | right.reads
        type, lanes = left.type, left.lanes
        remainder = expr.op.endswith("mod")
        floored = expr.op in ("floordiv", "mod")

        def make(code: str, kind: str = type) -> Value:
            return self.make(code, kind, lanes, reads)

        number = partial(self._number, left)
        divisor = int(expr.right.value) if isinstance(expr.right, Const) else None
        low = self.simplify.interval(expr.left)[0] if expr.dtype == INDEX else None
        if divisor is not None and divisor > 0 and (not signed or (low is not None and low >= 0)):
            return make(f"{'urem' if remainder else 'udiv'} {left}, {right.text}")
        zero = make(f"icmp eq {right}, {number(0).text}", "i1")
        safe = make(f"select {zero}, {number(1)}, {right}")
        if not signed:
            quotient = make(f"udiv {left}, {safe.text}")
        else:
            # the minimum over -1 overflows: negate instead
            minus = make(f"icmp eq {right}, {number(-1).text}", "i1")
            safe = make(f"select {minus}, {number(1)}, {safe}")
            quotient = make(f"sdiv {left}, {safe.text}")
            negative = make(f"sub {number(0)}, {left.text}")
            quotient = make(f"select {minus}, {negative}, {quotient}")
            if floored:
                product = make(f"mul {quotient}, {right.text}")
                inexact = make(f"icmp ne {product}, {left.text}", "i1")
                signs = make(f"xor {left}, {right.text}")
                opposite = make(f"icmp slt {signs}, {number(0).text}", "i1")
                lower = make(f"and {inexact}, {opposite.text}", "i1")
                less = make(f"sub {quotient}, {number(1).text}")
                quotient = make(f"select {lower}, {less}, {quotient}")
        quotient = make(f"select {zero}, {number(0)}, {quotient}")
        if not remainder:
            return quotient
        product = make(f"mul {quotient}, {right.text}")
        return make(f"sub {left}, {product.text}")

    def _unary(self, expr: Unary, operand: Value) -> Value:
        if operand.type == "i32" and expr.dtype == INDEX and not self._fits_32_bits(expr):
            operand = self._as_integer(operand, "i64")
        kind, lanes = operand.type, operand.lanes
        whole = operand.full_type
        if expr.op == "not":
            ones = "true" if kind == "i1" else "-1"
            every = f"splat ({kind} {ones})" if lanes else ones
            return self.make(f"xor {operand}, {every}", kind, lanes, operand.reads)
        if dtypes.is_float(expr.dtype):
            if expr.op == "neg":
                return self.make(f"fneg {operand}", kind, lanes, operand.reads)
            name = f"llvm.fabs.{suffix(kind, lanes)}"
            return self.make(f"call {whole} @{name}({operand})", kind, lanes, operand.reads)
        if kind == "i1":
            return operand
        zero = "zeroinitializer" if lanes else "0"
        if expr.op == "neg":
            return self.make(f"sub {whole} {zero}, {operand.text}", kind, lanes, operand.reads)
        if not is_signed(expr.dtype):
            return operand
        name = f"llvm.abs.{suffix(kind, lanes)}"
        code = f"call {whole} @{name}({operand}, i1 false)"
        return self.make(code, kind, lanes, operand.reads)

    def _convert(self, expr: Cast | Bitcast, operand: Value) -> Value:
        source, target = expr.operand.dtype, expr.dtype
        kind = llvm_type(target)
        if isinstance(expr, Bitcast):
            if source == INDEX:
                operand = self._as_integer(operand, "i64")
            return operand if kind == operand.type else self._as(operand, kind, "bitcast")
        # instructions for float16; others are expanded before
        if source == "float16":
            return self._as(self._as(operand, "half", "bitcast"), kind, "fpext")
        if target == "float16":
            return self._as(self._as(operand, "half", "fptrunc"), kind, "bitcast")
        if kind == operand.type:
            return operand
        if kind == "i1":
            zero = "zeroinitializer" if operand.lanes else "0"
            code = f"icmp ne {operand}, {zero}"
            if dtypes.is_float(source):
                code = f"fcmp une {operand}, {'zeroinitializer' if operand.lanes else '0.0'}"
            return self.make(code, kind, operand.lanes, operand.reads)
        return self._as(operand, kind, _conversion(source, target, operand.type, kind))

    def _as(self, operand: Value, kind: str, how: str) -> Value:
        whole = vector_type(kind, operand.lanes)
        return self.make(f"{how} {operand} to {whole}", kind, operand.lanes, operand.reads)

    def _call(self, expr: Call, args: list[Value]) -> Value:
        if any(arg.lanes for arg in args):
            args = [self.broadcast(arg) for arg in args]
        if expr.dtype == INDEX:
            args = [self._as_integer(arg, "i64") for arg in args]
        first = args[0]
        name = _INTRINSICS.get(expr.function)
        if name is None:
            raise RelayError(f"function `{expr.function}` has no code for {expr.dtype}")
        reads = frozenset().union(*(arg.reads for arg in args))
        extra = ", i1 false" if expr.function == "clz" else ""
        given = ", ".join(map(str, args)) + extra
        callee, kind = f"@llvm.{name}.{suffix(first.type, first.lanes)}", first.type
        if expr.function == "nearest":
            kind = llvm_type(expr.dtype)
            callee = f"@llvm.{name}.{suffix(kind, first.lanes)}.{suffix(first.type, first.lanes)}"
        code = f"call {vector_type(kind, first.lanes)} {callee}({given})"
        return self.make(code, kind, first.lanes, reads)


_INTRINSICS = {
    "sqrt": "sqrt",
    "fma": "fma",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "rint",
    "nearest": "lrint",
    "copysign": "copysign",
    "popcount": "ctpop",
    "clz": "ctlz",
}


def _conversion(source: str, target: str, from_type: str, to_type: str) -> str:
    """The LLVM instruction of a cast; undefined cases are handled before."""
    if dtypes.is_float(source):
        if dtypes.is_float(target):
            return "fpext" if bits(to_type) > bits(from_type) else "fptrunc"
        return "fptosi" if is_signed(target) else "fptoui"
    signed = is_signed(source)
    if dtypes.is_float(target):
        return "sitofp" if signed else "uitofp"
    if bits(to_type) < bits(from_type):
        return "trunc"
    return "sext" if signed else "zext"
