"""What operators compute, against PyTorch, SciPy and formulas in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.special
import torch
import torch.nn.functional as F

from relay.op.opdef import get

RANDOM = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def same_values_whatever_ran_before() -> None:
    RANDOM.bit_generator.state = np.random.default_rng(7).bit_generator.state


def run(name: str, *args: Any, **attrs: Any) -> Any:
    """The operator's reference, with defaults filled in."""
    op = get(name)
    made = op.make_attrs(attrs)
    return op.reference(*args, **(dict(made.items()) if made else {}))


def uniform(*shape: int, low: float = -2.0, high: float = 2.0, dtype: Any = "float32") -> Any:
    return RANDOM.uniform(low, high, shape).astype(dtype)


def integers(*shape: int, low: int = -9, high: int = 9, dtype: str = "int32") -> Any:
    return RANDOM.integers(low, high, shape).astype(dtype)


def close(found: Any, expected: Any, rtol: float = 2e-6, atol: float = 1e-6) -> None:
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(
        found.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=atol
    )


def torch_of(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array.copy())


# --- element by element ------------------------------------------------------------------------

FLOAT_FUNCTIONS: dict[str, tuple[Callable[..., Any], float, float]] = {
    "exp": (np.exp, -5, 5),
    "log": (np.log, 0.01, 9),
    "log2": (np.log2, 0.01, 9),
    "log10": (np.log10, 0.01, 9),
    "sqrt": (np.sqrt, 0, 9),
    "rsqrt": (lambda x: x**-0.5, 0.01, 9),
    "sigmoid": (scipy.special.expit, -30, 30),
    "erf": (scipy.special.erf, -4, 4),
    "sin": (np.sin, -9, 9),
    "cos": (np.cos, -9, 9),
    "tan": (np.tan, -1.4, 1.4),
    "asin": (np.arcsin, -1, 1),
    "acos": (np.arccos, -1, 1),
    "atan": (np.arctan, -9, 9),
    "sinh": (np.sinh, -4, 4),
    "cosh": (np.cosh, -4, 4),
    "tanh": (np.tanh, -4, 4),
    "asinh": (np.arcsinh, -9, 9),
    "acosh": (np.arccosh, 1, 9),
    "atanh": (np.arctanh, -0.95, 0.95),
    "floor": (np.floor, -9, 9),
    "ceil": (np.ceil, -9, 9),
    "trunc": (np.trunc, -9, 9),
    "round": (np.round, -9, 9),
    "abs": (np.abs, -9, 9),
    "negative": (np.negative, -9, 9),
    "sign": (np.sign, -9, 9),
    "nn.relu": (lambda x: np.maximum(x, 0), -9, 9),
}
HALF_A_UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 4e-6, "float64": 1e-13}


@pytest.mark.parametrize("dtype", HALF_A_UNIT)
@pytest.mark.parametrize("name", FLOAT_FUNCTIONS)
def test_functions_of_reals_are_those_of_float64_rounded(name: str, dtype: str) -> None:
    function, low, high = FLOAT_FUNCTIONS[name]
    stored = np.dtype(getattr(ml_dtypes, dtype, dtype))
    data = uniform(4, 50, low=low, high=high, dtype=np.float64).astype(stored)
    if low >= 1:
        data = np.maximum(data, stored.type(low))
    found = run(name, data)
    assert found.dtype == stored
    exact = function(data.astype(np.float64))
    # rounded once: half a unit in the last place, and a little for the float32 computation
    close(found, exact, rtol=HALF_A_UNIT[dtype] * 1.01, atol=HALF_A_UNIT[dtype] * 1e-2)


@pytest.mark.parametrize("name", sorted({*FLOAT_FUNCTIONS, "isnan", "copy", "zeros_like"}))
def test_scalars_and_empty_tensors_are_tensors_like_others(name: str) -> None:
    data = np.float32(1.0)
    assert run(name, np.asarray(data)).shape == ()
    assert run(name, np.zeros((2, 0, 3), "float32")).shape == (2, 0, 3)


def test_special_values_go_their_way_without_a_warning() -> None:
    data = np.array([np.nan, np.inf, -np.inf, -1.0, 0.0], "float32")
    np.testing.assert_array_equal(run("log", data), [np.nan, np.inf, np.nan, np.nan, -np.inf])
    np.testing.assert_array_equal(run("sqrt", data), [np.nan, np.inf, np.nan, np.nan, 0.0])
    np.testing.assert_array_equal(run("rsqrt", data), [np.nan, 0.0, np.nan, np.nan, np.inf])
    np.testing.assert_array_equal(run("exp", data * 1000), [np.nan, np.inf, 0.0, 0.0, 1.0])
    np.testing.assert_array_equal(run("sigmoid", data * 1000), [np.nan, 1.0, 0.0, 0.0, 0.5])
    np.testing.assert_array_equal(run("sign", data), [np.nan, 1, -1, -1, 0])
    np.testing.assert_array_equal(run("isnan", data), [True, False, False, False, False])
    np.testing.assert_array_equal(run("isinf", data), [False, True, True, False, False])
    np.testing.assert_array_equal(run("isfinite", data), [False, False, False, True, True])


