"""Expressions: how they are built, what they hold, and what is refused."""

from __future__ import annotations

import re
import weakref

import ml_dtypes
import numpy as np
import pytest

import relay
from relay import nd, tree
from relay.errors import OperatorError, RelayError
from relay.ir import expr as ir
from relay.ir.attrs import DictAttrs
from tests.support.sampling import deep

F32 = relay.scalar_type("float32")
ADD, RELU = relay.op.get("add"), relay.op.get("nn.relu")
LIST = relay.GlobalTypeVar("List")
CONS = relay.Constructor("Cons", [F32], LIST)


@pytest.fixture
def x() -> relay.Var:
    return relay.var("x", shape=(2, 3))


# --- variables and constants


def test_a_variable_is_made_of_a_type_a_shape_or_an_element_type():
    ty = relay.TensorType((2, 3), "float32")
    for made in (
        relay.Var("x", ty),
        relay.var("x", ty),
        relay.var("x", shape=(2, 3)),
        relay.var("x", shape=[2, 3], dtype="float32"),
    ):
        assert made.type_annotation == ty
        assert made.name == made.name_hint == "x"
    assert relay.var("i", "int32").type_annotation == relay.scalar_type("int32")
    assert relay.var("x", shape=()).type_annotation == F32
    assert relay.var("x").type_annotation is None
    with pytest.raises(ValueError, match="either"):
        relay.var("x", ty, shape=(2, 3))


def test_variables_are_known_by_identity():
    a, b = relay.var("x"), relay.var("x")
    assert a != b
    assert a.vid is a
    assert len({a, b}) == 2


def test_globals_are_known_by_name():
    assert relay.GlobalVar("f") == relay.GlobalVar("f")
    assert hash(relay.GlobalVar("f")) == hash(relay.GlobalVar("f"))
    assert relay.GlobalVar("f") != relay.GlobalVar("g")
    assert relay.GlobalVar("f") != "f"
    assert relay.GlobalVar("f").name == "f"


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (1, "int32", ()),
        (1.5, "float32", ()),
        (True, "bool", ()),
        ([1, 2], "int32", (2,)),
        ([[1.0], [2.0]], "float32", (2, 1)),
        (np.array([1, 2]), "int32", (2,)),
        (np.array([1.0]), "float32", (1,)),
        (np.zeros((2, 0), "int8"), "int8", (2, 0)),
        (np.float16(1), "float16", ()),
        (np.array([1], ml_dtypes.bfloat16), "bfloat16", (1,)),
        (nd.array(np.array([1.0])), "float64", (1,)),
        (-(2**31), "int32", ()),
        (float("inf"), "float32", ()),
    ],
)
def test_constants_have_the_element_type_of_relay(value, dtype, shape):
    made = relay.const(value)
    assert (made.data.dtype, made.data.shape) == (dtype, shape)
    assert made.tensor_type == relay.TensorType(shape, dtype)
    np.testing.assert_array_equal(made.data.numpy(), np.array(value))


def test_the_element_type_of_a_constant_can_be_given():
    assert relay.const(1, "int64").data.dtype == "int64"
    assert relay.const(2**40, "int64").data.item() == 2**40
    assert relay.const([1, 2], "bfloat16").data.dtype == "bfloat16"
    assert relay.const(nd.array([1.5]), np.int8).data.array.tolist() == [1]
    assert relay.const(300, "int8").data.item() == 44, "integers wrap"
    assert relay.const(1e300, "float32").data.item() == np.inf
    with pytest.raises(RelayError, match="unknown element type"):
        relay.const(1, "floats")


@pytest.mark.parametrize(
    ("value", "narrow", "wide"),
    [
        (2**31, "int32", "int64"),
        (-(2**31) - 1, "int32", "int64"),
        (-(2**63), "int32", "int64"),
        ([1, 2**40], "int32", "int64"),
        (np.int64(2**40), "int32", "int64"),
        (1e300, "float32", "float64"),
        (np.array([-1e39, 1.0]), "float32", "float64"),
    ],
    ids=str,
)
def test_a_constant_is_not_narrowed_when_that_loses_it(value, narrow, wide):
    with pytest.raises(RelayError, match=rf"does not fit into {narrow}; .* dtype='{wide}'"):
        relay.const(value)
    made = relay.const(value, wide)
    np.testing.assert_array_equal(made.data.numpy(), np.array(value))


