"""Scaled dot-product attention agrees with torch, and is recognized as one."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch.export import Dim
from torch.nn import functional as f

import relay
from tests.frontend.pytorch.operators.layers import Together, agree

attend = f.scaled_dot_product_attention


def rand(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def test_attention_with_masks_agrees() -> None:
    query, key, value = rand(2, 4, 5, 8), rand(2, 4, 7, 8), rand(2, 4, 7, 6)
    shared = rand(2, 2, 7, 8), rand(2, 2, 7, 6)
    mask = rand(5, 7) > 0
    mask[0] = False  # a query that sees nothing
    agree(
        (attend, [query, key, value]),
        (partial(attend, is_causal=True, scale=0.3), [query, key, value]),
        (attend, [query, key, value, mask]),
        (attend, [query, key, value, rand(2, 1, 5, 7)]),
        (partial(attend, enable_gqa=True), [query, *shared]),
        (partial(attend, enable_gqa=True), [query, *shared, mask]),
        (attend, [query[0, 0], key[0, 0], value[0, 0]]),
        (partial(attend, is_causal=True), [query[0], key[0], value[0]]),
        (attend, [query[0], key, value]),
        (attend, [query[None], key[None], value[None], mask]),
    )


def test_halves_agree() -> None:
    parts = [rand(1, 2, 5, 8).bfloat16() for _ in range(3)]
    agree((attend, parts), rtol=2e-2, atol=2e-2)


def test_batch_and_lengths_may_have_any_size() -> None:
    batch, rows, length = (Dim(name, min=1) for name in ("batch", "rows", "length"))
    given = [rand(2, 4, 5, 8), rand(2, 4, 7, 8), rand(2, 4, 7, 8), rand(5, 7) > 0]
    more = [rand(3, 4, 2, 8), rand(3, 4, 9, 8), rand(3, 4, 9, 8), rand(2, 9) > 0]
    keys = {0: batch, 2: length}
    shapes = ({0: batch, 2: rows}, keys, keys, {0: rows, 1: length})
    agree((attend, given), dynamic_shapes=shapes, others=[more])


@pytest.mark.full
def test_open_sizes_agree_as_native_code() -> None:
    batch, rows = Dim("batch", min=1), Dim("rows", min=1)
    given, more = ([rand(n, 4, m, 8) for _ in range(3)] for n, m in ((2, 5), (3, 9)))
    sizes = {0: batch, 2: rows}
    agree((attend, given), dynamic_shapes=(sizes,) * 3, others=[more], compiled=True)


def test_attention_is_one_kernel() -> None:
    given = [rand(2, 4, 5, 8) for _ in range(3)]
    for case in ((attend, given), (attend, [one[0] for one in given])):
        model = Together([case])
        mod, _ = relay.frontend.from_pytorch(model, tuple(case[1]))
        with relay.transform.PassContext(opt_level=3):
            text = str(relay.optimize(mod, target="llvm")[0])
        assert "attention" in text.lower()
