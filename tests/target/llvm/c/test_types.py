"""The types of a program as C has them."""

import pytest

from relay.errors import RelayError
from relay.program.text import parse
from relay.target.llvm.c.types import CTypes, c_scalar

TEXT = """relay program 1
data List[int32] {{ Cons(int32, List[int32]); Nil }}
data List[(float32[?], bool)] {{ Cons((float32[?], bool), List[(float32[?], bool)]); Nil }}
data "my type" {{ "a b"(int32, (List[int32], (bool, float16[?]))) }}
data hold {{ Hold(ref((int32, float32[?]))) }}
data Unused {{ Unused(int8) }}
data Functions {{ One(fn(int32) -> int32) }}

function @main({params}) -> {results} {{
  fail "never"
}}
"""


def types(params, results="int32"):
    return CTypes(parse(TEXT.format(params=params, results=results)), "net")


def test_numbers_are_those_of_c():
    names = {"float32": "float", "float64": "double", "bool": "bool", "int64": "int64_t"}
    narrow = {"uint8": "uint8_t", "int4": "int8_t", "uint2": "uint8_t"}
    only_bits = {"float16": "uint16_t", "bfloat16": "uint16_t", "float4_e2m1fn": "uint8_t"}
    for dtype, name in {**names, **narrow, **only_bits}.items():
        assert c_scalar(dtype) == name


def test_only_types_that_can_be_seen_have_names():
    found = types('"x" = %0: List[int32]', '("my type", List[(float32[?], bool)])')
    assert [data.name for data in found.data] == ["net_List", "net_my_type", "net_List_2"]
    assert found.elements == ["float16", "float32"]
    assert found.scalars == ["int32", "bool"]


def test_names_of_types_keep_away_from_those_of_functions():
    found = types('"x" = %0: hold')
    assert [data.name for data in found.data] == ["net_hold_2", "net_ref"]


def test_names_of_parameters_are_names_in_c_and_differ():
    params = [
        '"int" = %0: int32',
        '"a.b" = (%1: int32, (%2: int32,))',
        '"a_b_0" = %3: int32',
        '"1" = %4: int32',
        '"model" = %5: int32',
        '"output" = %6: int32',
    ]
    found = types(", ".join(params))
    names = ["int_", "a_b_0", "a_b_1_0", "a_b_0_", "_1", "model_", "output"]
    assert [place.name for place in found.params] == names
    assert [place.name for place in found.results] == ["output_"]


def test_fields_of_tuples_are_fields_and_objects_come_first_in_memory():
    (constructor,) = types('"x" = %0: "my type"').data[0].constructors
    assert constructor.name == "net_my_type_a_b"
    assert constructor.text == "a b(int32, (List[int32], (bool, float16[?])))"
    found = {place.name: place.word for place in constructor.places}
    assert found == {"field_0": 2, "field_1_0": 0, "field_1_1_0": 3, "field_1_1_1": 1}
    assert [place.name for place in constructor.objects] == ["field_1_0", "field_1_1_1"]


def test_constructors_have_numbers_through_all_types():
    found = types('"x" = %0: List[int32], "y" = %1: hold')
    assert [one.number for one in found.constructors] == [0, 1, 2, 3]
    assert [one.tag for one in found.constructors] == [0, 1, 0, 0]


def test_functions_do_not_cross():
    with pytest.raises(RelayError, match=r"a fn\(int32\) -> int32 cannot be handed"):
        types('"x" = %0: Functions')
