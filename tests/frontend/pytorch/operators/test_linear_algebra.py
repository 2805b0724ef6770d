"""Linear algebra agrees with torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
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


def test_factors_agree() -> None:
    lin = torch.linalg
    tall, wide, square = torch.randn(2, 5, 3), torch.randn(3, 5), torch.randn(2, 4, 4)
    singular = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [0.0, 3.0, 4.0]])
    packed, factors = torch.geqrf(tall)
    lu, pivots = lin.lu_factor(square)
    agree(
        (lin.qr, [tall]),
        (lambda a: lin.qr(a, "complete"), [tall]),
        (lambda a: lin.qr(a, "r")[1], [wide]),
        (torch.geqrf, [wide]),
        (lin.householder_product, [packed, factors]),
        (lambda a, b, c: torch.ormqr(a, b, c, left=False), [packed, factors, torch.randn(2, 4, 5)]),
        (lambda a, b, c: torch.ormqr(a, b, c, transpose=True), [packed, factors, tall]),
        (lin.lu, [wide]),
        (lin.lu, [tall]),
        (lin.lu_factor, [square]),
        (lambda a: torch.ops.aten.linalg_lu_factor_ex(a)[:2], [singular]),
        (torch.lu_unpack, [lu, pivots]),
        (lin.lu_solve, [lu, pivots, torch.randn(2, 4, 3)]),
        (lambda a, b, c: lin.lu_solve(a, b, c, left=False), [lu, pivots, torch.randn(2, 3, 4)]),
        (lambda a, b, c: lin.lu_solve(a, b, c, adjoint=True), [lu, pivots, torch.randn(2, 4, 3)]),
        atol=1e-4,
        rtol=1e-4,
    )


def test_equations_and_factors_of_complex_matrices_agree() -> None:
    lin = torch.linalg

    def complex_(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, dtype=torch.complex64)

    a, b, wide = complex_(2, 3, 3) + 3 * torch.eye(3), complex_(2, 3, 4), complex_(3, 5)
    positive = torch.matmul(a, a.mH) + torch.eye(3)
    packed, factors = torch.geqrf(complex_(2, 5, 3))
    lu, pivots = lin.lu_factor(a)
    agree(
        (lin.det, [a]),
        (lin.slogdet, [a]),
        (lin.inv, [a]),
        (lin.solve, [a, b]),
        (lin.solve, [a[0], b[0, :, 0]]),
        (lambda a: lin.matrix_power(a, -3), [a]),
        (lin.cholesky, [positive]),
        (lambda a: lin.cholesky(a, upper=True), [positive[0]]),
        (lambda a, b: lin.solve_triangular(a, b, upper=True), [a, b]),
        (lambda a, b: torch.cholesky_solve(b, a), [a.tril(), b]),
        (lin.matrix_exp, [a]),
        (lin.qr, [b]),
        (lambda a: lin.qr(a, "complete"), [complex_(5, 3)]),
        (lin.householder_product, [packed, factors]),
        (lambda a, b, c: torch.ormqr(a, b, c, left=False), [packed, factors, complex_(2, 4, 5)]),
        (
            lambda a, b, c: torch.ormqr(a, b, c, transpose=True),
            [packed, factors, complex_(2, 5, 3)],
        ),
        (lin.lu, [wide]),
        (torch.lu_unpack, [lu, pivots]),
        (lambda a, b, c: lin.lu_solve(a, b, c, adjoint=True), [lu, pivots, b]),
        (lin.pinv, [wide]),
        atol=1e-3,
        rtol=1e-3,
    )


def test_spectra_of_complex_matrices_agree() -> None:
    lin = torch.linalg
    wide, square = (torch.randn(2, size, 4, dtype=torch.complex64) for size in (3, 4))
    same = torch.eye(3, dtype=torch.complex64)  # whose singular values are all the same

    def whole(a: torch.Tensor) -> list[torch.Tensor]:
        u, s, v = lin.svd(a, full_matrices=False)
        return [s, u.abs(), v.abs(), (u * s.unsqueeze(-2)) @ v]

    def spectrum(a: torch.Tensor) -> list[torch.Tensor]:
        values, vectors = lin.eigh(a)
        return [values, (vectors * values.unsqueeze(-2)) @ vectors.mH]

    cases = [(whole, [one]) for one in (wide, square, wide.mT.clone(), same)]
    symmetric = [(spectrum, [one]) for one in (square, same, square + square.mH)]
    agree(*cases, *symmetric, atol=1e-4, rtol=1e-4)
    agree(cases[0], symmetric[0], compiled=True, atol=1e-4, rtol=1e-4)


def without_signs(function: Callable[..., Any]) -> Callable[..., Any]:
    """The results of a function up to the signs of vectors."""
    return lambda *given: [one.abs() for one in function(*given)]


SPECTRA: list[Any] = [
    (torch.linalg.svdvals, [torch.randn(2, 3, 5)]),
    (without_signs(lambda a: torch.linalg.svd(a, full_matrices=False)), [torch.randn(2, 5, 4)]),
    (without_signs(torch.linalg.eigh), [torch.randn(2, 5, 5)]),
    (lambda a: torch.linalg.eigvalsh(a, UPLO="U"), [torch.randn(4, 4)]),
    (torch.linalg.pinv, [torch.randn(2, 5, 3)]),
    (lambda a: torch.linalg.pinv(a, hermitian=True), [torch.ones(3, 3)]),
    (torch.linalg.matrix_rank, [torch.ones(2, 3, 4)]),
    (torch.linalg.cond, [torch.randn(3, 3)]),
    (torch.linalg.matrix_exp, [torch.randn(2, 3, 3) * torch.tensor([[[0.01]], [[3.0]]])]),
]


@pytest.mark.rotate(3)
@pytest.mark.parametrize("number", range(len(SPECTRA)))
def test_spectra_agree(number: int) -> None:
    agree(SPECTRA[number], compiled=number % 2 == 0, atol=1e-4, rtol=1e-4)


def test_singular_vectors_of_a_matrix_without_full_rank_are_orthogonal() -> None:
    def rebuilt(a: torch.Tensor) -> list[torch.Tensor]:
        u, s, v = torch.linalg.svd(a)
        return [(u[:, :3] * s) @ v, u.mT @ u, v.mT @ v]

    agree((rebuilt, [torch.arange(15.0).reshape(5, 3)]), atol=1e-4)
