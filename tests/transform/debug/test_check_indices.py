"""Checks are put before the operators that clamp indices or leave them out."""

from __future__ import annotations

import numpy as np
import pytest

import relay
from relay.errors import EvaluationError
from relay.ir.expr import Call, Expr
from relay.transform import CheckIndices, InferType


def floats(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int), dtype="float32").reshape(shape)


def checked(body: str, params: str = "%x: Tensor[(4, 3), float32], %i: Tensor[(2), int64]") -> str:
    text = f'#[version = "0.0.5"]\ndef @main({params}) {{ {body} }}'
    module = CheckIndices()(InferType()(relay.parse(text)))
    return str(InferType()(module)["main"].body)


def test_a_check_comes_before_the_indices_are_used() -> None:
    found = checked("take(%x, %i, axis=-1)")
    assert 'check_indices(%i, %x, axes=[1], reader="take")' in found
    assert found.index("check_indices") < found.index("add(%i") < found.index("take(%x")


def test_what_selects_nothing_stays() -> None:
    assert "check_indices" not in checked("add(%x, %x)")
    assert "check_indices" not in checked(
        "fn (%p: Tensor[(2), int64], Primitive=1) { take(%p, %p, axis=0) }(%i)"
    )


FAR = np.array([0, 9])
CASES = {
    "take": (lambda x, i: relay.take(x, i, axis=0), floats(3, 4), FAR),
    "take of all": (lambda x, i: relay.take(x, i), floats(3), FAR),
    "take wrapped": (lambda x, i: relay.take(x, i, axis=0, mode="wrap"), floats(3), FAR),
    "gather": (lambda x, i: relay.gather(x, 0, i), floats(3, 2), FAR[None]),
    "gather_nd": (lambda x, i: relay.gather_nd(x, i), floats(3, 4), FAR[:, None]),
    "adv_index": (lambda x, i: relay.adv_index([x, i]), floats(3, 4), -FAR),
    "scatter_elements": (
        lambda x, i, u: relay.scatter_elements(x, i, u, axis=0),
        *(floats(3), FAR, floats(2)),
    ),
    "scatter_nd": (
        lambda x, i, u: relay.scatter_nd(x, i, u),
        *(floats(3, 2), FAR[None], floats(2, 2)),
    ),
    "sparse_to_dense": (lambda i, v: relay.sparse_to_dense(i, (3,), v), FAR, floats(2)),
    "nll_loss": (
        lambda x, t, w: relay.nn.nll_loss(x, t, w, ignore_index=-100),
        *(floats(3, 4), np.array([-100, 0, 9]), floats(4)),
    ),
    "crop_and_resize": (
        lambda x, b, i: relay.image.crop_and_resize(x, b, i, (2, 2), "NCHW"),
        *(floats(1, 1, 4, 4), np.zeros((2, 4), "float32"), FAR.astype("int32")),
    ),
    "roi_align": (
        lambda x, r: relay.vision.roi_align(x, r, pooled_size=(2, 2), spatial_scale=1.0),
        *(floats(1, 1, 4, 4), np.array([[9, 0, 0, 2, 2]], "float32")),
    ),
}


@pytest.mark.out_of_range
@pytest.mark.parametrize("name", CASES)
def test_an_index_outside_ends_a_checked_run_in_every_engine(name: str) -> None:
    build, *inputs = CASES[name]
    params = [
        relay.var(f"x{i}", shape=array.shape, dtype=array.dtype.name)
        for i, array in enumerate(inputs)
    ]
    body: Expr = build(*params)
    assert isinstance(body, Call)
    function = relay.Function(params, body)
    relay.compile(function)(*inputs)
    virtual = relay.vm.VirtualMachine(relay.vm.compile(function, checked=True))
    for run in (relay.compile(function, checked=True), virtual.run):
        with pytest.raises(EvaluationError, match=r"out of range(?s:.*)found: +-?9\b"):
            run(*inputs)


@pytest.mark.out_of_range
def test_the_environment_asks_for_checks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    x, i = relay.var("x", shape=(3,)), relay.var("i", shape=(2,), dtype="int64")
    function = relay.Function([x, i], relay.take(x, i, axis=0))
    np.testing.assert_array_equal(relay.compile(function)(floats(3), FAR), [0, 2])
    monkeypatch.setenv("RELAY_CHECKED", "1")
    with pytest.raises(EvaluationError, match="`take`"):
        relay.compile(function)(floats(3), FAR)
    np.testing.assert_array_equal(relay.compile(function)(floats(3), FAR % 3), [0, 0])
