"""Wrong programs: each gets the right error, its place, what was expected and what was found."""

import pytest

import relay
from relay.check.infer import infer_expr, infer_module

HEADER = '#[version = "0.0.5"]\n'
LIST = "type List[A] { Cons(A, List[A]), Nil }\n"

# (what is wrong, program, error class, line of the caret, words of the message, other words)
WRONG = [
    (
        "shapes that do not broadcast",
        """def @main(%x: Tensor[(8, 32), float32], %y: Tensor[(8, 64), float32]) {
  add(%x, %y)
}""",
        relay.TypeCheckError,
        3,
        "do not broadcast",
        ["axis -1", "(8, 64)"],
    ),
    (
        "element types that differ",
        "def @main(%x: Tensor[(8), float32], %y: Tensor[(8), int32]) {\n  add(%x, %y)\n}",
        relay.TypeCheckError,
        3,
        "element types differ",
        ["int32", "cast"],
    ),
    (
        "an unknown operator",
        "def @main(%x: int32) {\n  nn.rellu(%x)\n}",
        relay.ParseError,
        3,
        "unknown operator",
        ["nn.relu"],
    ),
    (
        "an unbound variable",
        "def @main(%x: int32) {\n  %y\n}",
        relay.ParseError,
        3,
        "%y",
        [],
    ),
    (
        "an unknown function",
        "def @helper(%x: int32) { %x }\ndef @main(%x: int32) {\n  @helpr(%x)\n}",
        relay.DiagnosticError,
        4,
        "@helpr",
        ["helper"],
    ),
    (
        "too few arguments for an operator",
        "def @main(%x: int32) {\n  add(%x)\n}",
        relay.TypeCheckError,
        3,
        "too few arguments for `add`",
        ["2 arguments", "1"],
    ),
    (
        "too many arguments for a function",
        "def @f(%x: int32) { %x }\ndef @main(%x: int32) {\n  @f(%x, %x)\n}",
        relay.TypeCheckError,
        4,
        "too many arguments for `@f`",
        ["1 argument", "2"],
    ),
    (
        "an argument of the wrong type",
        "def @f(%x: int32) { %x }\ndef @main(%x: float32) {\n  @f(%x)\n}",
        relay.TypeCheckError,
        4,
        "argument 0 of `@f`",
        ["int32", "float32"],
    ),
    (
        "a match that leaves cases out",
        LIST + "def @main(%xs: List[int32]) {\n  match (%xs) { Cons(%x, Nil) => %x }\n}",
        relay.TypeCheckError,
        4,
        "not exhaustive",
        ["Nil", "Cons(_, Cons(_, _))", "match?"],
    ),
    (
        "branches of different types",
        "def @main(%c: bool) {\n  if (%c) { 1 } else { 1f }\n}",
        relay.TypeCheckError,
        3,
        "branches have different types",
        ["int32", "float32"],
    ),
    (
        "a condition that is not a bool",
        "def @main(%c: int32) {\n  if (%c) { 1 } else { 2 }\n}",
        relay.TypeCheckError,
        3,
        "condition",
        ["bool", "int32"],
    ),
    (
        "a value that is not a function, called",
        "def @main(%x: int32) {\n  %x(%x)\n}",
        relay.TypeCheckError,
        3,
        "only functions can be called",
        ["int32"],
    ),
    (
        "a field that is not there",
        "def @main(%x: int32) {\n  (%x, %x).2\n}",
        relay.TypeCheckError,
        3,
        "no field 2",
        ["from 0 to 1"],
    ),
    (
        "a type that contains itself",
        "def @main() {\n  let %f = fn (%x) { %x(%x) };\n  %f\n}",
        relay.TypeCheckError,
        3,
        "contain itself",
        [],
    ),
    (
        "a variable that nothing determines",
        "def @main(%x) {\n  %x\n}",
        relay.TypeCheckError,
        2,
        "cannot infer the type of `%x`",
        ["annotate"],
    ),
    (
        "a result other than declared",
        "def @main(%x: int32) -> float32 {\n  negative(%x)\n}",
        relay.TypeCheckError,
        3,
        "declared result type",
        ["float32", "int32"],
    ),
    (
        "a rigid type variable at a concrete type",
        "def @main[A](%x: A) -> A {\n  1\n}",
        relay.TypeCheckError,
        3,
        "declared result type",
        ["A", "int32", "every type"],
    ),
    (
        "the wrong number of type arguments",
        LIST + "def @main(%xs: List[int32, int32]) {\n  %xs\n}",
        relay.KindError,
        3,
        "wrong number of type arguments",
        ["1", "2"],
    ),
    (
        "the name of a data type alone",
        LIST + "def @main(%xs: (List, int32)) {\n  %xs\n}",
        relay.DiagnosticError,
        3,
        "List",
        [],
    ),
    (
        "a type where a dimension belongs",
        "def @main[A](%y: A, %x: Tensor[(A), float32]) {\n  %x\n}",
        relay.DiagnosticError,
        2,
        "A",
        [],
    ),
    (
        "the same function twice",
        "def @main() { 1 }\ndef @main() { 2 }",
        relay.ParseError,
        3,
        "main",
        [],
    ),
    (
        "the same constructor twice",
        "type A { C }\ntype B { C }\ndef @main() { 1 }",
        relay.ParseError,
        3,
        "C",
        [],
    ),
    (
        "a pattern of the wrong arity",
        LIST + "def @main(%xs: List[int32]) {\n  match? (%xs) { Cons(%x) => %x }\n}",
        relay.IllFormed,
        4,
        "wrong arity",
        ["2", "1"],
    ),
    (
        "a reference written with another type",
        "def @main() {\n  let %r = ref(1);\n  ref_write(%r, 1f)\n}",
        relay.TypeCheckError,
        4,
        "reference",
        ["int32", "float32"],
    ),
    (
        "a dimension divided by zero",
        """def @f[n, m](%x: Tensor[(n), float32], %y: Tensor[(m), float32])
    -> Tensor[(m // n), float32] { @f(%x, %y) }
def @main(%x: Tensor[(0), float32]) {
  @f(%x, %x)
}""",
        relay.TypeCheckError,
        5,
        "divided by zero",
        [],
    ),
    (
        "a dimension below zero",
        """def @f[n](%x: Tensor[(n), float32]) -> Tensor[(n - 3), float32] { @f(%x) }
def @main(%x: Tensor[(2), float32]) {
  @f(%x)
}""",
        relay.TypeCheckError,
        4,
        "negative",
        [],
    ),
    (
        "dimensions with no integer solution",
        """def @f[n](%x: Tensor[(2 * n), float32]) -> Tensor[(n), float32] {
  zeros(shape=[3], dtype="float32")
}""",
        relay.TypeCheckError,
        3,
        "declared result type",
        ["n", "3"],
    ),
]


