"""Where a shared expression belongs."""

from __future__ import annotations

import random

import pytest

import relay
from relay import tree
from relay.ir.scopes import Scope, Scopes
from tests.support.sampling import deep

DEEP = deep(100_000)
RELU = relay.op.get("nn.relu")


def scalar(name: str = "x") -> relay.Var:
    return relay.var(name, "float32")


def describe(scope: Scope) -> list[str]:
    """The scopes from the root to this one."""
    found = []
    while scope.parent is not None:
        found.append(f"{type(scope.owner).__name__}.{scope.field}")
        scope = scope.parent
    return found[::-1]


# --- homes


def test_everything_without_scopes_belongs_to_the_root():
    x = scalar()
    call = RELU(x)
    pair = relay.Tuple([call, relay.TupleGetItem(call, 0)])
    scopes = Scopes(pair)
    for node in tree.postorder(pair):
        assert scopes.home(node) is scopes.root
    assert scopes.root.depth == 0
    assert scopes.root.parent is None
    assert scopes.root.function is scopes.root


def test_a_diamond_counts_its_uses():
    x = scalar()
    top = RELU(x)
    left, right = RELU(top), RELU(top)
    scopes = Scopes(relay.Tuple([left, right, right]))
    assert scopes.uses(top) == 2
    assert scopes.uses(left) == 1
    assert scopes.uses(right) == 2
    assert scopes.uses(x) == 1
    assert [scopes.is_shared(e) for e in (top, left, right)] == [True, False, True]


def test_atoms_are_never_shared():
    x, one = scalar(), relay.const(1)
    scopes = Scopes(relay.Tuple([x, x, one, one, RELU, RELU]))
    for atom in (x, one, RELU):
        assert scopes.uses(atom) == 2
        assert not scopes.is_shared(atom)


def test_the_root_is_used_once():
    x = scalar()
    assert Scopes(x).uses(x) == 1


def test_a_branch_is_a_scope():
    x, c = scalar(), relay.var("c", "bool")
    only, both, outside = RELU(x), RELU(x), RELU(x)
    branch = relay.If(c, relay.Tuple([only, both, outside]), both)
    scopes = Scopes(relay.Tuple([branch, outside]))
    assert describe(scopes.home(only)) == ["If.true_branch"]
    assert describe(scopes.home(both)) == []
    assert describe(scopes.home(outside)) == []
    assert scopes.home(only) is scopes.opened(branch, "true_branch")
    assert scopes.opened(branch, "true_branch") is not scopes.opened(branch, "false_branch")


def test_the_condition_is_outside_the_branches():
    x = scalar()
    cond = relay.TupleGetItem(x, 0)
    scopes = Scopes(relay.If(cond, cond, x))
    assert scopes.home(cond) is scopes.root


def test_used_twice_in_one_branch_belongs_to_the_branch():
    x, c = scalar(), relay.var("c", "bool")
    shared = RELU(x)
    branch = relay.If(c, x, relay.Tuple([shared, shared]))
    scopes = Scopes(branch)
    assert describe(scopes.home(shared)) == ["If.false_branch"]


def test_a_function_body_is_a_scope_and_a_function():
    x, y = scalar("x"), scalar("y")
    inside, outside = RELU(y), RELU(x)
    f = relay.Function([y], relay.Tuple([inside, outside]))
    scopes = Scopes(relay.Tuple([f, outside]))
    assert describe(scopes.home(inside)) == ["Function.body"]
    assert describe(scopes.home(outside)) == []
    assert scopes.home(f) is scopes.root
    assert scopes.home(y) is scopes.opened(f, "body")
    assert scopes.home(inside).function is scopes.opened(f, "body")


def test_an_expression_of_two_closures_belongs_around_both():
    x, y, z = scalar("x"), scalar("y"), scalar("z")
    shared = RELU(x)
    f, g = relay.Function([y], shared), relay.Function([z], shared)
    outer = relay.Function([x], relay.Tuple([f, g]))
    scopes = Scopes(outer)
    assert describe(scopes.home(shared)) == ["Function.body"]
    assert scopes.home(shared) is scopes.opened(outer, "body")


def test_an_expression_of_one_closure_is_computed_at_every_call_of_it():
    x, y = scalar("x"), scalar("y")
    inside = RELU(x)
    f = relay.Function([y], relay.Tuple([inside, inside]))
    scopes = Scopes(relay.Function([x], f))
    assert describe(scopes.home(inside)) == ["Function.body", "Function.body"]
    assert scopes.home(inside).function is scopes.opened(f, "body")


def test_the_body_of_a_let_is_a_scope_and_its_value_is_not():
    x, v = scalar("x"), scalar("v")
    value, body, both = RELU(x), RELU(v), RELU(x)
    let = relay.Let(v, relay.Tuple([value, both]), relay.Tuple([body, both]))
    scopes = Scopes(let)
    assert describe(scopes.home(value)) == []
    assert describe(scopes.home(body)) == ["Let.body"]
    assert describe(scopes.home(both)) == []
    assert scopes.home(v) is scopes.opened(let, "body")
    assert scopes.home(body).function is scopes.root