def test_a_constant_keeps_its_value_when_the_array_changes():
    data = np.zeros(3, "float32")
    made = relay.const(data)
    data[0] = 1
    assert not made.data.array.any()


def test_a_constant_can_be_made_of_an_array():
    assert relay.Constant(np.ones(2, "int8")).data.dtype == "int8"
    with pytest.raises(RelayError, match="cannot make a tensor of str"):
        relay.const("text")


# --- operators of Python


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda a, b: a + b, "add"),
        (lambda a, b: a - b, "subtract"),
        (lambda a, b: a * b, "multiply"),
        (lambda a, b: a / b, "divide"),
        (lambda a, b: a < b, "less"),
        (lambda a, b: a > b, "greater"),
        (lambda a, b: a <= b, "less_equal"),
        (lambda a, b: a >= b, "greater_equal"),
    ],
)
def test_arithmetic_and_comparison_build_calls(x, build, name):
    y = relay.var("y", shape=(3,))
    made = build(x, y)
    assert isinstance(made, relay.Call)
    assert made.op is relay.op.get(name)
    assert made.args == (x, y)


def test_negation_and_conversion_build_calls(x):
    assert (-x).op is relay.op.get("negative")
    converted = x.astype("int8")
    assert converted.op is relay.op.get("cast")
    assert converted.attrs.dtype == "int8"


@pytest.mark.parametrize("number", [1, 1.5, np.float32(1), np.arange(3), "text", None])
@pytest.mark.parametrize("swapped", [False, True])
def test_numbers_are_not_taken_for_expressions(x, number, swapped):
    with pytest.raises(TypeError, match=r"takes two expressions, found .*; write relay\.const"):
        _ = number + x if swapped else x + number


def test_equality_is_identity(x):
    assert (x == x) is True
    assert (x + x == x + x) is False


def test_calling_an_expression_builds_a_call(x):
    f = relay.var("f")
    made = f(x, x)
    assert isinstance(made, relay.Call)
    assert (made.op, made.args) == (f, (x, x))


# --- tuples


def test_a_tuple_is_a_sequence_of_its_fields(x):
    y = relay.var("y")
    pair = relay.Tuple([x, y])
    assert pair.fields == (x, y)
    assert len(pair) == 2
    assert list(pair) == [x, y]
    assert pair[1] is y
    assert pair[-1] is y
    first, second = pair
    assert (first, second) == (x, y)


def test_the_empty_tuple_is_an_expression_like_others():
    assert bool(relay.Tuple([])) is True


def test_indexing_an_expression_is_a_projection(x):
    made = x[1]
    assert isinstance(made, relay.TupleGetItem)
    assert (made.tuple_value, made.index) == (x, 1)
    assert type(relay.TupleGetItem(x, np.int64(2)).index) is int


@pytest.mark.parametrize("index", [-1, "0", 1.0, None, True, slice(0, 1)])
def test_an_index_is_a_number_from_zero(x, index):
    with pytest.raises(RelayError, match="index of a tuple's field must be 0, 1, 2"):
        relay.TupleGetItem(x, index)


def test_an_expression_is_not_unpacked(x):
    with pytest.raises(TypeError, match=r"Var cannot be iterated: .*TupleWrapper"):
        list(x)


def test_a_wrapped_tuple_is_unpacked_and_indexed(x):
    whole = relay.TupleWrapper(x, 3)
    assert whole.astuple() is x
    assert len(whole) == 3
    a, b, c = whole
    assert [e.index for e in (a, b, c)] == [0, 1, 2]
    assert whole[-1].index == 2
    for index in (3, -4):
        with pytest.raises(IndexError, match="tuple of 3 has no field"):
            whole[index]


