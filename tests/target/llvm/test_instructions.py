"""Every operation on every element type gives what its definition gives, at its edges above all."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from relay import dtypes, te
from relay.errors import RelayError
from relay.lower.kernel import Lowered
from relay.target.llvm.codegen import generate
from relay.target.target import Target
from relay.te import arithmetic
from relay.te.evaluate import evaluate
from relay.te.expr import BINARY, COMPARE, UNARY, Expr, binary, compare, unary, width
from relay.te.loops import Buffer, Builder, Kind
from tests.support.kernels import Batch
from tests.target.llvm.kernels import LEVEL_NAMES, LEVELS, function_of, loops_of

Body = Callable[[Expr, Expr], Expr]

FLOAT_ONLY = ("div",)
INTEGER_ONLY = ("and", "or", "xor", "shl", "shr", "not")
FLOAT_FUNCTIONS = ("sqrt", "floor", "ceil", "trunc", "round", "isnan", "isinf", "isfinite")
INTEGER_FUNCTIONS = ("popcount", "clz")


def operations(dtype: str) -> dict[str, Body]:
    """Everything that takes one or two values of a type, by name."""
    is_float = dtypes.is_float(dtype)
    unwanted = INTEGER_ONLY if is_float else FLOAT_ONLY
    found: dict[str, Body] = {}
    for op in (op for op in BINARY if op not in unwanted):
        found[op] = lambda a, b, op=op: binary(op, a, b)
    for op in COMPARE:
        found[op] = lambda a, b, op=op: compare(op, a, b)
    for op in (op for op in UNARY if op not in unwanted):
        found[op] = lambda a, b, op=op: unary(op, a)
    for name in FLOAT_FUNCTIONS if is_float else INTEGER_FUNCTIONS:
        if dtype != "bool":
            found[name] = lambda a, b, name=name: te.call(name, a)
    if is_float:
        found["copysign"] = lambda a, b: te.call("copysign", a, b)
    found["select"] = lambda a, b: te.select(a < b, a, b)
    for target in dtypes.NAMES:
        if target != dtype:
            found[f"to {target}"] = lambda a, b, target=target: te.cast(a, target)
            if width(target) == width(dtype):
                found[f"bits as {target}"] = lambda a, b, target=target: te.bitcast(a, target)
    return found


def some_operations(dtype: str) -> dict[str, Body]:
    """Those that are written here; conversions, and functions written out, have their own tests."""
    short = dtypes.is_float(dtype) and dtype != "float32"
    long = ("mod", "floordiv", "truncmod", "truncdiv") if short else ()
    return {
        name: body
        for name, body in operations(dtype).items()
        if not name.startswith(("to ", "bits ")) and name not in long
    }


def with_constants(dtype: str) -> dict[str, Body]:
    """Operations whose right side is known when the code is made: some have shorter ways then."""
    found: dict[str, Body] = {}
    for number in edges(dtype)[:: 1 if width(dtype) < 8 else 3]:
        constant = te.const(number.item() if number.dtype.kind != "V" else float(number), dtype)
        for op in ("floordiv", "mod", "truncdiv", "truncmod", "min", "max", "shl", "shr"):
            if not dtypes.is_float(dtype) or op in ("min", "max"):
                found[f"{op} {number}"] = lambda a, b, op=op, c=constant: binary(op, a, c)
    return found


def edges(dtype: str) -> np.ndarray:
    """The values of a type where things happen."""
    stored = dtypes.to_numpy(dtype)
    if dtypes.is_float(dtype):
        most = float(ml_dtypes.finfo(stored).max)
        smallest = {"float64": 5e-324, "float32": 1e-45, "float16": 6e-8, "bfloat16": 9e-41}
        sizes = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 7.0, most, smallest.get(dtype, 0.002), np.inf]
        numbers = [*sizes, *(-size for size in sizes), np.nan]
        with np.errstate(all="ignore"):
            return np.array(numbers).astype(stored)
    if dtype == "bool":
        return np.array([False, True])
    bits = width(dtype)
    low, high = (
        (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype in dtypes.SIGNED else (0, 2**bits - 1)
    )
    near = {low, low + 1, -7, -3, -2, -1, 0, 1, 2, 3, 7, bits - 1, bits, bits + 1, high - 1, high}
    carried = [n for n in sorted(near) if low <= n <= high]
    return np.array(carried, arithmetic.carrier(dtype)).astype(stored)


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Every edge with every other."""
    values = edges(dtype)
    both = list(itertools.product(range(len(values)), repeat=2))
    return values[[i for i, _ in both]], values[[j for _, j in both]]


