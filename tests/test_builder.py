"""ScopeBuilder builds what one would write by hand, and says what was misused."""

import pytest

import relay
from relay.builder import ScopeBuilder
from relay.errors import RelayError
from relay.ir.compare import assert_structural_equal
from tests.support.sampling import deep


@pytest.fixture
def x():
    return relay.var("x", shape=(2,))


@pytest.fixture
def cond():
    return relay.var("cond", "bool")


def test_lets_nest_in_the_order_they_were_made(x):
    sb = ScopeBuilder()
    y = sb.let("y", x + x)
    z = sb.let(("z", relay.TensorType((2,))), y + x)
    sb.ret(z)
    built = sb.get()
    assert isinstance(built, relay.Let)
    assert built.variable is y
    assert built.body.variable is z
    assert built.body.body is z
    assert z.type_annotation == relay.TensorType((2,))
    a, b = relay.var("a"), relay.var("b", shape=(2,))
    by_hand = relay.Let(a, x + x, relay.Let(b, a + x, b))
    assert_structural_equal(built, by_hand)


def test_a_variable_may_be_given(x):
    y = relay.var("y")
    sb = ScopeBuilder()
    assert sb.let(y, x) is y
    sb.ret(y)
    assert sb.get().variable is y


def test_branches_have_bindings_of_their_own(x, cond):
    sb = ScopeBuilder()
    with sb.if_scope(cond):
        y = sb.let("y", x + x)
        sb.ret(y)
    with sb.else_scope():
        sb.ret(x)
    built = sb.get()
    assert isinstance(built, relay.If)
    assert built.cond is cond
    assert built.true_branch.variable is y
    assert built.false_branch is x


def test_an_if_is_the_result_of_the_branch_it_stands_in(x, cond):
    sb = ScopeBuilder()
    sb.let("before", x)
    with sb.if_scope(cond):
        with sb.if_scope(cond):
            sb.ret(x)
        with sb.else_scope():
            sb.ret(x + x)
    with sb.else_scope():
        sb.ret(x)
    built = sb.get()
    assert isinstance(built.body.true_branch, relay.If)


def test_a_tuple_wrapper_is_taken(x):
    sb = ScopeBuilder()
    sb.ret(relay.TupleWrapper(x, 2))
    assert sb.get() is x


def test_get_may_be_called_twice(x):
    sb = ScopeBuilder()
    sb.let("y", x)
    sb.ret(x)
    assert_structural_equal(sb.get(), sb.get())


def test_many_lets(x):
    sb = ScopeBuilder()
    y = x
    for _ in range(deep(100_000)):
        y = sb.let("y", y)
    sb.ret(y)
    assert isinstance(sb.get(), relay.Let)


def test_type_of_sees_what_was_bound(x, cond):
    sb = ScopeBuilder()
    y = sb.let("y", x + x)
    assert sb.type_of(y) == relay.TensorType((2,))
    with sb.if_scope(cond):
        z = sb.let("z", relay.Tuple((y, cond)))
        assert sb.type_of(z) == relay.TupleType((relay.TensorType((2,)), relay.scalar_type("bool")))
        sb.ret(y)
    with sb.else_scope():
        sb.ret(x)
    assert sb.type_of(x) == x.type_annotation
    assert sb.type_of(relay.const(1)) == relay.scalar_type("int32")


def test_type_of_knows_the_functions_of_a_module(x):
    module = relay.IRModule({"f": relay.Function((x,), x)})
    assert ScopeBuilder(module).type_of(relay.GlobalVar("f")(relay.const([1.0, 2.0]))) == (
        x.type_annotation
    )


def test_no_result():
    with pytest.raises(RelayError, match="the program has no result"):
        ScopeBuilder().get()


def test_a_branch_without_result(x, cond):
    sb = ScopeBuilder()
    with pytest.raises(RelayError, match="an if_scope has no result"), sb.if_scope(cond):
        sb.let("y", x)


def test_two_results(x):
    sb = ScopeBuilder()
    sb.ret(x)
    with pytest.raises(RelayError, match="ret after the result"):
        sb.ret(x)
    with pytest.raises(RelayError, match="let after the result"):
        sb.let("y", x)
    with pytest.raises(RelayError, match="if_scope after the result"), sb.if_scope(x):
        pass


def test_if_without_else(x, cond):
    sb = ScopeBuilder()
    with sb.if_scope(cond):
        sb.ret(x)
    with pytest.raises(RelayError, match="let between an if_scope and its else_scope"):
        sb.let("y", x)
    with pytest.raises(RelayError, match="if_scope without an else_scope"):
        sb.get()


def test_else_without_if():
    sb = ScopeBuilder()
    with pytest.raises(RelayError, match="needs an if_scope"), sb.else_scope():
        pass


def test_get_inside_of_a_branch(x, cond):
    sb = ScopeBuilder()
    with sb.if_scope(cond):
        sb.ret(x)
        with pytest.raises(RelayError, match="leave it first"):
            sb.get()


def test_what_is_no_expression_or_variable(x):
    sb = ScopeBuilder()
    with pytest.raises(RelayError, match="expected a Relay expression"):
        sb.ret(3)
    with pytest.raises(RelayError, match="let binds a variable"):
        sb.let(3, x)


def test_an_exception_inside_a_branch_is_the_users(x, cond):
    sb = ScopeBuilder()
    with pytest.raises(KeyError), sb.if_scope(cond):
        raise KeyError("mine")
    sb.ret(x)
    assert sb.get() is x
