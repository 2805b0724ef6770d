"""Which kernels only reshape."""

import pytest

import relay
from relay.analysis.reshapes import only_reshapes


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ("reshape(squeeze(%x), newshape=[3, 2])", True),
        ("%x", True),
        ("reshape(exp(%x), newshape=[3, 2])", False),
        ("transpose(%x)", False),
        ("(%x,)", False),
    ],
)
def test_only_reshapes(body, answer):
    text = f"fn (%x: Tensor[(1, 2, 3), float32]) {{ {body} }}"
    assert only_reshapes(relay.parse_expr(text)) is answer


def test_the_elements_are_those_of_the_only_parameter():
    two = relay.parse_expr(
        "fn (%x: Tensor[(2), float32], %y: Tensor[(2), float32]) { squeeze(%x) }"
    )
    assert not only_reshapes(two)
    assert not only_reshapes(relay.parse_expr("fn (%x: float32) { squeeze(2f) }"))