def test_a_sigmoid_far_out_keeps_its_precision() -> None:
    found = run("sigmoid", np.array([-80.0, -20.0, 20.0], "float32"))
    close(found, scipy.special.expit(np.array([-80.0, -20.0, 20.0])), rtol=1e-5, atol=0)


def test_halves_round_to_even() -> None:
    found = run("round", np.array([0.5, 1.5, 2.5, -0.5, -1.5], "float32"))
    np.testing.assert_array_equal(found, [0, 2, 2, 0, -2])


def test_nan_passes_through_minima_maxima_relu_and_clip() -> None:
    data = np.array([np.nan, -3.0, 5.0], "float32")
    one = np.array(1.0, "float32")
    np.testing.assert_array_equal(run("maximum", data, one), [np.nan, 1, 5])
    np.testing.assert_array_equal(run("minimum", one, data), [np.nan, -3, 1])
    np.testing.assert_array_equal(run("nn.relu", data), [np.nan, 0, 5])
    np.testing.assert_array_equal(run("nn.leaky_relu", data, alpha=0.5), [np.nan, -1.5, 5])
    np.testing.assert_array_equal(run("clip", data, a_min=-1.0, a_max=2.0), [np.nan, -1, 2])
    np.testing.assert_array_equal(run("max", data), np.nan)
    np.testing.assert_array_equal(run("min", data), np.nan)


def test_clipping_integers_keeps_them_inside_the_bounds() -> None:
    data = np.array([-128, -3, 0, 3, 127], "int8")
    np.testing.assert_array_equal(run("clip", data, a_min=-2.5, a_max=2.5), [-2, -2, 0, 2, 2])
    np.testing.assert_array_equal(run("clip", data, a_min=-1e9, a_max=float("inf")), data)
    np.testing.assert_array_equal(run("clip", data, a_min=0.5, a_max=6.0), [1, 1, 1, 3, 6])
    unsigned = np.array([0, 5, 255], "uint8")
    np.testing.assert_array_equal(run("clip", unsigned, a_min=-3.0, a_max=6.0), [0, 5, 6])


# --- integers ----------------------------------------------------------------------------------

EVERY_INT8 = np.arange(-128, 128).astype("int8")
PAIRS = np.meshgrid(EVERY_INT8, EVERY_INT8)


def wrapped(value: int, bits: int = 8) -> int:
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def integer_power(a: int, b: int) -> int:
    if b >= 0:
        return pow(a, b)
    return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)


INTEGER_RULES: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: truncated(a, b) if b else 0,
    "trunc_divide": lambda a, b: truncated(a, b) if b else 0,
    "floor_divide": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a - b * truncated(a, b) if b else a,
    "trunc_mod": lambda a, b: a - b * truncated(a, b) if b else a,
    "floor_mod": lambda a, b: a % b if b else a,
    "power": integer_power,
    "maximum": max,
    "minimum": min,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "left_shift": lambda a, b: a << b if 0 <= b < 8 else 0,
    "right_shift": lambda a, b: a >> b if 0 <= b < 8 else (-1 if a < 0 else 0),
}


