"""Models of `transformers` under `torch.compile(backend="relay")`, none of whose graphs run in
PyTorch: two sizes each, with an update of all parameters in between."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from relay.frontend.pytorch.dynamo import backend

pytest.importorskip("transformers", reason="the extra `models` is not installed")

SIZES = ((2, 8), (3, 13))


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Without the graphs of other tests."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    with warnings.catch_warnings(action="ignore"):  # of torch and transformers
        yield


def agree(found: Any, wanted: Any) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape
        assert float((one - other).abs().max()) <= 1e-3 * float(other.abs().max())


@pytest.mark.full
@pytest.mark.parametrize(
    "name",
    [
        *("bert", "distilbert", "gpt2 with past", "t5 encoder", "t5 decoder", "llama", "vit"),
        *("resnet", "mobilenet v2", "segformer"),
    ],
)
def test_a_model_agrees_at_two_sizes_with_an_update_in_between(name: str, caplog: Any) -> None:
    from tests.models.in_transformers import MODELS

    model = MODELS[name].module().eval()
    compiled = torch.compile(model, backend=backend)
    with torch.no_grad():
        for size in SIZES:
            inputs = MODELS[name].inputs(*size)
            agree(compiled(*inputs), model(*inputs))
            for parameter in model.parameters():
                parameter.mul_(0.9)
            agree(compiled(*inputs), model(*inputs))
    assert not [one for one in caplog.records if "in PyTorch" in one.getMessage()]
