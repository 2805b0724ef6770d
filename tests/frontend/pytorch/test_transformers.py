"""Models of `transformers` agree with eager torch at three sizes each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

import relay

if TYPE_CHECKING:
    from tests.models.in_transformers import Exported

pytest.importorskip("transformers", reason="the extra `models` is not installed")

# whose batch and length torch leaves open
FIXED_LENGTH = {"mamba"}


def agree(name: str) -> Exported:
    """The largest error, of the largest output, is at most a thousandth."""
    from tests.models.in_transformers import MODELS, exported, several

    found = exported(MODELS[name])
    exe = relay.compile(found.program)
    for inputs in several(MODELS[name], found):
        with torch.no_grad():
            wanted = found.eager(*inputs)
        given = exe(*inputs)
        results = list(given) if isinstance(given, tuple | list) else [given]
        assert len(results) == len(wanted)
        for one, other in zip(results, wanted, strict=True):
            assert one.shape == other.shape
            assert float((one - other).abs().max()) <= 1e-3 * float(other.abs().max())
    return found


@pytest.mark.full
@pytest.mark.parametrize(
    "name",
    [
        *("bert", "distilbert", "gpt2 with past", "t5 encoder", "t5 decoder", "llama", "mamba"),
        *("whisper encoder", "clip", "wav2vec2", "vit", "swin", "resnet", "mobilenet v2"),
        "segformer",
    ],
)
def test_the_model_agrees_at_three_sizes(name: str) -> None:
    found = agree(name)
    assert found.batch
    assert found.length == (name not in FIXED_LENGTH)


@pytest.mark.full
def test_every_model_is_tested() -> None:
    from tests.models.in_transformers import MODELS

    (mark,) = (
        one for one in test_the_model_agrees_at_three_sizes.pytestmark if one.name == "parametrize"
    )
    assert set(mark.args[1]) == set(MODELS)
