"""Pools: special values, edges, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import relay
from relay import nn
from relay.check.infer import infer_expr
from relay.errors import TypeCheckError
from relay.ir.expr import Function, Var
from relay.ir.types import ShapeVar, TensorType
from relay.op.opdef import get

n = ShapeVar("n")
GENERATOR = np.random.default_rng(0)


def tensor(*shape: Any, dtype: str = "float32") -> Var:
    return relay.var("x", TensorType(shape, dtype))


def run(name: str, *args: Any, **attrs: Any) -> Any:
    return get(name).reference(*args, **dict(get(name).make_attrs(attrs).items()))


def test_nan_passes_through_every_pool() -> None:
    data = np.ones((1, 1, 4, 4), "float32")
    data[0, 0, 0, 1] = np.nan
    for name in ("nn.max_pool2d", "nn.avg_pool2d"):
        found = run(name, data, pool_size=2, strides=2)
        np.testing.assert_array_equal(found[0, 0], [[np.nan, 1], [1, 1]])
    for name in ("nn.adaptive_max_pool2d", "nn.adaptive_avg_pool2d"):
        found = run(name, data, output_size=2)
        np.testing.assert_array_equal(found[0, 0], [[np.nan, 1], [1, 1]])


def test_padding_is_never_a_maximum() -> None:
    data = np.full((1, 1, 2), -100, "int8")
    assert (run("nn.max_pool1d", data, pool_size=3, padding=1) == -100).all()


@pytest.mark.parametrize("extent", range(1, 9))
@pytest.mark.parametrize("padding", [0, 1])
def test_padding_counts_up_to_its_end_as_in_torch(extent: int, padding: int) -> None:
    data = GENERATOR.uniform(-1, 1, (1, 2, extent))
    for stride in (1, 2, 3):
        if extent + 2 * padding < 3:
            continue
        expected = F.avg_pool1d(torch.from_numpy(data), 3, stride, padding, True, True).numpy()
        attrs: dict[str, Any] = {"pool_size": 3, "strides": stride, "padding": padding}
        found = run("nn.avg_pool1d", data, ceil_mode=True, count_include_pad=True, **attrs)
        # a window that starts in the padding behind data is one too many for torch
        np.testing.assert_allclose(found[..., : expected.shape[-1]], expected, rtol=1e-12)


def test_an_adaptive_pool_without_a_size_keeps_data() -> None:
    data = GENERATOR.uniform(-1, 1, (1, 2, 3, 4))
    np.testing.assert_array_equal(run("nn.adaptive_max_pool2d", data), data)
    np.testing.assert_array_equal(run("nn.adaptive_avg_pool2d", data, output_size=None), data)
    assert nn.adaptive_avg_pool2d(tensor(1, 2, 3, 4)).attrs.output_size == ()
    assert nn.adaptive_avg_pool2d(tensor(1, 2, 3, 4), 5).attrs.output_size == (5, 5)


@pytest.mark.parametrize("extent", range(1, 8))
@pytest.mark.parametrize("size", range(1, 8))
def test_adaptive_windows_are_those_of_torch(extent: int, size: int) -> None:
    data = GENERATOR.uniform(-1, 1, (1, 2, extent))
    expected = F.adaptive_avg_pool1d(torch.from_numpy(data), size).numpy()
    np.testing.assert_allclose(
        run("nn.adaptive_avg_pool1d", data, output_size=size), expected, rtol=1e-12
    )


def test_global_pools_of_one_and_three_axes_are_adaptive_ones() -> None:
    call = nn.global_max_pool1d(tensor(1, 2, 3))
    assert call.op is get("nn.adaptive_max_pool1d") and call.attrs.output_size == (1,)
    assert infer_expr(nn.global_avg_pool1d(tensor(1, 2, n))).checked_type.shape == (1, 2, 1)
    call = nn.global_avg_pool3d(tensor(1, 3, n, n, 2), layout="NDHWC")
    assert call.op is get("nn.adaptive_avg_pool3d")
    assert infer_expr(call).checked_type.shape == (1, 1, 1, 1, 2)
    assert nn.global_max_pool3d(tensor(1, 2, 3, 4, 5)).attrs.output_size == (1, 1, 1)


def test_a_pool_over_nothing() -> None:
    empty = np.zeros((1, 2, 0, 3), "float32")
    assert (run("nn.global_max_pool2d", empty) == -np.inf).all()
    assert np.isnan(run("nn.global_avg_pool2d", empty)).all()
    assert (run("nn.global_avg_pool2d", empty.astype("int32")) == 0).all()
    assert run("nn.max_pool2d", np.zeros((0, 2, 4, 4), "float32"), pool_size=2).shape == (
        0,
        2,
        3,
        3,
    )


# --- gradients ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "attrs",
    [
        {"pool_size": 2},
        {"pool_size": 3, "strides": 2, "padding": 1},
        {"pool_size": (2, 3), "strides": (2, 1), "padding": (1, 1), "ceil_mode": True},
    ],
)
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_gradients_are_those_of_torch(kind: str, attrs: dict[str, Any]) -> None:
    # few different values, so that windows have several greatest elements
    data = GENERATOR.integers(0, 3, (2, 3, 6, 5)).astype("float64")
    x = torch.from_numpy(data).requires_grad_()
    names = {"pool_size": "kernel_size", "strides": "stride"}
    keywords: dict[str, Any] = {names.get(k, k): v for k, v in attrs.items()}
    keywords.setdefault("stride", 1)
    if kind == "avg":
        keywords["count_include_pad"] = False
    result = getattr(F, f"{kind}_pool2d")(x, **keywords)
    grad = torch.from_numpy(GENERATOR.uniform(-1, 1, result.shape))
    (expected,) = torch.autograd.grad(result, x, grad)
    found = run(f"nn.{kind}_pool2d_grad", grad.numpy(), data, **attrs)
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-12, atol=1e-14)


def test_the_lowest_value_wins_against_padding() -> None:
    data = np.full((1, 1, 2, 2), -np.inf, "float32")
    grad = np.ones((1, 1, 3, 3), "float32")
    found = run("nn.max_pool2d_grad", grad, data, pool_size=2, padding=1)
    assert found.sum() == 9 and found[0, 0, 0, 0] == 4


def test_a_gradient_gets_its_type_from_data() -> None:
    grad = relay.var("g")
    call = nn.max_pool2d_grad(grad, tensor(1, n, 8, 8), pool_size=3, strides=2, out_layout="NHWC")
    found = infer_expr(Function((grad,), call))
    assert str(found.params[0].type_annotation) == "Tensor[(1, 3, 3, n), float32]"
    assert found.body.checked_type.shape == (1, n, 8, 8)


# --- where the greatest elements stand ---------------------------------------------------------


@pytest.mark.parametrize(
    "attrs",
    [
        {"pool_size": 2},
        {"pool_size": 3, "strides": 2, "padding": 1},
        {"pool_size": (2, 3), "strides": (2, 1), "padding": (1, 1), "ceil_mode": True},
    ],
)
def test_places_of_the_greatest_are_those_of_torch(attrs: dict[str, Any]) -> None:
    # few different values, so that windows have several greatest elements
    data = GENERATOR.integers(0, 3, (2, 3, 6, 5)).astype("float32")
    names = {"pool_size": "kernel_size", "strides": "stride"}
    keywords: dict[str, Any] = {names.get(k, k): v for k, v in attrs.items()}
    keywords.setdefault("stride", 1)
    _, expected = F.max_pool2d(torch.from_numpy(data), return_indices=True, **keywords)
    found = run("nn.max_pool2d_positions", data, **attrs)
    np.testing.assert_array_equal(found, expected.numpy())


def test_a_place_is_in_data_or_nowhere() -> None:
    data = np.full((1, 1, 2), -np.inf, "float32")
    found = run("nn.max_pool1d_positions", data, pool_size=2, padding=1)
    assert found.tolist() == [[[0, 0, 1]]]
    found = run("nn.max_pool1d_positions", data, pool_size=1, padding=1)
    assert found.tolist() == [[[-1, 0, 1, -1]]]


REFUSED: list[tuple[Any, str]] = [
    (nn.max_pool1d(tensor(1, 2, 3), pool_size=0), "`pool_size` does not fit"),
    (nn.max_pool2d(tensor(1, 2, 3, 3), pool_size=(1, 2, 3)), "`pool_size` does not fit"),
    (nn.avg_pool3d(tensor(1, 2, 3, 3, 3), padding=(1, 2)), "`padding` does not fit"),
    (nn.avg_pool1d(tensor(1, 2, 3), layout="NCHW"), "`layout` is no layout"),
    (nn.avg_pool1d(tensor(1, 2, 3, dtype="bool")), "argument `data` has the wrong element type"),
    (nn.adaptive_avg_pool2d(tensor(1, 2, 3, 3), (2, 0)), "`output_size` does not fit"),
    (nn.adaptive_max_pool1d(tensor(1, 2, 3), (2, 1)), "`output_size` does not fit"),
    (nn.global_avg_pool2d(tensor(1, 2, 3)), "argument `data` has the wrong rank"),
    (
        nn.max_pool2d_grad(tensor(1, 2, 3, 3), tensor(1, 2, 3, 3), pool_size=2),
        "argument `out_grad` has the wrong shape",
    ),
]


@pytest.mark.parametrize(("expr", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_what_has_no_type_is_refused_in_words(expr: Any, message: str) -> None:
    with pytest.raises(TypeCheckError) as error:
        infer_expr(expr)
    first = error.value.diagnostics[0]
    assert message in first.message
    assert first.expected and first.found
