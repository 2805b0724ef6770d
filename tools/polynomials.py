"""Write `relay/te/math/coefficients.py`: minimax polynomials for exp, log, sin and so on.

    python tools/polynomials.py      needs mpmath; takes half a minute

Each polynomial minimizes the largest relative error for its degree (Remez exchange algorithm). Its
coefficients are rounded to the target type one at a time, lowest first, and the remaining ones are
refitted after each rounding to compensate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

import mpmath as mp
import numpy as np

mp.mp.prec = 160
FILE = Path(__file__).parent.parent / "relay" / "te" / "math" / "coefficients.py"
HEAD = '''"""Coefficients of polynomials, lowest first, and constants in parts.

Written by tools/polynomials.py.
"""

from typing import Final

# fmt: off
'''
Function = Callable[[mp.mpf], mp.mpf]
Interval = tuple[mp.mpf, mp.mpf]


@dataclass(frozen=True)
class Fit:
    """`function` on an interval by a polynomial; errors are relative to `scale`.

    `given` are the lowest coefficients where they are decided beforehand.
    """

    function: Function
    interval: Interval
    degree: int
    scale: Function
    given: tuple[float, ...] = ()


class Samples:
    """Sample points, dense at the ends of the interval, with the function and its weight."""

    def __init__(self, fit: Fit) -> None:
        low, high = fit.interval
        count = 24 * (fit.degree + 3)
        # the ends are left out: functions may be quotients that are 0/0 there
        angles = [mp.pi * (i + mp.mpf(1) / 2) / count for i in range(count)]
        self.points = [(low + high) / 2 - (high - low) / 2 * mp.cos(a) for a in angles]
        self.values = [fit.function(x) for x in self.points]
        self.weights = [1 / abs(fit.scale(x)) for x in self.points]


def at(coefficients: Sequence[mp.mpf], x: mp.mpf) -> mp.mpf:
    """Evaluate the polynomial with these coefficients, lowest first."""
    return mp.polyval(list(reversed(coefficients)), x) if coefficients else mp.mpf(0)


def remez(samples: Samples, given: Sequence[mp.mpf], degree: int) -> list[mp.mpf]:
    """All coefficients, lowest first."""
    free = degree + 1 - len(given)
    points, values, weights = samples.points, samples.values, samples.weights
    left = [y - at(given, x) for x, y in zip(points, values, strict=True)]
    # the remainder is a multiple of x**len(given): the error changes sign where that does
    sides = [-1 if x < 0 and len(given) % 2 else 1 for x in points]
    chosen = [round(i * (len(points) - 1) / free) for i in range(free + 1)]
    found: list[mp.mpf] = []
    for _ in range(40):
        rows = [
            [points[i] ** (len(given) + j) for j in range(free)]
            + [sides[i] * (-1) ** n / weights[i]]
            for n, i in enumerate(chosen)
        ]
        found = list(mp.lu_solve(mp.matrix(rows), mp.matrix([left[i] for i in chosen])))[:-1]
        errors = [
            sides[i] * weights[i] * (x ** len(given) * at(found, x) - left[i])
            for i, x in enumerate(points)
        ]
        peaks = alternating_peaks(errors, free + 1)
        if peaks == chosen or len(peaks) <= free:
            break
        chosen = peaks
    return [*given, *found]


def alternating_peaks(errors: Sequence[mp.mpf], count: int) -> list[int]:
    """The `count` adjacent extrema of the error, one between each two sign changes."""
    peaks: list[int] = []
    for i, error in enumerate(errors):
        if not peaks or (error > 0) != (errors[peaks[-1]] > 0):
            peaks.append(i)
        elif abs(error) > abs(errors[peaks[-1]]):
            peaks[-1] = i
    while len(peaks) > count:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    return peaks


def refitted(samples: Samples, best: Sequence[mp.mpf], top: Sequence[mp.mpf]) -> mp.mpf:
    """The lowest coefficient after `top` that, with those after it, fits `best`."""
    first, free = len(top), len(best) - len(top)
    rows, right = [], []
    for x, weight in zip(samples.points[::4], samples.weights[::4], strict=True):
        off = sum((best[j] - c) * x**j for j, c in enumerate(top))
        rows.append([weight * x ** (first + j) for j in range(free)])
        right.append(weight * off)
    return best[first] + mp.lu_solve(mp.matrix(rows), mp.matrix(right))[0]


def rounded(value: mp.mpf, dtype: str) -> float:
    """Round to the nearest number of the type."""
    return float(value) if dtype == "float64" else float(np.float32(float(value)))


def fitted(fit: Fit, dtype: str) -> tuple[float, ...]:
    """The coefficients, lowest first, rounded to the type."""
    samples = Samples(fit)
    given = [mp.mpf(c) for c in fit.given]
    return _rounded_in_turn(samples, remez(samples, given, fit.degree), given, dtype)


def _rounded_in_turn(
    samples: Samples, best: Sequence[mp.mpf], given: Sequence[mp.mpf], dtype: str
) -> tuple[float, ...]:
    found = list(given)
    while len(found) < len(best):
        found.append(mp.mpf(rounded(refitted(samples, best, found), dtype)))
    worst = max(
        weight * abs(at(found, x) - value)
        for x, value, weight in zip(samples.points, samples.values, samples.weights, strict=True)
    )
    print(f"    error 2**{mp.nstr(mp.log(worst, 2), 4)}")
    return tuple(map(float, found))


# --- what is fitted


ZERO, ONE = mp.mpf(0), mp.mpf(1)
SLACK = 1 + ONE / 2**10  # argument reduction may end slightly outside the interval

HALF = mp.log(2) / 2 * SLACK


def odd(function: Function) -> Function:
    """(f(x)/x - 1) / z in z = x*x, of an odd function that begins with x."""
    return lambda z: (function(mp.sqrt(z)) / mp.sqrt(z) - 1) / z


def odd_scale(function: Function) -> Function:
    """The weight of an error of the above relative to the function."""
    return lambda z: function(mp.sqrt(z)) / mp.sqrt(z) / z


def odd_fit(function: Function, end: mp.mpf, degree: int) -> Fit:
    return Fit(odd(function), (ZERO, end**2), degree, odd_scale(function))


def exponential(base: mp.mpf, degree: int) -> Fit:
    half = mp.log(2) / mp.log(base) / 2 * SLACK
    power = lambda x: base**x  # noqa: E731
    return Fit(power, (-half, half), degree, power, given=(1.0,))


def expm1_further(degree: int) -> Fit:
    return Fit(
        lambda x: (mp.expm1(x) - x) / x**2, (-HALF, HALF), degree, lambda x: mp.expm1(x) / x**2
    )


def log1p_over_x(x: mp.mpf) -> mp.mpf:
    return mp.log1p(x) / x


def log_of_ratio(z: mp.mpf) -> mp.mpf:
    """(log((1 + s) / (1 - s)) / s - 2) / z in z = s*s."""
    s = mp.sqrt(z)
    return (mp.log((1 + s) / (1 - s)) / s - 2) / z


def log_of_ratio_further(z: mp.mpf) -> mp.mpf:
    """The same without its first term."""
    return (log_of_ratio(z) - ONE * 2 / 3) / z


RATIO_END = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * SLACK
QUARTER = mp.pi / 4 * SLACK


def cosine(degree: int) -> Fit:
    return Fit(
        lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
        (ZERO, QUARTER**2),
        degree,
        lambda z: mp.cos(mp.sqrt(z)) / z**2,
    )


def erf_near_zero(degree: int) -> Fit:
    scale = lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z)  # noqa: E731
    return Fit(lambda z: scale(z) - 1, (ZERO, ONE), degree, scale)


def middle(end: float) -> mp.mpf:
    return mp.mpf((1 + end) / 2)


def erf_tail(end: float, degree: int) -> Fit:
    center = middle(end)
    return Fit(
        lambda u: mp.erf(center + u), (1 - center, end - center), degree, lambda u: mp.mpf(1)
    )


def erfc_exponent(end: float, degree: int) -> Fit:
    return Fit(
        lambda u: -mp.log(mp.erfc(1 + u)),
        (ZERO, mp.mpf(end - 1)),
        degree,
        lambda u: 1 / mp.erfc(1 + u),
    )


FITS = {
    "EXP": (
        "exp(x) for |x| <= log(2) / 2",
        {"float32": exponential(mp.e, 6), "float64": exponential(mp.e, 11)},
    ),
    "EXP2": (
        "2**x for |x| <= 1/2",
        {"float32": exponential(mp.mpf(2), 6), "float64": exponential(mp.mpf(2), 11)},
    ),
    "EXP10": (
        "10**x for |x| <= log10(2) / 2",
        {"float32": exponential(mp.mpf(10), 6), "float64": exponential(mp.mpf(10), 11)},
    ),
    "EXPM1": (
        "(expm1(x) - x) / x**2 for |x| <= log(2) / 2",
        {"float32": expm1_further(5), "float64": expm1_further(10)},
    ),
    "SINH": (
        "(sinh(x) / x - 1) / z in z = x*x, for |x| <= 1",
        {"float32": odd_fit(mp.sinh, ONE, 3), "float64": odd_fit(mp.sinh, ONE, 6)},
    ),
    "LOG": (
        "log(1 + x) / x for sqrt(1/2) <= 1 + x <= sqrt(2)",
        {
            "float32": Fit(
                log1p_over_x, (mp.sqrt(ONE / 2) - 1, mp.sqrt(2) - 1), 9, log1p_over_x, given=(1.0,)
            )
        },
    ),
    "LOG_RATIO": (
        "(log((1 + s) / (1 - s)) / s - 2) / z in z = s*s, for |s| <= (sqrt(2) - 1) / (sqrt(2) + 1)",
        {"float64": Fit(log_of_ratio, (ZERO, RATIO_END), 6, lambda z: 2 / z)},
    ),
    "LOG_RATIO_SHORT": (
        "the same, for 40 bits",
        {"float64": Fit(log_of_ratio, (ZERO, RATIO_END), 4, lambda z: 2 / z)},
    ),
    "LOG_RATIO_FURTHER": (
        "the same without its first term, 2/3, and divided by z again",
        {"float64": Fit(log_of_ratio_further, (ZERO, RATIO_END), 7, lambda z: 2 / z**2)},
    ),
    "EXP2_SHORT": ("2**x for |x| <= 1/2, for 30 bits", {"float64": exponential(mp.mpf(2), 6)}),
    "SIN": (
        "(sin(x) / x - 1) / z in z = x*x, for |x| <= pi/4",
        {"float32": odd_fit(mp.sin, QUARTER, 2), "float64": odd_fit(mp.sin, QUARTER, 5)},
    ),
    "COS": (
        "(cos(x) - 1 + z/2) / z**2 in z = x*x, for |x| <= pi/4",
        {"float32": cosine(2), "float64": cosine(5)},
    ),
    "ATAN": (
        "(atan(x) / x - 1) / z in z = x*x, for |x| <= tan(pi/8)",
        {
            "float32": odd_fit(mp.atan, (mp.sqrt(2) - 1) * SLACK, 4),
            "float64": odd_fit(mp.atan, (mp.sqrt(2) - 1) * SLACK, 10),
        },
    ),
    "ASIN": (
        "(asin(x) / x - 1) / z in z = x*x, for |x| <= 1/2",
        {"float32": odd_fit(mp.asin, ONE / 2, 4), "float64": odd_fit(mp.asin, ONE / 2, 12)},
    ),
    "ERF": (
        "erf(x) / x - 1 in x*x, for |x| <= 1",
        {"float32": erf_near_zero(6), "float64": erf_near_zero(12)},
    ),
    "ERF_TAIL": (
        "erf(x) in x - ERF_SHIFT, for 1 <= x <= ERF_END",
        {"float32": erf_tail(3.9375, 14)},
    ),
    "ERFC_EXPONENT": (
        "-log(erfc(x)) in x - ERF_SHIFT, for 1 <= x <= ERF_END",
        {"float64": erfc_exponent(5.9375, 18)},
    ),
}


def parts(value: mp.mpf, dtype: str, *bits: int) -> tuple[float, ...]:
    """Split `value` into a sum: the first parts have so many bits, the last has full precision."""
    found = []
    for count in bits:
        exponent = mp.floor(mp.log(abs(value), 2))
        step = mp.mpf(2) ** (exponent - count + 1)
        found.append(float(mp.floor(value / step) * step))
        value -= mp.mpf(found[-1])
    return (*found, rounded(value, dtype))


def constants() -> dict[str, tuple[str, object]]:
    ln2, log2 = mp.log(2), mp.log10(2)
    with mp.workprec(1400):
        bits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** 1280))
    narrow = [bits >> (1280 - 32 * (i + 1)) & 0xFFFFFFFF for i in range(7)]
    wide = [bits >> 34 + (1280 - 32 * (i + 1)) & 0xFFFFFFFF for i in range(38)]
    return {
        "LN2": (
            "log(2) in two parts; the first times an exponent is exact",
            {"float32": parts(ln2, "float32", 14), "float64": parts(ln2, "float64", 40)},
        ),
        "LOG10_2": (
            "log10(2), likewise",
            {"float32": parts(log2, "float32", 14), "float64": parts(log2, "float64", 40)},
        ),
        "HALF_PI": (
            "pi/2; every part times an integer below 2**25 or 2**20 is exact, but for the last",
            {
                "float32": parts(mp.pi / 2, "float64", 27),
                "float64": parts(mp.pi / 2, "float64", 33, 33, 33),
            },
        ),
        "QUARTER_PI": (
            "pi/4 in two parts; the first times 1, 2, 3 or 4 is exact",
            {
                "float32": parts(mp.pi / 4, "float32", 22),
                "float64": parts(mp.pi / 4, "float64", 51),
            },
        ),
        "TWO_THIRDS": ("2/3 in two parts", parts(ONE * 2 / 3, "float64", 53)),
        "TWO_OVER_PI": (
            "the bits of 2/pi after the point, 32 at a time; for float64 after 34 zeros",
            {"float32": tuple(narrow), "float64": tuple(wide)},
        ),
        "ERF_END": ("where erf is one", {"float32": 3.9375, "float64": 5.9375}),
        "ERF_SHIFT": (
            "what the two above count from: the middle of it; one",
            {"float32": float(middle(3.9375)), "float64": 1.0},
        ),
    }


def literal(name: str, value: object) -> str:
    """An assignment, its numbers wrapped to the line length."""
    if not isinstance(value, dict):
        return f"{name}: Final = {value!r}"
    lines = [f"{name}: Final = {{"]
    for dtype, numbers in value.items():
        text = f'"{dtype}": {numbers!r},'
        lines.append(fill(text, 99, initial_indent=" " * 4, subsequent_indent=" " * 8))
    return "\n".join([*lines, "}"])


def page(tables: dict[str, tuple[str, object]]) -> str:
    """The text of the file: each table under a comment."""
    pieces = [f"\n# {what}\n{literal(name, value)}\n" for name, (what, value) in tables.items()]
    return HEAD + "".join(pieces)


def main() -> None:
    """Write the file."""
    found: dict[str, tuple[str, object]] = {}
    for name, (what, fits) in FITS.items():
        found[name] = what, {dtype: fitted(fit, dtype) for dtype, fit in fits.items()}
        print(name, flush=True)
    FILE.write_text(page(found | constants()))


if __name__ == "__main__":
    main()
