"""Functions written out stay within their stated errors, and do as C does at the edges."""

import math

import mpmath as mp
import numpy as np
import pytest

from relay import te
from relay.scalar_functions import FUNCTIONS, PREDICATES
from relay.te import math as elementary
from relay.te.evaluate import evaluate
from relay.te.expr import Binary, Call, Compare, Select, Unary
from relay.te.legalize import Facts
from relay.tree import postorder
from tests.support.sampling import some_of

MACHINES = {
    "all": Facts(has_fma=True, has_rounding=True),
    "baseline": Facts(has_fma=False, has_rounding=False),
}
FLOATS = ("float32", "float64")
NAMES = [name for name in FUNCTIONS if name not in ("fma", "popcount", "clz", "copysign")]
SMOOTH = [name for name in NAMES if FUNCTIONS[name].module and name not in PREDICATES]


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


TRUTH = {
    "exp": mp.exp,
    "exp2": lambda x: mp.mpf(2) ** x,
    "exp10": lambda x: mp.mpf(10) ** x,
    "expm1": mp.expm1,
    "log": mp.log,
    "log2": lambda x: mp.log(x) / mp.log(2),
    "log10": mp.log10,
    "log1p": mp.log1p,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "asin": mp.asin,
    "acos": mp.acos,
    "atan": mp.atan,
    "atan2": mp.atan2,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "asinh": mp.asinh,
    "acosh": mp.acosh,
    "atanh": mp.atanh,
    "erf": mp.erf,
    "sigmoid": sigmoid,
    "pow": lambda x, y: x**y,
    "fmod": lambda x, y: mp.sign(x) * mp.fmod(abs(x), abs(y)),
    "floor": mp.floor,
    "ceil": mp.ceil,
    "trunc": lambda x: mp.sign(x) * mp.floor(abs(x)),
    "round": lambda x: mp.nint(x),
}
# where functions of one argument have values that are numbers
DOMAINS = {
    "log": (0, math.inf),
    "log2": (0, math.inf),
    "log10": (0, math.inf),
    "rsqrt": (0, math.inf),
    "log1p": (-1, math.inf),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atanh": (-1, 1),
    "acosh": (1, math.inf),
}


def applied(name, arrays, facts):
    """The function of every element, by the evaluator."""
    dtype = arrays[0].dtype.name
    sources = [te.placeholder(a.shape, dtype) for a in arrays]
    y = te.compute(
        arrays[0].shape,
        lambda i: elementary.expand(te.call(name, *(source[i] for source in sources)), facts),
    )
    return evaluate([y], dict(zip(sources, arrays, strict=True)))[0]


def errors(name, arrays, found):
    """How far each result is from the true one, in units of the last place of the latter."""
    with mp.workprec(220):
        return [
            _error(name, [mp.mpf(float(a)) for a in args], result)
            for *args, result in zip(*arrays, found, strict=True)
        ]


def _error(name, args, result):
    truth = TRUTH[name](*args)
    nearest = result.dtype.type(_nearest(truth, result.dtype))
    if not np.isfinite(nearest) or not np.isfinite(result):
        return 0.0 if result == nearest else math.inf
    if truth == 0 or nearest == 0:
        return 0.0 if result == 0 else math.inf
    return float(abs(mp.mpf(float(result)) - truth) / mp.mpf(float(np.spacing(abs(nearest)))))


def _nearest(value, dtype):
    with np.errstate(over="ignore"):
        return np.float64(float(value)).astype(dtype)


