"""Sparse matrices: those of SciPy as weights, and what is no matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import relay
from relay import nn
from relay.check.infer import infer_expr
from relay.errors import EvaluationError, TypeCheckError
from relay.ir.expr import Function, Var
from relay.ir.types import ShapeVar, TensorType
from relay.op.opdef import get

n = ShapeVar("n")
GENERATOR = np.random.default_rng(0)


def tensor(*shape: Any, dtype: str = "float32") -> Var:
    return relay.var("x", TensorType(shape, dtype))


def run(name: str, *args: Any, **attrs: Any) -> Any:
    made = get(name).make_attrs(attrs)
    return get(name).reference(*args, **(dict(made.items()) if made else {}))


def evaluated(expr: Any, *params: Var) -> Any:
    module = relay.IRModule.from_expr(Function(params, expr))
    return relay.create_executor("debug", module).evaluate()


@pytest.mark.parametrize("form", ["csr", "bsr"])
def test_a_matrix_of_scipy_is_a_weight(form: str) -> None:
    weight = scipy.sparse.random_array((6, 8), density=0.4, rng=GENERATOR).asformat(form)
    data = GENERATOR.uniform(-1, 1, (3, 8))
    x = relay.var("x", shape=(3, 8), dtype="float64")
    found = evaluated(nn.sparse_dense(x, weight), x)(data).numpy()
    np.testing.assert_allclose(found, data @ weight.toarray().T, rtol=1e-12)
    found = evaluated(nn.sparse_dense(x, weight, sparse_lhs=True), x)(data).numpy()
    np.testing.assert_allclose(found, weight.toarray() @ data.T, rtol=1e-12)


def test_sums_and_transposes_take_the_three_parts() -> None:
    matrix = scipy.sparse.random_array((5, 5), density=0.4, rng=GENERATOR).tocsr()
    x = relay.var("x", shape=(5, 5), dtype="float64")
    data = GENERATOR.uniform(-1, 1, (5, 5))
    transposed = nn.sparse_transpose(matrix)
    found = evaluated(nn.sparse_add(x, transposed), x)(data).numpy()
    np.testing.assert_allclose(found, data + matrix.toarray().T, rtol=1e-12)


def test_elements_of_one_place_add_up() -> None:
    parts = np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])
    assert run("nn.sparse_add", np.zeros((1, 3)), *parts).tolist() == [[0, 3, 0]]


@pytest.mark.parametrize("bounds", [[1, 2], [0, 3], [0, 2, 1, 2]])
def test_bounds_of_rows_grow_from_nothing_to_all(bounds: list[int]) -> None:
    parts = np.ones(2), np.array([0, 1]), np.array(bounds)
    with pytest.raises(EvaluationError, match="no bounds of rows"):
        run("nn.sparse_dense", np.ones((1, 3)), *parts)


@pytest.mark.parametrize("column", [-1, 3])
def test_a_column_outside_is_refused(column: int) -> None:
    parts = np.ones(1), np.array([column]), np.array([0, 1])
    with pytest.raises(EvaluationError, match="outside of its matrix"):
        run("nn.sparse_dense", np.ones((1, 3)), *parts)


def test_symbolic_rows() -> None:
    parts = tensor(n), tensor(n, dtype="int32"), tensor(7, dtype="int32")
    assert infer_expr(nn.sparse_dense(tensor(2, n), parts)).checked_type.shape == (2, 6)
    blocks = tensor(n, 4, 2), tensor(n, dtype="int32"), tensor(n + 1, dtype="int32")
    assert infer_expr(nn.sparse_dense(tensor(2, 8), blocks)).checked_type.shape == (2, 4 * n)


i3, i4 = tensor(3, dtype="int32"), tensor(4, dtype="int32")
REFUSED: list[tuple[Any, str]] = [
    (nn.sparse_dense(tensor(2, 3), (tensor(4), i3, i4)), "numbers of elements and indices differ"),
    (nn.sparse_dense(tensor(2, 3), (tensor(3, 2), i3, i4)), "`sparse_data` has the wrong rank"),
    (nn.sparse_dense(tensor(2, 3), (tensor(3, 2, 2), i3, i4)), "columns do not form blocks"),
    (
        nn.sparse_dense(tensor(2, 3), (tensor(3), tensor(3), i4)),
        "argument `sparse_indices` has the wrong element type",
    ),
    (nn.sparse_dense(tensor(2, 3), (i3, i3, i4)), "element types differ"),
    (
        nn.sparse_dense(tensor(2, 3), (tensor(3), i3, tensor(0, dtype="int32"))),
        "argument `sparse_indptr` is empty",
    ),
    (nn.sparse_add(tensor(2, 3), (tensor(3), i3, i4)), "rows of the two matrices differ"),
    (
        nn.sparse_conv2d(tensor(1, 5, 5, 4), tensor(3, 2, 2), i3, i4, kernel_size=2),
        "windows have no middle",
    ),
]


@pytest.mark.parametrize(("expr", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_what_has_no_type_is_refused_in_words(expr: Any, message: str) -> None:
    with pytest.raises(TypeCheckError) as error:
        infer_expr(expr)
    first = error.value.diagnostics[0]
    assert message in first.message
    assert first.expected and first.found


def test_many_images_without_elements_take_no_time():
    types = [((relay.Any(), relay.Any(), 2, 4), "float32"), ((3, 2, 2), "float32")]
    types += [((3,), "int64"), ((4,), "int64")]
    params = [
        relay.var(f"x{i}", shape=shape, dtype=dtype) for i, (shape, dtype) in enumerate(types)
    ]
    call = relay.nn.sparse_conv2d(*params, layout="NHWC", kernel_size=(1, 1))
    exe = relay.compile(relay.Function(params, call))
    images = np.zeros((2**31, 0, 2, 4), "float32")
    stored = np.zeros((3, 2, 2), "float32"), np.zeros(3, "int64"), np.array([0, 1, 2, 3])
    assert exe(images, *stored).shape == (2**31, 0, 2, 6)