def test_lets_in_a_row_nest():
    variables = [scalar(f"v{i}") for i in range(4)]
    uses = [RELU(v) for v in variables]
    expr: relay.Expr = relay.Tuple(uses)
    for v in reversed(variables):
        expr = relay.Let(v, relay.const(1.0), expr)
    scopes = Scopes(expr)
    for use in uses:
        assert describe(scopes.home(use)) == ["Let.body"] * 4


def test_a_value_of_a_later_let_belongs_between():
    first, second = scalar("first"), scalar("second")
    value = RELU(first)
    inner = relay.Let(second, value, second)
    scopes = Scopes(relay.Let(first, relay.const(1.0), inner))
    assert describe(scopes.home(value)) == ["Let.body"]


def test_a_clause_is_a_scope():
    data, a, b = relay.var("data"), scalar("a"), scalar("b")
    own, shared = RELU(a), RELU(data)
    clauses = [
        relay.Clause(relay.PatternTuple([relay.PatternVar(a)]), relay.Tuple([own, own, shared])),
        relay.Clause(relay.PatternVar(b), shared),
    ]
    match = relay.Match(data, clauses)
    scopes = Scopes(match)
    assert describe(scopes.home(own)) == ["Clause.rhs"]
    assert scopes.home(own) is scopes.opened(clauses[0], "rhs")
    assert describe(scopes.home(shared)) == []
    assert scopes.home(clauses[1].lhs) is scopes.root


def test_scopes_nest_in_each_other():
    x, c, v = scalar("x"), relay.var("c", "bool"), scalar("v")
    deep = RELU(v)
    branch = relay.If(c, relay.Let(v, x, deep), x)
    f = relay.Function([x, c], branch)
    scopes = Scopes(f)
    assert describe(scopes.home(deep)) == ["Function.body", "If.true_branch", "Let.body"]
    assert scopes.home(deep).function is scopes.opened(f, "body")


def test_a_home_is_found_through_the_homes_of_its_users():
    """What uses `inner` is itself used in two branches, so it moves out, and `inner` with it."""
    x, c = scalar(), relay.var("c", "bool")
    inner = RELU(x)
    user = RELU(inner)
    scopes = Scopes(relay.If(c, user, user))
    assert scopes.home(user) is scopes.root
    assert scopes.home(inner) is scopes.root


# --- the tree of scopes


def random_tree(size: int, seed: int) -> list[Scope]:
    chooser = random.Random(seed)
    scopes = [Scope(None, None, "")]
    for _ in range(size):
        near = scopes[-1] if chooser.random() < 0.7 else chooser.choice(scopes)
        scopes.append(Scope(near, None, "body"))
    return scopes


def ancestors(scope: Scope | None) -> list[Scope]:
    found = []
    while scope is not None:
        found.append(scope)
        scope = scope.parent
    return found


@pytest.mark.parametrize("seed", range(5))
def test_ancestors_and_common_scopes_are_those_of_the_tree(seed):
    scopes = random_tree(300, seed)
    chooser = random.Random(seed)
    for _ in range(300):
        a, b = chooser.choice(scopes), chooser.choice(scopes)
        line = ancestors(a)
        for scope in line:
            assert a.ancestor_at(scope.depth) is scope
        others = set(map(id, ancestors(b)))
        common = next(s for s in line if id(s) in others)
        assert a.common(b) is common
        assert b.common(a) is common


# --- depth


def test_deep_lets():
    x = scalar()
    shared = RELU(x)
    expr: relay.Expr = shared
    for _ in range(DEEP):
        expr = relay.Let(scalar("v"), shared, expr)
    scopes = Scopes(expr)
    assert scopes.home(shared) is scopes.root
    assert scopes.uses(shared) == DEEP + 1


@pytest.mark.parametrize("kind", ["functions", "branches", "clauses"])
def test_deep_nesting_with_uses_far_apart(kind):
    """Every scope uses what belongs to the outermost: the way there is not walked step by step."""
    x, c = scalar(), relay.var("c", "bool")
    shared = RELU(x)
    expr: relay.Expr = shared
    for _ in range(DEEP // 4):
        if kind == "functions":
            expr = relay.Tuple([shared, relay.Function([], expr)])
        elif kind == "branches":
            expr = relay.If(c, expr, shared)
        else:
            expr = relay.Match(shared, [relay.Clause(relay.PatternWildcard(), expr)])
    scopes = Scopes(expr)
    assert scopes.home(shared) is scopes.root
    innermost = max((scopes.home(n) for n in tree.postorder(expr)), key=lambda s: s.depth)
    assert innermost.depth >= DEEP // 4 - 1
