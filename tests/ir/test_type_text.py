"""The text of types: names that stay apart, and text that is read back as the same type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import relay
from relay.ir import dims
from relay.ir.adt import TypeData
from relay.ir.expr import Constructor
from relay.ir.module import IRModule
from relay.ir.type_text import TypeWriter, type_text
from relay.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeKind,
    TypeRelation,
    TypeVar,
)

n, m = relay.ShapeVar("n"), relay.ShapeVar("m")
a, b = TypeVar("A"), TypeVar("A")
boolean = TensorType((), "bool")
pair = GlobalTypeVar("Pair")


@pytest.mark.parametrize(
    ("ty", "text"),
    [
        (boolean, "bool"),
        (TensorType((3,), "int8"), "Tensor[(3), int8]"),
        (TensorType((1, relay.Any())), "Tensor[(1, ?), float32]"),
        (TensorType((n, n + 1, 2 * n, n // 2)), "Tensor[(n, n + 1, 2 * n, n // 2), float32]"),
        (TensorType((dims.minimum(n, m),)), "Tensor[(min(m, n)), float32]"),
        (TupleType(()), "()"),
        (TupleType((boolean,)), "(bool,)"),
        (TupleType((boolean, a)), "(bool, A)"),
        (TupleType((a, b)), "(A, A1)"),
        (RefType(boolean), "ref(bool)"),
        (FuncType((), boolean), "fn () -> bool"),
        (FuncType((a, b), a, (a, b)), "fn [A, A1](A, A1) -> A"),
        (FuncType((TensorType((n,)),), a, (a, n)), "fn [A, n: Shape](Tensor[(n), float32]) -> A"),
        (TypeCall(pair, (boolean, a)), "Pair[bool, A]"),
        (TypeCall(pair), "Pair"),
        (pair, "Pair"),
        (IncompleteType(), "_"),
        (TensorType((IncompleteType(TypeKind.ShapeVar),)), "Tensor[(_), float32]"),
        (TypeCall(GlobalTypeVar("int8")), "`int8`"),
        (TypeCall(GlobalTypeVar("two words")), "`two words`"),
        (TupleType((TypeVar("Tensor"), TypeVar("fn"), TypeVar("int8"))), "(Tensor1, fn1, int8_)"),
        (TupleType((TypeVar("Pair"), TypeCall(pair))), "(Pair, `Pair`)"),
        (TupleType((TypeCall(pair), TypeVar("Pair"))), "(Pair, Pair1)"),
    ],
)
def test_types_have_a_text(ty: Type, text: str) -> None:
    assert type_text(ty) == str(ty) == text


def test_a_relation_shows_its_name() -> None:
    def broadcasts() -> None: ...

    ty = FuncType((a,), b, (a, b), (TypeRelation(broadcasts, (a, b), 1),))
    assert str(ty) == "fn [A, A1](A) -> A1 where broadcasts(A, A1)"


def test_names_of_parameters_are_free_again_behind_their_function() -> None:
    one, two = FuncType((a,), a, (a,)), FuncType((b,), b, (b,))
    assert type_text(TupleType((one, two, b))) == "(fn [A](A) -> A, fn [A](A) -> A, A)"
    assert type_text(TupleType((b, one))) == "(A, fn [A1](A1) -> A1)"


def test_a_variable_has_one_name_in_a_program() -> None:
    writer = TypeWriter()
    assert [writer.text(a), writer.text(b), writer.text(TupleType((b, a)))] == [
        "A",
        "A1",
        "(A1, A)",
    ]


def test_a_long_type_can_be_cut() -> None:
    ty: Type = boolean
    for _ in range(200):
        ty = TupleType((ty, ty))  # 2 ** 200 characters in full
    writer = TypeWriter()
    assert writer.is_longer(ty, 1000) and not writer.is_longer(boolean, 4)
    assert len(writer.brief(ty, 1000)) == 1001 and writer.brief(boolean, 4) == "bool"


def shared(depth: int) -> IRModule:
    """A program whose types share their parts: in full they have 2 ** depth of them."""
    x = relay.var("x", shape=(2,))
    e: Any = x
    for _ in range(depth):
        e = relay.Tuple([e, e])
    return relay.transform.InferType()(IRModule.from_expr(relay.Function([x], e)))


@pytest.mark.parametrize("depth", [40, 300])
def test_types_that_share_their_parts_have_a_text(depth: int) -> None:
    module = shared(depth)
    ty = module["main"].body.checked_type
    assert len(str(ty)) < 30_000 and str(ty).endswith("…")
    text = module.astext()
    assert len(text) < 1_000_000 and "-> _ {" in text
    again = relay.parse(text)
    assert again["main"].body.checked_type == ty
    assert relay.ir.structural_hash(again) == relay.ir.structural_hash(module)
    assert not relay.analysis.free_type_vars(ty)
    assert relay.ir.structural_equal(relay.load_json(relay.save_json(module)), module)


def test_errors_about_such_types_are_short() -> None:
    function = shared(60)["main"]
    wrong = relay.Function(function.params, relay.add(function.body, function.params[0]))
    with pytest.raises(relay.RelayError, match="must be a tensor") as found:
        relay.transform.InferType()(IRModule.from_expr(wrong))
    assert len(str(found.value)) < 50_000


def test_definitions_have_a_constructor_a_line() -> None:
    constructors = (
        Constructor("P", (a, TypeCall(pair, (a,))), pair),
        Constructor("None", (), pair),
    )
    assert type_text(TypeData(pair, (a,), constructors)) == (
        "type Pair[A] {\n  P(A, Pair[A]),\n  None,\n}"
    )
    assert type_text(TypeData(pair, (a,))) == "type Pair[A] {}"
    assert type_text(TypeData(pair, (a,), extern=True)) == "extern type Pair[A]"


# --- random types ------------------------------------------------------------------------------


@st.composite
def dimensions(draw: st.DrawFn) -> dims.Dim:
    value: dims.Dim = draw(st.sampled_from([n, m, 0, 1, 3]))
    operations: list[Any] = [
        dims.add,
        dims.subtract,
        dims.multiply,
        dims.minimum,
        dims.maximum,
        lambda x, y: dims.floor_divide(x, y) if y != 0 else x,
    ]
    for _ in range(draw(st.integers(0, 4))):
        other = draw(st.sampled_from([n, m, 1, 2, 3, n + 1, m * 2, n - m]))
        value = draw(st.sampled_from(operations))(value, other)
    return 7 if isinstance(value, int) and value < 0 else value


def types() -> st.SearchStrategy[Type]:
    leaves = st.one_of(
        st.sampled_from([boolean, a, b, TypeCall(pair, (a, boolean))]),
        st.lists(dimensions(), max_size=3).map(lambda shape: TensorType(tuple(shape))),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda fields: TupleType(tuple(fields))),
            inner.map(RefType),
            st.builds(
                lambda args, result, params: FuncType(tuple(args), result, tuple(params)),
                st.lists(inner, max_size=2),
                inner,
                st.sampled_from([(), (a,), (n, b)]),
            ),
        ),
        max_leaves=8,
    )


@given(types())
def test_the_text_of_a_type_is_read_back_as_the_same_type(ty: Type) -> None:
    parameters = (TypeVar("X"), TypeVar("Y"))
    module = IRModule(type_definitions={pair: TypeData(pair, parameters)})
    variable = relay.var("x", ty)
    found = relay.parse_expr(variable.astext(), init_module=module)
    relay.ir.assert_structural_equal(found, variable, map_free_vars=True)