@pytest.mark.parametrize("name", INTEGER_RULES)
def test_integer_arithmetic_is_defined_for_every_pair(name: str) -> None:
    found = run(name, *PAIRS)
    assert found.dtype == np.int8
    rule = INTEGER_RULES[name]
    expected = [
        wrapped(rule(a, b)) for a, b in zip(*(p.ravel().tolist() for p in PAIRS), strict=True)
    ]
    np.testing.assert_array_equal(found.ravel(), expected)


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
@pytest.mark.parametrize("name", INTEGER_RULES)
def test_four_bit_integers_follow_the_same_rules(name: str, dtype: str) -> None:
    low, bits = (-8, 4) if dtype == "int4" else (0, 4)
    values = np.arange(low, low + 16)
    stored = np.dtype(getattr(ml_dtypes, dtype))
    a, b = (x.ravel() for x in np.meshgrid(values, values))
    if name in ("left_shift", "right_shift"):
        a, b = a[b >= 0], b[b >= 0]
        rule: Any = (lambda x, n: x << n) if name == "left_shift" else (lambda x, n: x >> n)
    else:
        rule = INTEGER_RULES[name]
    found = run(name, a.astype(stored), b.astype(stored))
    expected = [rule(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    expected = [wrapped(e, bits) if dtype == "int4" else e % 16 for e in expected]
    np.testing.assert_array_equal(found.astype(int), expected)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64", "uint64"])
def test_division_holds_together_in_every_width(dtype: str) -> None:
    info = np.iinfo(dtype)
    values = np.array([info.min, info.min + 1, 0, 1, 2, 7, info.max - 1, info.max], dtype)
    if info.min < 0:
        values = np.concatenate([values, np.array([-1, -7], dtype)])
    a, b = np.meshgrid(values, values)
    for quotient, rest in (("divide", "mod"), ("floor_divide", "floor_mod")):
        with np.errstate(all="ignore"):
            whole = b * run(quotient, a, b) + run(rest, a, b)
        np.testing.assert_array_equal(whole, a)


def test_negating_and_the_absolute_value_wrap() -> None:
    lowest = np.array([-128, 127], "int8")
    np.testing.assert_array_equal(run("negative", lowest), [-128, -127])
    np.testing.assert_array_equal(run("abs", lowest), [-128, 127])
    np.testing.assert_array_equal(run("negative", np.array([1, 0], "uint8")), [255, 0])
    np.testing.assert_array_equal(run("bitwise_not", np.array([0, -1], "int8")), [-1, 0])
    np.testing.assert_array_equal(run("bitwise_not", np.array([True, False])), [False, True])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "rounding"), [("trunc_divide", "trunc"), ("floor_divide", "floor"), ("divide", None)]
)
def test_dividing_floats_agrees_with_torch(name: str, rounding: str | None, dtype: str) -> None:
    a, b = uniform(3, 40, dtype=dtype) * 100, uniform(40, dtype=dtype)
    b[:2] = 0.0
    expected = torch.div(torch_of(a), torch_of(b), rounding_mode=rounding)
    np.testing.assert_array_equal(run(name, a, b), expected.numpy())


def test_the_rest_of_floats_agrees_with_torch() -> None:
    a, b = uniform(3, 40) * 100, uniform(40)
    np.testing.assert_array_equal(run("mod", a, b), torch.fmod(torch_of(a), torch_of(b)).numpy())
    expected = torch.remainder(torch_of(a), torch_of(b)).numpy()
    np.testing.assert_array_equal(run("floor_mod", a, b), expected)


def test_comparisons_agree_with_torch_nan_included() -> None:
    a = np.array([[1.0, np.nan, np.inf, -2.0]], "float32")
    b = np.array([[1.0], [np.nan], [2.0]], "float32")
    for name, function in {
        "equal": torch.eq,
        "not_equal": torch.ne,
        "less": torch.lt,
        "less_equal": torch.le,
        "greater": torch.gt,
        "greater_equal": torch.ge,
    }.items():
        np.testing.assert_array_equal(run(name, a, b), function(torch_of(a), torch_of(b)).numpy())


def test_where_picks_with_broadcasting() -> None:
    condition = np.array([[True], [False]])
    found = run("where", condition, np.array([1, 2, 3], "int8"), np.array(9, "int8"))
    np.testing.assert_array_equal(found, [[1, 2, 3], [9, 9, 9]])
    assert found.dtype == np.int8


# --- conversion --------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("target", ["int4", "uint4", "int8", "uint8", "int32", "int64", "uint64"])
def test_floats_saturate_on_the_way_to_integers(source: str, target: str) -> None:
    exact = [np.nan, np.inf, -np.inf, 1e30, -1e30, 2.7, -2.7, -0.5, 7.0, 2.0**63, -(2.0**63)]
    with np.errstate(over="ignore"):
        data = np.array(exact).astype(np.dtype(getattr(ml_dtypes, source, source)))
    info = ml_dtypes.iinfo(np.dtype(getattr(ml_dtypes, target, target)))

    def rule(value: float) -> int:
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return int(info.max if value > 0 else info.min)
        return min(max(math.trunc(value), int(info.min)), int(info.max))

    found = run("cast", data, dtype=target)
    assert [int(v) for v in found] == [rule(float(v)) for v in data]


def test_other_conversions_keep_low_bits_and_truth() -> None:
    wide = np.array([-1, 255, 256, 300, -129], "int32")
    np.testing.assert_array_equal(run("cast", wide, dtype="int8"), [-1, -1, 0, 44, 127])
    np.testing.assert_array_equal(run("cast", wide, dtype="uint8"), [255, 255, 0, 44, 127])
    np.testing.assert_array_equal(
        run("cast", np.array([0.0, -0.0, 0.25, np.nan], "float32"), dtype="bool"),
        [False, False, True, True],
    )
    np.testing.assert_array_equal(run("cast", np.array([True, False]), dtype="float16"), [1, 0])
    like = np.zeros(3, ml_dtypes.bfloat16)
    assert run("cast_like", wide, like).dtype == like.dtype


