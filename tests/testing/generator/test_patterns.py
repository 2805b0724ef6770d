"""Patterns that together leave no value out, as the check for exhaustiveness sees it."""

import pytest

import relay
from relay.check.exhaustive import unmatched_cases
from relay.ir.types import TupleType, scalar_type
from relay.testing import Features, Seeded
from relay.testing.generator.patterns import Patterns
from relay.testing.generator.types import Vocabulary, bush, chain, maybe

DEFINITIONS = (maybe(), chain(), bush())
MAYBE, CHAIN, BUSH = (d.header for d in DEFINITIONS)
INT = scalar_type("int32")
TYPES = [
    MAYBE(INT),
    CHAIN(MAYBE(INT)),
    BUSH(TupleType((INT, CHAIN(INT)))),
    TupleType((MAYBE(INT), CHAIN(INT))),
    INT,
]


@pytest.mark.parametrize("ty", TYPES, ids=str)
def test_every_value_has_a_case(ty):
    module = relay.IRModule({}, {d.header: d for d in DEFINITIONS})
    words = Vocabulary(Features(), DEFINITIONS)
    nested = 0
    for seed in range(60):
        patterns = Patterns(Seeded(seed), words, lambda t: relay.var("x", t))
        cases = patterns.cover(ty, 3)
        nested += len(cases)
        clauses = [relay.Clause(case.pattern, relay.const(1)) for case in cases]
        assert not unmatched_cases(relay.Match(relay.var("data", ty), clauses), module)
        for case in cases:
            bound = [v for v, _ in case.variables]
            assert len(bound) == len(set(bound))
            assert all(v.type_annotation == t for v, t in case.variables)
    assert (nested > 60) == (ty != INT)
