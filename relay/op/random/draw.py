"""Random tensors. Each operator takes a generator and returns the next one.

    key = relay.random.threefry_key(0)
    key, bits = relay.random.threefry_generate(key, (3,))
    key, values = relay.random.uniform(key, (2, 3))

The same generator gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, prod
from typing import Any

import numpy as np

from relay import dtypes, te, tree
from relay.errors import RelayError
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Constant, Expr, TupleGetItem, TupleWrapper, const
from relay.ir.types import TensorType, TupleType, Type
from relay.op import gradient_rules
from relay.op.gradient_rules import DISCRETE, NO_FLOATS, ArgumentGradient, Backward
from relay.op.loop_nest import spread
from relay.op.opdef import DType, OpDef, Tensor, define, get, sample
from relay.op.random import threefry
from relay.op.site import FLOATING, Site
from relay.op.tensor.sort_loops import lower_bound

GENERATOR = TensorType((threefry.WORDS,), "uint64")


def threefry_key(seed: int) -> Constant:
    """The generator of a seed from 0 to 2**256 - 1."""
    if not 0 <= seed < 2**256:
        raise RelayError(f"a seed is a number from 0 to 2**256 - 1, found {seed}")
    return const(threefry.make_key(seed), "uint64")


def _require_generator(site: Site) -> None:
    site.expect(0, GENERATOR.shape, GENERATOR.dtype)


def _require_shape(site: Site) -> None:
    shape = site.attrs.out_shape
    for extent in shape:
        site.require(extent >= 0, "`out_shape` has a negative extent", "0 or more", str(shape))


# --- bits --------------------------------------------------------------------------------------


@attrs
class ThreefryGenerateAttrs(Attrs):
    """out_shape: the shape of the random numbers"""

    out_shape: tuple[int, ...]


def _generate_type(site: Site) -> Type | None:
    """(generator, numbers)"""
    _require_generator(site)
    _require_shape(site)
    return TupleType((GENERATOR, TensorType(site.attrs.out_shape, "uint64")))


def _generate(key: np.ndarray, out_shape: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    following, numbers = threefry.take(key, prod(out_shape))
    return following, numbers.reshape(out_shape)


def threefry_generate(key: Expr, shape: Sequence[int]) -> TupleWrapper:
    """The next generator, and random uint64 of that shape."""
    return TupleWrapper(THREEFRY_GENERATE(key, out_shape=shape), 2)


THREEFRY_GENERATE = define(
    "random.threefry_generate",
    doc="The next generator, and random uint64: four from each block of Threefry-4x64.",
    arguments=[("key", "the generator")],
    attrs=ThreefryGenerateAttrs,
    relation=_generate_type,
    reference=_generate,
    compute=lambda key, out_shape, out: threefry.take_loops(key, out[1].shape),
    repeatable=False,
    helper=threefry_generate,
    samples=[
        sample(threefry.make_key(0), out_shape=(2, 3)),
        sample(threefry.make_key(2**200 + 7), out_shape=()),
        sample(Tensor((10,), "uint64", 0, 2**63), out_shape=(0, 4)),
        sample(np.array([1, 2, 3, 4, 2**64 - 1, 5, 0, 0, 0, 0], "uint64"), out_shape=(11,)),
    ],
    gradient=NO_FLOATS,
)


def _split_type(site: Site) -> Type | None:
    """(generator, generator)"""
    _require_generator(site)
    return TupleType((GENERATOR, GENERATOR))


def threefry_split(key: Expr) -> TupleWrapper:
    """Two independent generators."""
    return TupleWrapper(THREEFRY_SPLIT(key), 2)


THREEFRY_SPLIT = define(
    "random.threefry_split",
    doc="Two generators, independent of each other and of the first.",
    arguments=[("key", "the generator")],
    relation=_split_type,
    reference=threefry.split,
    compute=threefry.split_loops,
    repeatable=False,
    helper=threefry_split,
    samples=[
        sample(threefry.make_key(0)),
        sample(np.array([1, 2, 3, 4, 5, 6, 0, 0, 0, 0], "uint64")),
    ],
    gradient=NO_FLOATS,
)

# --- distributions -----------------------------------------------------------------------------


@attrs
class DrawAttrs(Attrs):
    """out_shape: the shape of the result
    out_dtype: its element type, float32 or float64; None is that of the two arguments
    """

    out_shape: tuple[int, ...]
    out_dtype: DType | None = None


def _draw_type(site: Site) -> Type | None:
    """(generator, tensor)"""
    _require_shape(site)
    if (dtype := drawn_dtype(site)) is None:
        return None
    return TupleType((GENERATOR, TensorType(site.attrs.out_shape, dtype)))


def drawn_dtype(site: Site) -> str | None:
    """The element type of the result; the two parameters are scalars of it. None while it is
    unknown."""
    _require_generator(site)
    found = [site.tensor(index, rank=0) for index in (1, 2)]
    known = [ty.dtype for ty in found if ty is not None]
    dtype = site.attrs.out_dtype or (known[0] if known else None)
    if dtype is None:
        return None
    site.require(
        dtype in ("float32", "float64"),
        "the element type cannot be drawn",
        "float32 or float64",
        str(dtype),
        "convert the result with `cast`",
    )
    for index in (1, 2):
        site.expect(index, (), dtype)
    return str(dtype)


def shares(words: np.ndarray) -> np.ndarray:
    """Words as numbers in [0, 1), from their upper 53 bits."""
    return (words >> np.uint64(11)) * 2.0**-53


def _uniform(
    key: np.ndarray, low: np.ndarray, high: np.ndarray, out_shape: Sequence[int], **_: Any
) -> tuple[Any, ...]:
    following, words = threefry.take(key, prod(out_shape))
    drawn = low + shares(words) * (high.astype(np.float64) - low)
    return following, drawn.astype(low.dtype).reshape(out_shape)


def _normal(
    key: np.ndarray, mean: np.ndarray, scale: np.ndarray, out_shape: Sequence[int], **_: Any
) -> tuple[Any, ...]:
    """Box-Muller transform: a radius and an angle for each number."""
    following, words = threefry.take(key, 2 * prod(out_shape))
    first, second = shares(words).reshape(-1, 2).T
    drawn = np.sqrt(-2 * np.log(1 - first)) * np.cos(2 * np.pi * second)
    values = mean + drawn * scale.astype(np.float64)
    return following, values.astype(mean.dtype).reshape(out_shape)


Specs = tuple[te.Spec, te.Spec]


def share_of(word: te.Expr) -> te.Expr:
    """`shares` for one word."""
    return te.cast(word >> 11, "float64") * 2.0**-53


def _uniform_elements(
    key: te.Tensor, *bounds: te.Tensor, out: Specs, **_: Any
) -> tuple[te.Tensor, ...]:
    wanted = out[1]
    following, words = threefry.take_loops(key, wanted.shape)
    first, last = (te.cast(bound[()], "float64") for bound in bounds)

    def drawn(*i: te.Expr) -> te.Expr:
        return te.cast(first + share_of(words[i]) * (last - first), wanted.dtype)

    return following, te.compute(wanted.shape, drawn, "uniform")


def _normal_elements(
    key: te.Tensor, *parameters: te.Tensor, out: Specs, **_: Any
) -> tuple[te.Tensor, ...]:
    wanted = out[1]
    following, words = threefry.take_loops(key, (*wanted.shape, te.index(2)))
    middle, deviation = (te.cast(value[()], "float64") for value in parameters)

    def drawn(*i: te.Expr) -> te.Expr:
        length = te.call("sqrt", te.call("log", 1.0 - share_of(words[*i, 0])) * -2.0)
        cosine = te.call("cos", share_of(words[*i, 1]) * (2 * pi))
        return te.cast(middle + length * cosine * deviation, wanted.dtype)

    return following, te.compute(wanted.shape, drawn, "normal")


def _scalar(value: Expr | float, dtype: str) -> Expr:
    return const(value, dtype) if isinstance(value, int | float) else value


def _drawn(static: OpDef, key: Expr, shape: Sequence[int] | Expr, *rest: Any) -> TupleWrapper:
    """Random tensors of a shape, which may be a tensor."""
    *parameters, dtype = rest
    if isinstance(shape, Expr):
        call = get(f"dyn.{static.name}")(key, *parameters, shape, out_dtype=dtype)
    else:
        call = static(key, *parameters, out_shape=shape, out_dtype=dtype)
    return TupleWrapper(call, 2)


def _drawn_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The numbers are low + u * (high - low), or mean + u * scale, with the same random u."""
    key, first, _, *rest = site.args
    record: Any = site.call.op
    gradient = site.gradients[1]
    assert gradient is not None, "a generator has no gradient"
    ty = site.field_types(site.call)[1]
    # from 0 to 1, or around 0 with deviation 1
    plain = tree.replace(site.call, args=(key, *map(_like(site, first), (0.0, 1.0)), *rest))
    by_second = gradient_rules.build("sum", gradient * TupleGetItem(plain, 1))
    whole = gradient_rules.build("sum", gradient)
    by_first = whole if record.name.endswith("normal") else whole - by_second
    if ty.dtype != site.tensor_type(first).dtype:
        by_first, by_second = (
            one.astype(site.tensor_type(first).dtype) for one in (by_first, by_second)
        )
    return [None, by_first, by_second]


