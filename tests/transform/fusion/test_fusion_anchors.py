"""A primitive function with several anchors is several kernels."""

from __future__ import annotations

import numpy as np
import pytest

import relay
from relay import tree
from relay.ir.expr import Function
from relay.lower.kernel import Param, Result, Temporary, TensorSpec
from relay.lower.lower import lower_static
from relay.target.target import Target
from relay.transform.fusion.fusion_anchors import split_anchors

AVX512 = Target.x86("avx512")
X = "Tensor[(6, 16, 8), float32]"
SCORES = "nn.batch_matmul(%q, %k, transpose_b=True)"


def primitive(body: str, params: str = f"%q: {X}, %k: {X}, %v: {X}") -> Function:
    text = f'#[version = "0.0.5"]\ndef @main({params}, Primitive=1) {{ {body} }}'
    return relay.parse(text)["main"]


def test_every_anchor_is_a_step_with_what_joins_it() -> None:
    function = primitive(f"nn.batch_matmul(nn.softmax(multiply({SCORES}, 0.5f)), %v)")
    split = split_anchors(function)
    calls = [e for e in tree.postorder(split) if isinstance(getattr(e, "op", None), Function)]
    assert [call.op.attrs["Primitive"] for call in calls] == [1, 1, 1]
    scores, normal, last = calls
    assert [*scores.args, normal.args[0], *last.args] == [
        *split.params[:2],
        scores,
        normal,
        split.params[2],
    ]
    lowered = lower_static(function, [False] * 3, AVX512)
    assert [step.kernel.operators for step in lowered.steps] == [
        ("nn.batch_matmul", "multiply"),
        ("nn.softmax",),
        ("nn.batch_matmul",),
    ]
    assert [step.outputs for step in lowered.steps] == [
        (Temporary(0),),
        (Temporary(1),),
        (Result(0),),
    ]
    assert lowered.temporaries == (TensorSpec((6, 16, 16), "float32"),) * 2


def test_what_never_changes_is_prepared_by_a_step_of_its_own() -> None:
    params = "%x: Tensor[(64, 64), float32], %w: Tensor[(64, 64), float32]"
    function = primitive("nn.dense(nn.relu(nn.dense(%x, %w)), %w)", params)
    lowered = lower_static(function, [False, True], AVX512)
    assert [step.constant for step in lowered.steps] == [True, False, True, False]
    (first, second) = (step for step in lowered.steps if not step.constant)
    assert first.inputs == (Param(0), Temporary(1))
    assert first.outputs == (Temporary(0),)
    assert second.inputs == (Temporary(0), Temporary(2))
    assert len(lowered.temporaries) == 3


def test_a_reshape_between_is_no_step() -> None:
    function = primitive(
        f"%0 = nn.softmax(reshape({SCORES}, newshape=[2, 3, 16, 16])); "
        "nn.batch_matmul(reshape(%0, newshape=[6, 16, 16]), %v)"
    )
    lowered = lower_static(function, [False] * 3, AVX512)
    assert [spec.shape for spec in lowered.temporaries] == [(6, 16, 16), (2, 3, 16, 16)]
    inputs = [step.inputs for step in lowered.steps]
    assert inputs == [(Param(0), Param(1)), (Temporary(0),), (Temporary(1), Param(2))]


@pytest.mark.parametrize(
    ("body", "params"),
    [
        ("nn.relu(nn.batch_matmul(%q, %k, transpose_b=True))", f"%q: {X}, %k: {X}"),
        ("nn.softmax(exp(%q))", f"%q: {X}"),
        # a tuple is the result, or given
        (
            "%0 = nn.batch_matmul(%q, %k, transpose_b=True); (%0, nn.batch_matmul(%0, %q))",
            f"%q: {X}, %k: {X}",
        ),
        (
            "nn.batch_matmul(nn.batch_matmul(%t.0, %t.1, transpose_b=True), %t.0)",
            f"%t: ({X}, {X})",
        ),
        # what comes last is no step
        (
            f"reshape(nn.batch_matmul({SCORES}, %k), newshape=[-1])",
            f"%q: {X}, %k: {X}",
        ),
    ],
)
def test_others_are_best_as_a_whole(body: str, params: str) -> None:
    assert split_anchors(primitive(body, params)) is None


@pytest.mark.parametrize(
    "body",
    [
        f"nn.batch_matmul(nn.softmax(multiply({SCORES}, 0.5f)), %v)",
        f"%0 = nn.softmax(reshape({SCORES}, newshape=[2, 3, 16, 16])); "
        "nn.batch_matmul(reshape(%0, newshape=[6, 16, 16]), %v)",
        f"nn.batch_matmul({SCORES}, add(nn.batch_matmul({SCORES}, %k), %v))",
        f"reshape(nn.batch_matmul({SCORES}, %v), newshape=[-1])",
    ],
)
@pytest.mark.parametrize("whole", [False, True])
def test_the_steps_together_are_the_function(body: str, whole: bool) -> None:
    inner = f"fn (%q: {X}, %k: {X}, %v: {X}, Primitive=1) {{ {body} }}(%q, %k, %v)"
    around = f"if (True) {{ {inner} }} else {{ {inner} }}" if whole else inner
    mod = relay.parse(f'#[version = "0.0.5"]\ndef @main(%q: {X}, %k: {X}, %v: {X}) {{ {around} }}')
    rng = np.random.default_rng(0)
    args = [rng.normal(size=(6, 16, 8)).astype("float32") for _ in range(3)]
    expected = relay.create_executor("debug", mod).evaluate()(*args).numpy()
    found = relay.compile(mod, level=1)(*args)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
