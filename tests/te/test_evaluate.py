"""The slow evaluator means what NumPy and the language mean, and finds what kernels must not do."""

import itertools

import numpy as np
import pytest

from relay import dtypes, te
from relay.errors import RelayError
from relay.op.building.numerics import convert
from relay.scalar_functions import FUNCTIONS, PREDICATES
from relay.te import arithmetic
from relay.te.evaluate import evaluate, run
from relay.te.expr import (
    BINARY,
    COMPARE,
    UNARY,
    binary,
    compare,
    fold,
    unary,
)
from relay.te.loops import Kind
from tests.support.looping import each

INTEGERS = (*dtypes.SIGNED, *dtypes.UNSIGNED)
FLOATS = (*dtypes.FLOATS, *dtypes.FLOAT8)


def values(dtype):
    """Small, large and special numbers of a type."""
    if dtype == "bool":
        return np.array([False, True])
    if dtypes.is_float(dtype):
        chosen = [0.0, -0.0, 1.0, -1.5, 3.25, -7.0, 100.0, np.inf, -np.inf, np.nan]
        return np.array(chosen).astype(dtypes.to_numpy(dtype))
    low, high = te.lowest(dtype).value, te.highest(dtype).value
    chosen = {low, low + 1, high, high - 1, 0, 1, 2, 3, 5, max(low, -1), max(low, -3)}
    wide = np.uint64 if dtype == "uint64" else np.int64
    return np.array(sorted(chosen), wide).astype(dtypes.to_numpy(dtype))


def grid(dtype):
    """All pairs of `values`."""
    pairs = list(itertools.product(values(dtype), repeat=2))
    return tuple(np.array(side, dtypes.to_numpy(dtype)) for side in zip(*pairs, strict=True))


def wide(array):
    """In a type of NumPy's own, which knows when two NaNs are equal."""
    return arithmetic.load(array, dtypes.from_numpy(array.dtype))


def both_ways(body, *arrays):
    """`body` of the elements, as a tensor and as a loop; they must agree bit by bit."""
    sources = [te.placeholder(a.shape, dtypes.from_numpy(a.dtype), "x") for a in arrays]
    inputs = dict(zip(sources, arrays, strict=True))
    element = body(*(source[0] for source in sources))

    def write(b, out):
        with b.loop(len(arrays[0]), kind=Kind.PARALLEL) as i:
            b.store(out, i, body(*(source[i] for source in sources)))

    tensor = te.compute(arrays[0].shape, lambda i: body(*(source[i] for source in sources)))
    (loop,) = te.procedure(sources, [(arrays[0].shape, element.dtype)], write)
    computed, stepped = evaluate([tensor, loop], inputs)
    assert computed.dtype == stepped.dtype == dtypes.to_numpy(element.dtype)
    np.testing.assert_array_equal(wide(computed), wide(stepped))
    return computed


def test_a_matrix_product_is_numpys() -> None:
    x, y = te.placeholder((4, 7), "float32"), te.placeholder((7, 3), "float32")
    k = te.axis(7)
    z = te.compute((4, 3), lambda i, j: te.sum(x[i, k] * y[k, j], k) / 2.0)
    a, b = np.random.default_rng(0).random((2, 28), np.float32)
    a, b = a.reshape(4, 7), b[:21].reshape(7, 3)
    np.testing.assert_allclose(evaluate([z], {x: a, y: b})[0], a @ b / 2, rtol=1e-6)


def test_a_reduction_to_a_scalar_and_one_over_nothing() -> None:
    x, e = te.placeholder((5,), "int32"), te.placeholder((0,), "int32")
    k, n = te.axis(5), te.axis(0)
    total = te.compute((), lambda: te.sum(x[k], k))
    nothing = te.compute((), lambda: te.max(e[n], n))
    found = evaluate([total, nothing], {x: np.arange(5, dtype="i4"), e: np.zeros(0, "i4")})
    assert [array.item() for array in found] == [10, -(2**31)]


def test_where_the_largest_is() -> None:
    x = te.placeholder((3, 9), "float32")
    k = te.axis(9)
    y = te.compute((3,), lambda i: te.argmax(x[i, k], k, k)[1])
    a = np.random.default_rng(0).integers(0, 4, (3, 9)).astype("f4")
    a[1, 5] = np.nan
    np.testing.assert_array_equal(evaluate([y], {x: a})[0], a.argmax(1))


def test_a_large_grid_is_cut_and_says_the_same(monkeypatch) -> None:
    x = te.placeholder((9, 8), "int64")
    k = te.axis(8)
    y = te.compute((9, 2), lambda i, j: te.sum(x[i, k] * (j + 1), k))
    a = np.arange(72).reshape(9, 8)
    whole = evaluate([y], {x: a})[0]
    monkeypatch.setattr("relay.te.evaluate._GRID", 40)
    np.testing.assert_array_equal(evaluate([y], {x: a})[0], whole)
    np.testing.assert_array_equal(whole[:, 1], 2 * a.sum(1))


