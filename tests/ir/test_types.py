"""Types: structure, equality up to the names of parameters, substitution, and what is refused."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import relay
from relay.errors import RelayError
from relay.ir import dims
from relay.ir.type_text import MAX_SHOWN
from relay.ir.types import (
    BOOL,
    UNIT,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Occurs,
    RefType,
    ShapeVar,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeKind,
    TypeRelation,
    TypeVar,
    is_dynamic,
    map_leaves,
    scalar_type,
    substitute,
)
from tests.support.sampling import deep

DEEP = deep(100_000)
F32, I32 = scalar_type("float32"), scalar_type("int32")
A, B, C = TypeVar("A"), TypeVar("B"), TypeVar("C")
N, M = ShapeVar("n"), ShapeVar("m")
LIST = GlobalTypeVar("List")


def same(a: Type, b: Type) -> bool:
    """Equality, looked at from both sides and with the hash it promises."""
    assert (a == b) is (b == a)
    assert (a != b) is not (a == b)
    if a == b:
        assert hash(a) == hash(b)
    return a == b


def identity(param: TypeVar) -> FuncType:
    return FuncType([param], param, [param])


# --- tensor types


def test_a_tensor_type_has_a_shape_and_an_element_type():
    ty = TensorType([2, 3], "int8")
    assert ty.shape == (2, 3)
    assert ty.dtype == "int8"
    assert ty.concrete_shape == (2, 3)
    assert ty.ndim == 2
    assert TensorType((2,)).dtype == "float32"
    assert scalar_type("bool") == BOOL


@pytest.mark.parametrize(
    "shape",
    [[2, 3], (np.int64(2), np.int32(3)), np.array([2, 3]), torch.Size([2, 3]), iter([2, 3])],
)
def test_any_sequence_of_integers_is_a_shape(shape):
    ty = TensorType(shape)
    assert ty == TensorType((2, 3))
    assert all(type(d) is int for d in ty.shape)


@pytest.mark.parametrize("dtype", [np.float64, np.dtype("float64"), "float64", float])
def test_element_types_of_numpy_and_python_are_accepted(dtype):
    assert TensorType((2,), dtype).dtype == "float64"


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (3, r"a shape is a tuple of dimensions, found 3; try \(3,\)"),
        (N, r"a shape is a tuple of dimensions, found n; try \(n,\)"),
        (None, "a shape is a tuple of dimensions, found None"),
        (2.5, "a shape is a tuple of dimensions, found 2.5"),
        ((2, -1), r"a dimension cannot be negative, found -1 in \(2, -1\)"),
        ((2.0,), "must be an integer, a shape variable or relay.Any"),
        ((True,), "must be an integer, a shape variable or relay.Any"),
        ((None,), "must be an integer, a shape variable or relay.Any"),
        ("ab", "must be an integer, a shape variable or relay.Any"),
        (([1, 2],), "must be an integer, a shape variable or relay.Any"),
        ((np.array([1, 2]),), "must be an integer, a shape variable or relay.Any"),
        ((np.bool_(True),), "must be an integer, a shape variable or relay.Any"),
        ((F32,), "must be an integer, a shape variable or relay.Any"),
    ],
    ids=str,
)
def test_bad_shapes_are_refused(shape, text):
    with pytest.raises(RelayError, match=text):
        TensorType(shape)


@pytest.mark.parametrize("dtype", ["floats", "", "f32", None, 5, object, F32, []])
def test_bad_element_types_are_refused(dtype):
    with pytest.raises(RelayError, match="unknown element type"):
        TensorType((2,), dtype)


@pytest.mark.parametrize("dim", [N, N + 1, N // 2, relay.Any(), IncompleteType(TypeKind.ShapeVar)])
def test_a_symbolic_shape_is_not_concrete(dim):
    ty = TensorType((2, dim))
    with pytest.raises(RelayError, match="has no concrete shape"):
        _ = ty.concrete_shape


def test_dimensions_are_compared_in_canonical_form():
    assert same(TensorType((N + 1 + N,)), TensorType((1 + 2 * N,)))
    assert same(TensorType((dims.minimum(N, M),)), TensorType((dims.minimum(M, N),)))
    assert not same(TensorType((N,)), TensorType((M,)))
    assert not same(TensorType((N,)), TensorType((2,)))
    assert same(TensorType((relay.Any(),)), TensorType((relay.Any(),)))
    assert not same(TensorType((relay.Any(),)), TensorType((2,)))


def test_only_any_is_dynamic():
    assert is_dynamic(TensorType((relay.Any(), 2)))
    assert is_dynamic(TupleType([I32, FuncType([TensorType((relay.Any(),))], I32)]))
    assert not is_dynamic(TensorType((N, 2)))
    assert not is_dynamic(UNIT)


# --- put together wrongly


@pytest.mark.parametrize(
    "make",
    [
        lambda: TupleType([1]),
        lambda: TupleType([N + 1]),
        lambda: TupleType(F32),
        lambda: TupleType(3),
        lambda: TupleType(None),
        lambda: TupleType("float32"),
        lambda: FuncType([None], F32),
        lambda: FuncType(F32, F32),
        lambda: FuncType([F32], None),
        lambda: FuncType([F32], "float32"),
        lambda: FuncType([F32], F32, [F32]),
        lambda: FuncType([F32], F32, [], [F32]),
        lambda: RefType("float32"),
        lambda: RefType(None),
        lambda: TypeCall("List", [F32]),
        lambda: TypeCall(LIST, [3]),
        lambda: TypeCall(LIST, F32),
        lambda: LIST(3),
        lambda: TypeRelation(max, [1], 1),
    ],
)
def test_what_is_not_made_of_types_is_refused(make):
    with pytest.raises(RelayError, match=r"expected (a|several of) Type"):
        make()


def test_a_kind_is_one_of_the_kinds():
    assert TypeVar("n", 1).kind is TypeKind.ShapeVar
    assert IncompleteType(1).kind is TypeKind.ShapeVar
    for make in (lambda: TypeVar("n", 3), lambda: IncompleteType("Type")):
        with pytest.raises(RelayError, match="is no kind"):
            make()


# --- equality


def test_types_are_compared_by_structure():
    assert same(TupleType([F32, TensorType((2, 3))]), TupleType([F32, TensorType((2, 3))]))
    assert same(RefType(F32), RefType(F32))
    assert same(TypeCall(LIST, [F32]), TypeCall(GlobalTypeVar("List"), (F32,)))
    assert same(FuncType([F32, I32], UNIT), FuncType([F32, I32], UNIT))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (F32, I32),
        (F32, TensorType((1,))),
        (TensorType((2, 3)), TensorType((3, 2))),
        (TupleType([F32]), F32),
        (TupleType([F32]), TupleType([F32, F32])),
        (TupleType([F32, I32]), TupleType([I32, F32])),
        (RefType(F32), RefType(I32)),
        (RefType(F32), TupleType([F32])),
        (TypeCall(LIST, [F32]), TypeCall(LIST, [I32])),
        (TypeCall(LIST, [F32]), TypeCall(LIST)),
        (TypeCall(LIST), TypeCall(GlobalTypeVar("Tree"))),
        (FuncType([F32], I32), FuncType([I32], F32)),
        (FuncType([F32], I32), FuncType([F32, F32], I32)),
        (FuncType([A], A, [A]), FuncType([A], A)),
        (FuncType([], A, [A]), FuncType([], A, [A, B])),
        (A, B),
        (TypeVar("A"), TypeVar("A")),
        (IncompleteType(), IncompleteType()),
        (LIST, GlobalTypeVar("Tree")),
    ],
    ids=str,
)
def test_different_types_differ(a, b):
    assert not same(a, b)


def test_types_differ_from_everything_else():
    assert F32 != "float32"
    assert F32 != 3
    assert F32 is not None
    assert N != "n"


def test_where_a_type_comes_from_does_not_matter():
    span = relay.Span(relay.SourceName("model.relay"), 1, 1, 1, 2)
    assert same(TensorType((2,), span=span), TensorType((2,)))


def test_parameters_are_compared_up_to_their_names():
    assert same(identity(A), identity(B))
    assert same(FuncType([A, B], A, [A, B]), FuncType([B, A], B, [B, A]))
    assert not same(FuncType([A, B], A, [A, B]), FuncType([A, B], B, [A, B]))
    assert not same(FuncType([A, B], A, [A, B]), FuncType([A, B], A, [B, A]))
    assert not same(FuncType([A, A], A, [A, B]), FuncType([A, B], A, [A, B]))


def test_parameters_of_other_kinds_are_other_parameters():
    assert not same(FuncType([], F32, [A]), FuncType([], F32, [N]))


def test_a_free_variable_is_not_a_parameter():
    # fn [A](B) -> B  and  fn [B](B) -> B
    assert not same(FuncType([B], B, [A]), FuncType([B], B, [B]))
    assert not same(FuncType([A, B], A, [A]), FuncType([B, B], B, [B]))
    assert not same(FuncType([TensorType((M,))], F32, [N]), FuncType([TensorType((M,))], F32, [M]))
    assert same(FuncType([A, C], A, [A]), FuncType([B, C], B, [B]))


def test_parameters_in_dimensions_are_compared_up_to_their_names():
    def double(x: TypeVar, y: TypeVar) -> FuncType:
        shape = (x + 2 * y, x // y, dims.maximum(x, y - 1))
        return FuncType([TensorType((x, y))], TensorType(shape), [x, y])

    assert same(double(N, M), double(ShapeVar("a"), ShapeVar("b")))
    assert same(double(N, M), double(M, N))
    swapped = FuncType(double(N, M).arg_types, double(M, N).ret_type, [N, M])
    assert not same(double(N, M), swapped)


def test_parameters_of_nested_function_types_are_compared_up_to_their_names():
    assert same(FuncType([identity(A)], B, [B]), FuncType([identity(B)], A, [A]))
    inner = FuncType([A, B], B, [B])
    assert same(FuncType([inner], A, [A]), FuncType([FuncType([C, A], A, [A])], C, [C]))
    assert not same(FuncType([inner], A, [A]), FuncType([FuncType([A, C], A, [A])], C, [C]))


def test_an_inner_parameter_hides_an_outer_one():
    # fn [A](fn [A](A) -> A, A) -> A: the same object is bound twice
    hiding = FuncType([identity(A), A], A, [A])
    assert same(hiding, FuncType([identity(B), C], C, [C]))
    assert same(hiding, hiding)
    assert not same(hiding, FuncType([FuncType([B], C, [B]), C], C, [C]))


@pytest.mark.parametrize("order", [1, -1])
def test_a_scope_ends_with_its_function_type(order):
    # (A, fn [A](A) -> A)  and  (B, fn [B](B) -> B): outside, A is not B
    assert not same(TupleType([A, identity(A)][::order]), TupleType([B, identity(B)][::order]))
    assert same(TupleType([A, identity(A)][::order]), TupleType([A, identity(B)][::order]))
    dim = [TensorType((N,)), FuncType([TensorType((N,))], F32, [N])][::order]
    other = [TensorType((M,)), FuncType([TensorType((M,))], F32, [M])][::order]
    assert not same(TupleType(dim), TupleType(other))


def test_a_hole_is_itself_also_under_parameters():
    hole = IncompleteType()
    assert same(FuncType([A, hole], A, [A]), FuncType([B, hole], B, [B]))
    assert not same(FuncType([A, hole], A, [A]), FuncType([B, IncompleteType()], B, [B]))
    size = IncompleteType(TypeKind.ShapeVar)
    assert same(TensorType((size,)), TensorType((size,)))


def test_constraints_are_compared():
    def relation(*args: object) -> None: ...

    def constrained(x: TypeVar, inputs: int = 1, attrs: object = None) -> FuncType:
        return FuncType([x], x, [x], [TypeRelation(relation, [x, x], inputs, attrs)])

    assert same(constrained(A), constrained(B))
    assert not same(constrained(A), identity(A))
    assert not same(constrained(A), constrained(A, inputs=2))
    assert not same(constrained(A, attrs=1), constrained(A, attrs=2))
    other = FuncType([A], A, [A], [TypeRelation(max, [A, A], 1)])
    assert not same(constrained(A), other)


# --- random types


def types(variables: tuple[TypeVar, ...], sizes: tuple[TypeVar, ...]) -> st.SearchStrategy[Type]:
    extents = st.integers(0, 3) | st.sampled_from([relay.Any(), *sizes])
    extents |= st.builds(lambda a, b: a + 2 * b, st.sampled_from(sizes), extents)
    tensors = st.builds(
        TensorType, st.lists(extents, max_size=2), st.sampled_from(["int8", "bool"])
    )

    def extend(below: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
        several = st.lists(below, max_size=3)
        params = st.lists(st.sampled_from(variables + sizes), max_size=2, unique=True)
        return (
            st.builds(TupleType, several)
            | st.builds(RefType, below)
            | st.builds(TypeCall, st.just(LIST), several)
            | st.builds(FuncType, several, below, params)
        )

    return st.recursive(tensors | st.sampled_from(variables), extend, max_leaves=10)


def rebound(ty: Type) -> Type:
    """The same type with new objects for everything it binds."""
    if isinstance(ty, FuncType):
        fresh = {p: TypeVar("fresh", p.kind) for p in ty.type_params}
        args = [substitute(rebound(a), fresh) for a in ty.arg_types]
        return FuncType(args, substitute(rebound(ty.ret_type), fresh), list(fresh.values()))
    if isinstance(ty, TupleType):
        return TupleType([rebound(f) for f in ty.fields])
    if isinstance(ty, RefType):
        return RefType(rebound(ty.value))
    if isinstance(ty, TypeCall):
        return TypeCall(ty.func, [rebound(a) for a in ty.args])
    return TensorType(ty.shape, ty.dtype) if isinstance(ty, TensorType) else ty


@given(types((A, B), (N, M)))
def test_new_names_for_everything_bound_make_an_equal_type(ty):
    assert same(ty, rebound(ty))


@given(types((A, B), (N, M)), types((A, B), (N, M)))
def test_equality_is_an_equivalence(a, b):
    assert same(a, a)
    if same(a, b):
        assert same(rebound(a), b)


@given(types((A, B), (N, M)))
def test_a_variable_replaced_by_itself_changes_nothing(ty):
    assert same(substitute(ty, {A: A, N: N}), ty)


@given(types((A, B), (N, M)))
def test_there_and_back_again(ty):
    there = substitute(ty, {A: C, N: ShapeVar("other")})
    assert C not in relay.ir.variables.free_type_vars(ty)
    back = {v: {"C": A, "other": N}.get(v.name, v) for v in relay.ir.variables.all_type_vars(there)}
    assert same(substitute(there, back), ty)


# --- substitution


def test_variables_are_replaced_by_types_and_dimensions():
    ty = FuncType([A, TensorType((N + 1, M))], TypeCall(LIST, [A]))
    made = substitute(ty, {A: F32, N: 3, M: N})
    assert made == FuncType([F32, TensorType((4, N))], TypeCall(LIST, [F32]))


def test_substitution_is_simultaneous():
    assert substitute(TupleType([A, B]), {A: B, B: A}) == TupleType([B, A])
    assert substitute(TensorType((N, M)), {N: M, M: N}) == TensorType((M, N))


def test_what_has_no_variables_is_shared():
    inside = TupleType([F32, I32])
    made = substitute(TupleType([A, inside]), {A: F32})
    assert made.fields[1] is inside
    assert substitute(inside, {A: F32}) is inside
    assert substitute(TupleType([A]), {}).fields == (A,)


def test_parameters_are_not_replaced_from_outside():
    assert substitute(identity(A), {A: F32}) == identity(A)
    made = substitute(TupleType([A, identity(A)]), {A: F32})
    assert made == TupleType([F32, identity(B)])
    sized = FuncType([TensorType((N,))], TensorType((N + M,)), [N])
    assert substitute(sized, {N: 3, M: 4}) == FuncType(
        [TensorType((N,))], TensorType((N + 4,)), [N]
    )


def test_what_comes_in_is_not_captured():
    # fn [A](A) -> B  with B := A  is  fn [A'](A') -> A
    made = substitute(FuncType([A], B, [A]), {B: A})
    assert made == FuncType([C], A, [C])
    assert made != identity(A)
    sized = FuncType([TensorType((N,))], TensorType((M,)), [N])
    assert substitute(sized, {M: N + 1}) == FuncType([TensorType((M,))], TensorType((N + 1,)), [M])
    assert substitute(FuncType([A], B, [A]), {B: TupleType([A])}) == FuncType(
        [C], TupleType([A]), [C]
    )


def test_the_span_of_a_tensor_type_is_kept():
    span = relay.Span(relay.SourceName("model.relay"), 1, 1, 1, 2)
    assert substitute(TensorType((N,), span=span), {N: 3}).span is span


def test_leaves_are_mapped_where_asked():
    hole, size = IncompleteType(), IncompleteType(TypeKind.ShapeVar)
    ty = TupleType([hole, A, TensorType((size, N))])
    filled = map_leaves(ty, lambda leaf: {hole: F32, size: 3}.get(leaf, leaf), Occurs.HOLE)
    assert filled == TupleType([F32, A, TensorType((3, N))])
    seen = []
    map_leaves(ty, lambda leaf: seen.append(leaf) or leaf, Occurs.HOLE)
    assert A not in seen
    assert map_leaves(hole, lambda leaf: F32, Occurs.HOLE) is F32


def test_a_type_knows_what_occurs_in_it():
    hole = IncompleteType()
    assert F32.occurs == Occurs.NOTHING
    assert TupleType([A, hole, TensorType((relay.Any(),))]).occurs == (
        Occurs.VARIABLE | Occurs.HOLE | Occurs.ANY
    )
    assert TensorType((N // 2,)).occurs == Occurs.VARIABLE
    assert RefType(identity(A)).occurs == Occurs.VARIABLE | Occurs.BINDER


# --- text


@pytest.mark.parametrize(
    ("ty", "text"),
    [
        (F32, "float32"),
        (TensorType((2, 3), "int8"), "Tensor[(2, 3), int8]"),
        (TensorType((N, relay.Any())), "Tensor[(n, ?), float32]"),
        (UNIT, "()"),
        (TupleType([F32, I32]), "(float32, int32)"),
        (identity(A), "fn [A](A) -> A"),
        (RefType(F32), "ref(float32)"),
        (TypeCall(LIST, [F32]), "List[float32]"),
        (IncompleteType(), "_"),
        (N, "n"),
    ],
)
def test_types_have_a_text_form(ty, text):
    assert repr(ty) == text
    assert str(ty) == text
    assert ty.astext() == text


# --- depth and sharing


def nest(wrap, depth: int = DEEP, bottom: Type = A) -> Type:
    ty = bottom
    for _ in range(depth):
        ty = wrap(ty)
    return ty


WRAPS = {
    "tuple": lambda ty: TupleType((ty,)),
    "reference": RefType,
    "result": lambda ty: FuncType((F32,), ty),
    "argument": lambda ty: FuncType((ty,), F32),
    "call": lambda ty: TypeCall(LIST, (ty,)),
}


@pytest.mark.parametrize("name", WRAPS)
def test_types_nest_without_limit(name):
    depth = DEEP if name == "tuple" else DEEP // 10
    ty, other = nest(WRAPS[name], depth), nest(WRAPS[name], depth, B)
    assert ty != other
    made = substitute(ty, {A: B})
    assert len({made, other}) == 1
    assert 0 < len(repr(ty)) <= MAX_SHOWN + 1  # and an ellipsis
    gone = weakref.ref(made)
    del made
    assert gone() is None


def test_parameters_nest_without_limit():
    def layers() -> Type:
        return nest(lambda ty: FuncType((ty,), p := TypeVar("P"), (p,)), DEEP // 10, F32)

    ty, again = layers(), layers()
    assert ty == again
    assert substitute(TupleType([A, ty]), {A: F32}).fields[1] is ty


def test_types_that_share_their_parts_take_time_by_their_size():
    def bushy(bottom: Type) -> Type:
        return nest(lambda ty: TupleType((ty, ty)), 100, bottom)

    assert same(bushy(A), bushy(A))
    assert not same(bushy(A), bushy(B))
    assert same(substitute(bushy(A), {A: B}), bushy(B))
    shared = FuncType([bushy(A)], bushy(A), [A])
    assert same(shared, FuncType([bushy(B)], bushy(B), [B]))
    functions = nest(lambda ty: FuncType((ty,), ty, (TypeVar("P"),)), 100)
    assert same(functions, nest(lambda ty: FuncType((ty,), ty, (TypeVar("P"),)), 100))
