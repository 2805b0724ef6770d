"""Matrix products agree with torch."""

from __future__ import annotations

import torch
from torch.export import Dim

from tests.frontend.pytorch.operators.layers import agree


def rand(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def test_products_of_all_ranks_agree() -> None:
    agree(
        (lambda x, w, b: torch.nn.functional.linear(x, w, b), [rand(2, 3, 4), rand(5, 4), rand(5)]),
        (lambda x, w: torch.nn.functional.linear(x, w), [rand(4), rand(5, 4)]),
        (torch.matmul, [rand(2, 1, 3, 4), rand(5, 4, 2)]),
        (torch.matmul, [rand(4), rand(2, 4, 3)]),
        (lambda a, x, y: torch.addmm(a, x, y, beta=0, alpha=2), [rand(3), rand(2, 4), rand(4, 3)]),
        (lambda a, x, y: torch.addbmm(a, x, y, beta=0.5), [rand(3), rand(2, 2, 4), rand(2, 4, 3)]),
        (torch.addr, [rand(2, 3), rand(2), rand(3)]),
        (torch.inner, [rand(2, 3), rand(4, 5, 3)]),
        (lambda x, y: torch.tensordot(x, y, dims=([1, 0], [0, 2])), [rand(2, 3, 4), rand(3, 5, 2)]),
        (lambda x, y: torch.einsum("bij, bkj -> bik", x, y), [rand(2, 3, 4), rand(2, 5, 4)]),
        (torch.kron, [rand(2, 3), rand(4)]),
        (torch.nn.functional.bilinear, [rand(2, 3), rand(2, 4), rand(5, 3, 4), rand(5)]),
        (lambda x, y: torch.linalg.cross(x, y, dim=0), [rand(3, 2), rand(3, 1)]),
        (torch.trace, [rand(3, 5)]),
        (torch.trace, [torch.arange(6, dtype=torch.int32).reshape(2, 3)]),
        (torch.mm, [torch.ones(2, 3, dtype=torch.int64), torch.ones(3, 2, dtype=torch.int64)]),
    )


def test_distances_agree_for_every_norm() -> None:
    x, y = rand(2, 5, 3), rand(4, 3)
    norms = [0.0, 1.0, 1.5, 2.0, float("inf")]
    agree(*((lambda a, b, p=p: torch.cdist(a, b, p=p), [x, y]) for p in norms))
    agree(*((lambda a, p=p: torch.nn.functional.pdist(a, p=p), [y]) for p in norms))


def test_products_have_open_sizes() -> None:
    rows = Dim("rows", min=1)

    def layers(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.nn.functional.linear(x, y), torch.einsum("ij,kj->ki", x, y)

    given = [rand(3, 4), rand(5, 4)]
    shapes = ({0: rows}, None)
    agree((layers, given), dynamic_shapes=shapes, others=[[rand(7, 4), rand(5, 4)]], compiled=True)
