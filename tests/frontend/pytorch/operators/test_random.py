"""What draws random numbers has torch's shapes, element types and distributions."""

from __future__ import annotations

import torch

import relay


class Dropping(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found, mask = torch.native_dropout(x, 0.25, True)
        slopes = torch.nn.functional.rrelu(-x, 0.2, 0.6, training=True)
        return found, mask, torch.nn.functional.dropout(x, 0.5), slopes


def test_dropout_in_training_keeps_the_share_that_it_says() -> None:
    x = torch.ones(100, 100)
    found, mask, half, slopes = relay.compile(Dropping(), (x,))(x)
    assert mask.dtype == torch.bool
    assert torch.equal(found, mask / 0.75)
    assert abs(float(mask.float().mean()) - 0.75) < 0.02
    assert set(half.unique().tolist()) == {0.0, 2.0}
    assert -0.6 <= float(slopes.min()) < -0.55 < -0.25 < float(slopes.max()) <= -0.2
