"""Losses: targets that do not count, what the relations learn, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay
from relay.check.infer import infer_expr
from relay.errors import TypeCheckError
from relay.ir.expr import Function
from relay.ir.types import ShapeVar, TensorType
from relay.op.opdef import get

n, c = ShapeVar("n"), ShapeVar("c")


def tensor(*shape: Any, dtype: str = "float32") -> relay.Var:
    return relay.var("x", TensorType(shape, dtype))


def nll_loss(targets: list[int], **attrs: Any) -> Any:
    op = get("nn.nll_loss")
    predictions = np.array([[-1.0, -2.0, np.nan]] * len(targets))
    return op.reference(
        predictions,
        np.array(targets),
        np.array([1.0, 3.0, 1.0]),
        **dict(op.make_attrs(attrs).items()),
    )


def test_targets_outside_of_the_classes_do_not_count() -> None:
    losses = nll_loss([0, 1, -1, 3, -100], reduction="none")
    np.testing.assert_array_equal(losses, [1, 6, 0, 0, 0])
    assert nll_loss([0, 1, -1, 3, -100]) == 7 / 4
    assert nll_loss([0, 1, 1], ignore_index=1, reduction="sum") == 1


def test_a_mean_over_nothing_is_not_a_number() -> None:
    assert np.isnan(nll_loss([-100]))
    assert nll_loss([-100], reduction="sum") == 0


def test_cross_entropy_of_logits_is_that_of_their_exponentials() -> None:
    probabilities = np.random.default_rng(0).dirichlet(np.ones(5), 3)
    truth = np.eye(5)[[0, 4, 2]]
    expected = get("nn.cross_entropy").reference(probabilities, truth)
    found = get("nn.cross_entropy_with_logits").reference(np.log(probabilities), truth)
    np.testing.assert_allclose(found, expected)


def test_either_side_of_cross_entropy_tells_the_type_of_the_other() -> None:
    for known in (0, 1):
        unknown = relay.var("unknown")
        args = [unknown, unknown]
        args[known] = tensor(n, c)
        function = infer_expr(Function((unknown,), relay.nn.cross_entropy(*args)))
        assert isinstance(function, Function)
        assert function.params[0].checked_type == TensorType((n, c))
        assert function.body.checked_type == TensorType(())


def test_weights_of_classes_get_their_type() -> None:
    weights = relay.var("weights")
    call = relay.nn.nll_loss(tensor(n, c, 4), tensor(n, 4, dtype="int64"), weights, "none")
    function = infer_expr(Function((weights,), call))
    assert isinstance(function, Function)
    assert function.params[0].checked_type == TensorType((c,))
    assert function.body.checked_type == TensorType((n, 4))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: relay.nn.nll_loss(x, tensor(3, dtype="int32"), tensor(3)), "`targets`"),
        (lambda x: relay.nn.nll_loss(x, tensor(2), tensor(3)), "integer elements"),
        (lambda x: relay.nn.nll_loss(x, tensor(2, dtype="int32"), tensor(2)), "`weights`"),
        (lambda x: relay.nn.cross_entropy(x, tensor(3, 2)), "argument `y` has the wrong shape"),
        (lambda x: relay.nn.cross_entropy(tensor(3), tensor(3)), "wrong rank"),
    ],
)
def test_what_does_not_fit_is_refused(build: Any, message: str) -> None:
    with pytest.raises(TypeCheckError, match=message):
        infer_expr(build(tensor(2, 3)))