# --- creation ----------------------------------------------------------------------------------


def test_filled_tensors() -> None:
    np.testing.assert_array_equal(run("zeros", shape=(2, 3), dtype="int8"), np.zeros((2, 3)))
    np.testing.assert_array_equal(run("ones", shape=(), dtype="bool"), True)
    found = run("full", np.array(300.7, "float32"), shape=(2,), dtype="uint8")
    np.testing.assert_array_equal(found, [255, 255])
    found = run("full_like", np.zeros((1, 2), "int32"), np.array(-2.5, "float32"))
    np.testing.assert_array_equal(found, [[-2, -2]])
    np.testing.assert_array_equal(run("ones_like", np.zeros(2, "int8")), [1, 1])


@pytest.mark.parametrize(
    ("start", "stop", "step"), [(0, 5, 1), (5, -5, -3), (3, 3, 1), (2, -2, 1), (0.5, 2.0, 0.25)]
)
def test_arange_counts_like_torch(start: float, stop: float, step: float) -> None:
    dtype = "int32" if isinstance(start, int) else "float32"
    found = run("arange", *(np.array(v, dtype) for v in (start, stop, step)), dtype="float32")
    empty = (stop - start) * step <= 0
    expected = [] if empty else torch.arange(start, stop, step).numpy()
    np.testing.assert_array_equal(found, np.asarray(expected, "float32"))


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot_agrees_with_torch(axis: int) -> None:
    indices = integers(2, 3, low=0, high=4, dtype="int64")
    expected = F.one_hot(torch_of(indices), 4).movedim(-1, axis).numpy() * 5 - 1
    on, off = np.array(4, "float32"), np.array(-1, "float32")
    found = run("one_hot", indices, on, off, depth=4, axis=axis, dtype="int32")
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.int32


def test_an_index_outside_one_hot_names_no_position() -> None:
    on, off = np.array(1, "int8"), np.array(0, "int8")
    found = run("one_hot", np.array([-1, 2, 1]), on, off, depth=2)
    np.testing.assert_array_equal(found, [[0, 0], [0, 0], [0, 1]])


# --- reductions --------------------------------------------------------------------------------

REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
}
AXES = [
    ({}, None),
    ({"axis": 1}, 1),
    ({"axis": (-1, 0)}, (-1, 0)),
    ({"axis": (1,), "exclude": True}, (0, 2)),
    ({"axis": (), "exclude": True}, (0, 1, 2)),
    ({"axis": ()}, ()),
]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(("attrs", "axes"), AXES)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_agree_with_float64(
    name: str, dtype: str, attrs: dict[str, Any], axes: Any, keepdims: bool
) -> None:
    data = uniform(2, 7, 5, low=0.5, high=1.5).astype(getattr(ml_dtypes, dtype, dtype))
    exact = REDUCTIONS[name](data.astype(np.float64), axis=axes, keepdims=keepdims)
    found = run(name, data, keepdims=keepdims, **attrs)
    assert found.dtype == data.dtype
    close(found, exact, rtol=HALF_A_UNIT[dtype] * 1.1, atol=0)


def test_a_long_sum_of_halves_does_not_lose_its_elements() -> None:
    data = np.full(4096, 1.0, "float16")
    assert run("sum", data) == 4096
    assert run("mean", np.full(100000, 1.5, ml_dtypes.bfloat16)) == 1.5


def test_integer_reductions_wrap_and_truncate() -> None:
    data = np.array([[100, 100, 100], [-3, -1, -1]], "int8")
    np.testing.assert_array_equal(run("sum", data, axis=1), [wrapped(300), -5])
    np.testing.assert_array_equal(run("prod", data, axis=1), [wrapped(10**6), -3])
    np.testing.assert_array_equal(run("mean", data, axis=1), [100, -1])