def test_a_wrapped_tuple_stands_for_its_expression_everywhere(x):
    whole = relay.TupleWrapper(x, 2)
    v = relay.var("v")
    for made in (
        relay.Call(RELU, [whole]).args[0],
        relay.Tuple([whole]).fields[0],
        relay.TupleGetItem(whole, 0).tuple_value,
        relay.Let(v, whole, v).value,
        relay.Function([], whole).body,
        relay.If(v, whole, v).true_branch,
        relay.RefCreate(whole).value,
        relay.RefWrite(v, whole).value,
        relay.Match(whole, []).data,
        relay.Clause(relay.PatternWildcard(), whole).rhs,
        (whole[0] + x).args[1],
        (x + whole).args[1],
        relay.bind(v, {v: whole}),
    ):
        assert isinstance(made, relay.Expr)


# --- functions and calls


def test_a_function_holds_what_it_is_given(x):
    n = relay.ShapeVar("n")
    f = relay.Function([x], x, F32, [n], {"Primitive": 1})
    assert f.params == (x,)
    assert f.body is x
    assert f.ret_type == F32
    assert f.type_params == (n,)
    assert f.attrs == DictAttrs({"Primitive": 1})
    assert relay.Function([x], x, None, None, None).attrs == {}


def test_the_attributes_of_a_function_change_by_copying(x):
    f = relay.Function([x], x)
    g = f.with_attr("Primitive", 1).with_attr({"Compiler": "dnnl", "global_symbol": "g"})
    assert f.attrs == {}
    assert g.attrs == {"Primitive": 1, "Compiler": "dnnl", "global_symbol": "g"}
    assert g.without_attr("Compiler").attrs.keys() == {"Primitive", "global_symbol"}
    assert g.body is f.body


def test_a_function_has_a_declared_type_when_everything_is_annotated(x):
    n = relay.ShapeVar("n")
    assert relay.Function([x], x).declared_type is None
    assert relay.Function([relay.var("y")], x, F32).declared_type is None
    declared = relay.Function([x], x, F32, [n]).declared_type
    assert declared == relay.FuncType([x.type_annotation], F32, [n])


def test_a_call_holds_what_it_is_given(x):
    f = relay.var("f")
    call = relay.Call(f, [x, x], {"a": [1]}, [F32, 3, relay.ShapeVar("n")])
    assert call.args == (x, x)
    assert call.attrs == DictAttrs({"a": (1,)})
    assert len(call.type_args) == 3
    assert relay.Call(f, (x,), None, None).type_args == ()


# --- what is refused


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x: relay.Var(3), "the name of a variable must be a str, found int 3"),
        (lambda x: relay.Var("x", "float32"), "must be a type, found str 'float32'; relay.var"),
        (lambda x: relay.var("x", (2, 3)), "must be a type, found tuple"),
        (lambda x: relay.var("x", shape=3), "a shape is a tuple of dimensions, found 3"),
        (lambda x: relay.GlobalVar(3), "the name of a global variable must be a str"),
        (lambda x: relay.Function(x, x), "expected a list of variables, found Var"),
        (lambda x: relay.Function(None, x), "expected a list of variables, found NoneType"),
        (lambda x: relay.Function([1], x), "a parameter must be a relay.Var, found int 1"),
        (lambda x: relay.Function([x], None), "expected a Relay expression, found NoneType"),
        (
            lambda x: relay.Function([x], x, "float32"),
            "the type of the result must be a relay.Type",
        ),
        (lambda x: relay.Function([x], x, None, [F32]), "a type parameter must be a relay.TypeVar"),
        (lambda x: relay.Function([x], x, attrs=3), "attributes are a mapping"),
        (lambda x: relay.Call(5, [x]), "cannot call int 5"),
        (lambda x: relay.Call(x, None), "expected a list of arguments, found NoneType"),
        (lambda x: relay.Call(x, x), "expected a list of arguments, found Var"),
        (lambda x: relay.Call(x, relay.Tuple([x])), "expected a list of arguments, found Tuple"),
        (lambda x: relay.Call(x, [1]), "expected a Relay expression, found int 1; wrap a number"),
        (lambda x: relay.Call(x, [F32]), "expected a Relay expression, found TensorType"),
        (lambda x: relay.Call(x, [x], 3), "attributes are a mapping"),
        (lambda x: relay.Call(x, [x], None, 3), "expected a list of type arguments"),
        (lambda x: relay.Call(x, [x], None, ["a"]), "a type argument must be a relay.Type"),
        (lambda x: relay.Let("x", x, x), "what a let binds must be a relay.Var, found str"),
        (lambda x: relay.Let(x, 1, x), "expected a Relay expression, found int 1"),
        (lambda x: relay.If(x, 1, x), "expected a Relay expression, found int 1"),
        (lambda x: relay.Tuple(x), "expected a list of expressions, found Var"),
        (lambda x: relay.Tuple([1]), "expected a Relay expression, found int 1"),
        (lambda x: relay.TupleGetItem(1, 0), "expected a Relay expression, found int 1"),
        (lambda x: relay.RefCreate(1), "expected a Relay expression, found int 1"),
        (lambda x: relay.RefRead(None), "expected a Relay expression, found NoneType"),
        (lambda x: relay.RefWrite(x, 1), "expected a Relay expression, found int 1"),
        (lambda x: relay.Match(1, []), "expected a Relay expression, found int 1"),
        (lambda x: relay.Match(x, [x]), "a case of a match must be a relay.Clause, found Var"),
        (lambda x: relay.Match(x, None), "expected a list of clauses"),
        (lambda x: relay.Clause(x, x), "the left side of a clause must be a relay.Pattern"),
        (lambda x: relay.PatternVar("x"), "what a pattern binds must be a relay.Var"),
        (lambda x: relay.PatternConstructor("Cons"), "must be a relay.Constructor, found str"),
        (lambda x: relay.PatternConstructor(CONS, [x]), "a part of a pattern must be"),
        (lambda x: relay.PatternTuple([x]), "a part of a pattern must be a relay.Pattern"),
    ],
)
def test_what_is_put_together_wrongly_is_refused(x, make, text):
    with pytest.raises(RelayError, match=re.escape(text)):
        make(x)


