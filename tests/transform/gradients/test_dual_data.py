"""Functions that convert data to duals and back."""

from __future__ import annotations

import pytest

import relay
from relay.errors import GradientError
from relay.ir.names import UniqueNames
from relay.ir.types import RefType, TypeCall, scalar_type
from relay.transform.gradients.dual_data import Conversions, Way
from relay.transform.gradients.dual_types import TypeTwins


def conversions(text: str) -> tuple[relay.IRModule, Conversions]:
    module = relay.fromtext(f'#[version = "0.0.5"]\n{text}')
    return module, Conversions(module, TypeTwins(module), UniqueNames())


def test_data_types_that_need_each_other_are_converted_by_functions_that_call_each_other() -> None:
    module, data = conversions(
        """type List[A] { Cons(A, List[A]), Nil }
        type Tree { Node(float32, List[Tree]) }"""
    )
    ty = TypeCall(module.get_global_type_var("Tree"))
    for way in Way:
        data.converted(way, relay.var("x"), ty, None, "a test")
    names = {name.name_hint for name in data.functions}
    assert names == {f"{kind}_{way.value}" for kind in ("Tree", "List") for way in Way}
    before = len(data.functions)
    data.converted(Way.LIFT, relay.var("x"), ty, None, "a test")
    assert len(data.functions) == before


def test_types_that_grow_in_recursion_are_refused() -> None:
    module, data = conversions("type Nest[A] { More(A, Nest[(A, A)]), End }")
    ty = TypeCall(module.get_global_type_var("Nest"), (scalar_type("float32"),))
    with pytest.raises(GradientError, match="in a test cannot be differentiated"):
        data.converted(Way.LIFT, relay.var("x"), ty, None, "a test")


def test_references_are_refused() -> None:
    _, data = conversions("")
    ty = RefType(scalar_type("float32"))
    with pytest.raises(GradientError, match="a reference in a test"):
        data.converted(Way.LIFT, relay.var("x"), ty, None, "a test")
