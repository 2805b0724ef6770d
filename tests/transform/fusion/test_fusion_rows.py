"""How the values of a kernel lie along the rows of its reductions."""

import pytest

import relay
from relay.transform.fusion.fusion_dataflow import Dataflow
from relay.transform.fusion.fusion_rows import (
    NOT_IN_ROWS,
    ROWS_CROSS,
    ROWS_DIFFER,
    ROWS_MOVE,
    Clash,
    Rows,
    lay_out,
)

HEADER = '#[version = "0.0.5"]\n'


def layout(body, shape="(6, 8)", more=""):
    """The rows of all operators of a function; for a clash, the operator and the rule."""
    params = f"%x: Tensor[{shape}, float32]{more}"
    flow = Dataflow(relay.parse(f"{HEADER}def @main({params}) {{ {body} }}")["main"])
    found = lay_out(flow, range(len(flow.nodes)))
    return (flow.nodes[found.node].name, found.rule) if isinstance(found, Clash) else found


@pytest.mark.parametrize(
    ("body", "shape", "extents", "passes"),
    [
        ("sum(exp(%x), axis=[1])", "(6, 8)", (6,), 1),
        ("sqrt(sum(exp(%x), axis=[1]))", "(6, 8)", (6,), 1),
        ("divide(%x, sum(%x, axis=[1], keepdims=True))", "(6, 8)", (6,), 2),
        ("divide(%x, sum(%x, axis=[1, 2], keepdims=True))", "(6, 8, 2)", (6,), 2),
        ("divide(%x, expand_dims(sum(%x, axis=[2]), axis=2))", "(6, 8, 2)", (6, 8), 2),
        ("divide(%x, reshape(sum(%x, axis=[2]), newshape=[6, 8, 1]))", "(6, 8, 2)", (6, 8), 2),
        ("squeeze(sum(%x, axis=[1], keepdims=True))", "(6, 8)", (6,), 1),
        ("add(max(%x, axis=[1]), min(%x, axis=[1]))", "(6, 8)", (6,), 2),
        ("negative(nn.softmax(%x))", "(6, 8)", (6,), 3),
        # rows of one element are no rows
        ("divide(%x, sum(%x, axis=[2], keepdims=True))", "(1, 6, 8)", (6,), 2),
        ("divide(%x, sum(%x))", "(6, 8)", (), 2),
        # a row may become one of another length
        ("max(add(sum(%x, axis=[1], keepdims=True), %y), axis=[1])", "(6, 8)", (6,), 2),
    ],
)
def test_values_have_rows(body, shape, extents, passes):
    rows = layout(body, shape, ", %y: Tensor[(3), float32]")
    assert isinstance(rows, Rows)
    assert (rows.extents, rows.passes, rows.crosswise) == (extents, passes, False)


def test_rows_may_lie_crosswise():
    for body in (
        "subtract(%x, mean(%x, axis=[0]))",
        "subtract(%x, mean(%x, axis=[0], keepdims=True))",
    ):
        rows = layout(body)
        assert (rows.extents, rows.crosswise) == ((8,), True)
    channels = layout("subtract(%x, mean(%x, axis=[0, 2], keepdims=True))", "(2, 3, 8)")
    assert (channels.extents, channels.crosswise) == ((3,), False)


@pytest.mark.parametrize(
    ("body", "operator", "rule"),
    [
        ("sum(sum(%x, axis=[1]), axis=[0])", "sum", ROWS_DIFFER),
        ("add(sum(%x, axis=[1]), sum(%y, axis=[1]))", "sum", ROWS_DIFFER),
        ("sum(divide(%x, sum(%x, axis=[1], keepdims=True)), axis=[0])", "sum", ROWS_DIFFER),
        ("%0 = sum(%x, axis=[1], keepdims=True); add(%0, sum(%x, axis=[1]))", "add", ROWS_MOVE),
        ("nn.bias_add(%x, sum(%y, axis=[1]), axis=0)", "nn.bias_add", ROWS_MOVE),
        ("add(%z, sum(%x, axis=[1]))", "add", ROWS_CROSS),
        ("add(sum(%x, axis=[1]), sum(transpose(%x), axis=[0]))", "transpose", NOT_IN_ROWS),
        ("reshape(sum(%x, axis=[1]), newshape=[2, 3])", "reshape", NOT_IN_ROWS),
        ("concatenate((sum(%x, axis=[1]), sum(%x, axis=[1])))", "Tuple", NOT_IN_ROWS),
        ("exp(nn.dense(%x, %x))", "nn.dense", NOT_IN_ROWS),
    ],
)
def test_what_does_not_stay_in_its_row_clashes(body, operator, rule):
    more = ", %y: Tensor[(6, 8), float32], %z: Tensor[(6, 6), float32]"
    if "sum(%y" in body and "bias_add" not in body:
        more = more.replace("%y: Tensor[(6, 8)", "%y: Tensor[(1, 8)")
    assert layout(body, "(6, 8)", more) == (operator, rule)


def test_sizes_that_a_run_finds_are_rows_too():
    text = f"{HEADER}def @main[n: Shape](%x: Tensor[(n, 8), float32]) {{ nn.softmax(%x) }}"
    flow = Dataflow(relay.parse(text)["main"])
    rows = lay_out(flow, [0])
    assert [str(extent) for extent in rows.extents] == ["n"]