def _like(site: Backward, value: Expr) -> Callable[[float], Expr]:
    dtype = site.tensor_type(value).dtype
    return lambda number: const(number, dtype)


def _define(
    name: str, doc: str, parameters: dict[str, str], reference: Any, compute: Any, build: Any
) -> OpDef:
    return define(
        f"random.{name}",
        doc=f"The next generator, and {doc}, computed in float64 and rounded once.",
        arguments=[("key", "the generator"), *parameters.items()],
        attrs=DrawAttrs,
        relation=_draw_type,
        reference=reference,
        compute=compute,
        repeatable=False,
        gradient=_drawn_gradient,
        helper=build,
        samples=[
            sample(threefry.make_key(1), (), (), out_shape=(2, 3)),
            sample(
                threefry.make_key(2), (), (), out_shape=(5,), dtype="float64", out_dtype="float64"
            ),
            sample(threefry.make_key(3), (), (), out_shape=()),
        ],
    )


def uniform(
    key: Expr,
    shape: Sequence[int] | Expr,
    dtype: str = "float32",
    low: Expr | float = 0.0,
    high: Expr | float = 1.0,
) -> TupleWrapper:
    """The next generator, and uniform numbers in [low, high)."""
    dtype = dtypes.canonical(dtype)
    return _drawn(UNIFORM, key, shape, _scalar(low, dtype), _scalar(high, dtype), dtype)