def kernel(dtype: str, bodies: dict[str, Body], lanes: int, count: int, target: Target) -> Lowered:
    """All operations in one loop, a result for each; over scalars when `lanes` is 0."""
    size = (te.index(count),)
    a, b = Buffer("a", size, dtype), Buffer("b", size, dtype)
    made = [body(a[0], b[0]).dtype for body in bodies.values()]
    outputs = [Buffer(f"y{i}", size, kind) for i, kind in enumerate(made)]

    def write(builder: Builder) -> None:
        step = lanes or 1
        with builder.loop(-(-count // step)) as outer:
            if not lanes:
                for output, body in zip(outputs, bodies.values(), strict=True):
                    builder.store(output, outer, body(a[outer], b[outer]))
                return
            with builder.loop(lanes, kind=Kind.VECTOR) as lane:
                at = outer * lanes + lane
                with builder.if_(at < count):
                    for output, body in zip(outputs, bodies.values(), strict=True):
                        builder.store(output, at, body(a[at], b[at]))

    name = f"{dtype}_{lanes}_{len(bodies)}"
    return function_of(loops_of((a, b), outputs, write), target, name)


def expected(dtype: str, body: Body, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    x, y = te.placeholder(a.shape, dtype, "x"), te.placeholder(b.shape, dtype, "y")
    (result,) = evaluate([te.compute(a.shape, lambda i: body(x[i], y[i]))], {x: a, y: b})
    return result


def assert_same(found: np.ndarray, wanted: np.ndarray, what: str, exact_zeros: bool = True) -> None:
    """The same numbers: NaN is NaN, and zeros have signs."""
    if not dtypes.is_float(dtypes.from_numpy(wanted.dtype)):
        np.testing.assert_array_equal(found, wanted, what)
        return
    left, right = found.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_array_equal(left, right, what)
    if exact_zeros:
        numbers = ~np.isnan(right)
        np.testing.assert_array_equal(np.signbit(left)[numbers], np.signbit(right)[numbers], what)


def native_lanes(dtype: str, target: Target) -> int:
    return target.vector_bits // 8 // max(4, arithmetic.carrier(dtype).itemsize)


def check(target: Target, cases: list[tuple[str, int, dict[str, Body]]]) -> None:
    """All (type, lanes, operations) in one module, each result against its definition."""
    values = {dtype: pairs(dtype) for dtype, _, _ in cases}
    functions = [
        kernel(dtype, bodies, lanes, len(values[dtype][0]), target)
        for dtype, lanes, bodies in cases
    ]
    batch = Batch(functions, target)
    for number, (dtype, lanes, bodies) in enumerate(cases):
        a, b = values[dtype]
        results = batch.run(number, [a, b]).results
        for (name, body), result in zip(bodies.items(), results, strict=True):
            what = f"{name} of {dtype}, {lanes} lanes"
            zeros = not name.startswith(("min", "max"))  # which zero of two is open
            # NaN becomes a zero where a type has none, and a NaN may have either sign
            zeros = zeros and (not dtypes.is_float(dtype) or np.isnan(a).any())
            assert_same(result, expected(dtype, body, a, b), what, zeros)


def widths(dtype: str, target: Target) -> tuple[int, ...]:
    """Scalars, whole vectors, and a number of lanes that no processor has."""
    return 0, native_lanes(dtype, target), 3


def sampled(target: Target) -> list[tuple[str, int]]:
    """Every type at one of its widths, another one at every level."""
    return [
        (dtype, widths(dtype, target)[(i + LEVELS.index(target)) % 3])
        for i, dtype in enumerate(dtypes.NAMES)
    ]


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_operations_on_scalars_and_vectors_are_what_they_are_defined_as(target: Target) -> None:
    check(target, [(dtype, lanes, some_operations(dtype)) for dtype, lanes in sampled(target)])


@pytest.mark.full
@pytest.mark.parametrize("dtype", dtypes.NAMES)
@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_every_operation_at_every_width(target: Target, dtype: str) -> None:
    every = {**operations(dtype), **with_constants(dtype)}
    check(target, [(dtype, lanes, every) for lanes in widths(dtype, target)])


def test_what_is_known_of_the_right_side_changes_no_result() -> None:
    target = LEVELS[0]
    check(target, [(dtype, lanes, with_constants(dtype)) for dtype, lanes in sampled(target)])


def test_positions_are_not_expected_to_wrap_and_numbers_are() -> None:
    """`nsw` lets LLVM simplify addresses; on int64 from memory it would be a lie."""
    x, y = Buffer("x", (te.index(8),), "int64"), Buffer("y", (te.index(8),), "int64")

    def write(b: Builder) -> None:
        with b.loop(7) as i:
            b.store(y, i + 1, x[i] + x[i + 1])

    text = function_of(loops_of([x], [y], write)).steps[0].kernel.ir
    assert "add nsw i64 %i" not in text.replace("add nuw nsw", "")  # a displacement does
    assert text.count(" add i64 ") == 1  # the sum


def test_a_function_without_code_is_refused_by_name() -> None:
    x, y = Buffer("x", (), "float32"), Buffer("y", (), "float32")
    loops = loops_of([x], [y], lambda b: b.store(y, (), te.call("tanh", x[()])))
    with pytest.raises(RelayError, match="function `tanh` has no code for float32"):
        generate("kernel", loops, LEVELS[0])
