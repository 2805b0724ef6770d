"""Products and factors of matrices, and Fourier transforms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.frontend.tensorflow.cases.arrays import numbers, reals, scalar, whole
from tests.frontend.tensorflow.models import Case, case, held, opened


def products() -> Iterator[Case]:
    for first in (False, True):
        for second in (False, True):
            a, b = reals(4, 3) if first else reals(3, 4), reals(5, 4) if second else reals(4, 5)
            more = {"transpose_a": first, "transpose_b": second}
            yield case("MatMul", {"a": a, "b": b}, **more)
            yield case("MatMul", {"a": opened(a, 0, 1), "b": held(b)}, **more)
            x = reals(2, 4, 3) if first else reals(2, 3, 4)
            y = reals(2, 5, 4) if second else reals(2, 4, 5)
            turned = {"adj_x": first, "adj_y": second}
            for name in ("BatchMatMul", "BatchMatMulV2"):
                yield case(name, {"x": x, "y": y}, **turned)
            yield case("BatchMatMulV3", {"x": x, "y": y}, **turned, Tout="float32")
    yield case("BatchMatMulV2", {"x": reals(2, 1, 3, 4), "y": reals(5, 4, 2)})
    yield case("BatchMatMulV2", {"x": opened(reals(2, 3, 4), 0), "y": opened(reals(2, 4, 2), 0)})
    yield case("MatMul", {"a": whole(3, 4), "b": whole(4, 2)})
    for equation, *extents in (
        ("ij,jk->ik", (2, 3), (3, 4)),
        ("abc,cde->abde", (2, 3, 4), (4, 2, 5)),
        ("aecd,abcd->acbe", (2, 3, 4, 5), (2, 6, 4, 5)),
        ("acbe,aecd->abcd", (2, 4, 6, 3), (2, 3, 4, 5)),
        ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
        ("...ij,jk->...ik", (2, 5, 3, 4), (4, 2)),
        ("ijk->kji", (2, 3, 4)),
        ("ij->i", (2, 3)),
    ):
        yield case("Einsum", {"inputs": [reals(*one) for one in extents]}, equation=equation)
    yield case("Cross", {"a": reals(4, 3), "b": reals(4, 3)})


def matrices() -> Iterator[Case]:
    for low, high in ((0, 0), (1, 2), (-1, 0), (0, -1), (-1, -1)):
        given = {"input": reals(2, 4, 5), "num_lower": scalar(low), "num_upper": scalar(high)}
        yield case("MatrixBandPart", given)
    square = reals(2, 4, 4) + 4 * np.eye(4, dtype="float32")
    yield case("MatrixDeterminant", {"input": square}, rtol=1e-4)
    yield case("LogMatrixDeterminant", {"input": square}, rtol=1e-4)
    for adjoint in (False, True):
        yield case("MatrixInverse", {"input": square}, rtol=1e-4, adjoint=adjoint)
        given = {"matrix": square, "rhs": reals(2, 4, 3)}
        yield case("MatrixSolve", given, rtol=1e-4, adjoint=adjoint)
    yield case("Diag", {"diagonal": reals(2, 3)})
    yield case("DiagPart", {"input": reals(2, 3, 2, 3)})
    yield case("MatrixDiag", {"diagonal": reals(2, 3)})
    yield case("MatrixDiagPart", {"input": reals(2, 3, 4)})
    yield case("MatrixSetDiag", {"input": reals(2, 3, 4), "diagonal": reals(2, 3)})
    zero = scalar(0.5, "float32")
    for align in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
        for low, high, rows in ((0, 0, 3), (-1, 1, 3), (1, 2, 3), (-2, -1, 2)):
            band = numbers(low, high) if low != high else scalar(low)
            given = {"input": reals(2, 3, 4), "k": band, "padding_value": zero}
            yield case("MatrixDiagPartV3", given, align=align)
            count = high - low + 1
            shape = (2, rows) if count == 1 else (2, count, rows)
            given = {"input": reals(2, 3, 4), "diagonal": reals(*shape), "k": band}
            yield case("MatrixSetDiagV3", given, align=align)
            given = {
                "diagonal": reals(*shape),
                "k": band,
                "num_rows": scalar(3),
                "num_cols": scalar(4),
                "padding_value": zero,
            }
            yield case("MatrixDiagV3", given, align=align)
    for k in (0, 1, -1):
        given = {"diagonal": reals(2, 3), "k": scalar(k), "num_rows": scalar(-1)}
        yield case("MatrixDiagV3", {**given, "num_cols": scalar(-1), "padding_value": zero})


def spectral() -> Iterator[Case]:
    for axes, shape in ((1, (2, 8)), (2, (2, 4, 6)), (3, (2, 3, 4, 5))):
        name = "" if axes == 1 else f"{axes}D"
        complexes = (reals(*shape) + 1j * reals(*shape)).astype("complex64")
        yield case(f"FFT{name}", {"input": held(complexes)}, rtol=1e-4)
        yield case(f"IFFT{name}", {"input": held(complexes)}, rtol=1e-4)
        length = numbers(*shape[1:])
        yield case(f"RFFT{name}", {"input": reals(*shape), "fft_length": length}, rtol=1e-4)
        shorter = numbers(*(one - 1 for one in shape[1:]))
        yield case(f"RFFT{name}", {"input": reals(*shape), "fft_length": shorter}, rtol=1e-4)
        half = held(complexes[..., : shape[-1] // 2 + 1])
        yield case(f"IRFFT{name}", {"input": half, "fft_length": length}, rtol=1e-4)
    pair = {"real": reals(2, 3), "imag": reals(2, 3)}
    yield case("Complex", pair)
    numbers_of = held((reals(2, 3) + 1j * reals(2, 3)).astype("complex64"))
    for name in ("Real", "Imag", "Conj"):
        yield case(name, {"input": numbers_of})
    yield case("ComplexAbs", {"x": numbers_of})
    other = held((reals(2, 3) + 1j * reals(2, 3)).astype("complex64"))
    for name in ("AddV2", "Sub", "Mul", "RealDiv"):
        yield case(name, {"x": numbers_of, "y": other}, rtol=1e-4)
    yield case("Neg", {"x": numbers_of})
    yield case("Reshape", {"tensor": numbers_of, "shape": numbers(3, 2)})
    yield case("Transpose", {"x": numbers_of, "perm": numbers(1, 0)})
