"""Programs that are put together wrongly are found out, and what is wrong with them is said."""

import pytest

import relay
from relay import Span
from relay.check.wellformed import check_well_formed, faults
from relay.errors import get_renderer, override_renderer
from tests.support.sampling import deep

SCALAR = relay.TensorType((), "float32")


def messages(item):
    return [fault.message for fault in faults(item)]


def broken(node, **parts):
    """`node` with parts its class refuses, as only code that goes past the class can make it."""
    for name, part in parts.items():
        object.__setattr__(node, name, part)
    return node


def option():
    header = relay.GlobalTypeVar("Option")
    a = relay.TypeVar("A")
    some = relay.Constructor("Some", [a], header)
    none = relay.Constructor("None", [], header)
    return relay.TypeData(header, [a], [some, none]), some, none


# --- variables


def test_an_expression_may_have_free_variables():
    x = relay.var("x")
    check_well_formed(x)
    check_well_formed(relay.Let(relay.var("y"), x, x))
    check_well_formed(relay.TupleGetItem(x, 2))


def test_a_function_of_a_module_may_not():
    x = relay.var("x")
    module = relay.IRModule({"main": relay.Function([], x)})
    assert messages(module) == ["unbound variable `%x` in `@main`"]


def test_functions_of_a_module_may_use_the_same_parameters():
    x = relay.var("x")
    module = relay.IRModule({"f": relay.Function([x], x), "g": relay.Function([x], x)})
    check_well_formed(module)


def test_a_variable_is_bound_once():
    x, y = relay.var("x"), relay.var("y")
    one = relay.const(1)
    inner = relay.Let(x, one, x)
    check_well_formed(inner)
    expected = ["variable `%x` is bound more than once"]
    assert messages(relay.Let(x, one, inner)) == expected
    assert messages(relay.Tuple([inner, relay.Let(x, one, x)])) == expected
    assert messages(relay.Function([x, x], x)) == expected
    assert messages(relay.Let(y, relay.Function([x], x), relay.Function([x], x))) == expected


def test_a_binding_that_is_shared_binds_once():
    x = relay.var("x")
    function = relay.Function([x], x)
    check_well_formed(relay.Tuple([function, function]))
    one = relay.const(1)
    let = relay.Let(relay.var("y"), function, relay.Let(relay.var("z"), function, one))
    check_well_formed(let)


def test_a_variable_is_used_in_its_scope():
    x, y = relay.var("x"), relay.var("y")
    expected = ["variable `%x` is used outside of its scope"]
    one = relay.const(1)
    assert messages(relay.Tuple([relay.Let(x, one, x), x])) == expected
    assert messages(relay.Let(y, relay.Let(x, one, x), x)) == expected
    assert messages(relay.Let(x, x, x)) == expected
    assert messages(relay.Call(relay.Function([x], x), [x])) == expected
    assert messages(relay.If(x, relay.Let(x, one, x), one)) == expected


def test_a_let_may_refer_to_itself_in_a_function():
    f, x = relay.var("f"), relay.var("x")
    check_well_formed(relay.Let(f, relay.Function([x], f(x)), f(relay.const(1))))
    value = relay.Tuple([relay.Function([x], f(x))])
    assert messages(relay.Let(f, value, f)) == ["variable `%f` is used outside of its scope"]


def test_such_a_function_cannot_be_shared_with_the_outside():
    f, x = relay.var("f"), relay.var("x")
    function = relay.Function([x], f(x))
    let = relay.Let(f, function, f(relay.const(1)))
    expected = ["variable `%f` is used outside of its scope"]
    assert messages(relay.Tuple([let, function])) == expected


def test_a_shared_computation_stands_where_all_its_uses_are():
    x, c = relay.var("x"), relay.var("c")
    shared = relay.add(x, x)
    inside = relay.Let(x, relay.const(1.0), relay.If(c, shared, relay.multiply(shared, shared)))
    check_well_formed(inside)
    outside = relay.If(c, relay.Let(x, relay.const(1.0), shared), shared)
    assert messages(outside) == ["variable `%x` is used outside of its scope"]


