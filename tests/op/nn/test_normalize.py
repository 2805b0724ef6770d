"""Normalization: what it promises of the result, what its relations learn, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import relay
from relay.check.infer import infer_expr
from relay.errors import TypeCheckError
from relay.ir.expr import Function
from relay.ir.types import ShapeVar, TensorType
from relay.op.opdef import get

n = ShapeVar("n")


def tensor(*shape: Any, dtype: str = "float32") -> relay.Var:
    return relay.var("x", TensorType(shape, dtype))


def run(name: str, *args: Any, **attrs: Any) -> Any:
    op = get(name)
    return op.reference(*args, **dict(op.make_attrs(attrs).items()))


@pytest.mark.parametrize("name", ["nn.layer_norm", "nn.instance_norm"])
def test_large_offsets_do_not_destroy_the_variance(name: str) -> None:
    data = np.random.default_rng(0).normal(1e4, 1, (2, 3, 500)).astype("float32")
    size = data.shape[-1 if name == "nn.layer_norm" else 1]
    ones, zeros = np.ones(size, "float32"), np.zeros(size, "float32")
    found = run(name, data, ones, zeros)
    np.testing.assert_allclose(found.mean(-1), 0, atol=5e-3)
    np.testing.assert_allclose(found.std(-1), 1, atol=1e-3)


def test_nothing_to_normalize_is_not_a_number_and_no_warning() -> None:
    empty = np.zeros((2, 3, 0), "float32")
    found = run("nn.instance_norm", empty, np.ones(3, "float32"), np.zeros(3, "float32"))
    assert found.shape == (2, 3, 0)
    assert run("nn.l2_normalize", empty, eps=0.0).shape == (2, 3, 0)


def test_scale_and_offset_get_their_types_from_data() -> None:
    gamma, beta = relay.var("gamma"), relay.var("beta")
    for call in (
        relay.nn.layer_norm(tensor(2, n), gamma, beta),
        relay.nn.instance_norm(tensor(2, n, 3), gamma, beta),
        relay.nn.group_norm(tensor(2, 3, n), gamma, beta, 1, axis=2),
    ):
        function = infer_expr(Function((gamma, beta), call))
        assert isinstance(function, Function)
        assert {param.checked_type for param in function.params} == {TensorType((n,))}


def test_zero_vectors_stay_zero_and_not_a_number_stays() -> None:
    data = np.array([[0, 0, 0], [3, 0, 4], [np.nan, 1, 1]], "float32")
    found = run("nn.l2_normalize", data, eps=1e-6, axis=1)
    np.testing.assert_allclose(found[:2], [[0, 0, 0], [0.6, 0, 0.8]], rtol=1e-6)
    assert np.isnan(found[2]).all()


def test_the_python_default_of_lrn_is_another_one() -> None:
    call = relay.nn.lrn(tensor(1, 2, 3))
    assert call.attrs.alpha == 1e-5
    assert get("nn.lrn").make_attrs({}).alpha == 1e-4


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x, v: relay.nn.instance_norm(x, v, v, axis=0), "`axis` is the axis of the batch"),
        (lambda x, v: relay.nn.group_norm(x, v, v, 0), "`num_groups` is not positive"),
        (lambda x, v: relay.nn.group_norm(x, v, v, 4), "the channels do not form 4 groups"),
        (lambda x, v: relay.nn.layer_norm(x, v, v), "argument `gamma` has the wrong shape"),
        (lambda x, v: relay.nn.layer_norm(x, v, v, axis=3), "`axis` is out of range"),
        (lambda x, v: relay.nn.lrn(x, size=0), "`size` is not positive"),
        (lambda x, v: relay.nn.l2_normalize(x, 1.0, (0, 0)), "`axis` names an axis twice"),
        (lambda x, v: relay.nn.prelu(x, v, axis=2), "argument `alpha` has the wrong shape"),
        (
            lambda x, v: relay.nn.l2_normalize(tensor(3, dtype="int32"), 1.0),
            "wrong element type",
        ),
    ],
)
def test_what_cannot_be_normalized_is_refused(build: Any, message: str) -> None:
    with pytest.raises(TypeCheckError, match=message):
        infer_expr(build(tensor(2, 6, 5), tensor(6)))


@pytest.mark.parametrize("channels", [5, relay.Any()])
def test_a_window_has_no_more_neighbors_than_there_are_elements(channels: Any) -> None:
    data = np.random.default_rng(0).standard_normal((2, 5, 3), "float32")
    # the mean is that of all channels, whatever the window: its size is also the factor
    wanted = torch.nn.functional.local_response_norm(torch.from_numpy(data), 11, 11.0, 0.75, 2.0)
    x = tensor(2, channels, 3)
    for size in (2**40, 2**31 - 1, 11):
        function = relay.Function([x], relay.nn.lrn(x, size=size, alpha=float(size)))
        np.testing.assert_allclose(relay.compile(function)(data), wanted, rtol=1e-5)
        found = run("nn.lrn", data, size=size, alpha=float(size))
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
