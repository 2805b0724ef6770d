"""Definitions of data types."""

import pytest

import relay
from relay.errors import RelayError
from relay.ir.adt import constructor_type, tag_of

A = relay.TypeVar("A")


def list_type() -> tuple[relay.TypeData, relay.Constructor, relay.Constructor]:
    header = relay.GlobalTypeVar("List")
    cons = relay.Constructor("Cons", [A, header(A)], header)
    nil = relay.Constructor("Nil", [], header)
    return relay.TypeData(header, [A], [cons, nil]), cons, nil


def test_a_definition_has_a_name_parameters_and_constructors():
    definition, cons, nil = list_type()
    assert definition.header.name == "List"
    assert definition.type_vars == (A,)
    assert definition.constructors == (cons, nil)
    assert not definition.extern


def test_a_constructor_is_a_function():
    definition, cons, nil = list_type()
    whole = relay.TypeCall(definition.header, [A])
    assert constructor_type(cons, definition) == relay.FuncType([A, whole], whole, [A])
    assert constructor_type(nil, definition) == relay.FuncType([], whole, [A])


def test_tags_are_the_byte_of_the_type_and_the_position():
    _, cons, nil = list_type()
    assert cons.tag >> 24 == nil.tag >> 24
    assert (cons.tag & 0xFFFFFF, nil.tag & 0xFFFFFF) == (0, 1)
    assert 0 <= tag_of("List", 5) < 2**31
    assert tag_of("List", 0) != tag_of("Option", 0)


def test_a_constructor_belongs_to_one_type():
    header, other = relay.GlobalTypeVar("A"), relay.GlobalTypeVar("B")
    stranger = relay.Constructor("C", [], other)
    with pytest.raises(RelayError, match="constructor `C` belongs to `B`, not to `A`"):
        relay.TypeData(header, [], [stranger])


def test_definitions_are_known_by_identity():
    first, _, _ = list_type()
    second, _, _ = list_type()
    assert first == first
    assert first != second
    assert len({first, second}) == 2


def test_a_definition_may_be_empty_or_elsewhere():
    header = relay.GlobalTypeVar("Storage")
    assert relay.TypeData(header, None, None).constructors == ()
    assert relay.TypeData(header, extern=True).extern


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda h: relay.TypeData("List"), "named by a relay.GlobalTypeVar, found 'List'"),
        (lambda h: relay.TypeData(h, [3]), "type_vars of data type `T` must be of class"),
        (lambda h: relay.TypeData(h, [], [A]), "constructors of data type `T` must be of class"),
        (lambda h: relay.Constructor("C", [3], h), "a field of constructor `C` must be"),
        (lambda h: relay.Constructor("C", A, h), "expected a list of types"),
        (lambda h: relay.Constructor("C", [], "T"), "the type of constructor `C` must be"),
    ],
)
def test_what_is_no_definition_is_refused(make, text):
    with pytest.raises(RelayError, match=text):
        make(relay.GlobalTypeVar("T"))