UNIFORM = _define(
    "uniform",
    "low + u * (high - low) for random u in [0, 1), multiples of 2**-53",
    {"low": "the lower bound, a scalar", "high": "the upper bound, a scalar"},
    _uniform,
    _uniform_elements,
    uniform,
)


def normal(
    key: Expr,
    shape: Sequence[int] | Expr,
    dtype: str = "float32",
    mean: Expr | float = 0.0,
    scale: Expr | float = 1.0,
) -> TupleWrapper:
    """The next generator, and normally distributed numbers."""
    dtype = dtypes.canonical(dtype)
    return _drawn(NORMAL, key, shape, _scalar(mean, dtype), _scalar(scale, dtype), dtype)


NORMAL = _define(
    "normal",
    "normally distributed numbers by the Box-Muller transform of two words each",
    {"mean": "the mean, a scalar", "scale": "the standard deviation, a scalar"},
    _normal,
    _normal_elements,
    normal,
)

# --- classes -----------------------------------------------------------------------------------


@attrs
class MultinomialAttrs(Attrs):
    """num_samples: the number of draws for each row of probabilities"""

    num_samples: int = 1


def _multinomial_type(site: Site) -> Type | None:
    """(generator, (…, num_samples)) for probabilities (…, classes)."""
    _require_generator(site)
    site.require_elements(1, FLOATING)
    site.require_rank(1, at_least=1)
    count = site.attrs.num_samples
    site.require(count >= 0, "`num_samples` is negative", "0 or more", str(count))
    if (probs := site.tensor(1)) is None:
        return None
    site.require_some(probs.shape[-1], (), "there are no classes", "1 class or more", str(probs))
    return TupleType((GENERATOR, TensorType((*probs.shape[:-1], count), "int32")))


