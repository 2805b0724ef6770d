"""Which operators reduce rows, over which axes, and what becomes of these."""

import pytest

import relay
from relay.op.opdef import records
from relay.transform.fusion.fusion_reductions import Reduction, reduction_of

HEADER = '#[version = "0.0.5"]\n'
PARAMS = "%x: Tensor[(2, 3, 4), float32], %g: Tensor[(4), float32], %m: Tensor[(2, 3, 1), float32]"


def reduction(body):
    call = relay.parse(f"{HEADER}def @main({PARAMS}) {{ {body} }}")["main"].body
    return reduction_of(call)


@pytest.mark.parametrize(
    ("body", "axes", "passes", "result"),
    [
        ("sum(%x)", {0, 1, 2}, 1, "gone"),
        ("sum(%x, axis=[])", set(), 1, "gone"),
        ("sum(%x, axis=[-1])", {2}, 1, "gone"),
        ("mean(%x, axis=[0, 2], keepdims=True)", {0, 2}, 1, "kept"),
        ("max(%x, axis=[1], exclude=True)", {0, 2}, 1, "gone"),
        ("argmax(%x, axis=[1], keepdims=True)", {1}, 1, "kept"),
        ("variance(%x, %m, axis=[2])", {2}, 1, "gone"),
        ("nn.softmax(%x)", {2}, 2, "whole"),
        ("nn.log_softmax(%x, axis=0)", {0}, 2, "whole"),
        ("nn.layer_norm(%x, %g, %g)", {2}, 2, "whole"),
        ("nn.l2_normalize(%x, eps=0.1, axis=[1, 2])", {1, 2}, 1, "whole"),
    ],
)
def test_reductions_name_their_axes(body, axes, passes, result):
    assert reduction(body) == Reduction(frozenset(axes), passes, result)


@pytest.mark.parametrize(
    "body", ["exp(%x)", "transpose(%x)", "collapse_sum_like(%x, %g)", "sort(%x)"]
)
def test_others_reduce_no_rows(body):
    assert reduction(body) is None


def test_operators_on_rows_name_the_axis():
    of_rows = [op for op in records() if op.row_reductions]
    assert of_rows and all(op.names_axes for op in of_rows)
