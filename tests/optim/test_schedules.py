import pytest
import torch

from relay.errors import RelayError
from relay.optim import SGD, Adam, cosine, exponential, piecewise, step_decay, warmup
from tests.optim.stepping import expect_equal, gradients, ours, theirs
from tests.support.looping import each

RATES = torch.optim.lr_scheduler


@each(
    "schedule, peer",
    [
        (step_decay(0.1, every=2, factor=0.5), lambda o: RATES.StepLR(o, 2, 0.5)),
        (exponential(0.1, 0.7), lambda o: RATES.ExponentialLR(o, 0.7)),
        (cosine(0.1, steps=5, final=0.01), lambda o: RATES.CosineAnnealingLR(o, 5, 0.01)),
        (
            warmup(0.1, steps=4, start=0.25),
            lambda o: RATES.LinearLR(o, start_factor=0.25, total_iters=4),
        ),
        (
            piecewise(0.1, {2: 0.05, 4: 0.2}),
            lambda o: RATES.LambdaLR(o, lambda step: 1 if step < 2 else 0.5 if step < 4 else 2),
        ),
    ],
)
def test_a_schedule_gives_the_rates_of_pytorch(schedule, peer):
    steps = gradients(steps=5)
    expected = theirs(lambda weights: torch.optim.SGD(weights, lr=0.1), steps, schedule=peer)
    expect_equal(ours(SGD(schedule), steps), expected)


def test_schedules_combine_and_serve_every_optimizer():
    steps = gradients(steps=4)

    def rate(step):
        return min(step / 2, 1) * 0.5 ** (step // 3)

    expected = theirs(
        lambda weights: torch.optim.Adam(weights, lr=0.1),
        steps,
        schedule=lambda o: RATES.LambdaLR(o, rate),
    )
    schedule = warmup(step_decay(0.1, every=3, factor=0.5), steps=2)
    expect_equal(ours(Adam(schedule), steps), expected)


def test_a_schedule_takes_a_number_of_steps():
    with pytest.raises(RelayError, match="`steps` is a number of steps"):
        cosine(0.1, steps=0)
    with pytest.raises(RelayError, match="`every` is a number of steps"):
        step_decay(0.1, every=-3)