@pytest.mark.parametrize(
    ("text", "error", "line", "message", "details"),
    [case[1:] for case in WRONG],
    ids=[case[0].replace(" ", "-") for case in WRONG],
)
def test_wrong_programs_explain_themselves(text, error, line, message, details):
    with pytest.raises(error) as caught:
        relay.parse(HEADER + text, "wrong.relay")
    first = caught.value.diagnostics[0]
    assert message in first.message
    assert first.span is not None
    assert first.span.source_name.name == "wrong.relay"
    assert first.span.line == line
    for detail in details:
        assert detail in str(first)
    assert "^" in str(first)


def test_one_run_shows_every_independent_error():
    text = """
    def @main(%x: int32, %y: float32) {
      let %a = add(%x, %y);
      let %b = if (%x) { 1 } else { 2 };
      add(%x)
    }
    """
    with pytest.raises(relay.TypeCheckError) as caught:
        relay.parse(HEADER + text)
    assert len(caught.value.diagnostics) == 3


def test_a_program_built_in_python_is_quoted_as_it_prints():
    x = relay.var("x", shape=(2,))
    y = relay.var("y", shape=(3,))
    with pytest.raises(relay.TypeCheckError) as caught:
        infer_expr(relay.Function([x, y], relay.nn.relu(relay.add(x, y))))
    text = str(caught.value)
    assert "add(%x, %y)" in text
    assert "^" in text


def test_an_unbound_variable_of_a_python_program_is_named():
    x = relay.var("x", shape=(2,))
    stray = relay.var("x", shape=(2,))
    with pytest.raises(relay.DiagnosticError, match="%x"):
        infer_module(relay.IRModule({"main": relay.Function([x], relay.add(x, stray))}))


def test_an_exception_in_a_relation_of_the_user_passes_unchanged():
    class Mine(Exception):
        pass

    def relation(site):
        raise Mine("from the relation")

    op = relay.op.opdef.OpDef("test.raises", relation=relation, arguments=(("x", ""),))
    with pytest.raises(Mine, match="from the relation"):
        infer_expr(relay.Call(op, [relay.const(1.0)]))
