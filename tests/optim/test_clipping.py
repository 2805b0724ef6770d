import pytest
import torch

from relay.errors import RelayError
from relay.optim import SGD, clip_norm, clip_value
from tests.optim.stepping import expect_equal, gradients, ours, theirs

CLIP = torch.nn.utils


def test_gradients_are_limited_as_in_pytorch():
    steps = gradients(steps=3)
    for limit in (0.5, 100.0):
        expected = theirs(
            lambda weights: torch.optim.SGD(weights, lr=1.0),
            steps,
            lambda weights, limit=limit: CLIP.clip_grad_norm_(weights, limit),
        )
        expect_equal(ours(SGD(1.0, clip=clip_norm(limit)), steps), expected)
    expected = theirs(
        lambda weights: torch.optim.SGD(weights, lr=1.0),
        steps,
        lambda weights: CLIP.clip_grad_value_(weights, 0.3),
    )
    expect_equal(ours(SGD(1.0, clip=clip_value(0.3)), steps), expected)


def test_a_limit_is_positive():
    for make in (clip_norm, clip_value):
        with pytest.raises(RelayError, match="a number above 0"):
            make(0.0)
