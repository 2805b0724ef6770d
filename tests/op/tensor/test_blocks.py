"""Blocks of space, padding and dilation: inverses, symbolic extents, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay
from relay.check.infer import infer_expr
from relay.errors import EvaluationError, TypeCheckError
from relay.ir.types import ShapeVar, TensorType
from relay.op.opdef import get

n = ShapeVar("n")


def tensor(*shape: Any, dtype: str = "float32") -> relay.Var:
    return relay.var("x", TensorType(shape, dtype))


def run(name: str, *args: Any, **attrs: Any) -> Any:
    op = get(name)
    return op.reference(*args, **dict(op.make_attrs(attrs).items()))


def shape_of(expr: Any) -> tuple[Any, ...]:
    found = infer_expr(expr).checked_type
    assert isinstance(found, TensorType)
    return found.shape


DATA = np.arange(2 * 12 * 6 * 4).reshape(2, 12, 6, 4)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NCHW4c"])
def test_depth_and_space_are_inverse(mode: str, layout: str) -> None:
    data = DATA.reshape(2, 3, 4, 6, 4) if layout == "NCHW4c" else DATA
    known = {"block_size": 2, "layout": layout, "mode": mode}
    there = run("nn.space_to_depth", data, **known)
    np.testing.assert_array_equal(run("nn.depth_to_space", there, **known), data)


@pytest.mark.parametrize("block", [(2,), (3, 2), (3, 2, 2)])
def test_batch_and_space_are_inverse(block: tuple[int, ...]) -> None:
    pads = ((block[0] * 2 - 1, 1), *((0, 0) for _ in block[1:]))
    there = run("nn.space_to_batch_nd", DATA, block_shape=block, paddings=pads)
    back = run("nn.batch_to_space_nd", there, block_shape=block, crops=pads)
    np.testing.assert_array_equal(back, DATA)


def test_extents_stay_symbolic() -> None:
    x = tensor(n, 8, n, 6)
    assert shape_of(relay.nn.depth_to_space(x, 2)) == (n, 2, 2 * n, 12)
    there = relay.nn.space_to_batch_nd(x, (2, 1, 3), ((0, 0), (1, 1), (0, 0)))
    assert shape_of(there) == (6 * n, 4, n + 2, 2)
    back = relay.nn.batch_to_space_nd(there, (2, 1, 3), ((0, 0), (1, 1), (0, 0)))
    assert shape_of(back) == (n, 8, n, 6)
    assert shape_of(relay.nn.mirror_pad(tensor(n), ((1, 2),))) == (n + 3,)
    assert str(shape_of(relay.nn.dilate(tensor(n), (2,)))[0]) == "max(0, 2 * n - 1)"


def test_what_only_a_run_knows_is_compared_in_the_run() -> None:
    x = relay.var("x", TensorType((relay.Any(),)))
    for call in (
        relay.nn.mirror_pad(x, ((4, 0),)),
        relay.nn.pad(x, ((4, 0),), pad_mode="reflect"),
        relay.nn.mirror_pad(x, ((0, 9),)),
    ):
        function = relay.create_executor("debug").evaluate(relay.Function([x], call))
        with pytest.raises(EvaluationError, match="too short to be padded with its own elements"):
            function(np.zeros(3, "float32"))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: relay.nn.depth_to_space(x, 4), "the channels cannot be divided"),
        (lambda x: relay.nn.space_to_depth(x, 4), "a spatial axis cannot be divided"),
        (lambda x: relay.nn.space_to_depth(x, 0), "`block_size` is not positive"),
        (lambda x: relay.nn.space_to_depth(x, 2, layout="NCWC"), "`layout` is no layout"),
        (
            lambda x: relay.nn.space_to_batch_nd(x, (2, 5), ((0, 0), (0, 1))),
            "padded axis 2 cannot be divided",
        ),
        (lambda x: relay.nn.space_to_batch_nd(x, (2,), ()), "`paddings` does not fit"),
        (lambda x: relay.nn.space_to_batch_nd(x, (0,), ((0, 0),)), "a value below 1"),
        (lambda x: relay.nn.space_to_batch_nd(x, (1,) * 4, ((0, 0),) * 4), "too few axes"),
        (lambda x: relay.nn.batch_to_space_nd(x, (3,), ((0, 0),)), "the batch cannot be divided"),
        (lambda x: relay.nn.batch_to_space_nd(x, (2,), ((9, 9),)), "drops more than axis 1 has"),
        (lambda x: relay.nn.mirror_pad(x, ((0, 0),)), "`pad_width` does not fit the rank"),
        (lambda x: relay.nn.mirror_pad(x, ((0, 3), *((0, 0),) * 3)), "axis 0 is too short"),
        (lambda x: relay.nn.dilate(x, (1, 2)), "`strides` does not fit"),
        (lambda x: relay.nn.fifo_buffer(x, tensor(4, 8, 5, 4)), "extents of axis 2 differ"),
        (lambda x: relay.nn.fifo_buffer(x, tensor(2, 8)), "argument `data` has the wrong rank"),
        (lambda x: relay.nn.correlation(x, tensor(2, 8, 6, 5)), "argument `data2`"),
        (lambda x: relay.nn.correlation(x, x, kernel_size=2), "a patch has no middle"),
        (lambda x: relay.nn.correlation(x, x, max_displacement=3), "patches do not fit"),
    ],
)
def test_what_does_not_fit_is_refused(build: Any, message: str) -> None:
    with pytest.raises(TypeCheckError, match=message):
        infer_expr(build(tensor(2, 8, 6, 4)))
