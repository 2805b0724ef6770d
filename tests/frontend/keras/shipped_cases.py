"""Cases from the tests of layers that ship in Keras: what they give to `run_layer_test`.

(found, left_out) = shipped_cases()

The methods of those tests run, with that function replaced by one that notes its arguments.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import unittest
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.frontend.keras.models import Case, keras, reals, whole

RUN = "run_layer_test"
Noted = tuple[type, dict[str, Any], dict[str, Any]]  # a layer, its options, those of the test


def noted() -> list[Noted]:
    """The arguments of `run_layer_test` in all tests of layers."""
    from keras.src.testing import test_case

    found: list[Noted] = []

    def note(self: Any, layer: type, options: dict[str, Any] | None = None, **rest: Any) -> None:
        found.append((layer, dict(options or rest.pop("init_kwargs", None) or {}), rest))

    before = getattr(test_case.TestCase, RUN)
    setattr(test_case.TestCase, RUN, note)
    try:
        for test in _tests(test_case.TestCase):
            count = len(found)
            try:
                test.setUp()
                getattr(test, test._testMethodName)()
            except test.failureException as failure:
                if "not raised" in str(failure):
                    del found[count:]  # Keras refuses these
            except (Exception, pytest.skip.Exception):
                continue  # whatever it does besides is not our concern
    finally:
        setattr(test_case.TestCase, RUN, before)
    return found


def _tests(base: type) -> Iterator[Any]:
    """Tests whose methods or their helpers call that function."""
    for module in pkgutil.walk_packages(keras.src.layers.__path__, "keras.src.layers."):
        if not module.name.endswith("_test"):
            continue
        try:
            home = importlib.import_module(module.name)
        except Exception:  # one that needs a package that is not here
            continue
        for kind in vars(home).values():
            if (
                inspect.isclass(kind)
                and issubclass(kind, base)
                and kind.__module__ == home.__name__
            ):
                calling = tuple(_calling(inspect.getsource(kind)))
                for name in unittest.TestLoader().getTestCaseNames(kind):
                    if name.startswith(calling):  # tests with parameters have more in their names
                        yield kind(name)


def _calling(source: str) -> Iterator[str]:
    """The names of the methods of a class that call that function."""
    for one in ast.parse(source).body[0].body:  # type: ignore[attr-defined]
        if isinstance(one, ast.FunctionDef) and RUN in ast.unparse(one):
            yield one.name


def shipped_cases() -> tuple[list[Case], Counter[str]]:
    """The cases that a model can be made of, and how many are left out, by reason."""
    found: list[Case] = []
    left: Counter[str] = Counter()
    for layer, options, rest in noted():
        reason = _reason(layer, options, rest)
        if reason:
            left[reason] += 1
            continue
        found.append(_case(layer, options, rest))
    return found, left


def _reason(layer: type, options: Mapping[str, Any], rest: Mapping[str, Any]) -> str:
    """Why there is no case of it, or nothing."""
    parts = [one for value in options.values() for one in keras.tree.flatten(value)]
    kinds = [layer, *(type(one) for one in parts if isinstance(one, keras.Layer))]
    if not all(hasattr(keras.layers, kind.__name__) for kind in kinds):
        return "a class that the test defines"
    if layer is keras.layers.Lambda:
        return "code"
    if "_from_" in str(options.get("dtype")):
        return "quantized by Keras"
    if rest.get("input_sparse") or rest.get("input_ragged"):
        return "sparse and ragged tensors"
    if (rest.get("call_kwargs") or {}).get("training"):
        return "training"
    if rest.get("input_shape") is None and rest.get("input_data") is None:
        return "no inputs"
    is_mean = layer.__name__.startswith("AveragePooling") and options.get("padding") == "same"
    if is_mean and keras.backend.backend() == "torch":
        return "PyTorch counts the frame around an image in its means"
    return ""


def _case(layer: type, options: Mapping[str, Any], rest: Mapping[str, Any]) -> Case:
    given = rest.get("input_data")
    if given is None:
        given = _drawn(rest["input_shape"], rest.get("input_dtype"))
    arrays = [keras.ops.convert_to_numpy(one) for one in keras.tree.flatten(given)]
    call = dict(rest.get("call_kwargs") or {})

    def make(*inputs: Any) -> Any:
        packed = keras.tree.pack_sequence_as(given, list(inputs))
        made = layer(**options)
        return made(**packed, **call) if isinstance(packed, dict) else made(packed, **call)

    axes = () if options.get("stateful") else (0,)
    known = {"tolerance": 2e-3} if options.get("dtype") == "float16" else {}
    return Case(layer.__name__, dict(options), arrays, call, make, open_axes=axes, **known)


def _drawn(shape: Any, dtype: Any) -> Any:
    """Random arrays of these shapes, which may be in lists and mappings."""
    if isinstance(shape, Mapping):
        types = dtype or {}
        return {
            key.removesuffix("_shape"): _drawn(one, types.get(key)) for key, one in shape.items()
        }
    if isinstance(shape, list) or (shape and isinstance(shape[0], list | tuple)):
        types = dtype or [None] * len(shape)
        return [_drawn(one, kind) for one, kind in zip(shape, types, strict=True)]
    extents = [one or 2 for one in shape]
    if dtype and "int" in dtype:
        return whole(*extents, high=2, dtype=dtype)
    if dtype == "bool":
        return whole(*extents, high=2).astype(bool)
    return reals(*extents).astype(dtype or "float32")
