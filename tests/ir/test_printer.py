"""The text of programs: where lines go, what things are called, what is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay
from relay.check.infer import infer_expr, infer_module
from relay.ir.adt import TypeData
from relay.ir.attrs import DictAttrs
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import (
    Call,
    Clause,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TempExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.printer import astext, pretty_print
from relay.ir.types import GlobalTypeVar, TensorType, TupleType, TypeVar
from relay.tree import node
from tests.support.looping import each
from tests.support.sampling import deep

DEPTH = deep(10_000)

x = relay.var("x", shape=(2,))
y = relay.var("y", shape=(2,))
c = relay.var("c", "bool")


def text(expr: Any) -> str:
    """What `str` shows, without the declarations of free variables."""
    lines = str(expr).splitlines()
    return "\n".join(line for line in lines if not line.startswith("free_"))


def assert_reads_back(expr: Expr, module: IRModule | None = None) -> None:
    found = relay.parse_expr(expr.astext(), init_module=module)
    assert_structural_equal(found, expr, map_free_vars=True)


def lines(*expected: str) -> str:
    return "\n".join(expected)


# --- graph normal form -------------------------------------------------------------------------


def test_each_computation_gets_a_line_and_atoms_stay_inside() -> None:
    expr = relay.add(relay.nn.relu(x), relay.multiply(relay.const(2.0), relay.nn.relu(y)))
    assert text(expr) == lines(
        "%0 = nn.relu(%x);",
        "%1 = nn.relu(%y);",
        "%2 = multiply(2f, %1);",
        "add(%0, %2)",
    )


def test_a_node_used_twice_has_one_line() -> None:
    shared = relay.nn.relu(x)
    assert text(relay.add(shared, shared)) == lines("%0 = nn.relu(%x);", "add(%0, %0)")


def test_free_variables_are_declared_first() -> None:
    n, element = relay.ShapeVar("n"), TypeVar("A")
    free = Tuple([relay.var("a"), relay.var("b", TupleType((TensorType((n,)), element)))])
    assert str(free) == lines(
        "free_type_var n: Shape;",
        "free_type_var A;",
        "free_var %a;",
        "free_var %b: (Tensor[(n), float32], A);",
        "(%a, %b)",
    )
    assert_reads_back(free)


def test_projections_stay_inside_unless_they_are_shared() -> None:
    pair = relay.var("t")
    single = TupleGetItem(TupleGetItem(pair, 0), 1)
    assert text(relay.nn.relu(single)) == "nn.relu(%t.0.1)"
    shared = TupleGetItem(pair, 0)
    assert text(relay.add(shared, shared)) == lines("%0 = %t.0;", "add(%0, %0)")


def test_a_projection_of_a_number_is_not_read_as_a_number() -> None:
    odd = TupleGetItem(relay.const(1), 5)
    assert text(odd) == "(1).5"
    assert_reads_back(odd)


def test_what_both_branches_use_stands_before_the_if() -> None:
    shared = relay.exp(x)
    expr = If(c, relay.add(shared, relay.sqrt(x)), relay.multiply(shared, shared))
    assert text(expr) == lines(
        "%0 = exp(%x);",
        "if (%c) {",
        "  %1 = sqrt(%x);",
        "  add(%0, %1)",
        "} else {",
        "  multiply(%0, %0)",
        "}",
    )
    assert_reads_back(expr)


def test_what_one_branch_shares_with_itself_stands_inside() -> None:
    shared = relay.exp(x)
    expr = If(c, relay.multiply(shared, shared), x)
    assert text(expr) == lines(
        "if (%c) {",
        "  %0 = exp(%x);",
        "  multiply(%0, %0)",
        "} else {",
        "  %x",
        "}",
    )


def test_a_shared_node_stands_right_before_the_first_statement_that_needs_it() -> None:
    shared = relay.exp(x)
    a, b = relay.var("a"), relay.var("b")
    inner = Function([a], relay.add(a, shared))
    expr = Let(b, relay.sqrt(x), Tuple([inner, shared]))
    assert text(expr) == lines(
        "let %b = sqrt(%x);",
        "%0 = exp(%x);",
        "%1 = fn (%a) {",
        "  add(%a, %0)",
        "};",
        "(%1, %0)",
    )
    assert_reads_back(expr)


def test_a_shared_node_that_needs_a_let_stands_behind_it() -> None:
    a = relay.var("a")
    shared = relay.exp(a)
    expr = Let(a, relay.sqrt(x), If(c, shared, relay.negative(shared)))
    assert text(expr) == lines(
        "let %a = sqrt(%x);",
        "%0 = exp(%a);",
        "if (%c) {",
        "  %0",
        "} else {",
        "  negative(%0)",
        "}",
    )


def test_lets_go_on_in_the_same_block() -> None:
    a, b = relay.var("a"), relay.var("b")
    expr = Let(a, relay.exp(relay.sqrt(x)), Let(b, a, relay.add(a, b)))
    assert text(expr) == lines(
        "%0 = sqrt(%x);",
        "let %a = exp(%0);",
        "let %b = %a;",
        "add(%a, %b)",
    )


def test_a_let_inside_an_expression_is_a_block() -> None:
    a = relay.var("a")
    assert text(relay.exp(Let(a, x, relay.sqrt(a)))) == lines(
        "%0 = {",
        "  let %a = %x;",
        "  sqrt(%a)",
        "};",
        "exp(%0)",
    )


def test_a_let_that_is_shared_is_bound_once() -> None:
    a = relay.var("a")
    shared = Let(a, x, relay.sqrt(a))
    expr = Let(relay.var("b"), shared, shared)
    assert text(expr) == lines(
        "%0 = {",
        "  let %a = %x;",
        "  sqrt(%a)",
        "};",
        "let %b = %0;",
        "%0",
    )
    assert_reads_back(expr)


def test_a_recursive_function_that_is_used_beside_its_let_is_declared_ahead() -> None:
    f, n, outside = relay.var("f"), relay.var("n", "int32"), relay.var("outside")
    function = Function([n], Call(f, (n,)), TensorType((), "int32"))
    expr = Let(f, function, Call(function, (relay.const(3),)))
    assert text(expr) == lines(
        "let %f;",
        "%0 = fn (%n: int32) -> int32 {",
        "  %f(%n)",
        "};",
        "let %f = %0;",
        "%0(3)",
    )
    assert_reads_back(expr)
    assert_reads_back(Let(outside, relay.exp(expr), Tuple([outside, expr])))
    shared = Tuple([f, f])
    assert_reads_back(Tuple([Let(f, Function([n], Tuple([shared, n])), shared), x]))
    module = IRModule({"main": Function([], expr)})
    assert_structural_equal(relay.parse(module.astext()), infer_module(module))


def test_functions_are_bound_where_they_are_arguments_and_written_where_they_are_results() -> None:
    identity = Function([x], x)
    assert text(identity) == "fn (%x: Tensor[(2), float32]) {\n  %x\n}"
    assert text(Call(identity, (y,))) == lines(
        "%0 = fn (%x: Tensor[(2), float32]) {",
        "  %x",
        "};",
        "%0(%y)",
    )


def test_else_if_needs_no_nesting() -> None:
    expr = If(c, x, If(relay.const(True), y, If(c, x, y)))
    assert text(expr) == lines(
        "if (%c) {",
        "  %x",
        "} else if (True) {",
        "  %y",
        "} else if (%c) {",
        "  %x",
        "} else {",
        "  %y",
        "}",
    )
    assert_reads_back(expr)


def test_graph_variables_are_numbered_in_the_order_of_the_text() -> None:
    shared = relay.exp(x)
    inner = Function([], relay.add(relay.sqrt(relay.sqrt(x)), shared))
    numbers = [line.split()[0] for line in text(Tuple([inner, shared])).splitlines()]
    assert [n for n in numbers if n.startswith("%")] == ["%0", "%1", "%2", "%3"]


# --- matches -----------------------------------------------------------------------------------

list_name, element = GlobalTypeVar("List"), TypeVar("A")
cons = Constructor("Cons", (element, list_name(element)), list_name)
nil = Constructor("Nil", (), list_name)
lists = IRModule(type_definitions={list_name: TypeData(list_name, (element,), (cons, nil))})


def test_a_match_has_a_clause_a_line() -> None:
    h, t = relay.var("h"), relay.var("t")
    both = PatternTuple((PatternWildcard(), PatternTuple((PatternVar(t),))))
    expr = Match(
        x,
        [
            Clause(PatternConstructor(cons, (PatternVar(h), PatternWildcard())), h),
            Clause(PatternConstructor(nil), relay.exp(relay.sqrt(x))),
            Clause(both, t),
        ],
        complete=False,
    )
    assert text(expr) == lines(
        "match? (%x) {",
        "  Cons(%h, _) => %h,",
        "  Nil => {",
        "    %0 = sqrt(%x);",
        "    exp(%0)",
        "  },",
        "  (_, (%t,)) => %t,",
        "}",
    )
    assert_reads_back(expr, lists)


def test_patterns_and_clauses_have_a_text_of_their_own() -> None:
    pattern = PatternConstructor(cons, (PatternVar(relay.var("h", "int32")), PatternWildcard()))
    assert str(pattern) == "Cons(%h: int32, _)"
    assert str(Clause(pattern, relay.const(1))) == "Cons(%h: int32, _) => 1"


def test_one_pattern_object_may_stand_in_many_places() -> None:
    anything = PatternWildcard()
    expr = Match(x, [Clause(PatternTuple((anything, anything)), x), Clause(anything, y)])
    assert_reads_back(expr)


def test_a_constructor_without_fields_is_called_where_it_stands() -> None:
    assert text(Call(cons, (x, Call(nil, ())))) == "Cons(%x, Nil)"
    assert text(Tuple([cons, nil])) == "(Cons, constructor(Nil))"
    called = Call(nil, ())
    for expr in (called, nil, cons, Call(cons, ()), TupleGetItem(called, 0), Call(called, (x,))):
        assert_reads_back(expr, lists)


# --- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hints", "names"),
    [
        (["a", "b"], ["%a", "%b"]),
        (["a", "a", "a"], ["%a", "%a1", "%a2"]),
        (["a", "a", "a1"], ["%a", "%a2", "%a1"]),
        (["0", "12ab", ""], ["%v0", "%v12ab", "%v"]),
        (["conv1.weight", "a b", "größe"], ["%conv1_weight", "%a_b", "%größe"]),
        (["let", "def", "_"], ["%let", "%def", "%_"]),
        (["a b", "a_b"], ["%a_b", "%a_b1"]),
    ],
)
def test_variables_keep_their_names_where_they_can(hints: list[str], names: list[str]) -> None:
    variables = [Var(hint) for hint in hints]
    function = Function(variables, Tuple(variables))
    assert text(function).splitlines()[1].strip("( )") == ", ".join(names)
    assert_reads_back(function)


def test_type_variables_of_one_name_are_told_apart() -> None:
    a, b, n = TypeVar("A"), TypeVar("A"), relay.ShapeVar("min")
    p, q = Var("p", TupleType((a, b))), Var("q", TensorType((n,), "int8"))
    function = Function([p, q], q, b, [a, b, n])
    head = "fn [A, A1, min1: Shape](%p: (A, A1), %q: Tensor[(min1), int8]) -> A1 {"
    assert text(function).splitlines()[0] == head
    assert_reads_back(function)


def test_names_that_other_things_are_known_by_are_quoted() -> None:
    weird, keyword = GlobalVar("a `b`\n"), GlobalVar("let")
    assert text(Tuple([weird, keyword])) == "(@`a \\u0060b\\u0060\\n`, @let)"
    assert_reads_back(Tuple([weird, keyword]))


def test_an_operator_is_told_from_a_constructor_of_its_name() -> None:
    name = GlobalTypeVar("Sum")
    clash = Constructor("add", (), name)
    module = IRModule(type_definitions={name: TypeData(name, (), (clash,))})
    module["main"] = Function([x], Tuple([relay.add(x, x), Call(clash, ())]))
    assert "operator(add)(%x, %x)" in str(module)
    assert_structural_equal(relay.parse(module.astext()), infer_module(module))


# --- types in the text -------------------------------------------------------------------------


def test_typed_computations_have_a_comment() -> None:
    typed = infer_expr(Function([x], relay.exp(relay.sqrt(x))))
    assert str(typed) == lines(
        "fn (%x: Tensor[(2), float32]) -> Tensor[(2), float32] {",
        "  %0 = sqrt(%x) /* ty=Tensor[(2), float32] */;",
        "  exp(%0) /* ty=Tensor[(2), float32] */",
        "} /* ty=fn (Tensor[(2), float32]) -> Tensor[(2), float32] */",
    )


def test_a_let_says_its_type_once() -> None:
    a, f = relay.var("a"), relay.var("f")
    inner = Function([relay.var("z", "int32")], relay.const(1))
    typed = infer_expr(Function([x], Let(a, relay.exp(x), Let(f, inner, a))))
    assert "  let %a: Tensor[(2), float32] = exp(%x);" in str(typed)
    assert "  let %f = fn (%z: int32) -> int32 {\n    1\n  } /* ty=fn (int32) -> int32 */;" in str(
        typed
    )


def test_a_long_head_gets_a_line_for_each_parameter() -> None:
    function = Function([relay.var(f"argument_{i}", shape=(16, 16)) for i in range(3)], x)
    assert text(function).splitlines()[:3] == [
        "fn (",
        "  %argument_0: Tensor[(16, 16), float32],",
        "  %argument_1: Tensor[(16, 16), float32],",
    ]


def test_a_type_that_is_larger_than_the_program_is_cut_in_comments() -> None:
    value: Expr = relay.const(1)
    variables = [relay.var(f"t{i}") for i in range(60)]
    body: Expr = relay.const(0)
    for i in reversed(range(60)):
        before = variables[i - 1] if i else value
        body = Let(variables[i], Tuple([before, before]), body)
    typed = infer_module(IRModule({"main": Function([], body)}))
    assert len(str(typed)) < 1_000_000
    assert_structural_equal(relay.parse(typed.astext()), typed)


def test_type_arguments_are_written_where_they_cannot_be_found_again() -> None:
    module = relay.parse(
        '#[version = "0.0.5"]'
        "type Option[A] { Some(A), None }"
        "def @id[A](%x: A) -> A { %x }"
        "def @main() { (@id(Some(1)), None[bool]) }"
    )
    assert "@id(%0)" in str(module) and "None[bool]" in str(module)
    untyped = Call(GlobalVar("f"), (x,), None, (TensorType((), "int32"), TensorType((2,))))
    assert text(untyped) == "@f[int32, Tensor[(2), float32]](%x)"
    assert_reads_back(untyped)


# --- attributes --------------------------------------------------------------------------------


def test_attributes_with_their_default_are_left_out() -> None:
    assert text(relay.nn.softmax(x)) == "nn.softmax(%x)"
    assert text(relay.nn.softmax(x, axis=0)) == "nn.softmax(%x, axis=0)"
    expr = relay.cast(x, dtype="int8")
    assert text(expr) == 'cast(%x, dtype="int8")'
    assert_reads_back(expr)


def test_attributes_that_were_left_out_altogether_are_told_from_defaults() -> None:
    without = Call(relay.op.get("nn.softmax"), (x,))
    assert text(without) == "nn.softmax(%x, attrs_type_key=None)"
    assert_reads_back(without)


def test_attributes_of_another_operator_name_their_class() -> None:
    attrs = relay.nn.softmax(x, axis=0).attrs
    for callee in (GlobalVar("f"), relay.op.get("nn.relu")):
        call = Call(callee, (x,), attrs)
        assert f'attrs_type_key="{type(attrs).__name__}"' in text(call)
        assert_reads_back(call)


@pytest.mark.parametrize("attrs", [{}, {"a": 1}, {"attrs_type_key": 1, "a b": 2, "c.d": 3}])
def test_attributes_of_free_names_are_kept(attrs: dict[str, int]) -> None:
    for callee in (GlobalVar("f"), relay.op.get("nn.relu"), relay.op.get("nn.softmax")):
        assert_reads_back(Call(callee, (x,), DictAttrs(attrs)))


VALUES = [
    0,
    -(2**70),
    True,
    None,
    1.0,
    -0.0,
    1e-05,
    0.1,
    float("inf"),
    float("-inf"),
    float("nan"),
    "",
    'say "hi"\\\n\t\x00 größe \ud800',
    (),
    (1,),
    (1, (2.5, ("x", None))),
    {"a": {"b c": (1,)}},
]


@pytest.mark.parametrize("value", VALUES, ids=ascii)
def test_every_plain_value_of_an_attribute_reads_back(value: Any) -> None:
    function = Function([], relay.const(1), attrs={"value": value})
    found = relay.parse_expr(function.astext())
    assert repr(found.attrs) == repr(function.attrs)  # type: ignore[attr-defined]


def test_tensors_in_attributes_go_to_the_metadata() -> None:
    tensor = relay.nd.array(np.arange(6, dtype="int16").reshape(2, 3))
    function = Function([], relay.const(1), attrs={"a": tensor, "b": relay.const([1.0, 2.0])})
    found: Any = relay.parse_expr(function.astext())
    np.testing.assert_array_equal(found.attrs["a"].numpy(), tensor.numpy())
    assert found.attrs["a"].dtype == "int16"
    np.testing.assert_array_equal(found.attrs["b"].data.numpy(), [1.0, 2.0])


def test_what_no_text_can_hold_is_shown_and_refused_when_read() -> None:
    function = Function([], relay.const(1), attrs={"target": object()})
    assert "target=meta[relay.Unreadable][0]" in str(function)
    with pytest.raises(relay.ParseError, match="Python object of type `object`"):
        relay.parse_expr(function.astext())


def test_module_attributes_are_kept() -> None:
    module = IRModule({"main": Function([], Tuple([]))}, attrs={"runtime": "cpp", "n": (1, 2)})
    assert '#[attributes = {"runtime": "cpp", "n": [1, 2]}]' in str(module)
    assert_structural_equal(relay.parse(module.astext()), infer_module(module))


# --- constants and metadata --------------------------------------------------------------------


def test_a_tensor_is_written_once_however_often_it_is_used() -> None:
    weight = relay.const(np.ones((2, 2), "float32"))
    expr = Tuple([weight, relay.exp(weight)])
    whole = expr.astext()
    assert whole.count("meta[relay.Constant][0] /* ty=Tensor[(2, 2), float32] */") == 2
    assert whole.count('"shape"') == 1
    assert "#[metadata]" not in str(expr)
    assert_reads_back(expr)


@pytest.mark.parametrize("dtype", relay.dtypes.NAMES)
@each("shape", [(), (0,), (1,), (2, 3)])
def test_tensors_of_every_type_read_back_bit_by_bit(dtype: str, shape: tuple[int, ...]) -> None:
    values = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
    assert_reads_back(relay.const(values, dtype))


def test_function_attributes_stand_behind_the_parameters() -> None:
    function = Function([x], x).with_attr({"Primitive": 1, "Compiler": "dnnl"})
    assert text(function).splitlines()[0] == (
        'fn (%x: Tensor[(2), float32], Primitive=1, Compiler="dnnl") {'
    )


# --- what is printed ---------------------------------------------------------------------------


def test_a_module_is_types_and_then_functions() -> None:
    module = relay.parse(
        '#[version = "0.0.5"]'
        "def @main(%b: Box[int32], %s: Storage) { (%b, %s) }"
        "type Box[A] { Full(A), Empty } extern type Storage type Never {}"
    )
    assert str(module) == lines(
        '#[version = "0.0.5"]',
        "type Box[A] {",
        "  Full(A),",
        "  Empty,",
        "}",
        "",
        "extern type Storage",
        "",
        "type Never {}",
        "",
        "def @main(%b: Box[int32], %s: Storage) -> (Box[int32], Storage) {",
        "  (%b, %s) /* ty=(Box[int32], Storage) */",
        "}",
        "",
    )


def test_str_is_for_the_eye_and_astext_for_reading_back() -> None:
    expr = relay.nn.relu(relay.const(np.ones(2, "float32")))
    assert astext(expr).startswith('#[version = "0.0.5"]\n') and "#[metadata]" in astext(expr)
    assert str(expr) == pretty_print(expr) == astext(expr, show_meta_data=False)
    assert "#[" not in str(expr)
    module = IRModule.from_expr(expr)
    assert "#[" not in pretty_print(module)


def test_other_things_have_no_text() -> None:
    with pytest.raises(TypeError, match="not int"):
        astext(3)  # type: ignore[arg-type]


def test_annotations_become_comments() -> None:
    def annotate(expr: Expr) -> str:
        return "closes */ and opens /*" if isinstance(expr, Call) else ""

    expr = relay.exp(relay.sqrt(x))
    annotated = astext(expr, annotate=annotate)
    assert annotated.count("/* closes * / and opens / * */") == 2
    assert_structural_equal(relay.parse_expr(annotated), expr, map_free_vars=True)


def test_what_a_pass_puts_into_a_program_can_be_looked_at() -> None:
    @node
    class Marked(TempExpr):
        inner: Expr

    assert text(relay.exp(Marked(x))) == lines("%0 = Marked(%x);", "exp(%0)")


# --- depth -------------------------------------------------------------------------------------


def chain_of_calls() -> Expr:
    expr: Expr = x
    for _ in range(DEPTH):
        expr = relay.nn.relu(expr)
    return expr


def chain_of_lets() -> Expr:
    body: Expr = x
    for _ in range(DEPTH):
        body = Let(relay.var("a"), relay.nn.relu(x), body)
    return body


def chain_of_nested_lets() -> Expr:
    value: Expr = x
    for _ in range(DEPTH):
        a = relay.var("a")
        value = Let(a, value, a)
    return value


def chain_of_ifs() -> Expr:
    expr: Expr = x
    for _ in range(DEPTH):
        expr = If(c, expr, y)
    return expr


def chain_of_else_ifs() -> Expr:
    expr: Expr = x
    for _ in range(DEPTH):
        expr = If(c, y, expr)
    return expr


def chain_of_functions() -> Expr:
    expr: Expr = x
    for _ in range(DEPTH):
        expr = Function([], expr)
    return expr


def chain_of_projections() -> Expr:
    expr: Expr = x
    for _ in range(DEPTH):
        expr = TupleGetItem(expr, 0)
    return expr


def chain_of_patterns() -> Expr:
    pattern: Any = PatternWildcard()
    for _ in range(DEPTH):
        pattern = PatternTuple((pattern,))
    return Match(x, [Clause(pattern, x)])


def chain_of_types() -> Expr:
    ty: Any = TensorType((), "int32")
    for _ in range(DEPTH):
        ty = TupleType((ty,))
    return relay.var("deep", ty)


@pytest.mark.parametrize(
    "chain",
    [
        chain_of_calls,
        chain_of_lets,
        chain_of_nested_lets,
        chain_of_ifs,
        chain_of_else_ifs,
        chain_of_functions,
        chain_of_projections,
        chain_of_patterns,
        chain_of_types,
    ],
)
def test_depth_costs_nothing_but_length(chain: Any) -> None:
    expr = chain()
    written = expr.astext()
    assert len(written) < 1_000 * DEPTH
    assert_structural_equal(relay.parse_expr(written), expr, map_free_vars=True)
