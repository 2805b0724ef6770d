"""Operations of scalars in C are those of `relay.te.arithmetic`, also where C does not define them;
functions are as close to the true ones as their rows say."""

import numpy as np
import pytest

from relay import dtypes
from relay.lower.to_compute import Computed
from relay.scalar_functions import BINARY, COMPARE, FUNCTIONS
from relay.te import arithmetic
from relay.te import expr as te
from relay.te.compute import compute, placeholder
from tests.support.c_kernels import STRICT, Compiled, lowered, needs_compiler

INTEGERS = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
OF_INTEGERS = [op for op in BINARY if op != "div"]
UNDEFINED = ("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
pytestmark = needs_compiler


def edges(dtype):
    """Numbers at the ends of a type, and around zero."""
    if dtype == "bool":
        return np.array([False, True])
    if dtypes.is_float(dtype):
        special = [0.0, -0.0, 1.5, -1.5, 2.5, 1e-40, 3e9, -3e9, 1e30, np.inf, -np.inf, np.nan]
        return np.array([*special, 127.5, 255.5, -128.5, 0.1, -7.0, 3.0], dtype)
    info = np.iinfo(dtype)
    near = [n for n in (-8, -7, -3, -2, -1, 0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64) if n >= info.min]
    return np.array([info.min, info.min + 1, info.max - 1, info.max, *near], dtype)


def rounded(numbers, dtype):
    with np.errstate(all="ignore"):
        return numbers.astype(dtypes.to_numpy(dtype))


def over(arrays, *functions):
    """What each function gives for arrays of one length, in C."""
    inputs = tuple(
        placeholder(array.shape, dtypes.from_numpy(array.dtype), f"x{i}")
        for i, array in enumerate(arrays)
    )
    made = [
        Computed(inputs, (compute(arrays[0].shape, lambda i, f=f: f(*(x[i] for x in inputs))),), ())
        for f in functions
    ]
    every = [lowered(one) for one in made]
    compiled = Compiled(every, (*STRICT, *UNDEFINED))
    return [compiled.run(one, *arrays)[0] for one in every]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_and_no_operand_is_undefined(dtype):
    numbers = edges(dtype)
    a, b = (side.reshape(-1) for side in np.meshgrid(numbers, numbers))
    functions = [lambda x, y, op=op: te.binary(op, x, y) for op in OF_INTEGERS]
    with np.errstate(all="ignore"):
        for op, found in zip(OF_INTEGERS, over((a, b), *functions), strict=True):
            np.testing.assert_array_equal(found, arithmetic.binary(op, a, b, dtype), op)
    functions = [lambda x, y, op=op: te.compare(op, x, y) for op in COMPARE]
    for op, found in zip(COMPARE, over((a, b), *functions), strict=True):
        np.testing.assert_array_equal(found, arithmetic.COMPARE[op](a, b), op)
    unary = ("neg", "not", "abs")
    functions = [lambda x, op=op: te.unary(op, x) for op in unary]
    for op, found in zip(unary, over((numbers,), *functions), strict=True):
        np.testing.assert_array_equal(found, arithmetic.unary(op, numbers, dtype), op)


@pytest.mark.parametrize("dtype", [one for one in INTEGERS if one != "bool"])
def test_bits_are_counted(dtype):
    numbers, names = edges(dtype), ("popcount", "clz")
    functions = [lambda x, name=name: te.call(name, x) for name in names]
    for name, found in zip(names, over((numbers,), *functions), strict=True):
        np.testing.assert_array_equal(found, arithmetic.call(name, [numbers], dtype), name)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_numbers_and_nan_are_compared_and_chosen(dtype):
    numbers = rounded(edges("float32"), dtype)
    a, b = (side.reshape(-1) for side in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        carried = [arithmetic.load(side, dtype) for side in (a, b)]
        for op in ("add", "sub", "mul", "div", "min", "max"):
            (found,) = over((a, b), lambda x, y, op=op: te.binary(op, x, y))
            wanted = arithmetic.store(arithmetic.binary(op, *carried, dtype), dtype)
            np.testing.assert_array_equal(found.astype(float), wanted.astype(float), op)


@pytest.mark.parametrize("source", ["float32", "float64", "float16", "bfloat16", "int64", "bool"])
def test_conversions_saturate_and_round(source):
    numbers = edges(source if source in ("int64", "bool", "float64") else "float32")
    numbers = rounded(numbers, source)
    targets = [*INTEGERS, "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "int4"]
    with np.errstate(all="ignore"):
        carried = arithmetic.load(numbers, source)
        functions = [lambda x, target=target: te.cast(x, target) for target in targets]
        for target, found in zip(targets, over((numbers,), *functions), strict=True):
            wanted = arithmetic.store(arithmetic.cast(carried, source, target), target)
            np.testing.assert_array_equal(found.astype(float), wanted.astype(float), target)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_are_within_their_bounds(dtype):
    chance = np.random.default_rng(0)
    numbers = np.concatenate([edges(dtype), chance.uniform(-4, 4, 200).astype(dtype)])
    names = [name for name, one in FUNCTIONS.items() if one.kind != "bits" and one.arguments == 1]
    functions = [lambda x, name=name: te.call(name, x) for name in names]
    with np.errstate(all="ignore"):
        for name, found in zip(names, over((numbers,), *functions), strict=True):
            wanted = FUNCTIONS[name].values(numbers.astype(np.longdouble))
            if found.dtype == bool:
                np.testing.assert_array_equal(found, wanted, name)
                continue
            size = FUNCTIONS[name].ulp32 if dtype == "float32" else FUNCTIONS[name].ulp64
            true = np.asarray(wanted).astype(dtype)
            fine = np.isfinite(true) & (np.abs(true) > np.finfo(dtype).tiny)
            np.testing.assert_array_equal(np.isnan(found), np.isnan(true), name)
            apart = np.abs(found[fine] - true[fine]) / np.spacing(np.abs(true[fine]))
            assert apart.max() <= size + 1, (name, numbers[fine][apart.argmax()], apart.max())
