"""Programs with scales in them, and what passes that move scales into weights make of them."""

from __future__ import annotations

from typing import Any

import numpy as np

import relay
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import Call
from relay.ir.module import IRModule
from relay.ir.variables import all_vars
from relay.transform import InferType, Pass


def parse(source: str) -> IRModule:
    return InferType()(relay.parse('#[version = "0.0.5"]\n' + source))


def main(params: str, body: str) -> str:
    """A program in which all parameters but `%x` and `%y` are weights."""
    names = [part.split(":")[0].strip().lstrip("%") for part in params.split(", %")]
    weights = ", ".join(f'"{name}"' for name in names if name not in ("x", "y"))
    return f"def @main({params}, Weights=[{weights}]) {{ {body} }}"


def t(*shape: int) -> str:
    return f"Tensor[({', '.join(map(str, shape))}), float64]"


def arguments(module: IRModule) -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = [tuple(map(int, p.checked_type.shape)) for p in module["main"].params]
    return [rng.normal(size=shape) for shape in shapes]


def scales(module: IRModule) -> int:
    """How many multiplications and divisions of data there are."""
    weights = set(module["main"].attrs["Weights"])
    total = 0
    for e in relay.tree.postorder(module["main"].body):
        if isinstance(e, Call) and e.op.name in ("multiply", "divide"):
            total += any(v.name_hint not in weights for v in all_vars(e))
    return total


def assert_same_meaning(before: IRModule, after: IRModule) -> None:
    given = arguments(before)
    results = [relay.create_executor("debug", m).evaluate()(*given) for m in (before, after)]
    fields = [getattr(result, "fields", [result]) for result in results]
    for one, other in zip(*fields, strict=True):
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-8, atol=1e-10)


class Moving:
    """The expectations of one pass."""

    def __init__(self, moves: Pass) -> None:
        self.moves = moves

    def assert_rewrites(self, before: str, after: str) -> None:
        result = self.moves(parse(before))
        assert_structural_equal(result, parse(after))
        assert self.moves(result)["main"] is result["main"]

    def assert_stays(self, source: str) -> None:
        before = parse(source)
        assert self.moves(before)["main"] is before["main"]

    def assert_folds(self, params: str, body: str) -> None:
        before = parse(main(params, body))
        after = self.moves(before)
        assert scales(before) == 1
        assert scales(after) == 0
        assert self.moves(after)["main"] is after["main"]
        assert_same_meaning(before, after)