def chosen(name, dtype, count, seed=0):
    """Arguments of every size, of usual sizes, and around where formulas change."""
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    low, high = np.finfo(dtype).minexp - 10, np.finfo(dtype).maxexp
    exponents = np.linspace(low, high, count // 4)
    sizes = (random.uniform(1, 2, len(exponents)) * 2.0 ** np.floor(exponents)).astype(kind)
    usual = 10 ** random.uniform(-3, 2.5, count // 4)
    near_one = 1 + random.normal(size=count // 8) * 10 ** random.uniform(-7, 0, count // 8)
    half_logs = (random.integers(1, 120, count // 8) - 0.5) * math.log(2)
    quarters = random.integers(1, 4000, count // 8) * (math.pi / 4)
    breaks = np.array([0.5, 1.0, math.sqrt(0.5), math.sqrt(2), math.tan(math.pi / 8), 2.0**25, 9.1])
    there = breaks.astype(kind)
    edges = np.concatenate([there, *(np.nextafter(there, kind.type(to)) for to in (0, 100))])
    parts = (sizes, usual, near_one, half_logs, quarters, edges)
    positive = np.concatenate([part.astype(kind) for part in parts])
    everything = np.concatenate([positive, -positive])
    everything = everything[np.isfinite(everything) & (everything != 0)]
    if FUNCTIONS[name].arguments == 2:
        other = random.permutation(everything)
        if name == "pow":
            everything = np.abs(everything)
        return [everything, other]
    start, end = DOMAINS.get(name, (-math.inf, math.inf))
    return [everything[(everything > start) & (everything < end)]]


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", SMOOTH)
def test_errors_are_within_the_stated_bounds(name: str, dtype: str, machine: str) -> None:
    arrays = chosen(name, dtype, 160)
    found = applied(name, arrays, MACHINES[machine])
    stated = FUNCTIONS[name]
    worst = max(errors(name, arrays, found))
    assert worst <= (stated.ulp32 if dtype == "float32" else stated.ulp64)


# --- edges -------------------------------------------------------------------------------------


NUMPY = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": np.vectorize(math.erf, otypes=[float]),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "pow": np.power,
    "fmod": np.fmod,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
}


def edges(dtype):
    info = np.finfo(dtype)
    positive = [
        0,
        0.5,
        1,
        1.5,
        2,
        3,
        100,
        1e5,
        info.tiny,
        info.smallest_subnormal,
        info.max,
        np.inf,
    ]
    return np.array([sign * x for x in positive for sign in (1, -1)] + [np.nan], dtype)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [*SMOOTH, *PREDICATES])
def test_zeros_infinities_and_nan_are_those_of_numpy(name: str, dtype: str, machine: str) -> None:
    special = edges(dtype)
    arrays = [special]
    if FUNCTIONS[name].arguments == 2:
        arrays = [side.ravel() for side in np.meshgrid(special, special)]
    found = applied(name, arrays, MACHINES[machine])
    expected = NUMPY[name](*(a.astype(np.float64) for a in arrays)).astype(found.dtype)
    if name in PREDICATES:
        np.testing.assert_array_equal(found, expected)
        return
    np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(dtype).eps, atol=0)
    zeros = (found == 0) & (expected == 0)
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("machine", MACHINES)
def test_arguments_next_to_multiples_of_pi_keep_their_digits(machine: str) -> None:
    # the float64 and the float32 that come nearest to a multiple of pi/2
    hard = {
        "float64": [6381956970095103 * 2.0**797, 2.0**1023 * 1.9999, 1e22, 2.0**20, 1048575.9999],
        "float32": [16367173 * 2.0**72, 3.4e38, 33554432.0, 33554430.0, 1e10, 12345678.0],
    }
    for dtype, numbers in hard.items():
        with mp.workprec(1200):
            array = np.array(numbers, dtype)
            for name in ("sin", "cos", "tan"):
                found = applied(name, [array], MACHINES[machine])
                for x, result in zip(array, found, strict=True):
                    truth = getattr(mp, name)(mp.mpf(float(x)))
                    unit = mp.mpf(float(np.spacing(np.abs(_nearest(truth, dtype)))))
                    assert abs(mp.mpf(float(result)) - truth) <= 4 * unit, (name, x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_results_may_be_denormal(dtype: str) -> None:
    tiny = np.finfo(dtype).tiny
    x = np.array([math.log(tiny) - k for k in (0.5, 2, 5, 10)], dtype)
    for facts in MACHINES.values():
        for name in ("exp", "sigmoid"):
            found = applied(name, [x], facts)
            assert (found > 0).all() and (found < tiny).all()
            assert max(errors(name, [x], found)) <= 1


@pytest.mark.parametrize("dtype", FLOATS)
def test_tanh_and_erf_are_odd_and_at_most_one(dtype: str) -> None:
    x = np.linspace(2, 25, 20_000).astype(dtype)
    for facts in MACHINES.values():
        for name in ("tanh", "erf"):
            found = applied(name, [x], facts)
            assert (found <= 1).all()
            assert found[-1] == 1
            np.testing.assert_array_equal(applied(name, [-x], facts), -found)


@pytest.mark.parametrize("dtype", FLOATS)
def test_powers_of_two_and_their_logarithms_are_exact(dtype: str) -> None:
    n = np.arange(np.finfo(dtype).minexp, np.finfo(dtype).maxexp).astype(dtype)
    powers = np.ldexp(np.ones_like(n), n.astype(int))
    for facts in MACHINES.values():
        np.testing.assert_array_equal(applied("exp2", [n], facts), powers)
        np.testing.assert_array_equal(applied("log2", [powers], facts), n)


# --- what is made ------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", NAMES)
def test_only_instructions_remain(name: str, dtype: str, machine: str) -> None:
    facts = MACHINES[machine]
    allowed = {"sqrt", "copysign"}
    if facts.has_fma:
        allowed.add("fma")
    if facts.has_rounding:
        allowed |= {"floor", "ceil", "trunc", "round"}
    args = [te.Var(dtype, "x") for _ in range(FUNCTIONS[name].arguments)]
    made = elementary.expand(te.call(name, *args), facts)
    calls = {part.function for part in postorder(made) if isinstance(part, Call)}
    assert calls <= allowed


def test_what_networks_use_most_takes_few_operations() -> None:
    counts = {"exp": 24, "tanh": 26, "sigmoid": 29, "erf": 32, "log": 41}
    for name, most in counts.items():
        made = elementary.expand(te.call(name, te.Var("float32", "x")), MACHINES["all"])
        kinds = (Binary, Call, Compare, Select, Unary)
        assert sum(isinstance(part, kinds) for part in postorder(made)) <= most, name


# --- compiled ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
def test_compiled_functions_are_the_evaluated_ones(dtype: str, compiled, facts) -> None:
    for name in some_of(NAMES, 3):
        arrays = chosen(name, dtype, 400)
        found = compiled(lambda *x, name=name: te.call(name, *x), *arrays)
        expected = applied(name, arrays, facts)
        if dtype == "float32":
            # the evaluator's fma of float32 is rounded twice, which may show in the last place
            np.testing.assert_allclose(found, expected, rtol=3 * np.finfo(dtype).eps, atol=0)
        else:
            np.testing.assert_array_equal(found, expected)


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in SMOOTH if FUNCTIONS[name].arguments == 1])
def test_errors_of_float32_over_all_of_them(name: str, compiled) -> None:
    """Every 61st of all patterns of bits; float64 is the truth."""
    for start in range(0, 1 << 32, 1 << 28):
        x = np.arange(start, start + (1 << 28), 61, dtype=np.uint32).view(np.float32)
        found = compiled(lambda x: te.call(name, x), x).astype(np.float64)
        truth = NUMPY[name](x.astype(np.float64))
        nearest = truth.astype(np.float32)
        numbers = np.isfinite(nearest)
        np.testing.assert_array_equal(found[~numbers], nearest[~numbers])
        unit = np.spacing(np.abs(nearest[numbers])).astype(np.float64)
        worst = np.max(np.abs(found[numbers] - truth[numbers]) / unit, initial=0)
        assert worst <= FUNCTIONS[name].ulp32


@pytest.mark.full
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", SMOOTH)
def test_errors_over_many_arguments(name: str, dtype: str) -> None:
    arrays = chosen(name, dtype, 20_000, seed=1)
    stated = FUNCTIONS[name]
    for facts in MACHINES.values():
        worst = max(errors(name, arrays, applied(name, arrays, facts)))
        assert worst <= (stated.ulp32 if dtype == "float32" else stated.ulp64)
