import pytest

import relay
from relay.check.exhaustive import unmatched_cases

HEADER = '#[version = "0.0.5"]\n'
TYPES = """
type List[A] { Cons(A, List[A]), Nil }
type Bit { O, I }
type Option[A] { Some(A), None }
"""


def missing(ty: str, clauses: str) -> list[str]:
    """What `match? (%v : ty) { clauses }` leaves out."""
    mod = relay.parse(f"{HEADER}{TYPES} def @main(%v: {ty}) {{ match? (%v) {{ {clauses} }} }}")
    return [str(case) for case in unmatched_cases(mod["main"].body, mod)]


@pytest.mark.parametrize(
    ("ty", "clauses", "left_out"),
    [
        ("Bit", "O => 1, I => 2", []),
        ("Bit", "O => 1", ["I"]),
        ("Bit", "_ => 1", []),
        ("Bit", "%x => 1", []),
        ("List[Bit]", "Nil => 1, Cons(_, _) => 2", []),
        ("List[Bit]", "Nil => 1, Cons(O, _) => 2", ["Cons(I, _)"]),
        ("List[Bit]", "Nil => 1, Cons(_, Nil) => 2", ["Cons(_, Cons(_, _))"]),
        ("(Bit, Bit)", "(O, _) => 1, (_, O) => 2", ["(I, I)"]),
        ("(Bit, Bit)", "(%a, %b) => 1", []),
        ("(List[Bit], List[Bit])", "(Nil, _) => 1, (_, Nil) => 2", ["(Cons(_, _), Cons(_, _))"]),
        ("Option[Option[Bit]]", "None => 1, Some(Some(O)) => 2", ["Some(Some(I))", "Some(None)"]),
        ("List[int32]", "Cons(%x, Cons(%y, %z)) => 1", ["Cons(_, Nil)", "Nil"]),
    ],
)
def test_the_cases_left_out_are_listed(ty, clauses, left_out):
    assert missing(ty, clauses) == left_out


def test_the_list_of_cases_is_bounded():
    pairs = "(" + ", ".join(["Bit"] * 8) + ")"
    assert 0 < len(missing(pairs, "(" + ", ".join("O" * 8) + ") => 1")) <= 16


def test_deep_patterns_need_no_recursion():
    mod = relay.parse(f"{HEADER}{TYPES} def @main(%v: List[Bit]) {{ %v }}")
    cons, nil = mod.get_constructor("Cons"), mod.get_constructor("Nil")
    pattern = relay.PatternConstructor(nil)
    for _ in range(3_000):
        pattern = relay.PatternConstructor(cons, [relay.PatternWildcard(), pattern])
    match = relay.Match(mod["main"].params[0], [relay.Clause(pattern, relay.const(1))], False)
    assert unmatched_cases(match, mod)
