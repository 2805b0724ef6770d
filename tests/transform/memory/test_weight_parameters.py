"""Parameters go, and others come in their place."""

import pytest

import relay
from relay.errors import PassError
from relay.transform import InferType
from relay.transform.memory.weight_parameters import (
    block_sparse_form,
    in_blocks,
    with_other_weights,
)

HEADER = '#[version = "0.0.5"]\n'


def parse(text):
    return InferType()(relay.parse(HEADER + text))


def split(weight):
    return tuple(relay.Var(f"{weight.name_hint}.{n}", weight.checked_type) for n in "ab")


def use_both(before, after, new):
    """negative(%w) -> add(%w.a, %w.b)"""
    if before.op.name == "negative" and before.args[0] in new:
        return relay.add(*new[before.args[0]])
    return None


def params(mod, name="main"):
    return [param.name_hint for param in mod[name].params]


def test_new_parameters_stand_in_the_place_of_the_old():
    mod = parse("def @main(%x: int32, %w: int32, %y: int32) { add(negative(%w), add(%x, %y)) }")
    after = with_other_weights(mod.copy(), ["w"], split, use_both)
    assert params(after) == ["x", "w.a", "w.b", "y"]
    assert after["main"].checked_type.ret_type == relay.scalar_type("int32")


def test_what_is_still_used_stays():
    mod = parse("def @main(%w: int32) { add(negative(%w), %w) }")
    assert params(with_other_weights(mod.copy(), ["w"], split, use_both)) == ["w", "w.a", "w.b"]


def test_nothing_changes_where_nothing_is_used():
    mod = parse("def @main(%w: int32, %v: int32) { add(%w, negative(%v)) }")
    assert with_other_weights(mod.copy(), ["w"], split, use_both)["main"] is mod["main"]
    assert params(with_other_weights(mod.copy(), ["w", "v"], split, use_both)) == [
        "w",
        "v.a",
        "v.b",
    ]


def test_only_functions_that_nobody_calls_change():
    mod = parse(
        """
        def @main(%w: int32) { @f(negative(%w)) }
        def @f(%w: int32) { negative(%w) }
        def @g(%w: int32, Compiler="c") { negative(%w) }
        """
    )
    after = with_other_weights(mod.copy(), ["w"], split, use_both)
    assert [params(after, name) for name in ("main", "f", "g")] == [["w.a", "w.b"], ["w"], ["w"]]


def test_blocks_have_three_parts():
    weight = parse("def @main(%w: Tensor[(4, 6), float16]) { %w }")["main"].params[0]
    shapes = block_sparse_form(["w"], [[3, 2, 3, 3, 3]])
    data, indices, indptr = in_blocks(shapes)(weight)
    assert data.type_annotation == relay.TensorType((3, 2, 3), "float16")
    assert indices.type_annotation == relay.TensorType((3,), "int32")
    assert indptr.name_hint == "w.indptr"


def test_shapes_are_checked():
    with pytest.raises(PassError, match="there are 0 weights"):
        block_sparse_form([], [[1, 2, 3]])
