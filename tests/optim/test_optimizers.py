import pytest
import torch

import relay
from relay.errors import RelayError
from relay.optim import SGD, Adam, AdamW
from tests.optim.stepping import expect_equal, gradients, ours, theirs
from tests.support.looping import each

OPTIONS = [
    (SGD, torch.optim.SGD, {"lr": 0.1}),
    (SGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    (SGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    (SGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (SGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.8, "dampening": 0.4}),
    (Adam, torch.optim.Adam, {"lr": 0.1}),
    (Adam, torch.optim.Adam, {"lr": 0.1, "betas": (0.5, 0.7), "eps": 0.1, "weight_decay": 0.1}),
    (Adam, torch.optim.Adam, {"lr": 0.1, "amsgrad": True}),
    (AdamW, torch.optim.AdamW, {"lr": 0.1}),
    (AdamW, torch.optim.AdamW, {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True}),
]


@each("kind, peer, options", OPTIONS)
def test_an_optimizer_does_what_that_of_pytorch_does(kind, peer, options):
    steps = gradients()
    found = ours(kind(**options), steps)
    expect_equal(found, theirs(lambda weights: peer(weights, **options), steps))


def test_an_optimizer_of_ones_own_is_one_method():
    class Sign(relay.optim.Optimizer):
        def update(self, site):
            return site.weight - site.rate * relay.sign(site.gradient), ()

    (step,) = gradients(steps=1)
    (found,) = ours(Sign(0.5), [step])
    before = ours(SGD(0.0), [step])[0]
    assert abs(abs(found["w"] - before["w"]) - 0.5).max() < 1e-6


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(RelayError, match="a learning rate is"):
        SGD(-1.0)
    with pytest.raises(RelayError, match="`momentum` is a number from 0 to 1"):
        SGD(0.1, momentum=1.5)
    with pytest.raises(RelayError, match="Nesterov"):
        SGD(0.1, nesterov=True)
    with pytest.raises(RelayError, match="`beta2` is"):
        Adam(betas=(0.9, 1.0))
