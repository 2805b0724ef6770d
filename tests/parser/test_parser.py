"""What text means, construct by construct; and that every program survives its own text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from relay import tree
from relay.check.infer import infer_module
from relay.errors import Span
from relay.ir.attrs import DictAttrs
from relay.ir.compare import assert_structural_equal, structural_equal
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Syntax,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.types import (
    FuncType,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeKind,
    TypeVar,
)
from relay.parser.parser import parse_module
from tests.support.looping import each
from tests.support.sampling import deep

PROGRAMS = sorted((Path(__file__).parent.parent / "programs").glob("*.relay"))
HEADER = '#[version = "0.0.5"]\n'
DEPTH = deep(20_000)

x = relay.var("x")
y = relay.var("y")


def expr(text: str, module: IRModule | None = None) -> Any:
    return relay.parse_expr(f"free_var %x; free_var %y; {text}", init_module=module)


def assert_reads(text: str, expected: Expr, module: IRModule | None = None) -> None:
    """`text` over the free variables %x and %y is `expected`."""
    assert_structural_equal(expr(text, module), expected, map_free_vars=True)


def type_of(text: str) -> Any:
    declared = relay.parse_expr(f"free_var %x: {text}; %x")
    return declared.type_annotation  # type: ignore[attr-defined]


# --- round trips -------------------------------------------------------------------------------


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 40


@each("path", PROGRAMS)
def test_a_program_survives_its_own_text(path: Path) -> None:
    untyped = parse_module(path.read_text(encoding="utf-8"), path.name)
    written = untyped.astext()
    if path.stem != "holes":  # a hole is equal to itself only
        assert_structural_equal(parse_module(written, "again"), untyped)
    typed = infer_module(untyped)
    for text in (written, typed.astext()):
        again = relay.parse(text)
        assert_structural_equal(again, typed)
        assert again.astext() == typed.astext()


@each("path", PROGRAMS)
def test_every_node_of_a_program_knows_its_place(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    module = parse_module(source, path.name)
    lines = source.splitlines()
    shared = {c for d in module.type_definitions.values() for c in d.constructors}
    for function in module.functions.values():
        for node in tree.postorder(function):
            if isinstance(node, Constant | relay.Op) or node in shared:
                continue  # from the metadata and from the operator table
            span = node.span
            assert isinstance(span, Span) and span.source_name.name == path.name
            assert 1 <= span.line <= span.end_line <= len(lines)
            assert 1 <= span.column <= len(lines[span.line - 1])
            assert (span.line, span.column) < (span.end_line, span.end_column)


@pytest.mark.parametrize("name", ["core.rly", "prelude.rly", "nat.rly", "gradient.rly"])
def test_the_standard_library_survives_its_own_text(name: str) -> None:
    module = IRModule()
    module.import_from_std(name)
    assert_structural_equal(relay.parse(module.astext()), infer_module(module))


# --- expressions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "dtype"),
    [
        ("3", 3, "int32"),
        ("-3", -3, "int32"),
        ("---3", -3, "int32"),
        ("--3", 3, "int32"),
        ("2147483648", 2147483648, "int64"),
        ("-2147483648", -2147483648, "int32"),
        ("42i16", 42, "int16"),
        ("42i64", 42, "int64"),
        ("255u8", 255, "uint8"),
        ("3f", 3.0, "float32"),
        ("3f16", 3.0, "float16"),
        ("3f64", 3.0, "float64"),
        ("1.5", 1.5, "float32"),
        ("1e3", 1000.0, "float32"),
        ("-inff", -np.inf, "float32"),
        ("nanf64", np.nan, "float64"),
        ("True", True, "bool"),
        ("False", False, "bool"),
    ],
)
def test_literals(text: str, value: Any, dtype: str) -> None:
    found = expr(text)
    assert isinstance(found, Constant) and found.data.dtype == dtype and found.data.shape == ()
    np.testing.assert_equal(found.data.numpy(), np.array(value, dtype))


def test_operators_bind_as_in_arithmetic() -> None:
    one = relay.const(1)
    assert_reads("%x + %y * 1", x + y * one)
    assert_reads("%x * %y + 1", x * y + one)
    assert_reads("%x - %y - 1", (x - y) - one)
    assert_reads("%x - (%y - 1)", x - (y - one))
    assert_reads("%x / %y * 1", (x / y) * one)
    assert_reads("%x + 1 < %y", (x + one) < y)
    assert_reads("%x < %y == %x", relay.equal(x < y, x))
    assert_reads("%x != %y >= 1", relay.not_equal(x, y >= one))
    assert_reads("1-%x", one - x)


def test_graph_variables_are_names_for_nodes() -> None:
    found = expr("%0 = exp(%x); %1 = %0 + %0; (%1, %0)")
    total, shared = found.fields
    assert total.args == (shared, shared)
    assert structural_equal(found, found) and not structural_equal(
        expr("(exp(%x) + exp(%x), exp(%x))"), found, map_free_vars=True
    )


def test_a_graph_variable_that_nothing_uses_leaves_no_trace() -> None:
    assert_reads("%0 = exp(%x); %y", y)


def test_blocks_have_graph_variables_of_their_own() -> None:
    assert_reads("%0 = %x; ({ %0 = %y; %0 }, %0)", Tuple([y, x]))
    with pytest.raises(relay.ParseError, match="unknown graph variable `%0`"):
        expr("({ %0 = %y; %0 }, %0)")


def test_let_binds_for_what_follows() -> None:
    a = relay.var("a")
    assert_reads("let %a = %x; %a + %y", Let(a, x, a + y))
    assert_reads("let %a: int32 = %x; %a", Let(b := relay.var("b", "int32"), x, b))
    assert_reads("let %x = %x; %x", Let(a, x, a))


def test_a_function_bound_by_let_sees_itself_and_nothing_else_does() -> None:
    found = expr("let %f = fn (%n) { %f(%n) }; %f")
    assert found.value.body.op is found.variable
    shadowing = expr("let %x = (%x, fn () { %x }); %x")
    inside = shadowing.value.fields[1].body
    assert inside is shadowing.value.fields[0] and inside is not shadowing.variable


def test_a_let_may_be_declared_ahead() -> None:
    found = expr("let %f: int8; %0 = fn () { %f }; { let %f = %0; (%f, %0) }")
    assert found.variable.type_annotation == TensorType((), "int8")
    assert found.value.body is found.variable and found.body.fields == (found.variable, found.value)


def test_blocks_matches_and_conditions_are_values() -> None:
    a, b = relay.var("a"), relay.var("b")
    assert_reads("let %a = { let %b = %x; %b }; %a", Let(a, Let(b, x, b), a))
    found = expr("let %a = match (%x) { _ => %y }; %0 = if (%a) { 1 } else { 2 }; %0")
    assert isinstance(found.value, Match) and isinstance(found.body, If)
    assert_reads("add(let %b = %x; %b, (let %a = %y; %a))", relay.add(Let(b, x, b), Let(a, y, a)))


def test_a_semicolon_evaluates_and_forgets() -> None:
    found = expr("ref_write(%x, 1); ref_read(%x)")
    assert isinstance(found, Let) and found.variable.name_hint == "_"
    assert isinstance(found.value, RefWrite) and isinstance(found.body, RefRead)


def test_parentheses_group_and_make_tuples() -> None:
    assert_reads("(%x)", x)
    assert_reads("((%x))", x)
    assert_reads("()", Tuple([]))
    assert_reads("(%x,)", Tuple([x]))
    assert_reads("(%x, %y,)", Tuple([x, y]))
    assert_reads("(%x, %y).0.1", TupleGetItem(TupleGetItem(Tuple([x, y]), 0), 1))
    assert_reads("ref((%x,))", RefCreate(Tuple([x])))


def test_calls_can_be_called() -> None:
    assert_reads("%x(%y)(1).0()", Call(TupleGetItem(Call(Call(x, [y]), [relay.const(1)]), 0), ()))
    assert_reads("%x[int32](%y)", Call(x, (y,), None, (TensorType((), "int32"),)))
    found = expr("(fn [n: Shape]() { %x[n, 3, ?, Shape(n * 2 + 1)]() })")
    (n,) = found.type_params
    assert found.body.type_args == (n, 3, relay.Any(), n * 2 + 1)


def test_else_if_is_a_condition_in_the_other_branch() -> None:
    found = expr("if (%x) { 1 } else if (%y) { 2 } else { 3 }")
    assert isinstance(found.false_branch, If)


def test_functions_have_parameters_attributes_and_a_result() -> None:
    found = expr('fn [A](%a: A, %b, Primitive=1, global_symbol="f",) -> A { %a }')
    assert [p.name_hint for p in found.params] == ["a", "b"]
    assert found.params[0].type_annotation is found.type_params[0] is found.ret_type
    assert found.params[1].type_annotation is None
    assert dict(found.attrs) == {"Primitive": 1, "global_symbol": "f"}


def test_globals_may_be_used_before_they_are_defined() -> None:
    module = parse_module(HEADER + "def @a() { @b() } def @b() { @a() }", "test")
    assert [v.name_hint for v in module.functions] == ["a", "b"]
    assert expr("@f").name_hint == "f"


@pytest.mark.parametrize(
    ("text", "attrs"),
    [
        ("%x(%y)", None),
        ("%x(%y, a=1, b.c=None)", {"a": 1, "b.c": None}),
        ("%x(%y, a=(1, [2], (3), (4,)))", {"a": (1, (2,), 3, (4,))}),
        ('%x(a={"b": [True, -1.5, -inff]}, `c d`="e",)', None),
        ('%x(type=1, attrs_type_key="DictAttrs")', {"type": 1}),
        ('%x(attrs_type_key="DictAttrs")', {}),
        ("%x(a=1e-05f, b=3f64, c=7i64, d=nullptr)", {"a": 1e-05, "b": 3.0, "c": 7, "d": None}),
    ],
)
def test_attributes_of_free_names(text: str, attrs: dict[str, Any] | None) -> None:
    found = expr(text).attrs
    if attrs is not None:
        assert found == DictAttrs(attrs) and repr(found) == repr(DictAttrs(attrs))


def test_attributes_of_operators_have_their_class_and_defaults() -> None:
    found = expr("nn.softmax(%x)")
    assert found.attrs == relay.nn.softmax(x).attrs
    assert expr("nn.softmax(%x, axis=0)").attrs == relay.nn.softmax(x, axis=0).attrs
    assert expr("nn.softmax(%x, attrs_type_key=None)").attrs is None
    assert expr("exp(%x)").attrs is None
    key = type(found.attrs).__name__
    assert expr(f'%x(axis=3, attrs_type_key="relay.attrs.{key}")').attrs.axis == 3


# --- data types --------------------------------------------------------------------------------

lists = parse_module(HEADER + "type List[A] { Cons(A, List[A]), Nil }", "lists")
cons, nil = lists.get_type("List")[1:]


def test_constructors_are_functions_and_those_without_fields_are_called() -> None:
    assert_reads("Cons(%x, Nil)", Call(cons, [x, Call(nil, [])]), lists)
    assert_reads("(Cons, Nil(), constructor(Nil))", Tuple([cons, Call(nil, []), nil]), lists)
    assert_reads("Nil[int32]", Call(nil, (), None, (TensorType((), "int32"),)), lists)
    assert isinstance(expr("constructor(Cons)", lists), Constructor)


def test_patterns_bind_in_their_clause_only() -> None:
    found = expr("match (%x) { Cons(%x, (%a: int32, _)) => (%x, %a), (%y) => %y }", lists)
    first, second = found.clauses
    assert first.lhs.patterns[0].var is first.rhs.fields[0]
    assert first.lhs.patterns[1].patterns[0].var.type_annotation == TensorType((), "int32")
    assert second.lhs.var is second.rhs
    assert found.data is not first.rhs.fields[0] and found.complete
    assert not expr("match? %x.0 { _ => %y }").complete


def test_types_may_be_used_before_they_are_defined() -> None:
    module = parse_module(
        HEADER + "def @f(%a: A) { One(%a) } type B { One(A) } type A { Two(B), End }", "test"
    )
    assert [t.name_hint for t in module.type_definitions] == ["B", "A"]
    assert module["f"].body.op is module.find_constructor("One")


def test_a_module_can_build_on_another() -> None:
    base = relay.parse(HEADER + "type Box { Full(int32) } def @f(%b: Box) -> Box { %b }")
    built = relay.parse(HEADER + "def @g(%b: Box) { @f(Full(1)) }", init_module=base)
    assert {v.name_hint for v in built.functions} == {"f", "g"}
    assert "g" not in base and built.find_type("Box") is base.find_type("Box")
    with pytest.raises(relay.ParseError, match="`@f` is defined twice"):
        relay.parse(HEADER + "def @f() { 1 }", init_module=base)


def test_metadata_can_be_given_from_outside() -> None:
    weight = relay.const(np.ones(3, "float32"))
    attrs = relay.nn.softmax(x, axis=1).attrs
    table: dict[str, list[Any]] = {"relay.Constant": [weight], "a": [attrs, TensorType((2,)), 7]}
    text = HEADER + "def @main(%x: meta[a][1], %y: Tensor[(meta[a][2]), int8]) { %x }"
    module = parse_module(text, "test", None, table)
    assert [p.type_annotation for p in module["main"].params] == [
        TensorType((2,)),
        TensorType((7,), "int8"),
    ]
    found: Any = relay.parse_expr(
        "nn.softmax(meta[relay.Constant][0], meta[a][0])", init_meta_table=table
    )
    assert found.args == (weight,) and found.attrs is attrs


# --- types -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("float32", TensorType((), "float32")),
        ("float32x4", TensorType((), "float32x4")),
        ("Tensor[(), bool]", TensorType((), "bool")),
        ("Tensor[(3), int8]", TensorType((3,), "int8")),
        ("Tensor[(3,), int8]", TensorType((3,), "int8")),
        ("Tensor[(1, ?, 2 * 3 - 4 // 2), int8]", TensorType((1, relay.Any(), 4), "int8")),
        (
            "Tensor[(7 % 4, -(1 - 3), min(3, 2, 5), max((1), 0)), int8]",
            TensorType((3, 2, 2, 1), "int8"),
        ),
        ("()", TupleType(())),
        ("(int32)", TensorType((), "int32")),
        ("(int32,)", TupleType((TensorType((), "int32"),))),
        ("ref(bool)", RefType(TensorType((), "bool"))),
        (
            "fn (bool, ()) -> bool",
            FuncType((TensorType((), "bool"), TupleType(())), TensorType((), "bool")),
        ),
    ],
)
def test_types(text: str, expected: Type) -> None:
    assert type_of(text) == expected


def test_a_hole_is_a_type_or_a_dimension_to_find() -> None:
    found = type_of("(_, Tensor[(_), int8])")
    assert isinstance(found.fields[0], IncompleteType)
    assert found.fields[1].shape[0].kind is TypeKind.ShapeVar


def test_type_parameters_get_their_kind_from_their_first_use() -> None:
    found = type_of("fn [A, n, B, m: Shape, k](A, Tensor[(n), int8], Tensor[(k + 1), int8]) -> B")
    kinds = [p.kind for p in found.type_params]
    assert kinds == [TypeKind[k] for k in ("Type", "ShapeVar", "Type", "ShapeVar", "ShapeVar")]
    a = TypeVar("A")
    assert type_of("fn [X](X) -> X") == FuncType((a,), a, (a,))


def test_type_variables_shadow_and_go_out_of_scope() -> None:
    found = expr("fn [A](%a: A, %f: fn [A](A) -> A, %b: A) { %b }")
    (outer,) = found.type_params
    (inner,) = found.params[1].type_annotation.type_params
    assert found.params[0].type_annotation is found.params[2].type_annotation is outer
    assert inner is not outer


def test_free_type_variables_are_declared() -> None:
    found: Any = relay.parse_expr("free_type_var A; free_type_var n: Shape; fn (%x: A) { %x }")
    assert found.params[0].type_annotation.name_hint == "A" and found.type_params == ()


def test_data_types_take_arguments() -> None:
    found = relay.parse_expr("fn (%l: List[List[int32]]) { %l }", init_module=lists)
    annotation = found.params[0].type_annotation  # type: ignore[attr-defined]
    header = lists.get_global_type_var("List")
    assert annotation == TypeCall(header, (TypeCall(header, (TensorType((), "int32"),)),))


# --- places ------------------------------------------------------------------------------------


def test_spans_cover_exactly_what_was_written() -> None:
    source = "fn (%a) {\n  let %b = exp(%a) + 1;\n  if (%b) { %b.0 } else { sqrt(%b) }\n}"
    found: Any = relay.parse_expr(source, "f.relay")

    def written(node: Syntax) -> str:
        span = node.span
        assert isinstance(span, Span)
        lines = source.splitlines(keepends=True)
        start = sum(map(len, lines[: span.line - 1])) + span.column - 1
        end = sum(map(len, lines[: span.end_line - 1])) + span.end_column - 1
        return source[start:end]

    let = found.body
    assert written(found) == source and str(found.span) == "f.relay:1:1"
    assert written(let.variable) == "%b"
    assert written(let.value) == "exp(%a) + 1"
    assert written(let.value.args[0]) == "exp(%a)"
    assert written(let.body) == "if (%b) { %b.0 } else { sqrt(%b) }"
    assert written(let.body.true_branch) == "%b.0"
    assert written(let) == source[source.index("let") : source.rindex("\n")]


def test_a_module_remembers_its_source() -> None:
    module = parse_module(HEADER + "def @main() { 1 }", "a.relay")
    assert module.source_map["a.relay"].line(2) == "def @main() { 1 }"


# --- depth -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "(" * DEPTH + "%x" + ")" * DEPTH,
        "(" * DEPTH + "%x" + ",)" * DEPTH,
        "{" * DEPTH + "%x" + "}" * DEPTH,
        "exp(" * DEPTH + "%x" + ")" * DEPTH,
        "ref(" * DEPTH + "%x" + ")" * DEPTH,
        "fn () {" * DEPTH + "%x" + "}" * DEPTH,
        "if (" * DEPTH + "%x" + ") { %x } else { %y }" * DEPTH,
        "if (%x) {" * DEPTH + "%x" + "} else { %y }" * DEPTH,
        "if (%x) { %y } else " * DEPTH + "{ %x }",
        "match (" * DEPTH + "%x" + ") { _ => %y }" * DEPTH,
        "match (%x) { _ => " * DEPTH + "%x" + "}" * DEPTH,
        "let %a = %x;" * DEPTH + "%x",
        "let %a = {" * DEPTH + "%x" + "}; %a" * DEPTH,
        "%x; " * DEPTH + "%x",
        "%x + " * DEPTH + "%x",
        "%x < %y + " * DEPTH + "%x",
        "%x" + "()" * DEPTH,
        "%x" + ".0" * DEPTH,
        "-" * 2 * DEPTH + "1",
        "fn (%a: " + "(" * DEPTH + "int8" + ",)" * DEPTH + ") { %a }",
        "fn (%a: " + "fn () -> " * DEPTH + "int8) { %a }",
        "fn (%a: Tensor[(" + "(" * DEPTH + "1" + ")" * DEPTH + "), int8]) { %a }",
        "fn [n](%a: Tensor[(" + "min(1, " * DEPTH + "n" + ")" * DEPTH + "), int8]) { %a }",
        "fn [n](%a: Tensor[(" + "n + " * DEPTH + "1), int8]) { %a }",
        "match (%x) { " + "(" * DEPTH + "_" + ",)" * DEPTH + " => %x }",
    ],
    ids=lambda text: text[:24].strip(),
)
def test_text_may_nest_without_end(text: str) -> None:
    assert isinstance(expr(text), Expr)


def test_a_long_graph_parses() -> None:
    lines = [f"%{i + 1} = exp(%{i});" for i in range(DEPTH)]
    found = expr("%0 = %x;" + "\n".join(lines) + f"%{DEPTH}")
    assert sum(isinstance(e, Call) for e in tree.postorder(found)) == DEPTH


# --- the names people call ---------------------------------------------------------------------


def test_fromtext_is_parse() -> None:
    text = HEADER + "def @main(%x: int32) { %x }"
    assert structural_equal(relay.fromtext(text), relay.parse(text))
    assert relay.parse(text)["main"].ret_type == TensorType((), "int32")


def test_a_single_expression_is_not_typed_and_needs_no_header() -> None:
    found = relay.parse_expr("fn (%x: int32) { %x + 1 }")
    assert isinstance(found, Function) and found.ty is None and found.ret_type is None
    assert structural_equal(found, relay.parse_expr(HEADER + "fn (%x: int32) { %x + 1 }"))
    assert isinstance(relay.parse_expr("@main"), GlobalVar)
    assert isinstance(relay.parse_expr("free_var %x: int32; %x"), Var)
