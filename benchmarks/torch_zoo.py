"""Networks written in PyTorch, as its users write them, for what `relay.testing` has no network of.

    model, inputs = network("vit-b-16")

Weights are random and batch size is 1. Tokens are embedded before the first layer: what is measured
is the layers.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Network = tuple[nn.Module, tuple[Tensor, ...]]


class Attention(nn.Module):
    """Self-attention with all projections of the input as one product."""

    def __init__(self, width: int, heads: int, *, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.inward, self.outward = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def split(self, x: Tensor) -> tuple[Tensor, ...]:
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        return tuple(part.reshape(shape).transpose(1, 2) for part in self.inward(x).chunk(3, -1))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.split(x)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.outward(mixed.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    """A layer of a transformer with normalization before its two parts."""

    def __init__(self, width: int, heads: int, *, causal: bool = False) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal=causal)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def mixed(self, x: Tensor) -> Tensor:
        return x + self.narrow(F.gelu(self.wide(self.between(x))))

    def forward(self, x: Tensor) -> Tensor:
        return self.mixed(x + self.attention(self.before(x)))


class Decoding(Layer):
    """One step of a decoder: keys and values of earlier tokens are inputs, and come out longer."""

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = self.attention.split(self.before(x))
        keys, values = torch.cat((keys, k), 2), torch.cat((values, v), 2)
        mixed = F.scaled_dot_product_attention(q, keys, values).transpose(1, 2).reshape(x.shape)
        return self.mixed(x + self.attention.outward(mixed)), keys, values


class Decoder(nn.Module):
    """A step of GPT-2 small: the logits of the next token."""

    def __init__(self, layers: int, width: int, heads: int, words: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Decoding(width, heads) for _ in range(layers))
        self.norm, self.words = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, x: Tensor, *past: Tensor) -> tuple[Tensor, ...]:
        longer: list[Tensor] = []
        for layer, keys, values in zip(self.layers, past[::2], past[1::2], strict=True):
            x, *kept = layer(x, keys, values)
            longer += kept
        return self.words(self.norm(x)), *longer


class Vision(nn.Module):
    """ViT-B/16: patches of an image, a class token, twelve layers."""

    def __init__(self, layers: int, width: int, heads: int, size: int, patch: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        count = (size // patch) ** 2 + 1
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, count, width) * 0.02)
        self.layers = nn.Sequential(*(Layer(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.positions
        return self.head(self.norm(self.layers(x))[:, 0])


class Inverted(nn.Module):
    """An inverted residual block of MobileNet v2."""

    def __init__(self, inputs: int, outputs: int, stride: int, widening: int) -> None:
        super().__init__()
        wide = inputs * widening
        steps = [] if widening == 1 else _convolution(inputs, wide, 1)
        steps += _convolution(wide, wide, 3, stride, groups=wide)
        steps += [nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.steps = nn.Sequential(*steps)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.steps(x) if self.residual else self.steps(x)


def _convolution(
    inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1
) -> list[nn.Module]:
    convolution = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)
    return [convolution, nn.BatchNorm2d(outputs), nn.ReLU6()]


def mobilenet_v2() -> nn.Module:
    """MobileNet v2 (Sandler et al. 2018)."""
    rows = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)]
    rows += [(6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    blocks, channels = _convolution(3, 32, 3, 2), 32
    for widening, outputs, count, stride in rows:
        for index in range(count):
            blocks.append(Inverted(channels, outputs, 1 if index else stride, widening))
            channels = outputs
    blocks += [*_convolution(channels, 1280, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*blocks, nn.Linear(1280, 1000))


def encoder(length: int, layers: int = 4, *, causal: bool = False) -> Network:
    """Layers of the size of BERT base or GPT-2 small."""
    model = nn.Sequential(*(Layer(768, 12, causal=causal) for _ in range(layers)))
    return model, (torch.randn(1, length, 768),)


def decoding(past: int) -> Network:
    """A step of GPT-2 small after `past` tokens."""
    kept = [torch.randn(1, 12, past, 64) for _ in range(24)]
    return Decoder(12, 768, 12, 50257), (torch.randn(1, 1, 768), *kept)


NETWORKS: dict[str, Callable[[], Network]] = {
    "mobilenet-v2": lambda: (mobilenet_v2(), (torch.randn(1, 3, 224, 224),)),
    "encoder-128": lambda: encoder(128),
    "encoder-512": lambda: encoder(512),
    "gpt2-prefill": lambda: encoder(128, 12, causal=True),
    "gpt2-decode": lambda: decoding(128),
    "vit-b-16": lambda: (Vision(12, 768, 12, 224, 16), (torch.randn(1, 3, 224, 224),)),
}


def network(name: str) -> Network:
    """A network in inference mode and its inputs, the same every time."""
    torch.manual_seed(0)
    model, inputs = NETWORKS[name]()
    return model.eval().requires_grad_(False), inputs