def test_reducing_nothing_gives_the_neutral_element() -> None:
    empty = np.zeros((2, 0), "float32")
    np.testing.assert_array_equal(run("sum", empty, axis=1), [0, 0])
    np.testing.assert_array_equal(run("prod", empty, axis=1), [1, 1])
    np.testing.assert_array_equal(run("max", empty, axis=1), [-np.inf, -np.inf])
    np.testing.assert_array_equal(run("min", empty.astype("int8"), axis=1), [127, 127])
    np.testing.assert_array_equal(run("mean", empty, axis=1), [np.nan, np.nan])
    np.testing.assert_array_equal(run("mean", empty.astype("int8"), axis=1), [0, 0])
    np.testing.assert_array_equal(run("all", empty.astype("bool"), axis=1), [True, True])
    np.testing.assert_array_equal(run("any", empty.astype("bool"), axis=1), [False, False])
    np.testing.assert_array_equal(run("argmax", empty, axis=1), [-1, -1])


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_of_extrema(name: str) -> None:
    data = np.array([[3, 1, 3, 1], [0, 7, 0, 7]], "int32")
    function = getattr(torch, name)
    first = run(name, data, axis=1)
    np.testing.assert_array_equal(first, {"argmax": [0, 1], "argmin": [1, 0]}[name])
    last = run(name, data, axis=1, select_last_index=True, keepdims=True)
    np.testing.assert_array_equal(last, {"argmax": [[2], [3]], "argmin": [[3], [2]]}[name])
    values = uniform(3, 4, 5)
    np.testing.assert_array_equal(run(name, values), function(torch_of(values)).numpy())
    joined = torch_of(values).permute(1, 0, 2).reshape(4, 15)
    np.testing.assert_array_equal(run(name, values, axis=(0, 2)), function(joined, dim=1).numpy())
    np.testing.assert_array_equal(
        run(name, values, axis=1, exclude=True), function(joined, dim=1).numpy()
    )
    values[1, 2, 3] = np.nan
    np.testing.assert_array_equal(run(name, values), function(torch_of(values)).numpy())


@pytest.mark.parametrize("unbiased", [False, True])
def test_variance_agrees_with_torch(unbiased: bool) -> None:
    data = uniform(3, 4, 5)
    mean = data.mean((0, 2), keepdims=True)
    expected = torch.var(torch_of(data).double(), (0, 2), correction=int(unbiased))
    close(run("variance", data, mean, axis=(0, 2), unbiased=unbiased), expected.numpy(), rtol=1e-5)


def test_collapsing_is_the_gradient_of_broadcasting() -> None:
    grad = uniform(2, 3, 4)
    small = torch.zeros(3, 1, requires_grad=True)
    (torch.zeros(2, 3, 4) + small).backward(torch_of(grad))
    assert small.grad is not None
    close(run("collapse_sum_like", grad, np.zeros((3, 1), "float32")), small.grad.numpy())


# --- shapes ------------------------------------------------------------------------------------


def test_reshape_reads_its_codes() -> None:
    data = np.arange(120).reshape(2, 3, 4, 5)
    for codes, shape in {
        (-1,): (120,),
        (0, -1): (2, 60),
        (0, 0, -1): (2, 3, 20),
        (-2,): (2, 3, 4, 5),
        (-3, -2): (6, 4, 5),
        (-3, -3): (6, 20),
        (0, -3, 5): (2, 12, 5),
        (-4, 1, 2, -2): (1, 2, 3, 4, 5),
        (0, 0, -4, -1, 2, 0): (2, 3, 2, 2, 5),
        (5, 0, 8): (5, 3, 8),
    }.items():
        np.testing.assert_array_equal(run("reshape", data, newshape=codes), data.reshape(shape))


def test_reshape_like_replaces_a_range_of_axes() -> None:
    data, like = np.arange(420).reshape(30, 14), np.zeros((5, 2, 7, 3))
    found = run("reshape_like", data, like, lhs_begin=1, lhs_end=2, rhs_begin=1, rhs_end=3)
    np.testing.assert_array_equal(found, data.reshape(30, 2, 7))


def test_axes_come_and_go() -> None:
    data = np.arange(6).reshape(1, 6, 1)
    np.testing.assert_array_equal(run("squeeze", data), np.arange(6))
    np.testing.assert_array_equal(run("squeeze", data, axis=-1), data[..., 0])
    assert run("expand_dims", data, axis=-2, num_newaxis=2).shape == (1, 6, 1, 1, 1)
    assert run("nn.batch_flatten", np.zeros((2, 3, 4, 5))).shape == (2, 60)
    np.testing.assert_array_equal(run("shape_of", data, dtype="int64"), [1, 6, 1])
    assert run("ndarray_size", np.zeros((3, 0))) == 0


