"""The types of values with their gradients."""

from __future__ import annotations

import relay
from relay.ir.types import FuncType, RefType, TensorType, TupleType, TypeCall
from relay.transform.gradients.dual_types import TAPE, TypeTwins

FLOAT, INTEGER = TensorType((3,), "float32"), TensorType((), "int64")
PAIR = TupleType((FLOAT, RefType(FLOAT)))


def module(text: str) -> relay.IRModule:
    return relay.fromtext(f'#[version = "0.0.5"]\n{text}')


def test_tensors_of_numbers_come_with_a_cell() -> None:
    types = TypeTwins(relay.IRModule())
    assert types.of(FLOAT) == PAIR
    assert types.of(INTEGER) == INTEGER
    assert types.of(TupleType((FLOAT, INTEGER))) == TupleType((PAIR, INTEGER))
    assert types.of(RefType(FLOAT)) == RefType(PAIR)


def test_functions_take_the_tape() -> None:
    types = TypeTwins(relay.IRModule())
    assert types.of(FuncType((FLOAT,), INTEGER)) == FuncType((TAPE, PAIR), INTEGER)


def test_generic_data_is_used_at_other_types_and_other_data_gets_a_twin() -> None:
    known = module(
        """type List[A] { Cons(A, List[A]), Nil }
        type Weights { Weights(float32, int32) }
        type Layers { Layers(List[Weights]) }
        type Color { Red, Green(int32) }"""
    )
    types = TypeTwins(known)
    names = {d.header.name_hint: d for d in types.definitions}
    assert set(names) == {"Weights_dual", "Layers_dual"}
    listed = types.of(TypeCall(known.get_global_type_var("List"), (FLOAT,)))
    assert listed == TypeCall(known.get_global_type_var("List"), (PAIR,))
    color = TypeCall(known.get_global_type_var("Color"))
    assert types.of(color) == color
    weights = types.constructor(known.get_constructor("Weights"))
    assert weights.name_hint == "Weights_dual"
    assert weights.inputs[1] == TensorType((), "int32")
