"""Free and bound variables and type variables."""

from __future__ import annotations

import relay
from relay.ir.types import ShapeVar, TensorType
from relay.ir.variables import (
    all_type_vars,
    all_vars,
    binders,
    bound_type_vars,
    bound_vars,
    free_type_vars,
    free_vars,
    is_closed,
    types_in,
)
from tests.support.sampling import deep

DEEP = deep(100_000)
A, B = relay.TypeVar("A"), relay.TypeVar("B")
N, M = ShapeVar("n"), ShapeVar("m")


def scalars(names: str) -> list[relay.Var]:
    return [relay.var(name, "float32") for name in names.split()]


# --- variables


def test_variables_come_in_the_order_of_their_first_use():
    x, y, z = scalars("x y z")
    expr = relay.Tuple([z, x, relay.Tuple([z, y])])
    assert all_vars(expr) == free_vars(expr) == [z, x, y]
    assert bound_vars(expr) == []


def test_parameters_lets_and_patterns_bind():
    x, y, z, w, free = scalars("x y z w free")
    clause = relay.Clause(relay.PatternTuple([relay.PatternVar(z), relay.PatternWildcard()]), z)
    match = relay.Match(relay.Tuple([x, free]), [clause])
    expr = relay.Function([x], relay.Let(y, match, relay.Tuple([y, w])))
    assert set(bound_vars(expr)) == {x, y, z}
    assert free_vars(expr) == [free, w]
    assert set(all_vars(expr)) == {x, y, z, w, free}
    assert not is_closed(expr)
    assert is_closed(relay.Function([free, w], expr))


def test_binders_are_those_of_one_node():
    x, y = scalars("x y")
    inner = relay.Function([y], y)
    assert binders(relay.Function([x], inner)) == (x,)
    assert binders(relay.Let(x, inner, y)) == (x,)
    assert binders(relay.PatternVar(x)) == (x,)
    assert binders(x) == ()
    assert binders(relay.Tuple([inner])) == ()


def test_variables_are_known_by_identity():
    first, second = scalars("x x")
    expr = relay.Function([first], relay.Tuple([first, second]))
    assert free_vars(expr) == [second]


def test_a_function_that_calls_itself_is_closed():
    f, x = scalars("f x")
    loop = relay.Let(f, relay.Function([x], relay.Call(f, [x])), f)
    assert is_closed(loop)


def test_deep_programs():
    x = relay.var("x", "float32")
    expr: relay.Expr = x
    for _ in range(DEEP):
        v = relay.var("v", "float32")
        expr = relay.Let(v, x, expr)
    assert len(bound_vars(expr)) == DEEP
    assert free_vars(expr) == [x]


# --- type variables


def test_type_variables_of_types():
    ty = relay.FuncType([A, TensorType((N + M, 3))], relay.TupleType([B, A]), [A, N])
    assert all_type_vars(ty) == [A, N, M, B]
    assert bound_type_vars(ty) == [A, N]
    assert free_type_vars(ty) == [M, B]
    assert all_type_vars(relay.TensorType((2,))) == []
    assert all_type_vars(A) == free_type_vars(A) == [A]


def test_a_parameter_that_is_not_used_is_bound_all_the_same():
    ty = relay.FuncType([], relay.TupleType([]), [A])
    assert bound_type_vars(ty) == [A]
    assert free_type_vars(ty) == []


def test_type_variables_of_programs():
    x = relay.var("x", relay.TupleType([A, B]))
    y = relay.var("y", shape=(N, M))
    f = relay.Function([x], y, TensorType((N,)), [A])
    call = relay.Call(f, [x], type_args=[TensorType((M,)), N * 2])
    assert set(all_type_vars(call)) == {A, B, N, M}
    assert bound_type_vars(call) == [A]
    assert set(free_type_vars(call)) == {B, N, M}


def test_dimensions_given_as_type_arguments_count():
    f = relay.var("f")
    assert free_type_vars(relay.Call(f, [], type_args=[N // M, 3])) == [N, M]


def test_the_order_does_not_depend_on_identities():
    for _ in range(20):
        product = 1
        for name in "fdebca":
            product = product * ShapeVar(name)
        assert [v.name for v in all_type_vars(TensorType((product,)))] == list("abcdef")


def test_type_variables_of_definitions():
    header = relay.GlobalTypeVar("T")
    function = relay.FuncType([B], B, [B])
    made = relay.Constructor("C", [relay.TupleType([A, N_TENSOR]), function], header)
    definition = relay.TypeData(header, [A], [made])
    assert set(all_type_vars(definition)) == {A, B, N}
    assert set(bound_type_vars(definition)) == {A, B}
    assert free_type_vars(definition) == [N]


N_TENSOR = TensorType((N,))


def test_types_are_found_where_they_are_written():
    x = relay.var("x", N_TENSOR)
    f = relay.Function([x], x, A, [A])
    assert list(types_in(x)) == [N_TENSOR]
    assert list(types_in(f)) == [A, A]
    assert list(types_in(relay.Call(f, [x], type_args=[B]))) == [B]
    assert list(types_in(relay.var("y"))) == []


def test_types_that_contain_each_other_take_time_by_their_size():
    """Let i binds a tuple around the value of let i - 1, so the types nest as deeply."""
    ty: relay.Type = A
    expr: relay.Expr = relay.var("x", A)
    for _ in range(deep(20_000)):
        ty = relay.TupleType([ty])
        v = relay.var("v", ty)
        expr = relay.Let(v, expr, v)
    assert free_type_vars(expr) == [A]
