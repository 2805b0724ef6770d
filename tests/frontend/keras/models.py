"""Models of Keras written for tests, and what Keras makes of them with its backend of PyTorch.

tried = Case("Conv2D", {"filters": 4, "kernel_size": 3}, [Given(2, 8, 8, 3)])
agree(tried)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "torch")  # before Keras is imported

import keras
import numpy as np

import relay
from relay.executors import create_executor
from relay.interpreter.values import TupleValue

# what Keras and PyTorch warn of in each other
KERAS = (
    "ignore:__array__ implementation:DeprecationWarning",
    "ignore::UserWarning:keras",
    "ignore::UserWarning:torch",
)


def reals(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 5) -> np.ndarray:
    random = np.random.default_rng([seed, *shape])
    return random.uniform(low, high, shape).astype("float32")


def whole(*shape: int, low: int = 0, high: int = 9, dtype: str = "int32") -> np.ndarray:
    random = np.random.default_rng([7, *shape])
    return random.integers(low, high, shape).astype(dtype)


@dataclass(frozen=True)
class Case:
    """A layer with options, or a function of `keras.ops`, and its inputs; extents of `open_axes`
    are left open."""

    kind: str
    config: Mapping[str, Any]
    inputs: Sequence[np.ndarray]
    call: Mapping[str, Any] = field(default_factory=dict)
    make: Callable[..., Any] | None = None  # (inputs of Keras) -> results, instead of one layer
    as_list: bool = False
    open_axes: tuple[int, ...] = (0,)
    tolerance: float = 2e-5
    backend: str = ""  # the only one whose results are those of a definition

    def __str__(self) -> str:
        types = [f"{one.dtype}{list(one.shape)}" for one in self.inputs]
        return f"{self.kind}({', '.join(types)}; {dict(self.config)}, {dict(self.call)})"


def build(case: Case) -> Any:
    """The model of a case, with random weights."""
    keras.utils.clear_session(free_memory=False)
    inputs = [
        keras.Input(
            batch_shape=[None if axis in case.open_axes else n for axis, n in enumerate(one.shape)],
            dtype=str(one.dtype),
            name=f"x{place}",
        )
        for place, one in enumerate(case.inputs)
    ]
    if case.make is not None:
        found = case.make(*inputs)
    else:
        layer = getattr(keras.layers, case.kind)(**case.config)
        found = layer(inputs, **case.call) if case.as_list else layer(*inputs, **case.call)
    model = keras.Model(inputs, found)
    fill(model)
    return model


def fill(model: Any, seed: int = 0, scale: float = 0.5) -> None:
    """Random weights: of a size that keeps deep networks tame; variances are positive."""
    random = np.random.default_rng(seed)
    for one in model.weights:
        name = one.path.rpartition("/")[2]
        shape = tuple(one.shape)
        if str(one.dtype).startswith(("int", "uint", "bool")):
            continue
        if "variance" in name:
            value = random.uniform(0.5, 1.5, shape)
        elif name in ("gamma", "scale", "moving_mean", "beta", "bias", "mean", "alpha"):
            value = random.uniform(-0.5, 0.5, shape) + (1.0 if name in ("gamma", "scale") else 0.0)
        else:
            width = max(1, int(np.prod(shape[:-1])))
            value = random.standard_normal(shape) * min(scale, (1.5 / width) ** 0.5)
        one.assign(value.astype("float32"))


def theirs(model: Any, feeds: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What Keras gives."""
    given = [keras.ops.convert_to_tensor(one) for one in feeds]
    found = model(given if len(given) != 1 else given[0], training=False)
    return [keras.ops.convert_to_numpy(one) for one in keras.tree.flatten(found)]


def ours(
    model: Any, feeds: Sequence[np.ndarray], *, compiled: bool = False, **options: Any
) -> list[np.ndarray]:
    """What our interpreter gives, or compiled code."""
    mod, params = relay.frontend.from_keras(model, **options)
    if compiled:
        found = relay.compile(mod, params)(*feeds)
        return list(found) if isinstance(found, tuple) else [found]
    made = create_executor("debug", mod, params=params).evaluate()(*feeds)
    return [one.numpy() for one in (made.fields if isinstance(made, TupleValue) else [made])]


def agree(case: Case, *, compiled: bool = False) -> None:
    """A case gives what Keras gives; integers and truth values exactly."""
    model = build(case)
    same(ours(model, case.inputs, compiled=compiled), theirs(model, case.inputs), case.tolerance)


def same(mine: Sequence[Any], wanted: Sequence[Any], tolerance: float = 2e-5) -> None:
    assert len(mine) == len(wanted), (len(mine), len(wanted))
    for left, right in zip(mine, wanted, strict=True):
        assert left.shape == right.shape, (left.shape, right.shape)
        if right.dtype.kind in "biu":
            assert left.dtype.kind in "biu", (left.dtype, right.dtype)
            np.testing.assert_array_equal(left, right)
            continue
        wide, other = left.astype("float64"), right.astype("float64")
        most = float(np.abs(other[np.isfinite(other)]).max(initial=0))
        np.testing.assert_allclose(wide, other, rtol=tolerance, atol=tolerance * max(most, 1e-3))
