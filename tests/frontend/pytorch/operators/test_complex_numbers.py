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
