"""Scales are read off multiplications, and written down for other tensors."""

import numpy as np
import pytest

import relay
from relay.analysis.provable_sign import Signs
from relay.analysis.value_flow import Flow
from relay.transform import InferType
from relay.transform.scales.scales import Room, Scale, find_scale

HEADER = '#[version = "0.0.5"]\n'


def scale_of(body, s="Tensor[(3, 1, 1), float32]"):
    params = f"%x: Tensor[(2, 3, 4, 5), float32], %s: {s}"
    source = f'def @main({params}, Weights=["s"]) {{ {body} }}'
    main = InferType()(relay.parse(HEADER + source))["main"]
    flow = Flow(main)
    return find_scale(main.body, flow, Signs(flow))


def value_of(e, **given):
    free = relay.analysis.free_vars(e)
    function = relay.Function(free, e)
    executor = relay.create_executor("debug", relay.IRModule.from_expr(function))
    return executor.evaluate()(*(given[v.name_hint] for v in free)).numpy()


@pytest.mark.parametrize(
    ("body", "s", "axes", "extents"),
    [
        ("%x * %s", "Tensor[(3, 1, 1), float32]", (1,), (3,)),
        ("%s * %x", "Tensor[(1, 3, 1, 5), float32]", (1, 3), (3, 5)),
        ("%x / %s", "Tensor[(5), float32]", (3,), (5,)),
        ("%x * %s", "Tensor[(1, 1), float32]", (), ()),
        ("%x * expand_dims(%s, axis=1, num_newaxis=2)", "Tensor[(3), float32]", (1,), (3,)),
        ("%x * 2f", "float32", (), ()),
    ],
)
def test_the_axes_of_a_scale_are_those_it_does_not_repeat_along(body, s, axes, extents):
    data, scale = scale_of(body, s)
    assert (scale.axes, scale.extents) == (axes, extents)
    assert data == (1 if body.startswith("%s") else 0)


@pytest.mark.parametrize("body", ["%x + %s", "%s / %x", "%s * %s", "%x * %x", "relu"])
def test_what_is_no_scale(body):
    assert scale_of(body.replace("relu", "nn.relu(%x)")) is None


def test_data_that_is_stretched_is_not_scaled():
    assert scale_of("%x * %s", "Tensor[(2, 2, 3, 4, 5), float32]") is None


def test_a_scale_is_laid_out_for_other_axes():
    values = np.arange(6, dtype="float32").reshape(2, 3)
    scale = Scale(relay.const(values), (3, 1), (2, 3), "float32", True)
    np.testing.assert_array_equal(value_of(scale.broadcast(5)), values.T.reshape(3, 1, 2, 1))
    wider = Scale(relay.const(values[0]), (1,), (3,), "float32", True).over((0, 1), (2, 3))
    np.testing.assert_array_equal(value_of(wider.value), np.stack([values[0]] * 2))
    flat = scale.at((2,), (6,))
    np.testing.assert_array_equal(value_of(flat.broadcast(4)), values.reshape(6, 1))
    part = flat.part(2, 1, 4)
    np.testing.assert_array_equal(value_of(part.value), [1, 2, 3])
    assert part.extents == (3,)
    assert flat.part(0, 0, 1) is flat


def test_products_of_scales_are_positive_if_both_are():
    one = Scale(relay.const(2.0), (), (), "float32", True)
    other = Scale(relay.const([1.0, -1.0]), (1,), (2,), "float32", False)
    both = one.times(other)
    assert (both.axes, both.positive) == ((1,), False)
    np.testing.assert_array_equal(value_of(both.value), [2, -2])
    assert one.times(None) is one


def test_room_is_for_axes_and_signs():
    room = Room((1,), (2,), positive=True)
    assert room.takes(Scale(relay.const(2.0), (), (), "float32", True))
    assert not room.takes(Scale(relay.const(2.0), (), (), "float32", False))
    assert not room.takes(Scale(relay.const([2.0]), (2,), (1,), "float32", True))
