"""Linear algebra agrees with torch."""

from __future__ import annotations

import torch

from tests.frontend.pytorch.operators.layers import agree


def matrices(*shape: int) -> torch.Tensor:
    return torch.randn(*shape) + 3 * torch.eye(shape[-1])


def test_equations_agree() -> None:
    a, b = matrices(2, 3, 3), torch.randn(2, 3, 4)
    positive = torch.matmul(a, a.mT) + torch.eye(3)
    lin = torch.linalg
    agree(
        (lin.det, [a]),
        (lin.slogdet, [a]),
        (lin.inv, [a]),
        (lambda a: lin.inv_ex(a), [a]),
        (lin.solve, [a, b]),
        (lambda a, b: lin.solve(a, b, left=False), [a, torch.randn(2, 4, 3)]),
        (lin.solve, [a[0], b[0, :, 0]]),
        (lambda a: lin.matrix_power(a, 5), [a]),
        (lambda a: lin.matrix_power(a, 0), [a]),
        (lin.cholesky, [positive]),
        (lambda a: lin.cholesky(a, upper=True), [positive[0]]),
        (lambda a, b: lin.solve_triangular(a, b, upper=True), [a, b]),
        (lambda a, b: torch.cholesky_solve(b, a), [a.tril(), b]),
        atol=1e-3,
        rtol=1e-3,
    )
