"""Patterns are built from words and operators, and say what they are."""

import pytest

import relay
from relay.dataflow_pattern import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    PredicatePattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_function,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)


def test_each_word_makes_its_class():
    a, b = wildcard(), wildcard()
    made = {
        WildcardPattern: a,
        VarPattern: is_var("x"),
        ConstantPattern: is_constant(),
        ExprPattern: is_op("add"),
        CallPattern: is_op("add")(a, b),
        FunctionPattern: is_function([a, b], a),
        IfPattern: is_if(a, b, b),
        LetPattern: is_let(a, b, a),
        TuplePattern: is_tuple([a, b]),
        TupleGetItemPattern: is_tuple_get_item(a, 1),
        AltPattern: a | b,
        DominatorPattern: dominates(a, b, a),
        AttrPattern: has_attr({"axis": 1}),
        TypePattern: has_type(relay.TensorType((2,))),
        DataTypePattern: has_dtype("float32"),
        ShapePattern: has_shape((2, 3)),
        PredicatePattern: a.where(lambda _: True),
    }
    for cls, pattern in made.items():
        assert type(pattern) is cls
        assert isinstance(pattern, DFPattern)


def test_the_parts_can_be_read_back():
    a, b = wildcard(), is_constant()
    call = is_op("add")(a, b)
    assert call.op.expr is relay.op.get("add")
    assert call.args == (a, b)
    assert is_var("x").name == is_var("x").name_hint == "x"
    assert is_var().name == ""
    assert is_tuple([a, b]).fields == (a, b)
    assert is_tuple().fields is None
    assert is_tuple_get_item(a).index is None
    assert is_tuple_get_item(a, 2).tuple is a
    assert has_type(relay.TensorType((2,)), a).type == relay.TensorType((2,))
    assert has_dtype("float16", a).dtype == "float16"
    assert has_shape([10, 10]).shape == (10, 10)
    attr = is_op("add").has_attr({"TOpPattern": 0, "axis": [1, 2]})
    assert attr.attrs["TOpPattern"] == 0 and attr.attrs["axis"] == (1, 2)
    let = is_let(a, b, a)
    assert (let.var, let.value, let.body) == (a, b, a)
    region = b.dominates(a)
    assert region.parent is a and region.child is b
    assert isinstance(region.path, WildcardPattern)
    assert FunctionPattern(None, a).params is None


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda a, b: a + b, "add"),
        (lambda a, b: a - b, "subtract"),
        (lambda a, b: a * b, "multiply"),
        (lambda a, b: a / b, "divide"),
    ],
)
def test_arithmetic_on_patterns_makes_calls(build, name):
    a, b = wildcard(), wildcard()
    made = build(a, b)
    assert made.op.expr is relay.op.get(name)
    assert made.args == (a, b)


def test_none_as_the_only_argument_means_any_arguments():
    assert wildcard()(None).args is None
    assert wildcard()().args == ()


def test_an_option_is_the_pattern_or_what_is_built_around_it():
    a = wildcard()
    option = a.optional(is_op("nn.relu"))
    assert option.left is a
    assert option.right.args == (a,)


@pytest.mark.parametrize(
    "build",
    [
        lambda: wildcard()(relay.var("x")),
        lambda: wildcard()(wildcard(), None),
        lambda: wildcard() | relay.var("x"),
        lambda: is_tuple([1]),
        lambda: is_let(wildcard(), wildcard(), "x"),
        lambda: wildcard().redirect_to(relay.var("x")),
        lambda: is_if(wildcard(), wildcard(), None),
    ],
)
def test_what_is_not_a_pattern_is_refused(build):
    with pytest.raises(relay.RelayError, match="must be a pattern"):
        build()


def test_an_expression_in_place_of_a_pattern_gets_a_hint():
    with pytest.raises(relay.RelayError, match=r"is_expr\(…\)"):
        is_op("nn.relu")(relay.const(1.0))


def test_an_unknown_operator_is_named():
    with pytest.raises(relay.RelayError, match=r"unknown operator `nn\.rellu`; did you mean"):
        is_op("nn.rellu")


def test_a_type_pattern_needs_a_type():
    with pytest.raises(relay.RelayError, match="has_type takes a relay type"):
        has_type("float32")


def test_patterns_are_compared_by_identity():
    a, b = is_op("add"), is_op("add")
    assert a != b
    assert len({a, b}) == 2


def test_a_pattern_prints_on_one_line():
    x = wildcard()
    conv = is_op("nn.conv2d")(x, is_constant())
    pattern = is_op("nn.relu")(conv.optional(lambda c: is_op("nn.bias_add")(c, is_var("b"))))
    assert str(pattern) == ("nn.relu((nn.conv2d(*, const) | nn.bias_add(nn.conv2d(*, const), %b)))")
    assert str(is_tuple_get_item(is_tuple(), 1)) == "(..,).1"
    assert str(wildcard().has_attr({"TOpPattern": 0})(None)) == "*[TOpPattern=0](..)"
    assert str(has_dtype("int8", is_expr(relay.var("x")))) == "(<Var>: int8)"
    assert str(is_if(x, x, x)) == "if (*) { * } else { * }"
    assert str(is_let(is_var(), x, x)) == "let %* = *; *"
    assert str(is_function([x], x)) == "fn (*) { * }"
    assert str(dominates(x, x, is_expr(relay.GlobalVar("f")))) == "dominates(*, *, @f)"
    assert str(has_shape((2, 3))) == "(*: (2, 3))"


def test_a_recursive_pattern_prints_too():
    again = wildcard()
    pattern = is_op("cast")(again | is_var())
    again.redirect_to(pattern)
    assert str(pattern).startswith("cast((cast((")
    assert "…" in str(pattern)
