"""Elements that lanes read far apart: few loads, the same elements, and none beside them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay import te
from relay.target.target import Target
from relay.te.lower import lower
from relay.te.schedule import Schedule, create, fuse, reorder, split, unroll, vectorize
from tests.support.kernels import Batch, Memory
from tests.target.llvm.kernels import LEVEL_NAMES, LEVELS, WIDEST, code_of, function_of

Element = Callable[[te.Tensor], Callable[..., te.Expr]]

# name -> (shape of what is read, shape of the result, an element)
READS: dict[str, tuple[tuple[int, ...], tuple[int, int], Element]] = {
    "every other": ((80,), (1, 40), lambda x: lambda i, j: x[j * 2 + i]),
    "runs": ((20, 7), (20, 4), lambda x: lambda i, t: x[i, t + 2]),
    "short runs": ((20, 7), (20, 2), lambda x: lambda i, t: x[i, t + 5]),
    "rows": ((4, 23), (20, 4), lambda x: lambda i, t: x[t, i + 3]),
    "rows, some missing": (
        (3, 18),
        (20, 4),
        lambda x: lambda i, t: te.select((t < 3) & (i < 18), x[t, i], te.const(0, x.dtype)),
    ),
    "runs, some missing": (
        (18, 3),
        (20, 4),
        lambda x: lambda i, t: te.select((t < 3) & (i < 18), x[i, t], te.const(0, x.dtype)),
    ),
    "far apart": ((40, 9), (1, 40), lambda x: lambda i, j: x[j, i + 4]),
}


def vectors(name: str, dtype: str, lanes: int) -> tuple[te.Tensor, te.Tensor, Schedule]:
    """The result as one row, in vectors."""
    given, shape, element = READS[name]
    x = te.placeholder(given, dtype, "x")
    y = te.compute(shape, element(x), "y")
    s = fuse(create([y], [x]), "y", "i", "j", "ij")
    return x, y, vectorize(split(s, "y", "ij", lanes, ("o", "l")), "y", "l")


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_the_elements_are_the_same(dtype: str, target: Target) -> None:
    for name, (given, shape, _) in READS.items():
        x = np.arange(np.prod(given)).reshape(given).astype(dtype)
        _, _, s = vectors(name, dtype, 16)
        expected = code_free(name, x, shape)
        batch = Batch([function_of(lower(s), target)], target)
        for fence in ("after", "before"):
            (found,) = batch.run(0, [x], memory=Memory(fence=fence)).results
            np.testing.assert_array_equal(found, expected, name)


def code_free(name: str, x: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """What is read, by NumPy."""
    padded = np.zeros((20, 4), x.dtype)
    match name:
        case "every other":
            return x[::2].reshape(shape)
        case "runs":
            return x[:, 2:6]
        case "short runs":
            return x[:, 5:7]
        case "rows":
            return x.T[3:]
        case "rows, some missing":
            padded[:18, :3] = x.T
            return padded
        case "runs, some missing":
            padded[:18, :3] = x
            return padded
    return x[:, 4].reshape(shape)


@pytest.mark.parametrize(
    ("name", "dtype", "loads", "gathers"),
    [
        ("every other", "uint8", "<16 x i8>", ""),
        ("runs", "uint8", "", "v4i32"),
        ("runs", "int16", "", "v4i64"),
        ("short runs", "uint8", "", "v8i16"),
        ("short runs", "float32", "", "v8i64"),
        ("rows", "uint8", "i32", ""),
        ("rows", "int16", "<4 x i16>", ""),
        ("rows", "float32", "<4 x float>", ""),
        ("far apart", "uint8", "", "v16i32"),
        ("far apart", "float32", "", "v16f32"),
    ],
)
def test_loads_are_few(name: str, dtype: str, loads: str, gathers: str) -> None:
    _, _, s = vectors(name, dtype, 16)
    ir = code_of(lower(s), WIDEST).ir
    assert (f"gather.{gathers}." in ir) == bool(gathers)
    assert (f"load {loads}, ptr" in ir) == bool(loads)


def test_bytes_side_by_side_come_of_the_same_words() -> None:
    x = te.placeholder((16, 8), "uint8", "x")
    y = te.compute((8, 16), lambda i, j: x[j, i], "y")
    s = split(create([y], [x]), "y", "i", 4, ("io", "ii"))
    s = unroll(vectorize(s, "y", "j"), "y", "ii")
    ir = code_of(lower(s), WIDEST).ir
    assert ir.count("@llvm.masked.gather.v16i32") - ir.count("declare") == 1
    assert ir.count("trunc <16 x i32>") == 4


def test_bytes_are_transposed_in_one_vector_and_stored_in_runs() -> None:
    x = te.placeholder((16, 8), "uint8", "x")
    y = te.compute((8, 32), lambda i, j: x[j % 16, i], "y")
    s = split(split(create([y], [x]), "y", "i", 4, ("io", "ii")), "y", "j", 16, ("jo", "ji"))
    s = fuse(reorder(s, "y", "io", "jo", "ii", "ji"), "y", "ii", "ji", "l")
    s = vectorize(s, "y", "l")
    ir = code_of(lower(s), WIDEST).ir
    assert ir.count("load i32, ptr") == 16
    assert ir.count("store <16 x i8>") == 4
    assert "gather" not in ir and "scatter" not in ir
    given = np.arange(128, dtype=np.uint8).reshape(16, 8)
    for target in LEVELS:
        (found,) = Batch([function_of(lower(s), target)], target).run(0, [given]).results
        np.testing.assert_array_equal(found, np.tile(given.T, 2))


def test_words_that_might_end_outside_are_left_alone() -> None:
    """The last byte of a row of 9 is the first of a word."""
    x = te.placeholder((16, 9), "uint8", "x")
    y = te.compute((16,), lambda j: x[j, 8], "y")
    ir = code_of(lower(vectorize(create([y], [x]), "y", "i")), WIDEST).ir
    assert "gather.v16i8" in ir