def test_patterns_bind_for_their_clause():
    _, some, none = option()
    x, y, d = relay.var("x"), relay.var("y"), relay.var("d")
    bind = relay.PatternConstructor(some, [relay.PatternVar(x)])
    check_well_formed(relay.Match(d, [relay.Clause(bind, x)]))
    elsewhere = relay.Match(
        d, [relay.Clause(bind, x), relay.Clause(relay.PatternConstructor(none), x)]
    )
    assert messages(elsewhere) == ["variable `%x` is used outside of its scope"]
    again = relay.Match(d, [relay.Clause(bind, x), relay.Clause(relay.PatternVar(x), x)])
    assert messages(again) == ["variable `%x` is bound more than once"]
    twice = relay.PatternTuple([relay.PatternVar(y), relay.PatternVar(y)])
    assert messages(relay.Clause(twice, y)) == ["variable `%y` is bound more than once"]


def test_a_pattern_that_binds_cannot_be_shared():
    d, x = relay.var("d"), relay.var("x")
    pattern = relay.PatternVar(x)
    expected = ["variable `%x` is bound more than once"]
    assert (
        messages(relay.Match(d, [relay.Clause(relay.PatternTuple([pattern] * 2), d)])) == expected
    )
    clauses = [relay.Clause(pattern, d), relay.Clause(pattern, x)]
    assert messages(relay.Match(d, clauses)) == expected
    clause = relay.Clause(relay.PatternTuple([pattern]), x)
    assert messages(relay.Match(d, [clause, clause])) == expected
    wildcard = relay.Clause(relay.PatternTuple([relay.PatternWildcard()] * 2), d)
    check_well_formed(relay.Match(d, [wildcard, wildcard]))


# --- type variables


def test_type_variables_of_a_module_are_bound_by_a_function_around_them():
    a = relay.TypeVar("A")
    x = relay.var("x", a)
    check_well_formed(relay.IRModule({"id": relay.Function([x], x, a, [a])}))
    loose = relay.IRModule({"id": relay.Function([x], x, a)})
    assert messages(loose) == ["type variable `A` is not bound in `@id`"] * 2
    check_well_formed(loose["id"])


def test_symbolic_dimensions_are_type_variables_too():
    n, m = relay.ShapeVar("n"), relay.ShapeVar("m")
    x = relay.var("x", shape=(n * 2 + m,))
    check_well_formed(relay.IRModule({"f": relay.Function([x], x, None, [n, m])}))
    y = relay.var("y", shape=(m,))
    inner = relay.Function([y], y)
    loose = relay.IRModule({"f": relay.Function([], inner)})
    assert messages(loose) == ["type variable `m` is not bound in `@f`"]


def test_a_type_variable_is_used_in_its_scope_also_in_an_expression():
    a = relay.TypeVar("A")
    x, y, f = relay.var("x", a), relay.var("y", a), relay.var("f")
    inner = relay.Function([x], x, a, [a])
    nested = relay.Function([y], relay.Let(f, relay.Function([x], y), f), None, [a])
    check_well_formed(nested)
    outside = relay.Let(f, inner, relay.Function([y], y))
    assert messages(outside) == ["type variable `A` is not bound"]


def test_function_types_bind_their_own():
    a = relay.TypeVar("A")
    f = relay.var("f", relay.FuncType([a], a, [a]))
    check_well_formed(relay.IRModule({"main": relay.Function([f], f)}))


def test_functions_may_share_a_type_variable():
    a = relay.TypeVar("A")
    x, y = relay.var("x", a), relay.var("y", a)
    pair = relay.Tuple([relay.Function([x], x, a, [a]), relay.Function([y], y, a, [a])])
    check_well_formed(relay.IRModule({"main": relay.Function([], pair)}))


# --- shape


def test_constructor_patterns_have_the_arity_of_the_constructor():
    _, some, none = option()
    wildcard = relay.PatternWildcard()
    check_well_formed(relay.PatternConstructor(some, [wildcard]))
    expected = ["pattern of the wrong arity"]
    assert messages(relay.PatternConstructor(some, [])) == expected
    assert messages(relay.PatternConstructor(none, [wildcard])) == expected


