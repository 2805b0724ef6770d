"""Whether patterns fit values that are known in part."""

from __future__ import annotations

from typing import Any

import relay
from relay.ir.expr import PatternConstructor, PatternTuple, PatternVar, PatternWildcard
from relay.ir.types import TensorType
from relay.transform.partial.known_matches import Fit, matched
from relay.transform.partial.static_values import Fields, Value
from tests.support.looping import each

SCALAR = TensorType((), "float32")
MODULE = relay.parse("type List { Cons(float32, List), Nil } def @main() { 1 }")
CONS, NIL = MODULE.type_definition("List").constructors
X, REST = relay.var("x"), relay.var("rest")
UNKNOWN = Value(SCALAR)


def known(*fields: Value, constructor: Any = None) -> Value:
    return Value(SCALAR, Fields(fields, constructor))


ONE = known(UNKNOWN, Value(SCALAR), constructor=CONS)


@each(
    "pattern, value, fit",
    [
        (PatternWildcard(), UNKNOWN, Fit.YES),
        (PatternConstructor(NIL), UNKNOWN, Fit.MAYBE),
        (PatternConstructor(NIL), ONE, Fit.NO),
        (PatternConstructor(CONS, (PatternVar(X), PatternVar(REST))), ONE, Fit.YES),
        (PatternConstructor(CONS, (PatternVar(X), PatternConstructor(NIL))), ONE, Fit.MAYBE),
        (
            PatternTuple((PatternConstructor(NIL), PatternConstructor(NIL))),
            known(UNKNOWN, ONE),
            Fit.NO,
        ),
        (PatternTuple(()), known(UNKNOWN), Fit.NO),
        (PatternTuple((PatternVar(X),)), known(UNKNOWN), Fit.YES),
    ],
)
def test_a_pattern_fits_as_far_as_is_known(pattern: Any, value: Value, fit: Fit) -> None:
    assert matched(pattern, value)[0] is fit


def test_variables_have_the_values_that_are_known() -> None:
    pattern = PatternConstructor(CONS, (PatternVar(X), PatternConstructor(NIL)))
    assert matched(pattern, ONE)[1] == {X: UNKNOWN}


def test_data_types_are_known_by_name() -> None:
    other = relay.parse("type List { Cons(float32, List), Nil } def @main() { 1 }")
    cons = other.type_definition("List").constructors[0]
    pattern = PatternConstructor(cons, (PatternWildcard(), PatternWildcard()))
    assert matched(pattern, ONE)[0] is Fit.YES
