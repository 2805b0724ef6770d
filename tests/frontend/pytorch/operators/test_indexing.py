"""Indexing, gathering and scattering agree with torch."""

from __future__ import annotations

import pytest
import torch

import relay
from relay.errors import RelayError
from tests.support.torch_agreement import Functions, Together, agree

# of a tensor (n, 5, 4), and of places (3, 2) and a mask (n, 5)
FUNCTIONS: Functions = {
    "one axis": lambda x, at, mask: x[:, at],
    "two axes": lambda x, at, mask: x[:, at, at[:, :1]],
    "apart": lambda x, at, mask: x[at[:, 0], :, at[:, 1]],
    "new axis": lambda x, at, mask: x[None, at],
    "mask": lambda x, at, mask: x[mask],
    "mask of an axis": lambda x, at, mask: x[:, torch.tensor([True, False, True, True, False])],
    "negative": lambda x, at, mask: x[:, -at],
    "index_put": lambda x, at, mask: x.index_put((at[:, 0], at[:, 1]), torch.tensor(2.0)),
    "accumulated": lambda x, at, mask: x.index_put((at * 0, at), x[0, 0], accumulate=True),
    "masked": lambda x, at, mask: x.index_put((mask,), torch.tensor(-1.0)),
    "rows of a mask": lambda x, at, mask: x.index_put((mask,), x[mask] * 2),
    "last axes": lambda x, at, mask: torch.ops.aten.index_put(x, [None, at], x[:, at] + 1),
    "index_select": lambda x, at, mask: x.index_select(1, at[0]),
    "gather": lambda x, at, mask: x[0].gather(0, at),
    "take": lambda x, at, mask: x.take(-at),
    "take_along_dim": lambda x, at, mask: x[:3, :2, 0].take_along_dim(at % 2, 1),
    "scatter": lambda x, at, mask: x[0].scatter(1, at % 4, 9.0),
    "scatter_add": lambda x, at, mask: x[0].scatter_add(0, at, x[0] * 0 + 1),
    "largest": lambda x, at, mask: x[0].scatter_reduce(0, at, x[0], "amax", include_self=False),
    "mean": lambda x, at, mask: x[0].scatter_reduce(0, at, x[0], "mean", include_self=False),
    "product": lambda x, at, mask: x[0].scatter_reduce(0, at, x[0], "prod"),
    "index_add": lambda x, at, mask: x.index_add(1, at[0], x[:, :2], alpha=2),
    "index_copy": lambda x, at, mask: x.index_copy(1, torch.tensor([3, 0]), x[:, :2]),
    "index_fill": lambda x, at, mask: x.index_fill(1, at[:, 0], 4.0),
    "masked_select": lambda x, at, mask: x[:, :, 0].masked_select(mask),
    "masked_scatter": lambda x, at, mask: x[:, :, 0].masked_scatter(mask, x),
    "put": lambda x, at, mask: x.put(at[:, 0], x[0, 0, :3], accumulate=True),
}


def test_functions_of_places_and_masks_agree() -> None:
    def given(rows: int) -> tuple[torch.Tensor, ...]:
        places = torch.tensor([[0, 2], [1, 2], [3, 1]])
        return torch.randn(rows, 5, 4), places, torch.rand(rows, 5) > 0.4

    torch.manual_seed(0)
    agree(FUNCTIONS, *given(4), others=[given(6)], open_axes=[{0: "n"}, {}, {0: "n"}])


def test_places_out_of_range_end_the_run() -> None:
    functions: Functions = {
        "index": lambda x, at: x[at],
        "gather": lambda x, at: x.gather(0, at),
        "scatter": lambda x, at: x.scatter(0, at, 1.0),
        "index_select": lambda x, at: x.index_select(0, at),
    }
    for name, function in functions.items():
        model = Together({name: function})
        mod, _ = relay.frontend.from_pytorch(model, (torch.randn(4), torch.tensor([1, 2])))
        run = relay.create_executor("debug", mod).evaluate()
        with pytest.raises(RelayError, match="out of range"):
            run(torch.randn(4), torch.tensor([1, 4]))
