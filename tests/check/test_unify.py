import pytest

from relay.check.unify import Mismatch, Unifier
from relay.ir.dims import ANY
from relay.ir.types import (
    FuncType,
    IncompleteType,
    RefType,
    ShapeVar,
    TensorType,
    TupleType,
    TypeKind,
    TypeVar,
    scalar_type,
)
from tests.support.sampling import deep

INT, FLOAT = scalar_type("int32"), scalar_type("float32")


@pytest.fixture
def unifier():
    return Unifier(lambda hole, value: None)


def dimension() -> IncompleteType:
    return IncompleteType(TypeKind.ShapeVar)


def test_a_hole_takes_the_other_type(unifier):
    hole = IncompleteType()
    assert unifier.unify(TupleType([hole, INT]), TupleType([FLOAT, INT])) == TupleType([FLOAT, INT])
    assert unifier.resolve(hole) == FLOAT


def test_holes_stand_for_each_other_until_one_is_known(unifier):
    a, b, c = IncompleteType(), IncompleteType(), IncompleteType()
    unifier.unify(a, b)
    unifier.unify(b, c)
    unifier.unify(c, RefType(INT))
    assert unifier.resolve(a) == RefType(INT)


def test_holes_that_stand_for_each_other_can_be_looked_up_again(unifier):
    a, b, c = IncompleteType(), IncompleteType(), IncompleteType()
    unifier.unify(a, b)
    unifier.unify(b, c)
    for _ in range(2):
        assert unifier.find(a) is unifier.find(b) is unifier.find(c)
    unifier.unify(b, INT)
    assert unifier.find(a) == unifier.find(c) == INT


def test_a_type_cannot_contain_itself(unifier):
    hole = IncompleteType()
    with pytest.raises(Mismatch, match="contain itself"):
        unifier.unify(hole, TupleType([hole]))
    other = IncompleteType()
    unifier.unify(hole, TupleType([other]))
    with pytest.raises(Mismatch, match="contain itself"):
        unifier.unify(other, TupleType([hole]))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (INT, FLOAT),
        (TensorType((2,)), TensorType((3,))),
        (TensorType((2,)), TensorType((2, 2))),
        (TupleType([INT]), TupleType([INT, INT])),
        (INT, TupleType([])),
        (TypeVar("A"), TypeVar("A")),
        (TypeVar("A"), INT),
        (FuncType([INT], INT), FuncType([], INT)),
    ],
)
def test_different_types_do_not_unify(unifier, a, b):
    with pytest.raises(Mismatch):
        unifier.unify(a, b)


def test_a_polymorphic_function_is_used_at_the_types_of_the_other(unifier):
    a = TypeVar("A")
    hole = IncompleteType()
    unifier.unify(FuncType([a], a, [a]), FuncType([INT], hole))
    assert unifier.resolve(hole) == INT


@pytest.mark.parametrize(
    ("left", "right", "value"),
    [
        (lambda h: h, 4, 4),
        (lambda h: h + 1, 5, 4),
        (lambda h: 2 * h, 6, 3),
        (lambda h: 7 - h, 2, 5),
        (lambda h: 3 * h + 1, 10, 3),
    ],
)
def test_a_dimension_is_solved_for_its_hole(unifier, left, right, value):
    hole = dimension()
    assert unifier.unify_dim(left(hole), right) is not None
    assert unifier.resolve_dim(hole) == value


def test_a_symbolic_dimension_is_solved_for_its_hole(unifier):
    hole, n = dimension(), ShapeVar("n")
    unifier.unify_dim(hole + 1, n + 3)
    assert unifier.resolve_dim(hole) == n + 2


@pytest.mark.parametrize(("left", "right"), [(lambda h: 2 * h, 5), (lambda h: h + 3, 1)])
def test_an_equation_without_an_extent_as_solution_fails(unifier, left, right):
    assert unifier.unify_dim(left(dimension()), right) is None


def test_half_of_a_named_dimension_is_left_to_the_run(unifier):
    hole, n = dimension(), ShapeVar("n")
    assert unifier.unify_dim(2 * hole, n) is not None
    assert unifier.resolve_dim(hole) == n // 2


def test_an_equation_of_two_holes_waits(unifier):
    a, b = dimension(), dimension()
    assert unifier.unify_dim(2 * a, 3 * b) is not None
    assert unifier.postponed
    unifier.unify_dim(a, 3)
    assert unifier.settle_postponed() == []
    assert unifier.resolve_dim(b) == 2


def test_unknown_dimensions_meet_in_unknown(unifier):
    assert unifier.unify_dim(ANY, 3) == ANY
    joined = unifier.unify(TensorType((ANY, 2)), TensorType((3, ANY)))
    assert joined == TensorType((ANY, ANY))


def test_deep_types_unify_without_recursion(unifier):
    hole = IncompleteType()
    left, right = hole, INT
    for _ in range(deep(50_000)):
        left, right = TupleType([left]), TupleType([right])
    unifier.unify(left, right)
    assert unifier.resolve(hole) == INT
