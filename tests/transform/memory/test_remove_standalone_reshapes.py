"""Kernels that only reshape become views."""

import numpy as np
import pytest
from hypothesis import given

import relay
from relay import tree
from relay.testing import assert_same_value
from relay.testing.strategies import programs
from relay.transform import FuseOps, InferType, PassContext, RemoveStandaloneReshapes
from tests.transform.rewriting import assert_means_the_same, assert_types_hold

HEADER = '#[version = "0.0.5"]\n'


def fused(text):
    return FuseOps(fuse_opt_level=0)(relay.parse(HEADER + text))


def viewed(before):
    after = RemoveStandaloneReshapes()(before)
    again = RemoveStandaloneReshapes()(after)
    assert all(again[name] is function for name, function in after.functions.items())
    assert_types_hold(after)
    return after


def views(mod):
    nodes = tree.postorder(mod["main"])
    return [
        n.attrs.newshape
        for n in nodes
        if isinstance(n, relay.Call) and getattr(n.op, "name", "") == "vm.reshape_tensor"
    ]


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("reshape(exp(%x), newshape=[-1])", (6,)),
        ("expand_dims(%x, axis=1)", (1, 1, 2, 3)),
        ("squeeze(%x)", (2, 3)),
        ("nn.batch_flatten(%x)", (1, 6)),
    ],
)
def test_a_reshape_that_is_alone_is_a_view(body, shape):
    before = fused(f"def @main(%x: Tensor[(1, 2, 3), float32]) {{ {body} }}")
    after = viewed(before)
    assert views(after) == [shape]
    assert_means_the_same(after, before)


def test_several_reshapes_in_one_kernel_are_one_view():
    before = FuseOps(fuse_opt_level=2)(
        relay.parse(
            HEADER + "def @main(%x: Tensor[(1, 6), float32]) { expand_dims(squeeze(%x), axis=0) }"
        )
    )
    assert views(viewed(before)) == [(1, 6)]


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%x: Tensor[(2, 3), float32]) { transpose(%x) }",  # elements change places
        "def @main[n: Shape](%x: Tensor[(n, 3), float32]) { reshape(%x, newshape=[-1]) }",
        # a tensor that may be written later
        "def @main(%x: Tensor[(2), float32]) { let %k = memory.kill(%x); expand_dims(%x, axis=0) }",
    ],
)
def test_what_is_no_view_of_known_size_stays(text):
    before = fused(text)
    assert viewed(before)["main"] is before["main"]


def test_a_reshape_beside_other_operators_stays():
    text = "def @main(%x: Tensor[(2, 3), float32]) { exp(reshape(%x, newshape=[6])) }"
    before = FuseOps(fuse_opt_level=2)(relay.parse(HEADER + text))
    assert viewed(before)["main"] is before["main"]


def test_what_is_not_fused_stays():
    text = "def @main(%x: Tensor[(2, 3), float32]) { reshape(%x, newshape=[6]) }"
    before = InferType()(relay.parse(HEADER + text))
    assert viewed(before)["main"] is before["main"]


def test_an_option_turns_it_off():
    before = fused("def @main(%x: Tensor[(2, 3), float32]) { reshape(%x, newshape=[6]) }")
    with PassContext(config={"relay.remove_standalone_reshapes.enable": False}):
        assert viewed(before)["main"] is before["main"]


@given(programs())
def test_programs_mean_the_same(program):
    mod, args = program
    before = FuseOps(fuse_opt_level=0)(mod)
    results = [
        relay.create_executor("debug", m).evaluate()(*args) for m in (viewed(before), before)
    ]
    assert_same_value(*results)


def test_it_reads_what_was_computed():
    before = fused("def @main(%x: Tensor[(2, 3), float32]) { reshape(exp(%x), newshape=[3, 2]) }")
    value = np.arange(6, dtype="float32").reshape(2, 3)
    found = relay.create_executor("debug", viewed(before)).evaluate()(value)
    np.testing.assert_array_equal(found.numpy(), np.exp(value).reshape(3, 2))
