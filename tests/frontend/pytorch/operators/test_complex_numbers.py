"""Complex numbers and Fourier transforms agree with torch."""

from __future__ import annotations

import torch

from tests.frontend.pytorch.operators.layers import agree


def rand(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.complex64)


def test_arithmetic_agrees() -> None:
    x, y, real = rand(2, 3), rand(3), torch.randn(2, 3)
    agree(
        (lambda x, y: x * y + x - 2j * y, [x, y]),
        (lambda x, r: x * r + r, [x, real]),
        (lambda x, m, n: torch.addmm(x, m, n, beta=2j, alpha=0.5), [rand(2), x, rand(3, 2)]),
        (torch.complex, [torch.randn(2, 1), torch.randn(3)]),
        (torch.polar, [torch.rand(3), torch.randn(3)]),
        (torch.view_as_complex, [torch.randn(3, 2)]),
        (
            lambda x, w, b: torch.nn.functional.conv1d(x, w, b, 2),
            [rand(3, 8), rand(2, 3, 3), rand(2)],
        ),
    )


def test_functions_agree() -> None:
    x = rand(7)
    functions = (torch.sin, torch.cosh, torch.tan, torch.sigmoid, torch.sqrt)
    agree(*((function, [x]) for function in functions))


def test_inverse_functions_agree_on_both_sides_of_their_cuts() -> None:
    values = torch.tensor([-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0])
    x = torch.cat([3 * rand(7), torch.complex(values[:, None] + 0 * values, values).flatten()])
    functions = (torch.asin, torch.acos, torch.acosh, torch.asinh, torch.atan, torch.sqrt)
    agree(*((function, [x]) for function in functions))
    small = torch.cat([rand(7), 1e-3 * rand(7)])
    agree(*((function, [small]) for function in (torch.expm1, torch.log1p, torch.exp2)))


def test_sums_and_products_of_many_agree() -> None:
    x, y, z = rand(3, 4), rand(3, 4), rand(4, 2)
    agree(
        (lambda x, z: torch.einsum("ij,jk,ik->k", x, z, x @ z), [x, z]),
        (lambda x: torch.cumprod(x, 1), [x]),
        (lambda x: torch.logsumexp(x, (0, 1)), [x]),
        (lambda x: torch.logcumsumexp(x, 0), [x]),
        (torch.logaddexp, [x, y]),
        (lambda x, y: torch.lerp(x, y, 0.3), [x, y]),
        (lambda x, y: torch.addcdiv(x, y, x, value=2), [x, y]),
        (lambda x, y: torch.trapezoid(x, y, dim=0), [x, y]),
        (lambda x, y: torch.dist(x, y, 3), [x, y]),
        (lambda x: torch.linalg.vector_norm(x, 2, 1), [x]),
        (torch.isclose, [x, x + 1e-9]),
    )


def test_variances_and_copies_agree() -> None:
    x = rand(3, 4)
    agree(
        (lambda x: torch.var(x, 1), [x]),
        (lambda x: torch.std(x), [x]),
        (lambda x: torch.std_mean(x, 0, keepdim=True), [x]),
        (torch.var_mean, [x]),
        (lambda x, y: x.clone().copy_(y), [x, torch.randn(4)]),
    )


def test_element_types_and_truth_agree() -> None:
    x, mask = rand(3, 4), torch.tensor([True, False, True, True])
    zeros = x * mask
    agree(
        (lambda x: [x.to(torch.complex128), x.bool()], [x]),
        (lambda x: [x.all(1), x.any(), x.count_nonzero(0), x.nonzero()], [zeros]),
        (lambda x: [torch.full_like(x, 2 - 1j), torch.full_like(x, 1.5), x.new_zeros(2)], [x]),
        (lambda x: torch.full((2, 2), 1j) @ x[:2], [x]),
        (lambda x: x.index_fill(1, torch.tensor([0, 2]), 3), [x]),
        (lambda x, r: torch.block_diag(x, r), [x, torch.randn(2, 2)]),
        (lambda x: [torch.eye(3, dtype=x.dtype) @ x, torch.linspace(0, 1, 4, dtype=x.dtype)], [x]),
    )


def test_transforms_agree() -> None:
    x, z, image = torch.randn(3, 10), rand(3, 7), torch.randn(2, 5, 6)
    aten = torch.ops.aten
    agree(
        (lambda x: aten._fft_r2c(x, [1], 0, True), [x]),
        (lambda x: aten._fft_r2c(x, [0], 2, False), [x]),
        (lambda x: aten._fft_c2r(aten._fft_r2c(x, [1], 0, True), [1], 2, 10), [x]),
        (lambda z: aten._fft_c2r(z, [1], 1, 13), [z]),
        (lambda z: aten._fft_c2c(z, [0], 1, True), [z]),
        (lambda z: aten._fft_c2c(z, [0, 1], 2, False), [z]),
        (lambda x: aten._fft_r2c(x, [0, 1, 2], 0, True), [image]),
        (lambda x: aten._fft_c2r(aten._fft_r2c(x, [1, 2], 0, True), [1, 2], 2, 6), [image]),
    )
