"""Every operator against an oracle nobody here wrote, on the samples of its record.

`oracles/<family>.py` holds them: `ORACLES[name](*arrays, **attributes)` computes the result with
PyTorch, SciPy, ONNX's reference evaluator or a float64 NumPy formula. Samples give each attribute
a value away from its default; the table of that is printed at the end of the run.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay import dtypes
from relay.errors import RelayError
from relay.ir.expr import op_names
from relay.op.opdef import OpDef, Sample, Tensor, get
from relay.op.shapes import output_type
from tests.op.samples import every_sample
from tests.support.looping import each


def load_oracles() -> tuple[dict[str, Any], dict[str, tuple[float, float]]]:
    """All oracles by operator, and the tolerances (rtol, atol) of those that need their own."""
    oracles: dict[str, Any] = {}
    tolerances: dict[str, tuple[float, float]] = {}
    for path in sorted((Path(__file__).parent / "oracles").glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"oracles_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        repeated = oracles.keys() & module.ORACLES.keys()
        assert not repeated, f"{sorted(repeated)} have two oracles"
        oracles.update(module.ORACLES)
        tolerances.update(getattr(module, "TOLERANCES", {}))
    return oracles, tolerances


ORACLES, TOLERANCES = load_oracles()
DEFAULT_TOLERANCE = {"float16": (2e-3, 2e-3), "bfloat16": (2e-2, 2e-2), "float64": (1e-12, 1e-12)}


def agree(op: OpDef, found: Any, expected: Any) -> None:
    if isinstance(found, tuple):
        assert len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            agree(op, f, e)
        return
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    if found.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected.astype(found.dtype))
        return
    rtol, atol = TOLERANCES.get(op.name, DEFAULT_TOLERANCE.get(found.dtype.name, (2e-5, 2e-6)))
    np.testing.assert_allclose(
        found.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=atol
    )


@every_sample
def test_the_operator_agrees_with_its_oracle(op: OpDef, sample: Sample) -> None:
    made = op.make_attrs(sample.attrs)
    attrs = dict(made.items()) if made else {}
    values = sample.values()
    agree(op, op.reference(*values, **attrs), ORACLES[op.name](*values, **attrs))


# The element types an operator may take besides those its samples have.
ELEMENTS = ["int8", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "bool"]
# Its result depends on the bits, which the wider numbers given to an oracle do not have.
OF_BITS = ("reinterpret",)


def leaves(args: tuple[Any, ...]) -> list[Any]:
    return [x for a in args for x in (leaves(a) if isinstance(a, tuple) else [a])]


def with_dtype(args: tuple[Any, ...], before: str, after: str) -> tuple[Any, ...]:
    return tuple(
        with_dtype(a, before, after)
        if isinstance(a, tuple)
        else as_dtype(a, after)
        if isinstance(a, Tensor) and a.dtype == before
        else a
        for a in args
    )


def as_dtype(tensor: Tensor, dtype: str) -> Tensor:
    """The tensor with other elements, from the part of its range that they have."""
    low, high = tensor.low, tensor.high
    if dtypes.is_integer(dtype):
        limits = np.iinfo(dtype)
        low = min(max(int(low), limits.min), limits.max - 1)
        high = max(min(int(high), limits.max), low + 1)
    elif dtype != "bool":
        low = min(max(low, -1e4), 1e4 - 1)  # what float16 holds
        high = max(min(high, 1e4), low + 1)
    return dataclasses.replace(tensor, dtype=dtype, low=low, high=high)


def widened(value: Any) -> Any:
    """Numbers of 16 bits as float32, since few oracles know them."""
    if isinstance(value, tuple):
        return tuple(map(widened, value))
    return value.astype(np.float32) if value.dtype.name in ("float16", "bfloat16") else value


def accepted(op: OpDef, dtype: str) -> Sample | None:
    """The first sample whose leading element type the relation lets be `dtype`."""
    for sample in op.samples:
        leading = next((x.dtype for x in leaves(sample.args) if isinstance(x, Tensor)), None)
        if leading is None:
            continue
        other = Sample(with_dtype(sample.args, leading, dtype), sample.attrs)
        try:
            output_type(op, other.types(), op.make_attrs(other.attrs), other.values())
        except RelayError:
            continue
        return other
    return None


@pytest.mark.parametrize("name", sorted(ORACLES.keys() - set(OF_BITS)))
def test_the_operator_agrees_at_every_element_type_it_takes(name: str) -> None:
    op = get(name)
    if op.on_values:
        return
    seen = {x.dtype for s in op.samples for x in leaves(s.args) if isinstance(x, Tensor)}
    for dtype in ELEMENTS:
        if dtype in seen or (sample := accepted(op, dtype)) is None:
            continue
        made = op.make_attrs(sample.attrs)
        attrs = dict(made.items()) if made else {}
        values = sample.values()
        expected = ORACLES[name](*map(widened, values), **attrs)
        agree(op, op.reference(*values, **attrs), expected)


@each("name", [n for n in op_names() if get(n).samples])
def test_every_operator_has_an_oracle(name: str) -> None:
    assert name in ORACLES


@each("name", [n for n in op_names() if get(n).attrs and get(n).samples])
def test_every_attribute_is_tried_away_from_its_default(name: str) -> None:
    op = get(name)
    defaults = op.attrs.defaults()
    for attribute in list(op.attrs.keys()):
        tried = [op.make_attrs(s.attrs)[attribute] for s in op.samples]
        assert any(attribute not in defaults or v != defaults[attribute] for v in tried), attribute
