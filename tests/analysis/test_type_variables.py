"""The type variables of expressions, types and modules; the variables of expressions."""

import relay
from relay.analysis import (
    all_type_vars,
    all_vars,
    bound_type_vars,
    bound_vars,
    free_type_vars,
    free_vars,
)


def test_variables_of_an_expression():
    x, y, z = (relay.var(n) for n in "xyz")
    f = relay.Function([x], relay.Let(y, relay.add(x, z), y))
    assert set(all_vars(f)) == {x, y, z}
    assert set(bound_vars(f)) == {x, y}
    assert free_vars(f) == [z]
    assert bound_vars(relay.PatternTuple([relay.PatternVar(x), relay.PatternVar(y)])) == [x, y]


def test_type_variables_of_an_expression():
    a, b = relay.TypeVar("A"), relay.TypeVar("B")
    x = relay.var("x", relay.TupleType([a, b]))
    f = relay.Function([x], x, None, [a])
    assert set(all_type_vars(f)) == {a, b}
    assert bound_type_vars(f) == [a]
    assert free_type_vars(f) == [b]


def test_type_variables_of_a_type():
    a, n = relay.TypeVar("A"), relay.ShapeVar("n")
    ty = relay.FuncType([a], relay.TensorType((n + 1,)), [a])
    assert set(all_type_vars(ty)) == {a, n}
    assert bound_type_vars(ty) == [a]
    assert free_type_vars(ty, relay.IRModule()) == [n]


def test_type_variables_of_a_module():
    header, a, b = relay.GlobalTypeVar("Box"), relay.TypeVar("A"), relay.TypeVar("B")
    module = relay.IRModule()
    module[header] = relay.TypeData(header, [a], [relay.Constructor("Put", [a], header)])
    x = relay.var("x", b)
    module["f"] = relay.Function([x], x, b, [b])
    assert set(all_type_vars(module)) == set(bound_type_vars(module)) == {a, b}
    assert free_type_vars(module) == []
