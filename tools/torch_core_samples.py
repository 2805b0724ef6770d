"""Samples of core operators of torch (`torch.Tag.core`) that the operator database has no entry of.

They are called as exported programs call them, by `torch.ops.aten`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

aten = torch.ops.aten


def floats(*shape: int) -> torch.Tensor:
    return torch.randn(shape)


def _pooled(x: torch.Tensor) -> torch.Tensor:
    return aten.max_pool2d_with_indices(x, [2, 2])[1]


def _statistics(x: torch.Tensor, *shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    _, mean, deviation = aten.native_layer_norm(x, list(shape), None, None, 1e-5)
    return mean, deviation


def layer_norm_backward() -> tuple[Any, ...]:
    x = floats(3, 4, 5)
    mean, deviation = _statistics(x, 5)
    return floats(3, 4, 5), x, [5], mean, deviation, floats(5), floats(5), [True, True, True]


def group_norm_backward() -> tuple[Any, ...]:
    x, weight = floats(2, 6, 5), floats(6)
    _, mean, deviation = aten.native_group_norm(x, weight, None, 2, 6, 5, 3, 1e-5)
    return floats(2, 6, 5), x, mean, deviation, weight, 2, 6, 5, 3, [True, True, True]


# by packet: functions that make the arguments
CORE: Mapping[str, list[Callable[[], tuple[Any, ...]]]] = {
    "_adaptive_avg_pool2d": [
        lambda: (floats(2, 3, 7, 5), [3, 2]),
        lambda: (floats(3, 4, 4), [2, 2]),
    ],
    "_adaptive_avg_pool2d_backward": [
        lambda: (floats(2, 3, 2, 2), floats(2, 3, 4, 6)),
        lambda: (floats(2, 3, 3, 2), floats(2, 3, 7, 5)),
    ],
    "_adaptive_avg_pool3d": [lambda: (floats(2, 3, 5, 4, 6), [2, 2, 3])],
    "_cdist_forward": [
        lambda: (floats(3, 4), floats(5, 4), 2.0, None),
        lambda: (floats(2, 3, 4), floats(2, 5, 4), 1.0, None),
    ],
    "_embedding_bag": [
        lambda: (floats(7, 3), torch.tensor([1, 2, 4, 6]), torch.tensor([0, 2])),
        lambda: (floats(7, 3), torch.tensor([1, 2, 4, 6]), torch.tensor([0, 1]), False, 1),
    ],
    "_fft_c2r": [lambda: (torch.randn(3, 4, dtype=torch.complex64), [1], 2, 6)],
    "_fft_r2c": [lambda: (floats(3, 6), [1], 0, True), lambda: (floats(3, 5), [0, 1], 0, False)],
    "_local_scalar_dense": [lambda: (torch.tensor(3),)],
    "_log_softmax": [lambda: (floats(3, 4), 1, False)],
    "_native_batch_norm_legit": [
        lambda: (floats(2, 3, 4), floats(3), floats(3), True, 0.1, 1e-5),
    ],
    "_native_batch_norm_legit_no_training": [
        lambda: (floats(2, 3, 4), floats(3), floats(3), floats(3), torch.rand(3) + 1, 0.1, 1e-5),
    ],
    "_pdist_forward": [lambda: (floats(4, 3), 2.0)],
    "_softmax": [lambda: (floats(3, 4), 1, False)],
    "_to_copy": [lambda: (floats(3, 4),)],
    "adaptive_avg_pool1d": [lambda: (floats(2, 3, 7), [3])],
    "alias": [lambda: (floats(3, 4),)],
    "avg_pool2d_backward": [
        lambda: (floats(2, 3, 2, 2), floats(2, 3, 4, 4), [2, 2], [2, 2], [0, 0], False, True, None),
    ],
    "col2im": [lambda: (floats(2, 12, 9), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1])],
    "convolution": [
        lambda: (floats(2, 4, 8), floats(6, 2, 3), floats(6), [2], [1], [1], False, [0], 2),
        lambda: (
            *(floats(2, 4, 5, 6), floats(4, 3, 3, 3), None),
            *([2, 1], [1, 1], [1, 1], True, [1, 0], 1),
        ),
    ],
    "convolution_backward": [
        lambda: (
            *(floats(2, 6, 6, 6), floats(2, 4, 8, 8), floats(6, 4, 3, 3), [6], [1, 1], [0, 0]),
            *([1, 1], False, [0, 0], 1, [True, True, True]),
        ),
    ],
    "copy": [lambda: (floats(3, 4), floats(4))],
    "embedding": [lambda: (floats(7, 3), torch.tensor([[1, 2], [6, 0]]))],
    "embedding_dense_backward": [
        lambda: (floats(2, 2, 3), torch.tensor([[1, 2], [6, 1]]), 7, -1, False),
    ],
    "empty": [lambda: ([3, 4],)],
    "full": [lambda: ([3, 4], 2.5)],
    "index": [
        lambda: (floats(3, 4), [torch.tensor([0, 2]), torch.tensor([1, -1])]),
        lambda: (floats(3, 4), [None, torch.tensor([[0, 2], [3, 3]])]),
    ],
    "max_pool2d_with_indices": [lambda: (floats(2, 3, 6, 6), [2, 2])],
    "max_pool2d_with_indices_backward": [
        lambda: (
            floats(2, 3, 3, 3),
            *((x := floats(2, 3, 6, 6)), [2, 2], [2, 2], [0, 0], [1, 1], False, _pooled(x)),
        ),
    ],
    "max_pool3d_with_indices": [lambda: (floats(2, 3, 4, 4, 4), [2, 2, 2])],
    "native_dropout": [lambda: (floats(300, 4), 0.5, True), lambda: (floats(3, 4), 0.5, False)],
    "native_group_norm": [lambda: (floats(2, 6, 5), floats(6), floats(6), 2, 6, 5, 3, 1e-5)],
    "native_group_norm_backward": [group_norm_backward],
    "native_layer_norm": [lambda: (floats(3, 4, 5), [5], floats(5), floats(5), 1e-5)],
    "native_layer_norm_backward": [layer_norm_backward],
    "rand": [lambda: ([300, 4],)],
    "randn": [lambda: ([300, 4],)],
    "randperm": [lambda: (300,)],
    "reflection_pad1d": [lambda: (floats(2, 3, 5), [1, 2])],
    "reflection_pad2d": [lambda: (floats(2, 3, 5, 5), [1, 2, 3, 0])],
    "reflection_pad3d": [lambda: (floats(2, 3, 5, 5, 5), [1, 2, 3, 0, 1, 1])],
    "replication_pad2d": [lambda: (floats(2, 3, 5, 5), [1, 2, 3, 0])],
    "replication_pad3d": [lambda: (floats(2, 3, 5, 5, 5), [1, 2, 3, 0, 1, 1])],
    "scalar_tensor": [lambda: (2.5,)],
    "sym_is_contiguous": [lambda: (floats(3, 4),)],
    "sym_numel": [lambda: (floats(3, 4),)],
    "sym_size": [lambda: (floats(3, 4), 1)],
    "sym_storage_offset": [lambda: (floats(3, 4),)],
    "sym_stride": [lambda: (floats(3, 4), 0)],
    "upsample_bilinear2d": [lambda: (floats(2, 3, 4, 5), [7, 9], False)],
    "upsample_nearest2d": [lambda: (floats(2, 3, 4, 5), [7, 9])],
}

# of whose results only the first is the same for all kernels of torch
FIRST: Mapping[str, Callable[[Any], Any]] = {"_embedding_bag": lambda found: found[0]}
