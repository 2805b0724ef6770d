"""Products of ONNX against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model

Shape = Sequence[int]


def tensor(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (3,)),
        ((2, 3), (5, 3, 4)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((6, 5, 2, 3), (6, 5, 3, 4)),
        ((6, 1, 2, 3), (1, 5, 3, 4)),
        ((6, 1, 2, 3), (5, 3, 4)),
        ((1, 5, 2, 3), (1, 1, 3, 4)),
        ((2, 1, 1, 2, 3), (1, 3, 1, 3, 2)),
    ],
)
def test_products_of_any_number_of_axes(left: Shape, right: Shape) -> None:
    one, other = tensor(*left), tensor(*right)
    agree(model("MatMul", one, other, opset=13), one, other)


NAMED: list[tuple[Shape, list[Any], Shape, list[Any], str]] = [
    ((2, 3), ["n", "k"], (3, 4), ["k", "m"], "n, m"),
    ((2, 3), ["n", "k"], (3, 4), [3, 4], "n, 4"),
    ((2, 3), ["n", 3], (3, 4), ["k", 4], "n, 4"),
    ((2, 3), ["n", "k"], (3, 4), ["m", 4], "n, 4"),
    ((5, 2, 3), ["b", "n", 3], (3, 4), [3, 4], "b, n, 4"),
    ((6, 5, 2, 3), ["b", 5, "s", 3], (6, 5, 3, 2), ["b", 5, 3, "s"], "b, 5, s, s"),
    ((6, 5, 2, 3), ["b", "h", "s", 3], (6, 5, 3, 2), ["b", "h", 3, "s"], "b, h, s, s"),
    ((6, 5, 2, 3), ["b", 5, 2, 3], (5, 3, 4), [5, 3, 4], "b, 5, 2, 4"),
    ((6, 1, 2, 3), ["b", 1, "s", 3], (1, 5, 3, 2), [1, "h", 3, 2], "b, h, s, 2"),
    ((6, 5, 2, 3), ["a", 5, 2, 3], (6, 5, 3, 4), ["b", 5, 3, 4], "?, 5, 2, 4"),
    ((6, 5, 2, 3), [6, "m", 2, 3], (6, 5, 3, 4), [6, 5, 3, 4], "6, 5, 2, 4"),
    ((6, 5, 2, 3), [None, None, None, None], (6, 5, 3, 4), [None] * 4, "?, ?, ?, ?"),
]


@pytest.mark.parametrize(("left", "names", "right", "others", "wanted"), NAMED)
def test_named_dimensions_stay(
    left: Shape, names: list[Any], right: Shape, others: list[Any], wanted: str
) -> None:
    one, other = tensor(*left), tensor(*right)
    given = model("MatMul", one, other, opset=13, shapes={0: names, 1: others})
    assert main_type(from_onnx(given)[0]) == f"Tensor[({wanted}), float32]"
    agree(given, one, other)


@pytest.mark.parametrize("dtype", ["float64", "int32", "uint64"])
def test_other_element_types(dtype: str) -> None:
    one, other = (np.arange(6).reshape(shape).astype(dtype) for shape in ((2, 3), (3, 2)))
    agree(model("MatMul", one, other, opset=13), one, other)


@pytest.mark.parametrize("bias", [(), (1,), (4,), (1, 4), (2, 1), (2, 4)])
@pytest.mark.parametrize("opset", [7, 13])
def test_what_is_added_is_broadcast(bias: Shape, opset: int) -> None:
    one, other, added = tensor(2, 3), tensor(3, 4), tensor(*bias)
    agree(model("Gemm", one, other, added, opset=opset), one, other, added)


@pytest.mark.parametrize("opset", [1, 6])
def test_before_version_7_an_attribute_says_so(opset: int) -> None:
    one, other, added = tensor(2, 3), tensor(3, 4), tensor(4)
    given = model("Gemm", one, other, added, opset=opset, broadcast=1, beta=2.0)
    agree(given, one, other, added, wanted=[one @ other + 2 * added])


@pytest.mark.parametrize("turned", [(0, 1), (1, 0), (1, 1)])
def test_factors_may_be_transposed_and_scaled(turned: tuple[int, int]) -> None:
    left, right = tensor(2, 3), tensor(3, 4)
    left, right = left.T.copy() if turned[0] else left, right.T.copy() if turned[1] else right
    attributes: dict[str, Any] = {"transA": turned[0], "transB": turned[1], "alpha": 0.5}
    agree(model("Gemm", left, right, opset=11, **attributes), left, right)
    added = tensor(4)
    given = model("Gemm", left, Fixed(right), Fixed(added), opset=13, beta=0.25, **attributes)
    agree(given, left)


def test_layers_of_any_number_of_rows() -> None:
    data, weight, bias = tensor(2, 3), tensor(4, 3), tensor(4)
    given = model(
        "Gemm", data, Fixed(weight), Fixed(bias), opset=13, shapes={0: ("n", "k")}, transB=1
    )
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 4), float32]"
    agree(given, data)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bij, bjk -> bik", [(5, 2, 3), (5, 3, 4)]),
        ("...ii->...i", [(2, 3, 3)]),
        ("i,i", [(3,), (3,)]),
        ("ij->", [(2, 3)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("...ij,...jk", [(4, 2, 3), (4, 3, 2)]),
        ("a,b,c->cab", [(2,), (3,), (4,)]),
    ],
)
def test_equations(equation: str, shapes: Sequence[Shape]) -> None:
    given = [tensor(*shape, seed=place) for place, shape in enumerate(shapes)]
    agree(model("Einsum", *given, opset=12, equation=equation), *given)


def test_equations_over_names() -> None:
    one, other = tensor(2, 3), tensor(3, 4)
    given = model(
        "Einsum", one, other, opset=12, equation="ij,jk->ik", shapes={0: ("n", "k"), 1: ("m", 4)}
    )
    agree(given, one, other)


def test_determinants() -> None:
    matrices = tensor(2, 2, 5, 5)
    agree(model("Det", matrices, opset=11), matrices, rtol=1e-4)
    exchanged = np.array([[0, 1], [1, 0]], "float32")
    agree(model("Det", exchanged, opset=22, shapes={0: ("n", "n")}), exchanged)
    agree(model("Det", np.ones((3, 3), "float32"), opset=11), np.ones((3, 3), "float32"))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(FrontendError, match="a scalar is no matrix"):
        from_onnx(model("MatMul", tensor(), tensor(3), opset=13))
    with pytest.raises(FrontendError, match="batches do not broadcast"):
        from_onnx(model("MatMul", tensor(2, 3, 4), tensor(3, 4, 5), opset=13))
    with pytest.raises(FrontendError, match="factors have the wrong number of axes"):
        from_onnx(model("Gemm", tensor(2, 3, 4), tensor(4, 5), opset=13))
    with pytest.raises(FrontendError, match="inner extents differ"):
        from_onnx(model("MatMul", tensor(2, 3), tensor(4, 5), opset=13))