def test_sizes_come_from_the_inputs() -> None:
    n = te.Var("int64", "n")
    x = te.placeholder((n,), "float32")
    k = te.axis(n)
    mean = te.compute((), lambda: te.sum(x[k], k) / te.cast(n, "float32"))
    assert evaluate([mean], {x: np.arange(5, dtype="f4")})[0] == 2
    twice = te.compute((n * 2,), lambda i: x[i // 2])
    assert evaluate([twice], {x: np.arange(3, dtype="f4")})[0].tolist() == [0, 0, 1, 1, 2, 2]


def test_the_side_not_selected_is_not_read() -> None:
    x = te.placeholder((3,), "float32", "x")
    padded = te.compute((5,), lambda i: te.select((i > 0) & (i < 4), x[i - 1] * 2.0, -1.0))
    found = evaluate([padded], {x: np.arange(3, dtype="f4")})[0]
    assert found.tolist() == [-1, 0, 2, 4, -1]


@pytest.mark.parametrize("loop", [False, True])
def test_an_index_out_of_range_is_named(loop: bool) -> None:
    x = te.placeholder((3, 4), "float32", "image")

    def write(b, out):
        with b.loop(4) as i:
            b.store(out, i, te.select(i >= 0, x[i, 1] + 1.0, 0.0))

    if loop:
        (y,) = te.procedure([x], [((4,), "float32")], write)
    else:
        y = te.compute((4,), lambda i: te.select(i >= 0, x[i, 1] + 1.0, 0.0))
    with pytest.raises(RelayError, match=r"index 3 is out of range for axis 0 of `image`.* 3 "):
        evaluate([y], {x: np.zeros((3, 4), "f4")})


def test_a_store_out_of_range_is_named() -> None:
    def write(b, out):
        with b.loop(4) as i:
            b.store(out, i - 1, 0.0)

    with pytest.raises(RelayError, match=r"index -1 .* `procedure_0`"):
        evaluate(te.procedure([], [((4,), "float32")], write), {})


def operations(dtype):
    if dtypes.is_float(dtype):
        return ("add", "sub", "mul", "div", "floordiv", "mod", "truncdiv", "truncmod", "min", "max")
    if dtype == "bool":
        return ("and", "or", "xor", "min", "max")
    return tuple(op for op in BINARY if op != "div")


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "bool"])
def test_every_operation_means_the_same_in_tensors_and_in_loops(dtype: str) -> None:
    a, b = grid(dtype)
    for op in operations(dtype):
        found = both_ways(lambda x, y, op=op: binary(op, x, y), a, b)
        if not dtypes.is_float(dtype):
            exact = [fold(op, int(x), int(y), dtype) for x, y in zip(a, b, strict=True)]
            assert found.tolist() == [te.const(each, dtype).value for each in exact], op
    for op in COMPARE:
        both_ways(lambda x, y, op=op: compare(op, x, y), a, b)
    for op in UNARY:
        if op != "not" or not dtypes.is_float(dtype):
            both_ways(lambda x, op=op: unary(op, x), values(dtype))


def test_float_operations_are_numpys() -> None:
    a, b = grid("float64")
    with np.errstate(all="ignore"):
        for op, expected in {
            "floordiv": np.floor_divide(a, b),
            "mod": np.mod(a, b),
            "truncmod": np.fmod(a, b),
            "min": np.minimum(a, b),
            "max": np.maximum(a, b),
        }.items():
            found = both_ways(lambda x, y, op=op: binary(op, x, y), a, b)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("target", dtypes.NAMES)
@each("source", dtypes.NAMES)
def test_a_cast_is_that_of_the_language(source: str, target: str) -> None:
    array = values(source)
    found = both_ways(lambda x: te.cast(x, target), array)
    with np.errstate(all="ignore"):
        expected = convert(array, target)
    np.testing.assert_array_equal(wide(found), wide(expected))


def test_a_narrow_float_is_rounded_where_it_is_stored_or_cast_to() -> None:
    x = np.array([2048.0], "f2")
    assert both_ways(lambda x: (x + 1.0) - x, x)[0] == 1.0
    assert both_ways(lambda x: te.cast(te.cast(x + 1.0, "float32"), "float16") - x, x)[0] == 0.0


