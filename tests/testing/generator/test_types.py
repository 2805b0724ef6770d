"""Types: matching against a signature, and what is bounded."""

import pytest

from relay.ir.types import FuncType, RefType, ShapeVar, TensorType, TupleType, TypeVar, scalar_type
from relay.testing import Features, Seeded
from relay.testing.generator.types import (
    Vocabulary,
    bush,
    chain,
    is_bounded,
    is_data,
    match_types,
    maybe,
    random_definitions,
    random_type,
)

A, B = TypeVar("A"), TypeVar("B")
N, M = ShapeVar("n"), ShapeVar("m")
INT = scalar_type("int32")


@pytest.mark.parametrize(
    ("pattern", "target", "found"),
    [
        (A, INT, {A: INT}),
        (TupleType((A, A)), TupleType((INT, INT)), {A: INT}),
        (TupleType((A, A)), TupleType((INT, scalar_type("int8"))), None),
        (TensorType((N, 3)), TensorType((M, 3)), {N: M}),
        (TensorType((N, 3)), TensorType((M, 4)), None),
        (TensorType((N, N + 1)), TensorType((2, 3)), {N: 2}),
        (TensorType((N, N + 1)), TensorType((2, 4)), None),
        (TensorType((N + 1,)), TensorType((2,)), None),
        (FuncType((A,), B), FuncType((INT,), RefType(INT)), {A: INT, B: RefType(INT)}),
        (chain().header(A), chain().header(INT), {A: INT}),
        (chain().header(A), maybe().header(INT), None),
        (INT, A, None),
    ],
)
def test_matching_finds_what_variables_stand_for(pattern, target, found):
    assert match_types(pattern, target, {A, B, N}) == found


def test_lists_trees_and_closures_are_not_bounded():
    words = Vocabulary(Features(), (maybe(), chain(), bush()))
    assert is_bounded(TupleType((INT, maybe().header(INT))), words)
    assert not is_bounded(chain().header(INT), words)
    assert not is_bounded(maybe().header(bush().header(INT)), words)
    assert not is_bounded(FuncType((), INT), words)


@pytest.mark.parametrize("seed", range(30))
def test_definitions_have_values_and_types_of_data_have_no_functions(seed):
    choices = Seeded(seed)
    definitions = random_definitions(choices, Features())
    words = Vocabulary(Features(), definitions)
    for definition in definitions:
        first = definition.constructors[0]
        assert definition.header.name_hint not in " ".join(map(str, first.inputs)).split("[")
    for _ in range(20):
        ty = random_type(choices, words, 3, data_only=True)
        assert not any(isinstance(part, FuncType | RefType) for part in _parts(ty, words))


def _parts(ty, words):
    from relay import tree

    for part in tree.postorder(ty):
        yield part
        definition = next((d for d in words.definitions if d.header == part), None)
        if definition is not None:
            assert is_data(definition, words)
