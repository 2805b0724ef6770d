"""Modules of torch.nn, scripted."""

import pytest
import torch
from torch import nn

from tests.support.looping import each
from tests.support.scripts import check


def random(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(7))


IMAGE = (random(1, 3, 6, 6),)
STEPS = random(4, 2, 3)
TOKENS = random(3, 2, 4)
ROWS = random(2, 3)


class Recurrent(nn.Module):
    """`nn.LSTM` and its like have no method `forward` that scripts may call from outside."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


SOME = [
    (nn.Conv2d(3, 4, 3, padding_mode="reflect", padding=1), IMAGE),
    (nn.BatchNorm2d(3), IMAGE),
    (Recurrent(nn.LSTM(3, 4)), (STEPS,)),
    (nn.LSTMCell(3, 4), (ROWS, (random(2, 4), random(2, 4)))),
    (nn.TransformerEncoderLayer(4, 2), (TOKENS,)),
]
OTHERS = [
    (nn.Conv1d(3, 4, 3), (random(2, 3, 8),)),
    (nn.ConvTranspose2d(3, 4, 3), IMAGE),
    (nn.MaxPool2d(2), IMAGE),
    (nn.AdaptiveAvgPool2d(1), IMAGE),
    (nn.ReplicationPad2d(1), IMAGE),
    (nn.GroupNorm(1, 3), IMAGE),
    (nn.InstanceNorm2d(3), IMAGE),
    (nn.LayerNorm(3), (ROWS,)),
    (nn.PReLU(), IMAGE),
    (nn.Hardswish(), IMAGE),
    (nn.Softmax(1), (ROWS,)),
    (Recurrent(nn.GRU(3, 4, bidirectional=True)), (STEPS,)),
    (Recurrent(nn.RNN(3, 4)), (STEPS,)),
    (nn.GRUCell(3, 4), (ROWS, random(2, 4))),
    (nn.MultiheadAttention(4, 2), (TOKENS, TOKENS, TOKENS)),
    (nn.TransformerDecoderLayer(4, 2), (TOKENS, TOKENS)),
    (nn.Embedding(3, 3), (torch.tensor([0, 2]),)),
    (nn.Upsample(scale_factor=2, mode="bilinear"), IMAGE),
    (nn.PixelShuffle(2), (random(1, 4, 3, 3),)),
]


def agrees(module, inputs):
    module.eval()
    with torch.no_grad():
        check(module, inputs, rtol=2e-4)


@each("module, inputs", SOME)
def test_modules_agree_with_torch(module, inputs):
    agrees(module, inputs)


@pytest.mark.full
@each("module, inputs", OTHERS)
def test_more_modules_agree_with_torch(module, inputs):
    agrees(module, inputs)
