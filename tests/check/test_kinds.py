import pytest

import relay
from relay.check.kinds import check_definition, check_kind
from relay.ir.types import TypeKind
from tests.support.sampling import deep


@pytest.fixture
def module():
    mod = relay.IRModule()
    header = relay.GlobalTypeVar("List")
    a = relay.TypeVar("A")
    cons = relay.Constructor("Cons", [a, header(a)], header)
    mod[header] = relay.TypeData(header, [a], [cons, relay.Constructor("Nil", [], header)])
    return mod


def test_types_of_values_have_kind_type(module):
    n = relay.ShapeVar("n")
    tensor = relay.TensorType((n, 3))
    header = module.get_global_type_var("List")
    for ty in (tensor, relay.TupleType([tensor]), relay.RefType(tensor), header(tensor)):
        assert check_kind(ty, module) is TypeKind.Type
    function = relay.FuncType([tensor], header(tensor), [n])
    assert check_kind(function, module) is TypeKind.Type


def test_variables_have_the_kind_they_were_made_with():
    assert check_kind(relay.TypeVar("A")) is TypeKind.Type
    assert check_kind(relay.ShapeVar("n")) is TypeKind.ShapeVar
    assert check_kind(relay.GlobalTypeVar("L")) is TypeKind.AdtHandle


@pytest.mark.parametrize(
    "make",
    [
        lambda m: relay.TensorType((relay.TypeVar("A"),)),
        lambda m: relay.TensorType((relay.TypeVar("A") + 1,)),
        lambda m: relay.TupleType([relay.ShapeVar("n")]),
        lambda m: relay.TypeRelation(None, [relay.TensorType(()), relay.ShapeVar("n")], 1),
        lambda m: relay.FuncType(
            [relay.TensorType(())],
            relay.TensorType(()),
            [],
            [relay.TypeRelation(None, [relay.TypeVar("B", TypeKind.BaseType)], 1)],
        ),
        lambda m: relay.TypeCall(relay.GlobalTypeVar("List", TypeKind.Type), [relay.TypeVar("A")]),
        lambda m: relay.TypeData(relay.GlobalTypeVar("T", TypeKind.Type), [], []),
        lambda m: relay.TupleType([relay.GlobalTypeVar("List")]),
        lambda m: relay.RefType(relay.ShapeVar("n")),
        lambda m: relay.FuncType([relay.ShapeVar("n")], relay.TupleType([])),
        lambda m: relay.FuncType([], relay.GlobalTypeVar("List")),
        lambda m: relay.TypeCall(relay.GlobalTypeVar("List"), []),
        lambda m: relay.TypeCall(relay.GlobalTypeVar("Lst"), [relay.TupleType([])]),
        lambda m: relay.TypeCall(relay.TypeVar("F"), [relay.TupleType([])]),
        lambda m: relay.TypeCall(relay.GlobalTypeVar("List"), [relay.ShapeVar("n")]),
    ],
)
def test_types_put_together_wrongly_are_refused(make, module):
    with pytest.raises(relay.KindError) as caught:
        check_kind(make(module), module)
    assert caught.value.diagnostics[0].expected
    assert caught.value.diagnostics[0].found


def test_a_misspelled_data_type_is_suggested(module):
    with pytest.raises(relay.KindError, match="did you mean `List`"):
        check_kind(relay.TypeCall(relay.GlobalTypeVar("Lst"), [relay.TupleType([])]), module)


def test_a_constructor_mentions_only_parameters_of_its_type(module):
    header = relay.GlobalTypeVar("Box")
    stray = relay.Constructor("Box", [relay.TypeVar("B")], header)
    with pytest.raises(relay.KindError, match="not bound"):
        check_definition(relay.TypeData(header, [relay.TypeVar("A")], [stray]), module)


def test_a_data_type_takes_types_not_dimensions(module):
    header = relay.GlobalTypeVar("Vec")
    n = relay.ShapeVar("n")
    with pytest.raises(relay.KindError, match="not a type"):
        check_definition(relay.TypeData(header, [n], []), module)


def test_a_deep_type_is_checked_without_recursion(module):
    ty = relay.TupleType([])
    for _ in range(deep(50_000)):
        ty = relay.TupleType([ty])
    assert check_kind(ty, module) is TypeKind.Type
