"""Embeddings and bags of them agree with torch."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from torch.nn import functional as f

import relay
from relay.errors import RelayError
from tests.frontend.pytorch.operators.layers import Together, agree

WEIGHT = torch.randn(10, 3)
PLACES = torch.tensor([1, 2, 4, 5, 4, 3, 2, 9])


def test_bags_agree_in_all_modes() -> None:
    def bag(offsets: torch.Tensor, *more: Any) -> Any:
        bags = torch.ops.aten._embedding_bag_forward_only
        return lambda w, i: bags(w, i, offsets, False, *more)[0]

    for offsets in (torch.tensor([0, 0, 3, 8, 8]), torch.tensor([0, 4, 8])):
        options = product(range(3), [False], [None], [False, True], [-1, 2])
        agree(*((bag(offsets, *more), [WEIGHT, PLACES]) for more in options))


def test_bags_of_dynamic_sizes_are_weighted() -> None:
    def bag(w: torch.Tensor, i: torch.Tensor, o: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten._embedding_bag(w, i, o, False, 0, False, s)[0]

    agree((bag, [WEIGHT, PLACES, torch.tensor([0, 3, 3]), torch.randn(8)]), compiled=True)


def test_an_index_outside_of_the_table_is_an_error() -> None:
    model = Together([(f.embedding, [PLACES, WEIGHT])])
    mod, params = relay.frontend.from_pytorch(model, (PLACES, WEIGHT))
    with pytest.raises(RelayError, match="10"):
        relay.compile(mod, params)(PLACES + 1, WEIGHT)
