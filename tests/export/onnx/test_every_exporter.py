"""Every operator that has an exporter, on the samples of its record: what others make of the model
is what the reference gives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import onnx
import pytest

from relay import dtypes
from relay.errors import ExportError
from relay.export.onnx import to_onnx
from relay.export.onnx.exporters import built_in
from relay.ir.expr import Call, Expr, Function, Tuple, Var, const, get_op
from relay.ir.types import TensorType
from relay.op.opdef import OpDef, Tensor, get
from relay.testing.operators import Use, assert_agree, expected, leaves
from tests.export.onnx.running import NoJudge, run
from tests.support.operator_uses import with_other_elements


def program(use: Use) -> tuple[Function, list[np.ndarray]]:
    """A function that uses the operator, and its arguments."""
    params: list[Var] = []
    inputs: list[np.ndarray] = []

    def leaf(given: Any, array: np.ndarray) -> Expr:
        # zero points are constants, as they are in all programs
        is_point = use.op.name.startswith("qnn.") and given.dtype == "int32" and array.ndim < 2
        if not isinstance(given, Tensor) or is_point:
            return const(array, dtypes.canonical(array.dtype))
        params.append(Var(f"x{len(params)}", TensorType(array.shape, given.dtype)))
        inputs.append(array)
        return params[-1]

    args: list[Expr] = []
    for given, values in zip(use.sample.args, use.sample.values(), strict=True):
        if isinstance(given, tuple):
            args.append(Tuple(tuple(leaf(*pair) for pair in zip(given, values, strict=True))))
        else:
            args.append(leaf(given, values))
    attrs = use.op.make_attrs(use.sample.attrs)
    return Function(tuple(params), Call(use.op, tuple(args), attrs)), inputs


def uses_of(name: str) -> Iterator[Use]:
    op = get_op(name)
    assert isinstance(op, OpDef)
    for place, sample in enumerate(op.samples):
        yield Use(op, sample, f"{name}-{place}")
    yield from with_other_elements(op)


# Where results differ, and why that is right.
EXPLAINED = {
    **dict.fromkeys(
        ("argsort-3", "topk-4", "sort-3"), "numbers that are none come in no order in ONNX Runtime"
    ),
    **dict.fromkeys(
        ("scatter_elements-5", "scatter_nd-1", "scatter_nd-3", "scatter_nd-4"),
        "places outside are ignored by Relay, and errors in ONNX",
    ),
    **dict.fromkeys(
        ("cast-0", "cast-1", "cast-bfloat16", "cast-float64", "cast-float8_e4m3fn",
         "cast-float8_e5m2", "cast-float8_e4m3fnuz", "cast-float8_e5m2fnuz"),
        "the standard leaves open what becomes of numbers beyond the integers of a type",
    ),
    "cumsum-9": "sums that are rounded at every step are nobody else's",
    **dict.fromkeys(("mean-5", "mean-17"), "a mean over nothing is 0 in ONNX Runtime"),
    **dict.fromkeys(
        ("qnn.log-0", "qnn.log-2", "qnn.sqrt-0", "qnn.sqrt-2", "qnn.rsqrt-0", "qnn.rsqrt-2"),
        "so it does with those that are no numbers",
    ),
}  # fmt: skip

# Models that are written and that no oracle runs, and why.
UNJUDGED = {
    **dict.fromkeys(("argmax-5", "argmin-5"), "neither says which element of none is the largest"),
    **dict.fromkeys(("nn.lrn-1", "nn.lrn-3"), "both take images, of four axes, alone"),
}

# Quantized results are computed with real numbers in ONNX: halves may go the other way.
ONE_STEP = "qnn."


def agrees(use: Use) -> bool:
    """Whether the model was written and run; an error if the results are others, and if no oracle
    runs what was written."""
    if use.name in EXPLAINED:
        return False
    function, inputs = program(use)
    try:
        model = to_onnx(function)
    except ExportError:
        return False
    onnx.checker.check_model(model, full_check=True)
    if use.name in UNJUDGED:
        with pytest.raises(NoJudge):
            run(model, inputs)
        return False
    found = run(model, inputs)
    wanted = list(expected(use))
    if use.op.name.startswith(ONE_STEP) and wanted[0].dtype.kind in "iu":
        for one, other in zip(found, wanted, strict=True):
            assert one.shape == other.shape and one.dtype == other.dtype
            assert np.abs(one.astype(np.int64) - other.astype(np.int64)).max(initial=0) <= 1
        return True
    # some of theirs are computed in float32, whatever the type
    assert [one.dtype for one in found] == [one.dtype for one in wanted]
    plain = Use(get("exp"), use.sample, "") if "fast" in use.op.name else use
    assert_agree(plain, [*map(_narrowed, found)], [*map(_narrowed, wanted)])
    return True


def _narrowed(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32) if array.dtype == np.float64 else array


@pytest.mark.parametrize("name", sorted(built_in()))
def test_samples_mean_the_same_to_others(name: str) -> None:
    ran = [agrees(use) for use in islice(uses_of(name), 4)]
    assert any(ran), "none could be written and run"


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(built_in()))
def test_all_samples_and_element_types_mean_the_same_to_others(name: str) -> None:
    ran = [agrees(use) for use in uses_of(name)]
    assert any(ran)


def test_exporters_are_of_operators_that_exist() -> None:
    for name in built_in():
        assert leaves(get_op(name).samples[0].args) is not None


@pytest.mark.parametrize("name", [*EXPLAINED, *UNJUDGED])
def test_what_is_excused_is_a_sample(name: str) -> None:
    assert name in {use.name for use in uses_of(name.rpartition("-")[0])}
