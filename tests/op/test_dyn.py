"""Dynamic operators: when Python builds one, what inference says, what a run refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay
from relay.check.infer import infer_expr
from relay.errors import EvaluationError, TypeCheckError
from relay.ir.expr import Call, Expr, Function, op_names
from relay.op.dyn import static_form
from relay.op.opdef import get
from relay.op.shapes import output_type

x = relay.var("x", shape=(2, 3))
image = relay.var("image", shape=(1, 2, 3, 4))
pair = relay.var("pair", shape=(2,), dtype="int64")
number = relay.var("number", "int32")
factor = relay.var("factor", "float32")
widths = relay.var("widths", shape=(2, 2), dtype="int32")
one, zero = relay.const(1.0), relay.const(0.0)
labels = relay.var("labels", shape=(4,), dtype="int32")

BUILT: list[tuple[Any, str, str]] = [
    (relay.reshape(x, pair), "dyn.reshape", "Tensor[(?, ?), float32]"),
    (relay.reshape(x, relay.const([3, 2])), "reshape", "Tensor[(3, 2), float32]"),
    (relay.squeeze(image, pair), "dyn.squeeze", "Tensor[(?, ?), float32]"),
    (relay.squeeze(image, relay.const([0])), "squeeze", "Tensor[(2, 3, 4), float32]"),
    (relay.expand_dims(x, number), "dyn.expand_dims", "Tensor[(?, ?, ?), float32]"),
    (relay.expand_dims(x, relay.const(1)), "expand_dims", "Tensor[(2, 1, 3), float32]"),
    (relay.broadcast_to(one, pair), "dyn.broadcast_to", "Tensor[(?, ?), float32]"),
    (relay.broadcast_to(one, (2, 3)), "broadcast_to", "Tensor[(2, 3), float32]"),
    (relay.tile(x, pair), "dyn.tile", "Tensor[(?, ?), float32]"),
    (relay.zeros(pair, "int8"), "dyn.zeros", "Tensor[(?, ?), int8]"),
    (relay.ones(pair, "int8"), "dyn.ones", "Tensor[(?, ?), int8]"),
    (relay.zeros(relay.const([4]), "int8"), "zeros", "Tensor[(4), int8]"),
    (relay.full(one, pair), "dyn.full", "Tensor[(?, ?), float32]"),
    (relay.full(one, 3, "int8"), "full", "Tensor[(3), int8]"),
    (relay.one_hot(labels, one, zero, number), "dyn.one_hot", "Tensor[(4, ?), float32]"),
    (relay.one_hot(labels, one, zero, 5), "one_hot", "Tensor[(4, 5), float32]"),
    (
        relay.topk(x, number).astuple(),
        "dyn.topk",
        "(Tensor[(2, ?), float32], Tensor[(2, ?), int32])",
    ),
    (relay.topk(x, number, ret_type="values"), "dyn.topk", "Tensor[(2, ?), float32]"),
    (relay.strided_slice(x, pair, [2, 2]), "dyn.strided_slice", "Tensor[(?, ?), float32]"),
    (
        relay.strided_slice(image, [0, 0], pair, axes=[1, -1]),
        "dyn.strided_slice",
        "Tensor[(1, ?, 3, ?), float32]",
    ),
    (relay.strided_slice(image, [0], pair), "dyn.strided_slice", "Tensor[(?, ?, 3, 4), float32]"),
    (relay.sparse_to_dense(widths, pair, one), "dyn.sparse_to_dense", "Tensor[(?, ?), float32]"),
    (relay.nn.pad(x, widths), "dyn.nn.pad", "Tensor[(?, ?), float32]"),
    (relay.nn.pad(x, ((0, 1), (2, 0))), "nn.pad", "Tensor[(3, 5), float32]"),
    (relay.nn.upsampling(image, factor, 2), "dyn.nn.upsampling", "Tensor[(1, 2, ?, ?), float32]"),
    (relay.image.resize2d(image, pair), "dyn.image.resize2d", "Tensor[(1, 2, ?, ?), float32]"),
    (
        relay.random.uniform(relay.random.threefry_key(0), pair).astuple(),
        "dyn.random.uniform",
        "(Tensor[(10), uint64], Tensor[(?, ?), float32])",
    ),
    (relay.collapse_sum_to(x, (3,)), "collapse_sum_to", "Tensor[(3), float32]"),
    (relay.collapse_sum_to(x, pair), "collapse_sum_to", "Tensor[(?, ?), float32]"),
]


@pytest.mark.parametrize(("call", "name", "ty"), BUILT)
def test_python_builds_what_its_arguments_ask_for(call: Any, name: str, ty: str) -> None:
    assert call.op.name == name
    assert str(infer_expr(call).checked_type) == ty


REFUSED: list[tuple[Any, str]] = [
    (relay.reshape(x, relay.var("s", shape=(relay.Any(),), dtype="int64")), "rank of the result"),
    (relay.reshape(x, x), "argument `newshape` has the wrong element type"),
    (relay.reshape(x, number), "argument `newshape` has the wrong rank"),
    (relay.squeeze(one, pair), "more axes go than there are"),
    (relay.broadcast_to(image, pair), "the shape does not broadcast"),
    (relay.strided_slice(one, pair, pair), "more slices than axes"),
    (relay.topk(x, factor).astuple(), "argument `k` has the wrong element type"),
    (relay.nn.pad(image, widths), "argument `pad_width` has the wrong shape"),
    (relay.sparse_to_dense(x, pair, one), "argument `sparse_indices` has the wrong element type"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_inference_refuses(call: Any, message: str) -> None:
    with pytest.raises(TypeCheckError, match=message):
        infer_expr(call)


def run(name: str, *args: Any, **attrs: Any) -> Any:
    op = get(name)
    made = op.make_attrs(attrs)
    return op.reference(*args, **(dict(made.items()) if made else {}))


data = np.arange(6, dtype="float32").reshape(2, 3)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("dyn.reshape", [4, 2], "the number of elements changes"),
        ("dyn.reshape", [-1, 4], "-1 has no whole value"),
        ("dyn.reshape", [-2], "code -2 of `newshape` changes the number of axes"),
        ("dyn.reshape", [-4, 1, 2, 3], "code -4 of `newshape` changes the number of axes"),
        ("dyn.broadcast_to", [3, 3], "the shape does not broadcast"),
        ("dyn.tile", [-1, 1], "`reps` has a negative value"),
        ("dyn.squeeze", [0], "axis 0 is not of extent 1"),
        ("dyn.squeeze", [5], "`axis` is out of range"),
        ("dyn.expand_dims", 7, "`axis` is out of range"),
        ("dyn.topk", 9, "fewer than `k` elements"),
    ],
)
def test_a_run_refuses_values_that_do_not_fit(name: str, values: Any, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        run(name, data, np.array(values, "int64"))


@pytest.mark.parametrize("name", [n for n in op_names() if n.startswith("dyn.")])
def test_constants_lead_back_to_the_static_operator(name: str) -> None:
    op = get(name)
    for sample in op.samples:
        values = sample.values()
        call = Call(op, tuple(relay.const(v, v.dtype.name) for v in values))
        if op.attrs is not None:
            call = op(*call.args, **sample.attrs)
        static = static_form(call)
        assert static is not None and f"dyn.{static.op.name}" == name  # type: ignore[attr-defined]
        attrs = dict(call.attrs.items()) if call.attrs is not None else {}
        found = infer_expr(static).checked_type
        assert found == output_type(op, sample.types(), call.attrs, values)
        kept = dict(static.attrs.items())  # type: ignore[union-attr]
        assert attrs.items() <= kept.items()


def test_variables_have_no_static_form() -> None:
    assert static_form(get("dyn.reshape")(x, pair)) is None
    assert static_form(relay.add(x, x)) is None
    assert static_form(relay.Function((x,), x)(x)) is None


def evaluate(expr: Expr, *params: Any) -> Any:
    variables = relay.analysis.free_vars(expr)
    module = relay.IRModule.from_expr(Function(tuple(variables), expr))
    return relay.create_executor("debug", mod=module).evaluate()(*params).numpy()


def test_a_program_computes_its_own_shapes() -> None:
    other = relay.var("other", shape=(relay.Any(), relay.Any()))
    transposed = relay.reverse(relay.shape_of(other, "int64"), 0)
    found = evaluate(relay.reshape(relay.exp(other), transposed), data)
    np.testing.assert_allclose(found, np.exp(data).reshape(3, 2), rtol=1e-6)
    rows = relay.take(relay.shape_of(other), relay.const(0), axis=0)
    found = evaluate(relay.topk(other, rows, ret_type="values"), data)
    np.testing.assert_array_equal(found, [[2, 1], [5, 4]])
