"""Operations of `keras.ops` on matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.frontend.keras.models import Case, keras, reals

ops = keras.ops
SQUARE = reals(2, 4, 4) + 4 * np.eye(4, dtype="float32")
DEFINITE = (reals(2, 4, 4) @ reals(2, 4, 4).transpose(0, 2, 1) + 2 * np.eye(4)).astype("float32")
TALL, WIDE = reals(2, 5, 3), reals(2, 3, 5, seed=6)


def made(name: str, make: Callable[..., Any], *inputs: np.ndarray, tolerance: float = 1e-4) -> Case:
    """A function of tensors whose results are decided, where factors themselves are not."""
    return Case(f"ops.{name}", {}, inputs, make=make, open_axes=(), tolerance=tolerance)


def of(name: str, *inputs: np.ndarray, **options: Any) -> Case:
    function: Callable[..., Any] = ops
    for part in name.split("."):
        function = getattr(function, part)
    found = made(name, lambda *x: function(*x, **options), *inputs)
    return Case(found.kind, options, inputs, make=found.make, open_axes=(), tolerance=1e-4)


def joined(parts: Any) -> Any:
    u, s, v = parts
    return s, ops.matmul(u * ops.expand_dims(s, -2), v)


def seen(pair: Any) -> Any:
    """Eigenvalues, and the matrix that they and their vectors make."""
    values, vectors = pair
    return values, ops.matmul(vectors * ops.expand_dims(values, -2), ops.swapaxes(vectors, -1, -2))


def matrices() -> Iterator[Case]:
    for name in ("linalg.det", "linalg.inv", "slogdet"):
        yield of(name, SQUARE)
        yield of(name, SQUARE[0])
    yield of("logdet", DEFINITE)
    for right in (reals(2, 4, 3), reals(2, 4, 1)):
        yield of("linalg.solve", SQUARE, right)
        for lower in (False, True):
            yield of("linalg.solve_triangular", SQUARE, right, lower=lower)
    yield of("linalg.solve", SQUARE[0], reals(4))
    for upper in (False, True):
        yield of("linalg.cholesky", DEFINITE, upper=upper)
        factor = np.linalg.cholesky(DEFINITE)
        given = factor.transpose(0, 2, 1) if upper else factor
        yield of("linalg.cholesky_inverse", np.ascontiguousarray(given), upper=upper)
    for x in (SQUARE, TALL, WIDE, TALL[0]):
        for mode in ("reduced", "complete"):
            yield of("linalg.qr", x, mode=mode)
    for x in (SQUARE, TALL, WIDE, DEFINITE[0]):
        yield made("linalg.svd", lambda x: joined(ops.linalg.svd(x, full_matrices=False)), x)
        yield made("linalg.svd values", lambda x: ops.linalg.svd(x, compute_uv=False), x)
        yield of("linalg.pinv", x)
        yield of("linalg.matrix_rank", x)
    yield of("linalg.matrix_rank", np.ones((3, 3), "float32"))
    symmetric = SQUARE + SQUARE.transpose(0, 2, 1)
    yield made("linalg.eigh", lambda x: seen(ops.linalg.eigh(x)), symmetric)
    yield made("linalg.eigh", lambda x: seen(ops.linalg.eigh(x)), -DEFINITE[0])
    yield of("linalg.lstsq", TALL[0], reals(5, 2))
    yield of("linalg.lstsq", TALL[0], reals(5))
    yield of("kron", reals(2, 3), reals(4, 2))
    yield of("kron", reals(3), reals(2, 2))
    yield of("cross", reals(2, 4, 3), reals(2, 4, 3, seed=6))
    for count, rising in ((None, False), (3, True), (6, False)):
        yield of("vander", reals(4), N=count, increasing=rising)
    yield of("cdist", reals(4, 3), reals(5, 3, seed=6))
    yield of("cdist", reals(2, 4, 3), reals(2, 5, 3, seed=6))
