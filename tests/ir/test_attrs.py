"""Attributes: named, immutable, compared by value."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import ml_dtypes
import numpy as np
import pytest

import relay
from relay.ir.attrs import Attrs, DictAttrs, attrs, freeze


@attrs
class PoolAttrs(Attrs):
    size: tuple[int, ...]
    strides: tuple[int, ...] = (1, 1)
    layout: str = "NCHW"


# --- freeze


@pytest.mark.parametrize("value", [3, 2.5, "text", True, None])
def test_plain_values_stay_what_they_are(value):
    assert freeze(value) is value


def test_sequences_become_tuples_all_the_way_down():
    assert freeze([1, [2, (3, [4])]]) == (1, (2, (3, (4,))))
    assert freeze(()) == ()


@pytest.mark.parametrize(
    ("given", "frozen"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.array([[1, 2], [3, 4]]), ((1, 2), (3, 4))),
        (np.array(7), 7),
        (ml_dtypes.bfloat16(1.5), 1.5),
        ([np.int32(1), np.int32(2)], (1, 2)),
    ],
)
def test_values_of_numpy_become_those_of_python(given, frozen):
    made = freeze(given)
    assert made == frozen
    assert type(made) is type(frozen)


def test_mappings_become_attributes():
    made = freeze({"a": [1], "b": {"c": 2}})
    assert isinstance(made, DictAttrs)
    assert made.a == (1,)
    assert made.b.c == 2


def test_classes_are_values_like_others():
    assert freeze(np.float32) is np.float32
    assert freeze(np.dtype("int8")) == np.dtype("int8")


# --- attribute classes


def test_attributes_are_fields_with_defaults():
    made = PoolAttrs(size=[2, 2])
    assert made.size == (2, 2)
    assert made.strides == (1, 1)
    assert made.layout == "NCHW"


def test_attributes_cannot_be_changed():
    made = PoolAttrs(size=[2, 2])
    with pytest.raises(FrozenInstanceError):
        made.layout = "NHWC"


def test_attributes_are_compared_by_value():
    assert PoolAttrs(size=[2, 2]) == PoolAttrs(size=np.array([2, 2]), layout="NCHW")
    assert hash(PoolAttrs(size=[2])) == hash(PoolAttrs(size=(2,)))
    assert PoolAttrs(size=[2, 2]) != PoolAttrs(size=[2, 3])


def test_attributes_are_also_a_mapping():
    made = PoolAttrs(size=[2])
    assert PoolAttrs.keys() == ("size", "strides", "layout")
    assert PoolAttrs.defaults() == {"strides": (1, 1), "layout": "NCHW"}
    assert dict(made.items()) == {"size": (2,), "strides": (1, 1), "layout": "NCHW"}
    assert made["size"] == (2,)
    assert "size" in made
    assert "color" not in made
    assert made.get("color", "none") == "none"
    assert made.get("layout") == "NCHW"
    with pytest.raises(KeyError):
        made["color"]


def test_attributes_are_given_by_name():
    with pytest.raises(TypeError):
        PoolAttrs([2, 2])


# --- free names


def test_free_attributes_are_a_mapping_and_have_fields():
    made = DictAttrs({"Primitive": 1, "relay.reshape_only": 1, "sizes": [1, 2]})
    assert made["Primitive"] == made.Primitive == 1
    assert made["relay.reshape_only"] == 1
    assert made.sizes == (1, 2)
    assert len(made) == 3
    assert list(made) == ["Primitive", "relay.reshape_only", "sizes"]
    assert "Compiler" not in made
    assert made.get("Compiler") is None
    with pytest.raises(KeyError):
        made["Compiler"]
    with pytest.raises(AttributeError, match="no attribute `Compiler`"):
        _ = made.Compiler


def test_free_attributes_are_compared_by_value_in_any_order():
    a, b = DictAttrs({"x": 1, "y": [2]}), DictAttrs({"y": (2,), "x": 1})
    assert a == b
    assert hash(a) == hash(b)
    assert a == {"x": 1, "y": (2,)}
    assert a != DictAttrs({"x": 1})
    assert a != 3
    assert DictAttrs() == DictAttrs(None) == DictAttrs({})


def test_free_attributes_change_by_copying():
    made = DictAttrs({"x": 1})
    assert made.with_item("y", [2]) == {"x": 1, "y": (2,)}
    assert made.with_item("x", 3) == {"x": 3}
    assert made.without("x") == {}
    assert made.without("absent") == made
    assert made == {"x": 1}


def test_free_attributes_have_a_readable_form():
    assert repr(DictAttrs({"x": [1]})) == "DictAttrs({'x': (1,)})"


def test_numbers_that_remember_more_become_plain_ones():
    marked = relay.Function([], relay.const(1)).with_attr("Primitive", relay.tir.IntImm("int32", 1))
    assert type(marked.attrs["Primitive"]) is int
    module = relay.IRModule.from_expr(marked)
    assert relay.ir.structural_equal(relay.load_json(relay.save_json(module)), module)


def test_attributes_are_read_as_a_kind_of_data():
    found = relay.nn.max_pool2d(relay.var("x", shape=(1, 1, 4, 4)), strides=2).attrs
    assert found.get_int_tuple("strides") == (2, 2)
    assert found.get_str("layout") == "NCHW" and found.get_int("ceil_mode") == 0
    assert DictAttrs({"a": 1}).get_int("a") == 1
    with pytest.raises(KeyError):
        found.get_int("nothing")
