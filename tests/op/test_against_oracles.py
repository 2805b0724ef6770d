"""Every operator against an oracle nobody here wrote, on the samples of its record.

`oracles/<family>.py` holds them: `ORACLES[name](*arrays, **attributes)` computes the result with
PyTorch, SciPy, ONNX's reference evaluator or a float64 NumPy formula. Samples give each attribute
a value away from its default; the table of that is printed at the end of the run (`conftest.py`).
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay.ir.expr import op_names
from relay.op.opdef import OpDef, Sample, get


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

SAMPLES = [
    pytest.param(get(n), s, id=f"{n}-{i}")
    for n in sorted(ORACLES)
    for i, s in enumerate(get(n).samples)
]


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


@pytest.mark.parametrize(("op", "sample"), SAMPLES)
def test_the_operator_agrees_with_its_oracle(op: OpDef, sample: Sample) -> None:
    made = op.make_attrs(sample.attrs)
    attrs = dict(made.items()) if made else {}
    values = sample.values()
    agree(op, op.reference(*values, **attrs), ORACLES[op.name](*values, **attrs))


@pytest.mark.parametrize("name", [n for n in op_names() if get(n).samples])
def test_every_operator_has_an_oracle(name: str) -> None:
    assert name in ORACLES


@pytest.mark.parametrize("name", [n for n in op_names() if get(n).attrs and get(n).samples])
def test_every_attribute_is_tried_away_from_its_default(name: str) -> None:
    op = get(name)
    defaults = op.attrs.defaults()
    for attribute in list(op.attrs.keys()):
        tried = [op.make_attrs(s.attrs)[attribute] for s in op.samples]
        assert any(attribute not in defaults or v != defaults[attribute] for v in tried), attribute
