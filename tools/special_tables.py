"""Write the Chebyshev series of relay/frontend/pytorch/operators/special/series.py.

    python tools/special_tables.py

Every series approximates a smooth part of a special function, computed by mpmath with 40 digits, on
an interval that is mapped to [-1, 1]; it ends where its terms are below the precision of float64.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mpmath as mp

FILE = Path(__file__).parents[1] / "relay/frontend/pytorch/operators/special" / "series.py"
SMALL = mp.mpf(10) ** -17
NODES = 64

Function = Callable[[mp.mpf], mp.mpf]


def series(of: Function) -> list[float]:
    """The coefficients of a function on [-1, 1]; the first one counts in full."""
    angles = [mp.pi * (2 * k + 1) / (2 * NODES) for k in range(NODES)]
    values = [of(mp.cos(angle)) for angle in angles]
    found = []
    for n in range(NODES):
        total = mp.fsum(v * mp.cos(n * a) for v, a in zip(values, angles, strict=True))
        found.append(total * (1 if n == 0 else 2) / NODES)
    while abs(found[-1]) < SMALL * abs(found[0] or 1):
        found.pop()
    return [float(one) for one in found]


def near(edge: float, of: Function) -> Function:
    """A function of x in [0, edge]."""
    return lambda t: of((t + 1) / 2 * edge)


def squares(edge: float, of: Function) -> Function:
    """A function of x in [0, edge] that is smooth in the square of x."""
    return lambda t: of(mp.sqrt((t + 1) / 2) * edge)


def far(edge: float, of: Function) -> Function:
    """A function of x above an edge, smooth in 1 / x."""
    return lambda t: of(2 * edge / (t + 1))


def far_squares(edge: float, of: Function) -> Function:
    """A function of x above an edge, smooth in the square of 1 / x."""
    return lambda t: of(edge / mp.sqrt((t + 1) / 2))


def scaled_erfc(t: mp.mpf) -> mp.mpf:
    x = mp.mpf(3.75) * (1 + t) / (1 - t)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def waves(order: int, is_first: bool) -> Function:
    """The factor of the cosine, or x times that of the sine, of Bessel functions far out."""

    def of(x: mp.mpf) -> mp.mpf:
        angle = x - order * mp.pi / 2 - mp.pi / 4
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        root = mp.sqrt(mp.pi * x / 2)
        if is_first:
            return root * (j * mp.cos(angle) + y * mp.sin(angle))
        return root * (y * mp.cos(angle) - j * mp.sin(angle)) * x

    return of


def airy_far(z: mp.mpf) -> mp.mpf:
    """Ai where 2/3 x^(3/2) is z, without what it decays like."""
    x = (mp.mpf(3) / 2 * z) ** (mp.mpf(2) / 3)
    return 2 * mp.sqrt(mp.pi) * x ** mp.mpf(0.25) * mp.exp(z) * mp.airyai(x)


def airy_waves(is_first: bool) -> Function:
    def of(z: mp.mpf) -> mp.mpf:
        x = (mp.mpf(3) / 2 * z) ** (mp.mpf(2) / 3)
        a, b = mp.airyai(-x), mp.airybi(-x)
        root, angle = mp.sqrt(mp.pi) * x ** mp.mpf(0.25), z - mp.pi / 4
        if is_first:
            return root * (a * mp.cos(angle) - b * mp.sin(angle))
        return root * (a * mp.sin(angle) + b * mp.cos(angle)) * z

    return of


def rest_of_y(order: int) -> Function:
    """Y without its logarithm, and for order 1 times x and without the pole."""

    def of(x: mp.mpf) -> mp.mpf:
        x = max(x, mp.mpf(10) ** -12)
        found = mp.bessely(order, x) - 2 / mp.pi * mp.log(x) * mp.besselj(order, x)
        return found if order == 0 else (found + 2 / (mp.pi * x)) / x

    return of


def rest_of_k(order: int) -> Function:
    """K without its logarithm, and for order 1 without the pole, divided by x."""

    def of(x: mp.mpf) -> mp.mpf:
        x = max(x, mp.mpf(10) ** -12)
        sign = -1 if order else 1
        found = mp.besselk(order, x) + sign * mp.log(x / 2) * mp.besseli(order, x)
        return found if order == 0 else (found - 1 / x) / x

    return of


TABLES: dict[str, Function] = {
    "SCALED_ERFC": scaled_erfc,
    "I0_NEAR": near(8, lambda x: mp.exp(-x) * mp.besseli(0, x)),
    "I0_FAR": far(8, lambda x: mp.exp(-x) * mp.sqrt(x) * mp.besseli(0, x)),
    "I1_NEAR": near(8, lambda x: mp.exp(-x) * mp.besseli(1, x) / x),
    "I1_FAR": far(8, lambda x: mp.exp(-x) * mp.sqrt(x) * mp.besseli(1, x)),
    "K0_NEAR": squares(2, rest_of_k(0)),
    "K0_FAR": far(2, lambda x: mp.exp(x) * mp.sqrt(x) * mp.besselk(0, x)),
    "K1_NEAR": squares(2, rest_of_k(1)),
    "K1_FAR": far(2, lambda x: mp.exp(x) * mp.sqrt(x) * mp.besselk(1, x)),
    "J0_NEAR": squares(8, lambda x: mp.besselj(0, x)),
    "J1_NEAR": squares(8, lambda x: mp.besselj(1, x) / x),
    "Y0_NEAR": squares(8, rest_of_y(0)),
    "Y1_NEAR": squares(8, rest_of_y(1)),
    "COSINE_0": far_squares(8, waves(0, True)),
    "SINE_0": far_squares(8, waves(0, False)),
    "COSINE_1": far_squares(8, waves(1, True)),
    "SINE_1": far_squares(8, waves(1, False)),
    "AIRY_NEAR": lambda t: mp.airyai(mp.mpf(3) * t),
    "AIRY_FAR": far(3, airy_far),
    "AIRY_COSINE": far_squares(3, airy_waves(True)),
    "AIRY_SINE": far_squares(3, airy_waves(False)),
}


def text() -> str:
    mp.mp.dps = 40
    lines = [
        '"""Chebyshev series of special functions; `tools/special_tables.py` writes this file."""'
    ]
    for name, of in TABLES.items():
        lines += ["", f"{name} = ("]
        numbers = series(of)
        lines += [f"    {number!r}," for number in numbers]
        lines += [")"]
        print(name, len(numbers))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
