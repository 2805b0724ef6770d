"""Special functions of torch against SciPy, to the last digits of float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as oracle
import torch

import relay
from relay.executors import create_executor
from relay.frontend.pytorch.operators.special import series
from tools import special_tables

special = torch.special

LINE = np.concatenate([np.linspace(-9, 9, 241), [1e-9, 1e-3, 0.5, 30.25, 200.5]])
ABOVE = np.concatenate([np.linspace(0.01, 12, 200), [1e-6, 40.5, 150.25]])
INSIDE = np.concatenate([np.linspace(-0.999, 0.999, 101), [0.0, 1e-12, 1 - 1e-12, -1, 1]])

FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], np.ndarray]] = {
    "erfc": (torch.erfc, oracle.erfc, LINE),
    "erfcx": (special.erfcx, oracle.erfcx, LINE),
    "erfinv": (torch.erfinv, oracle.erfinv, INSIDE),
    "ndtri": (special.ndtri, oracle.ndtri, np.abs(INSIDE)),
    "lgamma": (torch.lgamma, oracle.gammaln, LINE),
    "digamma": (torch.digamma, oracle.digamma, LINE[np.floor(LINE) != LINE]),
    "trigamma": (lambda x: torch.polygamma(1, x), lambda x: oracle.polygamma(1, x), ABOVE),
    "polygamma": (lambda x: torch.polygamma(3, x), lambda x: oracle.polygamma(3, x), ABOVE),
    "i0": (torch.i0, oracle.i0, LINE),
    "i0e": (special.i0e, oracle.i0e, LINE),
    "i1": (special.i1, oracle.i1, LINE),
    "i1e": (special.i1e, oracle.i1e, LINE),
    "k0": (special.modified_bessel_k0, oracle.k0, ABOVE),
    "k1": (special.modified_bessel_k1, oracle.k1, ABOVE),
    "scaled k0": (special.scaled_modified_bessel_k0, oracle.k0e, ABOVE),
    "scaled k1": (special.scaled_modified_bessel_k1, oracle.k1e, ABOVE),
    "j0": (special.bessel_j0, oracle.j0, LINE),
    "j1": (special.bessel_j1, oracle.j1, LINE),
    "y0": (special.bessel_y0, oracle.y0, ABOVE),
    "y1": (special.bessel_y1, oracle.y1, ABOVE),
    "airy": (special.airy_ai, lambda x: oracle.airy(x)[0], LINE[np.abs(LINE) < 100]),
    "spherical": (
        special.spherical_bessel_j0, lambda x: oracle.spherical_jn(0, np.abs(x)), LINE,
    ),
}  # fmt: skip

PAIRS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "zeta": (special.zeta, lambda x, q: oracle.zeta(x + 1, q)),
    "igamma": (torch.igamma, oracle.gammainc),
    "igammac": (torch.igammac, oracle.gammaincc),
}

POLYNOMIALS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "t": (special.chebyshev_polynomial_t, oracle.eval_chebyt),
    "u": (special.chebyshev_polynomial_u, oracle.eval_chebyu),
    "shifted t": (special.shifted_chebyshev_polynomial_t, oracle.eval_sh_chebyt),
    "h": (special.hermite_polynomial_h, oracle.eval_hermite),
    "he": (special.hermite_polynomial_he, oracle.eval_hermitenorm),
    "l": (special.laguerre_polynomial_l, oracle.eval_laguerre),
    "p": (special.legendre_polynomial_p, oracle.eval_legendre),
}


class Together(torch.nn.Module):
    """Functions, each of its own inputs."""

    def __init__(self, functions: list[Callable[..., Any]], arity: int) -> None:
        super().__init__()
        self.functions, self.arity = functions, arity

    def forward(self, *given: torch.Tensor) -> list[torch.Tensor]:
        step = self.arity
        parts = [given[place : place + step] for place in range(0, len(given), step)]
        return [of(*part) for of, part in zip(self.functions, parts, strict=True)]


def wrong(
    functions: dict[str, Callable[..., Any]],
    inputs: list[np.ndarray],
    wanted: list[Any],
    compiled: bool,
    rtol: float = 1e-11,
) -> list[str]:
    """What differs from an oracle, in the interpreter or compiled."""
    model = Together([*functions.values()], len(inputs) // len(functions))
    tensors = tuple(map(torch.from_numpy, inputs))
    mod, params = relay.frontend.from_pytorch(model, tensors)
    if compiled:
        found = relay.compile(mod, params)(*inputs)
    else:
        found = create_executor("debug", mod, params=params).evaluate()(*inputs)
    texts = []
    for name, one, other in zip(functions, found, wanted, strict=True):
        try:
            np.testing.assert_allclose(np.asarray(one.numpy()), other, rtol=rtol, atol=1e-13)
        except AssertionError as error:
            texts.append(f"{name}: {error}")
    return texts


def functions(compiled: bool) -> list[str]:
    mine = {name: of for name, (of, _, _) in FUNCTIONS.items()}
    inputs = [x for _, _, x in FUNCTIONS.values()]
    return wrong(mine, inputs, [of(x) for _, of, x in FUNCTIONS.values()], compiled)


def test_functions_of_one_number() -> None:
    assert functions(compiled=False) == []


@pytest.mark.full
def test_compiled_functions_of_one_number() -> None:
    assert functions(compiled=True) == []


def pairs(compiled: bool) -> list[str]:
    random = np.random.default_rng(0)
    a, x = random.uniform(0.1, 30, 200), random.uniform(0.01, 40, 200)
    mine = {name: of for name, (of, _) in PAIRS.items()}
    inputs = [one for name in PAIRS for one in ((a + 1 if name == "zeta" else a), x)]
    wanted = [of(a, x) for _, of in PAIRS.values()]
    found = wrong(mine, inputs, wanted, compiled, rtol=1e-9)
    points, degrees = random.uniform(-1.2, 1.2, 200), np.floor(random.uniform(0, 12, 200))
    mine = {name: of for name, (of, _) in POLYNOMIALS.items()}
    wanted = [of(degrees.astype(int), points) for _, of in POLYNOMIALS.values()]
    return found + wrong(mine, [points, degrees] * len(mine), wanted, compiled, rtol=1e-9)


def test_functions_of_two_numbers_and_polynomials() -> None:
    assert pairs(compiled=False) == []


@pytest.mark.full
def test_compiled_functions_of_two_numbers_and_polynomials() -> None:
    assert pairs(compiled=True) == []


def test_the_tables_are_those_of_their_tool() -> None:
    names = [name for name in vars(series) if name.isupper()]
    assert names == [*special_tables.TABLES]
    for name in ("SCALED_ERFC", "AIRY_FAR"):
        with special_tables.mp.workdps(40):
            found = special_tables.series(special_tables.TABLES[name])
        np.testing.assert_allclose(found, getattr(series, name), rtol=1e-12, atol=1e-18)
