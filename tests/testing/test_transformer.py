"""Transformers, against PyTorch's own layers in float64 with the same weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import relay
from relay.errors import RelayError
from relay.testing import transformer
from tests.models.in_pytorch import error, scrambled

SIZES = {"num_layers": 2, "width": 12, "heads": 3, "sequence": 7, "vocabulary": 20}


def layer_in_torch(params, name, width, heads, *, norm_first):
    layer = nn.TransformerEncoderLayer(
        width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=norm_first
    ).double()
    of = {key: torch.from_numpy(value.numpy()) for key, value in params.items()}

    def joined(kind):
        return torch.cat([of[f"{name}_{part}_{kind}"] for part in ("query", "key", "value")])

    values = {
        "self_attn.in_proj_weight": joined("weight"),
        "self_attn.in_proj_bias": joined("bias"),
        "self_attn.out_proj.weight": of[f"{name}_output_weight"],
        "self_attn.out_proj.bias": of[f"{name}_output_bias"],
    }
    for theirs, ours in (("linear1", "wide"), ("linear2", "narrow")):
        values[f"{theirs}.weight"] = of[f"{name}_{ours}_weight"]
        values[f"{theirs}.bias"] = of[f"{name}_{ours}_bias"]
    for norm in ("norm1", "norm2"):
        values[f"{norm}.weight"] = of[f"{name}_{norm}_gamma"]
        values[f"{norm}.bias"] = of[f"{name}_{norm}_beta"]
    layer.load_state_dict(values)
    return layer.eval()


def in_torch(params, words, sizes, present=None):
    """The network made of PyTorch's layers; without `present` as a decoder."""
    of = {name: torch.from_numpy(value.numpy()) for name, value in params.items()}
    width, heads, count = sizes["width"], sizes["heads"], sizes["num_layers"]
    x = of["words_weight"][torch.from_numpy(words).long()] + of["positions_weight"]

    def norm(x):
        return nn.functional.layer_norm(x, (width,), of["norm_gamma"], of["norm_beta"])

    causal = present is None
    options = (
        {"src_mask": torch.triu(torch.ones(words.shape[1], words.shape[1]), 1).bool()}
        if causal
        else {"src_key_padding_mask": torch.from_numpy(present) == 0}
    )
    x = x if causal else norm(x)
    for number in range(count):
        layer = layer_in_torch(params, f"layer{number}", width, heads, norm_first=causal)
        x = layer(x, **options)
    return norm(x) @ of["words_weight"].T if causal else x


def run(workload, params, **inputs):
    evaluate = relay.create_executor("debug", workload[0], params=params).evaluate()
    return evaluate(**inputs).numpy()


@torch.no_grad()
@pytest.mark.parametrize("batch", [1, 2])
def test_an_encoder_is_that_of_pytorch(batch):
    workload = transformer.get_workload(batch, **SIZES, dtype="float64")
    params = scrambled(workload[1])
    words = np.random.default_rng(0).integers(0, 20, (batch, 7), dtype="int32")
    present = np.ones((batch, 7))
    present[:, 5:] = 0
    found = run(workload, params, data=words, mask=present)
    expected = in_torch(params, words, SIZES, present).numpy()
    assert error(found[:, :5], expected[:, :5]) <= 1e-12


@torch.no_grad()
def test_a_decoder_is_that_of_pytorch():
    workload = transformer.get_workload(2, **SIZES, causal=True, dtype="float64")
    params = scrambled(workload[1])
    words = np.random.default_rng(0).integers(0, 20, (2, 7), dtype="int32")
    found = run(workload, params, data=words)
    assert error(found, in_torch(params, words, SIZES).numpy()) <= 1e-12


def test_a_layer_is_some_sixty_calls():
    one, two = (
        sum(
            relay.testing.count_ops(
                transformer.get_net(**(SIZES | {"num_layers": layers}))
            ).values()
        )
        for layers in (1, 2)
    )
    assert 50 <= two - one <= 80


def test_heads_share_the_width_evenly():
    with pytest.raises(RelayError, match="5 heads do not share a width of 12 evenly"):
        transformer.get_net(width=12, heads=5)
