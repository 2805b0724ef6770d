"""Other contents of cells of gradients."""

from __future__ import annotations

import relay
from relay import tree
from relay.ir.types import TensorType, TupleType
from relay.transform import InferType
from relay.transform.gradients.cells import NewCells, has_cells, has_hidden_cells

HEAD = '#[version = "0.0.5"]\n'
PAIR = """type Pair { Pair(ref(Tensor[(3), float32]), ref(int32)) }
def @get(%p: Pair) -> Tensor[(3), float32] { match (%p) { Pair(%c, _) => ref_read(%c) } }
def @main(%x: Tensor[(3), float32]) { @get(Pair(ref(%x), ref(1))) }"""


def module(text: str) -> relay.IRModule:
    return InferType()(relay.fromtext(HEAD + text))


def test_cells_are_those_of_tensors_of_known_shape() -> None:
    assert has_cells(module(PAIR))
    assert not has_cells(module("def @main(%x: Tensor[(3), float32]) { tanh(%x) }"))
    assert not has_cells(module("def @main(%x: Tensor[(?), float32]) { ref_read(ref(%x)) }"))
    assert not has_cells(module("def @main(%x: int32) { ref_read(ref(%x)) }"))


def test_cells_of_callers_and_of_generic_functions_are_hidden() -> None:
    assert not has_hidden_cells(module(PAIR))
    assert has_hidden_cells(module("def @main(%x: Tensor[(3), float32]) { ref(%x) }"))
    generic = """def @get[A](%r: ref(A)) -> A { ref_read(%r) }
    def @main(%x: float32) { @get(ref(%x)) }"""
    assert has_hidden_cells(module(generic))


def test_types_that_are_written_in_a_program_get_the_other_content() -> None:
    def twice(ty: TensorType) -> TupleType:
        return TupleType((ty, ty))

    before = module(PAIR)
    types = NewCells(before, twice)
    after = types.module()
    (definition,) = after.type_definitions.values()
    (constructor,) = definition.constructors
    texts = [str(ty) for ty in constructor.inputs]
    assert texts == ["ref((Tensor[(3), float32], Tensor[(3), float32]))", "ref(int32)"]
    get = tree.transform(before["get"], types.retyped)
    (clause,) = get.body.clauses
    assert clause.lhs.constructor == constructor
    assert types.changes(before["get"].body.clauses[0].lhs.patterns[0].var.checked_type)