def test_rearranging_agrees_with_torch() -> None:
    data = uniform(2, 3, 4)
    t = torch_of(data)
    np.testing.assert_array_equal(run("transpose", data, axes=(1, -1, 0)), t.permute(1, 2, 0))
    np.testing.assert_array_equal(run("transpose", data), t.permute(2, 1, 0))
    np.testing.assert_array_equal(run("reverse", data, axis=-2), t.flip(1))
    np.testing.assert_array_equal(run("concatenate", (data, data), axis=-2), torch.cat((t, t), 1))
    np.testing.assert_array_equal(run("stack", (data, data), axis=-1), torch.stack((t, t), -1))
    for found, expected in zip(
        run("split", data, indices_or_sections=(1, 3), axis=2),
        t.tensor_split((1, 3), 2),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)
    for found, expected in zip(
        run("split", data, indices_or_sections=2, axis=-1), t.chunk(2, 2), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_extending_agrees_with_torch() -> None:
    data = uniform(3, 4)
    t = torch_of(data)
    np.testing.assert_array_equal(run("tile", data, reps=(2, 1, 3)), t.tile(2, 1, 3))
    np.testing.assert_array_equal(run("tile", data, reps=2), t.tile(2))
    np.testing.assert_array_equal(run("repeat", data, repeats=2, axis=0), t.repeat_interleave(2, 0))
    np.testing.assert_array_equal(run("repeat", data, repeats=3), t.repeat_interleave(3))
    np.testing.assert_array_equal(run("broadcast_to", data, shape=(2, 3, 4)), t.expand(2, 3, 4))
    widths = ((0, 1), (2, 3))
    value = np.array(7, "int32")
    found = run("nn.pad", data, value, pad_width=widths)
    np.testing.assert_array_equal(found, F.pad(t, (2, 3, 0, 1), value=7.0))
    for mode, torch_mode in (("edge", "replicate"), ("reflect", "reflect")):
        expected = F.pad(t[None], (2, 3, 0, 1), mode=torch_mode)[0]
        found = run("nn.pad", data, value, pad_width=widths, pad_mode=mode)
        np.testing.assert_array_equal(found, expected)


# --- indexing ----------------------------------------------------------------------------------


def test_strided_slice_is_a_slice_for_all_small_bounds() -> None:
    for extent in range(5):
        data = np.arange(extent)
        for begin in range(-6, 7):
            for end in range(-6, 7):
                for stride in (1, 2, 3, -1, -2):
                    found = run("strided_slice", data, begin=begin, end=end, strides=stride)
                    np.testing.assert_array_equal(found, data[begin:end:stride])


def test_strided_slice_by_size_and_to_the_end() -> None:
    data = np.arange(10)
    size: dict[str, Any] = {"slice_mode": "size"}
    np.testing.assert_array_equal(run("strided_slice", data, begin=3, end=4, **size), data[3:7])
    np.testing.assert_array_equal(run("strided_slice", data, begin=3, end=-1, **size), data[3:])
    np.testing.assert_array_equal(run("strided_slice", data, begin=-3, end=2, **size), data[7:9])
    np.testing.assert_array_equal(run("strided_slice", data, begin=8, end=9, **size), data[8:])
    far = 2**31 - 1
    np.testing.assert_array_equal(run("strided_slice", data, begin=4, end=far), data[4:])
    found = run("strided_slice", data, begin=far, end=-far, strides=-3)
    np.testing.assert_array_equal(found, data[::-3])
    found = run("strided_slice", data.reshape(2, 5), begin=1, end=4, axes=-1, strides=2)
    np.testing.assert_array_equal(found, data.reshape(2, 5)[:, 1:4:2])


def test_take_clamps_wraps_and_flattens() -> None:
    data = np.arange(12).reshape(4, 3)
    indices = np.array([[-1, 5], [0, 3]])
    np.testing.assert_array_equal(run("take", data, indices), [[0, 5], [0, 3]])
    np.testing.assert_array_equal(run("take", data, indices, axis=0), data[[[0, 3], [0, 3]]])
    np.testing.assert_array_equal(
        run("take", data, indices, axis=1, mode="wrap"), data[:, [[2, 2], [0, 0]]]
    )
    wide = np.arange(300)
    np.testing.assert_array_equal(run("take", wide, np.array([-3, 100], "int8")), [0, 100])
    assert run("take", wide, np.array([2**64 - 1], "uint64")) == 299


def test_take_in_batches_agrees_with_a_loop() -> None:
    data, indices = uniform(2, 5, 4, 3), integers(2, 5, 6, low=0, high=4)
    found = run("take", data, indices, axis=2, batch_dims=2)
    assert found.shape == (2, 5, 6, 3)
    for i in range(2):
        for j in range(5):
            np.testing.assert_array_equal(found[i, j], data[i, j][indices[i, j]])
    found = run("take", data, indices[:, 0], axis=3, batch_dims=1, mode="wrap")
    for i in range(2):
        np.testing.assert_array_equal(found[i], data[i][:, :, indices[i, 0] % 3])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_agrees_with_torch(axis: int) -> None:
    data = uniform(4, 3)
    indices = integers(4, 3, low=0, high=3, dtype="int64")
    expected = torch.gather(torch_of(data), axis, torch_of(indices)).numpy()
    np.testing.assert_array_equal(run("gather", data, indices, axis=axis), expected)


# --- products ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_dense_agrees_with_float64(dtype: str) -> None:
    stored = np.dtype(getattr(ml_dtypes, dtype, dtype))
    data, weight = uniform(2, 5, 33, dtype=stored), uniform(4, 33, dtype=stored)
    exact = data.astype(np.float64) @ weight.astype(np.float64).T
    close(run("nn.dense", data, weight), exact, rtol=HALF_A_UNIT[dtype] * 1.1, atol=1e-5)


def test_integer_products_add_up_in_the_type_of_the_result() -> None:
    data, weight = (
        integers(3, 50, low=0, high=255, dtype="uint8"),
        integers(4, 50, low=-128, high=127, dtype="int8"),
    )
    exact = data.astype(int) @ weight.astype(int).T
    found = run("nn.dense", data, weight, out_dtype="int32")
    np.testing.assert_array_equal(found, exact)
    found = run("nn.dense", weight, weight)
    exact = weight.astype(int) @ weight.astype(int).T
    np.testing.assert_array_equal(found, exact.astype("int8"))


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_matrix_products_agree_with_torch(transpose_a: bool, transpose_b: bool) -> None:
    a, b = uniform(5, 2, 3), uniform(1, 3, 4)
    expected = torch.matmul(torch_of(a).double(), torch_of(b).double()).numpy()
    left = a.swapaxes(1, 2) if transpose_a else a
    right = b.swapaxes(1, 2) if transpose_b else b
    flags = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    close(run("nn.batch_matmul", left, right, **flags), expected)
    close(run("nn.matmul", left, right[0], **flags), expected)


CONVOLUTIONS: list[dict[str, Any]] = [
    {},
    {"strides": (2, 3), "padding": (1, 2), "dilation": (2, 1)},
    {"padding": 2, "strides": 2},
    {"groups": 2},
    {"groups": 4},
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("attrs", CONVOLUTIONS)
def test_convolutions_agree_with_torch(attrs: dict[str, Any], dtype: str) -> None:
    groups = attrs.get("groups", 1)
    data, weight = uniform(2, 4, 9, 8, dtype=dtype), uniform(8, 4 // groups, 3, 2, dtype=dtype)
    keywords = {"stride" if k == "strides" else k: v for k, v in attrs.items()}
    expected = F.conv2d(torch_of(data).double(), torch_of(weight).double(), **keywords).numpy()
    rtol, atol = HALF_A_UNIT[dtype] * 1.1, 1e-5
    close(run("nn.conv2d", data, weight, **attrs), expected, rtol, atol)
    found = run(
        "nn.conv2d",
        data.transpose(0, 2, 3, 1),
        weight.transpose(2, 3, 1, 0),
        data_layout="NHWC",
        kernel_layout="HWIO",
        **attrs,
    )
    close(found, expected.transpose(0, 2, 3, 1), rtol, atol)
    found = run("nn.conv2d", data, weight, out_layout="NHWC", **attrs)
    close(found, expected.transpose(0, 2, 3, 1), rtol, atol)


def test_uneven_padding_of_convolutions() -> None:
    data, weight = uniform(1, 2, 5, 6), uniform(3, 2, 3, 3)
    expected = F.conv2d(F.pad(torch_of(data), (2, 4, 1, 3)), torch_of(weight)).numpy()
    close(run("nn.conv2d", data, weight, padding=(1, 2, 3, 4)), expected, atol=1e-5)


@pytest.mark.parametrize("layout", ["OIHW", "HWOI"])
def test_a_depthwise_weight_may_hold_its_multiplier(layout: str) -> None:
    data, weight = uniform(1, 4, 6, 6), uniform(4, 3, 2, 2)
    expected = F.conv2d(torch_of(data), torch_of(weight).reshape(12, 1, 2, 2), groups=4).numpy()
    given = weight if layout == "OIHW" else weight.transpose(2, 3, 0, 1)
    close(run("nn.conv2d", data, given, groups=4, kernel_layout=layout), expected, atol=1e-5)


def test_an_integer_convolution_is_exact() -> None:
    data = integers(1, 3, 6, 6, low=0, high=255, dtype="uint8")
    weight = integers(2, 3, 3, 3, low=-128, high=127, dtype="int8")
    expected = F.conv2d(torch_of(data.astype("float64")), torch_of(weight.astype("float64")))
    found = run("nn.conv2d", data, weight, out_dtype="int32")
    np.testing.assert_array_equal(found, expected.numpy())
    assert found.dtype == np.int32


# --- windows and channels ----------------------------------------------------------------------

POOLS: list[dict[str, Any]] = [
    {"pool_size": (3, 2)},
    {"pool_size": 3, "strides": 2, "padding": 1},
    {"pool_size": (2, 3), "strides": (2, 3), "padding": (1, 1)},
    {"pool_size": 3, "strides": 2, "ceil_mode": True},
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("attrs", POOLS)
def test_pools_agree_with_torch(attrs: dict[str, Any], dtype: str) -> None:
    data = uniform(2, 3, 8, 7, dtype=dtype)
    names = {"pool_size": "kernel_size", "strides": "stride"}
    keywords = {"stride": 1} | {names.get(k, k): v for k, v in attrs.items()}
    t, swapped = torch_of(data), data.transpose(0, 2, 3, 1)
    expected = F.max_pool2d(t, **keywords).numpy()
    close(run("nn.max_pool2d", data, **attrs), expected)
    found = run("nn.max_pool2d", swapped, layout="NHWC", **attrs)
    close(found, expected.transpose(0, 2, 3, 1))
    expected = F.avg_pool2d(t, count_include_pad=False, **keywords).numpy()
    close(run("nn.avg_pool2d", data, **attrs), expected)
    close(run("nn.avg_pool2d", data, out_layout="NHWC", **attrs), expected.transpose(0, 2, 3, 1))
    if not attrs.get("ceil_mode"):
        expected = F.avg_pool2d(t, count_include_pad=True, **keywords).numpy()
        close(run("nn.avg_pool2d", data, count_include_pad=True, **attrs), expected)


def test_dilated_pools() -> None:
    data = uniform(1, 2, 7, 8)
    expected = F.max_pool2d(torch_of(data), (2, 3), stride=1, dilation=(3, 2)).numpy()
    close(run("nn.max_pool2d", data, pool_size=(2, 3), dilation=(3, 2)), expected)
    ones = torch.ones(2, 1, 2, 3) / 6
    expected = F.conv2d(torch_of(data), ones, groups=2, dilation=(3, 2)).numpy()
    close(run("nn.avg_pool2d", data, pool_size=(2, 3), dilation=(3, 2)), expected)


def test_pools_of_integers_and_of_nothing() -> None:
    data = np.array([[[[-7, -8], [2, 120]]]], "int8")
    assert run("nn.max_pool2d", data, pool_size=2).item() == 120
    assert run("nn.avg_pool2d", data, pool_size=(1, 2)).ravel().tolist() == [-7, 61]
    assert run("nn.global_avg_pool2d", data).item() == 26
    # a window that lies outside of data altogether
    outside: dict[str, Any] = {"pool_size": 1, "padding": 1}
    assert run("nn.max_pool2d", data, **outside)[0, 0, 0, 0] == -128
    assert run("nn.avg_pool2d", data, **outside)[0, 0, 0, 0] == 0


def test_global_pool_agrees_with_torch() -> None:
    data = uniform(2, 3, 4, 5)
    expected = F.adaptive_avg_pool2d(torch_of(data), 1).numpy()
    close(run("nn.global_avg_pool2d", data), expected)
    found = run("nn.global_avg_pool2d", data.transpose(0, 2, 3, 1), layout="NHWC")
    close(found, expected.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_softmax_agrees_with_scipy(axis: int, dtype: str) -> None:
    data = (uniform(3, 4, 5) * 20).astype(dtype)
    exact = data.astype(np.float64)
    rtol, atol = HALF_A_UNIT[dtype] * 4, HALF_A_UNIT[dtype] / 8
    close(run("nn.softmax", data, axis=axis), scipy.special.softmax(exact, axis), rtol, atol)
    expected = scipy.special.log_softmax(exact, axis)
    close(run("nn.log_softmax", data, axis=axis), expected, rtol, atol)


@pytest.mark.parametrize("axis", [1, -1])
def test_batch_norm_agrees_with_torch(axis: int) -> None:
    data = uniform(2, 3, 4, 3)
    gamma, beta, mean = uniform(3), uniform(3), uniform(3)
    var = uniform(3, low=0.1)
    t = torch_of(data).movedim(axis, 1)
    vectors = [torch_of(v) for v in (mean, var, gamma, beta)]
    expected = F.batch_norm(t, *vectors, eps=0.01).movedim(1, axis).numpy()
    found = run("nn.batch_norm", data, gamma, beta, mean, var, axis=axis, epsilon=0.01)
    close(found[0], expected, rtol=1e-5)
    np.testing.assert_array_equal(found[1], mean)
    np.testing.assert_array_equal(found[2], var)
    plain = run("nn.batch_norm", data, gamma, beta, mean, var, axis=axis, center=False, scale=False)
    close(plain[0], F.batch_norm(t, *vectors[:2]).movedim(1, axis).numpy(), rtol=1e-5)


def test_bias_and_leaky_relu_agree_with_torch() -> None:
    data, bias = uniform(2, 3, 4), uniform(4)
    np.testing.assert_array_equal(run("nn.bias_add", data, bias, axis=-1), data + bias)
    expected = F.leaky_relu(torch_of(data), 0.1).numpy()
    close(run("nn.leaky_relu", data, alpha=0.1), expected)


def test_dropout_keeps_everything_outside_of_training() -> None:
    data = uniform(2, 3)
    kept, mask = run("nn.dropout", data, rate=0.9)
    np.testing.assert_array_equal(kept, data)
    np.testing.assert_array_equal(mask, np.ones((2, 3)))