@pytest.mark.parametrize("index", [-1, 1.0, True, "0"])
def test_projections_have_a_number_that_is_not_negative(index):
    x = relay.var("x")
    bad = broken(relay.TupleGetItem(x, 0), index=index)
    assert messages(bad) == ["projection of a field that cannot be"]


def test_every_part_is_of_its_kind():
    x, one, wildcard = relay.var("x"), relay.const(1), relay.PatternWildcard()
    _, _, none = option()
    cases = [
        (broken(relay.RefCreate(x), value=5), "value", "relay.Expr", "5"),
        (broken(relay.Clause(wildcard, x), lhs=x), "lhs", "relay.Pattern", "Var"),
        (broken(relay.Match(x, []), clauses=(x,)), "clauses", "relay.Clause", "Var"),
        (broken(relay.Match(x, []), data=wildcard), "data", "relay.Expr", "PatternWildcard"),
        (broken(relay.Let(x, x, x), variable=one), "variable", "relay.Var", "Constant"),
        (broken(relay.PatternVar(x), var=one), "var", "relay.Var", "Constant"),
        (
            broken(relay.PatternConstructor(none), constructor=x),
            "constructor",
            "relay.Constructor",
            "Var",
        ),
        (broken(relay.RefWrite(x, x), value=None), "value", "relay.Expr", "None"),
    ]
    for program, field, expected, found in cases:
        (fault,) = faults(relay.Tuple([x, program]) if isinstance(program, relay.Expr) else program)
        assert fault.message.startswith(f"`{field}` of a {type(program).__name__} is not")
        assert (fault.expected, fault.found) == (expected, found)


def test_other_things_are_no_programs():
    assert messages(3) == ["not a program"]


def test_nothing_of_a_pass_is_left_over():
    class Scaled(relay.TempExpr):
        pass

    assert messages(relay.Tuple([Scaled()])) == ["a value of a pass is left over in the program"]


# --- the report


def test_everything_wrong_is_raised_at_once_with_its_place():
    span = Span(relay.SourceName("f.relay", "let %x = 1;"), 1, 1, 5, 7)
    x = relay.Var("x", span=span)
    y = relay.var("y")
    one = relay.const(1)
    bad = relay.Let(x, one, relay.Let(x, one, relay.Let(y, one, relay.Let(y, one, y))))
    with pytest.raises(relay.IllFormed) as caught:
        check_well_formed(bad)
    assert len(caught.value.diagnostics) == 2
    assert "--> f.relay:1:5\n   1 | let %x = 1;" in str(caught.value)


def test_the_renderer_sees_the_report():
    seen = []
    previous = get_renderer()
    override_renderer(lambda context: seen.extend(d.message for d in context.diagnostics))
    try:
        with pytest.raises(relay.IllFormed):
            check_well_formed(broken(relay.TupleGetItem(relay.var("x"), 0), index=-1))
    finally:
        override_renderer(previous)
    assert seen == ["projection of a field that cannot be"]


# --- size


def test_deep_and_wide_programs_are_checked_without_recursion():
    depth = deep(20_000)
    x = relay.var("x", SCALAR)
    variables = [relay.var(f"v{i}", SCALAR) for i in range(depth)]
    body = variables[-1]
    for i in reversed(range(depth)):
        body = relay.Let(variables[i], relay.add(variables[i - 1] if i else x, x), body)
    check_well_formed(relay.IRModule({"main": relay.Function([x], body)}))
    nested = x
    pattern = relay.PatternWildcard()
    for _ in range(depth):
        nested = relay.Function([], nested)
        pattern = relay.PatternTuple([pattern])
    check_well_formed(relay.Function([x], relay.Match(nested, [relay.Clause(pattern, x)])))


def test_a_graph_with_exponentially_many_paths_is_walked_once():
    x = relay.var("x", SCALAR)
    shared = x
    for _ in range(500):
        shared = relay.add(shared, shared)
    check_well_formed(relay.Function([x], shared))