def test_a_type_that_is_not_there_yet_is_asked_for_in_words(x):
    assert x.ty is None
    with pytest.raises(RelayError, match=r"Var has no checked type yet; run relay\.transform"):
        _ = x.checked_type


def test_a_temporary_expression_must_say_what_it_stands_for():
    with pytest.raises(RelayError, match="must define realize"):
        relay.TempExpr().realize()


# --- copies with changes


def test_with_fields_copies_and_changes(x):
    y = relay.var("y", shape=(2, 3))
    f = relay.Function([x], x, attrs={"Primitive": 1})
    g = relay.FunctionWithFields(f, [y], y)
    assert (g.params, g.body, g.attrs) == ((y,), y, f.attrs)
    call = relay.CallWithFields(relay.Call(ADD, [x, x]), args=[x, y])
    assert (call.op, call.args) == (ADD, (x, y))
    assert relay.TupleWithFields(relay.Tuple([x]), [y, y]).fields == (y, y)
    assert relay.VarWithFields(x, "renamed").name == "renamed"
    let = relay.LetWithFields(relay.Let(x, y, x), body=y)
    assert (let.variable, let.value, let.body) == (x, y, y)


def test_with_fields_leaves_alone_what_is_not_given(x):
    f = relay.Function([x], x, F32)
    assert relay.FunctionWithFields(f, None, None).ret_type == F32
    with pytest.raises(TypeError, match=r"Tuple has the fields fields; found 2"):
        relay.TupleWithFields(relay.Tuple([x]), [x], [x])
    with pytest.raises(TypeError, match="color"):
        relay.TupleWithFields(relay.Tuple([x]), color=1)


def test_spans_are_kept_by_copies(x):
    span = relay.Span(relay.SourceName("model.relay"), 1, 1, 1, 2)
    call = relay.Call(RELU, [x], span=span)
    assert relay.CallWithFields(call, args=[relay.var("y")]).span is span


# --- bind


def test_bind_replaces_free_variables(x):
    y, z = relay.var("y"), relay.const(1)
    made = relay.bind(relay.Tuple([x, y, x]), {x: z})
    assert made.fields == (z, y, z)


