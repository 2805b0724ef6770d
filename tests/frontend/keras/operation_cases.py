"""Operations of `keras.ops` that models record, with options away from their defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.frontend.keras.matrix_cases import matrices
from tests.frontend.keras.models import Case, keras, reals, whole
from tests.frontend.keras.signal_cases import creation, losses, numbers, pictures, spectra

ops = keras.ops
X, Y, ROW = reals(2, 3, 4), reals(2, 3, 4, seed=6), reals(4, seed=7)
POSITIVE = reals(2, 3, 4, low=0.1, high=3)


def case(
    name: str,
    inputs: list[np.ndarray],
    *args: Any,
    only: Any = None,
    backend: str = "",
    **named: Any,
) -> Case:
    """A function of `keras.ops` of tensors and options; `backend` where that of PyTorch errs."""
    function: Callable[..., Any] = ops
    for part in name.split("."):
        function = getattr(function, part)
    return Case(
        f"ops.{name}",
        {str(place): one for place, one in enumerate(args)} | named,
        inputs,
        make=lambda *given: function(*given, *args, **named),
        open_axes=() if only is None else only,
        backend=backend,
    )


def listed(name: str, inputs: list[np.ndarray], **named: Any) -> Case:
    """A function of a list of tensors."""
    function = getattr(ops, name)
    return Case(f"ops.{name}", named, inputs, make=lambda *x: function([*x], **named), open_axes=())


def operation_cases() -> list[Case]:
    families = (
        unary, binary, reductions, shaping, parts, functions, ordering, images, python, matrices,
        numbers, creation, losses, pictures, spectra,
    )  # fmt: skip
    found = [one for family in families for one in family()]
    return [one for one in found if one.backend in ("", keras.backend.backend())]


def unary() -> Iterator[Case]:
    for name in (
        "absolute",
        "abs",
        "negative",
        "sign",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "arctan",
        "arcsinh",
        "exp",
        "exp2",
        "expm1",
        "square",
        "floor",
        "ceil",
        "round",
        "trunc",
        "isnan",
        "isinf",
        "isfinite",
        "isneginf",
        "isposinf",
        "logical_not",
        "deg2rad",
        "rad2deg",
        "sinc",
        "erf",
        "erfc",
        "relu",
        "relu6",
        "sigmoid",
        "sparse_sigmoid",
        "softplus",
        "softsign",
        "sparse_plus",
        "silu",
        "log_sigmoid",
        "hard_sigmoid",
        "hard_silu",
        "selu",
        "tanh_shrink",
        "hard_tanh",
        "copy",
        "stop_gradient",
        "ones_like",
        "zeros_like",
        "signbit",
        "reciprocal",
        "cbrt",
        "nan_to_num",
        "real",
        "angle",
        "isreal",
        "conj",
        "ravel",
        "fabs",
    ):
        if not hasattr(ops, name) or name == "view":
            continue
        yield case(name, [X])
    for name in ("sqrt", "rsqrt", "log", "log2", "log10", "log1p", "arccosh"):
        yield case(name, [POSITIVE + (1 if name == "arccosh" else 0)])
    for name in ("arcsin", "arccos", "arctanh"):
        yield case(name, [reals(2, 3, 4, low=-0.9, high=0.9)])
    for name in (
        "sqrt",
        "exp",
        "mean",
        "square",
        "sum",
        "abs",
        "sign",
        "negative",
        "floor",
        "sin",
        "cumsum",
        "max",
        "var",
        "argmax",
    ):
        yield case(name, [whole(3, 4)])
    for name in ("bitwise_not", "bitwise_invert"):
        yield case(name, [whole(3, 4)])
    special = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1], "float32")
    for name in (
        "isnan",
        "isinf",
        "isfinite",
        "isneginf",
        "isposinf",
        "relu",
        "nan_to_num",
        "signbit",
    ):
        yield case(name, [special])
    yield case("nan_to_num", [special], nan=1.0, posinf=2.0, neginf=3.0)
    yield case("clip", [X], -0.5, 0.7)
    yield case("clip", [whole(3, 4)], 2, 5)
    yield case("round", [X], 2)
    for dtype in ("int32", "float16", "bool", "float64", "uint8", "int64"):
        yield case("cast", [POSITIVE], dtype)
        yield case("saturate_cast", [POSITIVE * 300], dtype)
    yield case("full_like", [X], 2.5)
    yield case("soft_shrink", [X], 0.3)
    yield case("hard_shrink", [X], 0.3)
    yield case("squareplus", [X], 2)
    yield case("leaky_relu", [X], 0.1)
    yield case("elu", [X], 0.5)
    yield case("celu", [X], 0.5)
    yield case("threshold", [X], 0.3, -1.0)
    yield case("glu", [X], -1)
    yield case("glu", [X], 2)
    yield case("sparsemax", [X])
    for by_tanh in (True, False):
        yield case("gelu", [X], by_tanh)
    for axis in (-1, 1):
        yield case("softmax", [X], axis)
        yield case("log_softmax", [X], axis)


def binary() -> Iterator[Case]:
    for name in (
        "add",
        "subtract",
        "multiply",
        "maximum",
        "minimum",
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "divide",
        "true_divide",
        "floor_divide",
        "mod",
        "arctan2",
        "logaddexp",
        "hypot",
        "divide_no_nan",
        "logaddexp2",
        "heaviside",
        "isclose",
        "fmod",
        "fmax",
        "fmin",
    ):
        if not hasattr(ops, name):
            continue
        for left, right in ((X, Y), (X, ROW), (X, reals(3, 1, seed=8))):
            yield case(name, [left, right])
        if name not in (
            "hypot",
            "heaviside",
            "logaddexp",
            "logaddexp2",
            "arctan2",
            "divide_no_nan",
        ):
            yield case(name, [whole(3, 4), whole(3, 4, low=1, high=5)])
            yield case(name, [whole(3, 4), reals(3, 4, low=0.5)])
            yield case(name, [X], 1.5)
            yield case(name, [whole(3, 4)], 3)
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield case(name, [whole(3, 4, high=2, dtype="bool"), whole(1, 4, high=2, dtype="bool")])
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"):
        yield case(name, [whole(3, 4), whole(3, 4, low=0, high=4)])
    for exponent in (2, 3, 0.5, 1.7):
        yield case("power", [POSITIVE], exponent)
    yield case("power", [POSITIVE, Y])
    yield case("where", [whole(2, 3, 4, high=2, dtype="bool"), X, Y])
    yield case("where", [whole(3, 4, high=2, dtype="bool"), X], 0.5)
    yield case("add", [X, reals(2, 1, 4)], only=(0,))
    yield case("add", [whole(3, 4, dtype="int64"), whole(3, 4, dtype="uint8")])
    yield case("multiply", [whole(3, 4, dtype="uint8"), whole(3, 4, dtype="int8")])


def reductions() -> Iterator[Case]:
    for name in (
        "sum",
        "prod",
        "max",
        "min",
        "mean",
        "all",
        "any",
        "var",
        "std",
        "amax",
        "amin",
        "argmax",
        "argmin",
        "ptp",
    ):
        if not hasattr(ops, name):
            continue
        x = X if name not in ("all", "any") else whole(2, 3, 4, high=2, dtype="bool")
        for axis in (None, 0, -1, (0, 2)):
            if isinstance(axis, tuple) and name.startswith("arg"):
                continue
            for keeps in (False, True):
                only = "tensorflow" if axis is None and keeps else ""
                yield case(name, [x], axis=axis, keepdims=keeps, backend=only)
        yield case(name, [x], axis=1, only=(0,))
    for axis in (None, 1):
        yield case("max", [X], axis=axis, initial=1.5)
        yield case("average", [X], axis=axis)
        yield case("cumsum", [X], axis=axis)
        yield case("cumprod", [X], axis=axis)
        yield case("count_nonzero", [whole(3, 4, high=2)], axis=axis)
        for keeps in (False, True):
            yield case("logsumexp", [X], axis=axis, keepdims=keeps)
            for name in ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd"):
                if hasattr(ops, name):
                    holes = X.copy()
                    holes[0, 1, 2] = np.nan
                    only = "tensorflow" if axis is None and keeps else ""
                    yield case(name, [holes], axis=axis, keepdims=keeps, backend=only)
    for order in (None, 1, 2, 3, np.inf, -np.inf):
        yield case("norm", [X], ord=order, axis=1, keepdims=True)
    for order in ("fro", 1, np.inf):
        yield case("norm", [X], ord=order, axis=(1, 2))
    yield case("norm", [X])
    for order in (1, 2, 3):
        yield case("normalize", [X], axis=1, order=order)
    yield case("moments", [X], axes=[0, 1])
    yield case("moments", [X], axes=[1], keepdims=True)


def shaping() -> Iterator[Case]:
    for shape in ((4, 6), (-1,), (2, -1, 2), (24,)):
        yield case("reshape", [X], shape)
    yield case("reshape", [X], (-1, 12), only=(0,))
    yield case("transpose", [X])
    yield case("transpose", [X], (1, 2, 0))
    yield case("swapaxes", [X], 0, -1)
    yield case("moveaxis", [X], 0, 2)
    yield case("moveaxis", [X], (0, 1), (1, 2))
    for axis in (0, -1, (0, 2)):
        yield case("expand_dims", [X], axis)
    yield case("squeeze", [reals(2, 1, 3, 1)], 1)
    yield case("squeeze", [reals(2, 1, 3, 1)])
    yield case("broadcast_to", [ROW], (3, 4))
    for axis in (None, 1, (0, 2)):
        yield case("flip", [X], axis)
    for times in (1, 2, 3):
        yield case("rot90", [X], times)
    yield case("roll", [X], 2, 1)
    yield case("roll", [X], 3)
    for axis in (0, 1, -1):
        yield listed("concatenate", [X, Y], axis=axis)
        yield listed("stack", [X, Y], axis=axis)
    yield listed("concatenate", [X, whole(2, 3, 4)], axis=1)
    for name in ("hstack", "vstack"):
        yield listed(name, [X, Y])
        if name == "vstack":
            yield listed(name, [ROW, ROW * 2])
    yield case("append", [X, Y], axis=1)
    yield case("append", [X, Y])
    yield case("split", [X], 3, axis=1)
    yield case("split", [X], [1, 3], axis=2)
    yield case("array_split", [X], 2, axis=1)
    yield case("unstack", [X], axis=1)
    yield case("repeat", [X], 2, axis=1)
    yield case("repeat", [X], 3)
    yield case("repeat", [X], [1, 0, 2], axis=1, backend="tensorflow")
    for counts in (2, (2, 1), (1, 2, 3), (2, 1, 1, 3)):
        yield case("tile", [X], counts)
    for width in (((1, 1), (1, 1), (1, 1)), ((1, 2), (0, 1), (2, 0))):
        yield case("pad", [X], width)
        yield case("pad", [X], width, constant_values=1.5)
    for mode in ("reflect", "symmetric"):
        only = "tensorflow" if mode == "symmetric" else ""
        yield case("pad", [X], ((0, 0), (1, 2), (2, 1)), mode=mode, backend=only)
    for indexing in ("xy", "ij"):
        yield case("meshgrid", [reals(3), reals(4)], indexing=indexing)
    for k in (-1, 0, 1):
        yield case("tril", [X], k)
        yield case("triu", [X], k)
        yield case("diagonal", [X], k, 1, 2)
        yield case("trace", [X], k, 1, 2)
        yield case("diag", [reals(3)], k)
        yield case("diag", [reals(3, 4)], k)


def parts() -> Iterator[Case]:
    for key in (
        np.s_[0],
        np.s_[-1],
        np.s_[:, 1],
        np.s_[1:, :],
        np.s_[:, ::-1],
        np.s_[:, 1:, ::2],
        np.s_[..., 0],
        np.s_[..., :-1],
        np.s_[:, None],
        np.s_[0, ..., 1],
        np.s_[:, -2:, 1:3],
        np.s_[:, None, ..., None, 2],
    ):
        name, make = f"x[{key}]", partial(lambda key, x: x[key], key)
        steps = [
            one.step
            for one in (key if isinstance(key, tuple) else (key,))
            if isinstance(one, slice)
        ]
        only = "tensorflow" if any(one and one < 0 for one in steps) else ""
        yield Case(name, {}, [X], make=make, open_axes=(), backend=only)
        if not only and key not in (0, -1, np.s_[0, ..., 1]):
            yield Case(name, {"open": 0}, [X], make=make, open_axes=(0,))
    for axis in (None, 0, 1, -1):
        yield case("take", [X, whole(2, 2, high=2)], axis=axis)
    yield case("take", [X, np.array([-1, 0, 1], "int32")], axis=1)
    yield case("take_along_axis", [X, whole(2, 3, 4, high=3)], axis=1)
    yield case("take_along_axis", [X, whole(2, 3, 1, high=3)], axis=-1)
    cut = lambda x: ops.slice(x, (0, 1, 2), (2, 2, 2))  # noqa: E731
    yield Case("ops.slice", {}, [X], make=cut, open_axes=())
    write = lambda x, u: ops.slice_update(x, (0, 1, 2), u)  # noqa: E731
    yield Case("ops.slice_update", {}, [X, reals(2, 1, 2)], make=write, open_axes=())


def functions() -> Iterator[Case]:
    for left, right in (
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((5, 1, 2, 3), (4, 3, 2)),
    ):
        yield case("matmul", [reals(*left), reals(*right, seed=4)])
    yield case("matmul", [reals(5, 2, 3), reals(5, 3, 4, seed=4)], only=(0,))
    for left, right in (((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,))):
        yield case("dot", [reals(*left), reals(*right, seed=4)])
    for axes in (1, 2, ((1,), (0,))):
        yield (
            case(
                "tensordot",
                [reals(2, 3, 4), reals(4, 3, 2) if axes == 1 else reals(3, 4, 2)],
                axes=axes,
            )
            if axes != ((1,), (0,))
            else case("tensordot", [reals(2, 3, 4), reals(3, 5)], axes=axes)
        )
    for text, shapes in (
        ("ij,jk->ik", ((2, 3), (3, 4))),
        ("bij,bkj->bik", ((2, 3, 4), (2, 5, 4))),
        ("bhij,bhjd->bihd", ((2, 2, 3, 4), (2, 2, 4, 5))),
        ("ij->j", ((2, 3),)),
        ("...ij,...jk", ((2, 2, 3), (2, 3, 4))),
    ):
        make = partial(lambda text, *x: ops.einsum(text, *x), text)
        given = [reals(*shape, seed=place) for place, shape in enumerate(shapes)]
        yield Case(f"ops.einsum {text}", {}, given, make=make, open_axes=())
    yield case("outer", [reals(3), reals(4)])
    yield case("inner", [X, ROW])
    yield case("vdot", [X, Y], backend="tensorflow")
    for causal in (False, True):
        given = [reals(2, 3, 2, 4, seed=seed) for seed in range(3)]
        yield case("dot_product_attention", given, is_causal=causal)
    seen = whole(2, 1, 3, 3, high=2, dtype="bool") | np.eye(3, dtype=bool)
    masked = lambda q, k, v, m: ops.dot_product_attention(q, k, v, mask=m)  # noqa: E731
    yield Case("ops.dot_product_attention", {"mask": 1}, [*given, seen], make=masked, open_axes=())
    for padding, strides, dilation in (("valid", 1, 1), ("same", 2, 1), ("same", 1, 2)):
        named = {"padding": padding, "strides": strides, "dilation_rate": dilation}
        named["data_format"] = "channels_last"
        image, volume = reals(2, 7, 8, 4), reals(2, 9, 4)
        yield case("conv", [image, reals(3, 3, 4, 5)], **named)
        yield case("conv", [volume, reals(3, 4, 5)], **named)
        yield case("depthwise_conv", [image, reals(3, 3, 4, 2)], **named)
        yield case("separable_conv", [image, reals(3, 3, 4, 2), reals(1, 1, 8, 3)], **named)
    for name in ("max_pool", "average_pool"):
        for padding in ("valid", "same"):
            only = "tensorflow" if (name, padding) == ("average_pool", "same") else ""
            yield case(name, [reals(2, 7, 8, 3)], 3, strides=2, padding=padding, backend=only)
    yield case("batch_normalization", [X, ROW, POSITIVE[0, 0]], axis=-1)
    affine = lambda x, m, v, o, s: ops.batch_normalization(x, m, v, 1, o, s, 0.01)  # noqa: E731
    rows = [reals(3, seed=seed) for seed in range(4)]
    yield Case("ops.batch_normalization", {}, [X, rows[0], rows[1] ** 2, rows[2], rows[3]],
               make=affine, open_axes=())  # fmt: skip
    yield case("one_hot", [whole(2, 3, high=4)], 5)
    yield case("one_hot", [whole(2, 3, high=4)], 5, axis=1)
    yield case("one_hot", [whole(2, 3, high=4)], 5, dtype="int32")
    yield case("multi_hot", [whole(2, 3, high=4)], 5)
    yield case("layer_normalization", [X], axis=-1)
    yield case("rms_normalization", [X, ROW], axis=-1)


def ordering() -> Iterator[Case]:
    for axis in (-1, 0, 1):
        yield case("sort", [X], axis=axis)
        yield case("argsort", [X], axis=axis)
        yield case("diff", [X], axis=axis)
    yield case("diff", [X], n=2)
    yield case("top_k", [X], 2)
    yield case("in_top_k", [whole(3, high=4), reals(3, 4)], k=2)
    for side in ("left", "right"):
        yield case("searchsorted", [np.sort(reals(5)), reals(4)], side=side)
    yield case("digitize", [X], np.array([-1.0, 0.0, 1.0], "float32"))
    for axis in (None, 1, (0, 1)):
        for keeps in (False, True):
            yield case("median", [X], axis=axis, keepdims=keeps)
            yield case("quantile", [X], 0.3, axis=axis, keepdims=keeps)
    yield case("segment_sum", [X, np.array([0, 2], "int32")], num_segments=3)
    yield case("segment_max", [reals(4, 2), np.array([0, 0, 1, 2], "int32")], num_segments=3)
    yield case("isin", [whole(3, 4), whole(3)])


def images() -> Iterator[Case]:
    picture = reals(2, 6, 8, 3, low=0, high=1)
    for mode in ("nearest", "bilinear"):
        yield case("image.resize", [picture], (9, 5), interpolation=mode)
    yield case("image.rgb_to_grayscale", [picture])
    yield case("image.pad_images", [picture], 1, 2, 3, 0)
    yield case("image.crop_images", [picture], 1, 2, 1, 0)


def python() -> Iterator[Case]:
    """What operators of Python on tensors record."""
    makers: dict[str, Callable[..., Any]] = {
        "x + y * 2 - 1": lambda x, y: x + y * 2 - 1,
        "1 / (x * x + 1)": lambda x, y: 1 / (x * x + 1),
        "x @ y.T": lambda x, y: x @ ops.transpose(y, (0, 2, 1)),
        "-x ** 2": lambda x, y: -(x**2),
        "abs(x) // 0.5 % 3": lambda x, y: abs(x) // 0.5 % 3,
        "(x > y) & (x < 1)": lambda x, y: ops.cast((x > y) & (x < 1), "int32"),
        "2 - x": lambda x, y: 2 - x,
        "2 ** x": lambda x, y: 2**x,
        "~(x >= y) | (x == y)": lambda x, y: ~(x >= y) | (x == y),
    }
    for name, make in makers.items():
        yield Case(name, {}, [X, Y], make=make, open_axes=())
        yield Case(name, {"open": 0}, [X, Y], make=make)