def _multinomial(key: np.ndarray, probs: np.ndarray, num_samples: int) -> tuple[Any, ...]:
    *batch, classes = probs.shape
    rows = probs.astype(np.float64).reshape(-1, classes)
    sums = np.cumsum(np.where(rows > 0, rows, 0), axis=1)
    following, words = threefry.take(key, len(rows) * num_samples)
    drawn = shares(words).reshape(len(rows), num_samples) * sums[:, -1:]
    found = [np.searchsorted(row, values, "right") for row, values in zip(sums, drawn, strict=True)]
    chosen = np.minimum(np.array(found, np.int64), classes - 1)
    return following, chosen.astype(np.int32).reshape(*batch, num_samples)


def _multinomial_loops(
    key: te.Tensor, probs: te.Tensor, num_samples: int, out: Specs
) -> tuple[te.Tensor, ...]:
    wanted = out[1]
    following, words = threefry.take_loops(key, wanted.shape)
    *batch, classes = probs.shape

    def write(b: te.Builder, result: te.Buffer) -> None:
        with spread(b, batch) as row:
            sums = b.local("float64", (classes,), "sums")
            total = b.variable("float64", 0.0, "total")
            with b.loop(classes) as number:
                share = b.let(te.cast(probs[*row, number], "float64"))
                b.store(total, (), total[()] + te.select(share > 0, share, 0.0))
                b.store(sums, number, total[()])
            with b.loop(num_samples) as i:
                drawn = b.let(share_of(words[*row, i]) * total[()])
                found = lower_bound(b, classes, lambda number: sums[number] <= drawn)
                chosen = te.minimum(found, classes - 1)
                b.store(result, (*row, i), te.cast(chosen, "int32"))

    outputs = [(wanted.shape, wanted.dtype)]
    (chosen,) = te.procedure([probs, words], outputs, write, "multinomial")
    return following, chosen


def multinomial(key: Expr, probs: Expr, num_samples: int) -> TupleWrapper:
    """The next generator, and classes drawn with the given probabilities."""
    return TupleWrapper(MULTINOMIAL(key, probs, num_samples=num_samples), 2)


MULTINOMIAL = define(
    "random.multinomial",
    doc="The next generator, and classes drawn with replacement, with probabilities proportional "
    "to those given; negative ones count as 0. If all are 0, the last class is drawn.",
    arguments=[("key", "the generator"), ("probs", "the probabilities of the classes, last axis")],
    attrs=MultinomialAttrs,
    relation=_multinomial_type,
    reference=_multinomial,
    compute=_multinomial_loops,
    repeatable=False,
    helper=multinomial,
    samples=[
        sample(threefry.make_key(4), Tensor((5,), low=0), num_samples=7),
        sample(threefry.make_key(5), Tensor((2, 3, 4), "float64", low=-1), num_samples=3),
        sample(threefry.make_key(6), Tensor((2, 4), "float16", low=0)),
        sample(threefry.make_key(7), Tensor((0, 4), low=0), num_samples=2),
    ],
    gradient=DISCRETE,
)