def test_bind_takes_parameters_that_were_given_away(x):
    y, replacement = relay.var("y"), relay.const(1)
    f = relay.Function([x, y], relay.Tuple([x, y]))
    g = relay.bind(f, {x: replacement})
    assert g.params == (y,)
    assert g.body.fields == (replacement, y)
    renamed = relay.bind(f, {x: (z := relay.var("z"))})
    assert renamed.params == (z, y)
    assert renamed.body.fields == (z, y)


def test_bind_keeps_sharing(x):
    shared = relay.Tuple([x])
    made = relay.bind(relay.Tuple([shared, shared]), {x: relay.const(1)})
    assert made.fields[0] is made.fields[1]


def test_bind_takes_expressions_only(x):
    with pytest.raises(RelayError, match="expected a Relay expression, found int 1"):
        relay.bind(x, {x: 1})
    with pytest.raises(RelayError, match=r"what a let binds must be a relay\.Var"):
        relay.bind(relay.Let(x, relay.const(1), x), {x: relay.const(2)})


# --- atoms


def test_atoms_are_named_and_not_computed(x):
    for atom in (x, relay.GlobalVar("f"), relay.const(1), ADD, CONS):
        assert ir.is_atom(atom)
    for other in (relay.Tuple([]), relay.Function([], x), relay.Call(RELU, [x])):
        assert not ir.is_atom(other)


def test_expressions_have_a_text_form(x):
    assert repr(relay.Function([], relay.const(1))) == "fn () {\n  1\n}"
    assert relay.TupleWrapper(relay.Tuple([]), 0).astext().endswith("()\n")


# --- the table of operators


def test_operators_are_found_by_name():
    assert ir.find_op("add") is ADD
    assert ir.get_op("nn.relu") is RELU
    assert ir.find_op("no.such.operator") is None
    assert "add" in ir.op_names()
    assert ir.op_names() == sorted(ir.op_names())


def test_an_unknown_operator_gets_a_hint():
    with pytest.raises(
        OperatorError, match=r"unknown operator `nn\.rleu`; did you mean .*nn\.relu"
    ):
        ir.get_op("nn.rleu")
    with pytest.raises(OperatorError, match=r"unknown operator `zzz`$"):
        ir.get_op("zzz")


def test_an_operator_is_entered_once():
    op = ir.Op("test.entered_once")
    ir.add_op(op)
    try:
        assert ir.find_op("test.entered_once") is op
        with pytest.raises(OperatorError, match="already registered"):
            ir.add_op(ir.Op("test.entered_once"))
    finally:
        ir.remove_op("test.entered_once")
    assert ir.find_op("test.entered_once") is None


# --- depth


def test_deep_programs_are_built_and_dropped():
    x = relay.var("x", shape=(2,))
    expr: relay.Expr = x
    for _ in range(deep(100_000)):
        expr = relay.Call(RELU, (expr,))
    assert relay.bind(expr, {x: relay.const(1)}) is not expr
    assert sum(1 for _ in tree.postorder(expr)) == deep(100_000) + 2
    gone = weakref.ref(expr)
    del expr
    assert gone() is None


def test_a_span_may_be_given_by_place(x):
    span = relay.Span(relay.SourceName("here"), 1, 1, 1, 2)
    add = relay.op.get("add")
    assert relay.Call(add, [x, x], None, None, span).span is span
    made = (
        relay.Tuple([x], span),
        relay.TupleGetItem(relay.Tuple([x]), 0, span),
        relay.Let(x, x, x, span),
        relay.If(x, x, x, span),
        relay.Function([x], x, None, None, None, span),
    )
    assert all(one.span is span for one in made)


def test_same_as_is_identity(x):
    assert x.same_as(x) and not x.same_as(relay.var("x"))
    a, b = relay.TensorType((2,)), relay.TensorType((2,))
    assert a == b and a.same_as(a) and not a.same_as(b)


def test_a_constant_may_be_given_a_whole_type():
    assert relay.const(0, relay.TensorType((), "int32")).data.dtype == "int32"
    with pytest.raises(
        relay.RelayError, match=r"expected a constant of type Tensor\[\(2\), int8\]"
    ):
        relay.const(0, relay.TensorType((2,), "int8"))


def test_operators_are_found_by_their_class():
    assert relay.Op.get("add") is relay.op.get("add")
    assert "nn.conv2d" in relay.Op.list_op_names()
