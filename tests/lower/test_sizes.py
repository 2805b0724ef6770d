"""Sizes of a run: dimensions as steps, as expressions of kernels, and as numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay import te
from relay.ir import dims
from relay.ir.dims import Dim
from relay.lower.sizes import (
    Operation,
    Size,
    evaluate,
    from_operations,
    from_te,
    operations,
    sizes_in,
    to_te,
)
from relay.te.evaluate import evaluate as evaluate_te

N, M = Size("n"), Size("m")


def formulas() -> st.SearchStrategy[Dim]:
    leaves = st.one_of(st.just(N), st.just(M), st.integers(0, 9))
    functions = [dims.add, dims.subtract, dims.multiply, dims.minimum, dims.maximum]

    def larger(inner: st.SearchStrategy[Dim]) -> st.SearchStrategy[Dim]:
        binary = st.builds(lambda f, a, b: f(a, b), st.sampled_from(functions), inner, inner)
        divided = st.builds(dims.floor_divide, inner, st.integers(1, 9))
        return st.one_of(binary, divided)

    return st.recursive(leaves, larger, max_leaves=8).filter(lambda d: not isinstance(d, dims.Any))


def test_sizes_of_one_name_are_the_same() -> None:
    assert Size("n") == N
    assert Size("n") + 1 == 1 + N
    assert N != M
    assert str(2 * N + M) == "m + 2 * n" or str(2 * N + M) == "2 * n + m"


def test_a_dimension_is_steps_that_share_what_is_the_same() -> None:
    steps, (whole, part) = operations((N + 7) // 8 * 8, (N + 7) // 8)
    assert steps == [
        Operation("size", value="n"),
        Operation("constant", value=7),
        Operation("add", (0, 1)),
        Operation("constant", value=8),
        Operation("floordiv", (2, 3)),
        Operation("mul", (4, 3)),
    ]
    assert (whole, part) == (5, 4)


def test_what_is_no_size_has_no_steps() -> None:
    with pytest.raises(TypeError, match="no dimension over sizes"):
        operations(dims.ANY)


@given(formulas())
def test_the_steps_give_the_dimension_back(dim: Dim) -> None:
    steps, (result,) = operations(dim)
    assert from_operations(steps)[result] == dim


@given(formulas(), st.integers(0, 40), st.integers(0, 40))
def test_kernels_compute_the_same_number(dim: Dim, n: int, m: int) -> None:
    known = {"n": n, "m": m}
    wanted = dims.substitute(dim, lambda symbol: known[str(symbol)])
    assert evaluate(dim, known) == wanted
    numbers = {name: te.index(value) for name, value in known.items()}
    expression = to_te(dim, numbers)
    (found,) = evaluate_te([te.compute((), lambda: expression)], {})
    assert int(found) == wanted


@given(formulas())
def test_an_expression_of_a_kernel_is_the_dimension_again(dim: Dim) -> None:
    variables = {name: te.Extent("int64", name) for name in ("n", "m")}
    names: dict[te.Expr, Dim] = {var: Size(name) for name, var in variables.items()}
    assert from_te(to_te(dim, variables), names.get) == dim


def test_an_expression_that_reads_is_no_dimension() -> None:
    x = te.placeholder((4,), "int64", "x")
    assert from_te(x[0] + 1, lambda part: None) is None


def test_the_sizes_in_dimensions_are_known_by_name() -> None:
    assert sizes_in([N + 1, 3, dims.minimum(M, 4)]) == {"n", "m"}
