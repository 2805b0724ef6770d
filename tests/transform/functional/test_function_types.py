"""Function types are put into classes, each of which becomes a data type."""

import pytest

import relay
from relay.ir.dims import ANY
from relay.ir.types import FuncType, GlobalTypeVar, ShapeVar, TensorType, TypeCall, scalar_type
from relay.transform.functional.function_types import FunctionTypes, with_functions

INT = scalar_type("int32")


def vector(extent):
    return TensorType((extent,), "float32")


def function(*types):
    return FuncType(types[:-1], types[-1])


def classes(types, module=None):
    found = FunctionTypes(module or relay.IRModule(), types)
    for number, of_class in enumerate(found.members):
        found.name(of_class, GlobalTypeVar(f"C{number}"))
    return found


def test_the_same_types_are_one_class():
    found = classes([function(INT, INT), function(INT, INT), function(INT, vector(3))])
    assert len(found.members) == 2


def test_static_extents_tell_types_apart_until_one_is_unknown():
    three, four = function(vector(3), INT), function(vector(4), INT)
    assert len(classes([three, four]).members) == 2
    found = classes([three, four, function(vector(ANY), INT)])
    assert len(found.members) == 1
    assert found.signature(found.class_of(three)) == function(vector(ANY), INT)


def test_what_is_the_same_in_all_members_is_kept():
    n = ShapeVar("n")
    one = function(TensorType((n, 3)), TensorType((n,)))
    found = classes([one, function(TensorType((2, 3)), TensorType((2,)))])
    wanted = function(TensorType((ANY, 3)), TensorType((ANY,)))
    assert found.signature(found.class_of(one)) == wanted


def test_functions_in_functions_that_become_one_become_one():
    three = function(function(vector(3), INT), vector(ANY), INT)
    four = function(function(vector(4), INT), vector(ANY), INT)
    found = classes([three, four])
    assert len(found.members) == 2
    assert found.class_of(function(vector(3), INT)) is found.class_of(function(vector(4), INT))
    assert found.converted(three) == found.converted(four)


@pytest.fixture
def module():
    return relay.parse(
        """#[version = "0.0.5"]
        type Step[A] { Of(fn (A) -> A), Stop }
        type Steps { More(Step[int32], Steps), Done }
        type Plain[A] { Plain(A) }
        """
    )


def test_data_types_with_functions_are_those_that_reach_one(module):
    found = with_functions(module.type_definitions.values())
    assert sorted(d.header.name_hint for d in found) == ["Step", "Steps"]


def test_their_instances_are_classes_and_others_hold_what_takes_the_place(module):
    steps = TypeCall(module.get_global_type_var("Steps"), ())
    plain = TypeCall(module.get_global_type_var("Plain"), (function(INT, INT),))
    found = classes([steps, plain], module)
    assert len(found.members) == 3  # Steps, Step[int32] and fn (int32) -> int32
    place = found.header(found.class_of(function(INT, INT)))
    assert found.converted(plain) == TypeCall(plain.func, (TypeCall(place, ()),))
    step = TypeCall(module.get_global_type_var("Step"), (INT,))
    fields = [fields for _, fields in found.instance(found.class_of(step))]
    assert fields == [(TypeCall(place, ()),), ()]