def test_the_bits_of_a_number() -> None:
    x = np.array([1.0, -2.0], "f4")
    assert both_ways(lambda x: te.bitcast(x, "int32"), x).tolist() == [0x3F800000, -0x40000000]
    y = np.array([0x3C00, 0xC000], "u2")
    assert both_ways(lambda y: te.bitcast(y, "float16"), y).tolist() == [1.0, -2.0]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_of_floats(function: str) -> None:
    for dtype in ("float16", "float32", "float64"):
        if function in ("popcount", "clz"):
            continue
        args = [np.array([0.25, 0.5, 0.75, 1.0], dtype)] * FUNCTIONS[function].arguments
        found = both_ways(lambda *x: te.call(function, *x), *args)
        assert found.dtype == (bool if function in PREDICATES else dtype)
        assert not np.isnan(found.astype(float)).any() or function == "acosh"


def test_counting_bits() -> None:
    for dtype in ("int8", "uint8", "int32", "uint64", "int4"):
        bits = te.width(dtype)
        array = values(dtype)
        whole = [int(x) & (1 << bits) - 1 for x in array]
        ones = both_ways(lambda x: te.call("popcount", x), array)
        zeros = both_ways(lambda x: te.call("clz", x), array)
        # eight ones are a negative number in four bits: counts wrap like all integers
        assert ones.tolist() == [te.const(x.bit_count(), dtype).value for x in whole]
        assert zeros.tolist() == [te.const(bits - x.bit_length(), dtype).value for x in whole]


def test_fma_rounds_once() -> None:
    a = np.array([1 + 2.0**-30, 1.0, np.inf, 2.0**600])
    b = np.array([1 - 2.0**-30, -1.0, 1.0, 2.0**600])
    c = np.array([-1.0, 1.0, 1.0, -np.inf])
    found = both_ways(lambda x, y, z: te.call("fma", x, y, z), a, b, c)
    assert found.tolist() == [-(2.0**-60), 0.0, np.inf, -np.inf]


def test_loops_of_every_kind_branches_and_locals() -> None:
    x = te.placeholder((6,), "int32", "x")

    def write(b, out, length):
        """Collatz steps."""
        with b.loop(6, kind=Kind.PARALLEL) as i:
            n = b.variable("int32", x[i])
            steps = b.variable("int32", 0)
            with b.while_(n[()] > 1):
                half = b.let(n[()] // 2)
                with b.if_(te.equal(n[()] % 2, 0)):
                    b.store(n, (), half)
                with b.else_():
                    b.store(n, (), n[()] * 3 + 1)
                b.store(steps, (), steps[()] + 1)
            b.store(length, i, steps[()])
        for kind in Kind:
            with b.loop(2, kind=kind) as j, b.if_(j > 0), b.loop(6, kind=kind) as i:
                b.store(out, i, x[i] + 1)

    made = te.procedure([x], [((6,), "int32")] * 2, write)
    array = np.array([1, 2, 3, 6, 7, 27], "i4")
    plus, steps = evaluate(made, {x: array})
    assert plus.tolist() == (array + 1).tolist()
    assert steps.tolist() == [0, 1, 7, 8, 16, 111]


def test_iterations_that_need_their_neighbors_are_found_out() -> None:
    out = te.Buffer("out", (te.index(64),), "int64")
    b = te.Builder()
    with b.loop(63, kind=Kind.PARALLEL) as i:
        b.store(out, i + 1, out[i] + 1)
    array = np.zeros(64, np.int64)
    run(b.finish(), {out: array})
    assert array.tolist() != list(range(64))


def test_memory_that_nobody_wrote_holds_nonsense() -> None:
    def write(b, out):
        scratch = b.local("float32", (4,))
        with b.loop(4) as i:
            b.store(out, i, scratch[i])

    (out,) = te.procedure([], [((4,), "float32")], write)
    assert np.isnan(evaluate([out], {})[0]).all()


def test_expressions_and_statements_of_any_depth() -> None:
    x = te.placeholder((2,), "int64", "x")

    def body(i):
        value = x[i]
        for _ in range(5000):
            value = value + x[i]
        return value

    def write(b, out):
        value = b.let(x[0])
        for _ in range(3000):
            value = b.let(value + x[1])
        b.store(out, 0, value)

    (chain,) = te.procedure([x], [((1,), "int64")], write)
    wide_one = te.compute((2,), body)
    for _ in range(2000):
        wide_one = te.compute((2,), lambda i, y=wide_one: y[i] + 1)
    found = evaluate([wide_one, chain], {x: np.array([1, 2])})
    assert [array.tolist() for array in found] == [[7001, 12002], [6001]]


def test_what_is_missing_or_of_another_shape_is_named() -> None:
    x = te.placeholder((2,), "int64", "x")
    y = te.compute((2,), lambda i: x[i])
    with pytest.raises(RelayError, match="`x` has no value"):
        evaluate([y], {})
    with pytest.raises(RelayError, match=r"`x` is int64\[2\], found float64\[3\]"):
        evaluate([y], {x: np.zeros(3)})
