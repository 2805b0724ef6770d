"""Names of residual values, and what references hold."""

from __future__ import annotations

from typing import Any

import relay
from relay import tree
from relay.ir.expr import RefCreate, RefWrite, Var
from relay.ir.types import RefType, TensorType
from relay.transform.partial.residual_program import ResidualProgram
from relay.transform.partial.static_values import Value

SCALAR = TensorType((), "float32")


def parameter(out: ResidualProgram, name: str = "x") -> Value:
    return out.given(SCALAR, Var(name, SCALAR))


def written(out: ResidualProgram) -> list[Any]:
    return [value for slot in out.current.block.slots for _, value in getattr(slot, "bindings", ())]


def operation(value: Value) -> Any:
    def made() -> Any:
        return relay.exp(value.atom)
        yield

    return made


def test_an_operation_is_written_when_it_is_needed() -> None:
    out = ResidualProgram()
    value = out.lazily(SCALAR, operation(parameter(out)))
    assert not written(out)
    atom = tree.run(out.atom(value))
    assert tree.run(out.atom(value)) is atom
    assert len(written(out)) == 1


def test_what_is_given_up_leaves_nothing() -> None:
    out = ResidualProgram()
    value = out.lazily(SCALAR, operation(parameter(out)))
    out.may_give_up += 1
    tree.run(out.atom(value))
    out.undo(0)
    assert value.atom is None
    assert not written(out)


def test_a_reference_that_escapes_has_all_its_writes() -> None:
    out = ResidualProgram()
    x, y = parameter(out), parameter(out, "y")
    cell = out.create(x, RefType(SCALAR), SCALAR, "r")
    tree.run(out.write(cell, y))
    assert out.read(cell, SCALAR, "z") is y
    assert not written(out)
    tree.run(out.atom(cell))
    assert [type(e) for e in written(out)] == [RefCreate, RefWrite]
    assert out.read(cell, SCALAR, "z") is y


def test_unknown_code_may_write_to_what_has_escaped() -> None:
    out = ResidualProgram()
    x = parameter(out)
    kept, escaped = (out.create(x, RefType(SCALAR), SCALAR, "r") for _ in range(2))
    tree.run(out.atom(escaped))
    out.current.epoch += 1
    assert out.read(kept, SCALAR, "z") is x
    again = out.read(escaped, SCALAR, "z")
    assert again is not x
    assert out.read(escaped, SCALAR, "z") is again


def test_changes_of_references_are_undone() -> None:
    out = ResidualProgram()
    x, y = parameter(out), parameter(out, "y")
    cell = out.create(x, RefType(SCALAR), SCALAR, "r")
    mark = out.current.mark()
    tree.run(out.write(cell, y))
    assert list(out.current.undo(mark).values()) == [y]
    assert out.read(cell, SCALAR, "z") is x


def test_a_less_precise_type_is_kept_where_others_rely_on_it() -> None:
    out = ResidualProgram()
    dynamic = TensorType((relay.Any(),), "float32")
    x = out.given(TensorType((3,), "float32"), Var("x", TensorType((3,), "float32")))
    value = out.with_type(x, dynamic)
    assert tree.run(out.atom(value)) is x.atom
    assert tree.run(out.exact(value)).type_annotation == dynamic
